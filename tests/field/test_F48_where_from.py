"""F48: where backends come from."""

import os
import shutil
import subprocess

import hfplugins
import hftest


class F48(hfplugins.PluginTestCase):
    def setUp(self):
        super().setUp()
        self.marker = os.path.join(self.home.dir, "loaded")
        # The fake in the working directory, the home, a library folder and /x.
        self.cwd = os.path.join(self.home.dir, "cwd")
        self.lib = os.path.join(self.home.dir, "lib")
        self.x = os.path.join(self.home.dir, "x")
        for folder in (self.cwd, self.lib, self.x):
            os.mkdir(folder)
        for folder in (self.cwd, self.lib, self.x, self.home.path):
            for name in ("hf_sqlite.so", "sqlite", "sqlite.so", "libsqlite.so"):
                shutil.copyfile(hfplugins.FAKE, os.path.join(folder, name))
        shutil.copyfile(hfplugins.FAKE, os.path.join(self.x, "fake.so"))
        os.mkdir(os.path.join(self.cwd, "holdfast"))
        shutil.copytree(self.x, os.path.join(self.cwd, "holdfast", "backends"))
        self.env = {"HF_TEST_MARKER": self.marker, "HOLDFAST_PLUGIN_PATH": None}

    def assertNotLoaded(self):
        self.assertFalse(os.path.exists(self.marker), "the fake was loaded")

    def test_the_fake_would_mark(self):
        # Else nothing below could fail.
        os.chmod(self.x, 0o755)
        answer, _ = self.try_open(os.path.join(self.x, "hf_sqlite.so"), env=self.env)
        self.assertTrue(answer["ok"], answer)
        self.assertTrue(os.path.exists(self.marker))

    def test_sqlite_is_the_installed_one(self):
        builtin = os.path.realpath(os.path.join(hfplugins.BUILTIN, "hf_sqlite.so"))
        for path in (None, ".", "/nonexistent:", f"{self.lib}:.", self.lib):
            for variable in ("LD_LIBRARY_PATH", "LTDL_LIBRARY_PATH"):
                with self.subTest(variable=variable, path=path):
                    env = {**self.env, variable: path}
                    answer, driver = self.try_open("sqlite", env=env, cwd=self.cwd)
                    self.assertTrue(answer["ok"], answer)
                    with open(f"/proc/{driver.pid}/maps") as f:
                        maps = f.read()
                    self.assertIn(builtin, maps)
                    self.assertNotIn(self.home.dir + "/cwd", maps)
                    driver.close()
        self.assertNotLoaded()

    def test_relative_folders_in_the_plugin_path_are_not_searched(self):
        for path in (".", ":", "../cwd:.", "::", "cwd"):
            env = {**self.env, "HOLDFAST_PLUGIN_PATH": path}
            answer, driver = self.try_open("sqlite", env=env, cwd=self.cwd)
            self.assertTrue(answer["ok"], answer)
            driver.close()
        self.assertNotLoaded()

    def test_names_with_a_slash_are_refused(self):
        for name in ("./sqlite", "../x/sqlite", f"{self.x}/fake.so", "sqlite/",
                     "./hf_sqlite.so", f"{self.x}/sqlite", f"{self.x}/../x/fake.so",
                     f"{self.x}/", "hf_sqlite.so"):
            with self.subTest(name):
                self.config(name)
                driver = self.driver(env=self.env, cwd=self.cwd)
                answer = driver.try_call("runtime", home=self.home.path)
                if answer["ok"]:
                    answer = driver.try_call("open")
                self.assertFalse(answer["ok"], answer)
                self.assertIn(answer["code"], ("HF_PLUGIN", "HF_CONFIG"))
                self.assertIn(name, answer["message"])
                driver.close()
        self.assertNotLoaded()

    def test_the_empty_name_is_refused(self):
        self.config("")
        driver = self.driver(env=self.env, cwd=self.cwd)
        answer = driver.try_call("runtime", home=self.home.path)
        if answer["ok"]:
            answer = driver.try_call("open")
        self.assertFalse(answer["ok"], answer)
        self.assertIn(answer["code"], ("HF_PLUGIN", "HF_CONFIG"))
        self.assertIn("database.backend", answer["message"])
        self.assertNotLoaded()

    def unsafe(self, path, *words):
        answer, driver = self.try_open("sqlite", env={**self.env,
                                                      "HOLDFAST_PLUGIN_PATH": path})
        driver.close()
        self.assertFalse(answer["ok"], answer)
        self.assertEqual(answer["code"], "HF_PLUGIN")
        for word in words:
            self.assertIn(word, answer["message"])
        self.assertNotLoaded()

    def test_unsafe_folders_are_refused_with_owner_and_mode(self):
        deep = os.path.join(self.x, "deep")
        os.mkdir(deep)
        shutil.copyfile(hfplugins.FAKE, os.path.join(deep, "hf_sqlite.so"))
        os.chmod(self.x, 0o777)
        owner = f"owner {os.geteuid()}"
        self.unsafe(self.x, "everybody can write", self.x, owner, "mode 0777")
        self.unsafe(deep, "everybody can write", self.x, "mode 0777")  # a folder above
        os.chmod(self.x, 0o755)
        os.chmod(os.path.join(self.x, "hf_sqlite.so"), 0o666)
        self.unsafe(self.x, "everybody can write the file", "mode 0666", owner)
        # A private link into it, and a link that others could turn elsewhere.
        os.chmod(os.path.join(self.x, "hf_sqlite.so"), 0o755)
        link = os.path.join(self.home.dir, "link")
        os.symlink(self.x, link)
        os.chmod(self.x, 0o777)
        self.unsafe(link, "everybody can write", "mode 0777")
        os.chmod(self.x, 0o755)
        os.chmod(self.home.dir, 0o777)
        self.unsafe(self.x, "everybody can write", self.home.dir, "mode 0777")

    def test_another_owner_or_group_is_refused(self):
        if os.geteuid() != 0:
            self.skipTest(hftest.SkipReasons.not_root)
        os.chown(self.x, 12345, 0)
        self.unsafe(self.x, "belongs to user 12345", "mode 0755", self.x)
        os.chown(self.x, 0, 0)
        os.chown(os.path.join(self.x, "hf_sqlite.so"), 12345, 0)
        self.unsafe(self.x, "belongs to user 12345", "the file")
        os.chown(os.path.join(self.x, "hf_sqlite.so"), 0, 0)
        os.chown(self.x, 0, 12345)
        os.chmod(self.x, 0o775)
        self.unsafe(self.x, "group 12345", "mode 0775", "owner 0")
        os.chmod(self.x, 0o755)
        self.assertTrue(self.try_open("sqlite", env={**self.env, "HOLDFAST_PLUGIN_PATH":
                                                     self.x})[0]["ok"])

    def test_sticky_folders_are_allowed(self):
        os.chmod(self.home.dir, 0o1777)
        answer, _ = self.try_open("sqlite", env={**self.env,
                                                 "HOLDFAST_PLUGIN_PATH": self.x})
        self.assertTrue(answer["ok"], answer)
        self.assertTrue(os.path.exists(self.marker))

    def test_raised_privileges_ignore_the_variable(self):
        """A set-group-id program run by another user.  It is a unit test's, which needs
        no library of the build: a set-id program would not find one there."""
        if os.geteuid() != 0 or not shutil.which("setpriv"):
            self.skipTest(hftest.SkipReasons.not_root)
        if hftest.SANITIZED:
            self.skipTest(hftest.SkipReasons.sanitized)
        program = os.path.join(self.home.dir, "raised")
        shutil.copyfile(os.path.join(hftest.BUILD, "tests", "unit", "test_registry"),
                        program)
        os.chmod(self.home.dir, 0o755)
        user = ["setpriv", "--reuid=65534", "--regid=65534", "--clear-groups"]
        env = hftest.environment({"HOLDFAST_PLUGIN_PATH": self.x})
        found = []
        for group, mode in ((0, 0o755), (54321, 0o2755)):
            os.chown(program, 0, group)
            os.chmod(program, mode)
            result = subprocess.run([*user, program, "folders"], env=env, text=True,
                                    capture_output=True, check=True)
            found.append(self.x in result.stdout.split("\n"))
        self.assertEqual(found, [True, False])


if __name__ == "__main__":
    hftest.main()
