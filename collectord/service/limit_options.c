/* SPDX-License-Identifier: MIT */
#include "collectord/service/limit_options.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <sys/statvfs.h>

#include "collectord/service/configured.h"
#include "proto/base/limits.h"

#define MIB   (1ull << 20)
#define DAY_S 86400u

enum option_key {
	KEY_QUOTA_ROWS = 0x200,
	KEY_QUOTA_BYTES,
	KEY_QUOTA_BURST,
	KEY_QUOTA_DISK,
	KEY_QUOTA_MEMORY,
	KEY_QUOTA_NAMES,
	KEY_KEEP_DAYS,
	KEY_KEEP_BYTES,
	KEY_KEEP_SESSIONS,
};

static const struct argp_option options[] = {
	{NULL, 0, NULL, 0, "Limits; 0 is none. Defaults are the service's, others have none:", 1},
	{"quota-rows", KEY_QUOTA_ROWS, "N", 0,
		"records a second that a user may store (default 2000000); more are "
		"counted (dropped_quota) and not stored",
		1},
	{"quota-bytes", KEY_QUOTA_BYTES, "MIB", 0,
		"MiB of records a second that a user may send (default 256); more are dropped", 1},
	{"quota-burst", KEY_QUOTA_BURST, "SECONDS", 0,
		"seconds of quota that a user may save up and send at once (default 10)", 1},
	{"quota-disk", KEY_QUOTA_DISK, "MIB", 0,
		"what the databases of a user may take (default: a quarter of the file "
		"system); its oldest closed sessions are removed, then its live ones store no more",
		1},
	{"quota-memory", KEY_QUOTA_MEMORY, "MIB", 0,
		"memory for a user's kernels, names and queues (default 172); then new names "
		"become "
		"<name-overflow> and are counted; last, processes are refused",
		1},
	{"quota-names", KEY_QUOTA_NAMES, "N", 0,
		"new names of kernels and markers that a user may store in a day, counted by each "
		"begun 256 bytes (default 1048576); then as above",
		1},
	{"keep-days", KEY_KEEP_DAYS, "DAYS", 0,
		"remove closed sessions DAYS after their end (default 0: never)", 1},
	{"keep-bytes", KEY_KEEP_BYTES, "MIB", 0,
		"remove closed sessions while all databases take more than MIB, those of the user "
		"with most first (default 0: only for room on the disk, see --keep-free)",
		1},
	{"keep-sessions", KEY_KEEP_SESSIONS, "N", 0,
		"number of closed sessions to keep of a user, whatever their size (default 16384); "
		"the oldest are removed",
		1},
	{NULL, 0, NULL, 0, NULL, 0},
};

static const struct number {
	int key;
	size_t field; /* offset in struct quota_limits */
	uint64_t max, unit;
} numbers[] = {
#define NUMBER(key, field, ...)                                                                    \
	{                                                                                          \
		key, offsetof(struct quota_limits, field), __VA_ARGS__                             \
	}
	NUMBER(KEY_QUOTA_ROWS, records_per_s, 1000000000, 1),
	NUMBER(KEY_QUOTA_BYTES, bytes_per_s, UINT32_MAX, MIB),
	NUMBER(KEY_QUOTA_BURST, burst_s, 3600, 1),
	NUMBER(KEY_QUOTA_DISK, disk_bytes, UINT32_MAX, MIB),
	NUMBER(KEY_QUOTA_MEMORY, memory_bytes, UINT32_MAX, MIB),
	NUMBER(KEY_QUOTA_NAMES, names_per_day, UINT32_MAX, 1),
	NUMBER(KEY_KEEP_DAYS, keep_s, 36500, DAY_S),
	NUMBER(KEY_KEEP_BYTES, keep_bytes, UINT32_MAX, MIB),
	NUMBER(KEY_KEEP_SESSIONS, keep_sessions, UINT32_MAX, 1),
#undef NUMBER
};

static const char *name_option(int key)
{
	const struct argp_option *option = options;

	while (option->key != key)
		option++;
	return option->name;
}

error_t limit_options_number(
	struct argp_state *state, const char *option, const char *text, uint64_t max, uint64_t *ret)
{
	uint64_t value;
	char *end;

	errno = 0;
	value = strtoull(text, &end, 10);
	if (end == text || *end || errno || text[0] == '-' || value > max)
		return configured_refuse(
			state, option, "not a number up to %" PRIu64 ": %s", max, text);
	*ret = value;
	return 0;
}

static uint64_t or_default(uint64_t given, uint64_t value)
{
	return given == LIMIT_UNSET ? value : given;
}

/* Rejects a burst that is smaller than one frame: such a bucket would never grant a frame. */
static error_t check(struct argp_state *state, const struct quota_limits *limits)
{
	uint64_t burst_s = or_default(limits->burst_s, QUOTA_BURST_S);
	uint64_t rows = or_default(limits->records_per_s, 0);

	if (!burst_s)
		return configured_refuse(state, NULL, "--quota-burst: at least a second");
	if (rows && rows * burst_s < FRAME_RECORDS_MAX)
		return configured_refuse(state, NULL,
			"--quota-rows times --quota-burst: at least %u records", FRAME_RECORDS_MAX);
	return 0;
}

static error_t parse_option(int key, char *text, struct argp_state *state)
{
	struct quota_limits *limits = state->input;

	if (key == ARGP_KEY_END)
		return check(state, limits);
	for (size_t i = 0; i < sizeof(numbers) / sizeof(*numbers); i++) {
		uint64_t *field = (uint64_t *)((char *)limits + numbers[i].field);
		error_t r;

		if (numbers[i].key != key)
			continue;
		r = limit_options_number(state, name_option(key), text, numbers[i].max, field);
		if (r == 0)
			*field *= numbers[i].unit;
		return r;
	}
	return ARGP_ERR_UNKNOWN;
}

const struct argp limit_options = {.options = options, .parser = parse_option};

static uint64_t disk_part(const char *folder)
{
	struct statvfs fs;

	if (statvfs(folder, &fs) < 0)
		return 0;
	return (uint64_t)fs.f_blocks * fs.f_frsize / QUOTA_DISK_PART;
}

struct quota_limits limit_options_resolve(
	const struct quota_limits *given, bool is_service, const char *folder)
{
	return (struct quota_limits){
		.records_per_s =
			or_default(given->records_per_s, is_service ? QUOTA_RECORDS_PER_S : 0),
		.bytes_per_s = or_default(given->bytes_per_s, is_service ? QUOTA_BYTES_PER_S : 0),
		.burst_s = or_default(given->burst_s, QUOTA_BURST_S),
		.disk_bytes = or_default(given->disk_bytes, is_service ? disk_part(folder) : 0),
		.memory_bytes =
			or_default(given->memory_bytes, is_service ? QUOTA_MEMORY_BYTES : 0),
		.names_per_day =
			or_default(given->names_per_day, is_service ? NAMES_PER_DAY_MAX : 0),
		.keep_s = or_default(given->keep_s, 0),
		.keep_bytes = or_default(given->keep_bytes, 0),
		.keep_sessions =
			or_default(given->keep_sessions, is_service ? KEEP_SESSIONS_MAX : 0),
	};
}
