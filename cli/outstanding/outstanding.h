/* SPDX-License-Identifier: MIT */
#pragma once
/*
 * What each rank of a session waits in, and which rank is the odd one out: from its database, live
 * or closed, also after ranks died. For rtl outstanding and rtl stat --outstanding. One thread;
 * prints nothing.
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "cli/database/query.h"
#include "cli/database/verdict.h"

/* Shorter, and a job that gets on would always have an odd one out. */
#define OUTSTANDING_LONG_NS 1000000000

/* The oldest dispatch in flight of a queue. */
struct outstanding_wait {
	int64_t queue, seq, gpu, behind, kernel_id;
	bool has_gpu, has_submit;
	int64_t submit_ns;
	int64_t for_ns; /* to now, or to the end of its process; -1: unknown */
	/* Likewise, from when it could begin: what was before it in its queue had ended. */
	int64_t ran_ns;
	char *kernel; /* NULL: unknown */
	char *range;  /* innermost open range of the submitting thread; NULL: none */
	/* The collective that caused it. */
	bool has_collective, has_comm_size;
	char *op;
	int64_t comm, comm_seq, bytes, comm_size;
	int64_t collectives; /* of its group */
	/* A kernel of communication whose collective is not known: which, and its how many-th. */
	char *communication; /* NULL: none */
	int64_t nth;
};

struct outstanding_collective {
	int64_t comm, seq;
	char *op;
};

struct outstanding_rank {
	int64_t process_id, pid;
	bool has_rank;
	int64_t rank;
	bool is_alive;	/* as far as can be seen from here */
	bool is_unseen; /* neither alive, nor did a collector see its end */
	char *ended;	/* exited, killed, ...; NULL: not that a collector knows */
	bool has_status;
	int64_t status;
	int64_t end_ns;	  /* 0: unknown */
	int64_t as_of_ns; /* now, when it ended, or when it was last heard of; 0: unknown */
	int64_t dispatched;
	struct outstanding_wait *waits; /* the oldest first: that is what it waits in */
	size_t wait_count;
	int64_t unended; /* dispatches not seen to end: those waited for and those behind them */
	char *range;	 /* open now; NULL: none */
	bool has_last;
	int64_t last_end_ns, last_seq;
	char *last;			       /* kernel */
	struct outstanding_collective *called; /* the newest of each communicator */
	size_t called_count;
};

struct outstanding {
	struct outstanding_rank *ranks; /* those that dispatched anything, by rank */
	size_t count;
	bool is_live;		    /* a rank is alive */
	int64_t realtime_offset_ns; /* CLOCK_REALTIME - CLOCK_BOOTTIME */
	char *sentence;		    /* which rank stands out, and why; or that none does */
	bool *is_odd;		    /* by rank */
	struct verdict *verdict;
};

/* 0; -errno as query_open(), then query_error() tells; or with @error (categories). */
int outstanding_new(struct query *query, char error[QUERY_ERROR_BYTES], struct outstanding **ret);
void outstanding_free_p(struct outstanding **outstanding);

/* outliers.c: fills sentence and is_odd from all else. -ENOMEM. */
int outstanding_judge(struct outstanding *outstanding);

/*
 * What it waits in, or died in; NULL: nothing, or it is not known. Of a dead process' last
 * dispatches some have ended since its shim looked last, and their GPU had long been idle: one is
 * what it died in only if it had been running for OUTSTANDING_LONG_NS by then.
 */
const struct outstanding_wait *outstanding_in(const struct outstanding_rank *rank);

/* "SIGKILL", "exit status 3"; borrowed until the next call. */
const char *outstanding_status(const struct outstanding_rank *rank);
/* "all_reduce #1,204 of communicator 0x9e3f", "kernel foo", to @to. */
void outstanding_put_wait(FILE *to, const struct outstanding_wait *wait);

/* "; 3 dispatches not seen to end", or nothing */
void outstanding_put_unended(FILE *to, const struct outstanding_rank *rank);

/* "all_reduce #1,204" */
void outstanding_put_call(FILE *to, const char *op, int64_t seq);
/* A kernel's name without its namespaces, template arguments and parameters; NULL: unknown. */
void outstanding_put_kernel(FILE *to, const char *name);

/* show.c. @width: 0: not cut. -ENOMEM. */
int outstanding_show(
	const struct outstanding *outstanding, enum render_format format, size_t width, FILE *to);
/* One document or one line. NULL: no memory. */
json_t *outstanding_json(const struct outstanding *outstanding);
