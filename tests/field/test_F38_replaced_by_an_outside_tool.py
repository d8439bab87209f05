"""F38: an outside tool renames a backup over state.db while a gateway lives.  (The
product's own commands that replace the file have tests of their own.)"""

import glob
import os
import shutil
import sqlite3

import hftest


class F38(hftest.TestCase):
    def setUp(self):
        super().setUp()
        # What a store with a fallback does is F42's.
        self.home.config("database:\n  fallback: none\n")
        other = hftest.TempHome()
        self.addCleanup(other.close)
        d = self.driver()
        d.call("runtime", home=other.path)
        d.call("open")
        for s in range(3):
            d.call("create", session={"id": f"old{s}", "source": "cli"})
            d.call("append", session=f"old{s}",
                   messages=[{"content": f"{s} {i}"} for i in range(100 if s else 0)])
        self.backup = os.path.join(other.path, "backup.db")
        d.call("backup", file=self.backup)
        d.close()
        self.rows = (3, 200)
        self.p = self.opened()
        self.p.call("create", session={"id": "s", "source": "cli"})
        for i in range(10):
            self.p.call("append", session="s", messages=[{"content": f"message {i}"}])

    def put(self, wal=False):
        new = self.home.file("new")
        shutil.copyfile(self.backup, new)
        if wal:
            con = sqlite3.connect(new)
            con.execute("PRAGMA journal_mode=WAL")
            con.close()
        os.rename(new, self.home.db)

    def counts(self, db=None):
        con = sqlite3.connect(db or self.home.db)
        try:
            self.assertEqual(con.execute("PRAGMA integrity_check").fetchall(), [("ok",)])
            return tuple(con.execute("SELECT (SELECT count(*) FROM sessions), "
                                     "(SELECT count(*) FROM messages)").fetchone())
        finally:
            con.close()

    def check(self, wal):
        self.put(wal)
        answer = self.p.try_call("append", session="s", messages=[{"content": "more"}])
        self.assertEqual(answer.get("code"), "HF_REPLACED", answer)
        self.assertEqual([l["event"] for l in self.logged(self.p, level=hftest.LOG_ERROR)],
                         ["replaced"])
        self.assertEqual(self.p.call("state")["state"]["condition"], 30)
        # What it had it still reads.
        self.assertEqual(len(self.p.call("read", session="s")["messages"]), 10)
        report = hftest.holdfast_json("doctor", home=self.home, expect=1)["findings"]
        row = [r for r in report if r["code"] == "generation_replaced"]
        self.assertIn(f"pid {self.p.pid} (", row[0]["text"])
        # A newcomer works with the new file, and the old log is in nobody's way.
        q = self.opened()
        q.call("create", session={"id": "new", "source": "cli"})
        q.call("append", session="new", messages=[{"content": "n"}])
        self.assertEqual(self.p.try_call("append", session="s",
                                         messages=[{"content": "x"}]).get("code"),
                         "HF_REPLACED")
        self.p.close()
        q.close()
        for _ in range(3):
            self.assertEqual(self.counts(), (self.rows[0] + 1, self.rows[1] + 1))
            self.opened().close()
        # The old rows are not lost: its log is kept.
        self.assertEqual(len(glob.glob(self.home.db + ".retired-wal-*/state.db-wal")), 1)

    def test_backup_file(self):
        self.check(wal=False)

    def test_file_in_wal_mode(self):
        self.check(wal=True)

    def test_newcomer_comes_first(self):
        """Before P has noticed: its log would be played into the new file."""
        self.put()
        before = hftest.sha256(self.home.db)
        q = self.driver()
        q.call("runtime", home=self.home.path)
        answer = q.try_call("open")
        self.assertEqual(answer.get("code"), "HF_REPLACED", answer)
        self.assertIn(f"pid {self.p.pid} (", answer["message"])
        self.assertEqual(hftest.sha256(self.home.db), before)
        self.p.close()
        q.call("open")
        q.close()
        self.assertEqual(self.counts(), self.rows)


if __name__ == "__main__":
    hftest.main()
