"""F44: why a backend did not load."""

import os
import shutil
import struct

import hfplugins
import hftest


class F44(hfplugins.PluginTestCase):
    def break_all(self):
        """Fills the folder with one module per way to be broken; {name: words}."""
        with open(self.put("stub"), "rb") as f:
            good = f.read()
        other = bytearray(good)
        machine = struct.unpack_from("<H", good, 18)[0]
        struct.pack_into("<H", other, 18, 183 if machine != 183 else 62)
        self.put("bad_symbol")
        self.put("bad_library")
        self.put("bad_entry")
        self.put("", "text", b"#!/bin/sh\necho hello\n")
        self.put("", "empty", b"")
        self.put("", "cut", good[:200])
        self.put("", "cut_late", good[:-100])
        self.put("", "cut_mark", good[:4])
        self.put("", "machine", bytes(other))
        os.mkdir(os.path.join(self.folder, "hf_folder.so"))
        os.mkdir(os.path.join(self.folder, "x.so"))
        os.symlink("/nonexistent/hf_dangling.so",
                   os.path.join(self.folder, "hf_dangling.so"))
        os.mkfifo(os.path.join(self.folder, "hf_fifo.so"))
        return {
            "bad_symbol": ["undefined symbol: hf_test_nobody_defines_this"],
            "bad_library": ["missing: libhf_test_gone.so"],
            "bad_entry": ["no entry symbol", "holdfast_plugin_bad_entry"],
            "text": ["no shared object", "7f 45 4c 46", "23 21 2f 62"],
            "empty": ["is empty"],
            "cut": ["truncated", "has 200"],
            "cut_late": ["truncated", f"has {len(good) - 100}"],
            "cut_mark": ["truncated"],
            "machine": ["built for another machine", "(183)", "(62)"],
            "folder": ["is a directory"],
            "dangling": ["symbolic link", "not there"],
            "fifo": ["no regular file"],
        }

    def test_list_names_each_reason(self):
        reasons = self.break_all()
        # The folder twice: the good one is one row, and works.
        rows = self.backends(env={"HOLDFAST_PLUGIN_PATH": f"{self.folder}:{self.folder}"},
                             expect=1)
        for name, words in reasons.items():
            path = os.path.join(self.folder, f"hf_{name}.so")
            error = rows[path]["error"]
            self.assertIn(path, error)
            for word in words:
                self.assertIn(word, error)
            if name != "bad_library":
                self.assertNotIn("not found", error)
        misnamed = os.path.join(self.folder, "x.so")
        for word in (misnamed, "no backend's file", "hf_NAME.so"):
            self.assertIn(word, rows[misnamed]["error"])
        self.assertIsNone(rows[os.path.join(self.folder, "hf_stub.so")]["error"])
        self.assertIsNone(rows[os.path.join(hfplugins.BUILTIN, "hf_sqlite.so")]["error"])

    def test_open_names_each_reason(self):
        for name, words in self.break_all().items():
            with self.subTest(name):
                self.refused(name, os.path.join(self.folder, f"hf_{name}.so"), *words)
        self.refused("absent", "unknown backend 'absent'", "stub", "sqlite", self.folder)

    def test_good_one_works_when_listed_twice(self):
        self.put("stub")
        answer, driver = self.try_open(
            "stub", env={"HOLDFAST_PLUGIN_PATH": f"{self.folder}:{self.folder}"})
        self.assertTrue(answer["ok"], answer)
        self.assertEqual(driver.call("list")["sessions"], [])

    def test_no_permission(self):
        path = self.put("stub")
        os.chmod(path, 0)
        prefix = []
        if os.geteuid() == 0:
            if not shutil.which("setpriv"):
                self.skipTest(hftest.SkipReasons.tool("setpriv"))
            prefix = ["setpriv", "--reuid=65534", "--regid=65534", "--clear-groups"]
            os.chmod(self.home.dir, 0o755)
            os.chmod(self.home.path, 0o755)
            if not os.access(hftest.BIN, os.X_OK) or not self.reachable(prefix):
                self.skipTest("another user cannot reach the build folder")
        row = self.backends(expect=1, prefix=prefix)[path]
        self.assertIn(path, row["error"])
        self.assertIn("Permission denied", row["error"])
        self.assertIn("mode 0000", row["error"])

    def reachable(self, prefix):
        return hftest.holdfast("--version", prefix=prefix).returncode == 0


if __name__ == "__main__":
    hftest.main()
