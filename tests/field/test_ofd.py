"""Locks that a stray close cannot cancel, and what happens without them."""

import os
import sqlite3
import subprocess

import hftest

HOLD = os.path.join(hftest.BUILD, "tests", "crash", "ofd_hold")
SOAK = os.environ.get("HOLDFAST_SOAK") == "1"


class OfdTest(hftest.TestCase):
    def write_outside(self):
        """An ordinary client writes; None, or why it could not."""
        con = sqlite3.connect(self.home.db, timeout=0, isolation_level=None)
        try:
            con.execute("INSERT INTO t VALUES('outside', 1)")
            return None
        except sqlite3.OperationalError as e:
            return str(e)
        finally:
            con.close()

    def holder(self, style, journal):
        process = subprocess.Popen([HOLD, "hold", style, journal, self.home.db],
                                   stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                   stderr=subprocess.PIPE, text=True,
                                   env=hftest.environment())
        self.addCleanup(self.end, process)
        self.assertEqual(process.stdout.readline(), "held\n")
        return process

    def end(self, process):
        if process.poll() is None:
            process.kill()
        process.communicate()

    def stray(self, process, times):
        process.stdin.write(f"stray {times}\n")
        process.stdin.flush()
        self.assertEqual(process.stdout.readline(), "done\n")

    def test_stray_closes(self):
        for journal in ("wal", "delete"):
            with self.subTest(journal):
                process = self.holder("ofd", journal)
                self.assertEqual(self.write_outside(), "database is locked")
                for _ in range(5):
                    self.stray(process, 50)
                    self.assertEqual(self.write_outside(), "database is locked")
                _, errors = process.communicate()  # it commits
                self.assertEqual((process.returncode, errors), (0, ""))
                self.assertIsNone(self.write_outside())
                self.assertEqual(self.home.sql("SELECT who FROM t ORDER BY rowid"),
                                 [("held",), ("outside",)])
                self.integrity()
                self.home.close()
                self.home = hftest.TempHome()
                self.addCleanup(self.home.close)

    def test_posix_locks_are_cancelled(self):
        """The same with lock_style posix: somebody else writes into the middle."""
        for journal in ("wal", "delete"):
            with self.subTest(journal):
                process = self.holder("posix", journal)
                self.assertEqual(self.write_outside(), "database is locked")
                self.stray(process, 1)
                self.assertIsNone(self.write_outside())
                self.end(process)
                self.home.close()
                self.home = hftest.TempHome()
                self.addCleanup(self.home.close)

    def test_stress(self):
        """Three processes of three threads, a fourth thread of each strays."""
        rounds = 20 if SOAK else 2
        for journal in ("wal", "delete"):
            with self.subTest(journal):
                workers = [subprocess.Popen(
                    [HOLD, "work", "ofd", journal, self.home.db, name, "3", str(rounds),
                     "60"], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                    env=hftest.environment()) for name in "abc"]
                acknowledged = 0
                for worker in workers:
                    out, errors = worker.communicate(timeout=600)
                    self.assertEqual((worker.returncode, errors), (0, ""))
                    acknowledged += int(out)
                self.assertEqual(acknowledged, 3 * 3 * rounds * 60)
                self.assertEqual(self.home.sql("SELECT count(*), (SELECT n FROM c) FROM t"),
                                 [(acknowledged, acknowledged)])
                self.assertEqual(self.home.sql(
                    "SELECT count(*) FROM (SELECT DISTINCT who, n FROM t)"),
                    [(acknowledged,)])
                self.integrity()
                self.home.close()
                self.home = hftest.TempHome()
                self.addCleanup(self.home.close)


if __name__ == "__main__":
    hftest.main()
