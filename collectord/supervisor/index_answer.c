/* SPDX-License-Identifier: MIT */
/*
 * Answers a tool that may see all for the tenants without a worker: sends what a worker would send,
 * read from the index of the node. The worker that merges the replies drops the rows of tenants
 * whose own worker has replied.
 */
#include <errno.h>
#include <poll.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

#include "collectord/catalog/index_removed.h"
#include "collectord/service/container.h"
#include "collectord/supervisor/internal.h"
#include "proto/base/cleanup.h"
#include "proto/base/limits.h"
#include "proto/wire/msg.h"
#include "proto/base/format.h"

/* Room for the remaining, short fields of a reply; tag and length of a field. */
#define SPARE_BYTES  4096u
#define PART_BYTES   16u
/* Closed sessions of all tenants together; the same limits as for removed ones. */
#define CLOSED_MAX   SESSIONS_REMOVED_MAX
#define CLOSED_EACH  SESSIONS_REMOVED_PER_UID_MAX
/* What a command of a closed session may take: with all of them there is room for the others. */
#define TEXT_BYTES   (REPLY_BYTES_MAX / 4 / CLOSED_MAX)
/* What closed sessions take at most, and removed ones beside them; the remainder is kept ones'. */
#define CLOSED_ROOM  (REPLY_BYTES_MAX / 2)
#define REMOVED_ROOM (REPLY_BYTES_MAX / 4)
/* Sessions that are kept, of all tenants together. */
#define KEPT_MAX     (4u * KEPT_SESSIONS_MAX)
/* A worker that does not read the reply for so long gets none. */
#define SEND_MS	     1000

struct answer {
	const char *store;		    /* absolute, with a slash at its end */
	ProtobufCBinaryData kept[KEPT_MAX]; /* their texts are owned */
	size_t n_kept;
	Rtl__SessionInfo *infos[CLOSED_MAX + SESSIONS_REMOVED_MAX];
	size_t n;
	size_t bytes, room; /* bytes <= room */
};

/* Adds a copy of @info with its texts; leaves it out if memory or room runs out. */
static void add(struct answer *answer, const Rtl__SessionInfo *info)
{
	size_t bytes = rtl__session_info__get_packed_size(info);
	CLEANUP(free_p) uint8_t *packed = NULL;
	Rtl__SessionInfo *copy;

	if (answer->n == sizeof(answer->infos) / sizeof(*answer->infos) ||
		answer->bytes + bytes + PART_BYTES > answer->room)
		return;
	packed = malloc(bytes);
	if (!packed)
		return;
	rtl__session_info__pack(info, packed);
	copy = rtl__session_info__unpack(NULL, bytes, packed);
	if (!copy)
		return;
	answer->infos[answer->n++] = copy;
	answer->bytes += bytes + PART_BYTES;
}

/*
 * The databases of a container lie in the folder of its number. Nothing in that folder itself can
 * be opened by the container.
 */
static void fill_container(Rtl__SessionInfo *info, const char *store, const char *database,
	char ret[CONTAINER_NAME_BYTES])
{
	CLEANUP(free_p) char *folder = NULL;
	size_t bytes = strlen(store);
	unsigned long number;

	if (strncmp(database, store, bytes) != 0)
		return;
	number = strtoul(database + bytes, NULL, 10);
	if (number > UINT32_MAX || !container_is_tenant((uid_t)number))
		return;
	folder = format_new("%s%lu", store, number);
	if (!folder)
		return;
	container_owner(folder, ret);
	if (!ret[0])
		snprintf(ret, CONTAINER_NAME_BYTES, "%lu", number);
	msg_set_bytes(&info->has_container, &info->container, ret);
}

static void fill(Rtl__SessionInfo *info, const struct answer *answer,
	const struct index_entry *entry, char container[CONTAINER_NAME_BYTES])
{
	*info = (Rtl__SessionInfo)RTL__SESSION_INFO__INIT;
	fill_container(info, answer->store, entry->database, container);
	msg_set_bytes(&info->has_session, &info->session, entry->name);
	msg_set_bytes(&info->has_job, &info->job, entry->job);
	MSG_SET(info, uid, entry->uid);
	MSG_SET(info, start_realtime_ns, entry->start_realtime_ns);
	MSG_SET(info, closed, true);
}

/* Cuts the text without splitting a UTF-8 character. */
static void cut(ProtobufCBinaryData *text)
{
	size_t bytes = TEXT_BYTES;

	if (text->len <= bytes)
		return;
	while (bytes && (text->data[bytes] & 0xc0) == 0x80)
		bytes--;
	text->len = bytes;
}

static void add_closed(const struct index_entry *entry, void *data)
{
	char container[CONTAINER_NAME_BYTES];
	Rtl__SessionInfo info;

	fill(&info, data, entry, container);
	msg_set_bytes(&info.has_database, &info.database, entry->database);
	msg_set_bytes(&info.has_command, &info.command, entry->command);
	cut(&info.command);
	msg_set_bytes(&info.has_complete, &info.complete, entry->line);
	add(data, &info);
}

static void add_removed(const struct index_removed *removed, void *data)
{
	char container[CONTAINER_NAME_BYTES];
	Rtl__SessionInfo info;

	fill(&info, data, &removed->session, container);
	MSG_SET(&info, stored, removed->session.stored);
	MSG_SET(&info, database_bytes, removed->session.bytes);
	MSG_SET(&info, removed_realtime_ns, removed->removed_ns);
	msg_set_bytes(&info.has_removed_why, &info.removed_why, removed->why);
	add(data, &info);
}

static void add_kept(const char *database, uid_t uid, void *data)
{
	struct answer *answer = data;
	char *copy = strdup(database);
	protobuf_c_boolean has;

	(void)uid;
	if (!copy || answer->bytes + strlen(copy) + PART_BYTES > answer->room) {
		free(copy);
		return;
	}
	answer->bytes += strlen(copy) + PART_BYTES;
	msg_set_bytes(&has, answer->kept + answer->n_kept++, copy);
}

static void send_all(int fd, const uint8_t *at, size_t bytes)
{
	while (bytes) {
		struct pollfd writable = {.fd = fd, .events = POLLOUT};
		ssize_t sent = send(fd, at, bytes, MSG_DONTWAIT | MSG_NOSIGNAL);

		if (sent > 0) {
			at += sent;
			bytes -= (size_t)sent;
		} else if (errno != EAGAIN || poll(&writable, 1, SEND_MS) <= 0) {
			return;
		}
	}
}

void index_answer(struct index *index, const char *store, int fd)
{
	CLEANUP(free_p) struct answer *answer = calloc(1, sizeof(*answer));
	Rtl__SessionsReply reply = RTL__SESSIONS_REPLY__INIT;
	Rtl__Frame frame = RTL__FRAME__INIT;
	CLEANUP(free_p) uint8_t *packed = NULL;
	size_t bytes = 0;

	if (!answer)
		return;
	answer->store = store;
	answer->room = CLOSED_ROOM;
	(void)index_each_closed_of_all(index, CLOSED_EACH, CLOSED_MAX, add_closed, answer);
	answer->room = answer->bytes + REMOVED_ROOM;
	(void)index_each_removed(index, NULL, SESSIONS_REMOVED_MAX, add_removed, answer);
	answer->room = REPLY_BYTES_MAX - SPARE_BYTES;
	(void)index_each_owned(index, KEPT_MAX, add_kept, answer);
	reply.kept = answer->kept;
	reply.n_kept = answer->n_kept;
	reply.sessions = answer->infos;
	reply.n_sessions = answer->n;
	frame.body_case = RTL__FRAME__BODY_SESSIONS_REPLY;
	frame.sessions_reply = &reply;
	packed = msg_pack_new(&frame, &bytes);
	if (packed)
		send_all(fd, packed, bytes);
	for (size_t i = 0; i < answer->n; i++)
		rtl__session_info__free_unpacked(answer->infos[i], NULL);
	for (size_t i = 0; i < answer->n_kept; i++)
		free(answer->kept[i].data);
}
