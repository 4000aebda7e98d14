# SPDX-License-Identifier: MIT
# Common to the bats files with a service: a collector of many sessions, in $work.
start_service() { # [FOLDER]
	"$collectord" --socket "$work/c.sock" --db-dir "${1:-$work/store}" >>collector.log 2>&1 3>&- &
	service=$!
	pids+=($service)
	wait_until answers
}
answers() { "$rtl" ctl --socket "$work/c.sock" status >/dev/null 2>&1; }
service_db() { find "$work/store" -name '*.db' ! -name index.db; }
