"""Gateways on SQLite are killed at random moments of an append, a checkpoint or an
open, 500 rounds (a tenth of that without HF_ROUNDS): the next open works,
everything that was acknowledged is there once and in its order, and nothing is
damaged."""

import hftest
import torture


class KillRounds(torture.KillRounds):
    def test_sqlite(self):
        # Due every few pages, so that a kill meets a checkpoint as often as an append.
        self.home.config("database:\n  wal_autocheckpoint: 8\n  fallback: none\n")
        self.run_rounds("kill_rounds", torture.rounds(500))


if __name__ == "__main__":
    hftest.main()
