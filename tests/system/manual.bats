#!/usr/bin/env bats
# SPDX-License-Identifier: MIT
# Manual pages and completions say what the programs say to --help.
load lib.bash
bats_require_minimum_version 1.5.0

# A sanitizer's build has none.
pages=$RTL_BUILD/docs/manual/pages

# verbs: all that rtl --help lists.
verbs() {
	"$rtl" --help | sed -n 's/^  rtl \([a-z]*\).*/\1/p'
}

# options_of VERB: long and short ones.
options_of() {
	"$rtl" "$1" --help | grep -o '^ \{2,6\}\(-., \)\?--[a-z0-9-]*' | tr -s ', ' '\n' | grep .
}

# shown PAGE: as a terminal shows it, in one line for each paragraph's words.
shown() {
	MANWIDTH=1000 man -l "$1" | col -bx
}

@test "every verb has a manual page with each of its options and what is said about it" {
	local verb option count=0
	for verb in $(verbs); do
		[ "$verb" != help ] || continue
		shown "$pages/man1/rtl-$verb.1" >page
		for option in $(options_of "$verb"); do
			grep -qE -e "(^|[ ,])$option([]=, []|$)" page || { echo "rtl-$verb(1) lacks $option"; false; }
			count=$((count + 1))
		done
		# The words behind the last option but --help.
		ARGP_HELP_FMT=rmargin=5000 "$rtl" "$verb" --help | grep -A1 '^  *-' | grep -v -e '--help' | tail -n 1 |
			sed 's/^ *\(-.*  \)\? *//' | tr -s ' ' >words
		[ -s words ]
		tr -s ' ' <page | grep -qF -f words
	done
	[ $count -gt 100 ]
	shown "$pages/demo/man1/rtl-demo.1" >page
	for option in $("$demo" --help | grep -o '^ \{2,6\}\(-., \)\?--[a-z0-9-]*' | tr -s ', ' '\n' | grep .); do
		grep -qE -e "(^|[ ,])$option([]=, []|$)" page || { echo "rtl-demo(1) lacks $option"; false; }
		count=$((count + 1))
	done
	shown "$pages/man8/collectord.8" >page
	for option in $("$collectord" --help | grep -o '^ \{2,6\}\(-., \)\?--[a-z0-9-]*' | tr -s ', ' '\n' | grep .); do
		grep -qE -e "(^|[ ,])$option([]=, []|$)" page || { echo "collectord(8) lacks $option"; false; }
	done
}

@test "rtl(1) lists every verb and every exit status, rtl-database(5) every view that users read" {
	local word
	shown "$pages/man1/rtl.1" >page
	for word in $(verbs); do
		grep -q "^ *rtl $word" page
	done
	for word in $("$rtl" --help | sed -n '/^Exit status:/,$ s/^  \([a-z0-9]*\) .*/\1/p'); do
		grep -q "^ *$word  *[a-z-]" page
	done
	[ -n "$word" ]
	"$rtl" run -q --device soft -o t.db -- "$demo" --ranks 1 --steps 1 >out
	shown "$pages/man5/rtl-database.5" >page
	for word in $(sql t.db "SELECT name FROM sqlite_schema WHERE type = 'view'" | grep -v _base); do
		grep -qw "$word" page || { echo "rtl-database(5) lacks $word"; false; }
	done
}

@test "docs/commands.md has the table of exit statuses that rtl --help has" {
	diff <(sed -n '/^## Exit status/,/^## E[^x]/s/^| \([0-9a-z]*\) | \(.*\) |$/\1 \2/p' "$here/../../docs/commands.md" | grep -v '^status ') \
		<("$rtl" --help | sed -n '/^Exit status:/,$ s/^  \([a-z0-9]*\)  *\(.*\)/\1 \2/p')
}

# bats test_tags=apart
@test "no manual page has a mistake that mandoc or groff knows" {
	local page
	for page in "$pages"/man?/* "$pages"/demo/man1/*; do
		run -0 mandoc -T lint -W warning "$page"
		[ -z "$output" ]
		run -0 env LC_ALL=C.UTF-8 MANROFFSEQ= sh -c 'man --warnings -l "$1" 2>&1 >/dev/null' sh "$page"
		[ -z "$output" ]
	done
}

# completed WORD...: what bash offers for the last one.
completed() {
	bash -c '. "$1"; shift; COMP_WORDS=("$@"); COMP_CWORD=$(($# - 1)); compopt() { :; }; _rtl
		printf "%s\n" "${COMPREPLY[@]}"' bash "$pages/rtl.bash" rtl "$@"
}

@test "bash completes every verb, each of its options, and values where only some are taken" {
	local verb
	diff <(completed '' | grep -v '^trace$\|^--' | sort) <(verbs | sort)
	for verb in $(verbs) trace; do
		[ "$verb" != help ] || continue
		diff <(completed "$verb" - | sed 's/=$//' | sort) <(options_of "$verb" | sort)
	done
	[ "$(completed run --device = s)" = soft ]
	[ "$(completed help summ)" = summary ]
	[ "$(completed su)" = summary ]
}

# bats test_tags=apart
@test "zsh completes every verb and each of its options" {
	local verb
	zsh -n "$pages/_rtl"
	for verb in $(verbs) trace; do
		grep -q "^		'$verb:" "$pages/_rtl"
		[ "$verb" != help ] || continue
		diff <(sed -n "/^	$verb)/,/;;/ s/^		'\(-[-a-z0-9]*\).*/\1/ip" "$pages/_rtl" | sort) \
			<(options_of "$verb" | sort)
	done
}

@test "titles of tables that are no plain words are explained by --help" {
	"$rtl" run -q --device soft --mode all -o t.db -- "$demo" --ranks 2 --steps 2 >out
	local verb title
	while read -r verb title; do
		ARGP_HELP_FMT=rmargin=5000 "$rtl" "$verb" --help | grep -qE "(^|[ ,])$title( ms| us)?[:,;]" || { echo "$verb: $title"; false; }
		# This run has no calls of HIP, and no collective that is matched.
		[[ $verb == collectives || $title == "NOT 0" || $title == LAUNCH ]] ||
			"$rtl" "$verb" --wide t.db $([ "$verb" != diff ] || echo t.db) | grep -F "$title" >shown || { echo "$verb: no $title"; false; }
	done <<-'END'
		summary CALLS
		summary P50
		summary TIME %
		summary BUSY %
		summary UNTIMED
		summary SKIPPED
		summary NOT 0
		summary LAUNCH
		tree SELF
		tree QUEUE
		tree WORST
		diff RATIO
		diff OF RANKS
		diff CLEAR
		diagnose WORK
		diagnose LEADS
		collectives BUSBW
		collectives SKEW
		collectives LAST %
		timeline MICRO %
	END
}

@test "a short option means the same in every verb, and docs/commands.md has all of them" {
	local verb
	for verb in $("$rtl" help | sed -nE "s/^  rtl ([a-z]+) .*/\1/p"); do
		[ "$verb" = help ] || COLUMNS=200 "$rtl" "$verb" --help | sed -nE "s/^ {2,6}(-(.), )?--([a-z-]+).*/$verb \2 \3/p"
	done >options
	[ "$(wc -l <options)" -gt 100 ]
	# "SHORT LONG", of the table.
	sed -n '/^## Short options/,/^## Tables/p' "$here/../../docs/commands.md" |
		sed -nE 's/^\| `-(.)` \| (.*) \|$/\1 \2/p' | while read -r short words; do
		grep -oE -- '--[a-z-]+' <<<"$words" | sed "s/^--/$short /"
	done | sort >documented
	awk 'NF == 3 { print $2, $3 }' options | sort -u >used
	diff documented used
	# An option that has a letter has it in every verb; export's --csv is one of its formats.
	awk 'NR == FNR { letter[$2] = $1; next } NF == 2 && $2 in letter && !($1 == "export" && $2 == "csv")' documented options >lacking
	[ ! -s lacking ] || { cat lacking; false; }
	[ "$(awk '$2 == "f" && $3 == "file" { print $1 }' options)" = query ]
}
