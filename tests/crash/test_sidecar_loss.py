"""Three gateways append from four threads each while, at random moments, the
sidecars of their database are deleted, or a whole copy is renamed over it.  Each gateway goes on in its fallback and comes back: everything acknowledged is
there once and in its order, and each process said each loss once, with the place of
the log it saved.  200 rounds, a tenth without HF_ROUNDS."""

import contextlib
import os
import random
import sqlite3
import time

import hftest
import torture

ROUNDS = torture.rounds(200)
CONFIG = "database:\n  wal_autocheckpoint: 20\n  fallback_retry_seconds: 1\n"
LOSSES = ("wal_lost", "replaced")


class SidecarLoss(hftest.TestCase):
    def delete(self):
        for suffix in ("-wal", "-shm"):
            with contextlib.suppress(FileNotFoundError):
                os.unlink(self.home.db + suffix)

    def rename_copy(self):
        with contextlib.closing(sqlite3.connect(self.home.db, timeout=30)) as con, \
                contextlib.closing(sqlite3.connect(self.home.file("new"))) as new:
            con.backup(new)
        os.rename(self.home.file("new"), self.home.db)

    def events(self, gateway):
        self.logs[gateway] += gateway.ask("log")["lines"]
        return [line for line in self.logs[gateway] if line["event"] in LOSSES]

    def recovered(self, gateway, losses):
        gateway.well()
        return len(self.events(gateway)) >= losses and \
            gateway.ask("state")["state"]["condition"] == 0

    def test_losses(self):
        self.home.config(CONFIG)
        acks = torture.Acks(self.home.file("..", "acks"))
        self.addCleanup(acks.close)
        gateways = [torture.Gateway(self.home, acks, [f"g{g}-{t}" for t in range(4)],
                                    may_thread=1, pause=0.02, sizes=(5, 200, 3000))
                    for g in range(3)]
        self.logs = {g: [] for g in gateways}
        for gateway in gateways:
            self.addCleanup(gateway.close)
        hftest.wait_until(lambda: len(acks.copy()) == 12, 60)
        for number in range(1, ROUNDS + 1):
            time.sleep(random.uniform(0, 0.3))
            random.choice((self.delete, self.rename_copy))()
            for gateway in gateways:
                hftest.wait_until(lambda: self.recovered(gateway, number), 60)
        for gateway in gateways:
            lines = self.events(gateway)
            self.assertEqual(len(lines), ROUNDS, lines)
            for line in lines:
                self.assertEqual(line["level"], hftest.LOG_ERROR)
                self.assertIn(".retired-wal-", line["text"])
            gateway.finish()
        self.assertEqual(acks.failures, [])
        torture.check(self, self.home, acks)
        torture.tell(program="sidecar_loss", rounds=ROUNDS, acks=acks.count, kills=0)


if __name__ == "__main__":
    hftest.main()
