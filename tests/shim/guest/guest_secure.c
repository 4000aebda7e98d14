/* SPDX-License-Identifier: MIT
 *
 * Programs that run with other rights than their caller's, and what happens on the runtime's own
 * threads.
 */
#include "tests/shim/guest/guest.h"

#include <link.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/resource.h>
#include <unistd.h>

static int is_shim(struct dl_phdr_info *info, size_t bytes, void *data)
{
	(void)bytes;
	(void)data;
	return strstr(info->dlpi_name, "librtl-shim") != NULL;
}

/* ld.so ignores LD_PRELOAD then; the runtime does not ignore HSA_TOOLS_LIB. */
static int secure(char **arguments)
{
	(void)arguments;
	guest_open();
	if (getenv("HSA_TOOLS_LIB"))
		guest_require(dl_iterate_phdr(is_shim, NULL), "the shim is not there");
	guest_dispatch(10);
	printf("AT_SECURE %lu\n", getauxval(AT_SECURE));
	guest_tell();
	guest_close();
	return 0;
}

static bool abort_here(hsa_signal_value_t value, void *data)
{
	(void)value;
	(void)data;
	abort();
}

/* Like the runtime when the GPU faults: aborts on its thread while others dispatch. */
static int abort_in_runtime(char **arguments)
{
	const struct rlimit none = {0, 0};
	hsa_signal_t signal;

	(void)arguments;
	setrlimit(RLIMIT_CORE, &none);
	guest_open();
	guest_dispatch(10);
	guest_tell();
	signal = signal_new(1);
	HSA_OK(hsa_amd_signal_async_handler(signal, HSA_SIGNAL_CONDITION_LT, 1, abort_here, NULL));
	hsa_signal_store_screlease(signal, 0);
	while (pause())
		continue;
	return 0;
}

const struct guest_mode guest_secure[] = {
	{"secure", secure},
	{"abort_in_runtime", abort_in_runtime},
	{NULL, NULL},
};
