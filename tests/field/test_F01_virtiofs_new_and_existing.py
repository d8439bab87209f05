"""F01: a new store on a virtiofs mount, and one that is in WAL already."""

import os
import sqlite3

import hftest

KINDS = ("virtiofs", "fuse.virtiofs")


class F01(hftest.TestCase):
    def table(self, kind, *more):
        return hftest.mountinfo(os.path.join(self.home.dir, "mounts"),
                                hftest.mountinfo_line(self.home.path, kind), *more)

    def fresh(self):
        home = hftest.TempHome()
        self.addCleanup(home.close)
        self.home = home
        return home

    def open_three_times(self, env):
        """Three opens in one process; returns its WARNING and ERROR lines."""
        driver = self.driver(env=env)
        driver.call("runtime", home=self.home.path)
        driver.call("trace", on=True)
        for i in range(3):
            driver.call("open", store=f"s{i}")
            driver.call("ensure", store=f"s{i}", session={"id": "one"})
            if hftest.header_mode(self.home.db) == "delete":
                self.assertNoSidecars()
            driver.call("close", store=f"s{i}")
        for sql in driver.trace():
            self.assertNotIn("EXCLUSIVE", sql.upper())
        said = [l for l in driver.log() if l["level"] >= hftest.LOG_WARNING]
        driver.close()
        return said

    def make_wal(self, rows):
        con = sqlite3.connect(self.home.db, isolation_level=None)
        con.execute("PRAGMA journal_mode=WAL")
        con.close()
        if rows:
            driver = self.opened()
            driver.call("create", session={"id": "old"})
            driver.call("append", session="old", messages=[{"content": "kept"}])
            driver.close()
        self.assertMode("wal")

    def journal_rows(self, env, expect):
        """The codes of doctor's rows about the journal mode: there is only one."""
        found = hftest.holdfast_json("doctor", home=self.home, env=env, expect=expect)
        return [f["code"] for f in found["findings"]
                if "rollback journal mode" in f["text"] or "in WAL mode" in f["text"]
                or "WAL journal mode" in f["text"]]

    def test_new_and_empty(self):
        for kind in KINDS:
            for empty in (False, True):
                with self.subTest(kind, empty=empty):
                    self.fresh()
                    if empty:
                        self.home.write("state.db", "")
                    env = self.table(kind)
                    said = self.open_three_times(env)
                    self.assertEqual([l["event"] for l in said], ["cross_vm_delete"], said)
                    self.assertEqual(said[0]["level"], hftest.LOG_WARNING)
                    self.assertEqual(said[0]["path"], self.home.db)
                    self.assertIn(kind, said[0]["text"])
                    self.assertMode("delete")
                    self.assertEqual(self.journal_rows(env, expect=0), ["rollback"])
                    self.assertNoSidecars()

    def test_existing_wal(self):
        for kind in KINDS:
            for rows in (True, False):
                with self.subTest(kind, rows=rows):
                    self.fresh()
                    self.make_wal(rows)
                    env = self.table(kind)
                    said = self.open_three_times(env)
                    self.assertEqual([l["event"] for l in said], ["cross_vm_existing_wal"],
                                     said)
                    self.assertEqual(said[0]["level"], hftest.LOG_ERROR)
                    for part in (self.home.db, kind, "journal_mode: delete",
                                 "set-journal-mode delete", "native or named volume"):
                        self.assertIn(part, said[0]["text"])
                    self.assertMode("wal")
                    if rows:
                        self.assertEqual(self.home.sql("SELECT content FROM messages"),
                                         [("kept",)])
                    # Before what a foreign program with this SQLite would be warned of.
                    with hftest.locked(self.home.db, kind="SHARED"):
                        self.assertEqual(self.journal_rows(env, expect=1), ["wal_cross_vm"])
                    result = hftest.holdfast("doctor", home=self.home, env=env)
                    self.assertEqual(result.returncode, 1, result)
                    self.assertIn("is in WAL mode on a cross-VM filesystem (virtiofs/9p",
                                  result.stdout)
                    self.assertIn("PRAGMA journal_mode=DELETE", result.stdout)
                    self.assertIn("move the database onto a native/named volume",
                                  result.stdout)

    def test_one_error_for_each_path(self):
        other = hftest.TempHome()
        self.addCleanup(other.close)
        self.make_wal(True)
        with open(self.home.db, "rb") as f:
            other.write("state.db", f.read())
        env = self.table("virtiofs", hftest.mountinfo_line(other.path, "virtiofs", number=53))
        driver = self.driver(env=env)
        for name, home in (("a", self.home), ("b", other)):
            driver.call("runtime", name=name, home=home.path)
            driver.call("open", runtime=name, store=name)
            driver.call("open", runtime=name, store=name + "2")
        lines = self.logged(driver, event="cross_vm_existing_wal")
        self.assertEqual(sorted(l["path"] for l in lines), sorted([self.home.db, other.db]))

    def test_native_mount_inside(self):
        home = os.path.join(self.home.path, "inner")
        env = self.table("virtiofs", hftest.mountinfo_line(home, "ext4", number=53))
        driver = self.driver(env=env)
        driver.call("runtime", home=home)
        driver.call("open")
        self.assertEqual([l for l in driver.log() if l["level"] >= hftest.LOG_WARNING], [])
        driver.close()
        self.assertMode("wal", os.path.join(home, "state.db"))


if __name__ == "__main__":
    hftest.main()
