"""`holdfast doctor`: its rows, their order and texts, its exit status, and that it only
looks (SPEC 12).  Also the doctor's part of F01 to F06, F17, F18, F19."""

import os
import shutil
import sqlite3

import hftest

CROSS_VM = ("\u26a0 state.db is in WAL mode on a cross-VM filesystem ({}, {}) (WAL can "
            "silently corrupt across the VM boundary; stop every Hermes process and run a "
            "one-time offline 'PRAGMA journal_mode=DELETE' on the file, then set "
            "`database.journal_mode: delete` \u2014 or move the database onto a "
            "native/named volume)")


def kb(path):
    return f"{os.path.getsize(path) / 1024:.1f} KB"


class Doctor(hftest.TestCase):
    def store(self, mode="wal", home=None):
        """A store with a session and two messages, in the given journal mode."""
        home = home or self.home
        for args in (["new", "--id", "s"],
                     ["append", "s", "--role", "user", "--content", "one"],
                     ["append", "s", "--role", "user", "--content", "two"]):
            result = hftest.holdfast("sessions", *args, home=home)
            self.assertEqual(result.returncode, 0, result.stderr)
        if mode == "delete":
            home.sql("PRAGMA journal_mode=DELETE")
        self.assertMode(mode, db=home.db)

    def doctor(self, *args, expect=0, env=None, home=None):
        document = hftest.holdfast_json("doctor", *args, home=home or self.home, env=env,
                                        expect=expect)
        self.assertEqual(list(document), ["findings", "counts"])
        for row in document["findings"]:
            self.assertEqual(list(row), ["code", "severity", "path", "text", "remedy",
                                         "fixable"])
        self.assertEqual(sum(document["counts"].values()), len(document["findings"]))
        return document["findings"]

    def row(self, rows, code):
        found = [row for row in rows if row["code"] == code]
        self.assertEqual(len(found), 1, [row["code"] for row in rows])
        return found[0]

    def codes(self, rows, *severities):
        return [row["code"] for row in rows if row["severity"] in severities]

    # ---- rows, order, texts ----

    def test_healthy_store(self):
        self.store()
        rows = self.doctor()
        self.assertEqual(self.codes(rows, "warning", "failure"), [])
        codes = [row["code"] for row in rows]
        order = ["config", "home", "backend", "wal", "mount", "sizes", "space"]
        self.assertEqual([c for c in codes if c in order], order)
        self.assertEqual(self.row(rows, "wal")["text"],
                         f"state.db: WAL journal mode ({kb(self.home.db)})")
        text = hftest.holdfast("doctor", home=self.home).stdout
        self.assertIn(f"\u2192 state.db: WAL journal mode ({kb(self.home.db)})\n", text)
        self.assertRegex(text, r"\n\d+ ok, \d+ for information, 0 warnings, 0 failures\n\Z")
        self.assertRegex(text, r"SQLite 3\.\d+\.\d+")

    def test_foreign_program_with_a_vulnerable_sqlite(self):
        self.store()
        con = sqlite3.connect(self.home.db)
        con.execute("SELECT count(*) FROM messages").fetchall()
        rows = self.doctor(expect=None)
        if "sqlite_wal_reset" not in [row["code"] for row in rows]:
            self.skipTest("this SQLite does not have the WAL-reset bug")
        row = self.row(rows, "wal_vulnerable_sqlite")
        self.assertEqual(row["severity"], "warning")
        self.assertIn(f"pid {os.getpid()} (", row["remedy"])
        con.close()
        # A process that keeps Holdfast's rules is no such program.
        self.opened()
        self.row(self.doctor(), "wal")

    def test_rollback_row(self):
        self.store("delete")
        row = self.row(self.doctor(), "rollback")
        self.assertEqual((row["severity"], row["text"]),
                         ("ok", f"state.db: rollback journal mode ({kb(self.home.db)})"))

    def test_no_store(self):
        before = hftest.listing(self.home.dir)
        rows = self.doctor()
        self.row(rows, "no_store")
        self.assertEqual(self.codes(rows, "warning", "failure"), [])
        missing = os.path.join(self.home.dir, "nowhere")
        self.row(self.doctor(home=missing), "home_missing")
        self.assertEqual(hftest.listing(self.home.dir), before)

    def test_all_profiles(self):
        self.store()
        work = self.home.profile("work")
        shutil.copy(self.home.db, work)
        homes = [row["path"] for row in self.doctor("--all-profiles")
                 if row["code"] == "home"]
        self.assertEqual(homes, [os.path.realpath(self.home.path),
                                 os.path.realpath(work)])
        homes = [row["path"] for row in self.doctor() if row["code"] == "home"]
        self.assertEqual(homes, [os.path.realpath(self.home.path)])
        self.home.write("profiles/work/config.yaml", "database: [\n")
        rows = self.doctor("--all-profiles", expect=1)
        self.assertEqual(self.codes(rows, "failure"), ["config_bad"])

    def test_backend_that_does_not_load(self):
        """F50: named and not loadable is a failure."""
        self.store()
        self.home.config("database:\n  backend: /nonexistent/hf_gone.so\n")
        row = self.row(self.doctor(expect=1), "backend_unloadable")
        self.assertEqual(row["severity"], "failure")
        self.assertIn("/nonexistent/hf_gone.so", row["text"])

    # ---- modes and --fix ----

    def test_modes(self):
        self.store()
        os.chmod(self.home.db, 0o644)
        os.chmod(self.home.path, 0o755)
        rows = self.doctor(expect=1)
        loose = {row["path"]: row for row in rows if row["code"] == "mode_loose"}
        db, home = (os.path.realpath(p) for p in (self.home.db, self.home.path))
        self.assertEqual((loose[db]["severity"], loose[db]["fixable"]), ("warning", True))
        self.assertEqual(loose[home]["severity"], "info")
        self.assertEqual(os.stat(self.home.db).st_mode & 0o777, 0o644)
        before = hftest.sha256(self.home.db)
        self.assertEqual(self.codes(self.doctor("--fix"), "warning", "failure"), [])
        self.assertEqual(os.stat(self.home.db).st_mode & 0o777, 0o600)
        self.assertEqual(os.stat(self.home.path).st_mode & 0o777, 0o700)
        self.assertEqual(hftest.sha256(self.home.db), before)
        self.assertEqual(self.codes(self.doctor(), "warning", "failure"), [])

    def test_fix_leaves_a_folder_that_is_no_home(self):
        """After a slip of --home: "/" or /tmp must not become private."""
        folder = self.home.path
        for mode in (0o755, 0o1777):
            os.chmod(folder, mode)
            rows = self.doctor("--fix")
            self.assertNotIn("mode_fixed", [row["code"] for row in rows])
            self.assertEqual(os.stat(folder).st_mode & 0o7777, mode)
        self.store()
        self.doctor("--fix", expect=None)
        self.assertEqual(os.stat(folder).st_mode & 0o7777, 0o1777)

    def test_mount_table_that_is_not_there(self):
        rows = self.doctor(env={"HOLDFAST_MOUNTINFO": self.home.file("none")}, expect=1)
        row = self.row(rows, "mountinfo_unreadable")
        self.assertEqual(row["severity"], "warning")

    def test_fix_makes_the_home(self):
        missing = os.path.join(self.home.dir, "nowhere")
        self.doctor("--fix", home=missing)
        self.assertEqual(os.stat(missing).st_mode & 0o777, 0o700)
        self.assertEqual(os.listdir(missing), [])

    def test_fix_names_who_holds_the_log(self):
        con = self.held()
        row = self.row(self.doctor("--fix", expect=None), "checkpoint_skipped")
        self.assertIn(f"pid {os.getpid()} (", row["text"])
        self.assertIn("stop", row["remedy"])
        con.close()

    # ---- the journal row and the mount (F01 to F06) ----

    def faked(self, fs_type, path=None):
        return hftest.mountinfo(
            os.path.join(self.home.dir, "mounts"),
            hftest.mountinfo_line(path or self.home.path, fs_type))

    def test_F01_wal_on_virtiofs(self):
        self.store()
        for fs_type, shown in (("virtiofs", "virtiofs/9p"), ("fuse.virtiofs", "virtiofs/9p"),
                               ("9p", "virtiofs/9p"), ("9p2000.L", "virtiofs/9p"),
                               ("fakeowner", "fakeowner"), ("fuse.grpcfuse",
                                                            "fuse.grpcfuse")):
            env = self.faked(fs_type)
            text = hftest.holdfast("doctor", home=self.home, env=env)
            self.assertEqual(text.returncode, 1)
            self.assertIn(CROSS_VM.format(shown, kb(self.home.db)) + "\n", text.stdout)
            rows = self.doctor(expect=1, env=env)
            # It stands before and instead of other notes about the journal.
            journal = [c for c in (row["code"] for row in rows)
                       if c.startswith(("wal", "journal", "rollback"))]
            self.assertEqual(journal, ["wal_cross_vm"])
            self.row(rows, "mountinfo_set")

    def test_F01_one_page_in_wal(self):
        self.home.sql("PRAGMA journal_mode=WAL")
        self.row(self.doctor(env=self.faked("virtiofs"), expect=1), "wal_cross_vm")

    def test_F01_new_and_native(self):
        env = self.faked("virtiofs")
        self.assertEqual(self.codes(self.doctor(env=env), "warning", "failure"), [])
        self.store()
        env = hftest.mountinfo(os.path.join(self.home.dir, "mounts"),
                               hftest.mountinfo_line(self.home.dir, "virtiofs"),
                               hftest.mountinfo_line(self.home.path, "ext4", number=53))
        self.assertEqual(self.codes(self.doctor(env=env), "warning", "failure"), [])

    def test_F01_mount_check_off(self):
        self.store()
        self.home.config("database:\n  mount_check: off\n")
        rows = self.doctor(env=self.faked("virtiofs"))
        self.row(rows, "mount_check_off")
        self.row(rows, "wal")

    def test_F02_rollback_on_9p(self):
        self.store("delete")
        rows = self.doctor(env=self.faked("9p"))
        self.row(rows, "rollback")
        row = self.row(rows, "mount_cross_vm")
        self.assertEqual(row["severity"], "info")
        self.assertIn("9p", row["text"])

    def test_F03_unknown_fuse(self):
        self.store()
        row = self.row(self.doctor(env=self.faked("fuse.zzz")), "mount_network")
        self.assertIn("fuse.zzz", row["text"])
        self.assertNotIn("safe", row["text"])

    def test_F04_network(self):
        self.store()
        for fs_type in ("nfs4", "cifs", "fuse.sshfs"):
            row = self.row(self.doctor(env=self.faked(fs_type)), "mount_network")
            self.assertEqual(row["severity"], "info")
            self.assertIn(fs_type, row["text"])
            self.assertIn("database.journal_mode", row["text"] + row["remedy"])

    def test_F05_escaped_mount_point(self):
        with hftest.TempHome("my agent\\dir") as home:
            self.store(home=home)
            env = hftest.mountinfo(os.path.join(self.home.dir, "mounts"),
                                   hftest.mountinfo_line(home.path, "virtiofs"))
            self.row(self.doctor(env=env, home=home, expect=1), "wal_cross_vm")

    def test_F06_configured_delete(self):
        self.store()
        config = self.home.config("database:\n  journal_mode: delete\n")
        con = sqlite3.connect(self.home.db)
        con.execute("SELECT count(*) FROM messages").fetchall()
        row = self.row(self.doctor(expect=1), "journal_mismatch")
        self.assertEqual(row["severity"], "warning")
        self.assertIn(f"{os.path.realpath(config)}:2", row["text"])
        self.assertIn(f"pid {os.getpid()} (", row["text"])
        self.assertIn("state.db-wal", row["text"])
        self.assertIn("journal_mode=DELETE", row["remedy"])
        con.close()
        # Both troubles at once: both are said.
        rows = self.doctor(env=self.faked("virtiofs"), expect=1)
        self.row(rows, "journal_mismatch")
        self.assertEqual(self.row(rows, "mount_cross_vm")["severity"], "warning")

    # ---- it only looks (F14, F17) ----

    def held(self, home=None):
        """An ordinary client with commits in the log that are not in the file yet."""
        home = home or self.home
        self.store(home=home)
        con = sqlite3.connect(home.db, isolation_level=None)
        con.execute("PRAGMA wal_autocheckpoint=0")
        con.execute("UPDATE sessions SET title = 'held'")
        return con

    def marks(self, home):
        found = {}
        for name, what in hftest.listing(home.path).items():
            found[name] = (hftest.inode(home.file(name)),
                           what[:2] if name.endswith("-shm") else what)
        return found

    def test_F17_nothing_changes(self):
        con = self.held()
        before = self.marks(self.home)
        for args in ([], ["--deep"], ["--all-profiles"]):
            rows = self.doctor(*args, expect=None)
            self.assertEqual(self.codes(rows, "failure"), [])
            self.assertNotIn("wal_orphan", [row["code"] for row in rows])
            self.assertEqual(self.marks(self.home), before)
        con.execute("UPDATE sessions SET title = 'again'")
        con.close()

    def test_F17_old_store(self):
        hftest.copy_shared("hermes-2026-03.db", self.home)
        before = hftest.listing(self.home.path)
        self.assertEqual(self.codes(self.doctor(), "failure", "warning"), [])
        self.assertEqual(hftest.listing(self.home.path), before)

    def test_does_not_wait_for_a_writer(self):
        for mode in ("wal", "delete"):
            with hftest.TempHome() as home:
                self.store(mode, home=home)
                with hftest.Timer() as free:
                    self.doctor(home=home)
                with hftest.locked(home.db), hftest.Timer() as timer:
                    self.doctor(home=home, expect=None)
                # A slow machine is slow in both.
                self.assertLess(timer.seconds, 0.5 + 3 * free.seconds, mode)

    def test_bounded_beside_others_in_rollback_mode(self):
        if hftest.SANITIZED:
            self.skipTest(hftest.SkipReasons.sanitized)
        self.store("delete")
        con = sqlite3.connect(self.home.db, isolation_level=None)
        con.execute("CREATE TABLE big(x)")
        con.execute("WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n "
                    "WHERE i < 500) INSERT INTO big SELECT zeroblob(3000) FROM n")
        # A read of every page takes a second; SQLite is loaded first, so that it uses the
        # slow disk, although the backend binds deeply.
        shim = os.path.join(hftest.BUILD, "tests", "support", "hf-slow-read.so")
        env = {"LD_PRELOAD": f"{shim} libsqlite3.so.0", "HF_TEST_READ_US": "2000"}
        rows = self.doctor(env=env)
        self.assertTrue({"health_bounded", "check_bounded"} &
                        {row["code"] for row in rows}, rows)
        rows = self.doctor("--deep", env=env)
        self.assertFalse({"health_bounded", "check_bounded"} &
                         {row["code"] for row in rows}, rows)
        con.close()

    def test_log_that_nobody_holds(self):
        con = self.held()
        copy = hftest.TempHome()
        self.addCleanup(copy.close)
        for suffix in ("", "-wal"):
            shutil.copyfile(self.home.db + suffix, copy.db + suffix)
            os.chmod(copy.db + suffix, 0o600)
        con.close()
        before = hftest.listing(copy.path)
        row = self.row(self.doctor(home=copy, expect=1), "wal_orphan")
        self.assertEqual(row["severity"], "warning")
        after = hftest.listing(copy.path)
        self.assertEqual({k: after[k] for k in before}, before)

    def test_large_log(self):
        con = self.held()
        for _ in range(4):
            con.execute("CREATE TABLE IF NOT EXISTS big(x)")
            con.execute("INSERT INTO big VALUES (zeroblob(6000000))")
        row = self.row(self.doctor(expect=None), "wal_large")
        self.assertEqual(row["severity"], "info")
        self.assertIn(f"pid {os.getpid()} (", row["text"])
        con.close()

    # ---- refused files (F18, F19) ----

    def wrecked(self, main):
        """A home whose main file is MAIN (None: missing) beside a log with commits."""
        source, home = hftest.TempHome(), hftest.TempHome()
        self.addCleanup(source.close)
        self.addCleanup(home.close)
        con = self.held(source)
        shutil.copyfile(source.db + "-wal", home.db + "-wal")
        if main is not None:
            with open(source.db, "rb") as f:
                home.write("state.db", main(f.read()))
        con.close()
        for name in os.listdir(home.path):
            os.chmod(home.file(name), 0o600)
        return home

    def kept(self, home, code):
        before = hftest.listing(home.path)
        row = self.row(self.doctor(home=home, expect=1), code)
        self.assertEqual(row["severity"], "failure")
        self.assertIn("recover", row["remedy"])
        self.assertEqual(hftest.listing(home.path), before)
        listed = hftest.holdfast("sessions", "list", home=home)
        self.assertEqual(listed.returncode, 1)
        self.assertIn("state.db", listed.stderr)
        self.assertEqual(hftest.listing(home.path), before)

    def test_F18_empty_or_missing_beside_a_log(self):
        self.kept(self.wrecked(lambda data: b""), "main_lost")
        self.kept(self.wrecked(None), "main_lost")

    def test_F18_used_home(self):
        self.home.write("state.db", b"")
        self.assertEqual(self.codes(self.doctor(expect=None), "failure"), [])
        self.home.write("sessions/old.jsonl", b"{}\n")
        os.chmod(self.home.db, 0o600)
        row = self.row(self.doctor(expect=1), "used_home_empty")
        self.assertIn("sessions", row["text"])

    def test_F19_broken_header(self):
        for head in (b"x" * 100, b"\0" * 100):
            self.kept(self.wrecked(lambda data: head + data[100:]), "header_bad")

    def test_not_a_file(self):
        for make in (lambda p: os.mkdir(p), lambda p: os.mkfifo(p),
                     lambda p: os.symlink("/dev/null", p)):
            with hftest.TempHome() as home:
                make(home.db)
                row = self.row(self.doctor(home=home, expect=1), "main_not_regular")
                self.assertEqual(row["severity"], "failure")

    def test_text_that_is_no_database(self):
        self.home.write("state.db", b"hello\n" * 100)
        os.chmod(self.home.db, 0o600)
        self.row(self.doctor(expect=1), "header_bad")

    def test_unreadable(self):
        """What cannot be looked at is said, and is neither fine nor a failure."""
        self.store()
        prefix = ()
        if os.geteuid() == 0:  # root may read everything: be somebody else
            hftest.require_tool("setpriv")
            prefix = ("setpriv", "--reuid=65534", "--regid=65534", "--clear-groups")
            os.chmod(self.home.dir, 0o711)
            os.chown(self.home.path, 65534, 65534)
        else:
            os.chmod(self.home.db, 0)
        result = hftest.holdfast("doctor", home=self.home, prefix=prefix)
        self.assertEqual(result.returncode, 3, result.stdout + result.stderr)
        self.assertIn("header cannot be read: Permission denied", result.stdout)

    def test_inside_a_process_that_has_it_open(self):
        """The header of a live file is not read, and no lock of its is lost."""
        driver = self.opened()
        driver.call("create", session={"id": "s", "source": "cli"})
        codes = {row["code"] for row in driver.call("doctor")["findings"]}
        self.assertIn("wal", codes)
        locks = driver.call("append", session="s", messages=[{"role": "user",
                                                              "content": "after"}])
        self.assertEqual(len(locks["ids"]), 1)
        con = sqlite3.connect(self.home.db, timeout=0)
        self.assertEqual(con.execute("SELECT count(*) FROM messages").fetchone(), (1,))
        con.close()
        # The stranger's close was not the last one: the sidecars are still there.
        self.assertTrue(os.path.exists(self.home.db + "-wal"))
        driver.call("append", session="s", messages=[{"role": "user", "content": "b"}])
        self.assertEqual(self.home.sql("SELECT count(*) FROM messages"), [(2,)])


if __name__ == "__main__":
    hftest.main()
