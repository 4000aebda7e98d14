#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Mutated frames against the live collector (in the asan build: against one that ASan and UBSan
watch), while ranks of other users run: no crash, no descriptor lost, the others exact.

usage: frames.py --build DIR [--frames N]
"""
import os
import struct

from neighbours import HOSTILE_UID, fail, run

# Bodies of frames that programs sent: the corpus of the fuzz targets, by their field of Frame.
CORPUS = os.path.join(os.path.dirname(os.path.abspath(__file__)), "../fuzz/corpus")
FIELDS = {"defines": 4, "dispatches": 5, "markers": 6, "counters": 7, "anchors": 8, "copies": 21,
          "host_calls": 22, "collectives": 23}
# And by hand, since they say nothing: Bye, a second Hello, requests, Ack, an answer, unknown ones.
SMALL = [(9, b"\x08\x01"), (10, b""), (2, b""), (12, b"\x1a\x01x"), (14, b""), (16, b""),
         (18, b"\x18\x01"), (20, b"\x08\x01"), (25, b"\x08\x01\x10\x01"), (24, b""), (99, b"x")]
CLIENTS = 32  # each of a uid of its own: connections of one are let in 200 a second


def write_seeds(path):
    with open(path, "wb") as out:
        for kind, field in FIELDS.items():
            folder = os.path.join(CORPUS, kind)
            for name in sorted(os.listdir(folder)):
                with open(os.path.join(folder, name), "rb") as file:
                    body = file.read()
                out.write(struct.pack("<BI", field, len(body)) + body)
        for field, body in SMALL * 4:
            out.write(struct.pack("<BI", field, len(body)) + body)
    os.chmod(path, 0o644)


def test(street, arguments):
    seeds = os.path.join(street.work, "seeds")
    write_seeds(seeds)
    street.start()
    street.honest()
    clients = [street.popen(HOSTILE_UID + i,
                            [street.program("hostile-mutants"), street.socket, seeds,
                             str(arguments.frames // CLIENTS), str(1 + i)], job="mutants")
               for i in range(CLIENTS)]
    total = {}
    for client in clients:
        said, _ = client.communicate(timeout=3600)
        street.check_alive()
        if client.returncode:
            fail("hostile-mutants ended with %d" % client.returncode)
        for pair in said.split():
            name, value = pair.split("=")
            total[name] = total.get(name, 0) + int(value)
    if not all(total.values()):
        fail("it tried too little: %s" % total)
    words = street.check_honest()
    street.check_fds()
    street.stop()
    for bad in ("runtime error", "AddressSanitizer", "LeakSanitizer"):
        if bad in street.said():
            fail("the collector: %s" % street.lines(bad)[0])
    print("%(sent)d frames of %(welcomed)d connections, %(refused)d refused, %(died)d processes "
          "died; " % total + words)


if __name__ == "__main__":
    run(test, frames=(16_000, 10_000_000))
