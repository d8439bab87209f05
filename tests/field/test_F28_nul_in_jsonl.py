"""F28, its JSONL part: content with NUL bytes, structured, broken, empty and NULL
through the JSONL backend and back."""

import json
import os

import hfjsonl
import hftest

STRUCTURED = b'\0json:[{"type":"text","text":"needle one"}]'
CONTENTS = [STRUCTURED, b"head\0needle two", b"\0", b"", None, b"\xff\xfe broken \x80",
            "a\u2028b\nc\rd".encode(), b'{"uid":"x","crc":"00000000"}\n{"uid":']
CALLS = b'[{"id":"c1"}]\0'


def raw(value):
    return value.encode() if isinstance(value, str) else value


class F28Jsonl(hfjsonl.JsonlTestCase):
    def setUp(self):
        super().setUp()
        self.d = self.opened()
        self.d.call("create", session={"id": "raw", "source": "cli",
                                       "started_at": 1785000000.0})
        for content in CONTENTS:
            message = {"role": "user", "timestamp": 1785000001.0}
            if content is not None:
                message["content"] = content
            self.d.call("append", session="raw", messages=[message])
        self.d.call("append", session="raw", messages=[
            {"role": "assistant", "tool_calls": CALLS, "timestamp": 1785000002.0}])

    def check(self, d, store="main"):
        messages = d.call("read", session="raw", store=store)["messages"]
        self.assertEqual([raw(m["content"]) for m in messages], CONTENTS + [None])
        self.assertEqual(raw(messages[-1]["tool_calls"]), CALLS)

    def test_read_back(self):
        self.check(self.d)
        self.d.close()
        d = self.opened()
        self.check(d)
        self.assertEqual(self.logged(d, level=hftest.LOG_WARNING), [])
        for line in hfjsonl.lines(self.file("raw")):
            self.assertTrue(hfjsonl.good(line), line)
            line.decode("utf-8")

    def test_list_and_search(self):
        self.assertEqual(self.d.call("list", query={})["sessions"][0]["preview"],
                         "needle one")
        hits = self.d.call("search", query={"text": "needle"})["hits"]
        self.assertEqual(sorted(h["message_id"] for h in hits), [1, 2])

    def test_to_sqlite_and_back(self):
        """Valid UTF-8 goes through export and import into either backend unchanged."""
        path = os.path.join(self.home.dir, "out")
        self.d.call("export", file=path)
        with open(path, encoding="utf-8") as f:
            text = f.read()
        json.loads(text)
        for backend in ("sqlite", "jsonl"):
            other = hftest.TempHome(backend)
            self.addCleanup(other.close)
            other.config(f"database:\n  backend: {backend}\n")
            self.d.call("runtime", name=backend, home=other.path)
            self.d.call("open", runtime=backend, store=backend)
            self.d.call("import", store=backend, file=path)
            again = path + backend
            self.d.call("export", store=backend, file=again)
            with open(again, encoding="utf-8") as f:
                self.assertEqual(f.read(), text)


if __name__ == "__main__":
    hftest.main()
