"""F28: content with NUL bytes, structured, empty and NULL, through every way in and out
of the SQLite store."""

import json
import os

import hftest

STRUCTURED = b'\0json:[{"type":"text","text":"needle one"}]'
CONTENTS = [STRUCTURED, b"head\0needle two", b"\0", b"", None]
CALLS = b'[{"id":"c1"}]\0'


class F28(hftest.TestCase):
    def setUp(self):
        super().setUp()
        d = self.opened()
        d.call("create", session={"id": "raw", "source": "cli", "started_at": 1785000000.0})
        d.close()
        for content in CONTENTS:
            self.home.sql("INSERT INTO messages(session_id, role, content, timestamp)"
                          " VALUES ('raw', 'user', CAST(? AS TEXT), 1785000001.0)", content)
        self.home.sql("INSERT INTO messages(session_id, role, tool_calls, timestamp)"
                      " VALUES ('raw', 'assistant', CAST(? AS TEXT), 1785000002.0)", CALLS)

    def cells(self, home, session):
        return home.sql("SELECT typeof(content), hex(content), typeof(tool_calls),"
                        " hex(tool_calls) FROM messages WHERE session_id = ? ORDER BY id",
                        session)

    @staticmethod
    def raw(value):
        return value.encode() if isinstance(value, str) else value

    def test_load_list_and_search(self):
        d = self.opened()
        messages = d.call("read", session="raw")["messages"]
        self.assertEqual([self.raw(m["content"]) for m in messages], CONTENTS + [None])
        self.assertEqual(self.raw(messages[-1]["tool_calls"]), CALLS)
        self.assertEqual(d.call("list", query={})["sessions"][0]["preview"], "needle one")
        hits = d.call("search", query={"text": "needle"})["hits"]
        self.assertEqual(sorted(h["message_id"] for h in hits),
                         [m["id"] for m in messages[:2]])

    def test_export_and_import(self):
        d = self.opened()
        path = os.path.join(self.home.dir, "out")
        d.call("export", file=path)
        with open(path, encoding="utf-8") as f:
            text = f.read()
        self.assertEqual(text.count("\n"), 1)
        messages = json.loads(text)["messages"]
        self.assertEqual([m["content"] for m in messages],
                         [[{"type": "text", "text": "needle one"}], "head\0needle two", "\0",
                          "", None, None])
        self.assertEqual(messages[-1]["tool_calls"], CALLS.decode())
        other = hftest.TempHome("other")
        self.addCleanup(other.close)
        d.call("runtime", name="other", home=other.path)
        d.call("open", runtime="other", store="other")
        result = d.call("import", store="other", file=path)["result"]
        self.assertEqual((result["sessions"], result["messages"]), (1, 6))
        self.assertEqual(self.cells(other, "raw"), self.cells(self.home, "raw"))
        again = os.path.join(self.home.dir, "again")
        d.call("export", store="other", file=again)
        with open(again, encoding="utf-8") as f:
            self.assertEqual(f.read(), text)
        hits = d.call("search", store="other", query={"text": "needle"})["hits"]
        self.assertEqual(len(hits), 2)

    def test_commands(self):
        shown = hftest.holdfast_json("sessions", "show", "raw", home=self.home)
        self.assertEqual([m["content"] for m in shown["messages"]],
                         [[{"type": "text", "text": "needle one"}], "head\0needle two", "\0",
                          "", None, None])
        row, = hftest.holdfast_json("sessions", "list", home=self.home)["sessions"]
        self.assertEqual(row["preview"], "needle one")
        hits = hftest.holdfast_json("sessions", "search", "needle", home=self.home)["hits"]
        self.assertEqual(len(hits), 2)
        for args in (("list",), ("show", "raw"), ("search", "needle"), ("export",)):
            result = hftest.holdfast("sessions", *args, home=self.home)
            self.assertEqual(result.returncode, 0, result.stderr)
            self.assertNotIn("\0", result.stdout)

    def test_append(self):
        d = self.opened()
        d.call("create", session={"id": "api", "source": "cli"})
        for content in CONTENTS:
            message = {"role": "user"}
            if content is not None:
                message["content"] = content
            d.call("append", session="api", messages=[message])
        d.call("append", session="api", messages=[{"role": "assistant",
                                                   "tool_calls": CALLS}])
        self.assertEqual(self.cells(self.home, "api"), self.cells(self.home, "raw"))
        hits = d.call("search", query={"text": "needle", "session_id": "api"})["hits"]
        self.assertEqual(len(hits), 2)
        d.close()
        self.integrity()


if __name__ == "__main__":
    hftest.main()
