"""The example gateway on the JSONL backend is killed at random moments: nothing that it
acknowledged is missing, nothing is there twice, and the order within a session holds.
60 rounds, a tenth without HF_ROUNDS."""

import contextlib
import json
import os
import random
import subprocess
import threading
import time

import hfjsonl
import hftest
import torture

ROUNDS = torture.rounds(60)
SESSIONS = 5


class JsonlKill(hfjsonl.JsonlTestCase):
    def gateway(self):
        process = subprocess.Popen(
            [os.path.join(hftest.BIN, "example-gateway"), "--home", self.home.path],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL,
            env=hftest.environment())
        self.addCleanup(self.end, process)
        return process

    @staticmethod
    def end(process):
        process.kill()
        process.wait()
        with contextlib.suppress(BrokenPipeError):
            process.stdin.close()
        process.stdout.close()

    def feed(self, process, first):
        """Sends messages until the process is gone."""
        k = first
        try:
            while True:
                size = random.choice((5, 200, 5000, 5000, 70000))
                event = {"op": "message", "id": str(k), "session": f"s{k % SESSIONS}",
                         "role": "user", "content": f"{k} " + "x" * size}
                process.stdin.write(json.dumps(event).encode() + b"\n")
                process.stdin.flush()
                k += 1
        except (BrokenPipeError, ValueError):
            pass

    def collect(self, process, acknowledged):
        for line in process.stdout:
            if not line.endswith(b"\n"):
                return
            answer = json.loads(line)
            if answer.get("ok") and "message_id" in answer:
                acknowledged.append(int(answer["id"]))
            elif answer.get("ok") is False:
                self.refused.append(answer)

    def test_kill(self):
        acknowledged, first, self.refused = [], 0, []
        for number in range(ROUNDS):
            # Two gateways at once in every other round.
            processes = [self.gateway() for _ in range(1 + number % 2)]
            threads = []
            for i, process in enumerate(processes):
                threads += [threading.Thread(target=self.feed,
                                             args=(process, first + i * 100000)),
                            threading.Thread(target=self.collect,
                                             args=(process, acknowledged))]
            for thread in threads:
                thread.start()
            before = len(acknowledged)
            hftest.wait_until(lambda: len(acknowledged) > before)
            time.sleep(random.uniform(0, 0.4))
            for process in processes:
                process.kill()
            for thread in threads:
                thread.join(20)
            first += 200000
            self.check(acknowledged)
            self.assertEqual(self.refused, [])
        self.assertGreater(len(acknowledged), ROUNDS)
        torture.tell(program="jsonl_kill", rounds=ROUNDS, acks=len(acknowledged),
                     kills=ROUNDS)

    def check(self, acknowledged):
        d = self.opened()
        found = {}
        for session in range(SESSIONS):
            answer = d.try_call("read", session=f"s{session}")
            texts = [m["content"] for m in answer["messages"]] if answer["ok"] else []
            numbers = [int(text.split()[0]) for text in texts]
            self.assertEqual(len(numbers), len(set(numbers)), "doubled")
            for number in numbers:
                self.assertEqual(number % SESSIONS, session)
            for sender in {n // 100000 for n in numbers}:
                mine = [n for n in numbers if n // 100000 == sender]
                self.assertEqual(mine, sorted(mine), "out of order")
            found.update(dict.fromkeys(numbers))
        self.assertEqual(sorted(set(acknowledged) - set(found)), [], "lost")
        self.assertEqual(self.logged(d, event="jsonl_damaged"), [])
        d.close()


if __name__ == "__main__":
    hftest.main()
