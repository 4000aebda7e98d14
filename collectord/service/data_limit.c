/* SPDX-License-Identifier: MIT */
#include "collectord/service/data_limit.h"

#include <sys/resource.h>

void data_limit(uint64_t definition_bytes)
{
#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__) /* theirs is most of it */
	rlim_t most = (rlim_t)(WORKER_DATA_BYTES + definition_bytes);
	struct rlimit limit;

	if (getrlimit(RLIMIT_DATA, &limit) < 0)
		return;
	/* The hard limit stays, because a process without privileges cannot raise it again. */
	limit.rlim_cur = definition_bytes && most < limit.rlim_max ? most : limit.rlim_max;
	(void)setrlimit(RLIMIT_DATA, &limit);
#else
	(void)definition_bytes;
#endif
}
