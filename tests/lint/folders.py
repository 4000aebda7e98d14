#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""A folder of the product fits on a screen of 24 lines, and at most four of its files call each other in a circle.

A call is a function of another file's .c that is named in a file's .c; a file is a .c with its .h.
usage: folders.py SOURCE_DIR
"""
import collections
import os
import pathlib
import re
import sys

ROOTS = ("proto", "shim", "collectord", "cli", "systemd")
ENTRIES_MAX = 24
CIRCLE_MAX = 4
# The code is kernel style: a function's name stands in a line without indent, its body begins with a line "{".
FUNCTION = re.compile(r"^(static\s+)?[A-Za-z_][\w \t*]*?[ *]([A-Za-z_]\w*)\s*\(([^;{}]*?)\)[^;{}()]*\n\{", re.M)
LEAST_CALLS = 300


def code_of(path):
    """Without comments, texts and includes."""
    text = re.sub(r"/\*.*?\*/", "", path.read_text(encoding="utf-8"), flags=re.S)
    text = re.sub(r"//[^\n]*|^[ \t]*#[ \t]*include[^\n]*", "", text, flags=re.M)
    return re.sub(r'"(\\.|[^"\\\n])*"', '""', text)


def calls(files):
    """Of each file the files of its folder that it calls."""
    owner, own, code = {}, collections.defaultdict(set), {}
    for path in files:
        code[path] = code_of(path)
        for static, name, _ in FUNCTION.findall(code[path]):
            own[path].add(name)
            if not static:
                owner[name] = path
    return {path: {owner[name] for name in set(re.findall(r"[A-Za-z_]\w*", code[path])) - own[path]
                   if name in owner and owner[name].parent == path.parent}
            for path in files}


def reached(start, edges):
    found, ahead = set(), [start]
    while ahead:
        for path in edges[ahead.pop()] - found:
            found.add(path)
            ahead.append(path)
    return found


def circles(edges):
    reach = {path: reached(path, edges) for path in edges}
    return {frozenset(other for other in reach[path] if path in reach[other]) for path in edges} - {frozenset()}


def main():
    source = pathlib.Path(sys.argv[1]).resolve()
    folders = [pathlib.Path(at) for root in ROOTS for at, _, _ in os.walk(source / root)]
    bad = []
    for folder in folders:
        entries = len([entry for entry in folder.iterdir() if not entry.name.startswith(".")])
        if entries > ENTRIES_MAX:
            bad.append(f"{folder.relative_to(source)}: {entries} entries; move what belongs together to a folder")
    edges = calls([path for folder in folders for path in sorted(folder.glob("*.c"))])
    for circle in sorted(circles(edges), key=sorted):
        if len(circle) > CIRCLE_MAX:
            first = min(circle)
            bad.append(f"{first.parent.relative_to(source)}: {len(circle)} files call each other in a circle: "
                       + " ".join(sorted(path.stem for path in circle)))
    count = sum(map(len, edges.values()))
    if count < LEAST_CALLS:
        bad.append(f"found {count} calls only")
    print(f"{len(folders)} folders, {count} calls between files of a folder")
    if bad:
        sys.exit("\n".join(bad))


if __name__ == "__main__":
    main()
