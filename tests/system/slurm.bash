# SPDX-License-Identifier: MIT
# A one-node Slurm of the test's own (munge, controller, node daemon) under $work/slurm.

slurm_start() { # slurm_start [LINE...]: more of slurm.conf
	local dir=$work/slurm host
	host=$(hostname -s)
	mkdir -p "$dir"/spool "$dir"/state
	mkdir -m 0711 "$dir/munge"
	chmod 0755 "$work" "$dir"
	head -c 64 /dev/urandom >"$dir/munge/key"
	chmod 0400 "$dir/munge/key"
	cat >"$dir/slurm.conf" <<-CONF
		ClusterName=test
		SlurmctldHost=$host(127.0.0.1)
		AuthType=auth/munge
		AuthInfo=socket=$dir/munge/socket
		SlurmUser=root
		SlurmctldPort=$(free_port)
		SlurmdPort=$(free_port)
		StateSaveLocation=$dir/state
		SlurmdSpoolDir=$dir/spool
		SlurmctldPidFile=$dir/slurmctld.pid
		SlurmdPidFile=$dir/slurmd.pid
		ProctrackType=proctrack/linuxproc
		TaskPlugin=task/none
		SelectType=select/cons_tres
		SelectTypeParameters=CR_Core
		ReturnToService=2
		NodeName=$host NodeAddr=127.0.0.1 CPUs=$(nproc)
		PartitionName=all Nodes=$host Default=YES State=UP
	CONF
	[ $# -eq 0 ] || printf '%s\n' "$@" >>"$dir/slurm.conf"
	export SLURM_CONF=$dir/slurm.conf
	munged --force --foreground --socket="$dir/munge/socket" --key-file="$dir/munge/key" \
		--pid-file="$dir/munge/pid" --log-file="$dir/munge/log" --seed-file="$dir/munge/seed" \
		>"$dir/munged.out" 2>&1 3>&- &
	pids+=($!)
	wait_until test -S "$dir/munge/socket"
	slurmctld -D >"$dir/slurmctld.out" 2>&1 3>&- &
	pids+=($!)
	slurmd -D >"$dir/slurmd.out" 2>&1 3>&- &
	pids+=($!)
	slurm_idle() { sinfo -h -o %T 2>/dev/null | grep -q idle; }
	wait_until slurm_idle || {
		cat "$dir"/*.out
		return 1
	}
}
