#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Compares the keys of documents with docs/json.md: json_keys.py PAGE VERB FILE...

Every key of the FILEs (a document, or one a line) has to be in the page's section "rtl VERB", and every key of the
section in one of the FILEs.
"""
import json
import re
import sys


def sections(text):
    """{title: [(path of the object, key, or block)]}"""
    found, title = {}, None
    for line in text.splitlines():
        head = re.match(r"##+ (.*)", line)
        if head:
            title = head[1]
        row = re.match(r"\| *(?:`([^`]*)`)? *\| (.*?) \|", line)
        if not row or row[2] == "keys":
            continue
        for block, key in re.findall(r"\*(\w+)\*|`([^`]*)`", row[2]):
            found.setdefault(title, []).append((row[1] or "", key or None, block or None))
    return found


def join(*parts):
    return ".".join(p for p in parts if p)


def described(page, title, prefix=""):
    keys = set()
    for path, key, block in page[title]:
        if block:
            keys |= described(page, block, join(prefix, path))
        else:
            keys.add(join(prefix, path, key))
    return keys


def is_name(path, wild):
    """The page may say * for what stands there."""
    return path + ".*" in wild or (not path and "*" in wild)


def keys_of(value, path, wild):
    if isinstance(value, list):
        return set().union(*(keys_of(v, path + "[]", wild) for v in value)) if value else set()
    keys = set()
    if isinstance(value, dict):
        for key, inner in value.items():
            at = join(path, "*" if is_name(path, wild) else key)
            keys |= {at} | keys_of(inner, at, wild)
    return keys


def main():
    with open(sys.argv[1], encoding="utf-8") as file:
        page = sections(file.read())
    want = described(page, "rtl " + sys.argv[2])
    got = set()
    for name in sys.argv[3:]:
        with open(name, encoding="utf-8") as file:
            text = file.read()
        decoder, at = json.JSONDecoder(), 0
        while text[at:].strip():
            at += len(text[at:]) - len(text[at:].lstrip())
            document, at = decoder.raw_decode(text, at)
            assert document["schema"] == 1, name
            got |= keys_of(document, "", want)
    for what, keys in (("is not described", got - want), ("is in no document", want - got)):
        for key in sorted(keys):
            print(f"rtl {sys.argv[2]}: {key} {what}")
    return got != want


sys.exit(main())
