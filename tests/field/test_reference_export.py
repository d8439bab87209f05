"""The real Hermes files: exports have every message as it is stored, pages make the whole
list, and a file that Holdfast writes to still answers for its old sessions."""

import json

import hftest
import reference


def stored(value, mark=b""):
    """A decoded cell of an export as it is stored; that program wrote JSON as Python's
    json.dumps does."""
    if value is None or isinstance(value, str):
        return None if value is None else value.encode()
    return mark + json.dumps(value).encode()


class Reference(reference.Case):
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


if __name__ == "__main__":
    hftest.main()
