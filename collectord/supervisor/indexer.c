/* SPDX-License-Identifier: MIT */
/*
 * The supervisor's view of the index writer: tells it which tenant's index has changed. If a
 * message cannot be sent, the tenant is marked and later reported as a whole; a new index writer is
 * told about all tenants. So the supervisor never waits, and no change is lost.
 */
#include <errno.h>
#include <signal.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "collectord/service/log.h"
#include "collectord/supervisor/internal.h"
#include "proto/base/cleanup.h"
#include "proto/base/clock.h"

static void tell_all(struct supervisor *s, struct worker *worker)
{
	const struct channel_message message = {.kind = CHANNEL_INDEXED, .owner = worker->owner};

	if (worker->is_unlisted && s->indexer.channel >= 0 &&
		channel_send(s->indexer.channel, &message, -1) == 0)
		worker->is_unlisted = false;
}

void indexer_retry(struct supervisor *s)
{
	for (struct worker *w = s->workers; w; w = w->next)
		tell_all(s, w);
}

void indexer_tell(struct supervisor *s, struct worker *worker, const char *database)
{
	struct channel_message message = {.kind = CHANNEL_INDEXED, .owner = worker->owner};

	strncpy(message.name, database, sizeof(message.name) - 1);
	if (!database[0] || worker->is_unlisted || s->indexer.channel < 0 ||
		channel_send(s->indexer.channel, &message, -1) < 0)
		worker->is_unlisted = true;
	tell_all(s, worker);
}

int indexer_ask(struct supervisor *s, int fd)
{
	const struct channel_message message = {.kind = CHANNEL_QUESTION};

	return s->indexer.channel < 0 ? -EPIPE : channel_send(s->indexer.channel, &message, fd);
}

void indexer_start(struct supervisor *s)
{
	uint64_t now_ns = clock_monotonic_ns();
	int pair[2], r;

	if (s->indexer.pid || s->is_stopping || now_ns < s->indexer.retry_ns)
		return;
	s->indexer.retry_ns = now_ns + INDEXER_RETRY_NS;
	r = channel_pair(pair);
	if (r == 0) {
		r = process_fork(&pair[1], 1, true);
		if (r == 0)
			index_writer_run(s->config, pair[1]);
		close(pair[1]);
		if (r < 0)
			close(pair[0]);
	}
	if (r < 0) {
		log_error("cannot write index.db now: %s", strerror(-r));
		return;
	}
	s->indexer.pid = r;
	s->indexer.channel = pair[0];
	for (struct worker *w = s->workers; w; w = w->next)
		w->is_unlisted = true;
	indexer_retry(s);
}

bool indexer_ended(struct supervisor *s, pid_t pid, int status)
{
	if (!s->indexer.pid || s->indexer.pid != pid)
		return false;
	if (WIFSIGNALED(status))
		log_warning("the process that writes index.db was killed by signal %d: %s",
			WTERMSIG(status), strsignal(WTERMSIG(status)));
	close_fd(&s->indexer.channel);
	s->indexer.pid = 0;
	indexer_start(s);
	return true;
}

void indexer_stop(struct supervisor *s)
{
	indexer_retry(s);
	close_fd(&s->indexer.channel);
}

void indexer_kill(struct supervisor *s)
{
	if (s->indexer.pid)
		(void)kill(s->indexer.pid, SIGKILL);
	close_fd(&s->indexer.channel);
}
