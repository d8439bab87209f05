"""F34: homes with special characters in their names, and names that are too long."""

import os

import hftest

NAMES = ("sp ace", "h#ash", "q?x", "pct%20y", "pct%41", "amp&mode=rwc", "semi;colon",
         "quote'\"x", "new\nline", "汉字")


class F34(hftest.TestCase):
    def use(self, home, cwd=None):
        driver = self.driver(cwd=cwd)
        driver.call("runtime", home=home)
        driver.call("open")
        driver.call("create", session={"id": "s"})
        driver.call("append", session="s", messages=[{"content": "hello"}])
        driver.call("close")
        # The closed file is read by a URI; the read-only path refuses a write.
        path = os.path.join(cwd or "", home, "state.db")
        for suffix in ("-wal", "-shm"):
            self.assertTrue(os.path.exists(path + suffix))
            os.unlink(path + suffix)
        driver.call("open", read_only=True)
        self.assertEqual([s["id"] for s in driver.call("list", query={})["sessions"]], ["s"])
        answer = driver.try_call("append", session="s", messages=[{"content": "no"}])
        self.assertEqual(answer.get("code"), "HF_READ_ONLY", answer)
        driver.call("close")
        driver.close()
        self.assertEqual(sorted(os.listdir(os.path.join(cwd or "", home))), ["state.db"])
        self.assertEqual(self.home.sql("SELECT content FROM messages", db=path), [("hello",)])
        result = hftest.holdfast("sessions", "export", home=home, cwd=cwd)
        self.assertEqual(result.returncode, 0, result)
        self.assertIn("hello", result.stdout)

    def test_names(self):
        for name in NAMES:
            with self.subTest(name), hftest.TempHome() as parent:
                home = os.path.join(parent.path, name)
                os.mkdir(home)
                self.use(home)
                self.assertEqual(os.listdir(parent.path), [name])

    def test_relative(self):
        name = "file:abc?mode=memory"
        os.mkdir(self.home.file(name))
        self.use(name, cwd=self.home.path)
        self.assertEqual(os.listdir(self.home.path), [name])

    def test_too_long(self):
        for length in (600, 4000, 4300, 9000):
            with self.subTest(length):
                path = self.home.path
                while len(path) < length:
                    path += "/" + "x" * min(99, length - len(path))
                driver = self.driver()
                answer = driver.try_call("runtime", home=path)
                if answer["ok"]:
                    answer = driver.try_call("open")
                self.assertFalse(answer["ok"], str(answer)[:200])
                self.assertRegex(answer["code"], "^HF_(TOO_BIG|CONFIG|INVALID|IO)$")
                if length < 4096:  # beyond, the system refuses the name itself
                    self.assertRegex(answer["message"], "bytes: SQLite takes at most")
                driver.close()
                result = hftest.holdfast("sessions", "new", home=path)
                self.assertIn(result.returncode, (1, 2, 3))
                self.assertNotEqual(result.stderr, "")
        self.assertEqual([n for n in os.listdir(self.home.path) if n.startswith("state")], [])


if __name__ == "__main__":
    hftest.main()
