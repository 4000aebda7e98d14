# SPDX-License-Identifier: MIT
# A manual page of a page of docs/: headings, paragraphs, tables, code, bold, and links, of which the text stays.
# Variables: name, section, date, version, summary, see.

function text(s)
{
	gsub(/\\/, "\\e", s)
	gsub(/-/, "\\-", s)
	gsub(/~/, "\\(ti", s)
	gsub(/\^/, "\\(ha", s)
	return s
}

function marked(s,    before, after, out)
{
	while (match(s, /\[[^]]*\]\([^)]*\)/)) {
		before = substr(s, 1, RSTART - 1)
		after = substr(s, RSTART + RLENGTH)
		out = substr(s, RSTART + 1, RLENGTH - 2)
		sub(/\]\(.*/, "", out)
		s = before out after
	}
	s = text(s)
	while (match(s, /\*\*[^*]+\*\*/))
		s = substr(s, 1, RSTART - 1) "\\fB" substr(s, RSTART + 2, RLENGTH - 4) "\\fR" substr(s, RSTART + RLENGTH)
	while (match(s, /`[^`]+`/))
		s = substr(s, 1, RSTART - 1) "\\fI" substr(s, RSTART + 1, RLENGTH - 2) "\\fR" substr(s, RSTART + RLENGTH)
	gsub(/\\f[BI]`/, "", s)
	if (s ~ /^[.']/)
		s = "\\&" s
	return s
}

function flush()
{
	if (buffer == "")
		return
	if (has_text)
		print ".PP"
	print marked(buffer)
	buffer = ""
	has_text = 1
}

BEGIN {
	printf ".\\\" SPDX-License-Identifier: MIT\n.TH %s %s %s \"rtl %s\" rtl\n", toupper(name), section, date, version
	print ".SH NAME\n" text(name) " \\- " text(summary)
	print ".SH DESCRIPTION"
}

/^```/ {
	flush()
	if (in_code)
		print ".EE\n.RE"
	else
		print ".PP\n.RS 4\n.EX"
	in_code = !in_code
	has_text = 1
	next
}

in_code {
	$0 = text($0)
	print ($0 ~ /^[.']/ ? "\\&" : "") $0
	next
}

/^# / { next }

/^## / {
	flush()
	print ".SH \"" toupper(text(substr($0, 4))) "\""
	has_text = 0
	next
}

/^\|/ {
	flush()
	if (!in_table++ || /^\|[-|]*$/)
		next
	split($0, cells, / *\| */)
	print ".TP\n\\fB" text(cells[2]) "\\fR\n" marked(cells[3])
	has_text = 1
	next
}

{ in_table = 0 }

/^$/ {
	flush()
	next
}

# What stands in bold at the beginning of a line is defined there.
/^\*\*/ { flush() }

{ buffer = buffer (buffer == "" ? "" : " ") $0 }

END {
	flush()
	print ".SH \"SEE ALSO\""
	n = split(see, pages, " ")
	for (i = 1; i + 1 <= n; i += 2)
		printf ".BR %s (%s)%s\n", text(pages[i]), pages[i + 1], i + 2 <= n ? "," : ""
}
