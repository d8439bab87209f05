"""F26: model_config that is no JSON: every session is listed, read and exported, and the
cell stays as it is."""

import json
import os

import hftest

CELLS = {
    "s0": "{bad",
    "s1": "",
    "s2": "[1",
    "s3": "null",
    "s4": '"x"',
    "s5": '{"a":1}\0junk',
    "s6": "[" * (4 << 20),
    "s7": b"\x00\x01blob",
    "s8": '{"max_iterations": 90}',
    "s9": '{"_branched_from": "parent"}',
}


class F26(hftest.TestCase):
    def setUp(self):
        super().setUp()
        d = self.opened()
        for i, name in enumerate(CELLS):
            d.call("create", session={"id": name, "source": "cli",
                                      "started_at": 1785000000.0 + i})
            d.call("append", session=name, messages=[{"role": "user", "content": name}])
        d.call("create", session={"id": "parent", "source": "cli",
                                  "started_at": 1784000000.0})
        d.close()
        for name, cell in CELLS.items():
            self.home.sql("UPDATE sessions SET model_config = ? WHERE id = ?", cell, name)
        # Without its mark an unmarked child of an open parent is a delegate.
        self.home.sql("UPDATE sessions SET parent_session_id = 'parent' WHERE id = 's9'")
        self.before = self.cells()

    def cells(self):
        return self.home.sql("SELECT id, typeof(model_config), hex(model_config)"
                             " FROM sessions ORDER BY id")

    def test_all_is_well(self):
        d = self.opened()
        with hftest.Timer() as timer:
            rows = d.call("list", query={})["sessions"]
            self.assertEqual([r["id"] for r in rows], [*sorted(CELLS, reverse=True),
                                                       "parent"])
            self.assertEqual([r["preview"] for r in rows[:-1]],
                             sorted(CELLS, reverse=True))
            self.assertEqual(d.call("stats")["stats"]["sessions"], 11)
            for name in CELLS:
                self.assertEqual(d.call("resolve", session=name)["id"], name)
                got = d.call("get", session=name, want=1)["session"]
                self.assertEqual(got["id"], name)
                self.assertEqual([m["content"] for m in d.call("read", session=name)
                                  ["messages"]], [name])
                d.call("append", session=name,
                       messages=[{"role": "assistant", "content": "more"}])
            path = os.path.join(self.home.dir, "out")
            d.call("export", file=path)
        with open(path, "rb") as f:
            data = f.read()
        lines = [json.loads(line) for line in data.splitlines()]
        self.assertEqual(len(lines), 11)
        for line in lines:
            cell = CELLS.get(line["id"])
            if isinstance(cell, str):
                self.assertEqual(line["model_config"], cell, line["id"])
            if line["id"] != "parent":
                self.assertEqual(len(line["messages"]), 2)
        self.assertEqual(self.cells(), self.before)
        # "No time-out": the work itself takes well under a second.
        self.assertLess(timer.seconds, 20)
        d.close()
        self.integrity()

    def test_the_mark_counts(self):
        self.home.sql("UPDATE sessions SET model_config = '{bad' WHERE id = 's9'")
        d = self.opened()
        ids = [r["id"] for r in d.call("list", query={})["sessions"]]
        self.assertNotIn("s9", ids)
        self.assertEqual(len(ids), 10)

    def test_children_of_a_compressed_session(self):
        """Its continuation is looked for, and its delegates go with it, by their cells."""
        self.home.sql("UPDATE sessions SET end_reason = 'compression', ended_at = 1.0"
                      " WHERE id = 'parent'")
        d = self.opened()
        for name in CELLS:
            self.home.sql("UPDATE sessions SET parent_session_id ="
                          " CASE id WHEN ? THEN 'parent' END", name)
            answer = d.try_call("append", session="parent",
                                messages=[{"role": "user", "content": "x"}])
            self.assertEqual(answer.get("code"), "HF_CONTINUED", answer)
            self.assertEqual(f"goes on as {name}:" in answer["message"], name != "s9",
                             answer)
        self.home.sql("UPDATE sessions SET parent_session_id = 'parent'"
                      " WHERE id <> 'parent'")
        d.call("delete", sessions=["parent"])
        self.assertEqual(self.cells(), [c for c in self.before if c[0] != "parent"])

    def test_import_keeps_the_text(self):
        d = self.opened()
        path = os.path.join(self.home.dir, "out")
        d.call("export", file=path)
        other = hftest.TempHome("other")
        self.addCleanup(other.close)
        d2 = self.driver()
        d2.call("runtime", home=other.path)
        d2.call("open")
        self.assertEqual(d2.call("import", file=path)["result"]["sessions"], 11)
        for name, kind, cell in self.before:
            if kind == "text":
                self.assertEqual(other.sql("SELECT hex(model_config) FROM sessions"
                                           " WHERE id = ?", name), [(cell,)], name)


if __name__ == "__main__":
    hftest.main()
