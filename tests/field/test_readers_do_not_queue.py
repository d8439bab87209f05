"""One store handle, several threads: while an append waits for another process's lock,
reads of the same handle go on, and so does an ensure that has nothing to fill in."""

import os

import hftest


class ReadersDoNotQueue(hftest.TestCase):
    def test_reads_beside_a_waiting_append(self):
        d = self.opened()
        d.call("create", session={"id": "s1", "source": "cli"})
        d.call("append", session="s1", messages=[{"role": "user", "content": "hi one"}])
        with hftest.locked(self.home.db):
            job = d.start("append", session="s1",
                          messages=[{"role": "user", "content": "hi two"}])
            with hftest.Timer() as timer:
                self.assertEqual(len(d.call("read", session="s1")["messages"]), 1)
                self.assertEqual(len(d.call("list", query={})["sessions"]), 1)
                self.assertEqual(d.call("stats")["stats"]["messages"], 1)
                self.assertEqual(d.call("get", session="s1")["session"]["source"], "cli")
                self.assertEqual(len(d.call("search", query={"text": "hi"})["hits"]), 1)
                d.call("ensure", session={"id": "s1", "source": "cli"})
            self.assertLess(timer.seconds, 5, "waited for a lock that it does not need")
        self.assertTrue(d.wait(job)["ok"])
        # What this handle wrote, this handle reads.
        self.assertEqual(len(d.call("read", session="s1")["messages"]), 2)
        self.assertEqual(len(d.call("search", query={"text": "hi"})["hits"]), 2)
        self.assertEqual(self.logged(d, level=hftest.LOG_ERROR), [])

    def descriptors(self, d):
        """How often the driver's process has state.db open."""
        folder = f"/proc/{d.pid}/fd"
        return sum(os.path.realpath(os.path.join(folder, n)) == self.home.db
                   for n in os.listdir(folder))

    def test_only_wal_has_a_connection_for_readers(self):
        for mode in ("wal", "delete"):
            with self.subTest(mode):
                self.home = hftest.TempHome()
                self.addCleanup(self.home.close)
                self.home.config(f"database:\n  journal_mode: {mode}\n")
                d = self.opened()
                d.call("create", session={"id": "s1", "source": "cli"})
                d.call("append", session="s1", messages=[{"role": "user", "content": "hi"}])
                before = self.descriptors(d)
                self.assertEqual(len(d.call("read", session="s1")["messages"]), 1)
                self.assertEqual(len(d.call("list", query={})["sessions"]), 1)
                self.assertEqual(len(d.call("search", query={"text": "hi"})["hits"]), 1)
                self.assertEqual(self.descriptors(d) > before, mode == "wal")
                self.assertMode(mode)
                d.close()


if __name__ == "__main__":
    hftest.main()
