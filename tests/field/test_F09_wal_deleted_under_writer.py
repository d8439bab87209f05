"""F09: the WAL is deleted under a live writer."""

import glob
import json
import os
import shutil
import sqlite3

import hftest


class F09(hftest.TestCase):
    def setUp(self):
        super().setUp()
        self.home.config("database:\n  wal_autocheckpoint: 0\n  fallback: none\n")
        self.p = self.opened()
        self.p.call("create", session={"id": "s", "source": "cli"})
        for i in (1, 2, 3):
            self.p.call("append", session="s", messages=[{"content": f"message {i}"}])

    def lose(self):
        for suffix in ("-wal", "-shm"):
            os.unlink(self.home.db + suffix)

    def retired(self):
        found = glob.glob(self.home.db + ".retired-wal-*")
        self.assertEqual(len(found), 1, found)
        return found[0]

    def contents(self, db):
        con = sqlite3.connect(db)
        try:
            self.assertEqual(con.execute("PRAGMA integrity_check").fetchall(), [("ok",)])
            return [r[0] for r in con.execute("SELECT content FROM messages ORDER BY id")]
        finally:
            con.close()

    def together(self, folder):
        """What plain SQLite finds in the main file with the copied log beside it."""
        work = os.path.join(self.home.dir, "work")
        os.mkdir(work)
        shutil.copyfile(self.home.db, os.path.join(work, "state.db"))
        shutil.copyfile(os.path.join(folder, "state.db-wal"),
                        os.path.join(work, "state.db-wal"))
        return self.contents(os.path.join(work, "state.db"))

    def append(self, driver, n):
        return driver.try_call("append", session="s", messages=[{"content": f"message {n}"}])

    def test_whole(self):
        wal = os.stat(self.home.db + "-wal")
        self.lose()
        # Q comes first: it may not put a second log beside the live one.
        q = self.driver()
        q.call("runtime", home=self.home.path)
        answer = q.try_call("open")
        self.assertEqual(answer.get("code"), "HF_WAL_LOST", answer)
        self.assertIn(f"pid {self.p.pid} (", answer["message"])
        self.assertFalse(os.path.exists(self.home.db + "-wal"))
        self.assertEqual(self.append(q, 4)["ok"], False)
        # P notices by itself.
        answer = self.append(self.p, 5)
        self.assertEqual(answer.get("code"), "HF_WAL_LOST", answer)
        folders = glob.glob(self.home.db + ".retired-wal-*")
        self.assertIn(len(folders), (1, 2)) # Q's look was the first
        folder = [f for f in folders if f in answer["message"]]
        self.assertEqual(len(folder), 1, answer)
        self.assertEqual(self.append(self.p, 6).get("code"), "HF_WAL_LOST")
        lines = self.logged(self.p, level=hftest.LOG_ERROR)
        self.assertEqual([l["event"] for l in lines], ["wal_lost"])
        self.assertIn(folder[0], lines[0]["text"])
        # It still reads, and its state tells.
        read = self.p.call("read", session="s")["messages"]
        self.assertEqual([m["content"] for m in read], [f"message {i}" for i in (1, 2, 3)])
        state = self.p.call("state")["state"]
        self.assertEqual(state["condition"], 30)
        self.assertIn("state.db-wal was deleted", state["reason"])
        self.assertGreater(state["since"], 1e9)
        # Doctor tells who, and where the log is.
        report = hftest.holdfast_json("doctor", home=self.home, expect=1)["findings"]
        rows = {row["code"]: row for row in report}
        self.assertIn(f"pid {self.p.pid} (", rows["generation_lost"]["text"])
        self.assertEqual(rows["generation_lost"]["severity"], "failure")
        self.assertIn(rows["wal_retired"]["path"], glob.glob(self.home.db + ".retired-*"))
        # The copy is what was there, and with the main file it is everything.
        with open(folder[0] + "/manifest.json", encoding="utf-8") as f:
            manifest = json.load(f)
        self.assertEqual((manifest["wal"]["device"], manifest["wal"]["inode"],
                          manifest["wal"]["size"]), (wal.st_dev, wal.st_ino, wal.st_size))
        self.assertEqual(manifest["wal"]["sha256"],
                         hftest.sha256(folder[0] + "/state.db-wal"))
        self.assertEqual(self.together(folder[0]), [f"message {i}" for i in (1, 2, 3)])
        # P closes: no checkpoint of a log that is gone, and the store opens again.
        before = hftest.sha256(self.home.db)
        self.p.close()
        self.assertEqual(hftest.sha256(self.home.db), before)
        q.call("open")
        q.close()
        self.integrity()

    def test_only_one_copy(self):
        self.lose()
        self.assertEqual(self.append(self.p, 4).get("code"), "HF_WAL_LOST")
        folder = self.retired()
        for _ in range(2):
            q = self.driver()
            q.call("runtime", home=self.home.path)
            answer = q.try_call("open")
            self.assertEqual(answer.get("code"), "HF_WAL_LOST", answer)
            self.assertIn(folder, answer["message"])
        self.retired()

    def test_a_writer_that_was_killed(self):
        """What only a dead process had is gone; Q's refusal has saved it before."""
        self.lose()
        q = self.driver()
        q.call("runtime", home=self.home.path)
        self.assertEqual(q.try_call("open").get("code"), "HF_WAL_LOST")
        self.p.kill()
        self.assertEqual(self.together(self.retired()),
                         [f"message {i}" for i in (1, 2, 3)])
        q.call("open")

    def test_a_reader_comes_late(self):
        """Reads of a lost store do not open what stands at the path now."""
        self.lose()
        self.home.sql("PRAGMA schema_version")
        self.assertTrue(os.path.exists(self.home.db + "-wal"))
        read = self.p.call("read", session="s")["messages"]
        self.assertEqual(len(read), 3)

    def test_no_false_alarm(self):
        """Ordinary clients in other processes come, write, checkpoint and go."""
        code = """
import sqlite3, sys
for i in range(100):
    con = sqlite3.connect(sys.argv[1], timeout=20, isolation_level=None)
    con.execute("UPDATE sessions SET title = ? WHERE id = 's'", (f"title {i}",))
    con.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    con.close()
"""
        others = [hftest.python(code, self.home.db) for _ in range(2)]
        n = 0
        while any(o.poll() is None for o in others):
            n += 1
            self.p.call("append", session="s", messages=[{"content": f"more {n}"}])
        for o in others:
            self.assertEqual(o.communicate()[1], "")
            self.assertEqual(o.returncode, 0)
        self.assertEqual(len(self.p.call("read", session="s")["messages"]), 3 + n)
        self.assertEqual(self.logged(self.p, level=hftest.LOG_ERROR), [])
        self.assertEqual(self.p.call("state")["state"]["condition"], 0)
        # ... and while nobody else is there, so that they remove the sidecars.
        self.p.call("close")
        other = hftest.python(code, self.home.db)
        while other.poll() is None:
            answer = self.p.try_call("open")
            self.assertTrue(answer["ok"], answer)
            self.p.call("append", session="s", messages=[{"content": "x"}])
            self.p.call("close")
        self.assertEqual(other.communicate()[1], "")


if __name__ == "__main__":
    hftest.main()
