"""The real Hermes files of ../shared/data and what the program that wrote them answered:
what a list, a search and an export of them have to give (SPEC 11)."""

import hashlib
import json
import os

import hftest

VERSIONS = ("2026-03", "2026-06", "2026-08")
FILES = tuple(f"hermes-{version}{suffix}.db"
              for version in VERSIONS for suffix in ("", "-delete"))

# Where the old program's own gaps show, ours may find more, never less (SPEC 11): scripts
# without spaces, emoji, punctuation in a word, letters written as \u escapes.
MORE_ALLOWED = {
    "dotted", "underscore, a tool's name", "cjk three or more", "cjk two", "cjk one",
    "cjk two, or", "hangul", "thai", "latin inside han", "emoji", "colon", "hyphenated",
}


def answers(file):
    """The answers beside a file."""
    with open(hftest.shared_data(file.replace(".db", ".json")), encoding="utf-8") as f:
        return json.load(f)


def version(file):
    return file[len("hermes-"):len("hermes-2026-03")]


def lists(file, reference):
    """{arguments of `sessions list`: the rows it has to show, in their order}."""
    found = reference["lists"]
    if version(file) == "2026-03":
        # That program hid nothing: its default is our --all.
        return {("--all",): found["default"]}
    cli = [row for row in found["default"] if row["source"] == "cli"]
    assert [row["id"] for row in cli] == [row["id"] for row in found["source_cli"]]
    return {
        (): [row for row in found["default"] if row["source"] != "tool"],
        ("--all",): found["all_rows"],
        ("--archived",): found["archived_only"],
        ("--source", "cli"): found["source_cli"],
    }


def search_query(entry):
    """A query of the answers as members of struct hf_search."""
    query = {"text": entry["query"], "limit": entry["limit"]}
    for ours, theirs in (("roles", "role_filter"), ("sources", "source_filter"),
                         ("exclude_sources", "exclude_sources"), ("offset", "offset")):
        if entry.get(theirs):
            query[ours] = entry[theirs]
    if entry.get("sort"):
        query["order"] = {"newest": 10, "oldest": 20}[entry["sort"]]
    if entry.get("include_inactive"):
        query["include_rewound"] = 1
    return query


def digest(rows):
    """SHA-256 over (role, content, tool_calls) as stored, bytes or None."""
    total = hashlib.sha256()
    for row in rows:
        role, content, calls = (b"" if cell is None else cell for cell in row)
        total.update(role + b"\x1f" + content + b"\x1f" + calls + b"\x1e")
    return total.hexdigest()


class Case(hftest.TestCase):
    """A test over all of the files."""

    def each_file(self, check):
        """check(file, its answers) with each file as the home's store; afterwards it must
        have the same bytes and nothing beside it."""
        for file in FILES:
            with self.subTest(file=file):
                path = hftest.copy_shared(file, self.home)
                before = hftest.sha256(path)
                check(file, answers(file))
                self.assertEqual(hftest.sha256(path), before, "the file was changed")
                self.assertEqual(os.listdir(self.home.path), ["state.db"])

    def reading(self):
        """A driver for one block, with the store open read-only."""
        driver = hftest.Driver()
        driver.call("runtime", home=self.home.path)
        driver.call("open", read_only=True)
        return driver

    def assertDigest(self, rows, session, expected):
        """ROWS are (timestamp, role, content, tool_calls).  The first two programs loaded
        messages by time, Holdfast goes by id: it shows where the clock went back."""
        found = {digest(row[1:] for row in rows)}
        if session == expected["kinds"]["clock_back"]:
            found.add(digest(row[1:] for row in sorted(rows, key=lambda r: r[0])))
        self.assertIn(expected["sessions"][session]["digest"], found, session)
