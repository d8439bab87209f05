"""F36, its JSONL part: session ids are data, and never leave the folder as files."""

import json
import os

import hfjsonl
import hftest

IDS = ["../../out/x", "/tmp/x", "a/b", "..", ".", ".hidden", "x" * 300, "x" * 299 + "y",
       "x\ny", "x\0y", "a\\b", "a:b", "a_b", "S1", "s1", "", "a%", "a%25", "a_",
       "-dash", "~", "é" * 70, "merged", ".meta", "s1.jsonl", "con", "x" * 200,
       "X" * 200]
REFUSED = ("", "x\ny", "x\0y")


class F36Jsonl(hfjsonl.JsonlTestCase):
    def setUp(self):
        super().setUp()
        self.canary = os.path.join(self.home.dir, "canary")
        with open(self.canary, "w") as f:
            f.write("canary")

    def outside(self):
        return {name for name in hftest.listing(self.home.dir)
                if not name.startswith("home/jsonl")}

    def test_every_id_or_none(self):
        before = self.outside()
        d = self.opened()
        kept = []
        for key in IDS:
            answer = d.try_call("create", session={"id": key, "source": "cli"})
            if not answer["ok"]:
                self.assertEqual((answer["code"], key in REFUSED), ("HF_INVALID", True))
                continue
            kept.append(key)
            d.call("append", session=key, messages=[{"role": "user", "content": key}])
        self.assertEqual(kept, [key for key in IDS if key not in REFUSED])
        for driver in (d, self.opened()):
            self.assertEqual(set(self.ids(driver)),
                             set(kept))
            for key in kept:
                self.assertEqual(self.contents(driver, key), [key])
                self.assertEqual(driver.call("get", session=key)["session"]["id"], key)
        for key in kept:
            out = os.path.join(self.home.path, "export.out")
            d.call("export", file=out, ids=[key])
            with open(out, encoding="utf-8") as f:
                found = json.load(f)
            os.unlink(out)
            self.assertEqual((found["id"], [m["content"] for m in found["messages"]]),
                             (key, [key]))
        self.assertEqual(self.outside(), before)
        names = [n for n in os.listdir(self.home.file("jsonl")) if n[0] != "."]
        self.assertEqual(len(names), len(kept))
        self.assertEqual(len({n.casefold() for n in names}), len(kept))
        for name in names:
            self.assertRegex(name, r"\A[a-z0-9._%A-F~-]{1,206}\Z")
            mode = os.stat(self.home.file("jsonl", name)).st_mode & 0o777
            self.assertEqual(mode, 0o600)
        self.assertEqual(os.stat(self.home.file("jsonl")).st_mode & 0o777, 0o700)
        left = list(kept)
        while left:
            d.call("delete", sessions=[left.pop()])
            self.assertEqual(set(self.ids(d)),
                             set(left))
        self.assertEqual(self.outside(), before)

    def test_symbolic_link(self):
        d = self.opened()
        os.symlink(self.canary, self.file("s1"))
        for command in (("create", {"session": {"id": "s1", "source": "cli"}}),
                        ("append", {"session": "s1",
                                    "messages": [{"role": "user", "content": "x"}]}),
                        ("read", {"session": "s1"}), ("get", {"session": "s1"})):
            answer = d.try_call(command[0], **command[1])
            self.assertFalse(answer["ok"], answer)
            self.assertNotEqual(answer["code"], "HF_PLUGIN", answer)
        d.try_call("delete", sessions=["s1"])
        with open(self.canary) as f:
            self.assertEqual(f.read(), "canary")
        d.call("create", session={"id": "s2", "source": "cli"})
        self.assertEqual(self.ids(d), ["s2"])

    def test_somebody_elses_files(self):
        """Bare transcripts and other things are listed by check and never touched."""
        d = self.opened()
        folder = self.home.file("jsonl")
        bare = b'{"role":"user","content":"hi"}\n{"role":"assistant","content":"torn'
        for name, data in (("bare.jsonl", bare), ("junk.jsonl", b"\0" * 100),
                           ("notes.txt", b"x")):
            with open(os.path.join(folder, name), "wb") as f:
                f.write(data)
        os.mkdir(os.path.join(folder, "merged"))
        os.mkdir(os.path.join(folder, "dir.jsonl"))
        os.mkfifo(os.path.join(folder, "pipe.jsonl"))
        with open(os.path.join(folder, "merged", "old.jsonl"), "wb") as f:
            f.write(b"{}")
        d.call("create", session={"id": "s1", "source": "cli"})
        before = hftest.listing(folder)
        d2 = self.opened()
        self.assertEqual(self.ids(d2), ["s1"])
        for key in ("bare", "junk", "pipe", "dir"):
            answer = d2.try_call("create", session={"id": key, "source": "cli"})
            self.assertEqual(answer.get("code"), "HF_CONFLICT", answer)
            self.assertFalse(d2.try_call("get", session=key)["ok"])
        findings = d2.call("check")["findings"]
        foreign = {os.path.basename(f["path"]) for f in findings
                   if f["code"] == "jsonl_foreign"}
        self.assertEqual(foreign, {"bare.jsonl", "junk.jsonl"})
        self.assertEqual({f["severity"] for f in findings
                          if f["code"] == "jsonl_foreign"}, {hftest.SEV_INFO})
        d2.call("delete", sessions=["bare", "junk"])
        self.assertEqual(hftest.listing(folder), before)

    def test_copy_of_a_file(self):
        self.fill(3)
        self.put(self.bytes(), "copy")
        d = self.opened()
        self.assertEqual(self.ids(d), ["s1"])
        self.assertEqual(d.try_call("get", session="copy")["code"], "HF_NOT_FOUND")
        codes = [f["code"] for f in d.call("check")["findings"]]
        self.assertIn("jsonl_misnamed", codes)


if __name__ == "__main__":
    hftest.main()
