/* SPDX-License-Identifier: MIT */
/*
 * Keeps recorders beyond the life of a worker: holds them for the next worker of the tenant, and
 * passes them to the process that started the service, for the next life of the service. The worker
 * has checked that they are sealed memory, so closing one never blocks.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "collectord/service/listen.h"
#include "collectord/service/notify.h"
#include "collectord/supervisor/internal.h"

static struct kept **find(struct worker *worker, const char *name)
{
	struct kept **at = &worker->kept;

	while (*at && ((*at)->fd < 0 || strcmp((*at)->name, name) != 0))
		at = &(*at)->next;
	return at;
}

/* Returns false if it must be tried again. */
static bool pass_on(struct supervisor *s, const struct worker *worker, const struct kept *kept)
{
	char name[KEPT_OUTER_BYTES];
	int r;

	listen_kept_outer(worker->owner, kept->name, name);
	r = kept->fd >= 0 ? notify_keep(kept->fd, name) : notify_drop(name);

	s->has_unsaid |= r == -EAGAIN;
	return r != -EAGAIN;
}

/* Tenants that have many leave room for those that have few. */
static bool may_keep(const struct supervisor *s, const struct worker *worker)
{
	return worker->n_kept < KEPT_LEAST ||
	       (worker->n_kept < KEPT_TENANT_MAX && s->n_kept < KEPT_ALL_MAX);
}

static bool may_pass(const struct supervisor *s, const struct worker *worker)
{
	return worker->n_passed < KEPT_PASSED_LEAST || s->n_passed < KEPT_PASSED_MAX;
}

static void count_passed(struct supervisor *s, struct worker *worker, int by)
{
	worker->n_passed += (unsigned)by;
	s->n_passed += (unsigned)by;
}

static void forget(struct supervisor *s, struct worker *worker, struct kept *kept)
{
	close(kept->fd);
	kept->fd = -1;
	worker->n_kept--;
	s->n_kept--;
	if (!kept->is_own)
		count_passed(s, worker, -1);
}

void keeper_keep(
	struct supervisor *s, struct worker *worker, int fd, const char *name, bool is_known)
{
	struct kept *kept;

	if (fd < 0 || *find(worker, name) || !may_keep(s, worker)) {
		if (fd >= 0)
			close(fd);
		return;
	}
	kept = calloc(1, sizeof(*kept));
	if (!kept) {
		close(fd);
		return;
	}
	*kept = (struct kept){.next = worker->kept,
		.fd = fd,
		.is_known = is_known,
		.is_own = !is_known && !may_pass(s, worker)};
	strncpy(kept->name, name, sizeof(kept->name) - 1);
	worker->kept = kept;
	worker->n_kept++;
	s->n_kept++;
	if (kept->is_own)
		return;
	count_passed(s, worker, 1);
	if (!is_known)
		kept->is_known = pass_on(s, worker, kept);
}

void keeper_drop(struct supervisor *s, struct worker *worker, const char *name)
{
	struct kept **at = find(worker, name), *kept = *at;

	if (!kept)
		return;
	forget(s, worker, kept);
	if (!kept->is_own && !pass_on(s, worker, kept))
		return;
	*at = kept->next;
	free(kept);
}

static void retry_of(struct supervisor *s, struct worker *worker)
{
	for (struct kept **at = &worker->kept, *kept; (kept = *at);) {
		if (kept->fd >= 0 && !kept->is_known && !kept->is_own)
			kept->is_known = pass_on(s, worker, kept);
		if (kept->fd < 0 && pass_on(s, worker, kept)) {
			*at = kept->next;
			free(kept);
		} else {
			at = &kept->next;
		}
	}
}

void keeper_retry(struct supervisor *s)
{
	if (!s->has_unsaid)
		return;
	s->has_unsaid = false;
	for (struct worker *w = s->workers; w; w = w->next)
		retry_of(s, w);
}

void keeper_free(struct supervisor *s, struct worker *worker)
{
	while (worker->kept) {
		struct kept *next = worker->kept->next;

		if (worker->kept->fd >= 0)
			forget(s, worker, worker->kept);
		free(worker->kept);
		worker->kept = next;
	}
}
