/* SPDX-License-Identifier: MIT */
#include "shim/base/thread.h"
#include "shim/base/glibc_compat.h"

#include <assert.h>
#include <limits.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

_Atomic uint32_t thread_state_regions;

/*
 * Blocks come from a static array behind a pthread key, whose value is stored in the thread itself.
 * The first touch of a __thread variable in a library that was loaded at run time allocates, which
 * for a thread that never allocated is three system calls in the middle of its first dispatch. The
 * initial-exec model would prevent that, but processes without static TLS space left could not load
 * the library.
 */
#define BLOCKS_MAX 4096u

struct block {
	_Alignas(64) struct thread_state state;
	_Atomic uint32_t next; /* index + 1 of the next free block */
	uint32_t ends;	       /* calls of block_end() when its thread ends */
};

/*
 * One less than the rounds that libc gives to destructors of keys: a sanitizer's runtime leaves in
 * the last one.
 */
#define ENDS_MAX 3u
static_assert(ENDS_MAX < PTHREAD_DESTRUCTOR_ITERATIONS, "the last one is called");

static struct block blocks[BLOCKS_MAX];
static _Atomic uint32_t blocks_used; /* blocks from this index on were never used */
/* Index + 1 of the first free block; above it a counter against ABA. */
static _Atomic uint64_t blocks_free;
static pthread_key_t block_key;
static bool has_key;
static void (*_Atomic ends_watcher)(void);

/* For threads beyond BLOCKS_MAX, and if no key was available. */
static __thread struct block spare;

/*
 * Destructors of other keys may end ranges too, so the block is not released in their first rounds.
 */
static bool block_keep_for_destructors(struct block *block)
{
	return ++block->ends < ENDS_MAX && !pthread_setspecific(block_key, block);
}

static void block_give(struct block *block)
{
	uint64_t first = atomic_load_explicit(&blocks_free, memory_order_relaxed), mine;

	atomic_store_explicit(&block->state.owner, 0, memory_order_relaxed);
	do {
		atomic_store_explicit(&block->next, (uint32_t)first, memory_order_relaxed);
		mine = ((first >> 32) + 1) << 32 | (uint64_t)(block - blocks + 1);
	} while (!atomic_compare_exchange_weak_explicit(
		&blocks_free, &first, mine, memory_order_release, memory_order_relaxed));
}

/* Destructor of block_key. */
static void block_end(void *value)
{
	struct block *block = value;
	void (*watcher)(void) = atomic_load_explicit(&ends_watcher, memory_order_acquire);

	if (watcher)
		watcher();
	/* A spare block ends with its thread. */
	if (!block_keep_for_destructors(block) && block >= blocks && block < blocks + BLOCKS_MAX)
		block_give(block);
}

static struct block *block_take(void)
{
	uint64_t first = atomic_load_explicit(&blocks_free, memory_order_acquire);
	uint32_t used;

	while ((uint32_t)first) {
		struct block *block = &blocks[(uint32_t)first - 1];
		uint64_t rest = ((first >> 32) + 1) << 32 |
				atomic_load_explicit(&block->next, memory_order_relaxed);

		if (atomic_compare_exchange_weak_explicit(
			    &blocks_free, &first, rest, memory_order_acquire, memory_order_acquire))
			return block;
	}
	used = atomic_load_explicit(&blocks_used, memory_order_relaxed);
	while (used < BLOCKS_MAX)
		if (atomic_compare_exchange_weak_explicit(&blocks_used, &used, used + 1,
			    memory_order_relaxed, memory_order_relaxed))
			return &blocks[used];
	return NULL;
}

__attribute__((constructor)) static void blocks_begin(void)
{
	has_key = !pthread_key_create(&block_key, block_end);
}

/*
 * Clears all fields but owner, which is 0 already: other threads may still read it through an old
 * hint.
 */
static void state_clear(struct thread_state *state)
{
	const size_t after = offsetof(struct thread_state, owner) + sizeof(state->owner);

	memset(state, 0, offsetof(struct thread_state, owner));
	memset((uint8_t *)state + after, 0, sizeof(*state) - after);
}

static __attribute__((noinline)) struct thread_state *state_first(void)
{
	struct block *block = has_key ? block_take() : NULL;

	if (!block) {
		/*
		 * The thread keeps the spare block even if others become free, because it may be in
		 * a range.
		 */
		if (has_key)
			(void)pthread_setspecific(block_key, &spare);
		return &spare.state;
	}
	state_clear(&block->state);
	block->ends = 0;
	if (!pthread_setspecific(block_key, block)) {
		atomic_store_explicit(&block->state.owner, (uintptr_t)__builtin_thread_pointer(),
			memory_order_relaxed);
		return &block->state;
	}
	block_give(block);
	return &spare.state;
}

struct thread_state *thread_state(void)
{
	struct block *block = has_key ? pthread_getspecific(block_key) : NULL;

	return __builtin_expect(block != NULL, 1) ? &block->state : state_first();
}

/*
 * glibc knows the thread's id and writes it into a recursive mutex that the thread locks. The
 * layout of a mutex is compiled into programs, so it cannot change. This mutex is local: there is
 * no contention, and no system call that the program would not have made.
 */
static uint32_t read_tid(void)
{
	pthread_mutex_t own = PTHREAD_RECURSIVE_MUTEX_INITIALIZER_NP;
	int tid = 0;

	if (!pthread_mutex_lock(&own)) {
		tid = own.__data.__owner;
		pthread_mutex_unlock(&own);
	}
	return tid > 0 ? (uint32_t)tid : (uint32_t)syscall(SYS_gettid);
}

uint32_t thread_state_tid(void)
{
	struct thread_state *thread = thread_state();

	if (__builtin_expect(!thread->tid, 0))
		thread->tid = read_tid();
	return thread->tid;
}

void thread_state_watch_ends(void (*watcher)(void))
{
	atomic_store_explicit(&ends_watcher, watcher, memory_order_release);
}

void thread_state_forget(void)
{
	thread_state()->tid = 0;
	thread_state()->call = 0;
	thread_state()->count = (struct thread_count){0};
}
