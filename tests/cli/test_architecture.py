"""docs/architecture.md names the files that are there, and no others."""

import os
import re
import unittest

import hftest


class ArchitectureTest(unittest.TestCase):
    def test_files(self):
        with open(os.path.join(hftest.SOURCE, "docs", "architecture.md"),
                  encoding="utf-8") as f:
            page = f.read()
        sections = {title.split(":")[0].strip(): body for title, body in re.findall(
            r"^### (.*?)\n(.*?)(?=^##)", page, re.M | re.S)}
        for folder, ending in (("include/holdfast", (".h", ".in")), ("core", ".c"),
                               ("plugins/sqlite", ".c"), ("plugins/sqlite/db", ".c"),
                               ("plugins/jsonl", ".c"), ("cli", ".c")):
            with self.subTest(folder):
                path = os.path.join(hftest.SOURCE, folder)
                there = {n for n in os.listdir(path) if n.endswith(ending)}
                if folder == "core":
                    there |= {n for n in os.listdir(os.path.join(path, "util"))
                              if n.endswith(".c")}
                named = set(re.findall(r"`([a-z0-9_]+\.[a-z.]+)`", sections[folder]))
                self.assertEqual(named, there)

    def test_every_file_says_what_it_is_for(self):
        for folder in ("core", "core/util", "plugins/sqlite", "plugins/sqlite/db",
                       "plugins/jsonl", "cli",
                       "examples/gateway", "bench", "tests/support/driver"):
            path = os.path.join(hftest.SOURCE, folder)
            for name in os.listdir(path):
                if name.endswith((".c", ".h")):
                    with self.subTest(file=f"{folder}/{name}"):
                        with open(os.path.join(path, name), encoding="utf-8") as f:
                            self.assertTrue(f.readline().startswith("/* "))


if __name__ == "__main__":
    hftest.main()
