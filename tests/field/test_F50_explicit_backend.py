"""F50: an explicit backend is not replaced in silence."""

import os
import shutil

import hfplugins
import hftest

FALLBACKS = ("jsonl", "none")


class F50(hfplugins.PluginTestCase):
    def setUp(self):
        super().setUp()
        driver = self.opened()
        for i in range(10):
            driver.call("create", session={"id": f"s{i}", "source": "cli"})
        driver.close()
        # A copy of the installed tree, so that the backend's file can be taken away.
        self.tree = os.path.join(self.home.dir, "tree")
        shutil.copytree(os.path.join(hftest.BUILD, "bin"), os.path.join(self.tree, "bin"),
                        symlinks=True, ignore=lambda d, names: [
                            n for n in names if n not in ("holdfast", "hf-driver")])
        os.mkdir(os.path.join(self.tree, "lib"))
        for name in os.listdir(os.path.join(hftest.BUILD, "lib")):
            if name.startswith("libholdfast"):
                shutil.copy(os.path.join(hftest.BUILD, "lib", name),
                            os.path.join(self.tree, "lib", name), follow_symlinks=False)
        self.folder = os.path.join(self.tree, "lib", "holdfast", "backends")
        os.makedirs(self.folder, mode=0o755)
        self.module = os.path.join(self.folder, "hf_sqlite.so")
        self.restore()
        # The fallback that the configurations below name is there.
        shutil.copy(os.path.join(hfplugins.BUILTIN, "hf_jsonl.so"), self.folder)
        self.env = {"LD_LIBRARY_PATH": os.path.join(self.tree, "lib")}

    def restore(self):
        shutil.copy(os.path.join(hfplugins.BUILTIN, "hf_sqlite.so"), self.module)

    def holdfast(self, *args):
        """The command of the copied tree (its libraries are found by the variable)."""
        saved, hftest.BIN = hftest.BIN, os.path.join(self.tree, "bin")
        try:
            return hftest.holdfast(*args, home=self.home, env=self.env)
        finally:
            hftest.BIN = saved

    def listed(self):
        result = self.holdfast("--json", "sessions", "list")
        self.assertEqual(result.returncode, 0, result.stderr)
        return result.stdout.count('"title"')

    def refused(self, *words):
        before = hftest.listing(self.home.path)
        for args in (("--json", "sessions", "list"),
                     ("sessions", "append", "s1", "--role", "user", "--content", "x"),
                     ("sessions", "search", "x")):
            result = self.holdfast(*args)
            self.assertNotEqual(result.returncode, 0, args)
            self.assertNotIn('"sessions":[]', result.stdout)
            for word in words:
                self.assertIn(word, result.stderr, args)
        result = self.holdfast("doctor")
        self.assertNotEqual(result.returncode, 0, result.stdout)
        self.assertIn(words[0], result.stdout + result.stderr)
        self.assertEqual(hftest.listing(self.home.path), before)

    def configure(self, backend, fallback):
        line = f"  backend: {backend}\n" if backend else ""
        self.home.config(f"database:\n  fallback: {fallback}\n{line}")

    def test_the_copied_tree_works(self):
        for fallback in FALLBACKS:
            self.configure("sqlite", fallback)
            self.assertEqual(self.listed(), 10)

    def test_file_removed(self):
        for fallback in FALLBACKS:
            self.configure("sqlite", fallback)
            os.unlink(self.module)
            self.refused("'sqlite'", "unknown", "hf_sqlite.so", self.folder)
            self.restore()
            self.assertEqual(self.listed(), 10)

    def test_file_broken(self):
        for fallback in FALLBACKS:
            self.configure("sqlite", fallback)
            os.truncate(self.module, 200)
            self.refused(self.module, "'sqlite'", "truncated")
            self.restore()
            self.assertEqual(self.listed(), 10)

    def test_misspelt(self):
        for fallback in FALLBACKS:
            self.configure("sqlit", fallback)
            self.refused("unknown backend 'sqlit'", "did you mean 'sqlite'", "known are",
                         "config.yaml")

    def test_upper_case(self):
        for fallback in FALLBACKS:
            self.configure("SQLITE", fallback)
            self.refused("unknown backend 'SQLITE'", "did you mean 'sqlite'",
                         "known are", "config.yaml")

    def test_no_setting_is_sqlite(self):
        for fallback in FALLBACKS:
            self.configure(None, fallback)
            self.assertEqual(self.listed(), 10)
        # And nothing else: the default is not replaced either.
        os.unlink(self.module)
        self.refused("'sqlite'", "hf_sqlite.so")


if __name__ == "__main__":
    hftest.main()
