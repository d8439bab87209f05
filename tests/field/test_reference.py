"""The real Hermes files: lists, searches and exports give what the program that wrote them
gave, and reading changes no byte."""

import json
import os

import hftest
import reference


def stored(value, mark=b""):
    """A decoded cell of an export as it is stored; that program wrote JSON as Python's
    json.dumps does."""
    if value is None or isinstance(value, str):
        return None if value is None else value.encode()
    return mark + json.dumps(value).encode()


def readable(preview):
    """What two previews have in common however white space was folded."""
    return preview.replace("...", "").split()


class Reference(hftest.TestCase):
    def each_file(self, check):
        """check(file, answers) with each file as the home's store; afterwards it must
        have the same bytes and nothing beside it."""
        for file in reference.FILES:
            with self.subTest(file=file):
                path = hftest.copy_shared(file, self.home)
                before = hftest.sha256(path)
                check(file, reference.answers(file))
                self.assertEqual(hftest.sha256(path), before, "the file was changed")
                self.assertEqual(os.listdir(self.home.path), ["state.db"])

    def reading(self):
        """A driver for one block, with the store open read-only."""
        driver = hftest.Driver()
        driver.call("runtime", home=self.home.path)
        driver.call("open", read_only=True)
        return driver

    def assertDigest(self, rows, session, answers):
        """ROWS are (timestamp, role, content, tool_calls).  The first two programs loaded
        messages by time, Holdfast goes by id: it shows where the clock went back."""
        expected = answers["sessions"][session]["digest"]
        found = {reference.digest(row[1:] for row in rows)}
        if session == answers["kinds"]["clock_back"]:
            found.add(reference.digest(row[1:] for row in sorted(rows, key=lambda r: r[0])))
        self.assertIn(expected, found, session)

    def test_lists(self):
        def check(file, answers):
            for args, rows in reference.lists(file, answers).items():
                shown = hftest.holdfast_json("sessions", "list", "--limit", "1000", *args,
                                             home=self.home)
                self.assertFalse(shown["more"])
                for key in ("id", "title", "source", "message_count", "started_at",
                            "last_active"):
                    self.assertEqual([row[key] for row in shown["sessions"]],
                                     [row[key] for row in rows], f"{args} {key}")
                self.previews(answers, rows, shown["sessions"])

        self.each_file(check)

    def previews(self, answers, rows, shown):
        """Previews agree, but where that program went by time instead of by id, showed
        nothing of structured content, or counted white space before folding it."""
        apart = {answers["kinds"]["clock_back"], answers["kinds"]["multimodal"]}
        for ours, theirs in zip(shown, rows):
            if ours["id"] in apart:
                continue
            a, b = readable(ours["preview"] or ""), readable(theirs["preview"])
            n = min(len(a), len(b))
            self.assertEqual(a[:n - 1], b[:n - 1], ours["id"])
            self.assertEqual(bool(a), bool(b), ours["id"])
            self.assertLessEqual(len(ours["preview"] or ""), 63)

    def test_pages_make_the_whole_list(self):
        def check(file, answers):
            d = self.reading()
            for view in (hftest.VIEW_DEFAULT, hftest.VIEW_ALL):
                for order in (hftest.BY_STARTED, hftest.BY_RECENT):
                    query = {"view": view, "order": order}
                    whole = d.call("list", query=query)["sessions"]
                    pages, last = [], None
                    while True:
                        more = {} if last is None else {"after_id": last["id"],
                                                        "after_time": last["sort_time"]}
                        page = d.call("list", query={**query, "limit": 3, **more})
                        if not page["sessions"]:
                            break
                        pages += page["sessions"]
                        last = pages[-1]
                    self.assertEqual([s["id"] for s in pages], [s["id"] for s in whole])
            found = answers["lists"].get("last_active", [])
            if found:
                recent = d.call("list", query={"order": hftest.BY_RECENT})["sessions"]
                self.assertEqual([s["id"] for s in recent],
                                 [s["id"] for s in found if s["source"] != "tool"])
            d.close()

        self.each_file(check)

    def test_search(self):
        def check(file, answers):
            d = self.reading()
            for entry in answers["search"]:
                query = reference.search_query(entry)
                found = d.call("search", query=query)
                ids = [hit["message_id"] for hit in found["hits"]]
                what = f"{entry['name']}: {entry['query']!r}"
                self.assertFalse(found["degraded"], what)
                self.assertEqual(len(ids), len(set(ids)), what)
                if entry.get("offset"):
                    # A page of equal ranks may hold other rows: the whole must agree.
                    self.assertEqual(len(ids), entry["count"], what)
                    continue
                missing = set(entry["ids"]) - set(ids)
                self.assertFalse(missing, f"{what} lacks {missing}")
                if entry["name"] not in reference.MORE_ALLOWED:
                    self.assertEqual(set(ids), set(entry["ids"]), what)
                if entry.get("sort"):
                    self.assertEqual(ids, entry["ids"], what)
                for hit in found["hits"]:
                    self.assertIn(">>>", hit["snippet"], what)
                if not ids:
                    self.assertTrue(found["note"], what)
            d.close()

        self.each_file(check)

    def test_search_command(self):
        def check(file, answers):
            for entry in answers["search"]:
                if entry["name"] not in ("by role", "phrase", "cjk two, or", "absent"):
                    continue
                args = [a for r in entry.get("role_filter", ()) for a in ("--role", r)]
                found = hftest.holdfast_json("sessions", "search", entry["query"],
                                             "--limit", "1000", *args, home=self.home)
                ids = {hit["message_id"] for hit in found["hits"]}
                self.assertLessEqual(set(entry["ids"]), ids, entry["name"])
                if entry["name"] not in reference.MORE_ALLOWED:
                    self.assertEqual(ids, set(entry["ids"]), entry["name"])

        self.each_file(check)

    def test_export(self):
        def check(file, answers):
            out = hftest.holdfast("sessions", "export", home=self.home)
            self.assertEqual(out.returncode, 0, out.stderr)
            sessions = [json.loads(line) for line in out.stdout.split("\n")
                        if line]
            self.assertEqual({s["id"] for s in sessions}, set(answers["sessions"]))
            for session in sessions:
                expected = answers["sessions"][session["id"]]
                rows = session["messages"]
                loaded = [m for m in rows if m["active"] != 0]
                self.assertEqual(session["message_count"], expected["message_count"])
                self.assertEqual(session["tool_call_count"], expected["tool_call_count"])
                self.assertEqual(len(loaded), expected["loaded"], session["id"])
                # That program showed a message once that was kept over a compaction.
                self.assertGreaterEqual(
                    len(rows), expected.get("loaded_with_compacted", len(loaded)))
                self.assertTrue(all(m["active"] or m["compacted"] for m in rows))
                cells = [(m["timestamp"], m["role"].encode(),
                          stored(m["content"], b"\0json:"), stored(m["tool_calls"]))
                         for m in loaded]
                self.assertDigest(cells, session["id"], answers)

        self.each_file(check)

    def test_stored_bytes(self):
        def check(file, answers):
            d = self.reading()
            for session in answers["sessions"]:
                rows = d.call("read", session=session)["messages"]
                cells = [[m["timestamp"]] +
                         [cell.encode() if isinstance(cell, str) else cell
                          for cell in (m["role"], m["content"], m["tool_calls"])]
                         for m in rows]
                self.assertDigest(cells, session, answers)
            d.close()

        self.each_file(check)

    def test_written_to(self):
        """Opened for writing and appended to, a file still answers all of it for the old
        sessions; a second open writes nothing."""
        for file in reference.FILES:
            with self.subTest(file=file):
                self.home.close()
                self.home = hftest.TempHome()
                self.addCleanup(self.home.close)
                hftest.copy_shared(file, self.home)
                answers = reference.answers(file)
                d = self.opened()
                d.call("create", session={"id": "new", "source": "cli"})
                new = d.call("append", session="new", messages=[
                    {"content": "deployment of the storage module 漓江"}])["ids"]
                shown = d.call("list", query={"view": hftest.VIEW_ALL})["sessions"]
                rows = reference.lists(file, answers)[("--all",)]
                self.assertEqual([s["id"] for s in shown if s["id"] != "new"],
                                 [row["id"] for row in rows])
                for entry in answers["search"]:
                    if entry.get("offset"):
                        continue
                    hits = d.call("search", query=reference.search_query(entry))["hits"]
                    ids = {hit["message_id"] for hit in hits}
                    self.assertLessEqual(set(entry["ids"]), ids, entry["name"])
                    if entry["name"] not in reference.MORE_ALLOWED:
                        self.assertEqual(ids - set(new), set(entry["ids"]), entry["name"])
                    if entry["name"] in ("common word", "cjk two", "implicit and"):
                        self.assertLessEqual(set(new), ids, entry["name"])
                d.close()
                self.integrity()
                files = hftest.listing(self.home.path)
                self.opened().close()
                self.assertEqual(hftest.sha256(self.home.db), files["state.db"][2])

    def test_check_finds_nothing(self):
        def check(file, answers):
            d = self.reading()
            for level in (0, 10, 20):
                found = d.call("check", level=level)["findings"]
                bad = [f for f in found if f["severity"] >= hftest.SEV_WARNING]
                self.assertEqual(bad, [])
            d.close()

        self.each_file(check)


if __name__ == "__main__":
    hftest.main()
