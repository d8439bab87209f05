"""F13: handles must not cross fork()."""

import hftest


class F13(hftest.TestCase):
    def store(self, style="ofd"):
        self.home.config(f"database:\n  lock_style: {style}\n")
        driver = self.opened()
        driver.call("create", session={"id": "s"})
        driver.call("append", session="s", messages=[{"content": "one"}])
        return driver

    def append(self, text, **kw):
        return {"cmd": "append", "session": "s", "messages": [{"content": text}], **kw}

    def count(self):
        return self.home.sql("SELECT count(*) FROM messages")[0][0]

    def assertForked(self, answer):
        self.assertEqual(answer.get("code"), "HF_MISUSE", answer)
        self.assertIn("fork()", answer["message"])

    def test_parent_exits_at_once(self):
        driver = self.store()
        driver.call("fork_leave")
        self.assertForked(driver.try_call(**self.append("two")))
        self.assertEqual(self.count(), 1)
        self.assertForked(driver.try_call(**self.append("three")))
        self.assertEqual(self.count(), 1)
        # The parent's locks went with it, although the child has inherited its files.
        self.home.sql("INSERT INTO state_meta(key, value) VALUES('k', 'v')")
        self.assertEqual(driver.call("meta_get", key="k", store="new")["value"], "v") \
            if driver.call("open", store="new") else None
        driver.close()
        self.integrity()

    def test_child_closes_what_it_inherited(self):
        for style in ("ofd", "posix"):
            with self.subTest(style):
                self.home.close()
                self.home = hftest.TempHome()
                self.addCleanup(self.home.close)
                driver = self.store(style)
                inodes = [hftest.inode(self.home.db + x) for x in ("", "-wal", "-shm")]
                answer = driver.call("fork", do={"cmd": "close"}, exit=True)
                self.assertTrue(answer["child"]["ok"], answer)
                self.assertEqual(answer["status"], 0, driver.errors())
                # An ordinary client is the last one to close, unless P has its locks.
                self.assertEqual(self.count(), 1)
                self.assertEqual([hftest.inode(self.home.db + x)
                                  for x in ("", "-wal", "-shm")], inodes)
                driver.call(**self.append("two"))
                self.assertEqual(self.count(), 2)
                driver.close()
                self.integrity()

    def test_child_opens_its_own(self):
        for style in ("ofd", "posix"):
            with self.subTest(style):
                self.home.close()
                self.home = hftest.TempHome()
                self.addCleanup(self.home.close)
                driver = self.store(style)
                answers = driver.call("fork", do=[
                    {"cmd": "open", "store": "mine"}, self.append("two", store="mine"),
                    self.append("not so"), {"cmd": "close", "store": "mine"}],
                    exit=True)["child"]
                self.assertEqual([a["ok"] for a in answers], [True, True, False, True],
                                 answers)
                self.assertForked(answers[2])
                self.assertEqual(self.count(), 2)
                driver.call(**self.append("three"))
                self.assertEqual(self.home.sql("SELECT content FROM messages ORDER BY id"),
                                 [("one",), ("two",), ("three",)])
                driver.close()
                self.integrity()

    def test_child_waits_for_its_parent(self):
        """What the parent holds excludes the child as it does anybody else."""
        self.home.config("database:\n  patience_ms: 200\n")
        driver = self.opened()
        driver.call("create", session={"id": "s"})
        with hftest.locked(self.home.db):
            answers = driver.call("fork", do=[{"cmd": "open", "store": "mine"},
                                              self.append("no", store="mine")])["child"]
        self.assertEqual([a.get("code") for a in answers], [None, "HF_BUSY"], answers)
        answers = driver.call("fork", do=[{"cmd": "open", "store": "mine"},
                                          self.append("yes", store="mine")])["child"]
        self.assertTrue(all(a["ok"] for a in answers), answers)
        driver.call(**self.append("too"))
        self.assertEqual(self.count(), 2)


if __name__ == "__main__":
    hftest.main()
