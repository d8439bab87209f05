"""F24: search text as people type it."""

import hftest

MESSAGES = {
    "backup": "检查demo数据库的备份",
    "rain": "今早下雨",
    "suzhou": "苏州",
    "memo": "会議メモを保存",
    "korean": "회의록을 저장",
    "fix": "fix in src/main.py at 50% for a@b.c",
    "its": "it's the odd-key",
    "foo": "foo:bar",
    "underscore": "100_000",
    "million": "1000000",
}

# Each query and exactly the messages it finds.
FINDS = {
    "demo": {"backup"},
    "数据库": {"backup"},
    "今早": {"rain"},
    "雨": {"rain"},
    "メモ": {"memo"},
    "회의": {"korean"},
    "苏州 OR 杭州": {"suzhou"},
    "demo 数据库": {"backup"},
    "odd-key": {"its"},
    "foo:bar": {"foo"},
    "it's": {"its"},
    "src/main.py": {"fix"},
    "50%": {"fix"},
    "a@b.c": {"fix"},
    "100_000": {"underscore"},
    # and what follows from the rules
    "苏州 AND 杭州": set(),
    "demo 苏州": set(),
    "数据库 NOT demo": set(),
    "雨 NOT 苏州": {"rain"},
    "数据库 NOT 苏州大学": {"backup"},
    "雨 OR 数据库 OR foo": {"rain", "backup", "foo"},
    "fix NOT 雨": {"fix"},
    "数据*": {"backup"},
    "dem*": {"backup"},
    "em": set(),
    "mo": set(),
    '"数据库的备份"': {"backup"},
    "FOO:BAR": {"foo"},
    "main.py src": {"fix"},
    '"main.py src"': set(),
    "1000000": {"million"},
    "1000*": {"million"},
    "or": set(),
}

# Nothing is found, and the note says why.
NOTHING = ("AND", "NOT", "*", "(", "", "   ", "AND OR", "NOT demo", ")", '"', '""', "***",
           "\x00", "^", "{}", "-", "NEAR(", "absentword", "' OR 1=1 --absent")


class F24(hftest.TestCase):
    def store(self, index="immediate"):
        self.home.config(f"sessions:\n  index: {index}\n")
        d = self.opened()
        d.call("create", session={"id": "s1", "source": "cli"})
        answer = d.call("append", session="s1", messages=[
            {"role": "user", "content": text} for text in MESSAGES.values()])
        self.names = dict(zip(answer["ids"], MESSAGES))
        return d

    def found(self, d, text, **query):
        answer = d.call("search", query={"text": text, **query})
        return {self.names[hit["message_id"]] for hit in answer["hits"]}, answer

    def queries(self, d, degraded=False):
        for text, names in FINDS.items():
            with self.subTest(text=text):
                found, answer = self.found(d, text)
                self.assertEqual(found, names)
                self.assertEqual(answer["degraded"], degraded)
                self.assertEqual(len(answer["hits"]), len(found), "a hit twice")
                for hit in answer["hits"]:
                    self.assertIn(">>>", hit["snippet"])
                    plain = hit["snippet"].replace(">>>", "").replace("<<<", "")
                    self.assertEqual(plain, MESSAGES[self.names[hit["message_id"]]])
        for text in NOTHING:
            with self.subTest(text=text):
                found, answer = self.found(d, text)
                self.assertEqual(found, set())
                self.assertTrue(answer["note"])
                self.assertNotIn("damage", answer["note"])

    def test_words_people_type(self):
        self.queries(self.store())

    def test_not_indexed_yet(self):
        self.queries(self.store("deferred"))

    def test_gap_beside_the_index(self):
        """Rows between the two markers are in no index, on a store without any CJK."""
        d = self.opened()
        d.call("create", session={"id": "s1", "source": "cli"})
        old = d.call("append", session="s1", messages=[{"content": "old apple"}])["ids"]
        self.home.sql("INSERT INTO state_meta VALUES ('fts_rebuild_progress', ?),"
                      " ('fts_rebuild_high_water', '100000')", str(old[0]))
        new = d.call("append", session="s1", messages=[
            {"content": "new apple"}, {"content": "a pear"}])["ids"]
        self.assertEqual(self.home.sql("SELECT count(*) FROM messages_fts_docsize"), [(1,)])
        for text, ids in (("apple", [old[0], new[0]]), ("pear", new[1:]), ("old", old),
                          ("apple NOT old", new[:1]), ("gone", [])):
            answer = d.call("search", query={"text": text, "order": 20})
            self.assertEqual([hit["message_id"] for hit in answer["hits"]], ids)
            self.assertFalse(answer["degraded"])

    def test_without_an_index(self):
        d = self.store()
        d.close()
        for table in ("messages_fts", "messages_fts_trigram"):
            for event in ("insert", "delete", "update"):
                self.home.sql(f"DROP TRIGGER IF EXISTS {table}_{event}")
            self.home.sql(f"DROP TABLE {table}")
        d = self.opened(read_only=True)
        self.queries(d, degraded=True)
        _, answer = self.found(d, "demo")
        self.assertIn("search degraded, canonical transcript intact", answer["note"])

    def test_stale_index(self):
        d = self.store()
        self.home.sql("INSERT INTO state_meta VALUES ('fts_stale', '1')")
        self.home.sql("DELETE FROM messages_fts_docsize")
        self.queries(d, degraded=True)

    def test_damaged_index(self):
        d = self.store()
        self.home.sql("UPDATE messages_fts_data SET block = x'00' WHERE id > 10")
        self.home.sql("UPDATE messages_fts_trigram_data SET block = x'00' WHERE id > 10")
        d.close()
        d = self.opened(read_only=True)
        found, answer = self.found(d, "fix")
        self.assertEqual(found, {"fix"})
        self.assertTrue(answer["degraded"])

    def test_unbalanced_and_huge(self):
        d = self.store()
        found, answer = self.found(d, '"unbalanced')
        self.assertEqual(found, set())
        self.assertIn("quote", answer["note"])
        found, _ = self.found(d, 'foo "bar')
        self.assertEqual(found, {"foo"})
        for word in ("demo ", "雨 ", "x NOT ", "( ", "a OR ", '"', "((((", "é"):
            with self.subTest(word=word):
                text = (word * (1 << 20))[:1 << 20]
                with hftest.Timer() as timer:
                    _, answer = self.found(d, text)
                self.assertIn("2048", answer["note"])
                self.assertLess(timer.seconds, 10)
        found, answer = self.found(d, "雨\x00苏州")
        self.assertEqual(found, set())
        found, _ = self.found(d, "雨\x00")
        self.assertEqual(found, {"rain"})
        found, _ = self.found(d, b"\xff\xfe\xe4\xb8 foo:bar \xed\xa0\x80")
        self.assertEqual(found, {"foo"})

    def test_filters_and_order(self):
        d = self.store()
        d.call("create", session={"id": "s2", "source": "telegram"})
        ids = d.call("append", session="s2", messages=[
            {"role": "assistant", "content": "雨 and foo", "timestamp": 1000.0},
            {"role": "tool", "content": "大雨です foo", "timestamp": 2000.0}])["ids"]
        for text in ("foo", "雨"):
            for query, expected in (
                    ({"session_id": "s2"}, ids), ({"sources": ["telegram"]}, ids),
                    ({"exclude_sources": ["cli"]}, ids), ({"roles": ["tool"]}, ids[1:]),
                    ({"since": 1500.0, "until": 2500.0}, ids[1:]),
                    ({"session_id": "nope"}, []),
                    ({"session_id": "s2", "order": 10}, ids[::-1]),
                    ({"session_id": "s2", "order": 20}, ids),
                    ({"session_id": "s2", "order": 20, "limit": 1, "offset": 1}, ids[1:])):
                with self.subTest(text=text, query=query):
                    hits = d.call("search", query={"text": text, **query})["hits"]
                    found = [hit["message_id"] for hit in hits]
                    if "order" in query:
                        self.assertEqual(found, expected)
                    else:
                        self.assertEqual(sorted(found), expected)

    def test_rewound_and_structured(self):
        d = self.store()
        ids = d.call("append", session="s1", messages=[
            {"role": "user", "content": "\0json:" + '[{"type":"text","text":"needle 针"},'
             '{"type":"image_url","image_url":{"url":"data:image/png;base64,AAAA"}}]'},
            {"role": "user", "content": "head\0needle two"},
            {"role": "assistant", "content": "", "tool_name": "reader",
             "tool_calls": '[{"function":{"arguments":"{\\"q\\":\\"\\u4e2d\\u6587\\"}"}}]'},
            {"role": "user", "content": "needle gone 针"}])["ids"]
        d.call("rewind", session="s1", **{"from": ids[3]})

        def hits(text, **query):
            answer = d.call("search", query={"text": text, **query})
            return sorted(hit["message_id"] for hit in answer["hits"])
        self.assertEqual(hits("needle"), ids[:2])
        self.assertEqual(hits("针"), ids[:1])
        self.assertEqual(hits("needle", include_rewound=1), ids[:2] + ids[3:])
        self.assertEqual(hits("image_url"), [])
        self.assertEqual(hits("中文"), ids[2:3])
        self.assertEqual(hits("reader"), ids[2:3])

    def test_command(self):
        self.store().close()
        for text, names in (("100_000", {"underscore"}), ("50%", {"fix"}),
                            ("demo 数据库", {"backup"}), ("*", set())):
            answer = hftest.holdfast_json("sessions", "search", text, home=self.home)
            self.assertEqual({self.names[h["message_id"]] for h in answer["hits"]}, names)
            self.assertFalse(answer["degraded"])
            self.assertEqual(bool(answer["note"]), not names)


if __name__ == "__main__":
    hftest.main()
