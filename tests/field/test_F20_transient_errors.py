"""F20: what passes is not corruption: nothing is renamed, made or removed."""

import os
import time

import hftest


class F20(hftest.TestCase):
    def healthy(self, mode):
        self.home.config(f"database:\n  journal_mode: {mode}\n  patience_ms: 200\n")
        driver = self.opened()
        for i in range(100):
            driver.call("create", session={"id": f"s{i}"})
        driver.close()

    def all_there(self):
        driver = self.opened()
        self.assertEqual(len(driver.call("list", query={"limit": 1000})["sessions"]), 100)
        driver.close()

    def test_exclusive_lock_and_a_short_deadline(self):
        self.healthy("delete")
        names = sorted(os.listdir(self.home.path))
        with hftest.locked(self.home.db, 10, "EXCLUSIVE"):
            driver = self.driver()
            driver.call("runtime", home=self.home.path)
            for how in ({}, {"read_only": True}):
                answer = driver.try_call("open", **how)
                self.assertEqual(answer.get("code"), "HF_BUSY", answer)
            driver.close()
        self.assertEqual(sorted(os.listdir(self.home.path)), names)
        self.all_there()

    def test_interrupt_while_waiting(self):
        self.healthy("wal")
        self.home.config("database:\n  patience_ms: 60000\n")
        names = sorted(os.listdir(self.home.path))
        driver = self.opened()
        with hftest.locked(self.home.db):
            job = driver.start("append", session="s1", messages=[{"content": "x"}])
            time.sleep(0.5)
            driver.call("interrupt")
            answer = driver.wait(job)
        self.assertEqual(answer.get("code"), "HF_CANCELLED", answer)
        driver.call("append", session="s1", messages=[{"content": "y"}])
        driver.close()
        self.assertEqual(sorted(os.listdir(self.home.path)), names)
        self.assertEqual(self.home.sql("SELECT content FROM messages"), [("y",)])

    def test_little_memory(self):
        hftest.require_plain()
        self.healthy("wal")
        names = sorted(os.listdir(self.home.path))
        for megabytes in (20, 40, 60, 80):
            hftest.holdfast("sessions", "list", home=self.home,
                            prefix=["sh", "-c", f'ulimit -v {megabytes * 1024}; exec "$@"',
                                    "sh"])
        self.assertEqual(sorted(os.listdir(self.home.path)), names)
        self.all_there()


if __name__ == "__main__":
    hftest.main()
