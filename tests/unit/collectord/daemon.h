/* SPDX-License-Identifier: MIT */
#pragma once
/*
 * The program itself: started, told to end, asked what it said. Every wait has a deadline that
 * only a failure reaches.
 */
#include <stdbool.h>
#include <sys/types.h>

#include "tests/lib/fake_shim.h"
#include "tests/lib/sql.h"
#include "tests/lib/test.h"

struct place {
	char dir[64];
	char socket[96];
	char store[96];
};

struct daemon {
	pid_t pid;
	int stderr_fd;
	char said[8192];
	size_t n_said;
};

/* A test with a folder for a collector, as place. */
#define PLACE_CASE(claim) TEST_CASE_WITH(claim, place_setup, place_teardown, struct place *place)
int place_setup(void **state);
int place_teardown(void **state);

/* argv[0] is the program. @listener: passed as LISTEN_FDS; -1: none. @uid: (uid_t)-1: ours. */
void daemon_start(struct daemon *daemon, const char *const *arguments, int listener, uid_t uid);
/* With --socket and --db-dir of @place, and waits until it is ready. */
void daemon_start_in(struct daemon *daemon, const struct place *place);
void daemon_wait_for_line(struct daemon *daemon, const char *text);
void daemon_signal(struct daemon *daemon, int number);
/* The wait status. */
int daemon_wait(struct daemon *daemon);
/* SIGTERM, and it must exit with 0. */
void daemon_stop(struct daemon *daemon);

/*
 * A connection of @shim that is welcomed; the last frame it has. Of the test's own process,
 * which may come again; or of a child that may be killed.
 */
uint64_t daemon_welcome(struct fake_shim *shim, const char *path);
uint64_t daemon_welcome_child(struct fake_shim *shim, const char *path);
void daemon_expect_ack(struct fake_shim *shim, uint64_t number);

/* The only *.db below DIR/UID. */
void find_database(const struct place *place, uid_t uid, char ret_path[256]);
