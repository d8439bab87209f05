"""The same conversation gives the same answers on the JSONL backend as on the SQLite one,
and the real Hermes files go through it unchanged."""

import contextlib
import json
import os
import threading

import hfjsonl
import hftest

T = 1785000000.0
CALLS = '[{"id":"c1","function":{"name":"f"}},{"id":"c2"}]'


class LikeSqlite(hfjsonl.JsonlTestCase):
    def both(self):
        other = hftest.TempHome("sqlite")
        self.addCleanup(other.close)
        d = self.opened()
        d.call("runtime", name="sqlite", home=other.path)
        d.call("open", runtime="sqlite", store="sqlite")
        return d

    def same(self, d, cmd, strip=(), **args):
        a = d.try_call(cmd, **args)
        b = d.try_call(cmd, store="sqlite", **args)
        for answer in (a, b):
            for name in ("elapsed", "message", "path", "sys_errno", *strip):
                answer.pop(name, None)
            answer.pop("session", None)  # the same as the one of "sessions"
            for row in answer.get("sessions", answer.get("messages", ())):
                # A column that is NULL or 0 need not be there.
                extra = json.loads(row.pop("extra", None) or "{}")
                row["more"] = {k: v for k, v in extra.items() if v}
        self.assertEqual(a, b, (cmd, args))
        return a

    def test_conversation(self):
        d = self.both()

        def look():
            for session in ("s1", "s2", "s3", "nobody"):
                self.same(d, "get", session=session, want=1)
                for query in ({}, {"states": 7}, {"states": 2}, {"backwards": 1, "limit": 2},
                              {"after_id": 2, "limit": 2}, {"before_id": 3},
                              {"around_id": 3, "limit": 3}, {"around_id": 1, "limit": 4},
                              {"around_id": 99, "limit": 2, "states": 7}):
                    self.same(d, "read", session=session, query=query)
                self.same(d, "usage_read", session=session)
            for query in ({}, {"view": hftest.VIEW_ALL}, {"order": hftest.BY_RECENT},
                          {"sources": ["cli"]}, {"view": hftest.VIEW_ARCHIVED}):
                self.same(d, "list", query=query)

        self.same(d, "create", session={"id": "s1", "source": "cli", "title": "One",
                                        "started_at": T, "model_config": "{broken"})
        # Ids are the store's in SQLite and the session's here, so one session has them.
        uids = iter(range(1, 100))

        def message(content, **kw):
            return {"role": "user", "content": content, "uid": f"{next(uids):032x}",
                    "timestamp": T + 10, **kw}

        first = message("first")
        self.same(d, "append", session="s1", messages=[first], fields={
            "input_tokens": 5, "last_activity_description": "typing"})
        self.same(d, "append", session="s1", messages=[first])
        self.same(d, "append", session="s1", messages=[
            message("two", tool_calls=CALLS, role="assistant", token_count=7),
            message("three", extra={"display_kind": "x"}), message("four"), first],
            fields=[{"name": "output_tokens", "op": 20, "type": 10, "i": 3}])
        look()
        self.same(d, "rewind", **{"session": "s1", "from": 3})
        look()
        self.same(d, "restore", **{"session": "s1", "from": 4})
        self.same(d, "restore", **{"session": "s1", "from": 1})
        look()
        self.same(d, "compact", session="s1", watermark=2, summary=[
            message("summary")])
        look()
        self.same(d, "create", session={"id": "s1", "source": "cli"})
        self.same(d, "create", session={"id": "s2", "source": "cli", "title": "One"})
        self.same(d, "create", session={"id": "s2", "source": "tg", "started_at": T + 1,
                                        "parent_id": "s1"})
        self.same(d, "ensure", session={"id": "s2", "source": "no", "title": "Two",
                                        "model": "m", "started_at": T + 9})
        look()
        self.same(d, "rename", session="s2", title="One")
        self.same(d, "rename", session="s2", title="Three")
        self.same(d, "update", session="s2", fields={"archived": 1, "cwd": "/x"})
        self.same(d, "update", session="s2", fields={"no_such_column": 1})
        self.same(d, "update", session="nobody", fields={"archived": 1})
        self.same(d, "end", session="s1", reason="first", strip=("ended_at",))
        self.same(d, "update", session="s1", fields={"ended_at": T + 50})
        self.same(d, "end", session="s1", reason="second")
        look()
        self.same(d, "append", session="s1", messages=[message("after the end")])
        self.same(d, "append", session="nobody", messages=[message("x")])
        self.same(d, "usage_add", usage={"session_id": "s1", "model": "m",
                                         "input_tokens": 4, "seen_at": T,
                                         "actual_cost_usd": 0.5})
        self.same(d, "usage_add", usage={"session_id": "s1", "model": "m",
                                         "input_tokens": 5, "seen_at": T + 1})
        look()
        self.same(d, "reopen", session="s1")
        self.same(d, "update", session="s1", fields={"end_reason": "compression",
                                                     "ended_at": T + 60})
        self.same(d, "append", session="s1", messages=[message("x")])
        self.same(d, "stats", strip=("stats",))
        look()
        self.same(d, "delete", sessions=["s1", "nobody"])
        look()

    def test_meta_and_leases(self):
        d = self.both()
        self.same(d, "meta_get", key="k")
        for value in ("v", "", b"\xff\0x", "w" * 5000):
            self.same(d, "meta_set", key="k", value=value)
            self.same(d, "meta_set", key="other", value="o")
            self.same(d, "meta_get", key="k")
        self.same(d, "meta_set", key="k", value=None)
        self.same(d, "meta_get", key="k")
        self.same(d, "meta_get", key="other")

        def lease(verb, **kw):
            return self.same(d, "lease_" + verb, name="n", **kw)

        lease("acquire", holder="a", ttl=100)
        lease("acquire", holder="a", ttl=100)
        lease("acquire", holder="b", ttl=100)
        lease("renew", holder="a", generation=1, ttl=50)
        lease("renew", holder="a", generation=2, ttl=50)
        lease("release", holder="a", generation=1)
        lease("acquire", holder="b", ttl=100)
        lease("release", holder="a", generation=1)

    def test_real_files(self):
        for name in ("hermes-2026-03", "hermes-2026-06", "hermes-2026-08"):
            with self.subTest(name):
                source = hftest.TempHome(name)
                self.addCleanup(source.close)
                hftest.copy_shared(name + ".db", source)
                target = hftest.TempHome("jsonl-" + name)
                self.addCleanup(target.close)
                target.config(hfjsonl.CONFIG)
                d = self.driver()
                first = os.path.join(self.home.dir, name)
                d.call("runtime", home=source.path)
                d.call("open", read_only=1)
                d.call("export", file=first)
                d.call("runtime", name="jsonl", home=target.path)
                d.call("open", runtime="jsonl", store="jsonl")
                d.call("import", store="jsonl", file=first)
                second = first + ".again"
                d.call("export", store="jsonl", file=second)
                with open(first, encoding="utf-8") as a, open(second, encoding="utf-8") as b:
                    one = {s["id"]: s for s in map(json.loads, a)}
                    two = {s["id"]: s for s in map(json.loads, b)}
                self.assertEqual(set(one), set(two))
                for key, session in one.items():
                    self.assertEqual({k: v for k, v in session.items() if k != "messages"},
                                     {k: v for k, v in two[key].items() if k != "messages"})
                    self.assertEqual(session["messages"], two[key]["messages"])
                self.assertEqual(hftest.sha256(first), hftest.sha256(second))
                again = d.call("import", store="jsonl", file=first)["result"]
                self.assertEqual((again["sessions"], again["messages"]), (0, 0))

    def test_list_is_not_read_again(self):
        """Sessions that did not change are not opened a second time."""
        self.fill(3)
        d = self.opened()
        self.assertEqual(self.ids(d), ["s1"])
        os.chmod(self.file(), 0)
        self.assertEqual(self.ids(d), ["s1"])

    def test_many_threads_share(self):
        d = self.opened()
        d.call("create", session={"id": "s1", "source": "cli"})
        jobs = [d.start("append", session="s1", messages=[
            {"role": "user", "content": f"{i}"}]) for i in range(40)]
        ids = sorted(d.wait(job)["ids"][0] for job in jobs)
        self.assertEqual(ids, list(range(1, 41)))
        self.assertEqual(sorted(map(int, self.contents(d))), list(range(40)))

    def test_two_processes_see_each_other(self):
        a, b = self.opened(), self.opened()
        a.call("create", session={"id": "s1", "source": "cli"})
        for i in range(5):
            a.call("append", session="s1", messages=[{"role": "user", "content": f"a{i}"}])
            b.call("append", session="s1", messages=[{"role": "user", "content": f"b{i}"}])
        expected = [f"{who}{i}" for i in range(5) for who in "ab"]
        self.assertEqual(self.contents(a), expected)
        self.assertEqual(self.contents(b), expected)
        b.call("rewind", **{"session": "s1", "from": 9})
        self.assertEqual(self.contents(a), expected[:8])
        b.call("delete", sessions=["s1"])
        answer = a.try_call("append", session="s1", messages=[{"role": "user",
                                                              "content": "x"}])
        self.assertEqual(answer["code"], "HF_NOT_FOUND")
        a.call("create", session={"id": "s1", "source": "new"})
        self.assertEqual(self.contents(b), [])

    @staticmethod
    def open_files(pid):
        folder = f"/proc/{pid}/fd"
        found = []
        for name in os.listdir(folder):
            with contextlib.suppress(OSError):
                found.append(os.readlink(os.path.join(folder, name)))
        return found

    def test_moved_file(self):
        """A file that is taken away while somebody waits for its lock gets no message."""
        import fcntl
        import struct
        self.fill(2)
        d = self.opened()
        with open(self.file(), "rb+") as f:
            fcntl.fcntl(f, 37, struct.pack("hhqqi4x", fcntl.F_WRLCK, 0, 0, 0, 0))
            job = d.start("append", session="s1", messages=[{"role": "user",
                                                            "content": "late"}])
            hftest.wait_until(lambda: self.file() in self.open_files(d.pid))
            self.assertEqual(len(self.contents(d)), 2)  # a reader does not wait
            moved = self.file() + ".moved"
            data = self.bytes()
            os.rename(self.file(), moved)
            self.put(data)
        self.assertTrue(d.wait(job)["ok"])
        with open(moved, "rb") as f:
            self.assertEqual(f.read(), data)
        self.assertEqual(self.contents(d), ["message 1", "message 2", "late"])

    def test_busy_and_interrupt(self):
        import fcntl
        import struct
        self.home.config("database:\n  backend: jsonl\n  patience_ms: 300\n")
        self.fill(1)
        d = self.opened()
        with open(self.file(), "rb+") as f:
            fcntl.fcntl(f, 37, struct.pack("hhqqi4x", fcntl.F_WRLCK, 0, 0, 0, 0))
            answer = d.try_call("append", session="s1", messages=[
                {"role": "user", "content": "x"}])
            self.assertEqual(answer["code"], "HF_BUSY")
            self.assertIn("waited", answer["message"])
            job = d.start("append", session="s1", messages=[{"role": "user",
                                                            "content": "y"}])
            threading.Event().wait(0.2)
            d.call("interrupt")
            self.assertEqual(d.wait(job)["code"], "HF_CANCELLED")
        self.assertEqual(self.contents(d), ["message 1"])


if __name__ == "__main__":
    hftest.main()
