"""F14: a settled store opens without the write lock; an append waits for it."""

import sqlite3
import time

import hftest

FORBIDDEN = r"(?i)^\s*(INSERT|UPDATE|DELETE|DROP|CREATE|ALTER|REPLACE|BEGIN IMMEDIATE)"


class F14(hftest.TestCase):
    def settled(self, mode="wal"):
        self.home.config(f"database:\n  journal_mode: {mode}\n")
        driver = self.opened()
        driver.call("create", session={"id": "s", "title": "one"})
        driver.call("append", session="s", messages=[{"content": "before"}])
        driver.close()
        self.assertMode(mode)

    def open_and_list(self):
        driver = self.driver()
        driver.call("runtime", home=self.home.path)
        driver.call("trace", on=True)
        with hftest.Timer() as t:
            driver.call("open")
            rows = driver.call("list", query={})["sessions"]
        self.assertEqual([r["id"] for r in rows], ["s"])
        self.assertLess(t.seconds, 0.5 if not hftest.SANITIZED else 3)
        for sql in driver.trace():
            self.assertNotRegex(sql, FORBIDDEN)
            self.assertNotRegex(sql, r"(?i)PRAGMA\s+(user_version|application_id)\s*=")
        driver.close()

    def test_beside_a_writer(self):
        for mode in ("wal", "delete"):
            for seconds in (4, 25):
                with self.subTest(mode, seconds=seconds):
                    self.settled_once(mode)
                    with hftest.locked(self.home.db, seconds):
                        self.open_and_list()

    def settled_once(self, mode):
        if hftest.header_mode(self.home.db) != mode:
            self.home.close()
            self.home = hftest.TempHome()
            self.addCleanup(self.home.close)
            self.settled(mode)

    def test_rollback_file_beside_a_writer(self):
        """WAL is wanted and a writer is in the way: the open goes on in rollback mode."""
        self.settled("delete")
        self.home.config("")
        with hftest.locked(self.home.db, 5):
            driver = self.driver()
            driver.call("runtime", home=self.home.path)
            with hftest.Timer() as t:
                driver.call("open")
                rows = driver.call("list", query={})["sessions"]
            self.assertEqual([r["id"] for r in rows], ["s"])
            self.assertLess(t.seconds, 0.5 if not hftest.SANITIZED else 3)
            self.assertMode("delete")
        self.assertEqual([line["level"] for line in self.logged(driver, "wal_deferred")],
                         [hftest.LOG_INFO])
        driver.close()
        self.opened().close()
        self.assertMode("wal")
        self.integrity()

    def test_commands_beside_a_writer(self):
        for mode in ("wal", "delete"):
            self.settled_once(mode)
            with hftest.locked(self.home.db, 25):
                for command in (["sessions", "list"], ["sessions", "stats"], ["doctor"],
                                ["sessions", "show", "s"]):
                    with self.subTest(mode, command=command), hftest.Timer() as t:
                        result = hftest.holdfast(*command, home=self.home)
                    self.assertIn(result.returncode, (0, 1), result)
                    self.assertNotIn("locked", result.stdout + result.stderr)
                    self.assertLess(t.seconds, 0.5 if not hftest.SANITIZED else 3)

    def test_append_waits(self):
        self.settled()
        driver = self.opened()
        with hftest.locked(self.home.db, 3), hftest.Timer() as t:
            answer = driver.try_call("append", session="s", messages=[{"content": "after"}])
        self.assertTrue(answer["ok"], answer)
        self.assertGreater(t.seconds, 2)
        driver.close()
        self.assertEqual(self.home.sql("SELECT content FROM messages ORDER BY id"),
                         [("before",), ("after",)])

    def test_append_gives_up(self):
        self.settled()
        self.home.config("database:\n  patience_ms: 500\n")  # an append waits three times that
        driver = self.opened()
        with hftest.locked(self.home.db):
            answer = driver.try_call("append", session="s", messages=[{"content": "no"}])
        self.assertEqual(answer.get("code"), "HF_BUSY", answer)
        self.assertRegex(answer["message"], r"waited 1\.[5-9] s")
        self.assertEqual(driver.call("append", session="s",
                                     messages=[{"content": "yes"}])["ok"], True)
        driver.close()
        self.assertEqual(self.home.sql("SELECT content FROM messages ORDER BY id"),
                         [("before",), ("yes",)])

    def test_null_active_is_repaired_once(self):
        hftest.copy_shared("hermes-2026-03.db", self.home)
        con = sqlite3.connect(self.home.db, isolation_level=None)
        columns = [row[1] for row in con.execute("PRAGMA table_info(messages)")]
        if "active" not in columns:
            con.execute("ALTER TABLE messages ADD COLUMN active INTEGER DEFAULT 1")
        con.execute("UPDATE messages SET active=NULL WHERE id=(SELECT min(id) FROM messages)")
        con.close()
        driver = self.opened()
        driver.close()
        self.assertEqual(self.home.sql("SELECT count(*) FROM messages WHERE active IS NULL"),
                         [(0,)])
        driver = self.driver()
        driver.call("runtime", home=self.home.path)
        driver.call("trace", on=True)
        driver.call("open")
        for sql in driver.trace():
            self.assertNotRegex(sql, FORBIDDEN)
        driver.close()

    def test_read_then_foreign_commit_then_append(self):
        self.settled()
        driver = self.opened()
        driver.call("read", session="s")
        self.home.sql("UPDATE sessions SET title='two' WHERE id='s'")
        started = time.monotonic()
        driver.call("append", session="s", messages=[{"content": "after"}])
        self.assertLess(time.monotonic() - started, 5)


if __name__ == "__main__":
    hftest.main()
