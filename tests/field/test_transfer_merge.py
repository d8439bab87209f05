"""Import into a store that has some of it already: a merge adds what is missing, keeps
the order, and counts it."""

import json
import os

import hftest


class Merge(hftest.TestCase):
    def setUp(self):
        super().setUp()
        self.other = hftest.TempHome("other")
        self.addCleanup(self.other.close)
        self.d = self.opened()
        self.d.call("runtime", name="other", home=self.other.path)
        self.d.call("open", runtime="other", store="other")

    def export(self, name, store="main"):
        path = os.path.join(self.home.dir, name)
        self.d.call("export", file=path, store=store)
        return path

    @staticmethod
    def read(path):
        with open(path, encoding="utf-8") as f:
            return [json.loads(line) for line in f.read().split("\n") if line]

    def test_merge(self):
        d = self.d
        d.call("create", session={"id": "s", "source": "cli", "title": "A talk"})
        for i in range(3):
            d.call("append", session="s", messages=[{"role": "user", "content": f"m{i}"}])
        early = self.export("early")
        d.call("append", session="s", messages=[
            {"role": "assistant", "content": "m3", "tool_calls": '[{"id":"c1"}]'},
            {"role": "user", "content": "m4"}])
        late = self.export("late")
        self.assertEqual(d.call("import", store="other", file=early)["result"]["messages"], 3)
        self.assertEqual(d.call("import", store="other", file=late)["result"]["skipped"], 1)
        self.assertEqual(len(d.call("read", store="other", session="s")["messages"]), 3)
        for expected in ((1, 2), (0, 0)):
            result = d.call("import", store="other", file=late, merge=1)["result"]
            self.assertEqual((result["merged"], result["messages"]), expected)
        ours, = self.read(late)
        theirs, = self.read(self.export("theirs", store="other"))
        self.assertEqual(theirs["messages"], ours["messages"])
        self.assertEqual((theirs["message_count"], theirs["tool_call_count"]), (5, 1))
        hits = d.call("search", store="other", query={"text": "m4"})["hits"]
        self.assertEqual(len(hits), 1)
        self.integrity(self.other.db)

    def test_half_an_import(self):
        """A process that dies in an import leaves counters that a merge completes."""
        d = self.d
        d.call("create", session={"id": "s", "source": "cli"})
        d.call("append", session="s", messages=[
            {"role": "assistant", "content": f"m{i}", "tool_calls": '[{"id":"c1"}]'}
            for i in range(2000)])
        path = self.export("whole")
        self.other.sql("CREATE TRIGGER die BEFORE INSERT ON messages WHEN new.content ="
                       " 'm1999' BEGIN SELECT RAISE(ABORT, 'no'); END")
        self.other.sql("CREATE TRIGGER stay BEFORE DELETE ON sessions"
                       " BEGIN SELECT RAISE(ABORT, 'no'); END")
        self.assertFalse(d.try_call("import", store="other", file=path)["ok"])
        count = "SELECT message_count, tool_call_count, count(*) FROM sessions, messages"
        (messages, calls, there), = self.other.sql(count)
        self.assertTrue(messages == calls == there > 0, (messages, calls, there))
        self.other.sql("DROP TRIGGER die")
        d.call("import", store="other", file=path, merge=1)
        self.assertEqual(self.other.sql(count), [(2000, 2000, 2000)])

    def test_an_id_that_is_taken_in_the_middle(self):
        """What follows a message with a new id gets a new one, too: order is by id."""
        d = self.d
        d.call("create", session={"id": "s", "source": "cli"})
        for start in (0, 600):
            d.call("append", session="s", messages=[
                {"role": "user", "content": f"m{i}"} for i in range(start, start + 600)])
        path = self.export("whole")
        d.call("create", store="other", session={"id": "x", "source": "cli"})
        self.other.sql("INSERT INTO messages (id, session_id, role, timestamp) VALUES"
                       " (3, 'x', 'user', 1), (700, 'x', 'user', 1)")
        d.call("import", store="other", file=path)
        got = [m["content"] for m in d.call("read", store="other", session="s")["messages"]]
        self.assertEqual(got, [f"m{i}" for i in range(1200)])

    def test_ids_that_are_taken(self):
        """Messages of another store get new ids and stay in order; a compressed session
        can be imported with its transcript."""
        d = self.d
        for store in ("main", "other"):
            d.call("create", store=store, session={"id": store, "source": "cli",
                                                   "title": "Same title"})
            d.call("append", store=store, session=store, messages=[
                {"role": "user", "content": f"{store} {i}"} for i in range(3)])
        d.call("end", session="main", reason="compression")
        d.call("create", session={"id": "next", "source": "cli", "parent_id": "main"})
        result = d.call("import", store="other", file=self.export("out"))["result"]
        self.assertEqual((result["sessions"], result["messages"]), (2, 3))
        messages = d.call("read", store="other", session="main")["messages"]
        self.assertEqual([m["content"] for m in messages], ["main 0", "main 1", "main 2"])
        self.assertEqual(len(d.call("read", store="other", session="other")["messages"]), 3)
        title = d.call("get", store="other", session="main")["session"]["title"]
        self.assertEqual(title, "Same title #2")
        self.assertEqual(len(self.logged(d, event="import_title")), 1)
        self.assertEqual(d.call("get", store="other", session="next")["session"]
                         ["parent_id"], "main")
        # The display order follows the new ids.
        rows = self.other.sql("SELECT id, display_order FROM messages")
        self.assertEqual([a for a, b in rows if a != b], [])

    def test_rewound_and_compacted(self):
        d = self.d
        d.call("create", session={"id": "s", "source": "cli"})
        ids = d.call("append", session="s", messages=[
            {"role": "user", "content": f"m{i}"} for i in range(6)])["ids"]
        d.call("rewind", session="s", **{"from": ids[4]})
        d.call("compact", session="s", watermark=ids[1],
               summary=[{"role": "user", "content": "summary"}])
        out = self.export("out")
        line, = self.read(out)
        self.assertEqual([(m["content"], m["active"], m["compacted"]) for m in
                          line["messages"]],
                         [("m0", 0, 1), ("m1", 0, 1), ("m2", 1, 0), ("m3", 1, 0),
                          ("summary", 1, 0)])
        d.call("import", store="other", file=out)
        with open(out, "rb") as a, open(self.export("again", store="other"), "rb") as b:
            self.assertEqual(a.read(), b.read())
        self.assertEqual(self.other.sql("SELECT content, active, compacted,"
                                        " _compressed_summary FROM messages ORDER BY id")[0],
                         ("m0", 0, 1, 0))

    def test_broken_file(self):
        d = self.d
        path = os.path.join(self.home.dir, "broken")
        with open(path, "w", encoding="utf-8") as f:
            f.write('{"id":"ok","source":"cli","messages":[{"role":"user","content":"x"}]}\n'
                    '{"id":"half","source":"cli","messages":[{"role":"user","content":"y"},'
                    '{"role":"user","content":')
        answer = d.try_call("import", store="other", file=path)
        self.assertEqual(answer["code"], "HF_INVALID")
        self.assertIn("line 2", answer["message"])
        self.assertEqual(self.other.sql("SELECT id FROM sessions"), [("ok",)])
        self.assertEqual(self.other.sql("SELECT content FROM messages"), [("x",)])


if __name__ == "__main__":
    hftest.main()
