"""F49: initialisation fails half-way.  The backend "opening" ends the process when its
close is called more often than an open succeeded."""

import hfplugins
import hftest


class F49(hfplugins.PluginTestCase):
    def setUp(self):
        super().setUp()
        self.folder = hfplugins.PLUGINS

    def started(self, how):
        self.config("opening", f"backends:\n  opening:\n    how: {how}\n")
        driver = self.driver(env={"HOLDFAST_PLUGIN_PATH": self.folder})
        driver.call("runtime", home=self.home.path)
        return driver

    def failing(self, how, code, *words):
        driver = self.started(how)
        texts = []
        for _ in range(3):
            answer = driver.try_call("open")
            self.assertFalse(answer["ok"], answer)
            self.assertEqual(answer["code"], code)
            self.assertIn("opening", answer["message"])
            for word in words:
                self.assertIn(word, answer["message"])
            texts.append(answer["message"])
        self.assertEqual(len(set(texts)), 1)
        jobs = [driver.start("open", store=f"s{i}") for i in range(8)]
        for job in jobs:
            self.assertEqual(driver.wait(job)["message"], texts[0])
        driver.close()
        return texts[0]

    def test_first_time_fails_second_works(self):
        driver = self.started("first")
        answer = driver.try_call("open")
        self.assertEqual(answer["code"], "HF_BUSY")
        self.assertEqual(answer["message"], "opening: not now")
        self.assertTrue(driver.try_call("open")["ok"])
        self.assertEqual(driver.call("list")["sessions"], [])
        driver.call("close")
        self.assertTrue(driver.try_call("open")["ok"])

    def test_always_fails(self):
        self.failing("always", "HF_BUSY", "not now")

    def test_success_without_a_handle(self):
        self.failing("no_handle", "HF_PLUGIN", "without giving a store")

    def test_error_with_a_handle(self):
        # Its close would end the process.
        self.failing("both", "HF_IO", "an error and a handle")

    def test_error_without_a_text(self):
        self.failing("no_text", "HF_IO", "HF_IO", "did not say why")

    def test_huge_text(self):
        text = self.failing("long_text", "HF_IO", "xxxx")
        self.assertLess(len(text), 2040)
        self.assertNotIn("\n", text)

    def test_codes_that_are_none(self):
        self.failing("odd_code", "HF_PLUGIN", "-1000", "a code of its own")
        self.failing("positive", "HF_PLUGIN", "returned 7")

    def test_eight_threads_open_and_close(self):
        driver = self.started("good")
        jobs = [driver.start("open", store=f"s{i}") for i in range(8)]
        self.assertTrue(all(driver.wait(job)["ok"] for job in jobs))
        jobs = [driver.start("close", store=f"s{i}") for i in range(8)]
        self.assertTrue(all(driver.wait(job)["ok"] for job in jobs))


if __name__ == "__main__":
    hftest.main()
