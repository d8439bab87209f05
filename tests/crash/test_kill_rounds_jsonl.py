"""Gateways on JSON Lines are killed at random moments of an append or an open, 500
rounds (a tenth of that without HF_ROUNDS): the next open works, every line is
whole, and everything that was acknowledged is there once and in its order."""

import hfjsonl
import hftest
import torture


class KillRounds(torture.KillRounds):
    def test_jsonl(self):
        self.home.config(hfjsonl.CONFIG)
        self.run_rounds("kill_rounds_jsonl", torture.rounds(500), jsonl=True)


if __name__ == "__main__":
    hftest.main()
