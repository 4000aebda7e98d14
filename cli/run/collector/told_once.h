/* SPDX-License-Identifier: MIT */
#pragma once
/* What all ranks of a launch find out on a node, and one of them tells the user. */
#include <stdbool.h>

struct run_launch;

/*
 * True if this rtl run is to tell it: it is the first one of its launch on this node that asks. A
 * file in the folder of the private sockets says that one has asked. Where the launcher cannot be
 * seen, which would tell this launch from the next one with its key, each rank tells it, or, with
 * @is_found_by_all, the first rank of the node.
 */
bool run_tells_launch(const struct run_launch *launch, bool is_found_by_all);
