"""What each command prints about a small known store: the JSON documents of SPEC 11, whole,
and the tables for people."""

import json
import time

import hftest

T = 1785582000.0  # 2026-08-01 11:00:00 UTC
UID = "%032x"


class Documents(hftest.TestCase):
    def setUp(self):
        super().setUp()
        lines = [
            {"id": "alpha", "source": "cli", "model": "m-1", "title": "First \u4f60\u597d",
             "started_at": T, "message_count": 2, "messages": [
                 {"id": 1, "session_id": "alpha", "role": "user", "content": "disk is full",
                  "timestamp": T + 1, "message_uid": UID % 1},
                 {"id": 2, "session_id": "alpha", "role": "assistant",
                  "content": [{"type": "text", "text": "deleting"}], "timestamp": T + 2.5,
                  "tool_calls": [{"id": "c", "function": {"name": "rm",
                                                          "arguments": "{}"}}],
                  "message_uid": UID % 2}]},
            {"id": "beta", "source": "telegram", "started_at": T + 100, "messages": [
                {"id": 3, "session_id": "beta", "role": "user",
                 "content": "a  long\n question", "timestamp": T + 101,
                 "message_uid": UID % 3}]},
            {"id": "gamma", "source": "cli", "started_at": T + 50, "archived": 1,
             "title": "evil\u001b[2J\u202etitle", "messages": []}]
        self.file = self.home.write(
            "../in.jsonl", "".join(json.dumps(line) + "\n" for line in lines))
        document = hftest.holdfast_json("sessions", "import", self.file, home=self.home)
        self.assertEqual(document, {"sessions": 3, "skipped": 0, "merged": 0,
                                    "messages": 3})

    def json(self, *args, **kw):
        return hftest.holdfast_json(*args, home=self.home, **kw)

    def text(self, *args, status=0, **kw):
        result = hftest.holdfast(*args, home=self.home, **kw)
        self.assertEqual(result.returncode, status, result.stderr)
        return result.stdout

    def test_list(self):
        self.assertEqual(self.json("sessions", "list"), {"sessions": [
            {"id": "beta", "title": None, "preview": "a long question",
             "source": "telegram", "model": None, "started_at": T + 100,
             "last_active": T + 101, "message_count": 0, "archived": False,
             "pinned": False, "parent_session_id": None},
            {"id": "alpha", "title": "First \u4f60\u597d", "preview": "disk is full",
             "source": "cli", "model": "m-1", "started_at": T, "last_active": T + 2.5,
             "message_count": 2, "archived": False, "pinned": False,
             "parent_session_id": None}], "more": False})

    def test_list_more(self):
        self.assertEqual([s["id"] for s in self.json("sessions", "list", "--limit", "1")
                          ["sessions"]], ["beta"])
        self.assertTrue(self.json("sessions", "list", "--limit", "1")["more"])
        self.assertFalse(self.json("sessions", "list", "--limit", "2")["more"])
        self.assertIn("--limit 0", self.text("sessions", "list", "--limit", "1"))
        self.assertNotIn("--limit", self.text("sessions", "list", "--limit", "2"))
        self.assertEqual(len(self.json("sessions", "list", "--limit", "0", "--all")
                             ["sessions"]), 3)

    def test_list_filters(self):
        def ids(*args):
            return [s["id"] for s in self.json("sessions", "list", *args)["sessions"]]
        self.assertEqual(ids("--source", "cli"), ["alpha"])
        self.assertEqual(ids("--source", "cli", "--source", "telegram"),
                         ["beta", "alpha"])
        self.assertEqual(ids("--archived"), ["gamma"])
        self.assertEqual(ids("--all"), ["beta", "gamma", "alpha"])
        self.assertEqual(ids("--since", str(T + 50)), ["beta"])
        self.assertEqual(ids("--until", str(T + 50)), ["alpha"])
        self.assertEqual(ids("--since", "2026-07-31", "--until", "2026-08-03"),
                         ["beta", "alpha"])
        self.assertEqual(ids("--sort", "recent"), ["beta", "alpha"])

    def test_table(self):
        lines = self.text("sessions", "list", "--all").splitlines()
        self.assertEqual(lines[0].split(), ["ID", "TITLE", "SOURCE", "MODEL", "MSGS",
                                            "LAST", "ACTIVE"])
        self.assertIn("a long question", lines[1])  # the preview stands in for a title
        # Two columns a CJK character: the next column begins where it does elsewhere.
        wide = lines[3]
        self.assertEqual(wide[:wide.index("cli")].count("\u4f60\u597d"), 1)
        self.assertEqual(wide.index("cli") + 2, lines[1].index("telegram"))
        self.assertNotIn("\033", "".join(lines))
        self.assertNotIn("\u202e", "".join(lines))
        self.assertTrue(all(line.endswith(("ACTIVE", "2026-08-01", "2026-07-31",
                                           "2026-08-02", "ago", "yesterday"))
                            for line in lines), lines)

    def test_relative_times(self):
        now = time.time()
        rows = {"a": (now - 5, "just now"), "b": (now - 330, "5m ago"),
                "c": (now - 3 * 3600 - 60, "3h ago"),
                "d": (now - 4 * 86400, "4d ago")}
        for key, (when, _) in rows.items():
            line = json.dumps({"role": "user", "content": "x", "timestamp": when})
            self.text("sessions", "new", "--id", key)
            self.text("sessions", "append", key, "--jsonl", "-", input=line)
            self.home.sql("UPDATE sessions SET started_at = ?, last_activity_at = NULL "
                          "WHERE id = ?", when, key)
        lines = {line.split()[0]: line
                 for line in self.text("sessions", "list").splitlines()}
        for key, (_, words) in rows.items():
            self.assertTrue(lines[key].endswith(words), lines[key])

    def test_bad_times(self):
        self.home.sql("UPDATE sessions SET started_at = 'not-a-date', "
                      "last_activity_at = NULL WHERE id = 'gamma'")
        row = [s for s in self.json("sessions", "list", "--all")["sessions"]
               if s["id"] == "gamma"][0]
        self.assertIsNone(row["started_at"])
        self.assertIsNone(row["last_active"])
        line = [x for x in self.text("sessions", "list", "--all").splitlines()
                if x.startswith("gamma")][0]
        self.assertTrue(line.endswith("?"), line)

    def test_show(self):
        document = self.json("sessions", "show", "al")
        self.assertEqual(list(document), ["session", "messages"])
        self.assertEqual(document["session"]["id"], "alpha")
        self.assertIn("compression_overload_streak", document["session"])
        self.assertNotIn("messages", document["session"])
        first, second = document["messages"]
        for key in ("id", "role", "content", "timestamp", "tool_calls", "tool_name",
                    "tool_call_id", "active", "compacted"):
            self.assertIn(key, first)
        self.assertEqual(second["content"], [{"type": "text", "text": "deleting"}])
        self.assertEqual(second["tool_calls"][0]["function"]["name"], "rm")
        last = self.json("sessions", "show", "alpha", "--limit", "1")["messages"]
        self.assertEqual([m["id"] for m in last], [2])
        text = self.text("sessions", "show", "alpha")
        self.assertIn("  disk is full\n", text)
        self.assertIn("  deleting\n  -> rm({})\n", text)

    def test_show_all(self):
        self.home.sql("UPDATE messages SET active = 0, compacted = 1 WHERE id = 1")
        self.assertEqual([m["id"] for m in self.json("sessions", "show", "alpha")
                          ["messages"]], [2])
        self.assertEqual([m["id"] for m in self.json("sessions", "show", "alpha", "--all")
                          ["messages"]], [1, 2])
        self.assertIn("(compacted)", self.text("sessions", "show", "alpha", "--all"))

    def test_ambiguous_and_unknown(self):
        self.text("sessions", "new", "--id", "alpine")
        result = hftest.holdfast("sessions", "show", "alp", home=self.home)
        self.assertEqual(result.returncode, 1)
        self.assertIn("alpha", result.stderr)
        self.assertIn("alpine", result.stderr)
        result = hftest.holdfast("sessions", "show", "zeta", home=self.home)
        self.assertEqual(result.returncode, 1)
        self.assertIn("--profile", result.stderr)
        self.assertIn("@session:PROFILE/ID", result.stderr)

    def test_another_profile(self):
        self.home.profile("work")
        self.text("-p", "work", "sessions", "new", "--id", "theirs")
        result = hftest.holdfast("sessions", "show", "theirs", home=self.home)
        self.assertEqual(result.returncode, 1)
        self.assertNotIn("work", result.stderr)
        document = self.json("sessions", "show", "@session:work/theirs")
        self.assertEqual(document["profile"], "work")
        self.assertEqual(document["session"]["id"], "theirs")
        document = self.json("-p", "work", "sessions", "show", "@session:default/alpha")
        self.assertEqual(document["profile"], "default")

    def test_search(self):
        document = self.json("sessions", "search", "disk")
        self.assertEqual(document, {
            "query": "disk", "degraded": False, "note": None, "hits": [
                {"message_id": 1, "session_id": "alpha", "role": "user",
                 "timestamp": T + 1, "snippet": ">>>disk<<< is full",
                 "title": "First \u4f60\u597d"}]})
        self.assertEqual(self.json("sessions", "search", "nothing")["hits"], [])
        self.assertEqual(self.text("sessions", "search", "nothing"),
                         "No messages found.\n")
        self.assertEqual([h["message_id"] for h in self.json(
            "sessions", "search", "long", "question", "--role", "user", "--session",
            "beta", "--newest")["hits"]], [3])
        self.assertEqual(self.json("sessions", "search", "disk", "--role", "tool")
                         ["hits"], [])
        self.assertEqual(self.json("sessions", "search", "")["hits"], [])
        self.assertTrue(self.json("sessions", "search", "(")["note"])

    def test_new_and_append(self):
        document = self.json("sessions", "new", "--title", "One", "--model", "m")
        self.assertEqual(list(document), ["id"])
        self.assertRegex(document["id"], r"\A\d{8}_\d{6}_[0-9a-f]{6}\Z")
        self.assertEqual(self.json("sessions", "append", "alpha", "--role", "user",
                                   "--content", "more"),
                         {"ids": [4], "state": "healthy"})
        lines = "\n".join(json.dumps(m) for m in (
            {"role": "assistant", "content": None,
             "tool_calls": [{"id": "x", "function": {"name": "f"}}]},
            {"role": "tool", "tool_call_id": "x", "tool_name": "f",
             "content": [{"type": "text", "text": "out"}], "reasoning_details": "r"}))
        self.assertEqual(self.text("sessions", "append", "alpha", "--jsonl", "-",
                                   input=lines), "5\n6\n")
        shown = self.json("sessions", "show", "alpha")
        self.assertEqual(shown["session"]["message_count"], 5)
        self.assertIsNone(shown["messages"][-2]["content"])
        self.assertEqual(shown["messages"][-1]["content"], [{"type": "text",
                                                             "text": "out"}])
        self.assertEqual(shown["messages"][-1]["reasoning_details"], "r")
        self.assertEqual(self.text("sessions", "append", "alpha", "--role", "user", "-",
                                   input="from a pipe\n"), "7\n")
        self.assertEqual(self.json("sessions", "show", "alpha", "--limit", "1")
                         ["messages"][0]["content"], "from a pipe\n")

    def test_append_is_all_or_nothing(self):
        for line, hint in (("{", "not a JSON object"), ('{"content":"x"}', '"role"'),
                           ('{"role":"user","contnet":"x"}', 'did you mean "content"'),
                           ('{"role":1}', "a string")):
            text = json.dumps({"role": "user", "content": "ok"}) + "\n\n" + line + "\n"
            result = hftest.holdfast("sessions", "append", "alpha", "--jsonl", "-",
                                     home=self.home, input=text)
            self.assertEqual(result.returncode, 1)
            self.assertIn("line 3", result.stderr)
            self.assertIn(hint, result.stderr)
        self.assertEqual(self.json("sessions", "stats")["messages"], 3)

    def test_import_of_a_huge_title(self):
        for title, code in (("t" * 1_000_000, 0), ("t" * 1_100_000, 1)):
            line = json.dumps({"id": f"t{code}", "title": title, "messages": []})
            result = hftest.holdfast("--json", "sessions", "import", "-", home=self.home,
                                     input=line)
            self.assertEqual(result.returncode, code, result.stderr)
        error = json.loads(result.stderr)["error"]
        self.assertEqual(error["code"], "HF_TOO_BIG")
        self.assertIn("line 1", error["message"])

    def test_append_nested_deeply(self):
        for levels, code in ((64, None), (65, "HF_TOO_BIG"), (100_000, "HF_TOO_BIG")):
            line = '{"role":"user","content":%s}' % ("[" * levels + "]" * levels)
            result = hftest.holdfast("--json", "sessions", "append", "alpha", "--jsonl",
                                     "-", home=self.home, input=line)
            if code:
                self.assertEqual(json.loads(result.stderr)["error"]["code"], code)
                self.assertIn("line 1", result.stderr)
            else:
                self.assertEqual(result.returncode, 0, result.stderr)
        self.assertEqual(self.json("sessions", "stats")["messages"], 4)

    def test_append_to_nobody(self):
        result = hftest.holdfast("--json", "sessions", "append", "nope", "--role", "user",
                                 "--content", "x", home=self.home)
        self.assertEqual(result.returncode, 1)
        self.assertEqual(json.loads(result.stderr)["error"]["code"], "HF_NOT_FOUND")

    def test_end_and_rename(self):
        self.text("sessions", "end", "alpha", "first")
        self.text("sessions", "end", "alpha", "second")
        self.text("sessions", "rename", "alpha", "  New\t name ")
        session = self.json("sessions", "show", "alpha")["session"]
        self.assertEqual((session["end_reason"], session["title"]), ("first", "New name"))
        self.text("sessions", "rename", "alpha", "")
        self.assertIsNone(self.json("sessions", "show", "alpha")["session"]["title"])
        result = hftest.holdfast("sessions", "rename", "alpha", "x" * 101, home=self.home)
        self.assertEqual(result.returncode, 1)
        self.assertIn("101", result.stderr)

    def test_stats(self):
        document = self.json("sessions", "stats")
        self.assertEqual(list(document), ["sessions", "messages", "by_source", "bytes",
                                          "journal_mode", "state", "pending_fallback"])
        self.assertEqual(document["by_source"], {"cli": 2, "telegram": 1})
        self.assertEqual((document["sessions"], document["messages"]), (3, 3))
        self.assertEqual(list(document["bytes"]), ["main", "wal"])
        self.assertEqual((document["journal_mode"], document["state"]),
                         ("wal", "healthy"))

    def test_config(self):
        self.home.config("database:\n  patience_ms: 500\n")
        rows = {row["key"]: row for row in self.json("config", "show")["config"]}
        self.assertEqual(rows["database.patience_ms"]["value"], "500")
        self.assertTrue(rows["database.patience_ms"]["source"].endswith("config.yaml:2"))
        self.assertEqual(rows["database.journal_mode"],
                         {"key": "database.journal_mode", "value": "wal",
                          "source": "default"})
        self.assertIn("database.patience_ms", self.text("config", "show"))

    def test_backends(self):
        backends = {b["name"]: b for b in self.json("backends")["backends"]}
        sqlite = backends["sqlite"]
        self.assertEqual(list(sqlite)[:3], ["name", "path", "version"])
        for key in ("abi", "kind", "threads", "capabilities", "callbacks", "options",
                    "error"):
            self.assertIn(key, sqlite)
        self.assertEqual((sqlite["kind"], sqlite["error"]), ("store", None))
        self.assertIn("search", sqlite["callbacks"])
        result = hftest.holdfast("backends", "/nonexistent/hf_nosuch.so", home=self.home)
        self.assertNotEqual(result.returncode, 0)
        self.assertIn("/nonexistent/hf_nosuch.so", result.stdout + result.stderr)

    def test_round_trip(self):
        first = self.text("sessions", "export")
        with hftest.TempHome() as other:
            hftest.holdfast("sessions", "import", "-", home=other, input=first)
            second = hftest.holdfast("sessions", "export", home=other).stdout
        self.assertEqual(first, second)
        self.assertEqual(self.json("sessions", "import", self.file)["skipped"], 3)


if __name__ == "__main__":
    hftest.main()
