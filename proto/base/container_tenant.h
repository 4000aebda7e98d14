/* SPDX-License-Identifier: MIT */
#pragma once
/*
 * The numbers of tenants of the service. A tenant is a uid, or a container with all of its uids,
 * whose number stands where that of another tenant is a uid: in the path of its databases, in the
 * index and in a message. A uid in this range is not served outside a container.
 */
#include <stdbool.h>
#include <sys/types.h>

#define CONTAINER_TENANT_MIN 0xc0000000u
#define CONTAINER_TENANT_MAX 0xfffffffeu

static inline bool container_is_tenant(uid_t tenant)
{
	return tenant >= CONTAINER_TENANT_MIN && tenant <= CONTAINER_TENANT_MAX;
}
