"""Real files of three layouts through export and import: the same bytes come out of the
file, of the file opened for writing, and of a new store that the export was read into."""

import json
import os
import sqlite3

import hftest

NAMES = ("hermes-2026-03", "hermes-2026-06", "hermes-2026-08")


def lines_of(path):
    with open(path, "rb") as f:
        data = f.read()
    assert data.endswith(b"\n")
    return data, [json.loads(line) for line in data[:-1].split(b"\n")]


class RealFiles(hftest.TestCase):
    def export(self, driver, name, **kw):
        path = os.path.join(self.home.dir, name)
        driver.call("export", file=path, **kw)
        return path

    def round_trip(self, name):
        hftest.copy_shared(name + ".db", self.home)
        before = hftest.sha256(self.home.db)
        d = self.driver()
        d.call("runtime", home=self.home.path)
        d.call("open", read_only=1)
        first, sessions = lines_of(self.export(d, "first"))
        d.call("close")
        self.assertEqual(hftest.sha256(self.home.db), before)

        d.call("open")  # brings the schema up to date
        second, _ = lines_of(self.export(d, "second"))
        self.assertEqual(first, second)
        d.call("close")

        other = hftest.TempHome("other")
        self.addCleanup(other.close)
        d2 = self.driver()
        d2.call("runtime", home=other.path)
        d2.call("open")
        answer = d2.call("import", file=os.path.join(self.home.dir, "first"))["result"]
        self.assertEqual(answer["sessions"], len(sessions), answer)
        third, _ = lines_of(self.export(d2, "third"))
        for a, b in zip(first.split(b"\n"), third.split(b"\n")):
            if a != b:
                x, y = json.loads(a), json.loads(b)
                self.assertEqual({k: v for k, v in x.items() if k != "messages"},
                                 {k: v for k, v in y.items() if k != "messages"})
                self.assertEqual(x["messages"], y["messages"])
        self.assertEqual(first, third)
        again = d2.call("import", file=os.path.join(self.home.dir, "third"))["result"]
        self.assertEqual((again["sessions"], again["skipped"], again["messages"]),
                         (0, len(sessions), 0))
        merged = d2.call("import", file=os.path.join(self.home.dir, "third"), merge=1)["result"]
        self.assertEqual((merged["sessions"], merged["merged"], merged["messages"]),
                         (0, 0, 0), merged)
        d2.call("close")
        self.integrity(other.db)
        return sessions

    def compare_with_rows(self, sessions, name):
        """Every column of the file stands in the export, text as text, time as time."""
        path = hftest.shared_data(name + ".db")
        copy = os.path.join(self.home.dir, "plain.db")
        with open(path, "rb") as src, open(copy, "wb") as dst:
            dst.write(src.read())
        con = sqlite3.connect(copy)
        con.row_factory = sqlite3.Row
        rows = {r["id"]: dict(r) for r in con.execute("SELECT * FROM sessions")}
        prompts = {}
        if con.execute("SELECT 1 FROM sqlite_master WHERE name='system_prompts'").fetchone():
            prompts = dict(con.execute("SELECT hash, prompt FROM system_prompts"))
        self.assertEqual({s["id"] for s in sessions}, set(rows))
        for s in sessions:
            row = rows[s["id"]]
            self.assertEqual(list(s)[-1], "messages")
            for key, value in row.items():
                if key == "system_prompt" and value is None:
                    value = prompts.get(row.get("system_prompt_hash"))
                self.assertEqual(s[key], value, (s["id"], key))
            active = "active" if "active" in con.execute(
                "SELECT * FROM messages LIMIT 1").fetchone().keys() else "1"
            compacted = "compacted" if name.endswith("08") else "0"
            messages = [dict(r) for r in con.execute(
                f"SELECT * FROM messages WHERE session_id=? AND ({active} OR {compacted})"
                " ORDER BY id", (s["id"],))]
            self.assertEqual([m["id"] for m in s["messages"]], [m["id"] for m in messages])
            for got, m in zip(s["messages"], messages):
                for key, value in m.items():
                    if key == "content" and value and value.startswith("\0json:"):
                        value = json.loads(value[6:])
                    elif key == "tool_calls" and value:
                        value = json.loads(value)
                    self.assertEqual(got[key], value, (m["id"], key))
        con.close()

    def test_2026_03(self):
        self.compare_with_rows(self.round_trip(NAMES[0]), NAMES[0])

    def test_2026_06(self):
        self.compare_with_rows(self.round_trip(NAMES[1]), NAMES[1])

    def test_2026_08(self):
        self.compare_with_rows(self.round_trip(NAMES[2]), NAMES[2])


if __name__ == "__main__":
    hftest.main()
