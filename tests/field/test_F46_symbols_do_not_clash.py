"""F46: symbols do not leak or clash.  What the shipped objects export is compared by
tests/cli/test_symbols.py."""

import os
import subprocess

import hfplugins
import hftest


class F46(hfplugins.PluginTestCase):
    def test_a_host_with_the_same_names(self):
        if hftest.SANITIZED:
            self.skipTest(hftest.SkipReasons.sanitized)  # they forbid RTLD_DEEPBIND
        homes = []
        for backend in ("sqlite", "clash_1", "clash_2"):
            home = os.path.join(self.home.dir, backend)
            os.mkdir(home)
            with open(os.path.join(home, "config.yaml"), "w") as f:
                f.write(f"database:\n  backend: {backend}\n")
            homes.append(home)
        result = subprocess.run(
            [os.path.join(hfplugins.CLASH, "hf-clash-host"), *homes], text=True,
            capture_output=True,
            env=hftest.environment({"HOLDFAST_PLUGIN_PATH": hfplugins.CLASH}))
        self.assertEqual(result.stderr, "")
        self.assertEqual(result.returncode, 0)
        self.assertEqual(result.stdout.split(), ["stored", "called-1", "called-2"])
        self.assertTrue(os.path.exists(os.path.join(homes[0], "state.db")))


if __name__ == "__main__":
    hftest.main()
