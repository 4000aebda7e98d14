# SPDX-License-Identifier: MIT
"""A rank by hand: a recorder, its Hello, and frames of its own making over one connection."""
import array
import os
import socket

import memfds
import wire
from neighbours import connect, fail, receive


class Rank:
    """Welcomed by the collector at @path, in @job."""

    def __init__(self, path, job, size=memfds.SIZE):
        self.token = os.urandom(16)
        self.memfd = memfds.memfd(self.token, size)
        self.number = 0
        self.connection = connect(path)
        hello = wire.frame(hello={
            "version_min": 1, "version_max": 1, "token": self.token, "boot_id": memfds.BOOT_ID,
            "recorder_bytes": size, "job": job, "gpus": [{"gpu_id": 0, "tick_hz": 1000000000}]})
        self.connection.sendmsg([hello], [(socket.SOL_SOCKET, socket.SCM_RIGHTS,
                                           array.array("i", [self.memfd]))])
        body, fields = receive(self.connection)
        if body != "welcome":
            fail("not welcome: %s %s" % (body, fields))

    def send(self, **fields):
        self.connection.sendall(wire.frame(**fields))

    def define(self, first, symbols):
        """Kernels of these names, with ids from @first on; each gets a shape of the same id."""
        ids = range(first, first + len(symbols))
        self.send(defines={
            "strings": [{"id": i, "text": name} for i, name in zip(ids, symbols)],
            "symbols": [{"id": i, "name": i} for i in ids],
            "shapes": [{"id": i, "gpu": 0, "queue": 0, "symbol": i, "workgroup": [1, 1, 1],
                        "grid": [1, 1, 1]} for i in ids]})

    def dispatch(self, shapes):
        """One of each, in one frame; none has a time."""
        self.number += 1
        count = len(shapes)
        self.send(number=self.number, dispatches={
            "n": count, "shape": list(shapes), "seq": [0] * count, "start_tick": [0] * count,
            "duration_ticks": [0] * count, "submit_base_ns": 1, "submit_delta_ns": [0] * count,
            "untimed_at": list(range(count)), "untimed_why": [1] * count})

    def wait_stored(self):
        """Until the last frame has been."""
        while True:
            body, fields = receive(self.connection)
            if body is None:
                fail("the collector has hung up")
            if body == "ack" and self.number in fields.values():
                return
