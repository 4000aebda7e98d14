/* SPDX-License-Identifier: MIT */
#include "shim/load/namespace.h"

#include <dlfcn.h>
#include <link.h>
#include <stdatomic.h>
#include <stddef.h>
#include <string.h>

#include "shim/base/glibc_compat.h"
#include "shim/wrap/real.h"

#define EXPORT __attribute__((visibility("default")))
#define CLAIM  "rtl_process_claim"

typedef bool process_claim(const void *copy, bool is_wanted);

process_claim rtl_process_claim;

static const void *_Atomic holder;

/* Called by copies of the shim in other namespaces; @copy is an address of theirs. */
EXPORT bool rtl_process_claim(const void *copy, bool is_wanted)
{
	const void *expected = is_wanted ? NULL : copy;

	return atomic_compare_exchange_strong(&holder, &expected, is_wanted ? copy : NULL) ||
	       expected == copy;
}

bool namespace_is_other(void)
{
	Lmid_t id = LM_ID_BASE;
	void *map = NULL;
	Dl_info info;

	return dladdr1((const void *)namespace_is_other, &info, &map, RTLD_DL_LINKMAP) && map &&
	       !dlinfo(map, RTLD_DI_LMID, &id) && id != LM_ID_BASE;
}

/* The function of the copy in the program's own namespace; ours if there is none. */
static process_claim *find_claim(void)
{
	real_dlsym_fn find = real_dlsym();
	process_claim *claim = rtl_process_claim;
	void *handle = NULL, *found = NULL;
	Dl_info info;

	if (!find || !namespace_is_other() || !dladdr((const void *)find_claim, &info))
		return claim;
	handle = dlmopen(LM_ID_BASE, info.dli_fname, RTLD_LAZY | RTLD_NOLOAD);
	found = handle ? find(handle, CLAIM) : NULL;
	/* The handle is not closed: that copy stays loaded anyway (-z nodelete). */
	if (found)
		memcpy(&claim, &found, sizeof(claim));
	return claim;
}

bool namespace_claim(void)
{
	return find_claim()(&holder, true);
}

void namespace_release(void)
{
	(void)find_claim()(&holder, false);
}
