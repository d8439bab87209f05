"""F35: one profile never sees another by accident."""

import os
import re
import subprocess

import hftest


class F35(hftest.TestCase):
    def setUp(self):
        super().setUp()
        self.alpha = self.home.profile("alpha")
        self.beta = self.home.profile("beta")
        driver = self.driver()
        driver.call("runtime", home=self.home.path)
        for name, ids in (("alpha", ["s-1", "s-2"]), ("beta", ["s-1", "s-900"])):
            driver.call("open", store=name, profile=name)
            for session in ids:
                driver.call("create", store=name, session={
                    "id": session, "source": "cli", "title": f"shared title {session}"})
                driver.call("append", store=name, session=session,
                            messages=[{"role": "user", "content": f"walrus {name}"}])
        driver.close()

    def test_from_alpha(self):
        driver = self.driver()
        driver.call("runtime", home=self.home.path, profile="alpha")
        driver.call("open")
        for command in ("get", "resolve"):
            answer = driver.try_call(command, session="s-900")
            self.assertEqual(answer.get("code"), "HF_NOT_FOUND", answer)
        # The miss names the two ways to ask, and not the owner.
        self.assertIn("--profile", answer["message"])
        self.assertIn("@session:", answer["message"])
        self.assertNotIn("beta", answer["message"])
        self.assertEqual(driver.try_call("append", session="s-900",
                                         messages=[{"content": "x"}]).get("code"),
                         "HF_NOT_FOUND")
        hits = driver.call("search", query={"text": "walrus"})["hits"]
        self.assertEqual({h["session_id"] for h in hits}, {"s-1", "s-2"})
        listed = driver.call("list", query={})["sessions"]
        self.assertEqual({s["id"] for s in listed}, {"s-1", "s-2"})

    def test_command(self):
        shown = hftest.holdfast("-p", "alpha", "sessions", "show", "s-900", home=self.home)
        self.assertEqual(shown.returncode, 1, shown)
        self.assertIn("@session:", shown.stderr)
        self.assertNotIn("beta", shown.stderr)
        found = hftest.holdfast_json("-p", "alpha", "sessions", "show",
                                     "@session:beta/s-900", home=self.home)
        self.assertEqual(found["session"]["id"], "s-900")
        self.assertEqual(found["profile"], "beta")
        self.assertEqual(found["messages"][0]["content"], "walrus beta")
        both = [hftest.holdfast_json("-p", "alpha", "sessions", "show", name,
                                     home=self.home)["messages"][0]["content"]
                for name in ("s-1", "@session:alpha/s-1", "@session:beta/s-1")]
        self.assertEqual(both, ["walrus alpha", "walrus alpha", "walrus beta"])

    def test_no_file_of_beta_is_opened(self):
        hftest.require_plain()
        hftest.require_tool("strace")
        trace = os.path.join(self.home.dir, "trace")
        prefix = ("strace", "-f", "-qq", "-e", "trace=%file", "-o", trace)
        probe = subprocess.run([*prefix, "true"], capture_output=True)
        if probe.returncode != 0:
            self.skipTest("this machine forbids tracing")
        for command in (["sessions", "show", "s-900"], ["sessions", "list"],
                        ["sessions", "search", "walrus"], ["doctor"]):
            hftest.holdfast("-p", "alpha", *command, home=self.home, prefix=prefix)
            with open(trace, encoding="utf-8", errors="replace") as f:
                lines = f.read()
            self.assertIn(self.alpha + "/state.db", lines, command)
            self.assertEqual(re.findall(r".*profiles/beta.*", lines), [], command)

    def test_unknown_profile(self):
        for name in ("gamma", ".deleted", "../beta", "Alpha"):
            os.makedirs(self.home.file("profiles", ".deleted"), exist_ok=True)
            result = hftest.holdfast("-p", name, "sessions", "list", home=self.home)
            self.assertEqual(result.returncode, 2, (name, result))
            self.assertIn(name, result.stderr)
        self.assertIn("create", hftest.holdfast("-p", "gamma", "doctor",
                                                home=self.home).stderr)
        self.assertFalse(os.path.exists(self.home.file("profiles", "gamma")))

    def test_environment_changes_after_the_runtime_was_made(self):
        driver = self.driver(env={"HOLDFAST_HOME": self.alpha})
        self.assertEqual(driver.call("runtime")["home"], self.alpha)
        for name in ("HOLDFAST_HOME", "HERMES_HOME", "HOME"):
            driver.call("setenv", name=name, value=self.beta)
            # And once more from another thread of the same process.
            driver.wait(driver.start("setenv", name=name, value=self.beta))
        driver.call("chdir", path=self.beta)
        before = hftest.listing(self.beta)
        driver.call("open")
        driver.call("reload")
        driver.call("open", store="again")
        driver.call("create", session={"id": "new"})
        driver.call("append", store="again", session="new", messages=[{"content": "x"}])
        listed = driver.call("list", query={})["sessions"]
        self.assertEqual({s["id"] for s in listed}, {"s-1", "s-2", "new"})
        driver.close()
        self.assertEqual(hftest.listing(self.beta), before)
        ids = self.home.sql("SELECT id FROM sessions", db=self.alpha + "/state.db")
        self.assertIn(("new",), ids)


if __name__ == "__main__":
    hftest.main()
