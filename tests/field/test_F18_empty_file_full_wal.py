"""F18: an empty or missing state.db beside a full WAL is not a new store."""

import os
import shutil

import hftest


class F18(hftest.TestCase):
    def setUp(self):
        super().setUp()
        # What a store with a fallback does is F42's.
        self.home.config("database:\n  fallback: none\n")

    def pair(self):
        """state.db and state.db-wal as a live process has them, 200 messages in the WAL."""
        source = hftest.TempHome()
        self.addCleanup(source.close)
        source.config("database:\n  wal_autocheckpoint: 0\n")
        driver = self.driver()
        driver.call("runtime", home=source.path)
        driver.call("open")
        driver.call("create", session={"id": "s"})
        driver.call("append", session="s",
                    messages=[{"content": f"message {i}"} for i in range(200)])
        for suffix in ("", "-wal"):
            shutil.copyfile(source.db + suffix, self.home.db + suffix)
        driver.close()

    def refused(self, word):
        before = hftest.listing(self.home.path)
        driver = self.driver()
        driver.call("runtime", home=self.home.path)
        for how in ({}, {"read_only": True}, {"read_only_first": True}):
            answer = driver.try_call("open", **how)
            self.assertEqual(answer.get("code"), "HF_CORRUPT", answer)
            for part in (word, self.home.db, self.home.db + "-wal",
                         f"holdfast sessions recover --source {self.home.db} --wal "
                         f"{self.home.db}-wal --output NEW.db"):
                self.assertIn(part, answer["message"])
        driver.close()
        for command in (["sessions", "list"], ["sessions", "new"], ["sessions", "stats"]):
            result = hftest.holdfast(*command, home=self.home)
            self.assertNotEqual(result.returncode, 0, result)
            self.assertIn("sessions recover", result.stderr)
        self.assertEqual(hftest.holdfast("doctor", home=self.home).returncode, 1)
        self.assertEqual(hftest.listing(self.home.path), before)

    def test_empty(self):
        self.pair()
        os.truncate(self.home.db, 0)
        self.refused("is empty")

    def test_missing(self):
        self.pair()
        os.unlink(self.home.db)
        self.refused("is missing")

    def test_used_home(self):
        self.home.write("state.db", "")
        self.home.write("sessions/20260101_000000_abcdef.jsonl", "{}\n")
        self.home.write("state.db.malformed-backup-20260101", "x")
        driver = self.opened()
        lines = self.logged(driver, event="used_home_empty")
        self.assertEqual([l["level"] for l in lines], [hftest.LOG_WARNING])
        self.assertIn("sessions/", lines[0]["text"])
        self.assertIn("state.db.malformed-backup-20260101", lines[0]["text"])
        driver.call("create", session={"id": "s"})

    def test_empty_home(self):
        self.home.write("state.db", "")
        driver = self.opened()
        driver.call("create", session={"id": "s"})
        self.assertEqual([l for l in driver.log() if l["level"] >= hftest.LOG_WARNING], [])
        driver.close()
        self.assertEqual(self.home.sql("SELECT id FROM sessions"), [("s",)])


if __name__ == "__main__":
    hftest.main()
