/* SPDX-License-Identifier: MIT */
#include "proto/settings/rank.h"

#include <string.h>

#include "proto/settings/environment.h"

#define NAMES_MAX 4

/*
 * One launcher. It is taken when every variable of `required` is set and `rank` is a number.
 * Each other list names alternatives, first one set wins; `job` alternatives may have a
 * second half, joined by a dot.
 */
struct launcher {
	const char *name;
	const char *required[NAMES_MAX];
	const char *rank[NAMES_MAX];
	const char *local_rank[NAMES_MAX];
	const char *world_size[NAMES_MAX];
	const char *attempt[NAMES_MAX];
	struct {
		const char *first;
		const char *second;
	} job[NAMES_MAX];
	const char *reused; /* the first half of a job that may be that of a later launch, too */
};

/*
 * Innermost first: a job started by sbatch, mpirun or torchrun inherits the variables of what
 * is around it, e.g. SLURM_PROCID=0 in every rank of a torchrun under sbatch.
 */
static const struct launcher launchers[] = {
	{
		/* RANK alone is no proof: other tools set it, for nodes too. */
		.name = "torchrun",
		.required = {"RANK", "GROUP_RANK", "LOCAL_RANK", "LOCAL_WORLD_SIZE"},
		.rank = {"RANK"},
		.local_rank = {"LOCAL_RANK"},
		.world_size = {"WORLD_SIZE"},
		.attempt = {"TORCHELASTIC_RESTART_COUNT"},
		.job = {{"TORCHELASTIC_RUN_ID", NULL}, {"MASTER_ADDR", "MASTER_PORT"}},
		.reused = "MASTER_ADDR",
	},
	{
		.name = "openmpi",
		.rank = {"OMPI_COMM_WORLD_RANK"},
		.local_rank = {"OMPI_COMM_WORLD_LOCAL_RANK"},
		.world_size = {"OMPI_COMM_WORLD_SIZE"},
		.job = {{"OMPI_MCA_ess_base_jobid", NULL}, {"PMIX_NAMESPACE", NULL}},
	},
	{
		.name = "pals",
		.rank = {"PALS_RANKID"},
		.local_rank = {"PALS_LOCAL_RANKID", "PMI_LOCAL_RANK"},
		.world_size = {"PMI_SIZE"},
		.job = {{"PALS_APID", NULL}},
	},
	{
		/* MPI_LOCALRANKID is local, whatever others make of it. */
		.name = "hydra",
		.rank = {"PMI_RANK"},
		.local_rank = {"MPI_LOCALRANKID", "PMI_LOCAL_RANK"},
		.world_size = {"PMI_SIZE"},
		.job = {{"PMI_JOBID", NULL}},
	},
	{
		.name = "mvapich2",
		.rank = {"MV2_COMM_WORLD_RANK"},
		.local_rank = {"MV2_COMM_WORLD_LOCAL_RANK"},
		.world_size = {"MV2_COMM_WORLD_SIZE"},
		.job = {{"MPIRUN_ID", NULL}},
	},
	{
		.name = "flux",
		.rank = {"FLUX_TASK_RANK"},
		.local_rank = {"FLUX_TASK_LOCAL_ID"},
		.world_size = {"FLUX_JOB_SIZE"},
		.job = {{"FLUX_JOB_ID", NULL}},
	},
	{
		.name = "jsrun",
		.rank = {"JSM_NAMESPACE_RANK"},
		.local_rank = {"JSM_NAMESPACE_LOCAL_RANK"},
		.world_size = {"JSM_NAMESPACE_SIZE"},
		.job = {{"LSB_JOBID", NULL}},
	},
	{
		/* A batch script has SLURM_PROCID=0 too, but no step: it is no rank. */
		.name = "slurm",
		.required = {"SLURM_JOB_ID", "SLURM_STEP_ID"},
		.rank = {"SLURM_PROCID"},
		.local_rank = {"SLURM_LOCALID"},
		.world_size = {"SLURM_STEP_NUM_TASKS", "SLURM_NTASKS"},
		.job = {{"SLURM_JOB_ID", "SLURM_STEP_ID"}},
	},
	{
		.name = "kubernetes",
		.required = {"KUBERNETES_SERVICE_HOST"},
		.rank = {"JOB_COMPLETION_INDEX"},
	},
};

/* An empty value counts as not set. */
static const char *env_find(const char *const *environment, const char *name)
{
	size_t length = strlen(name);

	for (; environment && *environment; environment++) {
		const char *entry = *environment;

		if (!strncmp(entry, name, length) && entry[length] == '=' && entry[length + 1])
			return entry + length + 1;
	}
	return NULL;
}

/* Plain decimal u32 or unknown: no sign, no blank, no rest. */
static struct rank_number number_parse(const char *text)
{
	struct rank_number number = {.is_known = false};
	uint64_t value;

	if (!text || variable_number(text, UINT32_MAX, &value))
		return number;
	number.is_known = true;
	number.value = (uint32_t)value;
	return number;
}

static struct rank_number number_find(const char *const *environment, const char *const *names)
{
	for (int i = 0; i < NAMES_MAX && names[i]; i++) {
		struct rank_number number = number_parse(env_find(environment, names[i]));

		if (number.is_known)
			return number;
	}
	return (struct rank_number){.is_known = false};
}

static bool launcher_is_here(const char *const *environment, const struct launcher *launcher)
{
	for (int i = 0; i < NAMES_MAX && launcher->required[i]; i++)
		if (!env_find(environment, launcher->required[i]))
			return false;
	return number_find(environment, launcher->rank).is_known;
}

static void job_append(char *job, const char *text)
{
	size_t used = strlen(job);
	size_t room = LABEL_BYTES_MAX - 1 - used;
	size_t bytes = strlen(text);

	if (bytes > room)
		bytes = room;
	memcpy(job + used, text, bytes);
	job[used + bytes] = '\0';
}

static void job_find(
	const char *const *environment, const struct launcher *launcher, struct rank_info *info)
{
	for (int i = 0; i < NAMES_MAX && launcher->job[i].first; i++) {
		const char *first = env_find(environment, launcher->job[i].first);
		const char *second = NULL;

		if (launcher->job[i].second)
			second = env_find(environment, launcher->job[i].second);
		/* torchrun without a rendezvous id calls every run "none". */
		if (!first || !strcmp(first, "none") || (launcher->job[i].second && !second))
			continue;
		job_append(info->job, first);
		if (second) {
			job_append(info->job, ".");
			job_append(info->job, second);
		}
		info->is_job_reused =
			launcher->reused && !strcmp(launcher->job[i].first, launcher->reused);
		return;
	}
}

/* What the user says stands over what a launcher says, each variable by itself. */
static void user_apply(const char *const *environment, struct rank_info *info)
{
	struct rank_number rank = number_parse(env_find(environment, "RTL_RANK"));
	struct rank_number local_rank = number_parse(env_find(environment, "RTL_LOCAL_RANK"));
	const char *job = env_find(environment, "RTL_JOB_ID");

	if (rank.is_known) {
		info->rank = rank;
		if (!info->launcher)
			info->launcher = "user";
	}
	if (local_rank.is_known)
		info->local_rank = local_rank;
	if (job) {
		info->job[0] = '\0';
		job_append(info->job, job);
		info->is_job_reused = false;
	}
}

void rank_detect(const char *const *environment, struct rank_info *ret)
{
	struct rank_info info;

	memset(&info, 0, sizeof(info));
	for (size_t i = 0; i < sizeof(launchers) / sizeof(launchers[0]); i++) {
		const struct launcher *launcher = &launchers[i];

		if (!launcher_is_here(environment, launcher))
			continue;
		info.launcher = launcher->name;
		info.rank = number_find(environment, launcher->rank);
		info.local_rank = number_find(environment, launcher->local_rank);
		info.world_size = number_find(environment, launcher->world_size);
		info.attempt = number_find(environment, launcher->attempt);
		job_find(environment, launcher, &info);
		break;
	}
	user_apply(environment, &info);
	*ret = info;
}
