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

@test "a chain of 257 nodes, 100 replays" {
	scene graph 257 100
	launched
	exact
}

@test "a chain of 5,000 nodes, 100 replays: 500,000 dispatches" {
	scene graph 5000 100
	launched
	exact
	[ "$(sql t.db 'SELECT count(*) FROM rocpd_op WHERE start IS NOT NULL')" -ge 500000 ]
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
