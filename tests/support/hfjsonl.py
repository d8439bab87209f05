"""What the tests of the JSONL backend share: homes that use it, looks at its files, and
damage done to them."""

import json
import os
import re
import zlib

import hftest

CONFIG = "database:\n  backend: jsonl\n"
LINE = re.compile(rb'(?s)(.*)"crc":"([0-9a-f]{8})"\}\n?\Z')


class JsonlTestCase(hftest.TestCase):
    """A test whose home uses the JSONL backend."""

    def setUp(self):
        super().setUp()
        self.home.config(CONFIG)

    def file(self, name="s1"):
        return self.home.file("jsonl", name + ".jsonl")

    def fill(self, n=10, session="s1"):
        """A session with messages "message 1" to "message N"; its file's bytes."""
        d = self.opened()
        d.call("create", session={"id": session, "source": "cli"})
        for i in range(1, n + 1):
            d.call("append", session=session, messages=[
                {"role": "user", "content": f"message {i}"}])
        d.close()
        return self.bytes(session)

    def bytes(self, session="s1"):
        with open(self.file(session), "rb") as f:
            return f.read()

    def put(self, data, session="s1"):
        with open(self.file(session), "wb") as f:
            f.write(data)

    @staticmethod
    def ids(d):
        return [s["id"] for s in d.call("list", query={})["sessions"]]

    def contents(self, d, session="s1", **query):
        return [m["content"] for m in d.call("read", session=session,
                                             query=query)["messages"]]


def good(line):
    """Whether a line (bytes) is one whole record."""
    found = LINE.match(line)
    if not found or f"{zlib.crc32(found.group(1)):08x}".encode() != found.group(2):
        return False
    json.loads(line)
    return True


def lines(path):
    with open(path, "rb") as f:
        data = f.read()
    return data.split(b"\n")[:-1] if data.endswith(b"\n") else data.split(b"\n")
