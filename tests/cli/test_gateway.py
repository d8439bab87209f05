"""The example gateway: several threads and profiles in one process, an end that is clean,
and a kill after which every acknowledged message is there once."""

import json
import os
import queue
import signal
import subprocess
import tempfile
import threading
import time

import hftest


class Gateway:
    """example-gateway with its answers collected by "id"."""

    def __init__(self, home, *args, env=None):
        self.stderr = tempfile.TemporaryFile()
        self.process = subprocess.Popen(
            [os.path.join(hftest.BIN, "example-gateway"), "--home", home, *args],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=self.stderr,
            env=hftest.environment(env))
        self.answers, self.others = {}, []
        self.arrived = queue.Queue()
        self.reader = threading.Thread(target=self._read, daemon=True)
        self.reader.start()

    def _read(self):
        for line in self.process.stdout:
            if not line.endswith(b"\n"):
                break                    # cut short by a kill: it was not answered
            answer = json.loads(line)
            if "id" in answer:
                self.answers[answer["id"]] = answer
            else:
                self.others.append(answer)
            self.arrived.put(answer)

    def send(self, **event):
        self.process.stdin.write(json.dumps(event).encode() + b"\n")
        self.process.stdin.flush()

    def ask(self, timeout=60, **event):
        """Sends an event and waits for its own answer."""
        event.setdefault("id", f"ask-{len(self.answers)}-{event['op']}")
        self.send(**event)
        deadline = time.monotonic() + timeout
        while event["id"] not in self.answers:
            if time.monotonic() > deadline or self.process.poll() is not None:
                raise AssertionError(f"no answer to {event}: {self.errors()}")
            time.sleep(0.005)
        return self.answers[event["id"]]

    def end(self, number=None, timeout=60):
        """Ends the input, or sends a signal; the exit status."""
        if number is None:
            self.process.stdin.close()
        else:
            self.process.send_signal(number)
        status = self.process.wait(timeout)
        self.reader.join(10)
        if number is not None:
            try:
                self.process.stdin.close()
            except BrokenPipeError:
                pass
        self.process.stdout.close()
        return status

    def errors(self):
        self.stderr.seek(0)
        return self.stderr.read().decode("utf-8", "replace")


class GatewayTest(hftest.TestCase):
    def gateway(self, *args, **kw):
        gateway = Gateway(self.home.path, *args, **kw)
        self.addCleanup(gateway.stderr.close)
        self.addCleanup(gateway.process.kill)
        return gateway

    def stored(self, db=None):
        return self.home.sql("SELECT platform_message_id, session_id, id, message_uid,"
                             " content FROM messages ORDER BY id", db=db)

    def test_conversation_of_several_threads_and_profiles(self):
        for name in ("alpha", "beta"):
            self.home.profile(name)
        gateway = self.gateway("--threads", "4")
        profiles = ["default", "alpha", "beta"]
        for i in range(120):
            gateway.send(op="message", profile=profiles[i % 3], session=f"s{i % 12}",
                         source="telegram", role="user", content=f"text {i}",
                         id=f"m{i}", input_tokens=2)
        self.assertTrue(gateway.ask(op="sync")["ok"])
        state = gateway.ask(op="state", profile="alpha")
        self.assertEqual(state["state"], "healthy")
        self.assertEqual(gateway.end(), 0, gateway.errors())
        for i, name in enumerate(profiles):
            db = self.home.db if i == 0 else self.home.file("profiles", name, "state.db")
            rows = self.stored(db)
            self.assertEqual(sorted(r[0] for r in rows),
                             sorted(f"m{k}" for k in range(i, 120, 3)))
            for session in {r[1] for r in rows}:
                order = [int(r[0][1:]) for r in rows if r[1] == session]
                self.assertEqual(order, sorted(order), "order within a session")
            for ref, session, number, uid, _ in rows:
                answer = gateway.answers[ref]
                self.assertEqual((answer["session"], answer["message_id"], answer["uid"]),
                                 (session, number, uid))
            self.integrity(db)
            counts = self.home.sql("SELECT sum(message_count), sum(input_tokens)"
                                   " FROM sessions", db=db)
            self.assertEqual(counts, [(40, 80)])

    def test_order_of_a_session_while_everybody_waits(self):
        gateway = self.gateway("--threads", "8")
        gateway.ask(op="session", session="s")
        with hftest.locked(self.home.db):
            for i in range(60):
                gateway.send(op="message", session="s", role="user", id=f"m{i}")
            time.sleep(0.5)                   # threads that wait do not wake up in order
        gateway.ask(op="sync")
        self.assertEqual(gateway.end(), 0, gateway.errors())
        self.assertEqual([r[0] for r in self.stored()], [f"m{i}" for i in range(60)])

    def test_the_other_events(self):
        gateway = self.gateway()
        self.assertTrue(gateway.ask(op="session", session="a", title="first",
                                    source="cli", model="m")["ok"])
        ids = [gateway.ask(op="message", session="a", role="user", content=c)["message_id"]
               for c in ("one", "two", "three")]
        self.assertEqual(gateway.ask(op="rewind", session="a", **{"from": ids[2]})
                         ["rewound"], 1)
        read = gateway.ask(op="read", session="a")
        self.assertEqual([m["content"] for m in read["messages"]], ["one", "two"])
        self.assertTrue(gateway.ask(op="title", session="a", title="second")["ok"])
        self.assertTrue(gateway.ask(op="end", session="a", reason="done")["ok"])
        self.assertTrue(gateway.ask(op="flush")["ok"])
        uid = "0123456789abcdef0123456789abcdef"
        twice = [gateway.ask(op="message", session="a", role="user", content="x", uid=uid,
                             id=f"again{n}")["message_id"] for n in range(2)]
        self.assertEqual(twice[0], twice[1])
        self.assertEqual(gateway.end(), 0, gateway.errors())
        self.assertEqual(self.home.sql("SELECT source, title, end_reason, message_count"
                                       " FROM sessions"), [("cli", "second", "done", 4)])

    def test_bad_input_is_answered_and_passed_over(self):
        gateway = self.gateway()
        for line in (b"{", b"[]", b'{"op":"nothing"}', b'{"op":"message"}', b"\xff\xfe",
                     b'{"op":"message","session":"s","role":"user","profile":"a\\u0000"}'):
            gateway.process.stdin.write(line + b"\n")
        self.assertEqual(gateway.ask(op="message", session="s")["code"], "HF_INVALID")
        answer = gateway.ask(op="message", profile="nobody", session="s", role="user")
        self.assertEqual(answer["code"], "HF_NOT_FOUND")
        self.assertTrue(gateway.ask(op="message", session="s", role="user",
                                    content="good")["ok"])
        self.assertEqual(gateway.end(), 0, gateway.errors())
        self.assertEqual([a["code"] for a in gateway.others], ["HF_INVALID"] * 6)
        self.assertEqual([row[4] for row in self.stored()], ["good"])

    def test_sigterm_stores_what_was_read(self):
        gateway = self.gateway("--threads", "3")
        for i in range(300):
            gateway.send(op="message", session=f"s{i % 7}", role="user", id=f"m{i}",
                         content="x" * 100)
        gateway.arrived.get(timeout=60)
        self.assertEqual(gateway.end(signal.SIGTERM), 0, gateway.errors())
        # Closed: the log is empty, and not removed.  Only then may an SQLite look at it.
        self.assertEqual(os.path.getsize(self.home.db + "-wal"), 0)
        acknowledged = {a["id"] for a in gateway.answers.values() if a["ok"]}
        self.assertEqual(sorted(r[0] for r in self.stored()), sorted(acknowledged))
        self.integrity()

    def test_sigterm_beside_a_held_lock_ends_after_its_grace(self):
        gateway = self.gateway("--threads", "2", "--grace", "0.2")
        gateway.ask(op="message", session="s", role="user", content="first", id="first")
        with hftest.locked(self.home.db):
            for i in range(20):
                gateway.send(op="message", session="s", role="user", id=f"m{i}")
            time.sleep(0.3)
            with hftest.Timer() as timer:
                status = gateway.end(signal.SIGTERM, timeout=40)
        self.assertEqual(status, 1, gateway.errors())
        self.assertLess(timer.seconds, 10)
        acknowledged = {a["id"] for a in gateway.answers.values() if a["ok"]}
        self.assertEqual(acknowledged, {"first"})
        self.assertEqual([r[0] for r in self.stored()], ["first"])

    def test_kill_loses_nothing_acknowledged(self):
        self.home.profile("alpha")
        sent = 0
        answered = {}
        for round_ in range(3):
            gateway = self.gateway("--threads", "4")
            for i in range(400):
                gateway.send(op="message", profile=("default", "alpha")[i % 2],
                             session=f"s{i % 9}", role="user", id=f"m{sent}",
                             content=f"round {round_} message {i}")
                sent += 1
            # In the middle of it, at another place each time.
            hftest.wait_until(lambda: len(gateway.answers) >= 40 + 37 * round_)
            gateway.end(signal.SIGKILL)
            self.assertGreater(len(gateway.answers), 0, gateway.errors())
            answered.update(gateway.answers)
        with self.opened() as driver:            # the next open works
            driver.call("stats")
        rows = self.stored() + self.stored(self.home.file("profiles", "alpha", "state.db"))
        refs = [row[0] for row in rows]
        self.assertEqual(len(refs), len(set(refs)), "a message is there twice")
        self.assertEqual(set(answered) - set(refs), set(), "acknowledged but lost")
        by_ref = {row[0]: row for row in rows}
        for ref, answer in answered.items():
            self.assertEqual(by_ref[ref][3], answer["uid"])
        self.integrity()
        self.integrity(self.home.file("profiles", "alpha", "state.db"))

    def test_read_only_first_writes_nothing(self):
        first = self.gateway()
        first.ask(op="message", session="s", role="user", content="hello")
        self.assertEqual(first.end(), 0, first.errors())
        before = hftest.sha256(self.home.db)
        second = self.gateway("--read-only-first", "--log", "json")
        read = second.ask(op="read", session="s")
        self.assertEqual([m["content"] for m in read["messages"]], ["hello"])
        self.assertEqual(second.ask(op="message", session="s", role="user")["code"],
                         "HF_READ_ONLY")
        self.assertEqual(second.end(), 0, second.errors())
        self.assertEqual(hftest.sha256(self.home.db), before)

    def test_usage_and_configuration_errors(self):
        for words in (["--threads", "0"], ["--threads", "4x"], ["--threads", "65"],
                      ["--grace", "-1"], ["--grace", "nan"], ["--log", "xml"], ["more"],
                      ["--unknown"]):
            with self.subTest(words):
                self.assertEqual(self.gateway(*words).end(), 2)
        self.home.config("database:\n  journal_mode: weird\n")
        gateway = self.gateway()
        self.assertEqual(gateway.end(), 2)
        self.assertIn("journal_mode", gateway.errors())


if __name__ == "__main__":
    hftest.main()
