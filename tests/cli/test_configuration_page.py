"""docs/configuration.md lists exactly the keys that exist, with the defaults they have."""

import os
import re

import hftest


class ConfigurationPage(hftest.TestCase):
    def test_keys_and_defaults(self):
        with open(os.path.join(hftest.SOURCE, "docs", "configuration.md"),
                  encoding="utf-8") as f:
            rows = re.findall(r"^\| `([a-z_.]+)` \| .* \| (.*) ?\|$", f.read(), re.M)
        written = {key: default.strip().strip("`").replace("HOME", self.home.path)
                   for key, default in rows}
        shown = hftest.holdfast_json("config", "show", home=self.home)["config"]
        self.assertEqual(written, {row["key"]: row["value"] or "" for row in shown})
        self.assertEqual([key for key, _ in rows], [row["key"] for row in shown])
        self.assertEqual({row["source"] for row in shown}, {"default"})

    def test_source_of_each(self):
        config = self.home.config("database:\n  journal_mode: delete\n"
                                  "  synchronous: 1\nsessions:\n  read_pool_max: 3\n"
                                  "backends:\n  mine:\n    depth: 4\n")
        shown = {row["key"]: (row["value"], row["source"]) for row in
                 hftest.holdfast_json("config", "show", home=self.home)["config"]}
        self.assertEqual(shown["database.journal_mode"], ("delete", config + ":2"))
        self.assertEqual(shown["database.synchronous"], ("normal", config + ":3"))
        self.assertEqual(shown["database.read_pool_max"], ("3", config + ":5"))
        self.assertEqual(shown["backends.mine.depth"], ("4", config + ":8"))
        self.assertEqual(shown["database.backend"], ("sqlite", "default"))


if __name__ == "__main__":
    hftest.main()
