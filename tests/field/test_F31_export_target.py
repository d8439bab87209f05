"""F31: an export goes where and how it was asked, and nowhere else."""

import json
import os
import subprocess

import hftest


def look(folder):
    """The files, but for the content of the shared memory: readers mark their place."""
    return {name: what[:2] if name.endswith("-shm") else what
            for name, what in hftest.listing(folder).items()}


class F31(hftest.TestCase):
    def setUp(self):
        super().setUp()
        for n in (1, 2, 3):
            key = f"s-00{n}"
            self.assertEqual(self.run_ok("sessions", "new", "--id", key).stdout,
                             key + "\n")
            self.run_ok("sessions", "append", key, "--role", "user", "--content",
                        f"message of {key}")
        self.out = os.path.join(self.home.dir, "out.jsonl")
        self.before = look(self.home.dir)

    def run_ok(self, *args, **kw):
        result = hftest.holdfast(*args, home=self.home, **kw)
        self.assertEqual(result.returncode, 0, result.stderr)
        return result

    def refused(self, *args, **kw):
        result = hftest.holdfast("sessions", "export", *args, home=self.home, **kw)
        self.assertEqual(result.returncode, 1, result.stderr)
        self.assertNotEqual(result.stderr, "")
        return result

    def unchanged(self):
        self.assertEqual(look(self.home.dir), self.before)

    def ids(self, text):
        return [json.loads(line)["id"] for line in text.splitlines()]

    def test_standard_output(self):
        every = self.run_ok("sessions", "export").stdout
        self.assertEqual(sorted(self.ids(every)), ["s-001", "s-002", "s-003"])
        for args in (["-o", "-"], ["-"]):
            self.assertEqual(self.run_ok("sessions", "export", *args,
                                         cwd=self.home.dir).stdout, every)
        self.unchanged()

    def test_one_session(self):
        """The single argument is a session, never a file for everything."""
        result = self.run_ok("sessions", "export", "s-002", cwd=self.home.dir)
        self.assertEqual(self.ids(result.stdout), ["s-002"])
        self.unchanged()
        self.run_ok("sessions", "export", "s-002", "-o", self.out)
        with open(self.out) as f:
            self.assertEqual(self.ids(f.read()), ["s-002"])
        result = self.run_ok("sessions", "export", "s-003", "s-001")
        self.assertEqual(self.ids(result.stdout), ["s-003", "s-001"])

    def test_unknown_id(self):
        result = self.refused("out.jsonl", cwd=self.home.dir)
        self.assertIn("-o out.jsonl", result.stderr)
        self.refused("s-001", "nobody", "-o", self.out)
        self.unchanged()

    def test_existing_file(self):
        with open(self.out, "w") as f:
            f.write("precious\n")
        before = look(self.home.dir)
        self.assertIn("--force", self.refused("-o", self.out).stderr)
        self.assertEqual(look(self.home.dir), before)
        self.run_ok("sessions", "export", "-o", self.out, "--force")
        with open(self.out) as f:
            self.assertEqual(len(self.ids(f.read())), 3)
        self.assertEqual(os.stat(self.out).st_mode & 0o777, 0o600)

    def test_the_store_never(self):
        other = self.home.profile("other")
        hftest.holdfast("-p", "other", "sessions", "new", home=self.home)
        link = os.path.join(self.home.dir, "hard.jsonl")
        os.link(self.home.db, link)
        foreign = os.path.join(self.home.dir, "foreign.jsonl")
        self.home.sql("CREATE TABLE t(x)", db=foreign)
        before = look(self.home.dir)
        for target in (self.home.db, self.home.db + "-wal", self.home.db + "-shm",
                       self.home.db + "-journal", os.path.join(other, "state.db"),
                       os.path.join(self.home.path, ".", "state.db"), link, foreign):
            for force in ([], ["--force"]):
                with self.subTest(target=target, force=force):
                    self.refused("-o", target, *force)
                    self.assertEqual(look(self.home.dir), before)
        self.refused("-o", "state.db", "--force", cwd=self.home.path)
        self.assertEqual(look(self.home.dir), before)

    def test_symlink_and_folder(self):
        os.symlink(self.home.file("elsewhere"), self.out)
        before = look(self.home.dir)
        self.assertIn("symlink", self.refused("-o", self.out, "--force").stderr)
        self.assertIn("directory", self.refused("-o", self.home.path).stderr)
        self.assertIn("missing", self.refused(
            "-o", os.path.join(self.home.dir, "missing", "x")).stderr)
        self.assertEqual(look(self.home.dir), before)

    def test_full_device(self):
        result = self.refused("-o", "/dev/full")
        self.assertIn("/dev/full", result.stderr)
        self.unchanged()

    def test_full_disk(self):
        """A file system without room: nothing under the final name, nothing beside it."""
        command = hftest.userns("sh", "-c", 'mkdir "$1/small" && mount -t tmpfs -o size=16k '
                                'none "$1/small" && "$2" --home "$1/home" sessions export '
                                '-o "$1/small/out"; echo "status $?"; ls -A "$1/small"',
                                "sh", self.home.dir, os.path.join(hftest.BIN, "holdfast"))
        text = json.dumps({"role": "user", "content": "x" * 100000})
        self.run_ok("sessions", "append", "s-001", "--jsonl", "-", input=text)
        result = subprocess.run(command, env=hftest.environment(), capture_output=True,
                                text=True)
        self.assertEqual(result.stdout, "status 1\n", result.stderr)
        self.assertIn("out", result.stderr)

    def test_closed_pipe(self):
        text = json.dumps({"role": "user", "content": "x" * 300000})
        self.run_ok("sessions", "append", "s-001", "--jsonl", "-", input=text)
        process = subprocess.Popen(
            [os.path.join(hftest.BIN, "holdfast"), "--home", self.home.path, "sessions",
             "export"], env=hftest.environment(), stdout=subprocess.PIPE,
            stderr=subprocess.PIPE)
        process.stdout.read(1024)
        process.stdout.close()
        errors = process.stderr.read().decode()
        process.stderr.close()
        self.assertEqual(process.wait(), 1)
        self.assertIn("closed", errors)

    def test_killed(self):
        """Nothing is left of an export that was killed."""
        hftest.require_tool("strace")
        hftest.require_plain()
        self.before = look(self.home.dir)
        process = subprocess.Popen(
            ["strace", "-f", "-qq", "-o", "/dev/null", "-e", "trace=fsync",
             "-e", "inject=fsync:signal=SIGKILL",
             os.path.join(hftest.BIN, "holdfast"), "--home", self.home.path, "sessions",
             "export", "-o", self.out], env=hftest.environment(),
            stderr=subprocess.DEVNULL)
        self.assertNotEqual(process.wait(), 0)
        self.unchanged()

    def test_filters(self):
        hftest.holdfast("sessions", "new", "--id", "t", "--source", "telegram",
                        home=self.home)
        result = self.run_ok("sessions", "export", "--source", "telegram")
        self.assertEqual(self.ids(result.stdout), ["t"])
        self.assertEqual(self.run_ok("sessions", "export", "--older-than", "1d").stdout, "")
        self.assertEqual(len(self.ids(self.run_ok(
            "sessions", "export", "--newer-than", "1d").stdout)), 4)
        result = hftest.holdfast("sessions", "export", "s-001", "--source", "cli",
                                 home=self.home)
        self.assertEqual(result.returncode, 2)

    def test_an_empty_store(self):
        with hftest.TempHome() as home:
            self.assertEqual(hftest.holdfast("sessions", "export", home=home).stdout, "")
            self.assertEqual(hftest.listing(home.path), {})


if __name__ == "__main__":
    hftest.main()
