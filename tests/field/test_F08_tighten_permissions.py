"""F08: tightening permissions and closing handles must not drop locks."""

import os
import re
import stat

import hftest


def locks_on(path):
    """The locks on a file as /proc/locks has them, without their owners."""
    number = os.stat(path).st_ino
    with open("/proc/locks", encoding="ascii") as f:
        rows = [line.split()[1:] for line in f if "->" not in line]
    return sorted((kind, access, start, end)
                  for kind, _, access, _, where, start, end in rows
                  if where.rsplit(":", 1)[1] == str(number))


class F08(hftest.TestCase):
    prefix = ["/bin/sh", "-c", 'umask 022; exec "$@"', "sh"]

    def holder(self):
        driver = self.driver(prefix=self.prefix)
        driver.call("runtime", home=self.home.path)
        driver.call("open")
        driver.call("ensure", session={"id": "s"})
        return driver

    def modes(self):
        return {suffix: stat.S_IMODE(os.stat(self.home.db + suffix).st_mode)
                for suffix in ("", "-wal", "-shm")}

    def test_second_handle(self):
        p = self.holder()
        p.call("append", session="s", messages=[{"content": "one"}])
        before = locks_on(self.home.db), locks_on(self.home.db + "-shm")
        self.assertTrue(before[0] and before[1], before)
        inodes = [hftest.inode(self.home.db + x) for x in ("", "-wal", "-shm")]
        p.call("open", store="second")
        p.call("close", store="second")
        p.call("stray", path=self.home.db)
        p.call("stray", path=self.home.db + "-wal")
        p.call("stray", path=self.home.db + "-shm")
        self.assertEqual((locks_on(self.home.db), locks_on(self.home.db + "-shm")), before)
        # Q: its close is the last one as far as it can see, if the locks are gone.
        self.assertEqual(self.home.sql("SELECT count(*) FROM messages"), [(1,)])
        self.assertEqual([hftest.inode(self.home.db + x) for x in ("", "-wal", "-shm")],
                         inodes)
        p.call("append", session="s", messages=[{"content": "two"}])
        self.assertEqual(self.home.sql("SELECT content FROM messages ORDER BY id"),
                         [("one",), ("two",)])
        self.assertEqual(self.modes(), {"": 0o600, "-wal": 0o600, "-shm": 0o600})
        self.assertTrue(all(re.match("OFDLCK", row[0]) for row in locks_on(self.home.db)))

    def test_files_that_were_there(self):
        p = self.holder()
        p.call("append", session="s", messages=[{"content": "one"}])
        p.kill()
        for suffix in ("", "-wal", "-shm"):
            os.chmod(self.home.db + suffix, 0o644)
        p = self.holder()
        p.call("append", session="s", messages=[{"content": "two"}])
        self.assertEqual(self.modes(), {"": 0o600, "-wal": 0o600, "-shm": 0o600})
        self.assertEqual(self.home.sql("SELECT content FROM messages ORDER BY id"),
                         [("one",), ("two",)])

    def test_tightening_beside_a_live_handle(self):
        """A second open finds loose files while the first one is at work."""
        p = self.holder()
        p.call("append", session="s", messages=[{"content": "one"}])
        before = locks_on(self.home.db), locks_on(self.home.db + "-shm")
        for suffix in ("", "-wal", "-shm"):
            os.chmod(self.home.db + suffix, 0o644)
        p.call("open", store="second")
        self.assertEqual(self.modes(), {"": 0o600, "-wal": 0o600, "-shm": 0o600})
        p.call("close", store="second")
        self.assertEqual((locks_on(self.home.db), locks_on(self.home.db + "-shm")), before)


if __name__ == "__main__":
    hftest.main()
