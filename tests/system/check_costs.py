#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""check_costs.py TREE.json COSTS.tsv NAME: the operations have the categories, FLOPs and bytes of the lines NAME."""
import collections
import csv
import json
import sys


def key_of(name, shapes):
    """Of "((8, 16), ())" and "[[8, 16], []]" alike."""
    return name, json.dumps(json.loads(shapes)) if shapes else ""


def as_json(shapes):
    return shapes.replace("(", "[").replace(",)", "]").replace(")", "]")


def found(nodes):
    figures, categories = collections.defaultdict(lambda: [0, 0]), {}
    for node in nodes:
        if node["kind"] != "op":
            continue
        name, _, shapes = node["name"].partition(" ")
        categories[name] = node["category"] or categories.get(name)
        if node["flops"] is not None and (node["category"] or "").startswith(("GEMM", "SDPA", "CONV")):
            figures[key_of(name, shapes)][0] += node["flops"]
            figures[key_of(name, shapes)][1] += node["bytes"]
    return figures, categories


def main():
    figures, categories = found(json.load(open(sys.argv[1]))["nodes"])
    lines = 0
    for row in csv.DictReader(open(sys.argv[2]), delimiter="\t"):
        if row["file"] != sys.argv[3]:
            continue
        lines += 1
        # It launches a copy and no kernel.
        if row["name"] != "aten::_local_scalar_dense":
            assert categories[row["name"]] == row["category"], (row, categories[row["name"]])
        if not row["gflops"]:
            continue
        flops, size = figures.pop(key_of(row["name"], as_json(row["shapes"])))
        for ours, theirs in ((flops, float(row["gflops"]) * 1e9), (size, float(row["mib"]) * 2**20)):
            theirs *= int(row["count"])
            assert abs(ours - theirs) <= 1e-6 * theirs, (row, ours, theirs)
    assert lines and not figures, figures
    print(lines)


main()
