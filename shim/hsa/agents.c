/* SPDX-License-Identifier: MIT */
#include "shim/hsa/agents.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "proto/base/cleanup.h"

#define TOPOLOGY_DIR "/sys/class/kfd/kfd/topology/nodes"

/* Attributes that the headers we build with may lack; older runtimes refuse them. */
#define AGENT_DRIVER_NODE_ID	  0xA004
#define AGENT_BDFID		  0xA006
#define AGENT_PRODUCT_NAME	  0xA009
#define AGENT_DOMAIN		  0xA00F
#define AGENT_UUID		  0xA011
#define AGENT_TIMESTAMP_FREQUENCY 0xA016
#define AGENT_DRIVER_UID	  0xA112

#define NODES_MAX 256u

/* A node of the host, as sysfs shows it. */
struct node {
	uint32_t id;
	uint32_t gpu_id; /* KFD's; 0 for a CPU, or if hidden from this process */
	bool is_gpu;
	bool has_location;
	uint32_t location_id;
	uint32_t domain;
};

struct agents_reading {
	const struct hsa_table *table;
	struct agents *agents;
};

static bool agent_get_info(
	const struct hsa_table *table, hsa_agent_t handle, uint32_t what, void *ret)
{
	return table->real.hsa_agent_get_info(handle, (hsa_agent_info_t)what, ret) ==
	       HSA_STATUS_SUCCESS;
}

/* "GPU-0123456789abcdef". The runtime reports "GPU-XX" for a GPU without an id. */
static uint64_t uuid_parse(const char *text)
{
	char *end = NULL;
	uint64_t value;

	if (strncmp(text, "GPU-", 4))
		return 0;
	value = strtoull(text + 4, &end, 16);
	return *end ? 0 : value;
}

static void agent_read(const struct hsa_table *table, hsa_agent_t handle, struct agent *agent)
{
	char text[64] = "";

	memset(agent, 0, sizeof(*agent));
	agent->handle = handle;
	agent_get_info(table, handle, AGENT_DRIVER_NODE_ID, &agent->kfd_node);
	agent_get_info(table, handle, AGENT_BDFID, &agent->location_id);
	agent_get_info(table, handle, AGENT_DOMAIN, &agent->domain);
	agent_get_info(table, handle, AGENT_DRIVER_UID, &agent->kfd_gpu_id);
	agent_get_info(table, handle, AGENT_TIMESTAMP_FREQUENCY, &agent->tick_hz);
	agent_get_info(table, handle, HSA_AGENT_INFO_NAME, agent->gfx);
	agent_get_info(table, handle, AGENT_PRODUCT_NAME, agent->name);
	agent->gfx[sizeof(agent->gfx) - 1] = '\0';
	agent->name[sizeof(agent->name) - 1] = '\0';
	if (agent_get_info(table, handle, AGENT_UUID, text)) {
		text[sizeof(text) - 1] = '\0';
		agent->unique_id = uuid_parse(text);
	}
	/* Newer KFDs report the partition in the top bits; earlier it was the PCI function. */
	agent->partition =
		agent->location_id >> 28 ? agent->location_id >> 28 : agent->location_id & 7;
}

static hsa_status_t agent_visit(hsa_agent_t handle, void *data)
{
	struct agents_reading *reading = data;
	struct agents *agents = reading->agents;
	hsa_device_type_t type = HSA_DEVICE_TYPE_CPU;

	if (!agent_get_info(reading->table, handle, HSA_AGENT_INFO_DEVICE, &type))
		return HSA_STATUS_SUCCESS;
	if (type == HSA_DEVICE_TYPE_CPU)
		agents->cpu_nodes++;
	if (type != HSA_DEVICE_TYPE_GPU)
		return HSA_STATUS_SUCCESS;
	if (agents->count == RECORDER_GPUS)
		agents->left_out++;
	else
		agent_read(reading->table, handle, &agents->gpu[agents->count++]);
	return HSA_STATUS_SUCCESS;
}

/* Returns the bytes read into @text, NUL-terminated, or -errno. */
static ssize_t node_file_read(int dir, const char *node, const char *name, char *text, size_t room)
{
	char path[64];
	CLEANUP(close_p) int fd = -1;
	ssize_t bytes;

	snprintf(path, sizeof(path), "%.32s/%s", node, name);
	fd = openat(dir, path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return -errno;
	bytes = read(fd, text, room - 1);
	if (bytes < 0)
		return -errno;
	text[bytes] = '\0';
	return bytes;
}

static bool property_find(const char *text, const char *name, uint32_t *ret)
{
	size_t length = strlen(name);

	for (; text && *text; text = strchr(text, '\n'), text += text ? 1 : 0) {
		if (strncmp(text, name, length) || text[length] != ' ')
			continue;
		*ret = (uint32_t)strtoul(text + length, NULL, 10);
		return true;
	}
	return false;
}

static void node_read(int dir, const char *name, struct node *node)
{
	char text[4096];
	ssize_t bytes;

	memset(node, 0, sizeof(*node));
	node->id = (uint32_t)strtoul(name, NULL, 10);
	bytes = node_file_read(dir, name, "gpu_id", text, sizeof(text));
	if (bytes < 0) {
		/* KFD hides GPUs of other cgroups, never CPUs, so a hidden node counts as a GPU. */
		node->is_gpu = bytes == -EPERM || bytes == -EACCES;
		return;
	}
	node->gpu_id = (uint32_t)strtoul(text, NULL, 10);
	node->is_gpu = node->gpu_id != 0;
	if (node->is_gpu && node_file_read(dir, name, "properties", text, sizeof(text)) > 0)
		node->has_location = property_find(text, "location_id", &node->location_id) &&
				     property_find(text, "domain", &node->domain);
}

static uint32_t nodes_read(const char *topology, struct node *nodes)
{
	DIR *listing = opendir(topology);
	struct dirent *entry;
	uint32_t count = 0;

	if (!listing)
		return 0;
	while (count < NODES_MAX && (entry = readdir(listing)))
		if (entry->d_name[0] >= '0' && entry->d_name[0] <= '9')
			node_read(dirfd(listing), entry->d_name, &nodes[count++]);
	closedir(listing);
	return count;
}

/*
 * Finds the host's node of @agent. The runtime renumbers nodes if some are hidden, so KFD's id and
 * the PCI location are compared before the node number.
 */
static const struct node *node_find(
	const struct node *nodes, uint32_t count, const struct agent *agent)
{
	for (uint32_t i = 0; agent->kfd_gpu_id && i < count; i++)
		if (nodes[i].gpu_id == agent->kfd_gpu_id)
			return &nodes[i];
	for (uint32_t i = 0; i < count; i++)
		if (nodes[i].has_location && nodes[i].location_id == agent->location_id &&
			nodes[i].domain == agent->domain)
			return &nodes[i];
	for (uint32_t i = 0; i < count; i++)
		if (nodes[i].is_gpu && !nodes[i].has_location && nodes[i].id == agent->kfd_node)
			return &nodes[i];
	return NULL;
}

void agents_number(struct agents *agents, const char *topology)
{
	CLEANUP(free_p) struct node *nodes = calloc(NODES_MAX, sizeof(*nodes));
	uint32_t count = nodes ? nodes_read(topology, nodes) : 0;

	for (uint32_t i = 0; i < agents->count; i++) {
		struct agent *agent = &agents->gpu[i];
		const struct node *node = node_find(nodes, count, agent);

		if (!node) {
			agent->gpu_id = agent->kfd_node >= agents->cpu_nodes
						? agent->kfd_node - agents->cpu_nodes
						: agent->kfd_node;
			continue;
		}
		if (!agent->kfd_gpu_id)
			agent->kfd_gpu_id = node->gpu_id;
		agent->gpu_id = 0;
		for (uint32_t k = 0; k < count; k++)
			agent->gpu_id += nodes[k].is_gpu && nodes[k].id < node->id;
	}
}

int agents_read(const struct hsa_table *table, struct agents *ret)
{
	struct agents_reading reading = {.table = table, .agents = ret};

	memset(ret, 0, sizeof(*ret));
	if (table->real.hsa_iterate_agents(agent_visit, &reading) != HSA_STATUS_SUCCESS)
		return -EIO;
	agents_number(ret, TOPOLOGY_DIR);
	return 0;
}

int agents_find(const struct agents *agents, hsa_agent_t handle)
{
	for (uint32_t i = 0; i < agents->count; i++)
		if (agents->gpu[i].handle.handle == handle.handle)
			return (int)i;
	return -ENOENT;
}
