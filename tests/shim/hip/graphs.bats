#!/usr/bin/env bats
# SPDX-License-Identifier: MIT
# Graph replays: exact counts, every one timed.
load hip.bash

@test "a chain of 1 node, 100 replays" {
	scene graph 1 100
	launched
	exact
}

@test "a chain of 256 nodes, 100 replays" {
	scene graph 256 100
	launched
	exact
}

# bats test_tags=apart
@test "a chain of 257 nodes, 100 replays" {
	scene graph 257 100
	launched
	exact
}

@test "a chain of 5,000 nodes, replayed again and again" {
	scene graph 5000 "${RTL_TEST_LONG:+100}4"
	complete_with_calls
}

@test "a graph that forks 40 ways and joins nowhere, 50 replays" {
	scene forks 40 50
	launched
	exact
}

@test "a captured graph of 300 launches, 50 replays" {
	scene captured 300 50
	launched
	exact
}

# numbered: the dispatches of each replay are its nodes 0 .. n - 1, on any queues.
numbered() { # numbered LAUNCHES NODES
	[ "$(sql t.db "SELECT count(*), min(n), max(n), min(distinct_n), max(last) FROM (
		SELECT count(*) AS n, count(DISTINCT graph_node) AS distinct_n, max(graph_node) AS last
		FROM rocpd_op WHERE graph_exec IS NOT NULL GROUP BY process_id, graph_exec, graph_launch)")" = \
		"$1|$2|$2|$2|$(($2 - 1))" ]
	# On one queue, in the order of the queue.
	[ "$(sql t.db "SELECT count(*) FROM (SELECT graph_node - lag(graph_node) OVER (
		PARTITION BY process_id, api_id, queueId ORDER BY sequenceId) AS step
		FROM rocpd_op WHERE graph_exec IS NOT NULL) WHERE step <= 0")" -eq 0 ]
	[ "$(sql t.db "SELECT coalesce(sum(value), 0) FROM rtl_counter
		WHERE name IN ('unlinked', 'unattributed')")" -eq 0 ]
}

@test "host calls recorded: 5,000 nodes, each with its number in its replay" {
	local replays=${RTL_TEST_LONG:+1}4
	rtl_options="--mode hip" scene graph 5000 "$replays"
	exact
	numbered "$replays" 5000
}

@test "host calls recorded: a graph on four queues, numbered over all of them" {
	rtl_options="--mode hip" scene forks 40 50
	exact
	numbered 50 81
	[ "$(sql t.db 'SELECT count(DISTINCT queueId) FROM rocpd_op WHERE graph_exec IS NOT NULL')" -eq 4 ]
}
