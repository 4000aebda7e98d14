#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Names that a stranger may give to kernels, ranges, jobs and everything else: bytes that mean
something to a terminal, a spreadsheet, a browser, a shell, a printf, SQL or a file system. All tests
of outputs take them from here. As a program: a u32 length and the bytes, each, on stdout."""
import struct
import sys

NAMES = [
    b"",
    b" ",
    b"plain",
    # Terminals: colour, title, clipboard (OSC 52), a key that answers (DECRQSS, DSR), erase, C1.
    b"\x1b[31mred\x1b[0m",
    b"\x1b]0;title\x07",
    b"\x1b]52;c;cm0gLXJmIH4K\x07",
    b"\x1b]8;;http://evil.example/\x1b\\link\x1b]8;;\x1b\\",
    b"\x1b[6n\x1b[c\x1bP$q\"p\x1b\\",
    b"\x1b[2J\x1b[H\x1bc",
    b"\x1b",
    b"\x9b31m raw C1",
    b"\xc2\x9b31m C1 in UTF-8",
    b"\xc2\x90q sixel \xc2\x9c",
    b"over\rwritten",
    b"back\b\b\b\bspace",
    b"bell\x07 delete\x7f formfeed\x0c vertical\x0b",
    b"two\nlines",
    b"two\r\nlines",
    b"complete: 0 dispatched, 0 stored\nrtl: all is well",
    b"tab\tand\ttab",
    b"nul\x00byte",
    # Order and width: bidi overrides and isolates, zero width, soft hyphen, tags, line separators.
    "invoice\u202egpj.exe".encode(),
    "\u2066isolate\u2069 \u061c \u200e\u200f".encode(),
    "zero\u200bwidth\u200d\ufeff\u2060".encode(),
    "soft\u00adhyphen".encode(),
    "\U000e0041tag\U000e007f".encode(),
    "line\u2028para\u2029".encode(),
    # Shown as nothing though they are letters, marks or fillers (Default_Ignorable_Code_Point).
    "gem\u034fm \u17b4\u17b5 \u180e".encode(),
    "gemm\u115f\u1160\u3164\uffa0".encode(),
    "gemm\ufe0f\U000e0100 \ufff9note\ufffatext\ufffb \U0001d173\U0001d17a".encode(),
    "e\u0301" .encode() + b"\xcc\x81" * 40,
    # Not UTF-8: stray, overlong, surrogate, cut, beyond the last.
    b"\xff\xfe",
    b"\xc0\xafetc",
    b"\xed\xa0\x80",
    b"\xe2\x82",
    b"\xf4\x90\x80\x80",
    b"\x80\x80\x80",
    "\ufffe\uffff".encode(),
    # Spreadsheets.
    b"=cmd|' /C calc'!A0",
    b"+1+1",
    b"-2+3",
    b"@SUM(1+1)",
    b"\t=1+1",
    b"\r=1+1",
    b"\n=1+1",
    b" =1+1",
    "\uff1d1+1".encode(),
    b'=HYPERLINK("http://evil.example","x")',
    b"1;=2",
    b'quote"quote',
    b'"', b'""', b"'", b",", b";", b"a,b", b"a;b", b"'=1",
    # JSON, HTML, shells, SQL, printf, file systems.
    b'{"schema":2}', b'\\', b'\\u0000', b"\\x1b[31m", b"null", b"NaN", b"1e999",
    b"<script>alert(1)</script>",
    b"</script><script>alert(1)</script>",
    b"<!--", b"]]>", b"&lt;&amp;&#x41;",
    b"\"><img src=x onerror=alert(1)>",
    b"javascript:alert(1)",
    b"${7*7}{{7*7}}`id`$(id)",
    b"; rm -rf / #",
    b"'; DROP TABLE rtl_session; --",
    b"' OR '1'='1",
    b"%s%s%s%s%n%n%n%99999999d",
    b"%",
    b"../../../../etc/passwd",
    b"/etc/passwd", b".", b"..", b"-", b"--help", b"-o", b"con", b"~", b"*", b"?", b"[a-z]",
    b"file:/tmp/x?mode=rwc",
    # Prometheus labels.
    b'x"} 1\nrtl_up 0 #{',
    # Flame graphs: what parts frames and counts.
    b"frame;frame 7",
    # Step metrics and kernels that are mangled, or say so.
    b"loss=1.5 lr=1e-3", b"\x1b[31m=1", b"=1", b"a=nan", b"x=1e999", b"<b>=2",
    b"_Z3fooi.kd", b"_ZN", b"_Z" + b"S_" * 60, b"_Z\x1b[31m", b"_ZN5\x1b[31m3fooEv",
    b"_Z1fIXtlA4_cLc27ELc91ELc49ELc109EEEEvv",
    # Long.
    b"A" * 4096,
    b"\x1b" * 4096,
    "\u202e".encode() * 1300,
    b"\xff" * 5000,
    b"=" + b"B" * 16383,
    b"_Z" + b"1A" * 8000,
    b"long,\"" * 2000,
]


def main():
    for name in NAMES:
        sys.stdout.buffer.write(struct.pack("<I", len(name)) + name)


if __name__ == "__main__":
    main()
