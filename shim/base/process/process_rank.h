/* SPDX-License-Identifier: MIT */
#pragma once
/*
 * The rank and job of this process, as far as they are known by now. A program may set PyTorch's
 * variables long after its start (os.environ, setenv), and if nothing else names the rank, its RCCL
 * communicators do. So the environment is read again on the program's own threads when they are
 * about to use a GPU. No other part of the shim reads it after OnLoad, because setenv() may move it
 * meanwhile.
 */
#include <stdbool.h>
#include <stdint.h>

#include "proto/settings/rank.h"
#include "shim/base/process/communicators.h"

struct process_rank {
	struct rank_info declared; /* from the environment */
	struct communicator largest;
};

/*
 * Called in OnLoad, before another thread may call process_rank_look(). Hello reports the
 * environment as it is at this moment.
 */
void process_rank_begin(struct rank_info *ret_declared);

/*
 * Called on a thread of the program inside a call that takes long anyway: checks whether the
 * environment has changed. Reads nothing while another thread does, or once PyTorch's variables are
 * complete; with @is_often, at most ten times a second. Never waits, keeps errno, allocates
 * nothing.
 */
void process_rank_look(bool is_often);

/* Called when a communicator is made: reads the environment even if it was complete before. */
void process_rank_look_again(void);

/*
 * Takes what is known if it differs from what was last taken: returns 1, or 0 if it does not
 * differ, or -EBUSY while another thread is updating it. Only one thread may take.
 */
int process_rank_take(struct process_rank *ret);

/* For a forked child, which has no other threads. */
void process_rank_forget(void);
