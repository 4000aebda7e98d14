/* SPDX-License-Identifier: MIT */
#include "shim/base/process/process_rank.h"

#include <errno.h>
#include <stdatomic.h>
#include <stddef.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "proto/base/clock.h"
#include "proto/names/collectives.h"

/* Limits of the copy: a rank's variables are short, and no real environment has 4,096 of them. */
#define ENTRIES_MAX  4096u
#define ENTRY_BYTES  512u
#define TEXT_BYTES   (256u << 10)
#define PAGE_MASK    4095u
#define OFTEN_NS     100000000u
/* Size of the kernel's signal set, which is smaller than the library's. */
#define SIGSET_BYTES 8u

static struct {
	atomic_flag is_busy;	   /* one thread at a time reads or writes `told` */
	_Atomic uint32_t changes;  /* number of changes of `told` */
	_Atomic bool is_begun;	   /* OnLoad has run */
	_Atomic bool is_settled;   /* PyTorch's variables are complete */
	_Atomic uint64_t next_ns;  /* earliest time of the next check with @is_often */
	struct rank_info declared; /* protected by is_busy */
	uint32_t taken_changes;	   /* `changes` when last taken; owned by the taking thread */
	struct communicator taken; /* owned by the taking thread */
	const char *entry[ENTRIES_MAX + 1]; /* protected by is_busy; points into text */
	char text[TEXT_BYTES];
} state = {.is_busy = ATOMIC_FLAG_INIT};

static bool enter(void)
{
	return !atomic_flag_test_and_set_explicit(&state.is_busy, memory_order_acquire);
}

static void leave(void)
{
	atomic_flag_clear_explicit(&state.is_busy, memory_order_release);
}

static bool declares_everything(const struct rank_info *declared)
{
	return declared->is_own_word && declared->rank.is_known && declared->local_rank.is_known &&
	       declared->world_size.is_known && declared->job[0];
}

/* ---- reading what another thread may change under our eyes ------------------------------- */

/* Remembers the last page that was readable, so that it is checked once per pass. */
struct reader {
	uintptr_t page; /* 1 if none yet */
};

/*
 * Whether the page of @at can be read. The kernel reads eight bytes there, finds that -1 is no way
 * to change the signal mask, and changes nothing.
 */
static bool is_readable(struct reader *reader, uintptr_t at)
{
	uintptr_t page = at & ~(uintptr_t)PAGE_MASK;
	uintptr_t word = at & ~(uintptr_t)(SIGSET_BYTES - 1);

	if (page == reader->page)
		return true;
	if (!page ||
		(syscall(SYS_rt_sigprocmask, -1, word, NULL, SIGSET_BYTES) < 0 && errno == EFAULT))
		return false;
	reader->page = page;
	return true;
}

/*
 * Copies the string at @at to @to. Returns its bytes with the NUL, or 0 if it is unreadable or
 * longer than @capacity.
 */
__attribute__((no_sanitize("address", "thread"))) static size_t read_text(
	struct reader *reader, uintptr_t at, char *to, size_t capacity)
{
	for (size_t i = 0; i < capacity; i++) {
		if (!is_readable(reader, at + i))
			return 0;
		to[i] = *(const volatile char *)(at + i);
		if (!to[i])
			return i + 1;
	}
	return 0;
}

__attribute__((no_sanitize("address", "thread"))) static bool read_pointer(
	struct reader *reader, uintptr_t at, uintptr_t *ret)
{
	if (!is_readable(reader, at) || at % sizeof(*ret))
		return false;
	*ret = *(const volatile uintptr_t *)at;
	return true;
}

/* Copies the environment to `entry`. Returns false if it is unreadable or too large. */
static bool environment_read(void)
{
	uintptr_t list = (uintptr_t) * (char **const volatile *)&environ;
	struct reader values = {1}, texts = {1};
	size_t count = 0, used = 0;
	uintptr_t value;

	for (; list; list += sizeof(value)) {
		char *to = state.text + used;
		size_t room = TEXT_BYTES - used;
		size_t bytes;

		if (!read_pointer(&values, list, &value))
			return false;
		if (!value)
			break;
		/* A longer text is none of a rank's variables. */
		bytes = read_text(&texts, value, to, room < ENTRY_BYTES ? room : ENTRY_BYTES);
		if (!bytes)
			continue;
		if (count == ENTRIES_MAX)
			return false;
		state.entry[count++] = to;
		used += bytes;
	}
	state.entry[count] = NULL;
	return true;
}

/* ---- what is known ------------------------------------------------------------------------ */

static bool numbers_differ(struct rank_number a, struct rank_number b)
{
	return a.is_known != b.is_known || (a.is_known && a.value != b.value);
}

static bool is_other(const struct rank_info *a, const struct rank_info *b)
{
	return numbers_differ(a->rank, b->rank) || numbers_differ(a->local_rank, b->local_rank) ||
	       numbers_differ(a->world_size, b->world_size) ||
	       numbers_differ(a->attempt, b->attempt) || a->launcher != b->launcher ||
	       strcmp(a->job, b->job) != 0;
}

void process_rank_begin(struct rank_info *ret_declared)
{
	struct rank_info declared;

	rank_detect((const char *const *)environ, &declared);
	if (enter()) {
		state.declared = declared;
		leave();
	}
	state.taken_changes = atomic_load_explicit(&state.changes, memory_order_relaxed);
	state.taken =
		(struct communicator){.identity = COLLECTIVE_NO_COMM, .rank = COLLECTIVE_NO_RANK};
	atomic_store_explicit(
		&state.is_settled, declares_everything(&declared), memory_order_relaxed);
	atomic_store_explicit(&state.is_begun, true, memory_order_release);
	*ret_declared = declared;
}

static void update(void)
{
	struct rank_info declared;
	int error = errno;

	if (!enter())
		return;
	if (environment_read()) {
		rank_detect(state.entry, &declared);
		/*
		 * If the rank's variables are removed, e.g. at the end of training, the earlier
		 * values stay valid.
		 */
		if (is_other(&declared, &state.declared) &&
			(declared.rank.is_known || !state.declared.rank.is_known)) {
			state.declared = declared;
			atomic_fetch_add_explicit(&state.changes, 1, memory_order_release);
		}
		if (declares_everything(&state.declared))
			atomic_store_explicit(&state.is_settled, true, memory_order_relaxed);
	}
	leave();
	errno = error;
}

void process_rank_look(bool is_often)
{
	uint64_t now_ns;

	if (!atomic_load_explicit(&state.is_begun, memory_order_acquire) ||
		atomic_load_explicit(&state.is_settled, memory_order_relaxed))
		return;
	if (is_often) {
		now_ns = clock_monotonic_ns();
		if (now_ns < atomic_load_explicit(&state.next_ns, memory_order_relaxed))
			return;
		atomic_store_explicit(&state.next_ns, now_ns + OFTEN_NS, memory_order_relaxed);
	}
	update();
}

void process_rank_look_again(void)
{
	if (atomic_load_explicit(&state.is_begun, memory_order_acquire))
		update();
}

int process_rank_take(struct process_rank *ret)
{
	uint32_t changes = atomic_load_explicit(&state.changes, memory_order_acquire);
	struct communicator known = communicators_largest();

	if (!atomic_load_explicit(&state.is_begun, memory_order_acquire) ||
		(changes == state.taken_changes && known.identity == state.taken.identity &&
			known.rank == state.taken.rank))
		return 0;
	if (!enter())
		return -EBUSY;
	changes = atomic_load_explicit(&state.changes, memory_order_relaxed);
	ret->declared = state.declared;
	leave();
	ret->largest = known;
	state.taken_changes = changes;
	state.taken = known;
	return 1;
}

void process_rank_forget(void)
{
	leave();
	atomic_store_explicit(&state.is_begun, false, memory_order_relaxed);
}
