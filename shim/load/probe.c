/* SPDX-License-Identifier: MIT */
#include "shim/load/probe.h"
#include "shim/base/glibc_compat.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* The step of AMD's table that introduced the extended kernel dispatch. */
#define EXT_STEP_EXTENDED_DISPATCH 0xdu

int probe_descriptor(const char *const *environment)
{
	static const char name[] = "RTL_PROBE=";

	for (; environment && *environment; environment++)
		if (!strncmp(*environment, name, strlen(name)))
			return atoi(*environment + strlen(name));
	return -1;
}

void probe_answer(int fd, const struct probe *p)
{
	const struct front_ends *ends = p->front_ends;
	const struct hsa_table *table = p->table;

	dprintf(fd,
		"runtime %s\nbuild %s\nrelease %s\ntable %u\next_bytes %u\next_step %u\n"
		"front_end %s\nfallback %s\nwhy %s\ntool %s\n",
		p->runtime, p->build, p->release, table->root_major, table->ext_bytes,
		table->ext_step, ends->first ? ends->first->name : "none",
		ends->fallback ? ends->fallback->name : "none", ends->why ? ends->why : "",
		ends->tool);
#define MEMBER(name) dprintf(fd, #name " %d\n", table->slot.name != NULL);
	MEMBER(hsa_queue_create)
	MEMBER(hsa_amd_queue_intercept_create)
	MEMBER(hsa_amd_queue_get_info)
	MEMBER(hsa_amd_memory_async_copy_on_engine)
	dprintf(fd, "extended_dispatch %d\n", table->ext_step >= EXT_STEP_EXTENDED_DISPATCH);
}
