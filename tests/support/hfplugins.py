"""Plugin folders for the tests of backend loading: the modules of tests/plugins as built,
and folders of their own with copies of them, whole or broken."""

import os
import shutil
import tempfile

import hftest

PLUGINS = os.path.join(hftest.BUILD, "tests", "plugins")
BAD = os.path.join(PLUGINS, "bad")
FAKE = os.path.join(PLUGINS, "fake", "hf_sqlite.so")
CLASH = os.path.join(PLUGINS, "clash")
BUILTIN = os.path.join(hftest.BUILD, "lib", "holdfast", "backends")


def module(name):
    """The built module of a test backend, whichever folder it is in."""
    for folder in (PLUGINS, BAD, CLASH, BUILTIN):
        path = os.path.join(folder, f"hf_{name}.so")
        if os.path.exists(path):
            return path
    raise FileNotFoundError(name)


class PluginTestCase(hftest.TestCase):
    """Adds a plugin folder of its own, self.folder (private, in self.home.dir)."""

    def setUp(self):
        super().setUp()
        self.folder = os.path.join(self.home.dir, "plugins")
        os.mkdir(self.folder, 0o755)

    def put(self, name, as_name=None, data=None):
        """Copies the module of NAME into the folder (or DATA, as AS_NAME); its path."""
        path = os.path.join(self.folder, f"hf_{as_name or name}.so")
        if data is None:
            shutil.copyfile(module(name), path)
        else:
            with open(path, "wb") as f:
                f.write(data)
        os.chmod(path, 0o755)
        return path

    def config(self, backend, more=""):
        self.home.config(f'database:\n  backend: "{backend}"\n{more}')

    def try_open(self, backend, env=None, more="", **kw):
        """Opens a store with BACKEND in a process of its own; the answer, the driver."""
        self.config(backend, more)
        driver = self.driver(env={"HOLDFAST_PLUGIN_PATH": self.folder, **(env or {})}, **kw)
        driver.call("runtime", home=self.home.path)
        return driver.try_call("open"), driver

    def refused(self, backend, *words, **kw):
        """Asserts that BACKEND is refused with all of WORDS in the text."""
        answer, driver = self.try_open(backend, **kw)
        driver.close()
        self.assertFalse(answer["ok"], answer)
        self.assertEqual(answer["code"], "HF_PLUGIN", answer)
        for word in words:
            self.assertIn(word, answer["message"])
        return answer["message"]

    def backends(self, *args, env=None, expect=None, **kw):
        """{path: row} of `holdfast backends`."""
        rows = hftest.holdfast_json(
            "backends", *args, home=self.home, expect=expect,
            env={"HOLDFAST_PLUGIN_PATH": self.folder, **(env or {})}, **kw)["backends"]
        return {row["path"]: row for row in rows}
