"""F04: NFS, SMB and sshfs, with and without the explicit setting."""

import os

import hftest

ROWS = ("90 1 0:95 / {at} rw - nfs4 filer:/vol rw,vers=4.2",
        "91 1 0:96 / {at} rw - cifs //filer/share rw",
        "92 1 0:97 / {at} rw - fuse.sshfs host:/ rw")
DELETE = "database:\n  journal_mode: delete\n"


class F04(hftest.TestCase):
    def home_on(self, row, config):
        home = hftest.TempHome()
        self.addCleanup(home.close)
        if config:
            home.config(config)
        return home, hftest.mountinfo(os.path.join(home.dir, "mounts"),
                                      row.format(at=home.path))

    def use(self, home, env):
        """Open, ten messages, close, open again; returns what was said."""
        said = []
        for i in range(2):
            driver = self.driver(env=env)
            driver.call("runtime", home=home.path)
            driver.call("trace", on=True)
            driver.call("open")
            driver.call("ensure", session={"id": "s"})
            for n in range(10 if i == 0 else 0):
                driver.call("append", session="s", messages=[{"content": f"m{n}"}])
                if header_is_delete(home):
                    self.assertNoSidecars(home.db)
            driver.call("open", store="again")
            said.append([l for l in driver.log() if l["level"] >= hftest.LOG_WARNING])
            for sql in driver.trace():
                self.assertNotIn("locking_mode", sql.lower())
            driver.close()
        self.assertEqual(home.sql("SELECT count(*) FROM messages"), [(10,)])
        return said

    def test_setting_and_new_store(self):
        for row in ROWS:
            with self.subTest(row):
                home, env = self.home_on(row, DELETE)
                self.assertEqual(self.use(home, env), [[], []])
                self.assertMode("delete", home.db)
                self.assertNoSidecars(home.db)
                result = hftest.holdfast("doctor", home=home, env=env)
                self.assertEqual(result.returncode, 0, result)
                self.assertIn("rollback journal mode", result.stdout)

    def test_setting_and_wal_store(self):
        for row in ROWS:
            with self.subTest(row):
                home, env = self.home_on(row, "")
                driver = self.driver()
                driver.call("runtime", home=home.path)
                driver.call("open")
                driver.close()
                self.assertMode("wal", home.db)
                home.config(DELETE)
                for said in self.use(home, env):  # once in each process
                    self.assertEqual([l["event"] for l in said], ["delete_overridden"])
                self.assertMode("wal", home.db)
                result = hftest.holdfast("doctor", home=home, env=env)
                self.assertEqual(result.returncode, 1, result)
                self.assertEqual(result.stdout.count("\u26a0"), 1, result)
                self.assertIn("although `database.journal_mode: delete` is configured",
                              result.stdout)

    def test_without_setting(self):
        for row in ROWS:
            with self.subTest(row):
                home, env = self.home_on(row, "")
                self.assertEqual(self.use(home, env), [[], []])
                self.assertMode("wal", home.db)
                result = hftest.holdfast("doctor", home=home, env=env)
                self.assertIn(row.split(" - ")[1].split()[0], result.stdout)
                self.assertIn("database.journal_mode", result.stdout)


def header_is_delete(home):
    return hftest.header_mode(home.db) == "delete"


if __name__ == "__main__":
    hftest.main()
