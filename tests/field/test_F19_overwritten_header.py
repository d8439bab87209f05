"""F19: the header of state.db is overwritten, the last messages are in the WAL only."""

import os
import shutil

import hftest


class F19(hftest.TestCase):
    def setUp(self):
        super().setUp()
        # What a store with a fallback does is F42's.
        self.home.config("database:\n  fallback: none\n")

    def pair(self, page_one_in_wal=False):
        source = hftest.TempHome()
        self.addCleanup(source.close)
        source.config("database:\n  wal_autocheckpoint: 0\n")
        driver = self.driver()
        driver.call("runtime", home=source.path)
        driver.call("open")
        driver.call("create", session={"id": "s"})
        driver.call("append", session="s",
                    messages=[{"content": f"old {i}"} for i in range(100)])
        driver.call("flush")
        driver.call("append", session="s",
                    messages=[{"content": f"late {i}"} for i in range(3)])
        if page_one_in_wal:
            source.sql("PRAGMA user_version=1")
        for suffix in ("", "-wal"):
            shutil.copyfile(source.db + suffix, self.home.db + suffix)
        driver.close()
        self.assertGreater(os.path.getsize(self.home.db + "-wal"), 32)

    def overwrite(self, data):
        with open(self.home.db, "r+b") as f:
            f.write(data)

    def refused(self, *parts):
        before = hftest.listing(self.home.path)
        driver = self.driver()
        driver.call("runtime", home=self.home.path)
        for how in ({}, {"read_only": True}, {"read_only_first": True}):
            answer = driver.try_call("open", **how)
            self.assertEqual(answer.get("code"), "HF_CORRUPT", answer)
            for part in parts:
                self.assertIn(part, answer["message"])
        driver.close()
        result = hftest.holdfast("sessions", "list", home=self.home)
        self.assertNotEqual(result.returncode, 0, result)
        self.assertIn("sessions recover", result.stderr)
        self.assertEqual(hftest.holdfast("doctor", home=self.home).returncode, 1)
        self.assertEqual(hftest.listing(self.home.path), before)

    def test_headers(self):
        for data in (b"overwritten " * 8 + b"text", bytes(100)):
            for page_one in (False, True):
                with self.subTest(data=data[:4], page_one=page_one):
                    self.pair(page_one)
                    self.overwrite(data)
                    self.refused("has a broken header", self.home.db + "-wal",
                                 "left untouched", f"--source {self.home.db}", "--wal")

    def test_without_a_wal(self):
        self.pair()
        os.unlink(self.home.db + "-wal")
        self.overwrite(bytes(100))
        self.refused("left untouched", f"holdfast sessions recover --source {self.home.db}")

    def test_not_a_database(self):
        self.home.write("state.db", "these are notes, not a database\n" * 10)
        self.refused("no SQLite database", "holdfast sessions recover --source")

    def test_other_kinds(self):
        elsewhere = os.path.join(self.home.dir, "elsewhere.db")
        open(elsewhere, "wb").close()
        for make, word in ((os.mkdir, "is a folder"), (os.mkfifo, "is a FIFO"),
                           (lambda p: os.symlink(elsewhere, p), "is a symbolic link")):
            with self.subTest(word):
                make(self.home.db)
                before = hftest.listing(self.home.dir)
                answer = self.driver()
                answer.call("runtime", home=self.home.path)
                for how in ({}, {"read_only": True}):
                    said = answer.try_call("open", **how)
                    self.assertEqual(said.get("code"), "HF_UNSUPPORTED", said)
                    self.assertIn(word, said["message"])
                self.assertEqual(hftest.listing(self.home.dir), before)
                (os.rmdir if word.endswith("folder") else os.unlink)(self.home.db)


if __name__ == "__main__":
    hftest.main()
