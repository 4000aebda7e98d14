#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Asks one database every question in every format: formats.py RTL FILE EXPECTATION...

Each answer has to come with its exit status and nothing on stderr, be valid in its format (JSON parses and has
its schema, CSV has one width and the columns of an empty one, text has no byte that steers a terminal), and say
the same as the other formats and, where they count the same things, the other questions.

A file that is none is refused by all of them: EXPECTATION refused.

EXPECTATION: lossy, empty (nothing has a time), hostile (texts are not compared: CSV escapes them).
"""
import csv
import html
import io
import json
import re
import subprocess
import sys

BYS = ("rank", "gpu", "queue", "marker", "category")

# Question: its options, and of each table of --csv the key in --json (None: it has more, or others).
QUESTIONS = {
    "summary": ([], {"kernels": "kernels", "ranks": "ranks", "gpus": "gpus", "losses": "losses",
                     "copies": "copies", "metrics": "metrics", "host_calls": "host_calls",
                     "collectives": "collectives", "categories": "categories", "reason": None}),
    **{f"summary --by {by}": (["--by", by], {"groups": None}) for by in BYS},
    "diagnose": ([], {"findings": "findings", "processes": "processes"}),
    "timeline": ([], {"": "rows"}),
    "collectives": (["--top", "0"], {"groups": "groups", "ranks": "ranks", "operations": None,
                                     "missing": "missing"}),
    "tree": ([], {"": "nodes"}),
    "tree --by rank": (["--by", "rank"], {"": "nodes"}),
    "outstanding": ([], {"": "waiting"}),
    "info --clocks": (["--clocks"], {"": "clocks"}),
}
DIFF_TABLES = ("timeline", "ranks", "kernels", "collectives", "stragglers")

rtl, path, *expected = sys.argv[1:]
problems, asked = [], 0


def check(what, holds, *details):
    if not holds:
        problems.append(" ".join([what + ":", *(str(d)[:300] for d in details)]))


def ask(arguments, status=0):
    """The text, where that was the status."""
    global asked
    what = " ".join(arguments)
    done = subprocess.run([rtl, *arguments], capture_output=True, check=False, timeout=300)
    asked += 1
    check(what, done.returncode == status, "exit", done.returncode, done.stderr)
    lines = done.stderr.decode().splitlines()
    check(what, len(lines) == (status != 0), "stderr", lines)
    if status == 1:
        check(what, not done.stdout and lines[0].startswith(f"rtl: {path}: "), lines, done.stdout)
    check(what, not re.search(rb"[\x00-\x08\x0b-\x1f\x7f]", done.stdout + done.stderr), "control bytes")
    return done.stdout.decode() if done.returncode == status else None


def read_json(what, text):
    try:
        document = json.loads(text)
    except ValueError as error:
        check(what, False, error)
        return None
    check(what, document.get("schema") == 1, "schema", document.get("schema"))
    return document


def read_csv(what, text):
    rows = list(csv.reader(io.StringIO(text), strict=True))
    check(what, rows and rows[0] and len(set(rows[0])) == len(rows[0]), "title", rows[:1])
    check(what, {len(r) for r in rows} == {len(rows[0])}, "widths", {len(r) for r in rows})
    return [dict(zip(rows[0], r)) for r in rows[1:]]


def is_same(cell, value):
    if value is None:
        return cell == ""
    if isinstance(value, bool):
        return cell == str(int(value))
    if isinstance(value, (int, float)):
        return cell != "" and abs(float(cell) - value) <= 1e-9 * abs(value)
    return isinstance(value, (dict, list)) or "hostile" in expected or cell == value


def compare(what, rows, objects):
    """Rows of CSV with objects of JSON: in the columns that both have, and these are most of them."""
    check(what, len(rows) == len(objects), "rows", len(rows), "objects", len(objects))
    for row, like in zip(rows, objects):
        both = [k for k in row if k in like]
        check(what, len(both) * 2 > len(row), "columns", list(row), "keys", list(like))
        odd = [(k, row[k], like[k]) for k in both if not is_same(row[k], like[k])]
        check(what, not odd, odd)


def table_of(text, title):
    """A table of the text from its line of titles on, by column; numbers without commas."""
    lines = text.splitlines()
    at = next((i for i, line in enumerate(lines) if line.split()[:len(title)] == list(title)), None)
    if at is None:
        return []
    rows = []
    for line in lines[at + 1:]:
        if not line.strip():
            break
        rows.append(dict(zip(lines[at].split(), line.replace(",", "").split())))
    return rows


def ask_all(name):
    """The document, after the other formats were compared with it."""
    options, tables = QUESTIONS[name]
    words = [name.split()[0], *options]
    document = read_json(name, ask([*words, "--json", path]) or "")
    text = ask([*words, path])
    if document is None or text is None:
        return None, ""
    check(name, document["line"] in text if name != "outstanding" else text, "no verdict in", text)
    for table, key in tables.items():
        answer = ask([*words, "--csv=" + table if table else "--csv", path])
        rows = read_csv(f"{name} {table}", answer) if answer else []
        if key:
            compare(f"{name} {table}", rows, document[key])
    return document, text


def compare_counts(documents, texts):
    """What several questions count is the same number."""
    summary, line = documents["summary"], documents["summary"]["line"]
    stored, dispatched = summary["stored"], summary["dispatched"]
    check("summary", summary["complete"] == ("lossy" not in expected), line)
    check("summary", sum(k["calls"] for k in summary["kernels"]) == stored, "calls of kernels")
    check("summary", sum(k["calls"] for k in summary["categories"]) == stored, "calls of categories")
    check("summary", sum(r["dispatched"] for r in summary["ranks"]) == dispatched, "ranks")
    check("summary", sum(int(r["CALLS"]) for r in table_of(ask(["summary", "--top", "0", path]), ("CALLS",))) ==
          stored, "calls in the text")
    for by in BYS:
        groups = documents["summary --by " + by]["groups"]
        check("by " + by, sum(g["calls"] for g in groups) == stored, "calls", stored)
        rows = read_csv("groups", ask(["summary", "--by", by, "--csv=groups", path]))
        check("by " + by, sum(int(r["calls"]) for r in rows if not r["name"]) == stored, "calls of CSV")
    for name, document in documents.items():
        check(name, document["line"] == line, document["line"], line)
        check(name, document["simulated"] == summary["simulated"], "simulated")
    processes = documents["diagnose"]["processes"]
    check("diagnose", sum(p["kernels"] for p in processes) == dispatched, "kernels")
    check("diagnose", all(p["work_ns"] <= p["busy_ns"] for p in processes), "work")
    check("diagnose", sum(p["busy_ns"] for p in processes) == sum(r["busy_ns"] or 0 for r in summary["ranks"]), "busy")
    check("diagnose", [int(r["KERNELS"]) for r in table_of(texts["diagnose"], ("RANK", "PID"))] ==
          [p["kernels"] for p in processes], "kernels in the text")
    timeline = documents["timeline"]
    check("timeline", sum(r["kernels"] for r in timeline["rows"]) + timeline["untimed_kernels"] ==
          (0 if "empty" in expected else stored), "kernels")
    check("timeline", ("empty" in expected) == (not timeline["rows"]), "rows", len(timeline["rows"]))
    for row in timeline["rows"]:
        parts = [row[k + "_ns"] for k in ("computation_time", "exposed_comm_time", "exposed_memcpy_time", "idle_time")]
        check("timeline", sum(parts) == row["total_time_ns"], "parts", parts, row["total_time_ns"])
    check("timeline", len(table_of(texts["timeline"], ("RANK", "GPU", "STEPS"))) == len(timeline["ranks"]), "RANKS")
    for name in ("tree", "tree --by rank"):
        # Where there are processes the GPU's kernels of all nodes are those of the file.
        check(name, documents[name]["kernels"] == stored, documents[name]["kernels"], stored)


def ask_diff():
    """With itself: nothing differs; what has no times cannot be compared."""
    words = ["diff", "--allow", "all", "--label", "a", "--label", "b", path, path]
    if "empty" in expected:
        check("diff", "empty" in (ask([*words, "--json"], 4) or ""), "why")
        ask(words, 4)
        ask([*words, "--csv"], 4)
        return
    document = read_json("diff", ask([*words, "--json"]) or "")
    ask(words)
    for table in DIFF_TABLES:
        rows = read_csv("diff " + table, ask([*words, "--csv=" + table]) or "")
        compare("diff " + table, rows, document["comparisons"][0][table])
    check("diff", all(r["delta_ns"] == 0 for r in document["comparisons"][0]["timeline"]), "delta")


def ask_report(line):
    page = ask(["report", "--html", "-", path])
    check("report", page and page.lower().startswith("<!doctype html>") and "</html>" in page[-20:], page[-100:])
    said = "EMPTY: nothing was dispatched" if "empty" in expected else html.escape(line)
    check("report", page and said in page, "no", said)


def finish(least):
    for problem in problems[:20]:
        print(f"{path}: {problem}")
    print(f"{path}: {asked} answers, {len(problems)} problems")
    sys.exit(1 if problems or asked < least else 0)


def ask_refused():
    """One line, that names the file, and nothing else."""
    words = [[*name.split()[:1], *options] for name, (options, _) in QUESTIONS.items()] + [["info"]]
    for question in words:
        for form in ([], ["--json"]):
            ask([*question, *form, path], 1)
    for table in ("", "=kernels"):
        ask(["diff", "--csv" + table, path, path], 1)
    ask(["diff", path, path], 1)
    ask(["query", path, "SELECT 1"], 1)
    ask(["report", "--html", "-", path], 1)


def main():
    if "refused" in expected:
        ask_refused()
        finish(20)
    answers = {name: ask_all(name) for name in QUESTIONS}
    ask(["info", path])
    ask(["info", "--counters", path])
    ask(["tree", "--folded", path])
    read_json("info", ask(["info", "--json", path]) or "")
    if all(document for document, _ in answers.values()):
        compare_counts({n: d for n, (d, _) in answers.items()}, {n: t for n, (_, t) in answers.items()})
        ask_diff()
        ask_report(answers["summary"][0]["line"])
    finish(60)


if __name__ == "__main__":
    main()
