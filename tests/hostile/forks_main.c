// SPDX-License-Identifier: MIT
/*
 * hostile-forks SOCKET FORKS FORKERS TINY: so many processes, each a rank with an open recorder and
 * a tool's connection, that share FORKS: children that end, that exec TINY, that ask on what they
 * inherited, that are killed, that connect and end. Says how many of each, and in what time.
 */
#include <err.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "proto/base/clock.h"
#include "tests/lib/fake_shim.h"

#define FORKERS_MAX   16u
/* Rare, since the collector answers and accepts so many a second of one user and no more. */
#define ASK_EVERY     256u
#define CONNECT_EVERY 16u

enum kind { KIND_END, KIND_EXEC, KIND_KILL, KIND_CONNECT, KIND_ASK, KINDS };

static const char *const names[KINDS] = {"ended", "execed", "killed", "connected", "asked"};

struct forker {
	struct fake_shim rank, tool;
	const char *path;
	char *tiny;
};

static void must(int r, const char *what)
{
	if (r < 0)
		errx(1, "%s: %s", what, strerror(-r));
}

static void expect(struct fake_shim *shim, Rtl__Frame__BodyCase wanted, const char *what)
{
	Rtl__Frame *reply = NULL;

	must(fake_receive(shim, FAKE_WAIT_MS, &reply), what);
	if (reply->body_case != wanted)
		errx(1, "%s: answered with %d", what, reply->body_case);
}

/* Inherited by the program that is executed, as a program without care would have it. */
static void let_inherit(int fd)
{
	(void)fcntl(fd, F_SETFD, 0);
}

static void forker_init(struct forker *f)
{
	must(fake_shim_init(&f->rank, "storm"), "a recorder");
	must(fake_shim_connect(&f->rank, f->path), "a connection");
	must(fake_shim_send_hello(&f->rank, 1), "Hello");
	expect(&f->rank, RTL__FRAME__BODY_WELCOME, "Hello");
	let_inherit(f->rank.fd);
	let_inherit(f->rank.memfd);
	must(fake_shim_init(&f->tool, NULL), "a tool");
	must(fake_shim_connect(&f->tool, f->path), "a tool's connection");
	let_inherit(f->tool.fd);
}

static int ask(struct fake_shim *tool)
{
	Rtl__Frame frame = RTL__FRAME__INIT;
	Rtl__SessionsRequest request = RTL__SESSIONS_REQUEST__INIT;

	request.has_version_min = request.has_version_max = true;
	request.version_min = request.version_max = tool->version_max;
	frame.body_case = RTL__FRAME__BODY_SESSIONS_REQUEST;
	frame.sessions_request = &request;
	return fake_send(tool->fd, &frame);
}

static _Noreturn void be_child(struct forker *f, enum kind kind)
{
	int r = 0;

	if (kind == KIND_KILL)
		for (;;)
			pause();
	if (kind == KIND_ASK)
		r = ask(&f->tool);
	if (kind == KIND_CONNECT) {
		r = fake_connect(f->path);
		/* The backlog may be full: then it was no connection. */
		r = r == -EAGAIN ? 0 : r;
	}
	_exit(r < 0);
}

static pid_t start_child(struct forker *f, enum kind kind)
{
	char *arguments[] = {f->tiny, NULL}, *nothing[] = {NULL};
	pid_t pid;
	int r;

	if (kind == KIND_EXEC) { /* as vfork() does */
		r = posix_spawn(&pid, f->tiny, NULL, NULL, arguments, nothing);
		must(-r, f->tiny);
		return pid;
	}
	pid = fork();
	if (!pid)
		be_child(f, kind);
	must(pid < 0 ? -errno : 0, "fork");
	return pid;
}

static enum kind choose(unsigned i)
{
	if (i % ASK_EVERY == 1)
		return KIND_ASK;
	if (i % CONNECT_EVERY == 2)
		return KIND_CONNECT;
	return i % 3 == 0 ? KIND_EXEC : i % 3 == 1 ? KIND_END : KIND_KILL;
}

static void fork_once(struct forker *f, enum kind kind)
{
	pid_t pid = start_child(f, kind);
	int status, wanted = kind == KIND_KILL ? SIGKILL : 0;

	if (kind == KIND_KILL)
		kill(pid, SIGKILL);
	if (waitpid(pid, &status, 0) != pid || status != wanted)
		errx(1, "a child that is %s ended with %#x", names[kind], (unsigned)status);
	if (kind == KIND_ASK)
		expect(&f->tool, RTL__FRAME__BODY_SESSIONS_REPLY, "what a child asked");
}

/* Its own connection works as before: one dispatch, which is its only row. */
static _Noreturn void be_forker(struct forker *f, unsigned forks, unsigned *counts)
{
	forker_init(f);
	for (unsigned i = 0; i < forks; i++) {
		enum kind kind = choose(i);

		fork_once(f, kind);
		__atomic_add_fetch(&counts[kind], 1, __ATOMIC_RELAXED);
	}
	must(fake_shim_define(&f->rank), "definitions");
	must(fake_shim_dispatch(&f->rank, 1, false), "a dispatch");
	expect(&f->rank, RTL__FRAME__BODY_ACK, "a dispatch");
	exit(0);
}

int main(int argc, char **argv)
{
	unsigned forks, forkers, *counts, failed = 0;
	uint64_t begin_ns = clock_boottime_ns();
	int status;

	if (argc != 5)
		errx(2, "usage: hostile-forks SOCKET FORKS FORKERS TINY");
	forks = (unsigned)strtoul(argv[2], NULL, 10);
	forkers = (unsigned)strtoul(argv[3], NULL, 10);
	if (!forkers || forkers > FORKERS_MAX || forks % forkers)
		errx(2, "FORKERS: 1 to %u, and FORKS are a multiple of it", FORKERS_MAX);
	counts = mmap(NULL, KINDS * sizeof(*counts), PROT_READ | PROT_WRITE,
		MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	if (counts == MAP_FAILED)
		err(1, "mmap");
	for (unsigned i = 0; i < forkers; i++) {
		struct forker f = {.path = argv[1], .tiny = argv[4]};
		pid_t pid = fork();

		if (!pid)
			be_forker(&f, forks / forkers, counts);
		must(pid < 0 ? -errno : 0, "fork");
	}
	while (wait(&status) > 0)
		failed += status != 0;
	for (unsigned kind = 0; kind < KINDS; kind++)
		printf("%s=%u ", names[kind], counts[kind]);
	printf("ms=%llu\n", (unsigned long long)((clock_boottime_ns() - begin_ns) / 1000000));
	return failed != 0;
}
