"""The shipped objects export their documented names and nothing else, and the core needs
no SQLite."""

import os
import shutil
import subprocess
import unittest

import hftest

OBJECTS = {
    "libholdfast.so": "lib/libholdfast.so",
    "libholdfast-sqlite.so": "lib/libholdfast-sqlite.so",
    "hf_sqlite.so": "lib/holdfast/backends/hf_sqlite.so",
    "hf_jsonl.so": "lib/holdfast/backends/hf_jsonl.so",
    "hf_memory.so": "tests/plugins/hf_memory.so",
}


def expected():
    """{object: [names]} of tests/data/symbols.txt."""
    found, names = {}, None
    with open(os.path.join(hftest.SOURCE, "tests", "data", "symbols.txt")) as f:
        for line in f:
            line = line.strip()
            if line.startswith("["):
                names = found.setdefault(line.strip("[]"), [])
            elif line and not line.startswith("#"):
                names.append(line)
    return found


def run(*command):
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout


def symbols(path, which):
    rows = run("nm", "-D", which, path).splitlines()
    return sorted({row.split()[-1].split("@")[0] for row in rows})


class Symbols(unittest.TestCase):
    def setUp(self):
        if not shutil.which("nm"):
            self.skipTest(hftest.SkipReasons.tool("nm"))

    def path(self, name):
        return os.path.join(hftest.BUILD, OBJECTS[name])

    def test_each_object_exports_what_is_documented(self):
        for name, names in expected().items():
            with self.subTest(name):
                self.assertEqual(symbols(self.path(name), "--defined-only"),
                                 sorted(names))

    def test_every_backend_of_the_build_is_listed(self):
        folder = os.path.dirname(self.path("hf_sqlite.so"))
        for name in os.listdir(folder):
            self.assertIn(name, expected())

    def test_public_functions_of_the_headers_are_exported(self):
        """And none is exported that no header declares."""
        folder = os.path.join(hftest.SOURCE, "include", "holdfast")
        text = ""
        for name in sorted(os.listdir(folder)):
            with open(os.path.join(folder, name)) as f:
                text += f.read()
        for library in ("libholdfast.so", "libholdfast-sqlite.so"):
            for name in symbols(self.path(library), "--defined-only"):
                if not name.startswith("HOLDFAST"):
                    self.assertIn(f"{name}(", text, library)

    def test_a_backend_needs_nothing_of_the_core(self):
        for name in symbols(self.path("hf_sqlite.so"), "--undefined-only"):
            self.assertFalse(name.startswith("hf_") and not name.startswith("hf_sqlite_"),
                             name)
        for name in symbols(self.path("hf_memory.so"), "--undefined-only"):
            self.assertFalse(name.startswith("hf_"), name)

    def test_the_core_needs_no_sqlite(self):
        if not shutil.which("ldd"):
            self.skipTest(hftest.SkipReasons.tool("ldd"))
        libraries = run("ldd", self.path("libholdfast.so"))
        self.assertNotIn("sqlite", libraries)
        for name in ("ltdl", "yaml", "jansson"):
            self.assertIn(name, libraries)
        self.assertIn("sqlite3", run("ldd", self.path("libholdfast-sqlite.so")))


if __name__ == "__main__":
    unittest.main()
