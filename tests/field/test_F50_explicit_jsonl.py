"""F50, its JSONL part: a home that names the JSONL backend gets that one, and nothing
is shown or written elsewhere when it cannot be loaded."""

import os

import hfjsonl
import hfplugins
import hftest


class F50Jsonl(hfjsonl.JsonlTestCase):
    def test_only_jsonl(self):
        d = self.opened()
        self.assertEqual(d.call("create", session={"id": "s1", "source": "cli"})["id"],
                         "s1")
        d.close()
        self.assertFalse(os.path.exists(self.home.db))
        self.assertTrue(os.path.exists(self.file()))

    def test_own_folder(self):
        folder = os.path.join(self.home.dir, "elsewhere")
        self.home.config(hfjsonl.CONFIG + f"backends:\n  jsonl:\n    dir: {folder}\n")
        self.opened().call("create", session={"id": "s1", "source": "cli"})
        self.assertEqual(sorted(n for n in os.listdir(folder) if n[0] != "."),
                         ["s1.jsonl"])
        self.assertFalse(os.path.exists(self.home.file("jsonl")))

    def test_beside_sqlite(self):
        """The setting decides; neither looks at the other's sessions."""
        self.fill(2)
        self.home.config("")
        d = self.opened()
        self.assertEqual(d.call("list", query={})["sessions"], [])
        d.call("create", session={"id": "s2", "source": "cli"})
        d.close()
        self.home.config(hfjsonl.CONFIG)
        self.assertEqual(self.ids(self.opened()),
                         ["s1"])

    def test_misspelt(self):
        for name in ("jsnol", "JSONL"):
            for fallback in ("jsonl", "none"):
                self.home.config(f"database:\n  backend: {name}\n"
                                 f"  fallback: {fallback}\n")
                before = hftest.listing(self.home.path)
                result = hftest.holdfast("sessions", "list", home=self.home)
                self.assertNotEqual(result.returncode, 0, result.stdout)
                self.assertIn("did you mean 'jsonl'", result.stderr)
                self.assertEqual(hftest.listing(self.home.path), before)

    def test_broken_module(self):
        folder = os.path.join(self.home.dir, "modules")
        os.mkdir(folder, 0o700)
        module = os.path.join(folder, "hf_jsonl.so")
        with open(os.path.join(hfplugins.BUILTIN, "hf_jsonl.so"), "rb") as f:
            data = f.read(200)
        with open(module, "wb") as f:
            f.write(data)
        self.fill(1)
        for fallback in ("jsonl", "none"):
            self.home.config(f"database:\n  backend: jsonl\n  fallback: {fallback}\n"
                             f"  plugin_path: [{folder}]\n")
            before = hftest.listing(self.home.path)
            for args in (("sessions", "list"),
                         ("sessions", "append", "s1", "--role", "user",
                          "--content", "x")):
                result = hftest.holdfast(*args, home=self.home)
                self.assertNotEqual(result.returncode, 0)
                self.assertIn(module, result.stderr)
                self.assertIn("truncated", result.stderr)
            self.assertEqual(hftest.listing(self.home.path), before)

    def test_reading_makes_nothing(self):
        for args in (("sessions", "list"), ("sessions", "stats"),
                     ("sessions", "search", "x")):
            result = hftest.holdfast(*args, home=self.home)
            self.assertEqual(result.returncode, 0, result.stderr)
        self.assertEqual(os.listdir(self.home.path), ["config.yaml"])


if __name__ == "__main__":
    hftest.main()
