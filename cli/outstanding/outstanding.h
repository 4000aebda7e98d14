/* SPDX-License-Identifier: MIT */
#pragma once
/*
 * What each rank of a session waits in, and which rank stands out. Read from its database, which
 * may be open or closed, also after ranks died. For rtl outstanding and rtl stat --outstanding. One
 * thread; prints nothing.
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "cli/trace/trace.h"
#include "cli/database/session/verdict.h"

/* With a smaller limit, some rank would always stand out in a job that makes progress. */
#define OUTSTANDING_LONG_NS 1000000000

/* The oldest dispatch of a queue that is in flight. */
struct outstanding_wait {
	int64_t queue, seq, gpu, behind, kernel_id;
	bool has_gpu, has_submit;
	int64_t submit_ns;
	int64_t for_ns; /* until now, or until the end of its process; -1 if unknown */
	/*
	 * Like for_ns, but counted from when it could begin: dispatches before it in its queue had
	 * ended.
	 */
	int64_t ran_ns;
	int64_t taken_ns; /* when a live process was last seen to have it in flight; 0: it is dead */
	char *kernel; /* NULL if unknown */
	char *range;  /* innermost open range of the submitting thread; NULL if there is none */
	/* The collective call that caused it. */
	bool has_collective, has_comm_size;
	char *op;
	int64_t comm, comm_seq, bytes, comm_size;
	int64_t collectives; /* number of collectives in its group */
	/*
	 * A communication kernel whose collective is not known: its name and its number among those
	 * of its kind.
	 */
	char *communication; /* NULL if there is none */
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
	bool is_alive;	 /* as far as can be seen from this host */
	bool is_stopped; /* alive, by SIGSTOP or a debugger: its shim sees no dispatch end */
	bool is_unseen;	 /* not alive, and no collector saw its end */
	char *ended;	 /* exited, killed, ...; NULL if no collector knows */
	bool has_status;
	int64_t status;
	int64_t end_ns;	  /* 0 if unknown */
	int64_t as_of_ns; /* now, or when it ended, or when its last data came; 0 if unknown */
	int64_t dispatched;
	/* The oldest first, which is the one that the rank waits in. */
	struct outstanding_wait *waits;
	size_t wait_count;
	/* Dispatches whose end was not seen: those waited for and those behind them. */
	int64_t unended;
	char *range; /* open now; NULL if there is none */
	bool has_last;
	int64_t last_end_ns, last_seq;
	char *last;			       /* kernel name */
	struct outstanding_collective *called; /* the newest collective of each communicator */
	size_t called_count;
};

struct outstanding {
	struct outstanding_rank *ranks; /* ranks that dispatched anything, sorted */
	size_t count;
	bool is_live;		    /* at least one rank is alive */
	int64_t realtime_offset_ns; /* CLOCK_REALTIME - CLOCK_BOOTTIME */
	char *sentence;		    /* which rank stands out, and why; or that none does */
	bool *is_odd;		    /* indexed like ranks */
	struct verdict *verdict;
};

/*
 * Returns 0; -errno like query_open(), with the reason in query_error(); or -errno with @error
 * (categories).
 */
int outstanding_new(const struct trace *trace, struct outstanding **ret);
void outstanding_free_p(struct outstanding **outstanding);

/* outliers.c: fills sentence and is_odd from all other fields. */
void outstanding_judge(struct outstanding *outstanding);

/*
 * Returns what the rank waits in or died in; NULL if there is nothing or it is not known. Some of a
 * dead process's last dispatches have ended after its shim checked last, and their GPU had long
 * been idle: the process died in a dispatch only if that had been running for OUTSTANDING_LONG_NS
 * by then.
 */
const struct outstanding_wait *outstanding_in(const struct outstanding_rank *rank);

/* Ranks that wait in one operation for so long that the job does not get on. */
struct outstanding_hang {
	char *line; /* "Rank 2 hangs in wait_for_flag for 59.1 s": OUTSTANDING_LINE_MAX at most */
	char *text; /* the line, and what a rank does that is missing in the operation */
	int64_t for_ns;
};

/* A line for a narrow terminal. */
#define OUTSTANDING_LINE_MAX 80

/*
 * Returns the hang of the ranks that stand out, else of those that wait longest; NULL if no
 * dispatch has run for @min_ns, or was running so long when its process died. While processes
 * live, those that have died do not hang; nor does a process in which anything has ended within
 * @min_ns, or that is stopped, or that its collector has not looked at for @min_ns: what it has in
 * flight may wait for its other queues, or may long have ended. A rank is said not to be in a
 * collective only where it waits in nothing else and the ranks of the communicator are complete
 * with it.
 */
struct outstanding_hang *outstanding_find_hang(
	const struct outstanding *outstanding, int64_t min_ns);
/*
 * False where no live process can have a hang of @min_ns: one small query, as collectors write down
 * only what does not get on.
 */
bool outstanding_may_hang(struct query *query, int64_t min_ns);
void outstanding_hang_free_p(struct outstanding_hang **hang);

/* Returns "SIGKILL" or "exit status 3"; valid until the next call. */
const char *outstanding_status(const struct outstanding_rank *rank);
/* Prints "all_reduce #1,204 of communicator 0x9e3f" or "kernel foo" to @to. */
void outstanding_put_wait(FILE *to, const struct outstanding_wait *wait);

/* Prints "; 3 dispatches not seen to end", or nothing. */
void outstanding_put_unended(FILE *to, const struct outstanding_rank *rank);

/* Prints "all_reduce #1,204". */
void outstanding_put_call(FILE *to, const char *op, int64_t seq);
/*
 * Prints a kernel's name without its namespaces, template arguments and parameters; NULL if it is
 * unknown.
 */
void outstanding_put_kernel(FILE *to, const char *name);

/* show.c. With @width 0 nothing is cut off. */
void outstanding_show(
	const struct outstanding *outstanding, enum render_format format, size_t width, FILE *to);
/* Returns one document or one line. */
json_t *outstanding_json(const struct outstanding *outstanding);
