"""Gateways to be killed, robbed of their files and asked afterwards: processes that
append without a pause, the list of what they acknowledged, and the looks at the
store that tell whether it kept its word.

    acks = torture.Acks(home.file("..", "acks"))
    g = torture.Gateway(home, acks, ["a", "b"])     # hf-driver: one append per session
    ...                                             # at a time, in a thread each
    g.kill()                                        # SIGKILL
    torture.check(self, home, acks)

The list lives in the parent, which no test kills, and is written without fsync."""

import contextlib
import json
import os
import queue
import random
import sqlite3
import subprocess
import sys
import tempfile
import threading
import time

import hfjsonl
import hftest

SUMMARY = os.environ.get("HF_SUMMARY")


def rounds(full):
    """How many rounds a program has: HF_ROUNDS, else a tenth of FULL, and a fifth
    of that under sanitizers, where each start takes long and a kill leaves nothing
    to report."""
    return int(os.environ.get("HF_ROUNDS") or
               max(1, full // (50 if hftest.SANITIZED else 10)))


class Acks:
    """What was promised: session -> [(number, uid)], in the order of the answers."""

    def __init__(self, path):
        self.sessions = {}
        self.sent = {}
        self.failures = []
        self.count = 0
        self._lock = threading.Lock()
        self._file = open(path, "a", encoding="utf-8")

    def next(self, session):
        """The number of the next message of a session, never given twice."""
        with self._lock:
            self.sent[session] = self.sent.get(session, 0) + 1
            return self.sent[session]

    def add(self, session, number, uid):
        with self._lock:
            self.sessions.setdefault(session, []).append((number, uid))
            self.count += 1
            self._file.write(f"{session} {number} {uid}\n")
            self._file.flush()

    def failed(self, session, number, answer):
        with self._lock:
            self.failures.append((session, number, answer))

    def copy(self):
        with self._lock:
            return {s: list(rows) for s, rows in self.sessions.items()}

    def close(self):
        self._file.close()


class Gateway:
    """hf-driver that appends to its own sessions until it is stopped or killed.
    The commands are written ahead of their answers, so that it never waits for this
    program; all sessions of a batch are appended to at once, each in a thread of
    its own."""

    AHEAD = 3

    def __init__(self, home, acks, sessions, may_thread=0, between=(), pause=0,
                 sizes=(5, 5, 200, 3000, 20000), env=None):
        self.acks, self.sessions, self.sizes = acks, list(sessions), sizes
        self.between, self.pause = tuple(between), pause
        self.home, self.may_thread = home, may_thread
        self.stderr = tempfile.TemporaryFile()
        self.process = subprocess.Popen(
            [os.path.join(hftest.BIN, "hf-driver")], stdin=subprocess.PIPE,
            stdout=subprocess.PIPE, stderr=self.stderr, env=hftest.environment(env))
        self.problems = []
        self._expected, self._asked = queue.Queue(), queue.Queue()
        self._room = threading.Semaphore(self.AHEAD)
        self._stop = threading.Event()
        self._threads = [threading.Thread(target=f, daemon=True)
                         for f in (self._feed, self._read)]
        for thread in self._threads:
            thread.start()

    @property
    def pid(self):
        return self.process.pid

    # ---- the two threads ----

    def _line(self, then, cmd, **args):
        """One command; THEN is called with its answer."""
        self._expected.put(then)
        return json.dumps({"cmd": cmd, **args}) + "\n"

    def _must(self, answer):
        if not answer.get("ok"):
            self.problems.append(f"{answer.get('code')}: {answer.get('message')}")

    def _start(self):
        lines = self._line(self._must, "runtime", home=self.home.path,
                           may_thread=self.may_thread)
        lines += self._line(self._must, "open")
        for session in self.sessions:
            lines += self._line(self._must, "ensure",
                                session={"id": session, "source": "cli"})
        return lines

    def _batch(self, turn):
        lines, waits = "", []
        for job, session in enumerate(self.sessions):
            number = self.acks.next(session)
            content = f"{number} " + "x" * random.choice(self.sizes)
            lines += self._line(self._must, "append", session=session,
                                messages=[{"content": content}], **{"async": True})
            waits.append((job, session, number))
        for job, session, number in waits:
            lines += self._line(
                lambda answer, s=session, n=number: self._appended(s, n, answer),
                "wait", job=job)
        if self.between:
            command = self.between[turn % len(self.between)]
            if command:
                lines += self._line(self._must, command)
        return lines

    def _appended(self, session, number, answer):
        if answer.get("ok"):
            self.acks.add(session, number, answer["uids"][0])
        else:
            self.acks.failed(session, number, answer)

    def _feed(self):
        try:
            self._write(self._start())
            turn = 0
            while not self._stop.is_set():
                self._room.acquire()
                with contextlib.suppress(queue.Empty):
                    while True:
                        box, cmd, args = self._asked.get_nowait()
                        self._write(self._line(box.put, cmd, **args))
                if self._stop.is_set():
                    break
                lines = self._batch(turn)
                lines += self._line(lambda answer: self._room.release(), "about")
                self._write(lines)
                turn += 1
                if self.pause:
                    self._stop.wait(random.uniform(0, 2 * self.pause))
            self.process.stdin.close()
        except (BrokenPipeError, ValueError):
            pass

    def _write(self, lines):
        self.process.stdin.write(lines.encode())
        self.process.stdin.flush()

    def _read(self):
        for line in self.process.stdout:
            if not line.endswith(b"\n"):
                break
            self._expected.get()(json.loads(line))
        self._stop.set()
        self._room.release()

    # ---- what a test does with it ----

    def ask(self, cmd, timeout=60, **args):
        """An answer between two batches."""
        box = queue.Queue()
        self._asked.put((box, cmd, args))
        try:
            return box.get(timeout=timeout)
        except queue.Empty:
            raise AssertionError(f"no answer to {cmd}: {self.errors()}") from None

    def well(self):
        """Fails when something but an append was refused, or when it is gone."""
        if self.problems:
            raise AssertionError(self.problems[0])
        if self.process.poll() is not None:
            raise AssertionError(f"exit {self.process.returncode}: {self.errors()}")

    def wait_for(self, count, seconds=60):
        """Until this many were acknowledged, of all gateways of the list."""
        def there():
            self.well()
            return self.acks.count >= count
        hftest.wait_until(there, seconds)

    def errors(self):
        self.stderr.seek(0)
        return self.stderr.read().decode("utf-8", "replace")

    def kill(self):
        self.process.kill()
        self._end()

    def finish(self, timeout=60):
        """Lets it answer what it was sent and close its store."""
        self._stop.set()
        self._room.release()
        self.process.wait(timeout)
        self._end()
        errors = self.errors()
        if self.process.returncode or "ERROR: " in errors or "runtime error" in errors:
            raise AssertionError(f"exit {self.process.returncode}: {errors}")

    def _end(self):
        self.process.wait()
        self._stop.set()
        self._room.release()
        for thread in self._threads:
            thread.join(30)
        with contextlib.suppress(BrokenPipeError):
            self.process.stdin.close()
        self.process.stdout.close()

    def close(self):
        """For addCleanup: whatever state it is in."""
        if self.process.poll() is None:
            self.kill()
        self.stderr.close()


# ---- looks at the store --------------------------------------------------------------

def rows_plain(db):
    """session -> [(number, uid)] as an ordinary SQLite client reads it, after the
    checks of SQLite's own: the pages, and the full-text index."""
    con = sqlite3.connect(db, isolation_level=None, timeout=30)
    try:
        bad = con.execute("PRAGMA integrity_check").fetchall()
        if bad != [("ok",)]:
            raise AssertionError(f"{db}: {bad[:3]}")
        con.execute("BEGIN IMMEDIATE")
        for table in ("messages_fts", "messages_fts_trigram"):
            con.execute(f"INSERT INTO {table}({table}) VALUES ('integrity-check')")
        con.execute("ROLLBACK")
        found = {}
        for session, content, uid in con.execute(
                "SELECT session_id, content, message_uid FROM messages ORDER BY id"):
            found.setdefault(session, []).append((int(content.split()[0]), uid))
        return found
    finally:
        con.close()


def rows_jsonl(home):
    """The same of a store of JSON Lines, whose every line must be whole."""
    found = {}
    folder = home.file("jsonl")
    for name in sorted(os.listdir(folder)):
        if not name.endswith(".jsonl"):
            continue
        for line in hfjsonl.lines(os.path.join(folder, name)):
            if not hfjsonl.good(line):
                raise AssertionError(f"{name}: {line[:80]!r}")
            row = json.loads(line)
            if "message" in row:
                number = int(row["message"]["content"].split()[0])
                found.setdefault(name[:-len(".jsonl")], []).append((number, row["uid"]))
    return found


def rows_read(driver, sessions):
    """The same as the library reads it."""
    found = {}
    for session in sessions:
        answer = driver.try_call("read", session=session)
        if answer["ok"]:
            found[session] = [(int(m["content"].split()[0]), m["uid"])
                              for m in answer["messages"]]
        elif answer["code"] != "HF_NOT_FOUND":
            raise AssertionError(answer)
    return found


def compare(test, acks, found, where):
    """Each acknowledged message once, what was not acknowledged at most once, each
    session in the order of its numbers, and each under the uid that was answered."""
    for session, promised in acks.items():
        here = found.get(session, [])
        there = set(here)
        lost = [row for row in promised if row not in there]
        test.assertEqual(lost, [], f"{where}: lost of {session} ("
                         f"{len(promised)} promised, {len(here)} found)")
    for session, here in found.items():
        numbers = [number for number, _ in here]
        test.assertEqual(len(numbers), len(set(numbers)),
                         f"{where}: doubled in {session}")
        test.assertEqual(numbers, sorted(numbers), f"{where}: order of {session}")
        uids = [uid for _, uid in here]
        test.assertEqual(len(uids), len(set(uids)), f"{where}: one uid twice")


def check(test, home, acks, jsonl=False):
    """The whole look: as another program reads the files, and as the library does.
    Opens the store for writing in between, as the next gateway would."""
    promised = acks.copy()
    with hftest.Driver() as driver:
        driver.call("runtime", home=home.path)
        driver.call("open")
        found = rows_read(driver, acks.sent)
    compare(test, promised, found, "read by the library")
    plain = rows_jsonl(home) if jsonl else rows_plain(home.db)
    compare(test, promised, plain, "read from the files")


def tell(**numbers):
    """What scripts/soak puts into its table."""
    text = " ".join(f"{k}={v}" for k, v in numbers.items())
    print(text, file=sys.stderr)
    if SUMMARY:
        with open(SUMMARY, "a", encoding="utf-8") as f:
            f.write(text + "\n")


class KillRounds(hftest.TestCase):
    """Rounds of: one gateway or two, a kill, and the whole look."""

    def start(self, name, **kw):
        gateway = Gateway(self.home, self.acks,
                                  [f"{name}{i}" for i in range(2)], **kw)
        self.addCleanup(gateway.close)
        return gateway

    def run_rounds(self, program, n, jsonl=False):
        self.acks = Acks(self.home.file("..", "acks"))
        self.addCleanup(self.acks.close)
        kills = 0
        for number in range(n):
            # One gateway or two; the second writes checkpoints as well.
            gateways = [self.start("a", between=(None, None, "flush"))]
            if number % 2:
                gateways.append(self.start("b", between=("flush",)))
            # One round in eight is killed while it still opens.
            if number % 8:
                gateways[0].wait_for(self.acks.count + 1)
            time.sleep(random.uniform(0, 0.12))
            for gateway in gateways:
                gateway.well()
                gateway.kill()
                kills += 1
                gateway.close()
            self.assertEqual(self.acks.failures, [])
            check(self, self.home, self.acks, jsonl=jsonl)
        self.assertGreaterEqual(self.acks.count, n // 2)
        tell(program=program, rounds=n, acks=self.acks.count, kills=kills)
