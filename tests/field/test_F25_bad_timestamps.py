"""F25: sessions and messages whose times are no times do not stop anything."""

import json
import math
import os

import hftest

# What an ordinary SQLite client stored, and what it is to us: a time or None.
VALUES = [
    ("not-a-date", None),
    ("2026-01-01T00:00:00", None),
    ("1.7e9", 1.7e9),
    (8.4e252, None),
    (math.inf, None),
    (-math.inf, None),
    (5e-324, 5e-324),  # inside the window of SPEC 7, if barely
    (b"\x00\xff", None),
    (-1, None),
    (0, 0.0),
    (8204889600, None),
]


class F25(hftest.TestCase):
    def setUp(self):
        super().setUp()
        d = self.opened()
        for i in range(20):
            d.call("create", session={"id": f"healthy{i:02}", "source": "cli",
                                      "started_at": 1785000000.0 + i})
            d.call("append", session=f"healthy{i:02}",
                   messages=[{"role": "user", "content": f"needle {i}"}])
        d.close()
        for i, (value, _) in enumerate(VALUES):
            self.home.sql("INSERT INTO sessions(id, source, started_at, last_activity_at)"
                          " VALUES (?, 'cli', ?, ?)", f"bad{i:02}", value, value)
            self.home.sql("INSERT INTO messages(session_id, role, content, timestamp)"
                          " VALUES (?, 'user', ?, ?)", f"bad{i:02}", f"needle bad {i}",
                          value)

    def assertTime(self, got, expected):
        self.assertEqual(got, expected)
        if expected is not None:
            self.assertIsInstance(got, float)

    def check_session(self, i, row):
        self.assertTime(row["started_at"], VALUES[i][1])
        self.assertEqual(bool(row["bad_times"]), VALUES[i][1] is None, row)

    def test_list_and_read(self):
        d = self.opened()
        for order in (0, 10):
            rows = d.call("list", query={"view": 10, "order": order})["sessions"]
            self.assertEqual(len(rows), 20 + len(VALUES))
            self.assertEqual(len({r["id"] for r in rows}), 20 + len(VALUES))
            for row in rows:
                if row["id"].startswith("bad"):
                    self.check_session(int(row["id"][3:]), row)
        # Page by page nothing is missed and nothing comes twice.
        for order in (0, 10):
            seen, query = [], {"order": order, "limit": 3}
            while True:
                rows = d.call("list", query=query)["sessions"]
                if not rows:
                    break
                seen += [r["id"] for r in rows]
                query.update(after_id=rows[-1]["id"], after_time=rows[-1]["sort_time"])
            self.assertEqual(sorted(seen), sorted({*seen}))
            self.assertEqual(len(seen), 20 + len(VALUES))
        for i, (_, expected) in enumerate(VALUES):
            message = d.call("read", session=f"bad{i:02}")["messages"][0]
            self.assertTime(message["timestamp"], expected)
            self.assertEqual(bool(message["bad_time"]), expected is None)
        warned = [line["text"] for line in self.logged(d, level=hftest.LOG_WARNING)]
        for i, (_, expected) in enumerate(VALUES):
            named = [text for text in warned if f"bad{i:02}" in text]
            self.assertEqual(len(named), 1 if expected is None else 0, (i, named))
        self.assertEqual([t for t in warned if "healthy" in t], [])
        self.assertEqual(self.logged(d, level=hftest.LOG_ERROR), [])

    def test_export_and_import(self):
        d = self.opened()
        path = os.path.join(self.home.dir, "out")
        d.call("export", file=path)
        with open(path, encoding="utf-8") as f:
            lines = [json.loads(line, parse_constant=self.fail) for line in f]
        self.assertEqual(len(lines), 20 + len(VALUES))
        for line in lines:
            if line["id"].startswith("bad"):
                expected = VALUES[int(line["id"][3:])][1]
                self.assertTime(line["started_at"], expected)
                self.assertTime(line["last_activity_at"], expected)
                self.assertTime(line["messages"][0]["timestamp"], expected)
        other = hftest.TempHome("other")
        self.addCleanup(other.close)
        d2 = self.driver()
        d2.call("runtime", home=other.path)
        d2.call("open")
        self.assertEqual(d2.call("import", file=path)["result"]["sessions"], len(lines))
        self.assertEqual(len(d2.call("list", query={})["sessions"]), len(lines))

    def test_stats_and_search(self):
        d = self.opened()
        stats = d.call("stats")["stats"]
        self.assertEqual((stats["sessions"], stats["messages"]), (31, 31))
        for order in (0, 10, 20):
            hits = d.call("search", query={"text": "needle", "order": order})["hits"]
            self.assertEqual(len(hits), 31)
            for hit in hits:
                if hit["session_id"].startswith("bad"):
                    self.assertTime(hit["timestamp"], VALUES[int(hit["session_id"][3:])][1])
        hits = d.call("search", query={"text": "needle", "since": 1.6e9})["hits"]
        self.assertEqual(len(hits), 21)

    def test_commands(self):
        def run(*args):
            result = hftest.holdfast(*args, home=self.home)
            self.assertEqual(result.returncode, 0, result.stderr)
            return result.stdout

        table = run("sessions", "list", "--all", "--limit", "100")
        document = hftest.holdfast_json("sessions", "list", "--all", "--limit", "100",
                                        home=self.home)
        rows = {row["id"]: row for row in document["sessions"]}
        self.assertEqual(len(rows), 20 + len(VALUES))
        for i, (_, expected) in enumerate(VALUES):
            self.assertTime(rows[f"bad{i:02}"]["started_at"], expected)
            line, = [x for x in table.splitlines() if f"bad{i:02}" in x]
            if expected is None:
                self.assertIn("?", line)
        for i in range(20):
            self.assertIn(f"healthy{i:02}", table)
        for i in range(len(VALUES)):
            self.assertIn(f"needle bad {i}", run("sessions", "show", f"bad{i:02}"))
        stats = hftest.holdfast_json("sessions", "stats", home=self.home)
        self.assertEqual((stats["sessions"], stats["messages"]), (31, 31))
        hits = hftest.holdfast_json("sessions", "search", "needle", "--limit", "100",
                                    home=self.home)["hits"]
        self.assertEqual(len(hits), 31)
        run("sessions", "stats")
        run("sessions", "search", "needle", "--limit", "100")
        lines = run("sessions", "export").rstrip("\n").split("\n")
        self.assertEqual(len([json.loads(line) for line in lines]), 31)

    def test_append(self):
        d = self.opened()
        for i, (value, _) in enumerate(VALUES + [(math.nan, None)]):
            if not isinstance(value, (int, float)):
                continue  # the interface takes numbers only
            answer = d.call("append", session="healthy00",
                            messages=[{"role": "user", "content": f"new {i}",
                                       "timestamp": float(value)}])
            (kind, t), = self.home.sql(
                "SELECT typeof(timestamp), timestamp FROM messages WHERE id = ?",
                answer["ids"][0])
            self.assertEqual(kind, "real")
            self.assertTrue(0 <= t <= 4200000000, t)
            if not 0 <= value <= 4200000000:
                self.assertGreater(t, 1.6e9)
        # And a message to a session of which nothing has a time.
        for i in range(len(VALUES)):
            d.call("append", session=f"bad{i:02}",
                   messages=[{"role": "user", "content": "on it goes"}])
        self.integrity()


if __name__ == "__main__":
    hftest.main()
