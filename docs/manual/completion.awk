# SPDX-License-Identifier: MIT
# Completion for a shell, of what rtl and its verbs say to --help. Variable: shell (bash or zsh). Input: "VERB name summary",
# then that verb's --help as argp writes it with ARGP_HELP_FMT=rmargin=5000, for each verb.

function quote(s)
{
	gsub(/'/, "'\\''", s)
	return "'" s "'"
}

# For zsh's _arguments: brackets and colons are its own.
function spec(s)
{
	gsub(/[]:\\[]/, "\\\\&", s)
	return s
}

# What is said of an option may stand in the next line.
function take_held(    line, long, rest, short, value, is_optional, choice)
{
	line = held
	held = ""
	if (line == "")
		return
	match(line, /--[a-z0-9-]+/)
	long = substr(line, RSTART, RLENGTH)
	rest = substr(line, RSTART + RLENGTH)
	short = line ~ /^  -[A-Za-z0-9],/ ? substr(line, 3, 2) : ""
	value = ""
	is_optional = rest ~ /^\[=/
	if (match(rest, /^\[?=[^ ]+/)) {
		value = substr(rest, RSTART, RLENGTH)
		gsub(/^\[?=|\]$/, "", value)
		rest = substr(rest, RSTART + RLENGTH)
	}
	sub(/^ +/, "", rest)
	options[verb] = options[verb] " " long (value != "" && !is_optional ? "=" : "")
	if (short != "")
		options[verb] = options[verb] " " short
	# real|soft: these values and no other
	if (value ~ /^[a-z0-9]+(\|[a-z0-9]+)+$/) {
		values[verb] = values[verb] sprintf("\t\t%s) words=%s ;;\n", long, quote(value))
		gsub(/\|/, " ", values[verb])
		choice = ":value:(" value ")"
		gsub(/\|/, " ", choice)
	} else {
		choice = value == "" ? "" : ":" tolower(value) ":_files"
	}
	zsh[verb] = zsh[verb] sprintf(" \\\n\t\t%s", quote((is_optional ? long "=-" : long (value != "" ? "=" : "")) \
		"[" spec(rest) "]" (is_optional ? "::" substr(choice, 2) : choice)))
	if (short != "")
		zsh[verb] = zsh[verb] sprintf(" \\\n\t\t%s", quote(short "[" spec(rest) "]" (is_optional ? "" : choice)))
}

/^VERB / {
	take_held()
	verb = $2
	verbs[++count] = verb
	sub(/^VERB [^ ]+ /, "")
	summary[verb] = $0
	next
}

/^         / && held != "" {
	sub(/^ +/, "")
	held = held "  " $0
	next
}

{ take_held() }

/^  +-/ { held = $0 }

END {
	take_held()
	if (shell == "bash") {
		print "# SPDX-License-Identifier: MIT\n# Completion of rtl for bash, made of what rtl --help says."
		print "_rtl()\n{\n\tlocal cur=${COMP_WORDS[COMP_CWORD]} option=${COMP_WORDS[COMP_CWORD-1]} words= verbs options="
		printf "\tverbs='"
		for (i = 1; i <= count; i++)
			printf "%s%s", verbs[i], i < count ? " " : "'\n"
		print "\tCOMPREPLY=()\n\tif [ $COMP_CWORD -eq 1 ]; then"
		print "\t\tCOMPREPLY=($(compgen -W \"$verbs --help --version\" -- \"$cur\"))\n\t\treturn\n\tfi"
		print "\t# bash takes = for a word of its own."
		print "\tif [ \"$cur\" = = ]; then\n\t\tcur=\n\telif [ \"$option\" = = ]; then"
		print "\t\toption=${COMP_WORDS[COMP_CWORD-2]}\n\tfi"
		print "\tcase ${COMP_WORDS[1]} in"
		for (i = 1; i <= count; i++) {
			verb = verbs[i]
			printf "\t%s)\n\t\toptions=%s\n", verb, quote(substr(options[verb], 2))
			if (values[verb] != "")
				printf "\t\tcase $option in\n%s\t\tesac\n", values[verb]
			print "\t\t;;"
		}
		print "\tesac"
		print "\t[ \"${COMP_WORDS[1]}\" != help ] || words=$verbs"
		print "\tif [ -n \"$words\" ]; then\n\t\tCOMPREPLY=($(compgen -W \"$words\" -- \"$cur\"))"
		print "\telif [[ $cur == -* ]]; then\n\t\tCOMPREPLY=($(compgen -W \"$options\" -- \"$cur\"))"
		print "\t\t[[ ${COMPREPLY[0]-} != *= ]] || compopt -o nospace\n\tfi\n}"
		print "complete -o default -F _rtl rtl"
		exit
	}
	print "#compdef rtl\n# SPDX-License-Identifier: MIT\n# Completion of rtl for zsh, made of what rtl --help says."
	print "_rtl()\n{\n\tlocal -a verbs\n\tverbs=("
	for (i = 1; i <= count; i++)
		printf "\t\t%s\n", quote(verbs[i] ":" summary[verbs[i]])
	print "\t)\n\tif (( CURRENT == 2 )); then\n\t\t_describe verb verbs\n\t\treturn\n\tfi"
	print "\tshift words\n\t(( CURRENT-- ))\n\tcase $words[1] in"
	for (i = 1; i <= count; i++) {
		verb = verbs[i]
		if (verb == "help")
			printf "\thelp)\n\t\t_describe verb verbs\n\t\t;;\n"
		else
			printf "\t%s)\n\t\t_arguments -s%s \\\n\t\t%s\n\t\t;;\n", verb, zsh[verb], \
				verb ~ /^(run|trace|doctor)$/ ? "'(-):command: _command_names -e' '*::arguments: _normal'" \
				: "'*:file:_files'"
	}
	print "\tesac\n}\n_rtl \"$@\""
}
