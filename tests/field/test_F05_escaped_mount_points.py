"""F05: mount points whose names the kernel writes with escapes."""

import os
import subprocess

import hftest

NAMES = ("my agent", "tab\tx", "nl\nx", "back\\slash", "h#ash", "café")


class F05(hftest.TestCase):
    def classify(self, folder, env, prefix=()):
        """'delete' when a new store in FOLDER finds itself on a cross-VM mount."""
        driver = hftest.Driver(env=env, prefix=prefix)
        try:
            driver.call("runtime", home=folder)
            driver.call("open")
            events = {l["event"] for l in driver.log() if l["level"] >= hftest.LOG_WARNING}
        finally:
            driver.close()
        self.assertIn(events, (set(), {"cross_vm_delete"}))
        return "delete" if events else "wal"

    def folder(self, name):
        path = os.path.join(self.home.dir, name)
        os.mkdir(path)
        return path

    def table(self, *lines):
        return hftest.mountinfo(os.path.join(self.home.dir, "mounts"), *lines)

    def test_escaped_names(self):
        for name in NAMES:
            with self.subTest(name):
                folder = self.folder(name)
                env = self.table(hftest.mountinfo_line(folder, "virtiofs"))
                self.assertEqual(self.classify(folder, env), "delete")
                self.assertMode("delete", os.path.join(folder, "state.db"))

    def test_hash_without_escape(self):
        folder = self.folder("un#escaped")
        env = self.table(f"63 43 0:39 / {folder} rw,relatime - virtiofs hostshare rw")
        self.assertEqual(self.classify(folder, env), "delete")

    def test_prefix_is_no_component(self):
        agent, agent2 = self.folder("agent"), self.folder("agent2")
        env = self.table(hftest.mountinfo_line(agent, "virtiofs"))
        self.assertEqual(self.classify(agent2, env), "wal")
        self.assertEqual(self.classify(agent, env), "delete")

    def test_broken_rows_are_skipped(self):
        x, good = self.folder("x"), self.folder("good")
        env = self.table(f"63 43 0:39 / {x}\\04 rw,relatime - virtiofs hostshare rw",
                         "", "63", "63 43 0:39 / /srv", f"63 43 0:39 / {x} rw,relatime",
                         "- - -", "\\", "63 43 0:39 / \\999 rw - virtiofs h rw",
                         hftest.mountinfo_line(good, "virtiofs"))
        self.assertEqual(self.classify(x, env), "wal")
        self.assertEqual(self.classify(good, env), "delete")

    def test_last_row_wins(self):
        folder = self.folder("twice")
        rows = [hftest.mountinfo_line(folder, kind, number=n)
                for n, kind in ((52, "virtiofs"), (53, "ext4"))]
        self.assertEqual(self.classify(folder, self.table(*rows)), "wal")
        again = self.folder("again")
        rows = [hftest.mountinfo_line(again, kind, number=n)
                for n, kind in ((52, "ext4"), (53, "virtiofs"))]
        self.assertEqual(self.classify(again, self.table(*rows)), "delete")

    def test_real_mounts(self):
        """tmpfs mounted on such names: the kernel's own spelling of them is read, as it is
        and with the type exchanged."""
        for name in NAMES:
            with self.subTest(name):
                folder = self.folder(name + ".real")
                prefix = hftest.userns(
                    "sh", "-c", 'mount -t tmpfs tmpfs "$1" && shift && exec "$@"', "sh",
                    folder)
                self.assertEqual(self.classify(folder, None, prefix), "wal")
                self.assertFalse(os.path.exists(os.path.join(folder, "state.db")))
                table = subprocess.run([*prefix, "cat", "/proc/self/mountinfo"],
                                       capture_output=True, check=True).stdout.decode()
                rows = [row for row in table.split("\n") if row]
                self.assertIn(" - tmpfs tmpfs ", rows[-1])
                rows[-1] = rows[-1].replace(" - tmpfs ", " - virtiofs ")
                env = hftest.mountinfo(os.path.join(self.home.dir, "real"), *rows, root=False)
                self.assertEqual(self.classify(folder, env), "delete")


if __name__ == "__main__":
    hftest.main()
