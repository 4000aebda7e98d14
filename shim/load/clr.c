/* SPDX-License-Identifier: MIT */
#include "shim/load/clr.h"

#include <limits.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "shim/base/glibc_compat.h"
#include "shim/base/process/loaded_library.h"

#define CLR_STEM "libamdhip64"

/* More files than a program loads at once, and longer paths. */
#define FILES_MAX  4u
#define PATH_BYTES 1024u

/* Bytes of HIP's dispatch table: a word with its size, then one word per function. */
#define TABLE_BYTES(functions) (((functions) + 1) * sizeof(void *))
#define TABLE_BYTES_ROCM6      TABLE_BYTES(474) /* 6.4, step 10; earlier ones are smaller */
#define TABLE_BYTES_ROCM70     TABLE_BYTES(477) /* step 12 */
#define TABLE_BYTES_ROCM71     TABLE_BYTES(496) /* step 14 */
#define TABLE_BYTES_ROCM72     TABLE_BYTES(506) /* step 18 */

/* Size of the table that was registered last; 0 if there was none. */
static _Atomic uint64_t table_bytes;

void clr_registered(const void *hip_table)
{
	uint64_t bytes;

	memcpy(&bytes, hip_table, sizeof(bytes));
	atomic_store_explicit(&table_bytes, bytes, memory_order_relaxed);
}

unsigned clr_release_of_table(uint64_t bytes)
{
	if (bytes <= TABLE_BYTES_ROCM6)
		return 600;
	switch (bytes) {
	case TABLE_BYTES_ROCM70:
		return 700;
	case TABLE_BYTES_ROCM71:
		return 701;
	case TABLE_BYTES_ROCM72:
		return 702;
	default:
		return CLR_UNKNOWN;
	}
}

unsigned clr_release_of_file(const char *path)
{
	const char *name = strrchr(path, '/');
	unsigned long major, minor;
	char *end;

	name = strstr(name ? name + 1 : path, ".so.");
	if (!name)
		return 0;
	major = strtoul(name + 4, &end, 10);
	if (*end != '.' || end == name + 4)
		return 0;
	name = end + 1;
	minor = strtoul(name, &end, 10);
	/* The name is like libamdhip64.so.5.7.50701. Out of range, it is no release. */
	if (end == name || (*end && *end != '.') || !major || major > 98 || minor > 99)
		return 0;
	return (unsigned)(100 * major + minor);
}

/*
 * Up to 6.4, a batch of a graph is many single dispatches, of which CLR keeps a copy. 7.2 has
 * batches and reads the host's copy of the last packet. Later ones read the ring and take a signal
 * there for their own, so that a wait may end early. The sources of 7.0 and 7.1 were not examined.
 */
bool clr_release_reads_back(unsigned release)
{
	return release >= 700 && release != 702;
}

struct files {
	char path[FILES_MAX][PATH_BYTES];
	unsigned count;
	bool is_more;
};

static void file_note(const char *path, void *data)
{
	struct files *files = data;
	size_t bytes = strlen(path) + 1;

	if (files->count == FILES_MAX || bytes > sizeof(files->path[0])) {
		files->is_more = true;
		return;
	}
	memcpy(files->path[files->count++], path, bytes);
}

static unsigned release_of(const char *path, unsigned otherwise)
{
	unsigned release = clr_release_of_file(path);
	char resolved[PATH_MAX];

	if (!release && realpath(path, resolved))
		release = clr_release_of_file(resolved);
	return release ? release : otherwise;
}

static unsigned release_of_kind(enum runtime_kind kind)
{
	switch (kind) {
	case RUNTIME_5:
	case RUNTIME_6:
		return 600;
	case RUNTIME_7_0:
		return 700;
	case RUNTIME_7_2:
		return 702;
	case RUNTIME_LATER:
	case RUNTIME_LATER_FIXED:
		break;
	}
	return CLR_UNKNOWN;
}

bool clr_reads_packets_back(enum runtime_kind kind)
{
	uint64_t bytes = atomic_load_explicit(&table_bytes, memory_order_relaxed);
	unsigned otherwise = bytes ? clr_release_of_table(bytes) : release_of_kind(kind);
	struct files files = {.count = 0};
	bool does = false;

	library_each(CLR_STEM, file_note, &files);
	/*
	 * CLR is linked into the program, or there is none: assume the one that belongs to this
	 * ROCr.
	 */
	if (!files.count || files.is_more)
		does = clr_release_reads_back(otherwise);
	for (unsigned i = 0; i < files.count; i++)
		does |= clr_release_reads_back(release_of(files.path[i], otherwise));
	return does;
}
