"""F40: torn, glued and damaged lines of a transcript in the JSONL backend."""

import os
import random
import threading
import time

import hfjsonl
import hftest

TEN = [f"message {i}" for i in range(1, 11)]
# Of each process; HF_APPENDS=200 is the case as it is written.
APPENDS = int(os.environ.get("HF_APPENDS", "20" if hftest.SANITIZED else "50"))


class F40(hfjsonl.JsonlTestCase):
    def setUp(self):
        super().setUp()
        self.whole = self.fill(10)
        self.lines = self.whole.split(b"\n")[:-1]  # [0] is the session
        self.assertEqual(len(self.lines), 11)

    def aside(self):
        path = self.file() + ".quarantine"
        if not os.path.exists(path):
            return b""
        with open(path, "rb") as f:
            return f.read()

    def warnings(self, d, event=None):
        return [line for line in self.logged(d, level=hftest.LOG_WARNING)
                if line["event"].startswith("jsonl_")
                and event in (None, line["event"])]

    def look_append_look(self, data, expected, spots, kept=()):
        """Loads, appends one message, loads again.  SPOTS: lines that are damaged."""
        if os.path.exists(self.file() + ".quarantine"):
            os.unlink(self.file() + ".quarantine")
        self.put(data)
        reader = self.driver()
        reader.call("runtime", home=self.home.path)
        reader.call("open", read_only=True)
        self.assertEqual(self.contents(reader), expected)
        self.contents(reader)
        reader.call("list", query={})
        warned = self.warnings(reader)
        self.assertEqual(len(warned), len(spots), warned)
        for line, spot in zip(warned, spots):
            self.assertEqual(line["path"], self.file())
            self.assertIn(f"line {spot}:", line["text"])
        self.assertEqual(self.bytes(), data, "reading changed the file")
        reader.close()

        d = self.opened()
        d.call("append", session="s1", messages=[{"role": "user", "content": "new"}])
        self.assertEqual(self.contents(d), expected + ["new"])
        warned = self.warnings(d)
        self.assertEqual(len(warned), len(spots), warned)
        d.close()
        last = hfjsonl.lines(self.file())[-1]
        self.assertTrue(hfjsonl.good(last), last)
        self.assertIn(b'"new"', last)
        self.assertTrue(self.bytes().endswith(b"\n"))
        everything = self.bytes() + self.aside()
        for part in kept:
            self.assertIn(part, everything)
        second = self.opened()
        self.assertEqual(self.contents(second), expected + ["new"])
        self.assertEqual(len(self.warnings(second, "jsonl_quarantined")), 0)
        second.close()

    def test_cut_after_every_byte_of_the_last_line(self):
        before = b"\n".join(self.lines[:10]) + b"\n"
        last = self.lines[10]
        d = self.opened()
        # One driver for most of them: a process for each byte would take minutes.
        for cut in range(1, len(last)):
            if os.path.exists(self.file() + ".quarantine"):
                os.unlink(self.file() + ".quarantine")
            self.put(before + last[:cut])
            d.call("append", session="s1", messages=[{"role": "user",
                                                      "content": "new"}])
            self.assertEqual(self.contents(d), TEN[:9] + ["new"], cut)
            self.assertEqual(self.aside(), last[:cut] + b"\n")
            self.assertTrue(hfjsonl.good(hfjsonl.lines(self.file())[-1]))
        d.close()
        for cut in (1, len(last) // 2, len(last) - 1):
            self.look_append_look(before + last[:cut], TEN[:9], [11], [last[:cut]])

    def test_no_final_newline(self):
        self.look_append_look(self.whole[:-1], TEN, [])
        self.assertEqual(len(hfjsonl.lines(self.file())), 12)

    def test_glued(self):
        glued = self.lines[:4] + [self.lines[4] + self.lines[5]] + self.lines[6:]
        self.look_append_look(b"\n".join(glued) + b"\n", TEN, [])

    def test_glued_at_the_end(self):
        glued = self.lines[:9] + [self.lines[9] + self.lines[10]]
        self.look_append_look(b"\n".join(glued), TEN, [])

    def test_half_a_line_and_another(self):
        half = self.lines[4][:len(self.lines[4]) // 2]
        data = self.lines[:4] + [half + self.lines[5]] + self.lines[6:]
        self.look_append_look(b"\n".join(data) + b"\n", TEN[:3] + TEN[4:], [5], [half])

    def test_whole_line_and_garbage(self):
        data = self.lines[:4] + [self.lines[4] + b"!garbage\xff!"] + self.lines[5:]
        self.look_append_look(b"\n".join(data) + b"\n", TEN, [5], [b"!garbage\xff!"])

    def test_garbage_line(self):
        garbage = b'{"uid":"x","message":{"content":"message 6"}} \x00\xfe'
        data = self.lines[:6] + [garbage] + self.lines[7:]
        self.look_append_look(b"\n".join(data) + b"\n", TEN[:5] + TEN[6:], [7],
                              [garbage])
        d = self.opened()
        ids = [m["id"] for m in d.call("read", session="s1", query={})["messages"]]
        self.assertEqual(ids, [1, 2, 3, 4, 5, 7, 8, 9, 10, 11], "ids have shifted")

    def test_one_bit(self):
        line = bytearray(self.lines[6])
        line[line.index(b"message 6") + 8] ^= 1
        data = self.lines[:6] + [bytes(line)] + self.lines[7:]
        self.look_append_look(b"\n".join(data) + b"\n", TEN[:5] + TEN[6:], [7],
                              [bytes(line)])

    def test_nul_bytes_at_the_end(self):
        self.look_append_look(self.whole + b"\0" * 4096, TEN, [12], [b"\0" * 4096])

    def test_nul_bytes_between(self):
        data = self.lines[:6] + [b"\0" * 4096] + self.lines[6:]
        self.look_append_look(b"\n".join(data) + b"\n", TEN, [7], [b"\0" * 4096])

    def test_carriage_returns(self):
        self.look_append_look(self.whole.replace(b"\n", b"\r\n"), TEN, [])

    def test_empty_lines(self):
        data = self.lines[:4] + [b"", b"  "] + self.lines[4:]
        self.look_append_look(b"\n\n" + b"\n".join(data) + b"\n\n", TEN, [])

    def test_first_line(self):
        for first in (b"\0" * 100, self.lines[0][:40], b"{}"):
            with self.subTest(first):
                self.look_append_look(b"\n".join([first] + self.lines[1:]) + b"\n", TEN,
                                      [1], [first])
        self.look_append_look(b"\n".join(self.lines[1:]) + b"\n", TEN, [])
        d = self.opened()
        session = d.call("get", session="s1")["session"]
        self.assertEqual((session["id"], session["source"]), ("s1", "unknown"))
        codes = [f["code"] for f in d.call("check")["findings"]]
        self.assertIn("jsonl_headless", codes)

    def test_half_a_first_line(self):
        """A session whose creation was cut short is none, and can be made."""
        d = self.opened()
        for cut in (0, 1, 5, 30, len(self.lines[0]) - 1):
            self.put(self.lines[0][:cut].replace(b'"id":"s1"', b'"id":"s2"'), "s2")
            self.assertEqual(d.try_call("get", session="s2")["code"], "HF_NOT_FOUND")
            self.assertEqual(self.ids(d), ["s1"])
            d.call("create", session={"id": "s2", "source": "cli"})
            self.assertEqual(sorted(self.ids(d)), ["s1", "s2"])
            d.call("delete", sessions=["s2"])
        names = [n for n in os.listdir(self.home.file("jsonl")) if n[0] != "."]
        self.assertEqual(names, ["s1.jsonl"])

    def test_line_separators_are_data(self):
        text = "a\u2028b\u2029c\u0085d\0e"
        d = self.opened()
        d.call("append", session="s1", messages=[{"role": "user", "content": text}])
        self.assertEqual(self.contents(d), TEN + [text])
        d.close()
        self.assertEqual(len(hfjsonl.lines(self.file())), 12)

    def test_half_an_append_of_several(self):
        d = self.opened()
        d.call("append", session="s1", messages=[
            {"role": "user", "content": f"part {i}"} for i in range(4)])
        self.assertEqual(self.contents(d), TEN + [f"part {i}" for i in range(4)])
        d.close()
        lines = self.bytes().split(b"\n")[:-1]
        self.assertEqual(len(lines), 15)
        parts = lines[11:]
        before = b"\n".join(lines[:11]) + b"\n"
        for torn in (parts[0] + b"\n", b"\n".join(parts[:3]) + b"\n",
                     b"\n".join(parts)[:-5]):
            with self.subTest(len(torn)):
                self.look_append_look(before + torn, TEN, [12], [torn])
        # Its last line damaged later, others behind it: what is whole is read.
        damaged = lines[:14] + [b"#" + parts[3][1:]]
        new = hfjsonl.lines(self.file())[-1]
        self.look_append_look(
            b"\n".join(damaged + [new.replace(b"new", b"new")]) + b"\n",
            TEN + ["part 0", "part 1", "part 2", "new"], [15])

    def test_check_names_it(self):
        self.put(self.whole.replace(self.lines[6], b"garbage"))
        result = hftest.holdfast("doctor", home=self.home)
        self.assertEqual(result.returncode, 1, result.stdout)
        self.assertIn("damaged in line 7", result.stdout)

    def test_four_processes_one_killed(self):
        drivers = [self.opened() for _ in range(4)]
        acknowledged = [[] for _ in drivers]
        doomed = random.randrange(4)

        def run(i):
            d = drivers[i]
            for k in range(APPENDS):
                text = f"{i}/{k} ".ljust(60000, "x")
                try:
                    if not d.try_call("append", session="s1", messages=[
                            {"role": "user", "content": text}])["ok"]:
                        return
                except (RuntimeError, BrokenPipeError):
                    return
                acknowledged[i].append(text)

        threads = [threading.Thread(target=run, args=(i,)) for i in range(4)]
        for thread in threads:
            thread.start()
        time.sleep(random.uniform(0.05, 0.6))
        drivers[doomed].process.kill()
        for thread in threads:
            thread.join()
        for i, sent in enumerate(acknowledged):
            if i != doomed:
                self.assertEqual(len(sent), APPENDS)
        bad = [line for line in hfjsonl.lines(self.file())
               if line and not hfjsonl.good(line)]
        self.assertLessEqual(len(bad), 1)
        d = self.opened()
        found = self.contents(d)[10:]
        self.assertEqual(len(found), len(set(found)))
        for i, sent in enumerate(acknowledged):
            mine = [text for text in found if text.startswith(f"{i}/")]
            self.assertEqual(mine[:len(sent)], sent)
            self.assertLessEqual(len(mine), len(sent) + 1)
        ids = [m["id"] for m in d.call("read", session="s1", query={})["messages"]]
        self.assertEqual(ids, sorted(set(ids)))


if __name__ == "__main__":
    hftest.main()
