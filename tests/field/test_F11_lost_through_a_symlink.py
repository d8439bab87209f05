"""F11: a store reached through a symlink is one store: a lost log is noticed by every
spelling."""

import os

import hftest


class F11(hftest.TestCase):
    def setUp(self):
        super().setUp()
        # What a store with a fallback does is F42's.
        self.home.config("database:\n  fallback: none\n")
        real = os.path.join(self.home.dir, "real")
        os.mkdir(real)
        os.rename(self.home.path, os.path.join(real, "home"))
        os.symlink(real, os.path.join(self.home.dir, "link"))
        self.real = os.path.join(real, "home")
        self.link = os.path.join(self.home.dir, "link", "home")
        # A second symlink, at the file itself.
        self.direct = os.path.join(self.home.dir, "direct")
        os.mkdir(self.direct)
        os.symlink(os.path.join(self.real, "state.db"),
                   os.path.join(self.direct, "state.db"))

    def test_refused_by_every_spelling(self):
        p = self.driver()
        p.call("runtime", home=self.link)
        p.call("open")
        p.call("create", session={"id": "s", "source": "cli"})
        for suffix in ("-wal", "-shm"):
            os.unlink(os.path.join(self.real, "state.db" + suffix))
        for home in (self.link, self.real):
            q = self.driver()
            q.call("runtime", home=home)
            answer = q.try_call("open")
            self.assertEqual(answer.get("code"), "HF_WAL_LOST", answer)
            self.assertIn(f"pid {p.pid} (", answer["message"])
        q = self.driver()
        q.call("runtime", home=self.direct)
        answer = q.try_call("open")
        self.assertFalse(answer["ok"], answer)
        self.assertIn(answer["code"], ("HF_UNSUPPORTED", "HF_WAL_LOST"))
        for folder in (self.real, self.direct):
            self.assertFalse(os.path.exists(os.path.join(folder, "state.db-wal")))

    def test_one_store_by_two_spellings(self):
        d = self.driver()
        for name, home in (("a", self.link), ("b", self.real)):
            d.call("runtime", name=name, home=home)
            d.call("open", store=name, runtime=name)
        d.call("create", store="a", session={"id": "s", "source": "cli"})
        for name in ("a", "b"):
            d.call("append", store=name, session="s", messages=[{"content": name}])
        for name in ("a", "b"):
            read = d.call("read", store=name, session="s")["messages"]
            self.assertEqual([m["content"] for m in read], ["a", "b"])
        self.assertEqual([n for n in os.listdir(self.direct) if n != "state.db"], [])
        os.unlink(os.path.join(self.real, "state.db-wal"))
        for name in ("a", "b"):
            answer = d.try_call("append", store=name, session="s",
                                messages=[{"content": "x"}])
            self.assertEqual(answer.get("code"), "HF_WAL_LOST", answer)
        # One database, one line.
        self.assertEqual(len(self.logged(d, event="wal_lost")), 1)


if __name__ == "__main__":
    hftest.main()
