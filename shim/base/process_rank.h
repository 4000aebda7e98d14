/* SPDX-License-Identifier: MIT */
#pragma once
/*
 * Which rank of which job this process is, as it says by now. A program may set PyTorch's variables
 * long after its start (os.environ, setenv), and its RCCL communicators name its rank where nothing
 * else does. So the environment is read again on the program's own threads, where they are about to
 * use a GPU: nothing else of the shim reads it, because setenv() may move it under other threads.
 */
#include <stdbool.h>
#include <stdint.h>

#include "proto/settings/rank.h"
#include "shim/base/communicators.h"

struct process_rank {
	struct rank_info told; /* by the environment */
	struct communicator largest;
};

/* OnLoad, before another thread may look: the environment as it is now is what Hello says. */
void process_rank_begin(struct rank_info *ret_told);

/*
 * A thread of the program, in a call that takes long anyway: has the environment changed? Reads
 * nothing while another thread looks, nor once PyTorch's variables have said everything; with
 * @is_often not more than ten times a second. Never waits, keeps errno, allocates nothing.
 */
void process_rank_look(bool is_often);

/* A communicator is made: look, whatever was known before. */
void process_rank_look_again(void);

/* What is known differs from what was last taken. One thread at a time; false: not now. */
bool process_rank_take(struct process_rank *ret);

/* In a forked child, whose other threads are gone. */
void process_rank_forget(void);
