/* SPDX-License-Identifier: MIT */
#include "proto/settings/rank.h"

#include <string.h>

#include "proto/settings/environment.h"

#define NAMES_MAX 4

/*
 * One launcher; docs/launchers.md names the source of each. It is taken when every variable of
 * `required` is set, `rank` is a number, and the numbers fit each other. Each other list names
 * alternatives, first one set wins; `job` alternatives may have a second half, joined by a dot.
 */
struct launcher {
	const char *name;
	const char *required[NAMES_MAX + 2];
	const char *rank[NAMES_MAX];
	const char *local_rank[NAMES_MAX];
	const char *local_size[NAMES_MAX];
	const char *world_size[NAMES_MAX];
	const char *attempt[NAMES_MAX];
	const char *node; /* the rank is the local rank on node 0, and unknown on others */
	bool is_own_word; /* the process or the launcher next to it says so: PyTorch's variables */
	bool is_rankless; /* it names the job only */
	bool yields_to_larger; /* to the world of a launcher around it */
	/* Not taken when this variable begins so: another row knows more. */
	const char *not_variable, *not_prefix;
	struct {
		const char *first;
		const char *second;
	} job[NAMES_MAX];
	const char *reused; /* the first half of a job that may be that of a later launch, too */
};

/*
 * Innermost first: a job started by sbatch, mpirun or torchrun inherits the variables of what
 * is around it, e.g. SLURM_PROCID=0 in every rank of a torchrun under sbatch. What a program sets
 * itself, late in os.environ, is innermost of all.
 */
static const struct launcher launchers[] = {
	{
		/* RANK alone is no proof: other tools set it, for nodes too. */
		.name = "torchrun",
		.required = {"RANK", "GROUP_RANK", "LOCAL_RANK", "LOCAL_WORLD_SIZE"},
		.rank = {"RANK"},
		.local_rank = {"LOCAL_RANK"},
		.local_size = {"LOCAL_WORLD_SIZE"},
		.world_size = {"WORLD_SIZE"},
		.attempt = {"TORCHELASTIC_RESTART_COUNT"},
		.is_own_word = true,
		.job = {{"TORCHELASTIC_RUN_ID", NULL}, {"MASTER_ADDR", "MASTER_PORT"}},
		.reused = "MASTER_ADDR",
	},
	{
		.name = "deepspeed",
		.required = {"LOCAL_RANK", "WORLD_SIZE", "CROSS_RANK", "CROSS_SIZE", "LOCAL_SIZE"},
		.rank = {"RANK"},
		.local_rank = {"LOCAL_RANK"},
		.local_size = {"LOCAL_SIZE"},
		.world_size = {"WORLD_SIZE"},
		.is_own_word = true,
		.job = {{"MASTER_ADDR", "MASTER_PORT"}},
		.reused = "MASTER_ADDR",
	},
	{
		/* The contract of env://, whatever set it: spawn, Ray, Accelerate, a script. */
		.name = "pytorch",
		.required = {"LOCAL_RANK", "WORLD_SIZE"},
		.rank = {"RANK"},
		.local_rank = {"LOCAL_RANK"},
		.local_size = {"LOCAL_WORLD_SIZE"},
		.world_size = {"WORLD_SIZE"},
		.is_own_word = true,
		.job = {{"MASTER_ADDR", "MASTER_PORT"}},
		.reused = "MASTER_ADDR",
	},
	{
		/* Its children are told their node and their place there. */
		.name = "lightning",
		.required = {"WORLD_SIZE", "NODE_RANK", "MASTER_ADDR", "MASTER_PORT"},
		.local_rank = {"LOCAL_RANK"},
		.world_size = {"WORLD_SIZE"},
		.node = "NODE_RANK",
		.is_own_word = true,
		.job = {{"MASTER_ADDR", "MASTER_PORT"}},
		.reused = "MASTER_ADDR",
	},
	{
		/*
		 * Without LOCAL_RANK the same variables may be of a pod or a node, e.g. of a
		 * training operator, around a launcher: where that counts more ranks, its word is
		 * better.
		 */
		.name = "pytorch",
		.required = {"WORLD_SIZE", "MASTER_ADDR", "MASTER_PORT"},
		.rank = {"RANK"},
		.world_size = {"WORLD_SIZE"},
		.is_own_word = true,
		.yields_to_larger = true,
		.job = {{"MASTER_ADDR", "MASTER_PORT"}},
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
		/* MPI_LOCALRANKID is local. PMI_ID is the rank where PMI_PORT is used. */
		.name = "hydra",
		.rank = {"PMI_RANK", "PMI_ID"},
		.local_rank = {"MPI_LOCALRANKID", "PMI_LOCAL_RANK"},
		.world_size = {"PMI_SIZE"},
		.job = {{"PMI_JOBID", NULL}},
	},
	{
		/* prun without the personality of an MPI; srun --mpi=pmix sets both, and says more.
		 */
		.name = "pmix",
		.required = {"PMIX_NAMESPACE"},
		.rank = {"PMIX_RANK"},
		.job = {{"PMIX_NAMESPACE", NULL}},
		.not_variable = "PMIX_NAMESPACE",
		.not_prefix = "slurm.",
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
		.name = "horovod",
		.rank = {"HOROVOD_RANK"},
		.local_rank = {"HOROVOD_LOCAL_RANK"},
		.world_size = {"HOROVOD_SIZE"},
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
	{
		/* The ranks of such a job are told theirs as an argument. */
		.name = "pytorch",
		.required = {"MASTER_ADDR", "MASTER_PORT"},
		.is_rankless = true,
		.job = {{"MASTER_ADDR", "MASTER_PORT"}},
		.reused = "MASTER_ADDR",
	},
};

#define LAUNCHERS (sizeof(launchers) / sizeof(launchers[0]))

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

static bool is_below(struct rank_number number, struct rank_number limit)
{
	return !number.is_known || !limit.is_known || number.value < limit.value;
}

/* Numbers that an outer job has left, or of which only some are set, do not fit together. */
static bool numbers_fit(const char *const *environment, const struct launcher *launcher,
	const struct rank_info *info)
{
	return is_below(info->rank, info->world_size) &&
	       is_below(info->local_rank, info->world_size) &&
	       is_below(info->local_rank, number_find(environment, launcher->local_size));
}

static bool is_left_to_another(const char *const *environment, const struct launcher *launcher)
{
	const char *text =
		launcher->not_variable ? env_find(environment, launcher->not_variable) : NULL;

	return text && !strncmp(text, launcher->not_prefix, strlen(launcher->not_prefix));
}

static bool launcher_read(
	const char *const *environment, const struct launcher *launcher, struct rank_info *ret)
{
	struct rank_number node = {.is_known = false};

	memset(ret, 0, sizeof(*ret));
	for (size_t i = 0; launcher->required[i]; i++)
		if (!env_find(environment, launcher->required[i]))
			return false;
	if (is_left_to_another(environment, launcher))
		return false;
	ret->launcher = launcher->name;
	ret->rank = number_find(environment, launcher->rank);
	ret->local_rank = number_find(environment, launcher->local_rank);
	ret->world_size = number_find(environment, launcher->world_size);
	ret->attempt = number_find(environment, launcher->attempt);
	ret->is_own_word = launcher->is_own_word;
	if (launcher->node) {
		node = number_parse(env_find(environment, launcher->node));
		if (node.is_known && !node.value)
			ret->rank = ret->local_rank;
		if (!ret->local_rank.is_known)
			return false;
	} else if (!launcher->is_rankless && !ret->rank.is_known) {
		return false;
	}
	return numbers_fit(environment, launcher, ret);
}

/* Whether a launcher around @at, which counts @world_size ranks, counts more of them. */
static bool is_inside_larger(
	const char *const *environment, size_t at, struct rank_number world_size)
{
	struct rank_info outer;

	while (++at < LAUNCHERS)
		if (launcher_read(environment, &launchers[at], &outer) && world_size.is_known &&
			outer.world_size.is_known && outer.world_size.value > world_size.value)
			return true;
	return false;
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

/* Each variable of the user takes precedence over that of a launcher. */
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

/* A launcher without a job key takes that of the launcher around it that has one. */
static void job_find_outside(const char *const *environment, size_t at, struct rank_info *info)
{
	struct rank_info outer;

	for (; at < LAUNCHERS && !info->job[0]; at++)
		if (launcher_read(environment, &launchers[at], &outer))
			job_find(environment, &launchers[at], info);
}

/* A world of one process has counted no other. */
static bool is_outdone(const char *const *environment, size_t at, const struct rank_info *info)
{
	const struct launcher *launcher = &launchers[at];
	bool yields =
		launcher->yields_to_larger ||
		(launcher->is_own_word && info->world_size.is_known && info->world_size.value <= 1);

	return yields && is_inside_larger(environment, at, info->world_size);
}

void rank_detect(const char *const *environment, struct rank_info *ret)
{
	struct rank_info info;
	size_t at = 0;

	while (at < LAUNCHERS && (!launcher_read(environment, &launchers[at], &info) ||
					 is_outdone(environment, at, &info)))
		at++;
	if (at == LAUNCHERS)
		memset(&info, 0, sizeof(info));
	job_find_outside(environment, at, &info);
	user_apply(environment, &info);
	*ret = info;
}

bool rank_is_first(const struct rank_info *info)
{
	return !info->local_rank.is_known || !info->local_rank.value;
}
