"""The command line itself: help, mistakes and their hints, exit statuses, streams."""

import json
import os
import re
import subprocess

import hftest

COMMANDS = [["doctor"], ["config"], ["backends"]] + \
    [["sessions", name] for name in ("list", "show", "search", "new", "append", "end",
                                     "rename", "stats", "export", "import")]


class Usage(hftest.TestCase):
    def refused(self, *args, hint="", status=2):
        result = hftest.holdfast(*args, home=self.home)
        self.assertEqual(result.returncode, status, result.stderr)
        self.assertEqual(result.stdout, "")
        self.assertEqual(result.stderr.count("\n"), 1, result.stderr)
        self.assertIn(hint, result.stderr)
        self.assertEqual(hftest.listing(self.home.path), {}, "something was created")
        return result.stderr

    def test_help(self):
        for command in [[], ["sessions"]] + COMMANDS:
            result = hftest.holdfast(*command, "--help")
            with self.subTest(command):
                self.assertEqual(result.returncode, 0)
                self.assertEqual(result.stderr, "")
                self.assertIn("Usage: holdfast", result.stdout)
                self.assertIn("Exit status:", result.stdout)
                if command in COMMANDS:
                    self.assertIn("Examples:", result.stdout)
                lines = result.stdout.splitlines()
                self.assertLessEqual(max(map(len, lines)), 88)
                self.assertEqual([line for line in lines if line != line.rstrip()], [])

    def test_help_lists_every_command(self):
        shown = hftest.holdfast("sessions", "--help").stdout
        names = re.findall(r"^  ([a-z]+) ", shown.split("Commands:")[1]
                           .split("Global")[0], re.M)
        self.assertEqual(names, [c[1] for c in COMMANDS if len(c) == 2])

    def test_help_names_the_statuses_of_the_header(self):
        with open(os.path.join(hftest.SOURCE, "cli", "exitcode.h")) as f:
            codes = re.findall(r"EXIT_\w+ = (\d),", f.read())
        shown = hftest.holdfast("--help").stdout.split("Exit status:")[1]
        self.assertEqual(re.findall(r"^  (\d)  ", shown, re.M), codes)

    def test_version(self):
        result = hftest.holdfast("--version")
        self.assertRegex(result.stdout, r"\Aholdfast \d+\.\d+\.\d+\n\Z")

    def test_nothing(self):
        self.refused(hint="which command?")
        self.refused("sessions", hint="which command")

    def test_near_misses(self):
        self.refused("docter", hint='did you mean "doctor"?')
        self.refused("sessions", "serach", hint='did you mean "search"?')
        self.refused("sessions", "list", "--limt", "3", hint="did you mean --limit?")
        self.refused("sessions", "list", "--jsn", hint="did you mean --json?")
        self.refused("--hom", "x", "doctor", hint="did you mean --home?")
        self.assertNotIn("did you mean", self.refused("xyzzy"))

    def test_mistakes(self):
        for args, hint in (
                (["sessions", "list", "--limit"], "--limit needs a value"),
                (["sessions", "list", "--limit", "many"], '"many"'),
                (["sessions", "list", "--limit", "-1"], '"-1"'),
                (["sessions", "list", "--json=yes"], "takes no value"),
                (["sessions", "list", "--sort", "size"], '"size"'),
                (["sessions", "list", "--all", "--archived"], "exclude"),
                (["sessions", "list", "--since", "soon"], '"soon"'),
                (["sessions", "list", "--since", "2026-02-30"], '"2026-02-30"'),
                (["sessions", "list", "extra"], '"extra"'),
                (["sessions", "show"], "missing"),
                (["sessions", "show", "@session:nobody"], "@session:PROFILE/ID"),
                (["sessions", "append", "x", "--content", "y"], "--role"),
                (["sessions", "append", "x", "--role", "user"], "content"),
                (["sessions", "append", "x", "--role", "user", "--content", "y", "-"],
                 "exclude"),
                (["sessions", "append", "x", "--role", "assistant", "--content", "y",
                  "--tool-calls", "{bad"], '"{bad"'),
                (["sessions", "end", "x"], "missing"),
                (["sessions", "search", "x", "--newest", "--oldest"], "exclude"),
                (["sessions", "export", "--format", "xml"], '"xml"'),
                (["config", "edit"], '"show"'),
                (["-p", "nosuch", "sessions", "list"], "nosuch"),
                (["-p", "Bad Name", "sessions", "list"], "Bad Name"),
                (["sessions", "show", "@session:nosuch/x"], "nosuch")):
            with self.subTest(args):
                self.refused(*args, hint=hint)

    def test_an_empty_window_names_both_bounds(self):
        for command in (["list"], ["search", "x"], ["export"]):
            text = self.refused("sessions", *command, "--since", "2026-03-02",
                                "--until", "2026-03-01 12:00", hint="empty")
            self.assertIn("2026-03-02 00:00:00", text)
            self.assertIn("2026-03-01 12:00:00", text)
        text = self.refused("sessions", "list", "--since", "2d", "--until", "2d")
        self.assertIn('"2d"', text)

    def test_errors_as_json(self):
        result = hftest.holdfast("sessions", "list", "--limit", "x", "--json",
                                 home=self.home)
        error = json.loads(result.stderr)["error"]
        self.assertEqual(sorted(error), ["code", "message", "path"])
        self.assertEqual(error["code"], "HF_INVALID")
        result = hftest.holdfast("--json", "sessions", "show", "nope", home=self.home)
        self.assertEqual(result.returncode, 1)
        self.assertEqual(json.loads(result.stderr)["error"]["code"], "HF_NOT_FOUND")
        self.assertEqual(result.stdout, "")

    def test_a_value_that_looks_like_an_option(self):
        hftest.holdfast("sessions", "new", "--id", "s", home=self.home)
        result = hftest.holdfast("sessions", "append", "s", "--role", "user",
                                 "--content", "--json", home=self.home)
        self.assertEqual(result.stdout, "1\n", result.stderr)
        result = hftest.holdfast("sessions", "search", "--", "--json", home=self.home)
        self.assertIn("--", result.stdout)

    def test_globals_anywhere(self):
        for args in (["--json", "sessions", "list"], ["sessions", "--json", "list"],
                     ["sessions", "list", "--json"]):
            self.assertEqual(json.loads(hftest.holdfast(*args, home=self.home).stdout),
                             {"sessions": [], "more": False})
        result = hftest.holdfast("sessions", "list", "--home", self.home.path)
        self.assertEqual((result.returncode, result.stdout), (0, "No sessions.\n"))

    def test_empty_home_or_profile(self):
        """An unset variable of a script never means another store."""
        for args in (["--home", ""], ["--home="], ["-p", ""], ["--profile="]):
            for command in (["sessions", "list"], ["sessions", "new"], ["doctor"],
                            ["config", "show"], ["backends"]):
                with self.subTest(args=args, command=command):
                    self.refused(*command, *args, hint="is empty")

    def test_home_that_is_a_file(self):
        path = os.path.join(self.home.dir, "state.db")
        with open(path, "w", encoding="utf-8"):
            pass
        for command in (["sessions", "list"], ["sessions", "new"], ["doctor"]):
            with self.subTest(command):
                text = self.refused(*command, "--home", path, hint="is not a folder")
                self.assertIn(path, text)
        self.assertEqual(os.path.getsize(path), 0)

    def test_config_errors_are_usage(self):
        self.home.config("database:\n  journal_mode: wall\n")
        for command in (["doctor"], ["sessions", "list"], ["config", "show"]):
            result = hftest.holdfast(*command, home=self.home)
            self.assertEqual(result.returncode, 2, result.stderr)
            self.assertIn("config.yaml:2:", result.stderr)

    def test_output_that_cannot_be_written(self):
        hftest.holdfast("sessions", "new", "--id", "s", home=self.home)
        program = os.path.join(hftest.BIN, "holdfast")
        for args in (["sessions", "list"], ["sessions", "export"], ["doctor"], ["--help"]):
            for to in (">/dev/full", ">&-"):
                result = subprocess.run(
                    ["sh", "-c", f'exec "$0" "$@" {to}', program, "--home",
                     self.home.path, *args], env=hftest.environment(),
                    capture_output=True, text=True)
                with self.subTest(args=args, to=to):
                    self.assertEqual(result.returncode, 1)
                    self.assertIn("standard output", result.stderr)

    def test_output_that_fails_half_way(self):
        """Said once, with the reason of the write that failed."""
        hftest.holdfast("sessions", "new", "--id", "s", home=self.home)
        for _ in range(3):
            result = hftest.holdfast("sessions", "append", "s", "--role", "user", "-",
                                     home=self.home, input="x" * 200000)
            self.assertEqual(result.returncode, 0, result.stderr)
        program = os.path.join(hftest.BIN, "holdfast")
        for args in (["export"], ["show", "s"], ["show", "s", "--json"]):
            for to, why in ((">/dev/full", "No space left on device"),
                            ("| head -c 10", "standard output was closed")):
                result = subprocess.run(
                    ["bash", "-c", f'"$0" "$@" {to}; exit "${{PIPESTATUS[0]}}"',
                     program, "--home", self.home.path, "sessions", *args],
                    env=hftest.environment(), capture_output=True, text=True)
                with self.subTest(args=args, to=to):
                    self.assertEqual(result.returncode, 1)
                    self.assertIn(why, result.stderr)
                    self.assertEqual(result.stderr.count("\n"), 1, result.stderr)

    def test_no_colour_in_a_pipe(self):
        hftest.holdfast("sessions", "new", "--id", "s", home=self.home)
        for args in (["sessions", "list"], ["doctor"], ["sessions", "show", "s"]):
            self.assertNotIn("\033", hftest.holdfast(*args, home=self.home).stdout)

    def test_colour_on_a_terminal(self):
        program = os.path.join(hftest.BIN, "holdfast")
        try:
            for end in os.openpty():
                os.close(end)
        except OSError as error:
            self.skipTest(f"no pseudo terminal: {error}")

        def shown(*args, **env):
            master, slave = os.openpty()
            process = subprocess.Popen([program, "--home", self.home.path, *args],
                                       env=hftest.environment(env), stdout=slave)
            os.close(slave)
            data = b""
            while True:
                try:
                    chunk = os.read(master, 65536)
                except OSError:
                    break
                if not chunk:
                    break
                data += chunk
            os.close(master)
            process.wait()
            return data

        self.assertIn(b"\033[", shown("doctor"))
        self.assertNotIn(b"\033[", shown("doctor", NO_COLOR="1"))
        self.assertNotIn(b"\033[", shown("--no-color", "doctor"))


if __name__ == "__main__":
    hftest.main()
