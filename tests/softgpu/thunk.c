// SPDX-License-Identifier: MIT
/* The part of libhsakmt.so.1 that differs from libdtif.so, in the layout of its headers. */
#include "tests/softgpu/softgpu.h"

HSAKMT_STATUS hsaKmtGetNodeProperties(HSAuint32 node, HsaNodeProperties *props)
{
	return topology_get_node(node, props);
}

HSAKMT_STATUS hsaKmtGetNodeIoLinkProperties(
	HSAuint32 node, HSAuint32 count, HsaIoLinkProperties *props)
{
	uint32_t engines;

	if (!props)
		return HSAKMT_STATUS_INVALID_PARAMETER;
	if (node > softgpu_config.count)
		return HSAKMT_STATUS_INVALID_NODE_UNIT;
	for (HSAuint32 i = 0; i < count; i++) {
		if (!topology_get_link(node, i, &props[i], &engines))
			break;
	}
	return HSAKMT_STATUS_SUCCESS;
}
