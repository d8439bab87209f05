"""F17: looking must not touch.  List, show, stats, search, export and doctor beside a live
writer, in an empty home and on an older store, in writable and in read-only folders."""

import os
import sqlite3

import hftest

NOBODY = 65534
LOOKS = (["list"], ["list", "--all"], ["stats"], ["search", "message"], ["export"])


class F17(hftest.TestCase):
    def look(self, home, read_only, shows=None):
        """Runs every command that only looks and compares the home before and after."""
        prefix = ()
        if read_only:
            os.chmod(home.path, 0o555)
            if os.geteuid() == 0:  # whom no mode holds back
                hftest.require_tool("setpriv")
                prefix = ("setpriv", f"--reuid={NOBODY}", f"--regid={NOBODY}",
                          "--clear-groups")
                os.chmod(home.dir, 0o711)
                os.chown(home.path, NOBODY, NOBODY)
                for name in os.listdir(home.path):
                    os.chown(home.file(name), NOBODY, NOBODY)
        before = self.marks(home)
        for args in LOOKS:
            result = hftest.holdfast("sessions", *args, home=home, prefix=prefix)
            with self.subTest(args=args, read_only=read_only):
                self.assertEqual(result.returncode, 0, result.stderr)
                self.assertEqual(self.marks(home), before)
                if shows and args != ["stats"]:
                    self.assertIn(shows, result.stdout)
        result = hftest.holdfast("doctor", home=home, prefix=prefix)
        self.assertIn(result.returncode, (0, 1), result.stderr)
        self.assertNotIn("\u2717", result.stdout)
        self.assertEqual(self.marks(home), before)

    def marks(self, home):
        """Identities of all files, and their bytes but for the shared memory, where
        readers mark their place."""
        found = {}
        for name, what in hftest.listing(home.path).items():
            found[name] = (hftest.inode(home.file(name)),
                           what[:2] if name.endswith("-shm") else what)
        return found

    def test_beside_a_writer(self):
        for read_only in (False, True):
            with hftest.TempHome() as home:
                driver = hftest.Driver()
                self.addCleanup(driver.close)
                driver.call("runtime", home=home.path)
                driver.call("open")
                driver.call("create", session={"id": "s", "source": "cli"})
                for n in range(5):
                    driver.call("append", session="s", messages=[
                        {"role": "user", "content": f"message {n}"}])
                self.assertGreater(os.path.getsize(home.db + "-wal"), 0)
                self.look(home, read_only, shows="s")
                driver.call("append", session="s", messages=[
                    {"role": "user", "content": "the next one"}])
                self.assertEqual(home.sql("SELECT count(*) FROM messages"), [(6,)])
                found = hftest.holdfast_json("sessions", "search", "next", home=home)
                self.assertEqual(len(found["hits"]), 1)
                driver.call("close")

    def test_beside_an_ordinary_client(self):
        """Its log has commits that are in no file yet, and no checkpoint runs."""
        for name in ("list", "export"):
            hftest.holdfast("sessions", "new", "--id", "s-" + name, home=self.home)
        con = sqlite3.connect(self.home.db, isolation_level=None)
        con.execute("PRAGMA wal_autocheckpoint=0")
        con.execute("UPDATE sessions SET title = 'message ' || id")
        self.look(self.home, False, shows=None)
        con.close()

    def test_an_empty_home(self):
        for read_only in (False, True):
            with hftest.TempHome() as home:
                self.look(home, read_only)
                self.assertEqual(os.listdir(home.path), [])
        missing = os.path.join(self.home.dir, "missing")
        self.assertEqual(hftest.holdfast_json("sessions", "list", home=missing),
                         {"sessions": [], "more": False})
        self.assertFalse(os.path.exists(missing))

    def test_an_older_store(self):
        for name in ("hermes-2026-03.db", "hermes-2026-06-delete.db"):
            for read_only in (False, True):
                with hftest.TempHome() as home:
                    hftest.copy_shared(name, home)
                    version = self.version(home)
                    self.look(home, read_only)
                    rows = hftest.holdfast_json("sessions", "list", home=home)
                    self.assertEqual(len(rows["sessions"]), 20)
                    self.assertEqual(self.version(home), version)

    def version(self, home):
        con = sqlite3.connect(f"file:{home.db}?mode=ro&immutable=1", uri=True)
        try:
            return con.execute("SELECT version FROM schema_version").fetchone()
        finally:
            con.close()


if __name__ == "__main__":
    hftest.main()
