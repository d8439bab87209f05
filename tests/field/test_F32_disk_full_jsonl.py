"""F32, its JSONL part: a full disk, and a limit on the size of files."""

import os
import subprocess
import sys

import hfjsonl
import hftest

TEXT = "x" * 3000


class F32Jsonl(hfjsonl.JsonlTestCase):
    def until_full(self, d, session="s1"):
        """Appends 3 KB messages until one fails; how many were acknowledged."""
        done = len(d.call("read", session=session)["messages"])
        while True:
            answer = d.try_call("append", session=session, messages=[
                {"role": "user", "content": f"{done} {TEXT}"}])
            if not answer["ok"]:
                self.assertEqual(answer["code"], "HF_DISK_FULL", answer)
                return done
            done += 1
            self.assertLess(done, 1000)

    def intact(self, d, n, session="s1"):
        self.assertEqual([m["content"].split()[0] for m in
                          d.call("read", session=session)["messages"]],
                         [str(i) for i in range(n)])
        with open(self.file(session), "rb") as f:
            data = f.read()
        self.assertTrue(data.endswith(b"\n"), "a partial last line")
        for line in data.split(b"\n")[:-1]:
            self.assertTrue(hfjsonl.good(line))
        names = os.listdir(self.home.file("jsonl"))
        self.assertEqual([n for n in names if "quarantine" in n], [])
        loud = [line for line in d.log() if line["level"] >= hftest.LOG_WARNING]
        self.assertEqual(loud, [])

    def on_full_disk(self):
        """Runs inside the namespace, where self.home is 600 KB."""
        ballast = self.home.file("ballast")
        with open(ballast, "wb") as f:
            f.write(b"b" * 50000)
        d = self.opened()
        d.call("create", session={"id": "s1", "source": "cli"})
        done = self.until_full(d)
        self.assertGreater(done, 20)
        self.assertEqual(self.until_full(d), done)
        self.intact(d, done)
        self.assertEqual(d.call("list", query={})["sessions"][0]["message_count"], done)
        # Several at once: all or nothing.
        answer = d.try_call("append", session="s1", messages=[
            {"role": "user", "content": f"{done + i} {TEXT}"} for i in range(10)])
        self.assertEqual(answer.get("code"), "HF_DISK_FULL", answer)
        self.intact(d, done)
        answer = d.try_call("compact", session="s1", watermark=2, summary=[
            {"role": "user", "content": TEXT * 2}])
        self.assertEqual(answer.get("code"), "HF_DISK_FULL", answer)
        # A session for which there is no room leaves no file.
        answer = d.try_call("create", session={"id": "s2", "source": "cli",
                                               "system_prompt": TEXT * 2})
        self.assertEqual(answer.get("code"), "HF_DISK_FULL", answer)
        self.assertFalse(os.path.exists(self.file("s2")))
        self.assertEqual(d.try_call("get", session="s2")["code"], "HF_NOT_FOUND")
        result = hftest.holdfast("sessions", "append", "s1", "--role", "user",
                                 "--content", TEXT, home=self.home)
        self.assertEqual(result.returncode, 1)
        self.assertIn("free some space", result.stderr)
        self.intact(d, done)
        os.unlink(ballast)
        for i in range(3):
            d.call("append", session="s1", messages=[
                {"role": "user", "content": f"{done + i} {TEXT}"}])
        self.intact(d, done + 3)
        d.close()
        # Full before the first open.
        with open(ballast, "wb", buffering=0) as f:
            try:
                while True:
                    f.write(b"b" * 4096)
            except OSError:
                pass
        d = self.opened()
        self.assertEqual(len(d.call("read", session="s1")["messages"]), done + 3)
        answer = d.try_call("append", session="s1", messages=[
            {"role": "user", "content": TEXT * 3}])
        self.assertEqual(answer.get("code"), "HF_DISK_FULL", answer)
        self.intact(d, done + 3)

    def test_full_disk(self):
        code = ("import subprocess, sys, unittest\n"
                "import test_F32_disk_full_jsonl as t\n"
                "class Inside(t.F32Jsonl):\n"
                "    def setUp(self):\n"
                "        super().setUp()\n"
                "        subprocess.run(['mount', '-t', 'tmpfs', '-o', 'size=600k',"
                " 'full', self.home.path], check=True)\n"
                "        self.home.config(t.hfjsonl.CONFIG)\n"
                "        self.addCleanup(subprocess.run,"
                " ['umount', '-l', self.home.path])\n"
                "    def runTest(self):\n"
                "        self.on_full_disk()\n"
                "result = unittest.TextTestRunner().run(Inside())\n"
                "sys.exit(not result.wasSuccessful())\n")
        env = dict(os.environ)
        env["PYTHONPATH"] = os.pathsep.join([os.path.dirname(os.path.abspath(__file__)),
                                             env.get("PYTHONPATH", "")])
        result = subprocess.run(hftest.userns(sys.executable, "-c", code), env=env,
                                capture_output=True, text=True)
        self.assertEqual(result.returncode, 0, result.stderr)

    def test_limit_on_files(self):
        d = self.driver(prefix=(sys.executable, "-c",
                                "import os, signal, sys\n"
                                "signal.signal(signal.SIGXFSZ, signal.SIG_IGN)\n"
                                "os.execv(sys.argv[1], sys.argv[1:])\n"))
        d.call("runtime", home=self.home.path)
        d.call("open")
        d.call("create", session={"id": "s1", "source": "cli"})
        d.call("rlimit", which="fsize", value=100000)
        done = self.until_full(d)
        self.assertGreater(done, 20)
        self.intact(d, done)
        d.call("create", session={"id": "s2", "source": "cli"})
        d.call("append", session="s2", messages=[{"role": "user", "content": "0"}])
        d.call("rlimit", which="fsize", value=200000)
        d.call("append", session="s1", messages=[{"role": "user",
                                                  "content": f"{done} {TEXT}"}])
        self.intact(d, done + 1)


if __name__ == "__main__":
    hftest.main()
