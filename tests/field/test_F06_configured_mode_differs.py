"""F06: the configured journal mode differs from that of the file."""

import os

import hftest


class F06(hftest.TestCase):
    def wal_store(self):
        driver = self.opened()
        driver.call("create", session={"id": "s1"})
        driver.call("append", session="s1", messages=[{"content": "kept"}])
        driver.close()
        self.assertMode("wal")

    def test_wal_store_with_delete_configured(self):
        self.wal_store()
        self.home.config("database:\n  journal_mode: delete\n")
        driver = self.opened()
        driver.call("open", store="second")
        rows = driver.call("read", session="s1")["messages"]
        self.assertEqual([m["content"] for m in rows], ["kept"])
        driver.call("append", session="s1", messages=[{"content": "more"}])
        self.assertMode("wal")
        errors = self.logged(driver, level=hftest.LOG_ERROR)
        self.assertEqual([e["event"] for e in errors], ["delete_overridden"])
        self.assertEqual(errors[0]["path"], self.home.db)
        for word in (self.home.db, "delete", "WAL"):
            self.assertIn(word.lower(), errors[0]["text"].lower())
        self.assertIn("set-journal-mode", errors[0]["text"])
        driver.close()
        self.assertMode("wal")
        found = [f for f in hftest.holdfast_json("doctor", home=self.home, expect=1)
                 ["findings"] if "delete" in f["text"] and "wal" in f["text"].lower()]
        self.assertEqual([f["severity"] for f in found], ["warning"], found)

    def test_spellings_of_delete(self):
        for text in ("delete", '"delete"', "'delete'", "DELETE"):
            with self.subTest(text):
                home = hftest.TempHome()
                self.addCleanup(home.close)
                home.config(f"database:\n  journal_mode: {text}\n")
                result = hftest.holdfast("sessions", "new", "--id", "s1", home=home)
                self.assertEqual(result.returncode, 0, result)
                self.assertMode("delete", home.db)

    def test_values_that_are_none(self):
        for text, found in (("off", "'off'"), ("truncate", "'truncate'"), ("5", "'5'"),
                            ("", "nothing"), ("[delete]", "a list"), ("dlete", "'dlete'")):
            with self.subTest(text):
                config = self.home.config(f"# line 1\ndatabase:\n  journal_mode: {text}\n")
                for command in (["sessions", "new"], ["doctor"]):
                    result = hftest.holdfast(*command, home=self.home)
                    self.assertEqual(result.returncode, 2, result)
                    for part in (config + ":3:", "journal_mode", found, "wal, delete"):
                        self.assertIn(part, result.stderr)
                self.assertEqual(os.listdir(self.home.path), ["config.yaml"])

    def test_a_wrong_value_leaves_the_store_alone(self):
        self.home.config("database:\n  journal_mode: delete\n")
        hftest.holdfast("sessions", "new", "--id", "s1", home=self.home)
        self.home.config("database:\n  journal_mode: dlete\n")
        before = hftest.listing(self.home.path)
        answer = self.driver().try_call("runtime", home=self.home.path)
        self.assertEqual(answer.get("code"), "HF_CONFIG", answer)
        self.assertIn("did you mean 'delete'?", answer["message"])
        self.assertEqual(hftest.holdfast("sessions", "list", home=self.home).returncode, 2)
        self.assertEqual(hftest.listing(self.home.path), before)
        self.assertMode("delete")


if __name__ == "__main__":
    hftest.main()
