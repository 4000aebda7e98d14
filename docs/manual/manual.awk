# SPDX-License-Identifier: MIT
# A manual page of what a program says to --help, as argp writes it with ARGP_HELP_FMT=rmargin=5000.
# Variables: name (rtl-ls), section, date, version, summary, see (other pages: "rtl 1 collectord 8").

function text(s)
{
	gsub(/\\/, "\\e", s)
	gsub(/-/, "\\-", s)
	gsub(/~/, "\\(ti", s)
	gsub(/\^/, "\\(ha", s)
	gsub(/`/, "\\(ga", s)
	gsub(/'/, "\\(aq", s)
	if (s ~ /^\./)
		s = "\\&" s
	return s
}

function section_head(title)
{
	print ".SH " title
	has_text = 0
}

# A new paragraph, except below a heading.
function paragraph(s)
{
	if (has_text)
		print ".PP"
	print text(s)
	has_text = 1
}

# "-j, --json[=TABLE]" in bold, values in italics.
function tag(s,    n, words, i, at, out)
{
	n = split(s, words, ", ")
	for (i = 1; i <= n; i++) {
		at = match(words[i], /\[?=/)
		if (at)
			out = out "\\fB" text(substr(words[i], 1, at - 1)) "\\fR" \
				text(substr(words[i], at, RLENGTH)) "\\fI" text(substr(words[i], at + RLENGTH)) "\\fR"
		else
			out = out "\\fB" text(words[i]) "\\fR"
		if (i < n)
			out = out ", "
	}
	return out
}

BEGIN {
	printf ".\\\" SPDX-License-Identifier: MIT\n.\\\" Made of %s --help.\n", name
	printf ".TH %s %s %s \"rtl %s\" rtl\n", toupper(name), section, date, version
	section_head("NAME")
	print text(name) " \\- " text(summary)
	section_head("SYNOPSIS")
	state = "usage"
}

state == "usage" && /^(Usage:|  or: )/ {
	sub(/^(Usage:|  or:) */, "")
	if (has_text)
		print ".br"
	n = index($0 " ", " ")
	if (name ~ /-/ && $1 == "rtl")
		n = index(substr($0, n + 1) " ", " ") + n
	print "\\fB" text(substr($0, 1, n - 1)) "\\fR" text(substr($0, n))
	has_text = 1
	next
}

state == "usage" {
	section_head("DESCRIPTION")
	state = "description"
}

/^Mandatory or optional arguments to long options/ { next }

/^  +-/ {
	if (state != "options") {
		section_head("OPTIONS")
		state = "options"
	}
	line = $0
	sub(/^ +/, "", line)
	at = index(line "  ", "  ")
	print ".TP"
	print tag(substr(line, 1, at - 1))
	line = substr(line, at)
	sub(/^ +/, "", line)
	if (line != "")
		print text(line)
	next
}

state == "options" && /^         +/ {
	sub(/^ +/, "")
	print text($0)
	next
}

# A heading of options may be the first of them.
(state == "options" || state == "description") && /^ [^ ].*:$/ {
	if (state != "options")
		section_head("OPTIONS")
	state = "options"
	sub(/^ /, "")
	sub(/:$/, "")
	print ".SS \"" text($0) "\""
	next
}

/^Exit status: / {
	section_head("EXIT STATUS")
	sub(/^Exit status: /, "")
	state = "exit"
	is_exit = 1
	$0 = toupper(substr($0, 1, 1)) substr($0, 2)
}

/[^ ]/ {
	if (state == "options") {
		section_head("NOTES")
		state = "notes"
	}
	sub(/^ +/, "")
	paragraph($0)
}

END {
	if (!is_exit && name ~ /^rtl-/ && name != "rtl-demo") {
		section_head("EXIT STATUS")
		print "The table of\n.BR rtl (1)."
	}
	section_head("SEE ALSO")
	n = split(see, pages, " ")
	for (i = 1; i + 1 <= n; i += 2)
		printf ".BR %s (%s)%s\n", text(pages[i]), pages[i + 1], i + 2 <= n ? "," : ""
}
