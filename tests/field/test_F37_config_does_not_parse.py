"""F37: config.yaml that does not parse.  Each broken copy is a configuration error with its
place, creates nothing, and no store ever ends in WAL because of it."""

import os
import sys

import hftest

VALID = b"database:\n  journal_mode: delete\n"

BOMB = b"a0: &a0 [x,x,x,x,x,x,x,x,x,x]\n" + b"".join(
    b"a%d: &a%d [%s]\n" % (k, k, b",".join([b"*a%d" % (k - 1)] * 10))
    for k in range(1, 12)) + VALID
DEEP = b"b0: &b0 [x]\n" + b"".join(
    b"b%d: &b%d [*b%d]\n" % (k, k, k - 1) for k in range(1, 5000)) + VALID

# name: bytes, place in the message after the file's name
BROKEN = {
    "tab indent": (b"database:\n\tjournal_mode: delete\n", ":2:1: "),
    "unclosed bracket": (b"database:\n  journal_mode: [delete\n", ":3:1: "),
    "two sections": (VALID + b"database:\n  journal_mode: wal\n", ":3:1: "),
    "two keys": (VALID + b"  journal_mode: wal\n", ":3:3: "),
    "a NUL byte": (b"database:\n  journal_\0mode: delete\n", ":2:11: "),
    "invalid UTF-8": (b"database:\n  journal_mode: delete \xff\n", ":2:24: "),
    "10 MB": (VALID + b"# filled up\n" * 900_000, ": "),
    "10 MB of brackets": (b"[" * 10_000_000, ": "),
    "an anchor bomb": (BOMB, ":7:10: "),
    "aliases nested deeply": (DEEP, ":64:12: "),
    "nested deeply": (b"x: " + b"[" * 900_000, ":1:67: "),
}

ACCEPTED = {
    "BOM": (b"\xef\xbb\xbf" + VALID, "delete"),
    "CRLF": (VALID.replace(b"\n", b"\r\n"), "delete"),
    "empty": (b"", "wal"),
}

# Becomes nobody and runs the rest: root reads a file of mode 000.
NOBODY = ("import os,sys; os.setgroups([]); os.setgid(65534); os.setuid(65534);"
          "os.execv(sys.argv[1], sys.argv[1:])")


class F37(hftest.TestCase):
    def refused(self, place, prefix=()):
        config = self.home.file("config.yaml")
        before = hftest.listing(self.home.dir)
        for command in (["sessions", "new", "--id", "s1"], ["doctor"]):
            # In seconds of work: a machine with other things to do is no reason to fail.
            spent = sum(os.times()[2:4])
            result = hftest.holdfast(*command, home=self.home, prefix=prefix, timeout=20)
            if not hftest.SANITIZED:
                self.assertLess(sum(os.times()[2:4]) - spent, 1, command)
            self.assertEqual(result.returncode, 2, (command, result))
            self.assertIn(config + place, result.stderr, command)
            self.assertEqual(result.stdout, "", command)
        self.assertEqual(hftest.listing(self.home.dir), before)

    def test_broken_copies(self):
        for name, (data, place) in BROKEN.items():
            with self.subTest(name):
                self.home.config(data)
                self.refused(place)
                driver = self.driver()
                answer = driver.try_call("runtime", home=self.home.path)
                self.assertEqual(answer.get("code"), "HF_CONFIG", answer)
                self.assertEqual(answer["path"], self.home.file("config.yaml"))
                driver.close()

    def test_json_error(self):
        self.home.config(BROKEN["two sections"][0])
        result = hftest.holdfast("--json", "doctor", home=self.home)
        self.assertEqual(result.returncode, 2)
        self.assertIn('"code":"HF_CONFIG"', result.stderr.replace(" ", ""))

    def test_accepted_copies(self):
        for name, (data, mode) in ACCEPTED.items():
            with self.subTest(name):
                home = hftest.TempHome()
                self.addCleanup(home.close)
                home.config(data)
                result = hftest.holdfast("sessions", "new", "--id", "s1", home=home)
                self.assertEqual(result.returncode, 0, result)
                self.assertMode(mode, home.db)
                self.assertNotEqual(hftest.holdfast("doctor", home=home).returncode, 2)
                with open(home.file("config.yaml"), "rb") as f:
                    self.assertEqual(f.read(), data)

    def test_a_folder_in_its_place(self):
        os.mkdir(self.home.file("config.yaml"))
        self.refused(": ")

    def test_a_link_to_nowhere(self):
        os.symlink("nowhere", self.home.file("config.yaml"))
        self.refused(": ")

    def test_mode_000(self):
        config = self.home.config(VALID)
        os.chmod(config, 0)
        prefix = ()
        if os.geteuid() == 0:
            for path in (self.home.dir, self.home.path, config):
                os.chown(path, 65534, 65534)
            prefix = (sys.executable, "-c", NOBODY)
            if hftest.holdfast("--version", prefix=prefix).returncode != 0:
                self.skipTest("the build folder is closed to other users")
        result = hftest.holdfast("sessions", "new", "--id", "s1", home=self.home,
                                 prefix=prefix)
        self.assertEqual(result.returncode, 2, result)
        self.assertIn(config + ": ", result.stderr)
        self.assertEqual(sorted(os.listdir(self.home.path)), ["config.yaml"])

    def test_reload(self):
        self.home.config(VALID)
        driver = self.opened()
        driver.call("create", session={"id": "s1"})
        for name, (data, place) in BROKEN.items():
            with self.subTest(name):
                self.home.config(data)
                answer = driver.try_call("reload")
                self.assertEqual(answer.get("code"), "HF_CONFIG", answer)
                self.assertIn(self.home.file("config.yaml") + place, answer["message"])
        # The running process keeps delete, also for what it opens now.
        shown = driver.call("config")["config"]
        self.assertEqual(shown["database.journal_mode"]["value"], "delete")
        driver.call("open", store="again")
        driver.call("append", store="again", session="s1", messages=[{"content": "x"}])
        self.assertMode("delete")
        self.assertNoSidecars()
        # What is started anew is refused.
        self.assertEqual(hftest.holdfast("sessions", "list", home=self.home).returncode, 2)
        # A good file is taken over.
        self.home.config(VALID + b"  patience_ms: 7\n")
        driver.call("reload")
        shown = driver.call("config")["config"]
        self.assertEqual(shown["database.patience_ms"], {
            "value": "7", "source": self.home.file("config.yaml") + ":3"})


if __name__ == "__main__":
    hftest.main()
