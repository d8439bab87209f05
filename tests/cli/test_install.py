"""An installed Holdfast works where it was put: the command finds its libraries and the
backend; the headers stand alone; each shared object shows only what it documents."""

import os
import re
import shlex
import subprocess
import tempfile
import unittest

import hftest

CC = shlex.split(os.environ.get("CC", "cc"))
CXX = shlex.split(os.environ.get("CXX", "c++"))


class InstallTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        hftest.require_tool("cmake")
        cls.folder = tempfile.TemporaryDirectory(prefix="holdfast-test-")
        cls.addClassCleanup(cls.folder.cleanup)
        cls.prefix = os.path.join(cls.folder.name, "a prefix")
        subprocess.run(["cmake", "--install", hftest.BUILD, "--prefix", cls.prefix],
                       check=True, stdout=subprocess.DEVNULL)
        cls.lib = os.path.dirname(cls.find("libholdfast.so"))
        cls.plugin = cls.find("hf_sqlite.so")

    @classmethod
    def find(cls, name):
        for base, _, files in os.walk(cls.prefix):
            if name in files:
                return os.path.join(base, name)
        raise AssertionError(f"{name} was not installed")

    def run_(self, *command):
        result = subprocess.run(command, capture_output=True, text=True,
                                env=hftest.environment())
        self.assertEqual(result.returncode, 0, result.stderr)
        return result.stdout

    def test_command_finds_its_backend(self):
        out = self.run_(os.path.join(self.prefix, "bin", "holdfast"), "--home",
                        self.folder.name, "backends", "sqlite")
        self.assertIn(self.plugin, out)

    def test_readme_build_line(self):
        with open(os.path.join(hftest.SOURCE, "README.md"), encoding="utf-8") as f:
            readme = f.read()
        line = re.search(r"^    (cc hello\.c .*)$", readme, re.M).group(1)
        program = re.search(r"```c\n(.*?)```", readme, re.S).group(1)
        with open(os.path.join(self.folder.name, "hello.c"), "w") as f:
            f.write(program)
        words = [w.replace("$PREFIX/lib", self.lib).replace("$PREFIX", self.prefix)
                 for w in shlex.split(line)]
        flags = ["-fsanitize=address,undefined"] if hftest.SANITIZED else []
        subprocess.run([*CC, *words[1:], *flags], cwd=self.folder.name, check=True)
        with hftest.TempHome() as home:
            subprocess.run([os.path.join(self.folder.name, "hello")], check=True,
                           env=hftest.environment({"HOLDFAST_HOME": home.path}))
            self.assertEqual(home.sql("SELECT count(*) FROM messages"), [(1,)])

    def headers(self):
        folder = os.path.join(self.prefix, "include", "holdfast")
        return folder, sorted(os.listdir(folder))

    def test_headers_stand_alone(self):
        for language, compiler, standards in (("c", CC, ("c11", "gnu17")),
                                              ("c++", CXX, ("c++17",))):
            if language == "c++":
                hftest.require_tool(CXX[0])
            for header in self.headers()[1]:
                for standard in standards:
                    with self.subTest(header=header, standard=standard):
                        subprocess.run(
                            [*compiler, "-x", language, f"-std={standard}", "-Wall",
                             "-Wextra", "-pedantic", "-Werror", "-fsyntax-only",
                             "-I", os.path.join(self.prefix, "include"), "-"],
                            input=f"#include <holdfast/{header}>\nextern int unit;\n",
                            text=True, check=True)

    def declared(self, header, mark):
        with open(os.path.join(self.headers()[0], header), encoding="utf-8") as f:
            text = re.sub(r"/\*.*?\*/", " ", f.read(), flags=re.S)
        return set(re.findall(mark + r"\s[^;(]*?\b(hf_\w+)\(", text))

    def defined(self, path):
        names = set()
        for line in self.run_("nm", "-D", "--defined-only", path).splitlines():
            _, kind, name = line.rsplit(None, 2)
            if kind != "A":                       # the version's own name
                names.add(name.split("@")[0])
        return names

    def test_only_documented_names(self):
        hftest.require_plain()
        hftest.require_tool("nm")
        core = set().union(*(self.declared(header, "HF_API")
                             for header in ("holdfast.h", "store.h", "offline.h")))
        self.assertGreater(len(core), 40)
        self.assertEqual(self.defined(os.path.join(self.lib, "libholdfast.so")), core)
        self.assertEqual(self.defined(os.path.join(self.lib, "libholdfast-sqlite.so")),
                         self.declared("sqlite.h", "HF_SQLITE_API"))
        self.assertEqual(self.defined(self.plugin), {"holdfast_plugin_sqlite"})

    def test_the_core_needs_no_sqlite(self):
        hftest.require_tool("ldd")
        out = self.run_("ldd", os.path.join(self.lib, "libholdfast.so"))
        self.assertIn("libjansson", out)
        self.assertNotIn("sqlite", out)


if __name__ == "__main__":
    hftest.main()
