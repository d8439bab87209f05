"""F15: eight processes upgrade one store at once; in every second round one of them is
killed on the way.  50 rounds, few with sanitizers; HF_ROUNDS sets another number."""

import os
import random
import shutil
import time

import hftest

ROUNDS = int(os.environ.get("HF_ROUNDS", "5" if hftest.SANITIZED else "50"))
PROCESSES = 8
MESSAGES = 10_000

# What the version before lacked.
OLDER = [
    "DROP TRIGGER messages_display_order_insert",
    "DROP TRIGGER messages_display_visibility_update",
    "DROP TRIGGER messages_display_identity_update",
    "DROP TRIGGER messages_display_identity_delete",
    "DROP INDEX idx_messages_display_identity",
    "DROP INDEX idx_messages_holdfast_uid",
    "DROP INDEX idx_messages_session_active",
    "DROP TABLE gateway_heartbeats",
    "DROP TABLE conversation_generations",
    "ALTER TABLE sessions DROP COLUMN tool_names",
    "ALTER TABLE sessions DROP COLUMN transport_profile",
    "ALTER TABLE messages DROP COLUMN message_uid",
    "ALTER TABLE messages DROP COLUMN display_order",
    "ALTER TABLE messages DROP COLUMN display_identity",
    "UPDATE schema_version SET version = 29",
    "DELETE FROM state_meta WHERE key IN ('holdfast_schema', 'db_file_generation')",
    "PRAGMA application_id = 0",
    "PRAGMA wal_checkpoint(TRUNCATE)",
]


class F15(hftest.TestCase):
    def setUp(self):
        super().setUp()
        self.older = os.path.join(self.home.dir, "older.db")
        self.make_older()

    def make_older(self):
        with hftest.TempHome() as home:
            with hftest.Driver() as d:
                d.call("runtime", home=home.path)
                d.call("open")
                d.call("create", session={"id": "s1", "source": "cli"})
                for start in range(0, MESSAGES, 1000):
                    d.call("append", session="s1", messages=[
                        {"role": "user", "content": f"message {i} of many"}
                        for i in range(start, start + 1000)])
            for sql in OLDER:
                home.sql(sql)
            shutil.copyfile(home.db, self.older)

    def fresh(self):
        for suffix in ("", "-wal", "-shm"):
            if os.path.exists(self.home.db + suffix):
                os.unlink(self.home.db + suffix)
        shutil.copyfile(self.older, self.home.db)

    def schema(self):
        rows = self.home.sql("SELECT type, name, tbl_name, sql FROM sqlite_master")
        self.assertEqual(len({row[:2] for row in rows}), len(rows), "made twice")
        # A column's place follows the order in which it was added: the same everywhere.
        return sorted(rows, key=repr)

    def check(self, survivors, dead):
        self.integrity()
        self.assertEqual(self.home.sql("PRAGMA foreign_key_check"), [])
        self.assertEqual(self.schema(), self.wanted)
        for table in ("sessions", "messages"):
            names = [r[0] for r in
                     self.home.sql("SELECT name FROM pragma_table_info(?)", table)]
            self.assertEqual(len(set(names)), len(names))
        self.assertEqual(self.home.sql(
            "SELECT value FROM state_meta WHERE key = 'holdfast_schema'"), [("1",)])
        # Hermes' own number is Hermes' to raise.
        self.assertEqual(self.home.sql("SELECT version FROM schema_version"), [(29,)])
        self.assertEqual(self.home.sql(
            "SELECT count(*) FROM state_meta WHERE key = 'db_file_generation'"), [(1,)])
        new = [r[0] for r in self.home.sql(
            "SELECT content FROM messages WHERE id > ? ORDER BY content", MESSAGES)]
        self.assertEqual([c for c in new if c not in dead], sorted(survivors))
        self.assertLessEqual(len([c for c in new if c in dead]), len(dead))
        self.assertEqual(self.home.sql("SELECT message_count FROM sessions"),
                         [(MESSAGES + len(new),)])
        self.assertEqual(self.home.sql(
            "SELECT count(*) FROM messages_fts WHERE messages_fts MATCH 'message'"),
            [(MESSAGES + len(new),)])

    def one_round(self, number, kill):
        self.fresh()
        drivers = [self.driver() for _ in range(PROCESSES)]
        for d in drivers:
            d.call("runtime", home=self.home.path)
        for i, d in enumerate(drivers):  # both lines go out before anyone answers
            d.send("open")
            d.send("append", session="s1",
                   messages=[{"role": "user", "content": f"message from {i}"}])
        dead = set()
        if kill:
            victim = random.randrange(PROCESSES)
            time.sleep(random.uniform(0, 0.05))
            drivers[victim].kill()
            dead.add(f"message from {victim}")
        survivors = []
        for i, d in enumerate(drivers):
            if f"message from {i}" in dead:
                continue
            for _ in range(2):
                answer = d.receive(timeout=120)
                self.assertTrue(answer["ok"], (number, i, answer))
            survivors.append(f"message from {i}")
            d.close()
        self.check(survivors, dead)

    def test_eight_at_once(self):
        self.fresh()
        self.opened().call("close")
        self.wanted = self.schema()
        for number in range(ROUNDS):
            with self.subTest(number):
                self.one_round(number, kill=number % 2 == 1)

    def test_killed_alone(self):
        """Whatever the killed one left, the next open brings it to the current version."""
        self.fresh()
        self.opened().call("close")
        self.wanted = self.schema()
        for number in range(min(ROUNDS, 10)):
            self.fresh()
            killed = self.driver()
            killed.call("runtime", home=self.home.path)
            killed.send("open")
            time.sleep(random.uniform(0, 0.05))
            killed.kill()
            d = self.opened()
            d.call("append", session="s1",
                   messages=[{"role": "user", "content": "message after"}])
            d.close()
            self.check(["message after"], set())


if __name__ == "__main__":
    hftest.main()
