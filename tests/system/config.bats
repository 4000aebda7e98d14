#!/usr/bin/env bats
# SPDX-License-Identifier: MIT
# rtl.conf, and what stands over it.
load lib.bash
bats_require_minimum_version 1.5.0

configure() { # the user's file, from stdin
	export XDG_CONFIG_HOME=$work/config
	mkdir -p "$XDG_CONFIG_HOME/rtl"
	cat >"$XDG_CONFIG_HOME/rtl/rtl.conf"
}

mode_of() { # mode_of [OPTION...]: in which a job is recorded
	"$rtl" run -q -f --device soft -o t.db "$@" -- "$demo" --ranks 1 --steps 1 >out 2>err
	sql t.db "SELECT DISTINCT mode FROM rtl_process"
}

@test "rtl run takes its options from rtl.conf; the environment stands over it, and the command line over both" {
	configure <<-'END'
		# what we want of every job
		[run]
		mode = full
		quiet = yes
		  ; nothing of this
		private = no
	END
	[ "$(mode_of)" = full ]
	[ "$(RTL_MODE=lite mode_of)" = lite ]
	[ "$(RTL_MODE=lite mode_of --mode standard)" = standard ]
	"$rtl" run --device soft -o q.db -- "$demo" --ranks 1 --steps 1 >out 2>err
	not grep -q '^rtl: session' err
	# The alias is the same verb.
	"$rtl" trace --device soft -o t.db -- "$demo" --ranks 1 --steps 1 >out 2>err
	[ "$(sql t.db "SELECT DISTINCT mode FROM rtl_process")" = full ]
	run -0 "$rtl" config
	[ "$output" = $'run.mode=full\nrun.quiet=yes\nrun.private=no' ]
	run -0 env RTL_MODE=hip "$rtl" config --show-origin
	[ "${lines[0]}" = $'RTL_MODE\trun.mode=hip' ]
	[ "${lines[1]}" = "$XDG_CONFIG_HOME/rtl/rtl.conf:4"$'\trun.quiet=yes' ]
	# Without a file nothing is set.
	rm "$XDG_CONFIG_HOME/rtl/rtl.conf"
	run -0 --separate-stderr "$rtl" config
	[ -z "$output" ]
	[[ $stderr == "rtl: no settings in /etc/rtl/rtl.conf and "* ]]
	[ "$(mode_of)" = standard ]
}

@test "the user's file stands over the system's, key by key" {
	[ "$(id -u)" -eq 0 ] || {
		echo "needs root: it puts a file into an /etc of its own"
		return 1
	}
	configure <<<$'[run]\nmode = hip\nstrict = no\n'
	cp -a /etc etc
	mkdir -p etc/rtl
	printf '[run]\nmode = full\nstrict = yes\nquiet = yes\n[quota]\nmax-sessions = 3\n' >etc/rtl/rtl.conf
	run -0 unshare --mount sh -c 'mount --bind etc /etc && exec "$@"' sh "$rtl" config --show-origin
	[ "${lines[0]}" = $'/etc/rtl/rtl.conf:4\trun.quiet=yes' ]
	[ "${lines[1]}" = $'/etc/rtl/rtl.conf:6\tquota.max-sessions=3' ]
	[ "${lines[2]}" = "$XDG_CONFIG_HOME/rtl/rtl.conf:2"$'\trun.mode=hip' ]
	[ "${lines[3]}" = "$XDG_CONFIG_HOME/rtl/rtl.conf:3"$'\trun.strict=no' ]
	[ "${#lines[@]}" -eq 4 ]
}

@test "what rtl.conf may not say is one line with file and line, before anything starts" {
	local text want
	while IFS='|' read -r text want; do
		configure < <(printf '%b' "$text")
		run -125 --separate-stderr "$rtl" run -o t.db -- touch started
		[[ $stderr == "rtl: run: $XDG_CONFIG_HOME/rtl/rtl.conf:$want"* ]] || { echo "$text: $stderr"; false; }
		[ "$(wc -l <<<"$stderr")" -eq 1 ]
		run -1 --separate-stderr "$rtl" config
		[[ $stderr == "rtl: config: $XDG_CONFIG_HOME/rtl/rtl.conf:$want"* ]]
		[ -z "$output" ]
		[ ! -e started ]
		[ ! -e t.db ]
		# Other verbs have no part in it.
		"$rtl" --version
	done <<-'END'
		[run]\nmode = full\nmodes = full\n|3: [run] has no key modes
		[run]\nmod = full\n|2: [run] has no key mod
		[run]\nprivate = maybe\n|2: private is yes or no, not maybe
		[runs]\n|1: sections are run, stat,
		[run\n|1: a section ends with ]
		mode = full\n|1: it stands before any [section]
		\n\n[run]\nmode\n|4: neither [section] nor key = value
		[run]\nmode =\n|2: the value is missing
		[run]\nmode = full\nmode = hip\n|3: this key is given twice
		[run]\n-o = x\n|2: [run] has no key -o
		[metrics]\nport = 9\n|2: [metrics] has no key port; no program takes this section yet
		[run]\nmode = full\n[cluster]\nstore = /x\n|4: [cluster] has no key store
	END
	configure <<<$'[stat]\ncounts = 3'
	run -2 "$rtl" stat
	[[ $output == "rtl: stat: $XDG_CONFIG_HOME/rtl/rtl.conf:2: [stat] has no key counts"* ]]
	# A value, by the verb that takes it.
	configure <<<$'[run]\nquiet = yes\nmode = fuller'
	run -125 "$rtl" run -o t.db -- touch started
	[[ $output == "rtl: run: $XDG_CONFIG_HOME/rtl/rtl.conf:3: --mode fuller: none of lite, "* ]]
	run -1 --separate-stderr "$rtl" config
	[[ $stderr == "rtl: config: $XDG_CONFIG_HOME/rtl/rtl.conf:3: --mode fuller: none of lite, "* && -z $output ]]
	run -125 "$rtl" run -o t.db --mode fullest -- touch started
	[[ $output == "rtl: run: --mode fullest: none of lite, "* || $output == "rtl: run: $XDG_CONFIG_HOME/rtl/rtl.conf:3: "* ]]
	[ ! -e started ]
	configure <<<$'[stat]\ninterval = soon'
	run -2 "$rtl" stat
	[[ $output == "rtl: stat: $XDG_CONFIG_HOME/rtl/rtl.conf:2: --interval soon: "* ]]
	run -1 "$rtl" config
	[[ $output == "rtl: config: $XDG_CONFIG_HOME/rtl/rtl.conf:2: --interval soon: "* ]]
	# Of other sections the collector knows the keys.
	configure <<<$'[stat]\ncount = 1\n[service]\nwhatever = 1'
	run -0 "$rtl" config
	"$rtl" run -q --device soft -o t.db -- true 2>err
	configure < <(head -c 70000 /dev/zero | tr '\0' '#')
	run -1 "$rtl" config
	[[ $output == *"rtl.conf: is no configuration of rtl: more than 64 KiB" ]]
}

@test "a socket in rtl.conf gives way to -o and RTL_OUTPUT, an output to --socket and RTL_SOCKET" {
	configure <<<$'[run]\nsocket = /nowhere/s.sock'
	"$rtl" run -q --strict --device soft -o a.db -- "$demo" --ranks 1 --steps 1 >out 2>err
	accounted a.db
	RTL_OUTPUT=b.db "$rtl" run -q --strict --device soft -- "$demo" --ranks 1 --steps 1 >out 2>err
	accounted b.db
	mkdir store
	"$collectord" --socket "$work/s.sock" --db-dir "$work/store" >collector.log 2>&1 3>&- &
	pids+=($!)
	wait_until listens "$work/s.sock"
	configure <<<$'[run]\noutput = c.db'
	"$rtl" run -q --strict --device soft --socket "$work/s.sock" -- "$demo" --ranks 1 --steps 1 >out 2>err
	RTL_SOCKET=$work/s.sock "$rtl" run -q --strict --device soft -- "$demo" --ranks 1 --steps 1 >out 2>err
	[ ! -e c.db ]
	"$rtl" run -q --strict --device soft -- "$demo" --ranks 1 --steps 1 >out 2>err
	accounted c.db
}

@test "a user's file that may not be read is none, as under sudo" {
	[ "$(id -u)" -eq 0 ] || {
		echo "needs root: it becomes another user"
		return 1
	}
	configure <<<$'[run]\nbogus = 1'
	cp "$rtl" rtl
	chmod 755 "$work" rtl && chmod 700 config
	run -0 --separate-stderr setpriv --reuid 65534 --regid 65534 --clear-groups ./rtl config
	[ -z "$output" ]
}

@test "collectord takes its options from rtl.conf, the command line stands over it, and --check says whether it can" {
	local text want
	configure <<-END
		[service]
		socket = $work/c.sock
		db-dir = $work/kept
		[quota]
		quota-rows = 1024
		quota-burst = 1
		[retention]
		keep-sessions = 1
	END
	mkdir kept other
	run -0 "$collectord" --check
	[ -z "$output" ]
	"$collectord" >collector.log 2>&1 3>&- &
	pids+=($!)
	wait_until listens "$work/c.sock"
	for job in first second; do
		RTL_JOB_ID=$job "$rtl" run -q --socket "$work/c.sock" --device soft -- "$demo" --ranks 1 --steps 1 >out 2>err
	done
	one_is_left() { [ "$(echo kept/*/*.db | tr ' ' '\n' | grep -c .)" -eq 1 ]; }
	wait_until one_is_left
	[[ "$(sql "$(echo kept/*/*.db)" 'SELECT job FROM rtl_session')" == *second* ]]
	"$collectord" --socket "$work/d.sock" --db-dir other >other.log 2>&1 3>&- &
	pids+=($!)
	wait_until listens "$work/d.sock"
	"$rtl" run -q --socket "$work/d.sock" --device soft -- "$demo" --ranks 1 --steps 1 >out 2>err
	[ "$(ls other/*/*.db | wc -l)" -eq 1 ]
	while IFS='|' read -r text want; do
		configure < <(printf '%b' "$text")
		run -2 "$collectord" --check
		[[ $output == "collectord: $XDG_CONFIG_HOME/rtl/rtl.conf:$want"* ]] || { echo "$text: $output"; false; }
		[ "${#lines[@]}" -eq 1 ]
		run -2 "$collectord" --socket "$work/e.sock" --db-dir other
	done <<-'END'
		[service]\nsocked = /x\n|2: [service] has no key socked
		[service]\nquota-rows = 3\n|2: [service] has no key quota-rows
		[quota]\nverbose = yes\n|2: [quota] has no key verbose
		[retention]\n\nkeep-weeks = 7\n|3: [retention] has no key keep-weeks
		[service]\nverbose = 1\n|2: verbose is yes or no, not 1
		[quota]\nquota-rows = many\n|2: quota-rows: not a number up to 1000000000: many
		[retention]\nkeep-free = 5\nkeep-days = -1\n|3: keep-days: not a number up to 36500: -1
		[service]\ndisk-wait = 0\n|2: disk-wait: at least a second
	END
	# What two settings are together has no line.
	configure <<<$'[quota]\nquota-rows = 3'
	run -2 "$collectord" --check
	[[ $output == "collectord: --quota-rows times --quota-burst: at least "* ]]
	run -2 "$collectord" --quota-rows many --check
	[[ $output == *"--quota-rows: not a number"*many* ]]
	# What belongs to the verbs is theirs.
	configure <<<$'[run]\nbogus = 1'
	run -0 "$collectord" --check
}

# reloads [OPTION...]: a collector with these options takes what rtl.conf says now, and a wrong file changes nothing.
reloads() {
	local service ran
	configure <<<$'[retention]\nkeep-sessions = 9'
	mkdir -p store
	"$collectord" --socket "$work/c.sock" --db-dir "$work/store" "$@" >collector.log 2>&1 3>&- &
	service=$!
	pids+=($service)
	wait_until listens "$work/c.sock"
	job() { RTL_JOB_ID=$1 "$rtl" run -q --socket "$work/c.sock" --device soft -- "${@:2}" >out 2>err; }
	job first "$demo" --ranks 1 --steps 1
	job second "$demo" --ranks 1 --steps 1
	# While a job is open, so that its worker has to be told.
	mkfifo gate
	job third sh -c '"$0" --ranks 1 --steps 1; touch ran; read line <gate' "$demo" 3>&- &
	local runner=$!
	pids+=($runner)
	wait_until test -e ran
	configure <<<$'[retention]\nkeep-sessions = 1\nkeep-weeks = 2'
	kill -HUP $service
	wait_until grep -q 'not reloaded: quotas and retention stay as they are' collector.log
	grep -q "$XDG_CONFIG_HOME/rtl/rtl.conf:3: \[retention\] has no key keep-weeks" collector.log
	configure <<<$'[quota]\nquota-names = some'
	kill -HUP $service
	wait_until grep -q "$XDG_CONFIG_HOME/rtl/rtl.conf:2: quota-names: not a number" collector.log
	count() { [ "$(find store -name '*.db' ! -name index.db | wc -l)" -eq "$1" ]; }
	count 3
	configure <<<$'[quota]\nquota-names = 1\nquota-memory = 300\n[retention]\nkeep-sessions = 1'
	kill -HUP $service
	wait_until grep -q ': reloaded: quotas and retention are those of rtl.conf as it is now' collector.log
	# The first of the two that were closed goes.
	wait_until count 2
	# A worker may have 512 MiB besides; 172 is the default. A sanitizer needs more than that.
	[ $# -gt 0 ] || [ -n "$sanitizer" ] || wait_until has_worker_of $service $(((512 + 300) << 20))
	[ "$(overflows "$(db_of third)")" -eq 0 ]
	echo go >gate
	wait $runner
	# Its names are more than one.
	job fourth "$demo" --ranks 1 --steps 1
	[ "$(overflows "$(db_of fourth)")" -gt 0 ]
	kill -TERM $service
	wait $service
}
has_worker_of() { # has_worker_of PID BYTES
	local pid
	for pid in $(pgrep -P "$1"); do
		! grep -q "^Max data size  *$2 " /proc/"$pid"/limits || return 0
	done
	return 1
}
db_of() { # db_of JOB
	local db
	for db in $(find store -name '*.db' ! -name index.db); do
		[ "$(sql "$db" 'SELECT job FROM rtl_session')" != "$1" ] || echo "$db"
	done
}
overflows() { sql "$1" "SELECT count(*) FROM rtl_kernel WHERE name LIKE '%<name-overflow>%'"; }

@test "SIGHUP gives the workers of a service the quotas and the retention of rtl.conf, and a wrong file changes nothing" {
	reloads
}

@test "SIGHUP gives a collector of one user the quotas and the retention of rtl.conf, and a wrong file changes nothing" {
	reloads --private
}
