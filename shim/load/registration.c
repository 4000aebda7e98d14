// SPDX-License-Identifier: MIT
/*
 * Takes the place of rocprofiler-register in a process where we are preloaded. A runtime from ROCm
 * 6.1 on registers its tables there before it loads the tools of HSA_TOOLS_LIB. There
 * rocprofiler-sdk, which every PyTorch contains, takes them: it creates the queues, and restores
 * its copy of the tables when a further tool comes. So the shim takes the tables here first, and
 * then passes them on to the real library with the same arguments. What other libraries register
 * (HIP, RCCL, roctx) is only passed on.
 *
 * The loader does not resolve to this function if the runtime was opened with RTLD_DEEPBIND or by
 * dlmopen(). Then only OnLoad is called.
 */
#include "shim/load/registration.h"

#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "shim/hsa/table.h"
#include "shim/load/clr.h"
#include "shim/load/namespace.h"
#include "shim/load/onload.h"
#include "shim/load/preload.h"
#include "shim/wrap/real.h"

#define EXPORT	      __attribute__((visibility("default")))
#define REGISTER      "rocprofiler_register_library_api_table"
#define REGISTER_FILE "librocprofiler-register"

/* What the real function returns if no tool wants the tables. */
#define NO_TOOLS 1

typedef uint32_t registration_import(void);
typedef int registration(const char *name, registration_import *import, uint32_t version,
	void **tables, uint64_t count, uint64_t *id);

registration rocprofiler_register_library_api_table;

/*
 * A function of the library that registers. It leads to the real rocprofiler-register, which that
 * library depends on. For the runtime it is taken from its tables, before a tool has changed them;
 * for other libraries it is the one they pass.
 */
static const void *registrant_of(
	const char *name, registration_import *import, void **tables, uint64_t count)
{
	struct hsa_table table;

	if (!name || strcmp(name, "hsa") || !tables || !count || hsa_table_open(tables[0], &table))
		return (const void *)import;
	return (const void *)table.real.hsa_system_get_info;
}

EXPORT int rocprofiler_register_library_api_table(const char *name, registration_import *import,
	uint32_t version, void **tables, uint64_t count, uint64_t *id)
{
	const void *registrant = registrant_of(name, import, tables, count);
	registration *real;
	void *found;

	if (name && !strcmp(name, "hsa") && tables && count)
		onload_take_registered(tables[0], registrant);
	/* The size of its table tells whether this release of CLR reads packets back. */
	if (name && !strcmp(name, "hip") && tables && count)
		clr_registered(tables[0]);
	found = real_find(REGISTER, REGISTER_FILE, registrant);
	if (!found && import && registrant != (const void *)import)
		found = real_next(REGISTER, (const void *)import);
	if (!found)
		return NO_TOOLS;
	memcpy(&real, &found, sizeof(real));
	return real(name, import, version, tables, count, id);
}

/*
 * A switch of the real rocprofiler-register: then only the tools of HSA_TOOLS_LIB get the tables.
 */
#define WITHOUT_IT "; with ROCPROFILER_REGISTER_ENABLED=0 they are"

const char *registration_missed(const void *function)
{
	if (!real_find(REGISTER, REGISTER_FILE, function))
		return "it is before rtl in HSA_TOOLS_LIB; without it there they are";
	if (namespace_is_other())
		return "it came first, because the runtime was opened by dlmopen()" WITHOUT_IT;
	if (preload_was_asked_for())
		return "it came first, because the runtime was opened with "
		       "RTLD_DEEPBIND" WITHOUT_IT;
	return "it came first, because librtl-shim.so is not in LD_PRELOAD; with it, as rtl run "
	       "has it, they are";
}
