"""The README is true: its C program compiles, runs and stores; its commands exist."""

import os
import re
import shlex
import subprocess
import unittest

import hftest

README = open(os.path.join(hftest.SOURCE, "README.md"), encoding="utf-8").read()


class ReadmeTest(hftest.TestCase):
    def test_embedding_example(self):
        blocks = re.findall(r"```c\n(.*?)```", README, re.S)
        self.assertEqual(len(blocks), 1)
        compiler = shlex.split(os.environ.get("CC", "cc"))
        hftest.require_tool(compiler[0])
        source, program = (os.path.join(self.home.dir, n) for n in ("hello.c", "hello"))
        with open(source, "w", encoding="utf-8") as f:
            f.write(blocks[0])
        flags = ["-std=c11", "-Wall", "-Wextra", "-Werror", "-pedantic"]
        if hftest.SANITIZED:
            flags.append("-fsanitize=address,undefined")
        lib = os.path.join(hftest.BUILD, "lib")
        subprocess.run([*compiler, *flags, source, "-I", f"{hftest.SOURCE}/include",
                        "-I", f"{hftest.BUILD}/include", "-L", lib, "-lholdfast",
                        f"-Wl,-rpath,{lib}", f"-Wl,-rpath-link,{lib}", "-o", program],
                       check=True)
        result = subprocess.run(
            [program], env=hftest.environment({"HOLDFAST_HOME": self.home.path}),
            capture_output=True, text=True)
        self.assertEqual((result.returncode, result.stderr), (0, ""))
        self.assertEqual(self.home.sql("SELECT session_id, role, content FROM messages"),
                         [("hello-1", "user", "Is anybody there?")])
        started = self.home.sql("SELECT started_at FROM sessions")[0][0]
        self.assertGreater(started, 1.7e9)

    def test_commands_exist(self):
        table = README.split("## Commands")[1].split("##")[0]
        found = set()
        for cell in re.findall(r"^\| (`[^|]*(?:\\\|[^|]*)*) \|", table, re.M):
            names = re.findall(r"`([^`]*)`", cell)
            first = re.sub(r"[A-Z\[].*", "", names[0]).split()[1:]
            found.add(tuple(first))
            found.update((first[0], name) for name in names[1:])
        self.assertIn(("sessions", "rename"), found)
        for words in sorted(found):
            with self.subTest(words):
                result = hftest.holdfast(*words, "--help", home=self.home)
                self.assertEqual(result.returncode, 0, result.stderr)
                self.assertIn("Usage: holdfast " + words[0], result.stdout)

    def test_scripts_exist(self):
        for script in re.findall(r"^    (scripts/\S+)", README, re.M):
            self.assertTrue(os.access(os.path.join(hftest.SOURCE, script), os.X_OK), script)

    def test_first_five_minutes_change_nothing(self):
        hftest.copy_shared("hermes-2026-08.db", self.home)
        before = hftest.listing(self.home.path)
        lines = re.findall(r'^    holdfast --home "\$H" ([^#\n]*)', README, re.M)
        self.assertGreater(len(lines), 4)
        first = hftest.holdfast_json("sessions", "list", home=self.home)["sessions"][0]
        for line in lines:
            words = shlex.split(line.replace("ID", first["id"]).replace(
                "sessions.jsonl", os.path.join(self.home.dir, "out.jsonl")))
            result = hftest.holdfast(*words, home=self.home)
            with self.subTest(line):
                self.assertIn(result.returncode, (0, 1) if words[0] == "doctor" else (0,),
                              result.stderr)
        self.assertEqual(hftest.listing(self.home.path), before)


if __name__ == "__main__":
    unittest.main(verbosity=2)
