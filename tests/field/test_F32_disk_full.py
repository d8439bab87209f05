"""F32, its SQLite part: a full disk, and a limit on the size of files."""

import os
import subprocess
import sys

import hftest

TEXT = "x" * 3000
ON_600_KB = """\
import subprocess, sys, unittest
import test_F32_disk_full as t
class Inside(t.F32):
    def setUp(self):
        super().setUp()
        subprocess.run(["mount", "-t", "tmpfs", "-o", "size=600k", "full",
                        self.home.path], check=True)
        self.addCleanup(subprocess.run, ["umount", "-l", self.home.path])
    def runTest(self):
        getattr(self, sys.argv[1])(sys.argv[2])
result = unittest.TextTestRunner().run(Inside())
sys.exit(not result.wasSuccessful())
"""
WITH_SIGXFSZ_IGNORED = """\
import os, signal, sys
signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
os.execv(sys.argv[1], sys.argv[1:])
"""


def namespace(*command):
    """The command with mounts of its own: root has them at once, others by way of a
    user namespace; skips where neither is allowed."""
    if os.geteuid() == 0 and subprocess.run(
            ["unshare", "--mount", "true"], stderr=subprocess.DEVNULL).returncode == 0:
        return ["unshare", "--mount", "--propagation", "private", *command]
    return hftest.userns(*command)


class F32(hftest.TestCase):
    def configured(self, mode):
        self.home.config(f"database:\n  journal_mode: {mode}\n")

    def ballast(self, size=None):
        """Fills the home, to the last byte unless a size is given."""
        path = self.home.file("ballast")
        with open(path, "wb", buffering=0) as f:
            for piece in (b"b" * 4096, b"b"):
                try:
                    while size is None or f.tell() < size:
                        f.write(piece)
                except OSError:
                    pass
        return path

    def until_full(self, d):
        """Appends 3 KB messages until one fails; how many are acknowledged."""
        done = len(d.call("read", session="s1")["messages"])
        while True:
            answer = d.try_call("append", session="s1", messages=[
                {"role": "user", "content": f"{done} {TEXT}"}])
            if not answer["ok"]:
                self.assertEqual(answer["code"], "HF_DISK_FULL", answer)
                self.assertIn("make room", answer["message"])
                return done
            done += 1
            self.assertLess(done, 1000)

    def intact(self, d, n):
        self.assertEqual([m["content"].split()[0] for m in
                          d.call("read", session="s1")["messages"]],
                         [str(i) for i in range(n)])

    def nothing_renamed(self, *more):
        """Only the names that a store has."""
        known = {"config.yaml", "ballast", *more}
        known |= {"state.db" + s for s in ("", "-wal", "-shm", "-journal")}
        names = [n for n in os.listdir(self.home.path) if not n.startswith(".")]
        self.assertEqual(sorted(set(names) - known), [])

    def as_before(self, mode, n):
        self.assertMode(mode)
        self.integrity()
        self.assertEqual(self.home.sql("SELECT count(*) FROM messages"), [(n,)])
        self.nothing_renamed()

    def filling_up(self, mode):
        """Runs inside the namespace, where self.home is 600 KB."""
        self.configured(mode)
        ballast = self.ballast(200000 if mode == "delete" else 80000)
        d = self.opened()
        d.call("create", session={"id": "s1", "source": "cli"})
        done = self.until_full(d)
        self.assertGreater(done, 0)
        self.assertEqual(self.until_full(d), done)
        self.intact(d, done)
        result = hftest.holdfast("sessions", "append", "s1", "--role", "user",
                                 "--content", TEXT * 3, home=self.home)
        self.assertNotEqual(result.returncode, 0)
        self.assertIn("room", result.stderr)
        self.assertNotIn("damaged", result.stderr)
        self.intact(d, done)
        self.nothing_renamed()
        self.assertMode(mode)
        os.unlink(ballast)
        d.call("append", session="s1", messages=[
            {"role": "user", "content": f"{done} {TEXT}"}])
        self.intact(d, done + 1)
        d.close()
        self.as_before(mode, done + 1)

    def full_before_the_first_open(self, mode):
        self.configured(mode)
        ballast = self.ballast()
        d = self.driver()
        d.call("runtime", home=self.home.path)
        answer = d.try_call("open")
        self.assertEqual(answer.get("code"), "HF_DISK_FULL", answer)
        result = hftest.holdfast("sessions", "list", home=self.home)
        self.assertNotIn("damaged", result.stderr)
        self.nothing_renamed()
        os.unlink(ballast)
        d.call("open")
        d.call("create", session={"id": "s1", "source": "cli"})
        d.call("append", session="s1", messages=[{"role": "user", "content": "0 x"}])
        d.close()
        self.as_before(mode, 1)

    def inside(self, what, mode):
        env = dict(os.environ)
        env["PYTHONPATH"] = os.pathsep.join([os.path.dirname(os.path.abspath(__file__)),
                                             env.get("PYTHONPATH", "")])
        result = subprocess.run(namespace(sys.executable, "-c", ON_600_KB, what, mode),
                                env=env, capture_output=True, text=True)
        self.assertEqual(result.returncode, 0, result.stderr)

    def test_filling_up_wal(self):
        self.inside("filling_up", "wal")

    def test_filling_up_delete(self):
        self.inside("filling_up", "delete")

    def test_full_before_the_first_open_wal(self):
        self.inside("full_before_the_first_open", "wal")

    def test_full_before_the_first_open_delete(self):
        self.inside("full_before_the_first_open", "delete")

    def limit_on_files(self, mode):
        self.configured(mode)
        d = self.driver(prefix=(sys.executable, "-c", WITH_SIGXFSZ_IGNORED))
        d.call("runtime", home=self.home.path)
        d.call("open")
        d.call("create", session={"id": "s1", "source": "cli"})
        d.call("flush")
        size = os.path.getsize(self.home.db)
        d.call("rlimit", which="fsize", value=size + 100000)
        done = self.until_full(d)
        self.assertGreater(done, 0)
        self.intact(d, done)
        self.assertMode(mode)
        d.call("rlimit", which="fsize", value=size + 4000000)
        for i in range(3):
            d.call("append", session="s1", messages=[
                {"role": "user", "content": f"{done + i} {TEXT}"}])
        self.intact(d, done + 3)
        d.close()
        self.as_before(mode, done + 3)

    def test_limit_on_files_wal(self):
        self.limit_on_files("wal")

    def test_limit_on_files_delete(self):
        self.limit_on_files("delete")

    def test_limit_before_the_first_open(self):
        self.configured("wal")
        d = self.driver(prefix=(sys.executable, "-c", WITH_SIGXFSZ_IGNORED))
        d.call("runtime", home=self.home.path)
        d.call("rlimit", which="fsize", value=100000)
        answer = d.try_call("open")
        if not answer["ok"]:
            self.assertEqual(answer["code"], "HF_DISK_FULL", answer)
            d.call("rlimit", which="fsize", value=4000000)
            d.call("open")
        else:
            d.call("create", session={"id": "s1", "source": "cli"})
            self.until_full(d)
        self.nothing_renamed()


if __name__ == "__main__":
    hftest.main()
