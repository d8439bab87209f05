"""A reader of another program holds an old view of the database while a gateway
appends and checkpoints; then everything is killed and the sidecars are gone.  A
checkpoint that stops at what the reader needs leaves half of later commits in the
main file: ours are whole or not made, so the main file alone is a sound database.
100 rounds, a tenth without HF_ROUNDS."""

import os
import random
import time

import hftest
import torture

ROUNDS = torture.rounds(100)
# Checkpoints are due late: the log holds commits from before the reader and after.
CONFIG = "database:\n  wal_autocheckpoint: 60\n  fallback: none\n"


class OlderReader(hftest.TestCase):
    def one_round(self, number):
        home = hftest.TempHome()
        self.addCleanup(home.close)
        home.config(CONFIG)
        with hftest.Driver() as d:
            # So much that the next commits touch different pages of the indexes.
            d.call("runtime", home=home.path)
            d.call("open")
            d.call("create", session={"id": "old", "source": "cli"})
            d.call("append", session="old", messages=[{"content": f"{n} old"}
                                                      for n in range(1, 501)])
        acks = torture.Acks(home.file("..", "acks"))
        gateway = torture.Gateway(home, acks, ["a", "b"])
        try:
            gateway.wait_for(8)
            time.sleep(random.uniform(0, 0.1))
            with hftest.locked(home.db, kind="SHARED") as reader:
                gateway.between = (None, None, "flush")
                gateway.wait_for(acks.count + 10)
                # Both orders in which the two can go; a clean end in some rounds.
                if number % 3 == 0:
                    reader.kill()
                    reader.wait()
                if number % 4 == 0:
                    gateway.finish()
                else:
                    gateway.kill()
                self.assertEqual(acks.failures, [])
        finally:
            gateway.close()
            acks.close()
        for suffix in ("-wal", "-shm"):
            if os.path.exists(home.db + suffix):
                os.unlink(home.db + suffix)
        # What was in the log alone is lost with it; what is left is whole and in order.
        plain = torture.rows_plain(home.db)
        torture.compare(self, {}, plain, "main file alone")
        for session, rows in plain.items():
            self.assertEqual([n for n, _ in rows], list(range(1, len(rows) + 1)),
                             session)
        home.close()
        return acks.count

    def test_main_alone(self):
        acks = sum(self.one_round(number) for number in range(ROUNDS))
        torture.tell(program="older_reader_main_alone", rounds=ROUNDS, acks=acks,
                     kills=2 * ROUNDS)


if __name__ == "__main__":
    hftest.main()
