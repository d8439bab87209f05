"""One process is degraded and appends to its fallback while another opens the store for
writing and merges it: no line is lost or merged twice.  A third process that holds the
lost log keeps both away from the database; when it is gone, they meet.  100 rounds, a
tenth without HF_ROUNDS."""

import glob
import os
import time

import hftest
import torture

ROUNDS = torture.rounds(100)
CONFIG = "database:\n  wal_autocheckpoint: 20\n  fallback_retry_seconds: 1\n"


class DegradedMerge(hftest.TestCase):
    def condition(self):
        self.p.well()
        return self.p.ask("state")["state"]["condition"]

    def one_round(self):
        holder = self.opened()
        holder.try_call("read", session="a")
        for suffix in ("-wal", "-shm"):
            os.unlink(self.home.db + suffix)
        hftest.wait_until(lambda: self.condition() != 0, 60)
        # Until its own handle of the lost log is closed, and something is in the fallback.
        time.sleep(1.2)
        self.p.wait_for(self.acks.count + 10)
        with hftest.Driver() as q:
            q.call("runtime", home=self.home.path)
            self.assertNotEqual(self.condition(), 0)
            holder.kill()
            q.call("open")
            promised = self.acks.copy()
            torture.compare(self, promised, torture.rows_read(q, self.acks.sent), "q")
        hftest.wait_until(lambda: self.condition() == 0, 60)
        torture.compare(self, self.acks.copy(), torture.rows_plain(self.home.db), "file")

    def test_merge(self):
        self.home.config(CONFIG)
        self.acks = torture.Acks(self.home.file("..", "acks"))
        self.addCleanup(self.acks.close)
        self.p = torture.Gateway(self.home, self.acks, ["a", "b"], may_thread=1, pause=0.02,
                                 sizes=(5, 200, 3000))
        self.addCleanup(self.p.close)
        self.p.wait_for(10)
        for _ in range(ROUNDS):
            self.one_round()
        self.p.finish()
        self.assertEqual(self.acks.failures, [])
        torture.check(self, self.home, self.acks)
        self.assertEqual(glob.glob(self.home.file("fallback", "*.jsonl")), [])
        torture.tell(program="degraded_merge", rounds=ROUNDS, acks=self.acks.count,
                     kills=ROUNDS)


if __name__ == "__main__":
    hftest.main()
