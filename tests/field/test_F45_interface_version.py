"""F45: interface version and table size.  The rule is in docs/abi.md: the same major
version loads; the table must reach the end of the last required callback."""

import hfplugins
import hftest


class F45(hfplugins.PluginTestCase):
    def setUp(self):
        super().setUp()
        self.folder = hfplugins.BAD

    def test_other_major_versions_are_refused_with_both_numbers(self):
        for name, number in (("version_0", "0.0"), ("version_2", "2.0"),
                             ("version_99", "99.0")):
            with self.subTest(name):
                self.refused(name, f"version {number}", "expected 1.x", f"hf_{name}.so")

    def test_too_small_tables_are_refused_with_both_sizes(self):
        text = self.refused("version_empty", "0 bytes", "expected at least")
        least = int(text.split("at least ")[1].split(";")[0])
        self.refused("version_small", f"{least - 8} bytes", f"at least {least}")

    def test_other_sizes_of_this_version_load(self):
        # Eight bytes shorter: its last member lies beyond the end and is not called;
        # eight bytes longer, a newer minor version: the member is not seen.
        for name in ("version_least", "version_older", "version_newer"):
            with self.subTest(name):
                answer, driver = self.try_open(name)
                self.assertTrue(answer["ok"], answer)
                self.assertEqual(driver.call("list")["sessions"], [])
                driver.call("interrupt")
                driver.call("flush")
                driver.close()
        rows = self.backends("version_newer", expect=0)
        self.assertEqual([row["abi"] for row in rows.values()], ["1.9"])
        rows = self.backends("version_older", expect=0)
        self.assertEqual([row["callbacks"] for row in rows.values()], [[]])

    def test_what_else_is_wrong_with_a_descriptor(self):
        self.refused("bad_callback", "required callback session_delete")
        self.refused("bad_null_ops", "table of operations is NULL")
        self.refused("bad_null_plugin", "returned NULL")
        self.refused("bad_kind", "kind 77", "expected 1")
        self.refused("bad_name", "calls itself 'sqlite'", "expected 'bad_name'")
        self.refused("bad_option", "'size'", "bad type 'integer'")
        self.refused("bad_option_default", "'size'", "'5'", "1 to 4")
        self.refused("bad_option_twice", "'dir' twice")

    def test_the_entry_symbol_is_called_once(self):
        # A second call would return garbage.
        answer, driver = self.try_open("bad_second_call")
        self.assertTrue(answer["ok"], answer)
        self.assertTrue(driver.try_call("open", store="second")["ok"])
        self.assertIn("bad_second_call",
                      [row["name"] for row in driver.call("backends")["backends"]])

    def test_a_refused_one_is_refused_again_and_leaves_others_alone(self):
        answer, driver = self.try_open("version_99")
        for _ in range(3):
            again = driver.try_call("open")
            self.assertEqual(again["message"], answer["message"])
        self.config("version_newer")
        driver.call("reload")
        self.assertTrue(driver.try_call("open")["ok"])


if __name__ == "__main__":
    hftest.main()
