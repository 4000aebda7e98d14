# SPDX-License-Identifier: MIT
"""Bytes per dispatch on the socket between shim and collector, all frames counted.

By strace, of two lengths of the program of the figure `hook` with a real collector: what a connection
costs once is in neither; anchors, counters and acknowledged frames are in both.
"""
from bench import Figure
from hook import PACKETS, Hooks


def measure(bench):
    hooks = Hooks(bench)
    few, many = (20, 60) if bench.quick else (50, 250)
    slope = bench.slope(lambda batches: hooks.sent("shadow", batches), few, many) / PACKETS
    yield Figure("wire", slope, "bytes a dispatch", goal="<= 24", stretch="<= 20")
