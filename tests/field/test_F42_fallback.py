"""F42: the database is taken away from a running process; what it writes meanwhile goes to
the fallback, and comes back once, in order."""

import os
import shutil
import time

import hftest


class F42(hftest.TestCase):
    def setUp(self):
        super().setUp()
        self.home.config("database:\n  fallback_retry_seconds: 1\n")
        self.folder = os.path.join(self.home.path, "fallback")

    def begun(self):
        d = self.opened()
        d.call("create", session={"id": "s-001", "source": "cli"})
        self.append(d, 1, 2, 3)
        return d

    def append(self, d, *numbers):
        answers = []
        for n in numbers:
            answers.append(d.call("append", session="s-001", messages=[
                {"role": "user", "content": f"message word{n}"}]))
        return answers

    def numbers(self, d):
        return [int(m["content"].rsplit("word", 1)[1])
                for m in d.call("read", session="s-001")["messages"]]

    def recovered(self, d):
        for _ in range(100):
            if d.call("state")["state"]["condition"] == 0:
                return
            time.sleep(0.1)
        self.fail("the store did not come back")

    def lose_sidecars(self):
        for suffix in ("-wal", "-shm"):
            os.unlink(self.home.db + suffix)

    def waiting(self):
        return [n for n in os.listdir(self.folder) if n.endswith(".jsonl")]

    def to_the_end(self, d, event):
        for answer in self.append(d, 4, 5, 6):
            self.assertGreaterEqual(answer["ids"][0], 1 << 52)
        state = d.call("state")["state"]
        self.assertEqual((state["condition"], state["pending"]), (10, 1))
        self.assertAlmostEqual(state["since"], time.time(), delta=60)
        self.assertEqual(self.numbers(d), [1, 2, 3, 4, 5, 6])
        self.assertEqual(
            [s["message_count"] for s in d.call("list")["sessions"]], [6])
        hits = d.call("search", query={"text": "word5"})["hits"]
        self.assertEqual(len(hits), 1)
        events = [line["event"] for line in self.logged(d, level=hftest.LOG_ERROR)]
        self.assertEqual(sorted(events), sorted([event, "degraded"]))
        self.recovered(d)
        self.append(d, 7)
        everything = [1, 2, 3, 4, 5, 6, 7]
        self.assertEqual(self.numbers(d), everything)
        for n in (4, 5, 6):
            hits = d.call("search", query={"text": f"word{n}"})["hits"]
            self.assertEqual(len(hits), 1, n)
        d.close()
        self.assertEqual(self.waiting(), [])
        # Once more from the start, and merged a second time: nothing changes.
        d = self.opened()
        self.assertEqual(self.numbers(d), everything)
        merged = os.path.join(self.folder, "merged")
        for name in os.listdir(merged):
            shutil.copy(os.path.join(merged, name), os.path.join(self.folder, name))
        d.close()
        d = self.opened()
        self.assertEqual(self.numbers(d), everything)
        session = d.call("get", session="s-001")["session"]
        self.assertEqual(session["message_count"], 7)
        d.close()
        self.assertEqual(self.waiting(), [])
        self.integrity()

    def test_sidecars_deleted(self):
        d = self.begun()
        self.lose_sidecars()
        self.to_the_end(d, "wal_lost")

    def test_copy_renamed_over(self):
        d = self.begun()
        copy = os.path.join(self.home.path, "copy.db")
        d.call("backup", file=copy)
        os.rename(copy, self.home.db)
        self.to_the_end(d, "replaced")

    def test_rewind_and_title_meanwhile(self):
        d = self.begun()
        self.lose_sidecars()
        self.append(d, 4, 5)
        ids = [m["id"] for m in d.call("read", session="s-001")["messages"]]
        self.assertEqual(d.call("rewind", **{"session": "s-001", "from": ids[2]})["count"],
                         3)
        d.call("rename", session="s-001", title="While away")
        self.append(d, 6)
        self.assertEqual(self.numbers(d), [1, 2, 6])
        self.recovered(d)
        self.assertEqual(self.numbers(d), [1, 2, 6])
        self.assertEqual(d.call("get", session="s-001")["session"]["title"], "While away")
        d.close()
        self.integrity()

    def test_only_locked(self):
        self.home.config("database:\n  fallback_retry_seconds: 1\n  patience_ms: 200\n")
        d = self.begun()
        with hftest.locked(self.home.db):
            answer = d.try_call("append", session="s-001",
                                messages=[{"role": "user", "content": "message word4"}])
            self.assertEqual(answer.get("code"), "HF_BUSY", answer)
        self.assertFalse(os.path.exists(self.folder))
        self.assertEqual(self.numbers(d), [1, 2, 3])

    def test_killed_before_the_merge(self):
        self.home.config("database:\n  fallback_retry_seconds: 600\n")
        d = self.begun()
        self.lose_sidecars()
        self.append(d, 4, 5, 6)
        d.kill()
        self.assertEqual(len(self.waiting()), 1)
        reader = self.opened(read_only=True)
        self.assertEqual(self.numbers(reader), [1, 2, 3, 4, 5, 6])
        reader.close()
        d = self.opened()
        self.assertEqual(self.numbers(d), [1, 2, 3, 4, 5, 6])
        self.append(d, 7)
        self.assertEqual(self.numbers(d), [1, 2, 3, 4, 5, 6, 7])
        d.close()
        self.assertEqual(self.waiting(), [])
        self.integrity()

    def test_begins_degraded(self):
        """A store that cannot be opened keeps its first conversation as well."""
        p = self.begun()
        self.lose_sidecars()
        d = self.opened()
        self.assertEqual(d.call("state")["state"]["condition"], 10)
        d.call("create", session={"id": "first", "source": "cli"})
        d.call("append", session="first", messages=[{"role": "user", "content": "hi"}])
        p.close()
        self.recovered(d)
        self.assertEqual(self.numbers(d), [1, 2, 3])
        self.assertEqual([m["content"] for m in
                          d.call("read", session="first")["messages"]], ["hi"])
        d.close()
        self.integrity()


if __name__ == "__main__":
    hftest.main()
