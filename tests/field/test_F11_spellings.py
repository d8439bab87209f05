"""F11: one store, reached through a symlink and by its own name."""

import os

import hftest


class F11(hftest.TestCase):
    def setUp(self):
        super().setUp()
        self.link = self.home.dir + "/link"
        os.symlink(self.home.path, self.link)

    def both(self):
        """A driver with the store open by both spellings."""
        driver = self.driver()
        for name, path in (("link", self.link), ("real", self.home.path)):
            driver.call("runtime", name=name, home=path)
            driver.call("open", runtime=name, store=name)
        return driver

    def test_two_spellings_in_one_process(self):
        self.opened().close()
        self.home.config("database:\n  journal_mode: delete\n")
        driver = self.both()
        lines = self.logged(driver, "delete_overridden")
        self.assertEqual(len(lines), 1, lines)
        driver.call("create", store="link", session={"id": "s"})
        driver.call("append", store="link", session="s", messages=[{"content": "one"}])
        driver.call("append", store="real", session="s", messages=[{"content": "two"}])
        for store in ("link", "real"):
            messages = driver.call("read", store=store, session="s")["messages"]
            self.assertEqual([m["content"] for m in messages], ["one", "two"])
        self.assertEqual(sorted(os.listdir(self.home.dir)), ["home", "link"])
        self.assertEqual(sorted(n for n in os.listdir(self.home.path) if "state" in n),
                         ["state.db", "state.db-shm", "state.db-wal"])
        # One set of locks: the close of one handle takes nothing from the other.
        driver.call("close", store="link")
        driver.call("stray", path=self.link + "/state.db")
        with hftest.locked(self.home.db):
            pass
        driver.call("append", store="real", session="s", messages=[{"content": "three"}])
        self.assertEqual(self.home.sql("SELECT count(*) FROM messages"), [(3,)])
        self.assertEqual(self.logged(driver, "lock_style_posix"), [])

    def test_link_to_the_file(self):
        self.opened().close()
        other = self.home.dir + "/other"
        os.mkdir(other)
        os.symlink(self.home.db, other + "/state.db")
        driver = self.driver()
        driver.call("runtime", home=other)
        answer = driver.try_call("open")
        self.assertEqual(answer.get("code"), "HF_UNSUPPORTED", answer)
        self.assertIn("symbolic link", answer["message"])
        self.assertEqual(os.listdir(other), ["state.db"])


if __name__ == "__main__":
    hftest.main()
