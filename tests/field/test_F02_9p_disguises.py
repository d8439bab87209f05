"""F02: 9p under its several names."""

import os

import hftest

ROWS = {
    "sandbox-like": "61 40 0:70 / {at} rw - 9p none rw,trans=fd,rfdno=9,wfdno=9,aname=/",
    "drvfs": "62 40 0:71 / {at} rw,noatime - 9p D:\\134 "
             "rw,dirsync,aname=drvfs;path=D:\\134,trans=fd",
    "9p2000.L": "61 40 0:70 / {at} rw - 9p2000.L none rw,trans=fd,rfdno=9,wfdno=9,aname=/",
    "9p2000.u": "61 40 0:70 / {at} rw - 9p2000.u none rw",
    "9p2000": "61 40 0:70 / {at} rw - 9p2000 none rw",
    "drvfs type": "61 40 0:70 / {at} rw - drvfs D:\\134 rw",
}


class F02(hftest.TestCase):
    def test_new_store(self):
        # The classifier never asks statfs: here it would say ext4, overlay or tmpfs.
        for name, row in ROWS.items():
            with self.subTest(name), hftest.TempHome() as home:
                env = hftest.mountinfo(os.path.join(home.dir, "mounts"),
                                       row.format(at=home.path))
                driver = self.driver(env=env)
                driver.call("runtime", home=home.path)
                driver.call("trace", on=True)
                driver.call("open")
                driver.call("create", session={"id": "s"})
                self.assertEqual(
                    [(l["level"], l["event"]) for l in driver.log()
                     if l["level"] >= hftest.LOG_WARNING],
                    [(hftest.LOG_WARNING, "cross_vm_delete")])
                for sql in driver.trace():
                    self.assertNotRegex(sql, r"(?i)journal_mode\s*=\s*wal")
                driver.close()
                self.assertMode("delete", home.db)
                self.assertNoSidecars(home.db)


if __name__ == "__main__":
    hftest.main()
