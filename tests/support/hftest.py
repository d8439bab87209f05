"""What the field cases and command tests share: a temporary home, the driver program, the
command, other processes that hold locks, and looks at files that never go through
Holdfast.  Standard library only.  README.md beside this file has an example of each."""

import contextlib
import hashlib
import json
import math
import os
import queue
import shutil
import signal
import sqlite3
import subprocess
import sys
import tempfile
import threading
import time
import unittest

SOURCE = os.path.abspath(os.environ.get(
    "HF_SOURCE", os.path.join(os.path.dirname(__file__), "..", "..")))
BUILD = os.path.abspath(os.environ.get("HF_BUILD", os.path.join(SOURCE, "build")))
SANITIZED = os.environ.get("HF_SANITIZED", "0") == "1"
BIN = os.path.join(BUILD, "bin")

# As in the public headers.
ACTIVE, COMPACTED, REWOUND = 1, 2, 4
VIEW_DEFAULT, VIEW_ALL, VIEW_ARCHIVED, VIEW_WITH_ARCHIVED = 0, 10, 20, 30
BY_STARTED, BY_RECENT = 0, 10
LOG_DEBUG, LOG_INFO, LOG_WARNING, LOG_ERROR = 10, 20, 30, 40
SEV_OK, SEV_INFO, SEV_WARNING, SEV_FAILURE = 0, 10, 20, 30
WANT_EXTRA = 1


class SkipReasons:
    """Reasons to skip a test, worded once."""

    no_shared = "the folder ../shared with the real Hermes files is not here"
    sanitized = "sanitizers forbid this (preloading, memory limits); runs in the plain build"
    not_root = "needs root"
    root = "needs a user who is not root: root may do everything"
    no_namespace = "user namespaces are not available"

    @staticmethod
    def tool(name):
        return f"{name} is not installed"


# ---- environment and homes -------------------------------------------------------------

def environment(extra=None):
    """The environment for child processes: nothing of the user's that Holdfast reads, and
    a HOME that does not exist.  A value of None removes a name."""
    env = {k: v for k, v in os.environ.items()
           if not k.startswith(("HOLDFAST_", "HERMES_", "HF_", "LTDL_"))
           and k not in ("NO_COLOR", "COLUMNS", "LD_LIBRARY_PATH")}
    env["HOME"] = "/nonexistent"
    env.setdefault("ASAN_OPTIONS", "detect_leaks=1:abort_on_error=0:exitcode=99")
    env.setdefault("UBSAN_OPTIONS", "print_stacktrace=1:halt_on_error=1")
    for key, value in (extra or {}).items():
        if value is None:
            env.pop(key, None)
        else:
            env[key] = value
    return env


class TempHome:
    """A temporary folder with a home in it; also a context manager.

        home.path      the home (exists; the parent home.dir is empty but for it)
        home.db        its state.db
        home.config("database:\\n  journal_mode: delete\\n")
    """

    def __init__(self, name="home"):
        self.dir = tempfile.mkdtemp(prefix="holdfast-test-")
        self.path = os.path.join(self.dir, name)
        os.mkdir(self.path, 0o700)

    @property
    def db(self):
        return os.path.join(self.path, "state.db")

    def file(self, *parts):
        return os.path.join(self.path, *parts)

    def write(self, name, data):
        path = self.file(name)
        os.makedirs(os.path.dirname(path), exist_ok=True)
        with open(path, "wb") as f:
            f.write(data.encode() if isinstance(data, str) else data)
        return path

    def config(self, text):
        return self.write("config.yaml", text)

    def profile(self, name):
        """Makes the folder of a named profile."""
        path = self.file("profiles", name)
        os.makedirs(path, mode=0o700, exist_ok=True)
        return path

    def sql(self, text, *args, db=None):
        """Runs one statement with an ordinary SQLite client and returns its rows."""
        con = sqlite3.connect(db or self.db, isolation_level=None)
        con.text_factory = lambda b: b.decode("utf-8", "surrogateescape")
        try:
            return con.execute(text, args).fetchall()
        finally:
            con.close()

    def close(self):
        # A test may have taken rights away from its own folders.
        for base, folders, _ in os.walk(self.dir):
            for folder in folders:
                with contextlib.suppress(OSError):
                    os.chmod(os.path.join(base, folder), 0o700)
        shutil.rmtree(self.dir, ignore_errors=True)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()


class TestCase(unittest.TestCase):
    """A test with a home of its own, self.home, and drivers that end with it."""

    maxDiff = None

    def setUp(self):
        self.home = TempHome()
        self.addCleanup(self.home.close)

    def driver(self, **kw):
        driver = Driver(**kw)
        self.addCleanup(driver.close)
        return driver

    def opened(self, env=None, **kw):
        """A driver with self.home's runtime and store open."""
        driver = self.driver(env=env)
        driver.call("runtime", home=self.home.path)
        driver.call("open", **kw)
        return driver

    def integrity(self, db=None):
        self.assertEqual(self.home.sql("PRAGMA integrity_check", db=db), [("ok",)])

    def assertMode(self, expected, db=None):
        self.assertEqual(header_mode(db or self.home.db), expected)

    def assertNoSidecars(self, db=None):
        for suffix in ("-wal", "-shm"):
            self.assertFalse(os.path.exists((db or self.home.db) + suffix), suffix)

    def logged(self, driver, event=None, level=None, path=None):
        """The log lines of the driver so far that match; see Driver.log."""
        return [line for line in driver.log()
                if (event is None or line["event"] == event)
                and (level is None or line["level"] == level)
                and (path is None or line["path"] == path)]


# ---- the driver ------------------------------------------------------------------------

class DriverError(Exception):
    """The answer of a command that failed: .code, .message, .path, .answer."""

    def __init__(self, answer):
        super().__init__(f"{answer.get('code')}: {answer.get('message')}")
        self.answer = answer
        self.code = answer.get("code")
        self.message = answer.get("message")
        self.path = answer.get("path")


def _to_json(value):
    if isinstance(value, bytes):
        return {"$hex": value.hex()}
    if isinstance(value, float) and not math.isfinite(value):
        return {"$real": repr(value)}
    if isinstance(value, dict):
        return {k: _to_json(v) for k, v in value.items()}
    if isinstance(value, (list, tuple)):
        return [_to_json(v) for v in value]
    return value


def _from_json(value):
    if isinstance(value, dict):
        if set(value) == {"$hex"}:
            return bytes.fromhex(value["$hex"])
        return {k: _from_json(v) for k, v in value.items()}
    if isinstance(value, list):
        return [_from_json(v) for v in value]
    return value


class Driver:
    """hf-driver in a process of its own.

        d = Driver()
        d.call("runtime", home=home.path)         # raises DriverError unless ok
        d.call("open", read_only=True)
        answer = d.try_call("append", session="s", messages=[{"content": "hi"}])
        job = d.start("append", ...)              # in a thread of the driver
        answer = d.wait(job)
    """

    def __init__(self, env=None, timeout=60, prefix=(), cwd=None):
        self.timeout = timeout
        self._log = []
        self.stderr = tempfile.TemporaryFile()
        self.process = subprocess.Popen(
            [*prefix, os.path.join(BIN, "hf-driver")], stdin=subprocess.PIPE,
            stdout=subprocess.PIPE, stderr=self.stderr, env=environment(env), cwd=cwd)
        self._lines = queue.Queue()
        self._reader = threading.Thread(target=self._read, daemon=True)
        self._reader.start()

    def _read(self):
        for line in self.process.stdout:
            self._lines.put(line)
        self._lines.put(None)

    @property
    def pid(self):
        return self.process.pid

    def send(self, cmd, **args):
        """Sends a command without waiting for its answer: receive() gets it."""
        line = json.dumps(_to_json({"cmd": cmd, **args})) + "\n"
        self.process.stdin.write(line.encode())
        self.process.stdin.flush()

    def receive(self, timeout=None):
        try:
            line = self._lines.get(timeout=timeout or self.timeout)
        except queue.Empty:
            raise TimeoutError(f"hf-driver gave no answer in {timeout or self.timeout} s")
        if line is None:
            self.process.wait()
            raise RuntimeError(f"hf-driver ended ({self.process.returncode}): "
                               f"{self.errors()}")
        return _from_json(json.loads(line))

    def try_call(self, cmd, timeout=None, **args):
        """The answer, {"ok": True, ...} or {"ok": False, "code": "HF_BUSY", ...}."""
        self.send(cmd, **args)
        return self.receive(timeout)

    def call(self, cmd, timeout=None, **args):
        """The answer; raises DriverError when it is a failure."""
        answer = self.try_call(cmd, timeout, **args)
        if not answer.get("ok"):
            raise DriverError(answer)
        return answer

    def start(self, cmd, **args):
        return self.call(cmd, **{"async": True}, **args)["job"]

    def wait(self, job, timeout=None):
        return self.try_call("wait", timeout, job=job)

    def log(self):
        """Every log line since the driver started: level, event, path, text."""
        self._log += self.call("log")["lines"]
        return self._log

    def trace(self):
        """The SQL since the last time; d.call("trace", on=True) before the open."""
        return [row["sql"] for row in self.call("trace")["statements"]]

    def errors(self):
        self.stderr.seek(0)
        return self.stderr.read().decode("utf-8", "replace")

    def kill(self):
        self.process.kill()
        self.process.wait()

    def close(self):
        """Ends the driver as a program that ends well does (stores closed), and fails
        when a sanitizer complained.  May be called again."""
        if self.stderr.closed:
            return
        if self.process.stdin and not self.process.stdin.closed:
            with contextlib.suppress(BrokenPipeError):
                self.process.stdin.close()
        try:
            self.process.wait(self.timeout)
        except subprocess.TimeoutExpired:
            self.kill()
            raise
        finally:
            self._reader.join(5)
            self.process.stdout.close()
        errors = self.errors()
        self.stderr.close()
        if "ERROR: " in errors or "runtime error" in errors:
            raise AssertionError(errors)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()


# ---- the command -----------------------------------------------------------------------

def holdfast(*args, home=None, env=None, input=None, timeout=60, cwd=None, text=True,
             prefix=()):
    """Runs the command.  Text is decoded with surrogateescape, or bytes with
    text=False."""
    command = [*prefix, os.path.join(BIN, "holdfast")]
    if home is not None:
        command += ["--home", home.path if isinstance(home, TempHome) else home]
    if isinstance(input, str):
        input = input.encode("utf-8", "surrogateescape")
    result = subprocess.run([*command, *args], env=environment(env), input=input,
                            stdin=subprocess.DEVNULL if input is None else None,
                            stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                            timeout=timeout, cwd=cwd)
    if b"ERROR: AddressSanitizer" in result.stderr or b"runtime error" in result.stderr \
            or b"ERROR: LeakSanitizer" in result.stderr:
        raise AssertionError(result.stderr.decode("utf-8", "replace"))
    if text:
        result.stdout = result.stdout.decode("utf-8", "surrogateescape")
        result.stderr = result.stderr.decode("utf-8", "surrogateescape")
    return result


def holdfast_json(*args, expect=0, **kw):
    """The document that `holdfast --json ...` prints; fails when the exit status is not
    EXPECT (None: any)."""
    result = holdfast("--json", *args, **kw)
    if expect is not None and result.returncode != expect:
        raise AssertionError(f"exit {result.returncode}, not {expect}: {result.stderr}"
                             f"{result.stdout}")
    return json.loads(result.stdout)


# ---- other processes -------------------------------------------------------------------

_HOLDER = r"""
import sqlite3, sys, time
db, seconds, kind, sql = sys.argv[1], float(sys.argv[2]), sys.argv[3], sys.argv[4]
con = sqlite3.connect(db, isolation_level=None, timeout=10)
if kind == "SHARED":
    con.execute("BEGIN")
    con.execute("SELECT count(*) FROM sqlite_master").fetchall()
else:
    con.execute("BEGIN " + kind)
if sql:
    con.execute(sql)
print("held", flush=True)
sys.stdin.readline() if seconds <= 0 else time.sleep(seconds)
con.execute("ROLLBACK")
"""


@contextlib.contextmanager
def locked(db, seconds=0, kind="IMMEDIATE", sql=""):
    """Another process, an ordinary SQLite client, holds `BEGIN KIND` (IMMEDIATE,
    EXCLUSIVE, or SHARED for a reader) on DB, for SECONDS (0: as long as the block runs),
    after running SQL in that transaction.  Yields its Popen."""
    process = subprocess.Popen(
        [sys.executable, "-c", _HOLDER, db, str(seconds), kind, sql],
        stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    try:
        if process.stdout.readline().strip() != "held":
            raise RuntimeError(f"no process could lock {db}")
        yield process
    finally:
        process.kill()
        process.wait()
        process.stdin.close()
        process.stdout.close()


def python(code, *args, **kw):
    """Starts a Python process that runs CODE; a Popen with pipes."""
    return subprocess.Popen([sys.executable, "-c", code, *args], stdin=subprocess.PIPE,
                            stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, **kw)


class Timer:
    """with Timer() as t: ...; t.seconds"""

    def __enter__(self):
        self.start = time.monotonic()
        return self

    def __exit__(self, *_):
        self.seconds = time.monotonic() - self.start


# ---- looks at files, never through Holdfast --------------------------------------------

def header_mode(path):
    """'wal', 'delete', 'empty', 'missing', or the two bytes as they are."""
    try:
        with open(path, "rb") as f:
            data = f.read(20)
    except FileNotFoundError:
        return "missing"
    if not data:
        return "empty"
    return {b"\2\2": "wal", b"\1\1": "delete"}.get(data[18:20], data[18:20])


def sha256(path):
    with open(path, "rb") as f:
        return hashlib.sha256(f.read()).hexdigest()


def inode(path):
    st = os.stat(path)
    return st.st_dev, st.st_ino


def listing(folder):
    """{relative name: (kind, size, sha256)} of everything below FOLDER."""
    found = {}
    for base, folders, files in os.walk(folder):
        for name in folders:
            full = os.path.join(base, name)
            found[os.path.relpath(full, folder)] = ("dir", 0, "")
        for name in files:
            full = os.path.join(base, name)
            st = os.lstat(full)
            plain = os.path.isfile(full) and not os.path.islink(full)
            found[os.path.relpath(full, folder)] = (
                "file" if plain else "other", st.st_size, sha256(full) if plain else "")
    return found


# ---- mount tables and real files -------------------------------------------------------

ROOT_LINE = "1 0 8:1 / / rw - ext4 /dev/sda1 rw"


def mountinfo_escape(path):
    return "".join(f"\\{ord(c):03o}" if c in " \t\n\\#" else c for c in path)


def mountinfo_line(path, fs_type, options="rw", number=52, source="hostshare"):
    """One row that mounts FS_TYPE on PATH (escaped as the kernel does)."""
    return (f"{number} 1 0:{number} / {mountinfo_escape(path)} rw,relatime - {fs_type} "
            f"{source} {options}")


def mountinfo(file, *lines, root=True):
    """Writes a mount table; returns the environment that makes Holdfast read it.

        env = mountinfo(home.dir + "/mounts", mountinfo_line(home.path, "virtiofs"))
    """
    with open(file, "w", encoding="utf-8", errors="surrogateescape") as f:
        f.write("".join(line + "\n" for line in ([ROOT_LINE] if root else []) + list(lines)))
    return {"HOLDFAST_MOUNTINFO": file}


def shared_data(name=""):
    """The path of a real Hermes file; skips the test when there is none."""
    path = os.path.join(SOURCE, "..", "shared", "data", name)
    if not os.path.exists(path):
        raise unittest.SkipTest(SkipReasons.no_shared)
    return os.path.abspath(path)


def copy_shared(name, home):
    """Copies a real Hermes file to HOME's state.db, writable, and returns its path."""
    shutil.copyfile(shared_data(name), home.db)
    os.chmod(home.db, 0o600)
    return home.db


def require_tool(name):
    if not shutil.which(name):
        raise unittest.SkipTest(SkipReasons.tool(name))


def require_plain():
    """Skips under sanitizers what they forbid."""
    if SANITIZED:
        raise unittest.SkipTest(SkipReasons.sanitized)


def userns(*command):
    """The command in user and mount namespaces of its own, as root there; skips where the
    machine does not allow them."""
    probe = ["unshare", "--user", "--map-root-user", "--mount"]
    require_tool("unshare")
    if subprocess.run([*probe, "true"], stdout=subprocess.DEVNULL,
                      stderr=subprocess.DEVNULL).returncode != 0:
        raise unittest.SkipTest(SkipReasons.no_namespace)
    return [*probe, *command]


def wait_until(condition, seconds=20):
    """Polls until CONDITION() is true; AssertionError when it never is."""
    deadline = time.monotonic() + seconds
    while time.monotonic() < deadline:
        if condition():
            return
        time.sleep(0.02)
    raise AssertionError("it did not happen")


def stop(process, number=signal.SIGTERM, seconds=30):
    """Sends a signal to a Popen and returns its exit status."""
    process.send_signal(number)
    return process.wait(seconds)


def main():
    """Runs the tests of the file; exits with 77, which ctest calls skipped, when this
    machine or build could run none of them."""
    result = unittest.main(verbosity=2, exit=False).result
    if not result.wasSuccessful():
        sys.exit(1)
    # A part of a test that was skipped does not make it a skipped test.
    skipped = [test for test, _ in result.skipped
               if not isinstance(test, unittest.case._SubTest)]
    sys.exit(77 if skipped and result.testsRun <= len(skipped) else 0)
