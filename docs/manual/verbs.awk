# SPDX-License-Identifier: MIT
# The manual page rtl(1) of what rtl says to --help: verbs with their usage, then texts, then the table of exit
# statuses. Variables: date, version, see (other pages: "rtl-run 1 collectord 8").

function text(s)
{
	gsub(/\\/, "\\e", s)
	gsub(/-/, "\\-", s)
	gsub(/'/, "\\(aq", s)
	return s
}

BEGIN {
	printf ".\\\" SPDX-License-Identifier: MIT\n.\\\" Made of rtl --help.\n.TH RTL 1 %s \"rtl %s\" rtl\n", date, version
	print ".SH NAME\nrtl \\- profiler for AMD GPU jobs\n.SH SYNOPSIS\n\\fBrtl\\fR VERB [OPTION...] [ARGUMENT...]"
}

NR == 1 { next }

NR == 2 {
	print ".SH DESCRIPTION\n" text($0) "\n.SH VERBS"
	next
}

/^usage:/ || /^$/ { next }

/^Exit status:/ {
	print ".SH \"EXIT STATUS\""
	in_exits = 1
	next
}

in_exits && /^  / {
	status = $1
	sub(/^ +[^ ]+ +/, "")
	print ".TP\n\\fB" status "\\fR\n" text($0)
	next
}

/^  rtl / {
	verb = $2
	usage = substr($0, index($0, $2) + length($2) + 1)
	next
}

# The usage goes on, or the summary ends it.
/^        / {
	sub(/^ +/, "")
	if (/^[^a-z]/) {
		usage = usage " " $0
		next
	}
	print ".TP\n\\fBrtl " text(verb) "\\fR " text(usage)
	print text($0)
	next
}

/[^ ]/ {
	if (!has_notes++)
		print ".SH NOTES"
	else
		print ".PP"
	print text($0)
}

END {
	print ".SH \"SEE ALSO\""
	n = split(see, pages, " ")
	for (i = 1; i + 1 <= n; i += 2)
		printf ".BR %s (%s)%s\n", text(pages[i]), pages[i + 1], i + 2 <= n ? "," : ""
}
