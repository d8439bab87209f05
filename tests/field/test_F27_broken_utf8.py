"""F27: bytes that are no UTF-8 are kept in the store, and shown as a replacement mark."""

import json
import os

import hftest

MARK = "\N{REPLACEMENT CHARACTER}"
# Stored bytes, and what every output shows of them.
BROKEN = [
    (b"\xed\xa0\x80", MARK * 3),
    (b"\xff", MARK),
    (b"\xc0\x80", MARK * 2),
    (b"\xf0\x9f\x98\x80", "\N{GRINNING FACE}"),
    (b"\xef\xbb\xbfx", "\ufeffx"),
]
PROMPT = b"You help\xe2\x9c"
TITLE = b"half \xe2\x9c"


class F27(hftest.TestCase):
    def setUp(self):
        super().setUp()
        d = self.opened()
        d.call("create", session={"id": "s", "source": "cli", "started_at": 1785000000.0})
        d.call("append", session="s", messages=[{"role": "user", "content": "needle one"}])
        d.close()
        self.text("UPDATE sessions SET title = CAST(? AS TEXT),"
                  " system_prompt = CAST(? AS TEXT)", TITLE, PROMPT)
        for content, _ in BROKEN:
            self.text("INSERT INTO messages(session_id, role, content, timestamp)"
                      " VALUES ('s', 'user', CAST(? AS TEXT), 1785000001.0)", content)
        d = self.opened()
        d.call("append", session="s", messages=[{"role": "user", "content": "needle two"}])
        d.close()
        self.before = self.bytes_of(self.home)

    def text(self, sql, *args):
        self.home.sql(sql, *args)

    def bytes_of(self, home):
        return (home.sql("SELECT hex(title), hex(coalesce(system_prompt, (SELECT prompt FROM"
                         " system_prompts p WHERE p.hash = system_prompt_hash)))"
                         " FROM sessions")
                + home.sql("SELECT typeof(content), hex(content) FROM messages"
                           " ORDER BY id"))

    def test_list_load_and_search(self):
        d = self.opened()
        row = d.call("list", query={})["sessions"][0]
        self.assertEqual(row["title"], TITLE)
        self.assertEqual(d.call("get", session="s", want=1)["session"]["system_prompt"],
                         PROMPT)
        messages = d.call("read", session="s")["messages"]
        self.assertEqual(len(messages), 2 + len(BROKEN))
        for (content, _), message in zip(BROKEN, messages[1:]):
            got = message["content"]
            self.assertEqual(got if isinstance(got, bytes) else got.encode(), content)
        hits = d.call("search", query={"text": "needle"})
        self.assertEqual(len(hits["hits"]), 2)
        self.assertFalse(hits["degraded"])
        d.close()
        self.assertEqual(self.bytes_of(self.home), self.before)
        self.integrity()

    def test_export(self):
        d = self.opened()
        path = os.path.join(self.home.dir, "out")
        d.call("export", file=path)
        with open(path, "rb") as f:
            line = json.loads(f.read().decode("utf-8"))  # strict
        self.assertEqual(line["title"], "half " + MARK)
        self.assertEqual(line["system_prompt"], "You help" + MARK)
        self.assertEqual([m["content"] for m in line["messages"][1:-1]],
                         [shown for _, shown in BROKEN])
        d.close()
        self.assertEqual(self.bytes_of(self.home), self.before)
        self.assertNotIn(b"\xff", json.dumps(line).encode())

    def test_commands(self):
        for args in (("list",), ("show", "s"), ("search", "needle"), ("stats",)):
            result = hftest.holdfast("--json", "sessions", *args, home=self.home, text=False)
            self.assertEqual(result.returncode, 0, result.stderr)
            document = json.loads(result.stdout.decode("utf-8"))  # strict
            if args[0] == "list":
                self.assertEqual(document["sessions"][0]["title"], "half " + MARK)
            if args[0] == "show":
                self.assertEqual([m["content"] for m in document["messages"][1:-1]],
                                 [shown for _, shown in BROKEN])
            plain = hftest.holdfast("sessions", *args, home=self.home, text=False)
            self.assertEqual(plain.returncode, 0, plain.stderr)
            plain.stdout.decode("utf-8")
        self.assertEqual(self.bytes_of(self.home), self.before)

    def test_copy_to_another_store(self):
        """An embedder copies a session through the interface: the bytes survive."""
        d = self.opened()
        session = d.call("get", session="s", want=1)["session"]
        messages = d.call("read", session="s")["messages"]
        other = hftest.TempHome("other")
        self.addCleanup(other.close)
        d.call("runtime", name="other", home=other.path)
        d.call("open", runtime="other", store="other")
        d.call("create", store="other", session={
            key: session[key] for key in ("id", "source", "title", "started_at",
                                          "system_prompt")})
        d.call("append", store="other", session="s", messages=[
            {key: m[key] for key in ("role", "content", "timestamp")} for m in messages])
        d.call("close", store="other")
        d.close()
        self.assertEqual(self.bytes_of(other), self.before)

    def test_append(self):
        d = self.opened()
        d.call("create", session={"id": "new", "source": "cli"})
        for content, _ in BROKEN + [(TITLE, ""), (PROMPT, "")]:
            d.call("append", session="new", messages=[{"role": "user", "content": content}])
            d.call("append", session="new", messages=[{"role": "user", "content": "normal"}])
        rows = self.home.sql("SELECT hex(content) FROM messages WHERE session_id = 'new'"
                             " ORDER BY id")
        expected = []
        for content, _ in BROKEN + [(TITLE, ""), (PROMPT, "")]:
            expected += [(content.hex().upper(),), (b"normal".hex().upper(),)]
        self.assertEqual(rows, expected)
        # An id is refused, with its reason, before anything is stored.
        answer = d.try_call("create", session={"id": b"x\xff", "source": "cli"})
        self.assertEqual(answer["code"], "HF_INVALID")
        self.assertIn("UTF-8", answer["message"])


if __name__ == "__main__":
    hftest.main()
