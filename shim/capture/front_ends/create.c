// SPDX-License-Identifier: MIT
#include "shim/capture/front_ends/create.h"

#include <errno.h>
#include <stddef.h>

#include "shim/capture/capture_internal.h"
#include "shim/capture/front_ends/intercept.h"
#include "shim/capture/front_ends/shadow.h"
#include "shim/capture/front_ends/shadow_table.h"

int capture_create(const struct recorder_identity *identity, const struct capture_hsa *hsa,
	struct capture **ret)
{
	struct capture *c;
	int r = capture_new(identity, hsa, &shadow_walks, &c);

	if (r < 0)
		return r;
	c->head.shadow = shadow_table_new();
	c->intercept = intercept_queues_new();
	if (!c->head.shadow || !c->intercept) {
		capture_free(c);
		return -ENOMEM;
	}
	*ret = c;
	return 0;
}

struct capture *capture_free(struct capture *c)
{
	if (!c)
		return NULL;
	shadow_table_free(c->head.shadow);
	intercept_queues_free(c->intercept);
	return capture_done(c);
}
