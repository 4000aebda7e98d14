#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Each relative link of README, CONTRIBUTING, docs/ and tests/ leads to a file, and its anchor to a heading.

usage: links.py SOURCE_DIR
"""
import pathlib
import re
import sys

LINK = re.compile(r"(?<!!)\[[^\]]*\]\(([^)\s]+)\)")
LEAST = 50


def text_of(page):
    """Without what is code: links do not work there, and a '#' begins no heading."""
    return re.sub(r"(?ms)^```.*?^```$", "", page.read_text(encoding="utf-8"))


def anchors(page):
    """As GitHub makes them of headings: lower case, blanks become '-', other punctuation goes."""
    found, seen = set(), {}
    for title in re.findall(r"(?m)^#{1,6} +(.*?) *$", text_of(page)):
        title = re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", title).replace("`", "")
        slug = re.sub(r"[^\w\- ]", "", title.lower()).replace(" ", "-")
        found.add(f"{slug}-{seen[slug]}" if slug in seen else slug)
        seen[slug] = seen.get(slug, 0) + 1
    return found


def main():
    source = pathlib.Path(sys.argv[1]).resolve()
    pages = sorted([*source.glob("*.md"), *source.glob("docs/**/*.md"), *source.glob("tests/**/README.md")])
    checked, bad = 0, []
    for page in pages:
        for link in LINK.findall(re.sub(r"`[^`\n]*`", "", text_of(page))):
            if re.match(r"[a-z]+:", link):
                continue
            checked += 1
            path, _, anchor = link.partition("#")
            target = page.parent / path if path else page
            name = page.relative_to(source)
            if not target.exists():
                bad.append(f"{name}: {link}: no such file")
            elif anchor and (target.suffix != ".md" or anchor not in anchors(target)):
                bad.append(f"{name}: {link}: no such heading")
    if checked < LEAST:
        bad.append(f"found {checked} links only: are they written in another way now?")
    print("\n".join(bad) or f"{checked} links of {len(pages)} pages")
    sys.exit(1 if bad else 0)


main()
