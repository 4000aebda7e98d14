/* SPDX-License-Identifier: MIT */
/* What the index of a node answers for users without a worker: one of them leaves room for others.
 */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sqlite3.h>
#include <sys/socket.h>
#include <unistd.h>

#include "collectord/catalog/index_private.h"
#include "collectord/catalog/index_removed.h"
#include "collectord/supervisor/internal.h"
#include "proto/base/limits.h"
#include "proto/wire/frame.h"
#include "proto/wire/msg.h"
#include "tests/lib/test.h"

#define MANY 1500u
#define BUSY 7u
#define CALM 9u

struct heard {
	int fd;
	uint8_t bytes[REPLY_BYTES_MAX];
	size_t fill;
};

static void *hear(void *data)
{
	struct heard *heard = data;
	ssize_t got;

	while ((got = read(heard->fd, heard->bytes + heard->fill,
			sizeof(heard->bytes) - heard->fill)) > 0)
		heard->fill += (size_t)got;
	return NULL;
}

static void sql(struct index *index, const char *text)
{
	assert_int_equal(sqlite3_exec(index->db, text, NULL, NULL, NULL), SQLITE_OK);
}

static void put(struct index *index, uid_t uid, unsigned n, const char *command)
{
	char database[64], name[32];
	struct index_entry entry = {
		.database = database,
		.name = name,
		.command = command,
		.uid = uid,
		.start_realtime_ns = n + 1,
		.end_realtime_ns = n + 1,
		.line = "complete",
	};

	snprintf(database, sizeof(database), "/store/%u/s-%u.db", uid, n);
	snprintf(name, sizeof(name), "s-%u", n);
	assert_int_equal(index_put(index, &entry), 0);
}

/* Fills @index: a user has many sessions with long commands, the other one old of each kind. */
static void put_all(struct index *index)
{
	char command[COMMAND_BYTES_MAX];

	memset(command, 'x', sizeof(command) - 1);
	command[sizeof(command) - 1] = '\0';
	put(index, CALM, 0, "old");
	put(index, CALM, 1, "kept");
	put(index, CALM, 2, "gone");
	assert_int_equal(index_keep_for_owner(index, "/store/9/s-1.db", true), 0);
	assert_int_equal(index_begin_removal(index, "/store/9/s-2.db", "too old"), 0);
	assert_int_equal(index_end_removal(index, "/store/9/s-2.db"), 0);
	sql(index, "BEGIN");
	for (unsigned n = 0; n < MANY; n++)
		put(index, BUSY, 10 + n, command);
	sql(index, "COMMIT");
}

static void ask(struct index *index, struct heard *heard)
{
	pthread_t thread;
	int fds[2];

	assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, fds), 0);
	heard->fd = fds[0];
	assert_int_equal(pthread_create(&thread, NULL, hear, heard), 0);
	index_answer(index, "/store/", fds[1]);
	close(fds[1]);
	assert_int_equal(pthread_join(thread, NULL), 0);
	close(fds[0]);
}

TEST_CASE(a_user_with_many_sessions_and_long_commands_leaves_room_for_what_others_have)
{
	char folder[] = "/tmp/rtl-answer-XXXXXX", path[64];
	struct heard *heard = calloc(1, sizeof(*heard));
	unsigned busy = 0, calm = 0, removed = 0;
	const Rtl__SessionsReply *reply;
	struct index *index;
	Rtl__Frame *frame;
	bool is_new;

	assert_non_null(heard);
	assert_non_null(mkdtemp(folder));
	snprintf(path, sizeof(path), "%s/index.db", folder);
	assert_int_equal(index_open(path, NULL, &index, &is_new), 0);
	sql(index, "PRAGMA synchronous=OFF");
	put_all(index);
	ask(index, heard);
	assert_true(heard->fill > FRAME_PREFIX_BYTES);
	assert_int_equal(frame_get_length(heard->bytes), heard->fill - FRAME_PREFIX_BYTES);
	frame = rtl__frame__unpack(
		NULL, heard->fill - FRAME_PREFIX_BYTES, heard->bytes + FRAME_PREFIX_BYTES);
	assert_non_null(frame);
	reply = frame->sessions_reply;
	for (size_t i = 0; i < reply->n_sessions; i++) {
		busy += reply->sessions[i]->uid == BUSY;
		calm += reply->sessions[i]->uid == CALM && !reply->sessions[i]->has_removed_why;
		removed += reply->sessions[i]->has_removed_why;
	}
	/* As many as its worker would list. */
	assert_int_equal(busy, SESSIONS_CLOSED_MAX);
	assert_int_equal(calm, 2);
	assert_int_equal(removed, 1);
	assert_int_equal(reply->n_kept, 1);
	/* The newest comes first, with the beginning of its command. */
	assert_int_equal(reply->sessions[0]->start_realtime_ns, 10 + MANY);
	assert_in_range(reply->sessions[0]->command.len, 512, COMMAND_BYTES_MAX / 2);
	rtl__frame__free_unpacked(frame, NULL);
	index_close(index);
	assert_int_equal(unlink(path), 0);
	assert_int_equal(rmdir(folder), 0);
	free(heard);
}
