"""F42 with F32: the fallback lies on a full disk.  What cannot be kept is refused, nothing
is half written, and what only the lost files have is not given up until it is safe."""

import os
import subprocess
import sys
import time

import hfjsonl
import hftest

TEXT = "x" * 3000
ON_200_KB = """\
import os, subprocess, sys, unittest
import test_F42_full_fallback as t
class Inside(t.FullFallback):
    def setUp(self):
        super().setUp()
        os.mkdir(self.folder)
        subprocess.run(["mount", "-t", "tmpfs", "-o", "size=200k", "full",
                        self.folder], check=True)
        self.addCleanup(subprocess.run, ["umount", "-l", self.folder])
    def runTest(self):
        getattr(self, sys.argv[1])()
result = unittest.TextTestRunner().run(Inside())
sys.exit(not result.wasSuccessful())
"""


def namespace(*command):
    """The command with mounts of its own, as root has them, or a user namespace."""
    if os.geteuid() == 0 and subprocess.run(
            ["unshare", "--mount", "true"], stderr=subprocess.DEVNULL).returncode == 0:
        return ["unshare", "--mount", "--propagation", "private", *command]
    return hftest.userns(*command)


class FullFallback(hftest.TestCase):
    def setUp(self):
        super().setUp()
        self.folder = os.path.join(self.home.path, "fallback")

    def begun(self, n, retry):
        self.home.config(f"database:\n  fallback_retry_seconds: {retry}\n")
        d = self.opened()
        d.call("create", session={"id": "s1", "source": "cli"})
        for i in range(n):
            self.append(d, i)
        return d

    def append(self, d, n):
        d.call("append", session="s1", messages=[
            {"role": "user", "content": f"{n} {TEXT}"}])

    def lose_sidecars(self):
        for suffix in ("-wal", "-shm"):
            os.unlink(self.home.db + suffix)

    def ballast(self, size=None):
        """Fills the folder, to the last byte unless a size is given."""
        path = os.path.join(self.folder, "ballast")
        with open(path, "wb", buffering=0) as f:
            for piece in (b"b" * 4096, b"b"):
                try:
                    while size is None or f.tell() < size:
                        f.write(piece)
                except OSError:
                    pass
        return path

    def refused(self, d, n):
        answer = d.try_call("append", session="s1", messages=[
            {"role": "user", "content": f"{n} {TEXT}"}])
        self.assertEqual(answer.get("code"), "HF_DISK_FULL", answer)
        self.assertIn("free some space", answer["message"])

    def holds(self, d, n):
        self.assertEqual([int(m["content"].split()[0]) for m in
                          d.call("read", session="s1")["messages"]], list(range(n)))

    def whole_lines(self):
        path = os.path.join(self.folder, "s1.jsonl")
        if os.path.exists(path):
            with open(path, "rb") as f:
                data = f.read()
            self.assertTrue(data == b"" or data.endswith(b"\n"), "half a line")
            for line in data.split(b"\n")[:-1]:
                self.assertTrue(hfjsonl.good(line))
        self.assertEqual([n for n in os.listdir(self.folder) if "quarantine" in n], [])

    def merged(self, n):
        """Everything came back once, and in its order."""
        d = self.opened()
        self.holds(d, n)
        d.close()
        self.assertEqual([n for n in os.listdir(self.folder) if n.endswith(".jsonl")], [])
        self.assertEqual(self.home.sql("SELECT count(*) FROM messages"), [(n,)])
        self.integrity()

    def filling_up(self):
        d = self.begun(3, 600)
        ballast = self.ballast(60000)
        self.lose_sidecars()
        done = 3
        while True:
            answer = d.try_call("append", session="s1", messages=[
                {"role": "user", "content": f"{done} {TEXT}"}])
            if not answer["ok"]:
                break
            done += 1
            self.assertLess(done, 200)
        self.assertEqual(answer["code"], "HF_DISK_FULL", answer)
        self.assertGreater(done, 20)
        for _ in range(2):
            self.refused(d, done)
            self.whole_lines()
            self.holds(d, done)
        self.assertEqual(d.call("state")["state"]["condition"], 10)
        os.unlink(ballast)
        self.append(d, done)
        self.holds(d, done + 1)
        d.close()
        self.merged(done + 1)

    def rescue_refused(self):
        """Nothing of what only the lost files have fits."""
        d = self.begun(20, 1)
        ballast = self.ballast()
        self.lose_sidecars()
        self.refused(d, 20)
        events = [line["event"] for line in self.logged(d, level=hftest.LOG_ERROR)]
        self.assertIn("wal_lost", events)
        self.assertIn("salvage_failed", events)
        saved = [n for n in os.listdir(self.home.path) if ".retired-wal-" in n]
        self.assertEqual(len(saved), 1)
        # The lost files are not let go, so no new log is begun, and all can be read.
        time.sleep(1.2)
        for _ in range(3):
            self.assertEqual(d.call("state")["state"]["condition"], 10)
            self.refused(d, 20)
            self.holds(d, 20)
            self.whole_lines()
            self.assertFalse(os.path.exists(self.home.db + "-wal"))
        os.unlink(ballast)
        hftest.wait_until(lambda: d.call("state")["state"]["condition"] == 0)
        self.holds(d, 20)
        self.append(d, 20)
        d.close()
        self.merged(21)

    def inside(self, what):
        env = dict(os.environ)
        env["PYTHONPATH"] = os.pathsep.join([os.path.dirname(os.path.abspath(__file__)),
                                             env.get("PYTHONPATH", "")])
        result = subprocess.run(namespace(sys.executable, "-c", ON_200_KB, what),
                                env=env, capture_output=True, text=True)
        self.assertEqual(result.returncode, 0, result.stderr)

    def test_filling_up(self):
        self.inside("filling_up")

    def test_rescue_refused(self):
        self.inside("rescue_refused")


if __name__ == "__main__":
    hftest.main()
