/* SPDX-License-Identifier: MIT */
/*
 * The process that writes the index of the node. While it copies the rows of a tenant it holds a
 * read lock on that tenant's index, and nothing else of the tenant. It skips an index that is
 * locked and retries later.
 */
#include <errno.h>
#include <poll.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <unistd.h>

#include "collectord/catalog/node_index.h"
#include "collectord/channel/ledger.h"
#include "collectord/service/config.h"
#include "collectord/service/lock_file.h"
#include "collectord/service/log.h"
#include "collectord/supervisor/internal.h"
#include "proto/base/cleanup.h"
#include "proto/base/clock.h"
#include "proto/base/format.h"

/*
 * Interval at which a failed copy is retried, and the number and interval of the last tries when
 * the process is told to end.
 */
#define AGAIN_NS      500000000ull
#define LAST_TRIES    20u
#define LAST_NS	      50000000ull
/* Interval at which opening index.db is retried. */
#define OPEN_AGAIN_NS 5000000000ull

/* A tenant whose whole index is to be copied again. */
struct late {
	uid_t owner;
	uint64_t due_ns;
};

struct index_writer {
	struct node_index *node;
	int channel;
	bool is_over; /* the supervisor has closed the channel */
	int said;     /* the last error logged */
	struct late late[LEDGER_TENANTS_MAX];
	size_t n_late;
};

static void say_error(struct index_writer *w, uid_t owner, int error)
{
	char tenant[CONTAINER_WORDS_BYTES];

	if (error == w->said || error == -EBUSY)
		return;
	w->said = error;
	log_error("index.db: what %s has cannot be copied now: %s",
		container_words(owner, "", tenant), strerror(-error));
}

static void put_off(struct index_writer *w, uid_t owner)
{
	size_t i = 0;

	while (i < w->n_late && w->late[i].owner != owner)
		i++;
	if (i == w->n_late) {
		if (w->n_late == LEDGER_TENANTS_MAX)
			return; /* unreachable: there are never more tenants */
		w->n_late++;
	}
	w->late[i] = (struct late){.owner = owner, .due_ns = clock_monotonic_ns() + AGAIN_NS};
}

static bool is_late(const struct index_writer *w, uid_t owner)
{
	for (size_t i = 0; i < w->n_late; i++)
		if (w->late[i].owner == owner)
			return true;
	return false;
}

/*
 * True if the container has nothing stored, and no worker: takes the lock of the tenant, which a
 * new worker waits for.
 */
static bool claim_vacant(const struct index_writer *w, uid_t owner, struct claim *ret)
{
	const char *store = node_index_folder(w->node);
	CLEANUP(free_p) char *folder = NULL, *lock = NULL;
	pid_t pid;

	if (!container_is_tenant(owner))
		return false;
	folder = format_new("%s%u", store, (unsigned)owner);
	lock = format_new("%s.lock-%u", store, (unsigned)owner);
	/* The folder is there while a worker may have something, so the lock is mostly not asked
	 * for. */
	return folder && lock && access(folder, F_OK) < 0 && errno == ENOENT &&
	       claim_take(lock, ret, &pid) == 0 && access(folder, F_OK) < 0;
}

static int copy(struct index_writer *w, uid_t owner, const char *database)
{
	CLEANUP(claim_release) struct claim claim = {.fd = -1};
	bool is_vacant = !*database && claim_vacant(w, owner, &claim);
	int r = node_index_copy(w->node, owner, database);

	if (r == 0 && is_vacant)
		(void)node_index_drop(w->node, owner); /* else the next start of the service does */
	if (r < 0)
		say_error(w, owner, r);
	else
		w->said = 0;
	if (node_index_is_lost(w->node))
		_exit(EXIT_FAILURE); /* another index writer then opens or makes the file */
	return r;
}

static void hear(struct index_writer *w)
{
	struct channel_message message;
	int fd = -1, r;

	while ((r = channel_receive(w->channel, &message, &fd)) != -EAGAIN) {
		if (r == 1 && message.kind == CHANNEL_QUESTION && fd >= 0)
			index_answer(node_index_rows(w->node), node_index_folder(w->node), fd);
		close_fd(&fd);
		if (r == 0) {
			w->is_over = true;
			return;
		}
		/* A tenant whose whole index will be copied needs no copy of one database. */
		if (r == 1 && message.kind == CHANNEL_INDEXED && !is_late(w, message.owner) &&
			copy(w, message.owner, message.name) < 0)
			put_off(w, message.owner);
	}
}

/* Copies only the tenant that has waited longest, because new messages come first. */
static int try_late(struct index_writer *w, uint64_t now_ns)
{
	size_t first = 0;
	uid_t owner;

	if (!w->n_late)
		return -1;
	for (size_t i = 1; i < w->n_late; i++)
		if (w->late[i].due_ns < w->late[first].due_ns)
			first = i;
	if (now_ns < w->late[first].due_ns)
		return (int)((w->late[first].due_ns - now_ns) / 1000000ull) + 1;
	owner = w->late[first].owner;
	w->late[first] = w->late[--w->n_late];
	if (copy(w, owner, "") < 0)
		put_off(w, owner);
	return 0;
}

/*
 * The workers have ended, so an index that is still locked is held by a reader or by a worker that
 * hangs.
 */
static void try_all(struct index_writer *w)
{
	for (unsigned i = 0; i < LAST_TRIES && w->n_late; i++) {
		if (i)
			(void)poll(NULL, 0, LAST_NS / 1000000ull);
		for (size_t n = w->n_late; n > 0; n--)
			(void)try_late(w, UINT64_MAX);
	}
}

/*
 * Discards messages until it is time to retry, because nothing can be written yet. Returns false if
 * the supervisor has ended.
 */
static bool pass_over(struct index_writer *w)
{
	const uint64_t until_ns = clock_monotonic_ns() + OPEN_AGAIN_NS;
	struct pollfd channel = {.fd = w->channel, .events = POLLIN};
	uint64_t now_ns;

	while ((now_ns = clock_monotonic_ns()) < until_ns) {
		struct channel_message message;
		int fd = -1, r;

		(void)poll(&channel, 1, (int)((until_ns - now_ns) / 1000000ull) + 1);
		r = channel_receive(w->channel, &message, &fd);
		close_p(&fd);
		if (r == 0)
			return false;
	}
	return true;
}

/*
 * Opens index.db. If that took more than one try, messages were discarded, so the process exits and
 * a new index writer is told everything again.
 */
static void open_node(struct index_writer *w, const struct config *config)
{
	for (unsigned tries = 0;; tries++) {
		struct index_state state = {0};
		int r = node_index_open(config->store_path, config->subuids, &w->node, &state);

		if (state.aside)
			log_warning("set aside: %s/index.db: %s; it is %s now", config->store_path,
				strerror(-state.damage), state.aside);
		free(state.aside);
		if (r == 0 && !tries)
			return;
		if (r == 0)
			_exit(EXIT_SUCCESS);
		if (r != w->said)
			log_error("%s/index.db: %s: it does not list the node's sessions until "
				  "that is "
				  "mended",
				config->store_path, strerror(-r));
		w->said = r;
		if (!pass_over(w))
			_exit(EXIT_SUCCESS);
	}
}

_Noreturn void index_writer_run(const struct config *config, int channel)
{
	static struct index_writer w;

	w.channel = channel;
	(void)prctl(PR_SET_NAME, "index-writer");
	process_expose();
	open_node(&w, config);
	while (!w.is_over) {
		int wait_ms;

		hear(&w);
		wait_ms = try_late(&w, clock_monotonic_ns());
		if (!w.is_over)
			(void)poll(&(struct pollfd){.fd = channel, .events = POLLIN}, 1, wait_ms);
	}
	try_all(&w);
	node_index_close(w.node);
	_exit(EXIT_SUCCESS);
}
