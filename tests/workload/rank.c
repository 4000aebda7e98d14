// SPDX-License-Identifier: MIT
#include "tests/workload/rank.h"

#include <limits.h>
#include <stddef.h>
#include <stdlib.h>

/*
 * In the order of belief: the innermost launcher wins. srun is last, because children of an
 * sbatch script inherit SLURM_PROCID=0 whatever launches them.
 */
static const struct {
	const char *launcher;
	const char *rank, *local_rank, *world_size;
	const char *required[3]; /* beside rank */
} rank_launchers[] = {
	{"user", "RTL_RANK", "RTL_LOCAL_RANK", "WORLD_SIZE", {NULL}},
	{"torchrun", "RANK", "LOCAL_RANK", "WORLD_SIZE",
		{"GROUP_RANK", "LOCAL_RANK", "LOCAL_WORLD_SIZE"}},
	{"pytorch", "RANK", "LOCAL_RANK", "WORLD_SIZE", {"LOCAL_RANK", "WORLD_SIZE", NULL}},
	{"openmpi", "OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_LOCAL_RANK", "OMPI_COMM_WORLD_SIZE",
		{NULL}},
	{"pals", "PALS_RANKID", "PALS_LOCAL_RANKID", "PMI_SIZE", {NULL}},
	{"pmi", "PMI_RANK", "MPI_LOCALRANKID", "PMI_SIZE", {NULL}},
	{"mvapich2", "MV2_COMM_WORLD_RANK", "MV2_COMM_WORLD_LOCAL_RANK", "MV2_COMM_WORLD_SIZE",
		{NULL}},
	{"flux", "FLUX_TASK_RANK", "FLUX_TASK_LOCAL_ID", "FLUX_JOB_SIZE", {NULL}},
	{"jsrun", "JSM_NAMESPACE_RANK", "JSM_NAMESPACE_LOCAL_RANK", "JSM_NAMESPACE_SIZE", {NULL}},
	{"srun", "SLURM_PROCID", "SLURM_LOCALID", "SLURM_NTASKS", {NULL}},
};

static int rank_read(const char *name)
{
	const char *text = getenv(name);
	char *end;
	long value;

	if (!text || text[0] < '0' || text[0] > '9')
		return -1;
	value = strtol(text, &end, 10);
	return *end || value > INT_MAX ? -1 : (int)value;
}

bool rank_detect(struct rank_info *ret)
{
	for (size_t i = 0; i < sizeof(rank_launchers) / sizeof(*rank_launchers); i++) {
		bool complete = rank_read(rank_launchers[i].rank) >= 0;

		for (size_t r = 0; r < 3 && rank_launchers[i].required[r]; r++)
			complete = complete && rank_read(rank_launchers[i].required[r]) >= 0;
		if (!complete)
			continue;
		*ret = (struct rank_info){.launcher = rank_launchers[i].launcher,
			.rank = rank_read(rank_launchers[i].rank),
			.local_rank = rank_read(rank_launchers[i].local_rank),
			.world_size = rank_read(rank_launchers[i].world_size)};
		return true;
	}
	*ret = (struct rank_info){.launcher = NULL, .rank = -1, .local_rank = -1, .world_size = -1};
	return false;
}
