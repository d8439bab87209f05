"""The real Hermes files: lists and searches give what the program that wrote them gave, and
reading changes no byte."""

import hftest
import reference


def readable(preview):
    """What two previews have in common however white space was folded."""
    return preview.replace("...", "").split()


class Reference(reference.Case):
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
