/* SPDX-License-Identifier: MIT */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "shim/hsa/agents.h"
#include "tests/lib/folder.h"
#include "tests/lib/test.h"

/* A topology like KFD's: two CPUs, then GPUs on nodes 2, 3, 5 and 10. */
static char topology[64];

static void file_write(const char *node, const char *name, const char *text)
{
	char path[160];
	FILE *file;

	snprintf(path, sizeof(path), "%s/%s", topology, node);
	mkdir(path, 0700);
	snprintf(path, sizeof(path), "%s/%s/%s", topology, node, name);
	file = fopen(path, "w");
	assert_non_null(file);
	fputs(text, file);
	fclose(file);
}

static void node_write(const char *node, unsigned gpu_id, unsigned location)
{
	char text[128];

	snprintf(text, sizeof(text), "%u\n", gpu_id);
	file_write(node, "gpu_id", text);
	snprintf(text, sizeof(text), "cpu_cores_count 0\nlocation_id %u\ndomain 1\n", location);
	file_write(node, "properties", text);
}

static int topology_make(void **state)
{
	(void)state;
	strcpy(topology, "/tmp/rtl-agents-XXXXXX");
	if (!mkdtemp(topology))
		return -1;
	node_write("0", 0, 0);
	node_write("1", 0, 0);
	node_write("2", 1000, 0x100);
	node_write("3", 1001, 0x200);
	node_write("5", 1002, 0x300);
	node_write("10", 1003, 0x400);
	return 0;
}

static int topology_remove(void **state)
{
	(void)state;
	return folder_remove(topology);
}

TEST_CASE(the_ordinal_is_the_position_among_the_hosts_gpus)
{
	struct agents agents = {.count = 2, .cpu_nodes = 2};

	/* ROCR_VISIBLE_DEVICES=3,1: another order, and fewer, than the host has. */
	agents.gpu[0] = (struct agent){.kfd_node = 10, .kfd_gpu_id = 1003};
	agents.gpu[1] = (struct agent){.kfd_node = 3, .kfd_gpu_id = 1001};
	agents_number(&agents, topology);
	assert_int_equal(agents.gpu[0].gpu_id, 3);
	assert_int_equal(agents.gpu[1].gpu_id, 1);
}

TEST_CASE(an_old_runtime_is_found_by_its_place_on_the_bus)
{
	struct agents agents = {.count = 1, .cpu_nodes = 1};

	/* Renumbered: the runtime's node 1 is the host's node 5. */
	agents.gpu[0] = (struct agent){.kfd_node = 1, .location_id = 0x300, .domain = 1};
	agents_number(&agents, topology);
	assert_int_equal(agents.gpu[0].gpu_id, 2);
	assert_int_equal(agents.gpu[0].kfd_gpu_id, 1002);
}

TEST_CASE(a_gpu_that_the_host_does_not_list_counts_from_its_node)
{
	struct agents agents = {.count = 1, .cpu_nodes = 1};

	agents.gpu[0] = (struct agent){.kfd_node = 4, .kfd_gpu_id = 77, .location_id = 0x900};
	agents_number(&agents, topology);
	assert_int_equal(agents.gpu[0].gpu_id, 3);
}

TEST_CASE(without_a_topology_the_node_decides)
{
	struct agents agents = {.count = 2, .cpu_nodes = 1};

	agents.gpu[0] = (struct agent){.kfd_node = 1};
	agents.gpu[1] = (struct agent){.kfd_node = 4};
	agents_number(&agents, "/nonexistent/topology");
	assert_int_equal(agents.gpu[0].gpu_id, 0);
	assert_int_equal(agents.gpu[1].gpu_id, 3);
}

int main(void)
{
	return test_run(topology_make, topology_remove);
}
