"""Two kernels over one folder: one writes at a time, a dead one is taken over, and
what was acknowledged stays.  HF_ROUNDS sets the number of rounds of kills."""

import os
import random
import time

import hftest
import torture

ROUNDS = torture.rounds(50)
RENEW_MS = 300


class OneKernel(hftest.TestCase):
    def setUp(self):
        super().setUp()
        self.kernel = self.home.db + ".kernel"
        self.table = hftest.mountinfo(os.path.join(self.home.dir, "mounts"),
                                      hftest.mountinfo_line(self.home.path, "virtiofs"))

    def env(self, side, renew=RENEW_MS):
        name = os.path.join(self.home.dir, "boot-" + side)
        with open(name, "w", encoding="ascii") as f:
            f.write(f"{side}0000000-0000-4000-8000-000000000000\nhost-{side}\n")
        return dict(self.table, HOLDFAST_BOOT_ID=name,
                    HOLDFAST_KERNEL_RENEW_MS=str(renew))

    def side(self, name, renew=RENEW_MS):
        d = self.driver(env=self.env(name, renew))
        d.call("runtime", home=self.home.path)
        return d

    def owner(self):
        with open(self.kernel, encoding="ascii") as f:
            return f.read().split("\n")

    def keep_writing(self, d, job):
        """Appends while JOB of another driver runs; the answer of that."""
        other, number = job
        d.call("ensure", session={"id": "busy", "source": "cli"})
        until = time.monotonic() + 4 * RENEW_MS / 1000
        while time.monotonic() < until:
            d.call("append", session="busy", messages=[{"content": "x"}])
            time.sleep(RENEW_MS / 5000)
        return other.wait(number)

    def test_second_is_refused_while_the_first_lives(self):
        a, b = self.side("a"), self.side("b")
        a.call("open")
        self.assertEqual(self.owner()[:3], ["a0000000-0000-4000-8000-000000000000",
                                            "host-a", str(a.pid)])
        answer = self.keep_writing(a, (b, b.start("open")))
        self.assertFalse(answer["ok"], answer)
        self.assertEqual(answer["code"], "HF_BUSY")
        for part in ("host-a", f"pid {a.pid}", "native or named volume"):
            self.assertIn(part, answer["message"])
        self.assertEqual(self.owner()[1], "host-a")
        # Reading needs none.
        b.call("open", read_only=True)
        self.assertEqual(b.call("get", session="busy")["session"]["id"], "busy")
        b.call("close")
        a.call("close")
        self.assertFalse(os.path.exists(self.kernel))
        b.call("open")
        self.assertEqual(self.owner()[1], "host-b")
        self.assertEqual(self.logged(b, event="kernel_taken_over"), [])

    def test_taken_over_once_dead(self):
        a, b = self.side("a"), self.side("b")
        a.call("open")
        a.call("create", session={"id": "s", "source": "cli"})
        a.kill()
        self.assertEqual(self.owner()[1], "host-a")
        b.call("open")
        said = self.logged(b, event="kernel_taken_over")
        self.assertEqual([l["level"] for l in said], [hftest.LOG_WARNING])
        self.assertIn("host-a", said[0]["text"])
        self.assertEqual(self.owner()[1], "host-b")
        b.call("append", session="s", messages=[{"content": "after"}])

    def test_an_idle_one_that_was_taken_over_writes_no_more(self):
        a, b = self.side("a"), self.side("b")
        a.call("open")
        a.call("create", session={"id": "s", "source": "cli"})
        b.call("open")  # a does nothing meanwhile
        job = a.start("append", session="s", messages=[{"content": "late"}])
        answer = self.keep_writing(b, (a, job))
        self.assertEqual(answer["code"], "HF_BUSY", answer)
        self.assertIn("host-b", answer["message"])
        b.call("close")
        # The handle goes on when the other side is gone.
        a.call("append", session="s", messages=[{"content": "again"}])
        texts = self.home.sql("SELECT content FROM messages WHERE session_id='s'")
        self.assertEqual(texts, [("again",)])

    def test_one_kernel_shares_it(self):
        a, b = self.side("a"), self.side("a")
        a.call("open")
        b.call("open")
        a.call("create", session={"id": "s", "source": "cli"})
        b.call("append", session="s", messages=[{"content": "both"}])
        before = int(self.owner()[3])
        time.sleep(RENEW_MS * 1.5 / 1000)
        b.call("append", session="s", messages=[{"content": "renews"}])
        self.assertGreater(int(self.owner()[3]), before)
        a.call("close")
        self.assertTrue(os.path.exists(self.kernel))
        b.call("append", session="s", messages=[{"content": "alone"}])
        b.call("close")
        self.assertEqual([n for n in os.listdir(self.home.path) if "kernel" in n], [])

    def test_no_boot_id(self):
        env = dict(self.env("a"), HOLDFAST_BOOT_ID=self.home.file("none"))
        d = self.opened(env=env)
        self.assertEqual(len(self.logged(d, event="kernel_unknown",
                                         level=hftest.LOG_WARNING)), 1)
        self.assertFalse(os.path.exists(self.kernel))

    def test_hostile_files(self):
        for bad in (b"", b"\0" * 40, b"garbage", b"x" * 3000000,
                    b"b\nh\n1\n" + b"9" * 40 + b"\n"):
            with self.subTest(bad[:20]):
                with open(self.kernel, "wb") as f:
                    f.write(bad)
                d = self.side("a", renew=50)
                d.call("open")
                self.assertEqual(len(self.logged(d, event="kernel_taken_over")), 1)
                d.close()
        # Our own, from the future: written anew.
        with open(self.kernel, "w", encoding="ascii") as f:
            f.write("a0000000-0000-4000-8000-000000000000\nhost-a\n1\n"
                    "18446744073709551615\n")
        d = self.side("a")
        d.call("open")
        self.assertLess(int(self.owner()[3]), 1 << 60)
        d.call("close")
        for make, remove in ((lambda: os.symlink("elsewhere", self.kernel), os.unlink),
                             (lambda: os.mkdir(self.kernel), os.rmdir)):
            make()
            answer = d.try_call("open")
            self.assertEqual(answer["code"], "HF_IO", answer)
            self.assertIn("remove it", answer["message"])
            remove(self.kernel)

    def codes(self, env, expect):
        found = hftest.holdfast_json("doctor", home=self.home, env=env, expect=expect)
        return [f["code"] for f in found["findings"] if f["code"].startswith("kernel_")]

    def test_doctor(self):
        a = self.side("a")
        a.call("open")
        before = self.owner()
        self.assertEqual(self.codes(self.env("a"), 0), ["kernel_own"])
        self.assertEqual(self.codes(self.env("b"), 1), ["kernel_foreign"])
        self.assertEqual(self.owner(), before)
        a.call("close")
        self.assertEqual(self.codes(self.env("a"), 0), [])

    def test_rounds_of_kills(self):
        renew, acknowledged, number = 60, [], 0
        for turn in range(ROUNDS):
            d = self.side("ab"[turn % 2], renew)
            d.call("open")
            d.call("ensure", session={"id": "s", "source": "cli"})
            for _ in range(random.randint(3, 30)):
                answer = d.try_call("append", session="s",
                                    messages=[{"content": str(number)}])
                self.assertTrue(answer["ok"], answer)
                acknowledged.append(number)
                number += 1
            d.start("append", session="s", messages=[{"content": "?" * 20000}] * 20)
            time.sleep(random.uniform(0, 0.02))
            d.kill()
        d = self.side("c", renew)
        d.call("open")
        there = [t for (t,) in self.home.sql("SELECT content FROM messages ORDER BY id")
                 if t[0] != "?"]
        self.assertEqual(there, [str(n) for n in acknowledged])
        d.call("close")
        self.integrity()
        self.assertEqual([n for n in os.listdir(self.home.path)
                          if n.endswith(".kernel")], [])
        torture.tell(program="one_kernel", rounds=ROUNDS, acks=number, kills=ROUNDS)


if __name__ == "__main__":
    hftest.main()
