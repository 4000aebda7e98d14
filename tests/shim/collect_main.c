/* SPDX-License-Identifier: MIT
 *
 * test-collector SOCKET [--drop-after N] [--silent]: collects until SIGTERM, then prints what
 * it has as lines on stdout:
 *
 *   ready                                          once, when the socket listens
 *   process PID RANK GPUS HW BYE CONNECTIONS JOB LAUNCHER DONE SUBMITTED
 *                                                  the last two: slots left in the recorder
 *   row PID GPU KERNEL START_TICK END_TICK UNTIMED MARKER
 *   seq PID QUEUE SEQ
 *   marker PID KIND ID PARENT TEXT
 *   counter PID NAME VALUE                         process counters, and queues' in sum
 *   unrecorded N                                   processes that said that they have no recorder
 *
 * What a process left in its recorder is read first, as a collector does that outlives it.
 *
 * --drop-after N: hangs up after every Nth frame of records of a connection. --silent: no Ack.
 * Exit 1 when a shim broke a rule.
 */
#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <unistd.h>

#include "proto/base/limits.h"
#include "tests/shim/collector.h"

#define CONNECTIONS 64

static struct test_collector collector;
static struct test_connection connections[CONNECTIONS];
static unsigned drop_after;
static int result;

static void connections_accept(int listener)
{
	int fd = accept4(listener, NULL, NULL, SOCK_CLOEXEC);

	for (int i = 0; fd >= 0 && i < CONNECTIONS; i++) {
		if (connections[i].fd >= 0)
			continue;
		test_connection_open(&connections[i], fd);
		return;
	}
	if (fd >= 0)
		close(fd);
}

static void connection_serve(struct test_connection *connection)
{
	int r = test_connection_step(&collector, connection);

	if (r < 0)
		result = 1;
	if (r || (drop_after && connection->record_frames >= drop_after))
		test_connection_close(connection);
}

static void process_print(struct test_process *p)
{
	bool has_said_bye = p->has_said_bye;
	uint64_t done = 0, submitted = 0;
	int pid = (int)p->pid;

	if (test_process_drain(&collector, p, &done, &submitted))
		result = 1;
	printf("process %d %lld %u %llu %d %u %s %s %llu %llu\n", pid, (long long)p->rank, p->gpus,
		(unsigned long long)p->hw, has_said_bye, p->connections, *p->job ? p->job : "-",
		*p->launcher ? p->launcher : "-", (unsigned long long)done,
		(unsigned long long)submitted);
	for (size_t i = 0; i < p->row_count; i++) {
		const struct test_row *row = &p->rows[i];
		const struct test_shape *shape = &p->shapes[row->shape];
		const char *name = p->strings[p->symbol_name[shape->symbol]];

		printf("row %d %u %s %llu %llu %u %llu\n", pid, p->gpu_id[shape->gpu],
			name ? name : "-", (unsigned long long)row->start_tick,
			(unsigned long long)row->end_tick, row->untimed,
			(unsigned long long)row->marker);
		printf("seq %d %u %llu\n", pid, shape->queue, (unsigned long long)row->seq);
	}
	for (size_t i = 0; i < p->marker_count; i++) {
		const struct test_marker *m = &p->markers[i];

		printf("marker %d %u %llu %llu %s\n", pid, m->kind, (unsigned long long)m->id,
			(unsigned long long)m->parent, m->text ? m->text : "-");
	}
	for (int i = 0; i < RTL_P_COUNT; i++)
		printf("counter %d %s %llu\n", pid, rtl_process_counter_name[i],
			(unsigned long long)p->process_counter[i]);
	for (int i = 0; i < RTL_Q_COUNT; i++) {
		uint64_t sum = 0;

		for (int q = 0; q < 1024; q++)
			sum += p->queue_counter[q][i];
		printf("counter %d %s %llu\n", pid, rtl_queue_counter_name[i],
			(unsigned long long)sum);
	}
}

static void serve(int listener, int signals)
{
	for (;;) {
		struct pollfd fds[CONNECTIONS + 2] = {{listener, POLLIN, 0}, {signals, POLLIN, 0}};

		for (int i = 0; i < CONNECTIONS; i++)
			fds[i + 2] = (struct pollfd){connections[i].fd, POLLIN, 0};
		if (poll(fds, CONNECTIONS + 2, -1) < 0)
			continue;
		for (int i = 0; i < CONNECTIONS; i++)
			if (fds[i + 2].revents && connections[i].fd >= 0)
				connection_serve(&connections[i]);
		if (fds[0].revents)
			connections_accept(listener);
		/*
		 * Only when nothing is left to read, because processes that have ended have left
		 * data behind.
		 */
		else if (fds[1].revents)
			return;
	}
}

int main(int argc, char **argv)
{
	sigset_t set;
	int listener;

	if (argc < 2)
		return 2;
	for (int i = 2; i < argc; i++) {
		if (!strcmp(argv[i], "--silent"))
			collector.is_silent = true;
		else if (!strcmp(argv[i], "--drop-after") && i + 1 < argc)
			drop_after = (unsigned)strtoul(argv[++i], NULL, 10);
		else
			return 2;
	}
	sigemptyset(&set);
	sigaddset(&set, SIGTERM);
	sigprocmask(SIG_BLOCK, &set, NULL);
	for (int i = 0; i < CONNECTIONS; i++)
		connections[i].fd = -1;
	msg_arena_init(&collector.arena, ARENA_BYTES_MAX);
	listener = test_listen(argv[1]);
	if (listener < 0) {
		fprintf(stderr, "%s: %s\n", argv[1], strerror(-listener));
		return 2;
	}
	puts("ready");
	fflush(stdout);
	serve(listener, signalfd(-1, &set, SFD_CLOEXEC));
	for (int i = 0; i < CONNECTIONS; i++)
		if (connections[i].fd >= 0)
			connection_serve(&connections[i]);
	for (unsigned i = 0; i < collector.processes; i++)
		process_print(collector.process[i]);
	printf("unrecorded %u\n", collector.unrecorded);
	return result;
}
