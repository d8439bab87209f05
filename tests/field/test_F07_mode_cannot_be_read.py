"""F07: the journal mode cannot be read, because somebody is in the way or a read fails."""

import os
import subprocess
import time

import hftest

SHIM = r"""
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
/* Fails the first read of /state.db with EIO. */
static int is_store(int fd)
{
    static int done;
    char link[64], name[4096];
    ssize_t n;
    if (done)
        return 0;
    char *p = link;
    memcpy(p, "/proc/self/fd/", 14);
    p += 14;
    if (fd >= 1000) return 0;
    if (fd >= 100) *p++ = '0' + fd / 100;
    if (fd >= 10) *p++ = '0' + fd / 10 % 10;
    *p++ = '0' + fd % 10;
    *p = 0;
    n = readlink(link, name, sizeof name);
    if (n < 9 || memcmp(name + n - 9, "/state.db", 9))
        return 0;
    done = 1;
    return 1;
}
ssize_t read(int fd, void *b, size_t n)
{
    static ssize_t (*next)(int, void *, size_t);
    if (!next) next = (ssize_t (*)(int, void *, size_t))dlsym(RTLD_NEXT, "read");
    if (getenv("FAIL_READ") && n >= 16 && is_store(fd)) { errno = EIO; return -1; }
    return next(fd, b, n);
}
static ssize_t fail_pread(int fd, size_t n)
{
    return getenv("FAIL_PREAD") && n >= 16 && is_store(fd) ? -1 : 0;
}
ssize_t pread(int fd, void *b, size_t n, off_t o)
{
    static ssize_t (*next)(int, void *, size_t, off_t);
    if (!next) next = (ssize_t (*)(int, void *, size_t, off_t))dlsym(RTLD_NEXT, "pread");
    if (fail_pread(fd, n)) { errno = EIO; return -1; }
    return next(fd, b, n, o);
}
ssize_t pread64(int fd, void *b, size_t n, off_t o)
{
    static ssize_t (*next)(int, void *, size_t, off_t);
    if (!next) next = (ssize_t (*)(int, void *, size_t, off_t))dlsym(RTLD_NEXT, "pread64");
    if (fail_pread(fd, n)) { errno = EIO; return -1; }
    return next(fd, b, n, o);
}
"""

WRITER = r"""
import sqlite3, sys, time
con = sqlite3.connect(sys.argv[1], isolation_level=None, timeout=10)
con.execute("PRAGMA wal_autocheckpoint=0")
print("writing", flush=True)
n = 0
while True:
    con.execute("INSERT OR REPLACE INTO state_meta VALUES('n', ?)", (n,))
    n += 1
    time.sleep(0.01)
"""


class F07(hftest.TestCase):
    def make(self, mode):
        self.home.config(f"database:\n  journal_mode: {mode}\n")
        driver = self.opened()
        driver.call("create", session={"id": "s"})
        driver.close()
        self.assertMode(mode)

    def no_mode_change(self, driver):
        for sql in driver.trace():
            self.assertNotRegex(sql, r"(?i)journal_mode\s*=")

    def test_exclusive_lock(self):
        for configured in ("wal", "delete"):
            with self.subTest(configured):
                self.make("delete")
                self.home.config(f"database:\n  journal_mode: {configured}\n")
                with hftest.locked(self.home.db, 0, "EXCLUSIVE"):
                    driver = self.driver()
                    driver.call("runtime", home=self.home.path)
                    driver.call("trace", on=True)
                    job = driver.start("open")
                    time.sleep(3)
                    self.no_mode_change(driver)
                    self.assertMode("delete")
                answer = driver.wait(job)
                self.assertTrue(answer["ok"], answer)  # it waits, and then works
                self.assertEqual(len(driver.call("list", query={})["sessions"]), 1)
                driver.close()
                os.unlink(self.home.db)
                for suffix in ("-wal", "-shm"):
                    if os.path.exists(self.home.db + suffix):
                        os.unlink(self.home.db + suffix)

    def test_exclusive_lock_and_little_patience(self):
        self.make("delete")
        for configured in ("wal", "delete"):
            with self.subTest(configured):
                self.home.config(f"database:\n  journal_mode: {configured}\n"
                                 "  patience_ms: 300\n")
                with hftest.locked(self.home.db, 0, "EXCLUSIVE"):
                    driver = self.driver()
                    driver.call("runtime", home=self.home.path)
                    driver.call("trace", on=True)
                    answer = driver.try_call("open")
                    self.no_mode_change(driver)
                if configured == "delete" or not answer["ok"]:
                    self.assertEqual(answer.get("code"), "HF_BUSY", answer)
                    self.assertIn("waited 0.3 s", answer["message"])
                if configured == "wal":
                    self.assertEqual(len(self.logged(driver, event="mode_unknown")), 1)
                driver.close()
                self.assertMode("delete")

    def test_one_failing_read(self):
        hftest.require_plain()
        hftest.require_tool("gcc")
        shim = os.path.join(self.home.dir, "shim.so")
        subprocess.run(["gcc", "-shared", "-fPIC", "-O1", "-w", "-x", "c", "-", "-o", shim,
                        "-ldl"], input=SHIM.encode(), check=True)
        self.make("wal")
        writer = hftest.python(WRITER, self.home.db)
        self.addCleanup(writer.communicate)
        self.addCleanup(writer.kill)
        self.assertEqual(writer.stdout.readline().strip(), "writing")
        sidecars = [hftest.inode(self.home.db + s) for s in ("-wal", "-shm")]
        for fault in ("FAIL_READ", "FAIL_PREAD"):
            for configured in ("wal", "delete"):
                with self.subTest(fault, configured=configured):
                    self.home.config(f"database:\n  journal_mode: {configured}\n")
                    driver = self.driver(env={"LD_PRELOAD": shim, fault: "1"})
                    driver.call("runtime", home=self.home.path)
                    driver.call("trace", on=True)
                    answer = driver.try_call("open")
                    self.no_mode_change(driver)
                    if answer["ok"]:
                        self.assertEqual(len(driver.call("list", query={})["sessions"]), 1)
                    else:
                        self.assertIn(answer["code"], ("HF_BUSY", "HF_IO"), answer)
                    driver.close()
                    self.assertMode("wal")
                    self.assertEqual([hftest.inode(self.home.db + s)
                                      for s in ("-wal", "-shm")], sidecars)


if __name__ == "__main__":
    hftest.main()
