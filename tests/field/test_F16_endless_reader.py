"""F16: a reader that never finishes: appends go on, and the log is short again once the
reader is gone; a slow export lets no log grow."""

import os
import sqlite3
import subprocess
import sys
import threading

import hftest

LIMIT = 2 << 20  # database.journal_size_limit
BODY = "word " * 409  # 2 KB


class F16(hftest.TestCase):
    def setUp(self):
        super().setUp()
        self.wal = self.home.db + "-wal"

    def start(self):
        self.home.config(f"database:\n  journal_size_limit: {LIMIT}\n"
                         "  wal_autocheckpoint: 200\n  synchronous: normal\n")
        d = self.driver()
        d.call("runtime", home=self.home.path, may_thread=True)
        d.call("open")
        d.call("create", session={"id": "s", "source": "cli"})
        d.call("append", session="s", messages=[{"content": "before"}])
        return d

    def append(self, d, number, session="s"):
        for i in range(number):
            d.call("append", session=session, messages=[{"content": f"{i} {BODY}"}])

    def reader(self):
        """Another process with a snapshot that it does not let go."""
        q = subprocess.Popen(
            [sys.executable, "-c",
             "import sqlite3, sys\n"
             "c = sqlite3.connect(sys.argv[1], isolation_level=None)\n"
             "c.execute('BEGIN')\n"
             "print(c.execute('SELECT COUNT(*) FROM messages').fetchone()[0], flush=True)\n"
             "sys.stdin.read()\n", self.home.db],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        self.addCleanup(q.kill)
        self.assertEqual(q.stdout.readline().strip(), "1")
        return q

    @staticmethod
    def size(path):
        return os.stat(path).st_size

    def test_short_again_without_being_told(self):
        """The thread does it as well, soon after the next writes."""
        d = self.start()
        q = self.reader()
        self.append(d, 600)
        self.assertGreater(self.size(self.wal), LIMIT)
        q.communicate("")
        self.append(d, 40)
        hftest.wait_until(lambda: self.size(self.wal) <= LIMIT)
        d.close()

    def test_a_slow_export(self):
        """Nobody's log grows because somebody reads an export slowly."""
        d = self.start()
        for s in range(8):
            d.call("create", session={"id": f"e{s}", "source": "cli"})
            self.append(d, 100, f"e{s}")
        d.call("flush")
        pipe = self.home.file("pipe")
        os.mkfifo(pipe)
        job = d.start("export", file=pipe)
        text, go = [], threading.Event()

        def slowly():
            with open(pipe, "rb") as f:
                text.append(f.read(4096))
                go.wait(60)
                text.append(f.read())

        thread = threading.Thread(target=slowly)
        thread.start()
        largest = 0
        for _ in range(20):
            self.append(d, 50)
            largest = max(largest, self.size(self.wal))
        go.set()
        thread.join()
        self.assertTrue(d.wait(job)["ok"])
        self.assertGreater(len(b"".join(text)), 800 * 2000)
        # 1000 appends write several times that.
        self.assertLess(largest, 3 * LIMIT)
        self.assertEqual(self.logged(d, level=hftest.LOG_WARNING), [])
        d.close()
        self.integrity()


if __name__ == "__main__":
    hftest.main()
