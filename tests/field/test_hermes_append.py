"""The real Hermes files, opened for writing and appended to: every old session still
answers as before, the file is sound, and a second open writes nothing."""

import os
import sqlite3

import hftest
import reference

NEW = "holdfast_append_1"


def raw(value):
    """A cell of the driver as stored bytes."""
    return value.encode("utf-8") if isinstance(value, str) else value


class HermesAppend(hftest.TestCase):
    def each_file(self, check):
        for file in reference.FILES:
            with self.subTest(file), hftest.TempHome() as home:
                hftest.copy_shared(file, home)
                if "delete" in file:
                    home.config("database:\n  journal_mode: delete\n")
                check(file, reference.answers(file), home)

    def rows(self, home, table, columns):
        con = sqlite3.connect(home.db)
        con.text_factory = bytes
        try:
            cells = ", ".join(f"{c}, typeof({c})" for c in columns)
            return con.execute(f"SELECT {cells} FROM {table} ORDER BY rowid").fetchall()
        finally:
            con.close()

    def columns(self, home, table):
        return [row[0] for row in
                home.sql("SELECT name FROM pragma_table_info(?)", table)]

    def append_new(self, home):
        """Opens, appends to a session of its own and to an old one; the old one's id and
        what was appended to it."""
        with hftest.Driver() as d:
            d.call("runtime", home=home.path)
            d.call("open")
            d.call("create", session={"id": NEW, "source": "tool"})
            ids = d.call("append", session=NEW, messages=[
                {"role": "user", "content": "axolotlish"},
                {"role": "assistant", "content": "\0json:[{\"type\":\"text\"}]",
                 "tool_calls": '[{"id": "call_1"}, {"id": "call_2"}]'},
                {"role": "tool", "content": "袋鼠", "tool_name": "look",
                 "tool_call_id": "call_1"}])["ids"]
            self.assertEqual(len(set(ids)), 3)
            found = d.call("search", query={"text": "axolotlish"})
            self.assertEqual([h["message_id"] for h in found["hits"]], ids[:1])
            self.assertFalse(found["degraded"], found)
            session = d.call("get", session=NEW)["session"]
            self.assertEqual((session["message_count"], session["tool_call_count"]), (3, 2))
            self.assertEqual(self.logged(d, level=hftest.LOG_ERROR), [])

    def check_lists(self, file, answers, home):
        for args, expected in reference.lists(file, answers).items():
            found = hftest.holdfast_json("sessions", "list", "--limit", "1000", *args,
                                         home=home)["sessions"]
            found = [row for row in found if row["id"] != NEW]
            for key in ("id", "title", "source", "message_count", "started_at",
                        "last_active"):
                self.assertEqual([row[key] for row in found if key in row],
                                 [row[key] for row in expected if key in row],
                                 (args, key))

    def check_searches(self, file, answers, driver):
        for entry in answers["search"]:
            with self.subTest(entry["name"]):
                found = driver.call("search", query=reference.search_query(entry))
                ids = [hit["message_id"] for hit in found["hits"]
                       if hit["session_id"] != NEW]
                if entry.get("offset"):
                    self.assertEqual(len(ids), len(entry["ids"]))
                elif entry["name"] in reference.MORE_ALLOWED:
                    self.assertLessEqual(set(entry["ids"]), set(ids))
                else:
                    self.assertEqual(set(ids), set(entry["ids"]))

    def check_transcripts(self, file, answers, driver):
        for session, expected in answers["sessions"].items():
            messages = driver.call("read", session=session)["messages"]
            self.assertEqual(len(messages), expected["loaded"], session)
            every = driver.call("read", session=session, query={
                "states": hftest.ACTIVE | hftest.COMPACTED | hftest.REWOUND})["messages"]
            self.assertEqual(len(every), expected["rows"], session)
            if reference.version(file) == "2026-03":  # it loaded by time
                messages.sort(key=lambda m: (m["timestamp"], m["id"]))
            self.assertEqual(
                reference.digest([(raw(m["role"]), raw(m["content"]),
                                   raw(m["tool_calls"])) for m in messages]),
                expected["digest"], session)
            stored = driver.call("get", session=session)["session"]
            self.assertEqual(stored["message_count"], expected["message_count"])

    def check_sound(self, home):
        self.integrity(home.db)
        self.assertEqual(home.sql("PRAGMA foreign_key_check"), [])
        tables = [row[0] for row in home.sql(
            "SELECT name FROM sqlite_master WHERE sql LIKE '%USING fts5%'")]
        self.assertIn("messages_fts", tables)
        for table in tables:
            # With rank 1 external content is compared too; without, the index alone.
            external = "content=" in home.sql(
                "SELECT sql FROM sqlite_master WHERE name = ?", table)[0][0]
            home.sql(f"INSERT INTO {table}({table}, rank)"
                     f" VALUES ('integrity-check', {int(external)})")
            self.assertTrue(home.sql(f"SELECT count(*) FROM {table}")[0][0])

    def test_append(self):
        self.each_file(self.append)

    def append(self, file, answers, home):
        tables = {t: self.columns(home, t) for t in ("sessions", "messages")}
        before = {t: self.rows(home, t, c) for t, c in tables.items()}
        self.append_new(home)
        # Not one cell of an old row differs.
        for table, columns in tables.items():
            self.assertEqual(
                self.rows(home, table, columns)[:len(before[table])], before[table])
        self.check_sound(home)
        self.check_lists(file, answers, home)
        with hftest.Driver() as d:
            d.call("runtime", home=home.path)
            d.call("open")
            self.check_searches(file, answers, d)
            self.check_transcripts(file, answers, d)

    def test_old_session_goes_on(self):
        self.each_file(self.old_session_goes_on)

    def old_session_goes_on(self, file, answers, home):
        session = answers["kinds"]["plain"]
        with hftest.Driver() as d:
            d.call("runtime", home=home.path)
            d.call("open")
            before = d.call("read", session=session)["messages"]
            d.call("append", session=session, messages=[
                {"role": "user", "content": "and then?"}])
            after = d.call("read", session=session)["messages"]
            self.assertEqual(after[:-1], before)
            self.assertEqual(after[-1]["content"], "and then?")
            count = d.call("get", session=session)["session"]["message_count"]
            self.assertEqual(count, answers["sessions"][session]["message_count"] + 1)
            # Hidden and shown again: the triggers of this layout keep up.
            d.call("rewind", session=session, **{"from": after[-1]["id"]})
            self.assertEqual(d.call("read", session=session)["messages"], before)
            d.call("restore", session=session, **{"from": after[-1]["id"]})
            self.assertEqual(len(d.call("read", session=session)["messages"]),
                             len(after))
        self.check_sound(home)

    def test_second_open_writes_nothing(self):
        self.each_file(self.second_open_writes_nothing)

    def second_open_writes_nothing(self, file, answers, home):
        self.append_new(home)
        with hftest.Driver() as d:
            d.call("runtime", home=home.path)
            d.call("open")
            d.call("close")
            d.call("open")
            main = hftest.sha256(home.db)
            wal = self.wal_size(home)
            version = home.sql("PRAGMA schema_version")
            d.call("close")
            d.call("trace", on=True)
            d.call("open")
            d.call("list", query={"limit": 5})
            d.call("stats")
            statements = [s["sql"] for s in d.call("trace", on=True)["statements"]]
            self.assertEqual(self.wal_size(home), wal)
            d.call("close")
        self.assertEqual(hftest.sha256(home.db), main)
        self.assertEqual(home.sql("PRAGMA schema_version"), version)
        self.assertTrue(statements)
        for sql in statements:
            words = sql.upper().split()
            self.assertNotIn(words[0], {"INSERT", "UPDATE", "DELETE", "REPLACE",
                                        "CREATE", "DROP", "ALTER"}, sql)
            # A plain BEGIN only reads until something is written.
            self.assertFalse({"IMMEDIATE", "EXCLUSIVE"} & set(words[:2]), sql)

    def wal_size(self, home):
        path = home.db + "-wal"
        return os.path.getsize(path) if os.path.exists(path) else 0


if __name__ == "__main__":
    hftest.main()
