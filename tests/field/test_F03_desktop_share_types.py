"""F03: shares of desktop container programs that are not called virtiofs."""

import os

import hftest

SHARES = ("fakeowner /run/host_mark/home rw,fakeowner",
          "fuse.grpcfuse grpcfuse rw,user_id=0,group_id=0,allow_other",
          "fuse.osxfs osxfs rw", "grpcfuse grpcfuse rw", "osxfs osxfs rw")
CONTROLS = ("fuse.fuse-overlayfs x rw", "fuse.shfs x rw", "fuseblk /dev/sdb1 rw",
            "ext4 /dev/sda1 rw", "fuse.zzz x rw")


class F03(hftest.TestCase):
    def open_on(self, row):
        home = hftest.TempHome()
        self.addCleanup(home.close)
        env = hftest.mountinfo(os.path.join(home.dir, "mounts"),
                               f"70 41 0:80 /work {home.path} rw,nosuid,nodev - {row}")
        driver = self.driver(env=env)
        driver.call("runtime", home=home.path)
        driver.call("open")
        driver.call("create", session={"id": "s"})
        said = [l for l in driver.log() if l["level"] >= hftest.LOG_WARNING]
        driver.close()
        return home, env, said

    def warned(self, home, env):
        """The texts of doctor's warnings and failures."""
        found = hftest.holdfast_json("doctor", home=home, env=env, expect=None)["findings"]
        return [f["text"] for f in found if f["severity"] in ("warning", "failure")]

    def test_shares(self):
        for row in SHARES:
            with self.subTest(row):
                home, env, said = self.open_on(row)
                self.assertEqual([l["event"] for l in said], ["cross_vm_delete"])
                self.assertIn(row.split()[0], said[0]["text"])
                self.assertMode("delete", home.db)
                self.assertNoSidecars(home.db)
                self.assertEqual(self.warned(home, env), [])
                # One that is in WAL already is what doctor warns of.
                home.sql("PRAGMA journal_mode=WAL")
                text, = self.warned(home, env)
                self.assertIn(f"on a cross-VM filesystem ({row.split()[0]}, ", text)

    def test_controls(self):
        for row in CONTROLS:
            with self.subTest(row):
                home, env, said = self.open_on(row)
                self.assertEqual(said, [])
                self.assertMode("wal", home.db)
                self.assertEqual(self.warned(home, env), [])

    def test_unknown_type_in_doctor(self):
        home, env, _ = self.open_on("fuse.zzz x rw")
        findings = hftest.holdfast_json("doctor", home=home, env=env, expect=None)["findings"]
        about = [f for f in findings if "fuse.zzz" in f["text"]]
        self.assertTrue(about, findings)
        for f in about:
            self.assertNotIn("safe", f["text"])
            self.assertNotEqual(f["severity"], "ok")


if __name__ == "__main__":
    hftest.main()
