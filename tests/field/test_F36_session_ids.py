"""F36: session ids are data, not file names.  The SQLite backend, through the command and
through the library."""

import json
import os

import hftest

IDS = ["../../out/x", "/tmp/x", "a/b", "..", ".", "x" * 300, "x\ny", "x\0y", "a\\b", "a:b",
       "a_b", "S1", "s1", "", "a%", "a_", "-dash"]


class F36(hftest.TestCase):
    def setUp(self):
        super().setUp()
        self.canary = os.path.join(self.home.dir, "canary")
        with open(self.canary, "w") as f:
            f.write("canary")
        for name in ("x.jsonl", "S1", "session_a_b.json"):
            os.symlink(self.canary, self.home.file(name))

    def names(self):
        return {name for name in hftest.listing(self.home.dir)
                if not name.startswith("home/state.db")}

    def check(self, create, append, show, export):
        """Each id is refused, or works everywhere and stays apart from all others."""
        names = self.names()
        kept = []
        for key in IDS:
            if not create(key):
                continue
            kept.append(key)
            self.assertTrue(append(key, f"content of {key!r}"), key)
        for key in kept:
            self.assertEqual(show(key), (key, [f"content of {key!r}"]))
            self.assertEqual(export(key), (key, [f"content of {key!r}"]))
        self.assertEqual(self.names(), names, "files came or went")
        with open(self.canary) as f:
            self.assertEqual(f.read(), "canary")
        for key in ("a/b", "a\\b", "a:b", "a_b", "S1", "s1", "..", "../../out/x"):
            self.assertIn(key, kept)
        for key in ("", "x\ny", "x\0y"):
            self.assertNotIn(key, kept)

    def test_command(self):
        def run(*args):
            result = hftest.holdfast("--json", "sessions", *args, home=self.home)
            self.assertIn(result.returncode, (0, 1), result.stderr)
            if result.returncode:
                self.assertIn("HF_", json.loads(result.stderr)["error"]["code"])
            return result

        def create(key):
            if "\0" in key or not key:
                return False  # no argument holds a NUL, and an empty id asks for a new one
            return run("new", "--id", key).returncode == 0

        def append(key, content):
            return run("append", "--role", "user", "--content", content, "--",
                       key).returncode == 0

        def loaded(text):
            found = json.loads(text)
            session = found.get("session", found)
            return session["id"], [m["content"] for m in found["messages"]]

        self.check(create, append, lambda key: loaded(run("show", "--", key).stdout),
                   lambda key: loaded(run("export", "--", key).stdout))

    def test_library(self):
        driver = self.opened()

        def create(key):
            answer = driver.try_call("create", session={"id": key, "source": "cli"})
            if not answer["ok"]:
                self.assertEqual(answer["code"], "HF_INVALID", answer)
            return answer["ok"] and answer["id"] == key

        def append(key, content):
            return driver.try_call("append", session=key, messages=[
                {"role": "user", "content": content}])["ok"]

        def show(key):
            messages = driver.call("read", session=key, query={})["messages"]
            return (driver.call("get", session=key)["session"]["id"],
                    [m["content"] for m in messages])

        def export(key):
            out = os.path.join(self.home.path, "state.db.out")
            driver.call("export", file=out, ids=[key])
            with open(out, encoding="utf-8") as f:
                found = json.load(f)
            os.unlink(out)
            return found["id"], [m["content"] for m in found["messages"]]

        self.check(create, append, show, export)

    def test_delete_takes_only_its_own(self):
        driver = self.opened()
        for key in ("a_b", "a/b", "aXb", "S1", "s1"):
            driver.call("create", session={"id": key, "source": "cli"})
        driver.call("delete", sessions=["a_b", "s1", "..", "/tmp/x"])
        left = {s["id"] for s in driver.call("list", query={})["sessions"]}
        self.assertEqual(left, {"a/b", "aXb", "S1"})
        with open(self.canary) as f:
            self.assertEqual(f.read(), "canary")

    def test_a_prefix_is_literal(self):
        for key in ("a_b1", "aXb2", "p%q1", "pzq2"):
            hftest.holdfast("sessions", "new", "--id", key, home=self.home)
        for word, key in (("a_b", "a_b1"), ("p%q", "p%q1")):
            shown = hftest.holdfast_json("sessions", "show", word, home=self.home)
            self.assertEqual(shown["session"]["id"], key)
        self.assertEqual(hftest.holdfast("sessions", "show", "%", home=self.home)
                         .returncode, 1)


if __name__ == "__main__":
    hftest.main()
