#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Inputs at every edge: edges.py TARGET OUT. Each field of messages that are taken as they are (and of
some of the corpus) once missing, twice, one element shorter and longer, and at each number where
limits lie. What chance finds in an hour stands here at once; the inputs are always the same."""
import hashlib
import os
import re
import struct
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, "../hostile"))
import wire  # noqa: E402

BEHIND = {"hello": 1, "requests": 1}  # bytes that are the target's, not the message's
NOW, NONE32, NONE64 = 10**12, (1 << 32) - 1, (1 << 64) - 1


def host_calls():
    """Names of enum rtl_host_call in their order: tables that consist of tables."""
    with open(os.path.join(HERE, "../../proto/names/host_calls.h"), encoding="utf-8") as header:
        tables = dict(re.findall(r"^#define (HOST_CALLS\w*)\(X\)((?:.*\\\n)*.*)$", header.read(), re.M))

    def names(table):
        for inner, name in re.findall(r"\b(HOST_CALLS\w*)\(X\)|\bX\((\w+)", tables[table]):
            yield from names(inner) if inner else [name]
    return list(names("HOST_CALLS"))


CALLS = host_calls()


def columns(n, **values):
    """Each again and again, @n in all; the texts as they are."""
    return {"n": n, **{name: value if name in ("inline_text", "arg") else (value * n)[:n]
                       for name, value in values.items()}}


# A peer takes them that has peer_add_defines() of tests/unit/collectord/store/frames.c.
WHOLE = {
    "defines": ("Defines", {
        "strings": [{"id": 1, "text": b"gemm.kd"}], "symbols": [{"id": 1, "name": 1, "kernel_object": 7}],
        "shapes": [{"id": 1, "gpu": 0, "queue": 0, "symbol": 1, "workgroup": [64, 1, 1],
                    "grid": [640, 1, 1], "lds": 3, "scratch": 4}],
        "recordings": [{"at_ns": NOW, "is_recording": True, "why": 0}]}),
    "dispatches": ("Dispatches", {
        "n": 3, "shape": [1, 2, 1], "seq": [0, 0, 0], "start_tick": [1000, 1100, 1200],
        "duration_ticks": [50, NONE32, 50], "long_duration": [1 << 33], "submit_base_ns": NOW,
        "submit_delta_ns": [0, -(1 << 31), 5], "long_submit_ns": [NOW], "tid_from": [0, 2],
        "tid": [7, 8], "marker_from": [1], "marker": [5], "untimed_at": [2], "untimed_why": [1],
        "call_from": [0], "call": [3], "node": [0]}),
    "markers": ("Markers", columns(
        5, kind=[1, 2, 4, 5, 3], id=[5, 6, 7, 8, 5], parent=[0, 5], tid=[7], time_ns=[NOW],
        text=[NONE32, 1, NONE32, NONE32, 0], inline_text=[b"step", b"loss=1.5", b"main"])),
    "counters": ("Counters", {
        "process": list(range(1, 90)), "time_ns": NOW, "took_ns": 5,
        "queues": [{"queue": 0, "gpu": 0, "value": list(range(100, 140))},
                   {"queue": 1, "gpu": 1, "value": [5, 1]}]}),
    "anchors": ("Anchors", {"anchors": [{
        "gpu": 1, "tick": 2_000_000, "boottime_ns": NOW + 20_000_000, "realtime_ns": 5,
        "error_ns": 9, "tick_hz": 10**8}]}),
    "copies": ("Copies", columns(
        2, how=[1, 5], id=[5], call=[3, 0], tid=[7, 0], submit_ns=[NOW, 0], marker=[2, 0],
        bytes=[64, 0], direction=[1, 0], source=[-1, 0], target=[1, 0], engine=[1, 0],
        start_ns=[0, NOW], duration_ns=[0, 9])),
    "host_calls": ("HostCalls", columns(
        2, api=[CALLS.index("hipDeviceSynchronize"), CALLS.index("hipSetDevice")], id=[5, 6],
        parent=[0, 5], tid=[7], start_ns=[NOW], duration_ns=[9], marker=[1, 0], result=[0, -1],
        stream=[0, 3], arg_count=[0, 1], arg=[1])),
    "collectives": ("Collectives", columns(
        2, op=[8], id=[5, 6], parent=[0, 5], tid=[7], start_ns=[NOW], duration_ns=[9], marker=[0],
        result=[0], stream=[3], count=[64], bytes=[256], datatype=[7], reduction=[0], comm=[9],
        comm_rank=[0], comm_size=[2], seq=[0, 1], peer=[-1, 0], group=[0, 5])),
    # first.c puts the boot of this machine behind it.
    "hello": ("Hello", {
        "version_min": 1, "version_max": 1, "token": b"\1" * 16, "boot_id": b"", "pid": 1,
        "start_time": 5, "start_ns": NOW, "launcher": b"torchrun", "rank": 3, "local_rank": 1,
        "world_size": 8, "attempt": 1, "job": b"job", "exe": b"/x", "command": b"x y",
        "host": b"h", "mode": b"standard", "front_end": b"shadow", "shim_version": b"1",
        "runtime": b"r", "gpus": [{"gpu_id": i, "kfd_node": i + 1, "kfd_gpu_id": 7, "domain": 0,
                                   "location_id": 9, "unique_id": i, "partition": 0,
                                   "tick_hz": 10**8, "gfx": b"gfx90a", "name": b"n"}
                                  for i in range(64)],
        "recorder_bytes": 256 << 10, "has_control": True})}
HEAD = {"hello": b"\2"}
# Of recorder.c; the header without its counters.
CHANGE_HEADER, CHANGE_CELL, CHANGE_CELL_LENGTH, HEADER_BYTES, IS_RESUMED = 0, 2, 8, 360, 8
FRAME_LIMITS = (16 << 10, 256 << 10, 4 << 10)  # of frames.c

DEPTH = 2
BYTES_MAX = 4096  # of a message: larger ones have no other fields
MESSAGES = 4  # those with most kinds of fields
NUMBERS = sorted({0, 1, 2, 3, 4, 5, 8, 9, 16, 17, 63, 64, 65, 127, 128, 255, 256, 1023, 1024, 1025, 4096,
                  1 << 16, 1 << 20, (1 << 31) - 1, 1 << 31, (1 << 32) - 1, 1 << 32, 1 << 40,
                  (1 << 40) + 1, (1 << 48) + 1, (1 << 62), (1 << 63) - 1, 1 << 63, (1 << 64) - 1})
NUMBERS = sorted({*NUMBERS, len(CALLS) - 1, len(CALLS), len(CALLS) + 1})
VARINT, FIXED64, BYTES, FIXED32 = 0, 1, 2, 5


def varint(value):
    out = bytearray()
    while value > 0x7f:
        out.append(value & 0x7f | 0x80)
        value >>= 7
    return bytes(out) + bytes([value])


def take_varint(data, at):
    value = shift = 0
    while at < len(data) and shift < 70:
        value |= (data[at] & 0x7f) << shift
        shift += 7
        at += 1
        if not data[at - 1] & 0x80:
            return value, at
    return None, at


def fields_of(data):
    """[(tag, content)], or None: it is no message."""
    fields, at = [], 0
    while at < len(data):
        tag, at = take_varint(data, at)
        if tag is None or not tag >> 3:
            return None
        if tag & 7 == VARINT:
            begin = at
            value, at = take_varint(data, at)
            if value is None:
                return None
            fields.append((tag, data[begin:at]))
            continue
        size = {FIXED64: 8, FIXED32: 4}.get(tag & 7)
        if size is None and tag & 7 == BYTES:
            size, at = take_varint(data, at)
        if size is None or at + size > len(data):
            return None
        fields.append((tag, data[at:at + size]))
        at += size
    return fields


def packed(data):
    """Its numbers, or None."""
    values, at = [], 0
    while at < len(data):
        value, at = take_varint(data, at)
        if value is None:
            return None
        values.append(value)
    return values


def join(fields):
    return b"".join(varint(tag) + (varint(len(content)) if tag & 7 == BYTES else b"") + content
                    for tag, content in fields)


def other_numbers(number):
    return [n for n in {*NUMBERS, number + 1, max(number, 1) - 1} if n != number and n < 1 << 64]


def other_contents(content, depth):
    """Of a field whose length is said: text, a packed column, a message."""
    yield from (content[:-1], content + b"\0", content[:-4], content + content[-4:], content[:-8],
                content + content[-8:])
    values = packed(content)
    if values:
        head, tail = (b"".join(map(varint, part)) for part in (values[1:], values[:-1]))
        yield tail
        yield content + varint(values[-1])
        for number in other_numbers(values[0]):
            yield varint(number) + head
            yield tail + varint(number)
    if content and len(content) % 4 == 0:
        for size, form in ((4, "<I"), (8, "<Q")):
            for number in NUMBERS if len(content) % size == 0 else ():
                if number < 1 << 8 * size:
                    yield struct.pack(form, number) + content[size:]
    if depth and len(content) > 1:
        yield from messages(content, depth - 1)


def messages(data, depth):
    fields = fields_of(data)
    if not fields:
        return
    seen = set()
    for i, (tag, content) in enumerate(fields):
        if tag in seen:
            continue  # of what is repeated the first
        seen.add(tag)
        before, behind = fields[:i], fields[i + 1:]
        yield join(before + behind)
        yield join(fields + [(tag, content)])
        if tag & 7 == BYTES:
            others = other_contents(content, depth)
        elif tag & 7 == VARINT:
            others = map(varint, other_numbers(take_varint(content, 0)[0]))
        else:
            others = (number.to_bytes(8, "little")[:len(content)] for number in NUMBERS)
        for other in others:
            yield join([*before, (tag, other), *behind])


def kept(target):
    """(what stands in front, message) of the corpus: those with most kinds of fields."""
    folder, behind, kinds, most = os.path.join(HERE, "corpus", target), BEHIND.get(target, 0), {}, {}
    for name in sorted(os.listdir(folder)):
        with open(os.path.join(folder, name), "rb") as file:
            data = file.read()
        head, body = data[:behind], data[behind:]
        fields = fields_of(body)
        if fields and len(body) <= BYTES_MAX:
            kind = (head, frozenset(tag for tag, content in fields if content))
            kinds.setdefault(kind, (head, body))
    for head, tags in sorted(kinds, key=lambda kind: -len(kind[1])):
        most.setdefault(head, []).append(kinds[head, tags])
    return [one for of_head in most.values() for one in of_head[:MESSAGES]]


def cells():
    """Whole ones, with a frame that has another number than they, or none."""
    for number in [None, *NUMBERS]:
        for name in ("dispatches", "anchors", "defines"):
            body = wire.frame(**({} if number is None else {"number": number}), **{name: WHOLE[name][1]})[4:]
            for flags in (0, IS_RESUMED):
                yield (bytes([flags, CHANGE_CELL, 1]) + struct.pack("<HH", 3, len(body)) + body +
                       bytes([CHANGE_CELL, 2, 0, 0, 0, 0]))


def recorders():
    """As recorder.c reads them: each word of the header, each length of a cell."""
    yield from cells()
    for size, form in ((4, "<I"), (8, "<Q")):
        for at in range(0, HEADER_BYTES, size):
            for number in NUMBERS:
                if number < 1 << 8 * size and (size == 8) == (number >= 1 << 16):
                    yield (b"\0" + bytes([CHANGE_HEADER]) + struct.pack("<I", at)[:3] +
                           bytes([size]) + struct.pack(form, number))
    for cell in range(4):
        for number in [*NUMBERS, *range(4000, 70000, 500)]:
            if number < 1 << 32:
                yield bytes([0, CHANGE_CELL_LENGTH, cell]) + struct.pack("<I", number)


def splits():
    """As frames.c reads them: two frames of lengths about what a buffer grows to and may hold."""
    for how, limit in enumerate(FRAME_LIMITS):
        for second in (limit - 1, limit, limit + 1):
            for first in (limit // 2 + 2000, limit - 4, limit):
                if first + second < 1 << 16:
                    yield bytes([how]) + b"".join(
                        struct.pack("<I", n) + b"\x52" + varint(n - 3) + bytes(n - 3)
                        for n in (first, second))


MADE = {"recorder": recorders, "frames": splits}


def main():
    target, out = sys.argv[1:]
    if target in WHOLE:
        bodies = [(HEAD.get(target, b""), wire.encode(*WHOLE[target]))]
        with open(os.path.join(out, "whole"), "wb") as file:
            file.write(b"".join(bodies[0]))
    elif target not in MADE:
        bodies = kept(target)
    if target in MADE:
        made = MADE[target]()
    else:
        made = (head + other for head, body in bodies for other in messages(body, DEPTH))
    for data in made:
        with open(os.path.join(out, hashlib.sha1(data).hexdigest()[:16]), "wb") as file:
            file.write(data)


main()
