"""F12: a host that has a second copy of SQLite in the process."""

import os
import sqlite3

import hftest


class F12(hftest.TestCase):
    def setUp(self):
        super().setUp()
        hftest.require_plain()  # one more libc in the process
        driver = self.opened()
        driver.call("create", session={"id": "s"})
        driver.call("append", session="s", messages=[{"content": "one"}])
        driver.close()

    def host(self):
        driver = self.driver()
        driver.call("runtime", home=self.home.path)
        return driver

    def second(self, driver):
        answer = driver.try_call("second_open", path=self.home.db)
        if answer.get("code") == "HF_UNSUPPORTED":
            self.skipTest(answer["message"])
        self.assertTrue(answer["ok"], answer)
        return self.count(driver)

    def count(self, driver):
        return int(driver.call("second_sql", sql="SELECT count(*) FROM messages")
                   ["rows"][0][0])

    def assertSeenByOthers(self, count):
        self.assertEqual(self.home.sql("SELECT count(*) FROM messages"), [(count,)])
        for suffix in ("-wal", "-shm"):
            self.assertTrue(os.path.exists(self.home.db + suffix), suffix)

    def append(self, driver, text):
        driver.call("append", session="s", messages=[{"content": text}])

    def test_host_closes_first(self):
        driver = self.host()
        driver.call("open")
        self.assertEqual(self.second(driver), 1)
        inodes = [hftest.inode(self.home.db + x) for x in ("", "-wal", "-shm")]
        driver.call("second_close")
        self.append(driver, "two")
        self.assertSeenByOthers(2)
        self.assertEqual([hftest.inode(self.home.db + x) for x in ("", "-wal", "-shm")],
                         inodes)
        self.append(driver, "three")
        self.assertSeenByOthers(3)
        self.assertEqual(self.logged(driver, "lock_style_posix"), [])
        driver.close()
        self.integrity()

    def test_product_closes_first(self):
        driver = self.host()
        driver.call("open")
        self.assertEqual(self.second(driver), 1)
        self.append(driver, "two")
        driver.call("close")
        self.assertSeenByOthers(2)
        self.assertEqual(self.count(driver), 2)
        driver.call("open")
        self.append(driver, "three")
        self.assertSeenByOthers(3)
        self.assertEqual(self.count(driver), 3)
        driver.call("second_close")
        self.append(driver, "four")
        self.assertSeenByOthers(4)
        driver.close()
        self.integrity()

    def test_host_was_there_first(self):
        """Its descriptors are no reason for POSIX locks: those would not exclude it."""
        driver = self.host()
        self.assertEqual(self.second(driver), 1)
        driver.call("open")
        self.assertEqual(self.logged(driver, "lock_style_posix"), [])
        self.append(driver, "two")
        self.assertSeenByOthers(2)
        driver.call("second_close")
        self.append(driver, "three")
        self.assertSeenByOthers(3)
        driver.close()
        self.integrity()

    def test_they_exclude_each_other(self):
        self.home.config("database:\n  patience_ms: 200\n")
        driver = self.host()
        driver.call("open")
        self.second(driver)
        driver.call("second_sql", sql="BEGIN IMMEDIATE")
        answer = driver.try_call("append", session="s", messages=[{"content": "no"}])
        self.assertEqual(answer.get("code"), "HF_BUSY", answer)
        driver.call("second_sql", sql="INSERT INTO state_meta(key,value) VALUES('k','v')")
        driver.call("second_sql", sql="COMMIT")
        self.append(driver, "two")
        self.assertSeenByOthers(2)
        self.assertEqual(driver.call("meta_get", key="k")["value"], "v")
        # And it is shut out with everybody else while the product writes: the stray
        # closes of its own connection take nothing from the product.
        driver.call("second_close")
        con = sqlite3.connect(self.home.db, timeout=0)
        self.assertEqual(con.execute("SELECT count(*) FROM messages").fetchone(), (2,))
        con.close()
        driver.close()
        self.integrity()


if __name__ == "__main__":
    hftest.main()
