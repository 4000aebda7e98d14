# SPDX-License-Identifier: MIT
"""Frames by hand: what no library would say.

The names and numbers are those of proto/wire/rtl.proto, which is read. A message is a dict {field:
value}, a repeated field a list; a number instead of a field's name is an unknown field.
"""
import os
import re
import struct

GRAMMAR = os.path.join(os.path.dirname(__file__), "..", "..", "proto", "wire", "rtl.proto")
VARINT, FIXED64, BYTES, FIXED32 = 0, 1, 2, 5
VARINTS = {"uint32", "uint64", "int32", "int64", "sint32", "sint64", "bool"}


def read_grammar():
    """{message: {field: (number, type, is_packed)}}"""
    with open(GRAMMAR, encoding="utf-8") as grammar:
        text = re.sub(r"//.*", "", grammar.read())
    messages = {}
    for name, body in re.findall(r"message (\w+) \{((?:[^{}]|\{[^{}]*\})*)\}", text):
        messages[name] = {field: (int(number), kind, bool(packed)) for kind, field, number, packed
                          in re.findall(r"(\w+) (\w+) = (\d+)\s*(\[packed = true\])?;", body)}
    return messages


MESSAGES = read_grammar()


def varint(value):
    value &= (1 << 64) - 1
    out = bytearray()
    while value > 0x7f:
        out.append(value & 0x7f | 0x80)
        value >>= 7
    out.append(value)
    return bytes(out)


def scalar(kind, value):
    if kind in ("sint32", "sint64"):
        value = value << 1 ^ value >> 63
    if kind in VARINTS:
        return VARINT, varint(int(value))
    if kind in ("fixed64", "sfixed64"):
        return FIXED64, struct.pack("<Q", value & (1 << 64) - 1)
    if kind in ("fixed32", "sfixed32"):
        return FIXED32, struct.pack("<I", value & (1 << 32) - 1)
    if kind != "bytes":
        value = encode(kind, value)
    elif isinstance(value, str):
        value = value.encode()
    return BYTES, varint(len(value)) + value


def encode(message, fields):
    out = b""
    for name, value in fields.items():
        number, kind, packed = MESSAGES[message].get(name, (name, None, False))
        if kind is None:
            kind = "bytes" if isinstance(value, (bytes, str)) else "uint64"
        if packed:
            joined = b"".join(scalar(kind, v)[1] for v in value)
            out += varint(number << 3 | BYTES) + varint(len(joined)) + joined
            continue
        for one in value if isinstance(value, list) else [value]:
            wire, payload = scalar(kind, one)
            out += varint(number << 3 | wire) + payload
    return out


def frame(**fields):
    """One frame with its length in front: frame(hello={...}), frame(number=1, dispatches={...})."""
    body = encode("Frame", fields)
    return struct.pack("<I", len(body)) + body


def take_varint(data, at):
    value = shift = 0
    while True:
        value |= (data[at] & 0x7f) << shift
        shift += 7
        at += 1
        if not data[at - 1] & 0x80:
            return value, at


def decode(message, data):
    """{field: value}, the last one of a repeated field; what is unknown by its number."""
    names = {number: (name, kind) for name, (number, kind, _) in MESSAGES[message].items()}
    fields, at = {}, 0
    while at < len(data):
        key, at = take_varint(data, at)
        name, kind = names.get(key >> 3, (key >> 3, None))
        if key & 7 == VARINT:
            value, at = take_varint(data, at)
        else:
            size = {FIXED64: 8, FIXED32: 4}.get(key & 7)
            if size is None:
                size, at = take_varint(data, at)
            value, at = data[at:at + size], at + size
            if kind in MESSAGES:
                value = decode(kind, value)
        fields[name] = value
    return fields
