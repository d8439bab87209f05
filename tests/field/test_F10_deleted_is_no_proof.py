"""F10: " (deleted)" behind a name in /proc proves nothing, nor does a link count: device
and inode of the descriptor against the path do."""

import glob
import os

import hftest


class F10(hftest.TestCase):
    def setUp(self):
        super().setUp()
        # What a store with a fallback does is F42's.
        self.home.config("database:\n  fallback: none\n")

    def started(self, env=None):
        driver = self.opened(env=env)
        driver.call("create", session={"id": "s", "source": "cli"})
        driver.call("append", session="s", messages=[{"content": "one"}])
        return driver

    def no_alarm(self, p, env=None):
        p.call("append", session="s", messages=[{"content": "two"}])
        q = self.opened(env=env)
        q.call("append", session="s", messages=[{"content": "three"}])
        p.call("append", session="s", messages=[{"content": "four"}])
        for driver in (p, q):
            self.assertEqual(self.logged(driver, level=hftest.LOG_ERROR), [])
            self.assertEqual(driver.call("state")["state"]["condition"], 0)
        report = hftest.holdfast_json("doctor", home=self.home, env=env)["findings"]
        self.assertEqual([r for r in report if r["severity"] in ("warning", "failure")], [])
        self.assertEqual(self.home.sql("SELECT content FROM messages ORDER BY id"),
                         [("one",), ("two",), ("three",), ("four",)])
        self.assertEqual(glob.glob(self.home.db + ".retired-*"), [])
        q.close()

    def test_live_file_shown_as_deleted(self):
        if hftest.SANITIZED:
            self.skipTest(hftest.SkipReasons.sanitized)
        for suffix in ("state.db-wal", "state.db-shm", "state.db"):
            with self.subTest(suffix):
                env = {"LD_PRELOAD": os.path.join(hftest.BUILD, "tests", "support",
                                                  "hf-deleted.so"),
                       "HF_TEST_DELETED": suffix}
                p = self.started(env)
                shown = [os.readlink(f) for f in glob.glob(f"/proc/{p.pid}/fd/*")]
                self.assertIn(os.path.realpath(self.home.db) + "-wal", shown)
                self.no_alarm(p, env)
                p.close()
                for name in glob.glob(self.home.db + "*"):
                    os.unlink(name)

    def test_home_that_is_called_so(self):
        self.home.close()
        self.home = hftest.TempHome("home (deleted)")
        self.addCleanup(self.home.close)
        self.no_alarm(self.started())

    def test_unlinked_with_a_second_name(self):
        p = self.started()
        os.link(self.home.db + "-wal", self.home.file("kept"))
        os.unlink(self.home.db + "-wal")
        self.assertEqual(os.stat(self.home.file("kept")).st_nlink, 1)
        q = self.driver()
        q.call("runtime", home=self.home.path)
        answer = q.try_call("open")
        self.assertEqual(answer.get("code"), "HF_WAL_LOST", answer)
        self.assertIn(f"pid {p.pid} (", answer["message"])
        answer = p.try_call("append", session="s", messages=[{"content": "two"}])
        self.assertEqual(answer.get("code"), "HF_WAL_LOST", answer)
        report = hftest.holdfast_json("doctor", home=self.home, expect=1)["findings"]
        row = [r for r in report if r["code"] == "generation_lost"]
        self.assertEqual(len(row), 1, report)
        self.assertIn(f"pid {p.pid} (", row[0]["text"])


if __name__ == "__main__":
    hftest.main()
