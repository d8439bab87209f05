"""Each public header compiles alone, and what they offer compiles, as strict C11 and as
C++17, without a warning."""

import os
import shutil
import subprocess
import tempfile
import unittest

import hftest

FOLDERS = [os.path.join(hftest.SOURCE, "include"), os.path.join(hftest.BUILD, "include")]
WARNINGS = ["-Wall", "-Wextra", "-Wshadow", "-Wundef", "-Wvla", "-Werror",
            "-pedantic-errors"]
C = ["-x", "c", "-std=c11", "-Wstrict-prototypes", "-Wmissing-prototypes"]
CXX = ["-x", "c++", "-std=c++17"]
COMPILERS = [("gcc", C), ("clang", C), ("g++", CXX), ("clang++", CXX)]


def headers():
    found = []
    for folder in FOLDERS:
        folder = os.path.join(folder, "holdfast")
        if os.path.isdir(folder):
            found += [f"holdfast/{name}" for name in sorted(os.listdir(folder))
                      if name.endswith(".h")]
    return found


class Headers(unittest.TestCase):
    def compile(self, compiler, flags, text):
        with tempfile.NamedTemporaryFile("w", suffix=".src") as f:
            f.write(text)
            f.flush()
            result = subprocess.run(
                [compiler, *flags, *WARNINGS, "-fsyntax-only",
                 *(f"-I{folder}" for folder in FOLDERS),
                 f"-I{os.path.join(hftest.SOURCE, 'tests', 'headers')}", f.name],
                capture_output=True, text=True)
        self.assertEqual(result.returncode, 0, f"{compiler}:\n{result.stderr}")

    def each_compiler(self, text, compilers=COMPILERS):
        tried = 0
        for compiler, flags in compilers:
            if not shutil.which(compiler):
                continue
            if "c++" in flags and not self.works(compiler, flags):
                continue  # a clang++ without the library's headers
            with self.subTest(compiler=compiler):
                self.compile(compiler, flags, text)
            tried += 1
        self.assertGreater(tried, 0, "no compiler is installed")

    def works(self, compiler, flags):
        return subprocess.run([compiler, *flags, "-fsyntax-only", "-"], text=True,
                              input="#include <cmath>\n",
                              capture_output=True).returncode == 0

    def test_no_reference_to_what_is_not_installed(self):
        """Whoever has the headers has no specification to look a number up in."""
        for folder in FOLDERS:
            for name in headers():
                path = os.path.join(folder, name)
                if os.path.exists(path):
                    with open(path, encoding="utf-8") as f, self.subTest(name):
                        self.assertNotRegex(f.read(), r"\bSPEC\b")

    def test_each_header_stands_alone(self):
        names = headers()
        for name in ("backend.h", "error.h", "holdfast.h", "record.h", "sqlite.h",
                     "store.h", "version.h"):
            self.assertIn(f"holdfast/{name}", names)
        compilers = [(shutil.which("gcc") and "gcc" or "clang", C),
                     (shutil.which("g++") and "g++" or "clang++", CXX)]
        for name in names:
            # Twice: a header must also bear being included again.
            with self.subTest(name):
                # The two languages are enough here: C++ takes its time.
                self.each_compiler(f"#include <{name}>\n#include <{name}>\n"
                                   "typedef int not_empty;\n", compilers)

    def test_what_they_offer_compiles(self):
        self.each_compiler('#include "use.h"\n')


if __name__ == "__main__":
    unittest.main()
