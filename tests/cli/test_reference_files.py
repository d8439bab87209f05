"""The real Hermes files: what the command answers is what the program that wrote them
answered (SPEC 11, "What a list shows"), and the files do not change by being read."""

import contextlib
import hashlib
import json
import os

import hftest

FILES = [f"hermes-2026-{month}{kind}" for month in ("03", "06", "08")
         for kind in ("", "-delete")]
OLDEST = "2026-03"
# Queries where the old programs' own gaps show: we may find more, never less.
GAPS = ("cjk", "emoji", "syntax noise", "multimodal", "latin inside", "thai", "colon",
        "dotted", "hyphenated")


def ids(rows):
    return [row if isinstance(row, str) else row["id"] for row in rows]


class ReferenceFiles(hftest.TestCase):
    @contextlib.contextmanager
    def file(self, name):
        """A home with a copy of the file, and the answers beside it."""
        with self.subTest(name), hftest.TempHome() as home:
            hftest.copy_shared(name + ".db", home)
            with open(hftest.shared_data(name + ".json"), encoding="utf-8") as f:
                reference = json.load(f)
            before = hftest.listing(home.path)
            yield home, reference
            self.assertEqual(hftest.listing(home.path), before, "changed by reading")

    def listed(self, home, *args):
        rows = hftest.holdfast_json("sessions", "list", "--limit", "1000", *args,
                                    home=home)
        self.assertFalse(rows["more"])
        return rows["sessions"]

    def same(self, ours, theirs, *keys):
        for key in keys:
            self.assertEqual([row.get(key) for row in ours],
                             [row.get(key) for row in theirs], key)

    def test_lists(self):
        keys = ("id", "title", "source", "message_count", "started_at", "last_active")
        for name in FILES:
            with self.file(name) as (home, reference):
                lists = reference["lists"]
                every = self.listed(home, "--all")
                if OLDEST in name:
                    # That program hid nothing.
                    self.same(every, lists["default"], *keys)
                    cli = self.listed(home, "--all", "--source", "cli")
                else:
                    self.assertEqual(ids(every), ids(lists["all_rows"]))
                    self.same(self.listed(home), [row for row in lists["default"]
                                                  if row["source"] != "tool"],
                              *keys)
                    self.assertEqual(ids(self.listed(home, "--archived")),
                                     ids(lists["archived_only"]))
                    cli = self.listed(home, "--source", "cli")
                self.assertEqual(ids(cli), ids(lists["source_cli"]))

    def test_recent_order(self):
        for name in FILES:
            with self.file(name) as (home, reference):
                theirs = reference["lists"].get("last_active", [])
                tool = {row["id"] for row in self.listed(home, "--all")
                        if row["source"] == "tool"}
                if theirs:
                    self.assertEqual(ids(self.listed(home, "--sort", "recent")),
                                     [i for i in ids(theirs) if i not in tool])

    def test_searches(self):
        for name in FILES:
            with self.file(name) as (home, reference):
                for query in reference["search"]:
                    # The command has no option for rewound text.
                    if not query.get("include_inactive"):
                        with self.subTest(query["name"]):
                            self.search(home, query)

    def search(self, home, query):
        args = ["sessions", "search", "--limit", str(query["limit"]),
                "--offset", str(query.get("offset", 0))]
        for option, key in (("--role", "role_filter"), ("--source", "source_filter"),
                            ("--exclude-source", "exclude_sources")):
            for value in query.get(key) or []:
                args += [option, value]
        if query.get("sort"):
            args.append("--" + query["sort"])
        hits = hftest.holdfast_json(*args, "--", query["query"], home=home)["hits"]
        ours = [hit["message_id"] for hit in hits]
        self.assertEqual(len(set(ours)), len(ours), "a hit twice")
        if query.get("offset"):
            # Hits of equal rank may come in any order.
            self.assertEqual(len(ours), query["count"])
            return
        self.assertEqual(set(query["ids"]) - set(ours), set(), "found less")
        if not query["name"].startswith(GAPS):
            self.assertEqual(set(ours), set(query["ids"]))
        if query.get("sort"):
            self.assertEqual(ours, query["ids"])

    def test_export(self):
        for name in FILES:
            with self.file(name) as (home, reference):
                out = os.path.join(home.dir, "out.jsonl")
                result = hftest.holdfast("sessions", "export", "-o", out, home=home)
                self.assertEqual(result.returncode, 0, result.stderr)
                with open(out, encoding="utf-8") as f:
                    sessions = {s["id"]: s for s in map(json.loads, f)}
                self.assertEqual(set(sessions), set(reference["sessions"]))
                for key, theirs in reference["sessions"].items():
                    messages = sessions[key]["messages"]
                    loaded = [m for m in messages if m.get("active", 1)]
                    self.assertEqual(len(loaded), theirs["loaded"], key)
                    self.assertEqual(sessions[key]["message_count"],
                                     theirs["message_count"])
                    self.assertEqual(self.digest_of_export(loaded, name),
                                     theirs["digest"], key)

    def digest_of_export(self, messages, name):
        """Over the cells as they were stored: Hermes writes JSON as Python does."""
        digest = hashlib.sha256()
        if OLDEST in name:  # which loaded by time
            messages = sorted(messages, key=lambda m: (m["timestamp"], m["id"]))
        for m in messages:
            content, calls = m["content"], m["tool_calls"]
            if content is not None and not isinstance(content, str):
                content = "\0json:" + json.dumps(content)
            if calls is not None and not isinstance(calls, str):
                calls = json.dumps(calls)
            for value, end in ((m["role"], b"\x1f"), (content, b"\x1f"),
                               (calls, b"\x1e")):
                digest.update((value or "").encode() + end)
        return digest.hexdigest()


if __name__ == "__main__":
    hftest.main()
