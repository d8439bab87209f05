"""F17: list, stats, search, export and doctor change nothing, whatever home they meet."""

import os

import hftest

COMMANDS = (["sessions", "list"], ["sessions", "list", "--all"], ["sessions", "stats"],
            ["sessions", "search", "hello"], ["sessions", "export"], ["doctor"])


def fingerprint(home):
    """Hash of state.db, identity of every file, size of the WAL."""
    found = {}
    for name in sorted(os.listdir(home.path)):
        st = os.lstat(home.file(name))
        found[name] = (st.st_dev, st.st_ino, st.st_mode)
        if name == "state.db":
            found["bytes"] = hftest.sha256(home.file(name))
        if name == "state.db-wal":
            found["wal size"] = st.st_size
    return found


class F17(hftest.TestCase):
    def look(self, home, statuses, read_only=False):
        before = fingerprint(home)
        outputs = []
        prefix = ()
        if read_only:
            prefix = hftest.userns(
                "sh", "-c", 'mount --bind "$1" "$1" && mount -o remount,ro,bind "$1" '
                '&& shift && exec "$@"', "sh", home.path)
        for command in COMMANDS:
            with self.subTest(command=command):
                result = hftest.holdfast(*command, home=home, prefix=prefix)
                self.assertIn(result.returncode, statuses if command != ["doctor"]
                              else (0, 1), result)
                self.assertEqual(fingerprint(home), before)
                outputs.append(result.stdout)
        return outputs

    def live(self):
        driver = self.opened()
        driver.call("create", session={"id": "live"})
        for i in range(5):
            driver.call("append", session="live", messages=[{"content": f"hello {i}"}])
        self.assertGreater(os.path.getsize(self.home.db + "-wal"), 0)
        return driver

    def still_works(self, driver):
        driver.call("append", session="live", messages=[{"content": "afterwards"}])
        self.assertEqual(self.home.sql("SELECT count(*) FROM messages"), [(6,)])
        driver.close()

    def test_live_store(self):
        driver = self.live()
        outputs = self.look(self.home, (0,))
        self.assertIn("live", outputs[0])
        self.assertIn("hello", outputs[3])
        self.still_works(driver)

    def test_live_store_on_a_read_only_mount(self):
        driver = self.live()
        outputs = self.look(self.home, (0,), read_only=True)
        self.assertIn("live", outputs[0])
        self.assertIn("hello", outputs[3])
        self.still_works(driver)

    def test_empty_home(self):
        for read_only in (False, True):
            with self.subTest(read_only=read_only):
                self.look(self.home, (0,), read_only)
                self.assertEqual(os.listdir(self.home.path), [])
        document = hftest.holdfast_json("sessions", "list", home=self.home)
        self.assertEqual(document["sessions"], [])

    def test_older_store(self):
        for name in ("hermes-2026-03.db", "hermes-2026-06-delete.db"):
            for read_only in (False, True):
                with self.subTest(name, read_only=read_only):
                    home = hftest.TempHome()
                    self.addCleanup(home.close)
                    hftest.copy_shared(name, home)
                    outputs = self.look(home, (0,), read_only)
                    self.assertGreater(len(outputs[0].splitlines()), 3)
                    self.assertEqual(os.listdir(home.path), ["state.db"])

    def test_wal_of_a_killed_writer(self):
        """Its commits are shown, from a copy, and nothing is brought into the file."""
        driver = self.live()
        driver.kill()
        os.unlink(self.home.db + "-shm")
        outputs = self.look(self.home, (0,))
        self.assertIn("live", outputs[0])
        self.assertIn("hello", outputs[3])
        self.assertFalse(os.path.exists(self.home.db + "-shm"))
        driver.close()

    def test_driver_reads_only(self):
        writer = self.live()
        before = fingerprint(self.home)
        reader = self.opened(read_only=True)
        self.assertEqual(len(reader.call("read", session="live")["messages"]), 5)
        for command, args in (("append", {"session": "live", "messages": [{"content": "x"}]}),
                              ("create", {"session": {"id": "n"}}),
                              ("delete", {"sessions": ["live"]})):
            self.assertEqual(reader.try_call(command, **args).get("code"), "HF_READ_ONLY")
        reader.close()
        self.assertEqual(fingerprint(self.home), before)
        self.still_works(writer)


if __name__ == "__main__":
    hftest.main()
