/* SPDX-License-Identifier: MIT */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <stdio.h>
#include <string.h>

#include "proto/settings/rank.h"

#define NONE (-1)

struct row {
	const char *claim;
	const char *environment[16];
	const char *launcher;
	int64_t rank, local_rank, world_size, attempt;
	const char *job;
};

static const struct row rows[] = {
	{ "an empty environment knows nothing", { NULL }, NULL, NONE, NONE, NONE, NONE, "" },
	{ "torchrun with all four variables",
	  { "RANK=5", "GROUP_RANK=1", "LOCAL_RANK=1", "LOCAL_WORLD_SIZE=4", "WORLD_SIZE=8",
	    "TORCHELASTIC_RUN_ID=abc", "TORCHELASTIC_RESTART_COUNT=2", NULL },
	  "torchrun", 5, 1, 8, 2, "abc" },
	{ "RANK without torchrun's others is nobody's rank",
	  { "RANK=5", "LOCAL_RANK=1", "WORLD_SIZE=8", NULL }, NULL, NONE, NONE, NONE, NONE, "" },
	{ "a torchrun run called none is told apart by its rendezvous",
	  { "RANK=0", "GROUP_RANK=0", "LOCAL_RANK=0", "LOCAL_WORLD_SIZE=2",
	    "TORCHELASTIC_RUN_ID=none", "MASTER_ADDR=127.0.0.1", "MASTER_PORT=29500", NULL },
	  "torchrun", 0, 0, NONE, NONE, "127.0.0.1.29500" },
	{ "torchrun under sbatch: SLURM_PROCID=0 is the batch script's, in every rank",
	  { "SLURM_PROCID=0", "SLURM_LOCALID=0", "SLURM_NTASKS=1", "SLURM_JOB_ID=7",
	    "SLURM_STEP_ID=0", "RANK=3", "GROUP_RANK=0", "LOCAL_RANK=3", "LOCAL_WORLD_SIZE=4",
	    "WORLD_SIZE=4", "TORCHELASTIC_RUN_ID=r", NULL },
	  "torchrun", 3, 3, 4, NONE, "r" },
	{ "mpirun under sbatch: Open MPI's rank, not Slurm's",
	  { "SLURM_PROCID=0", "SLURM_JOB_ID=7", "OMPI_COMM_WORLD_RANK=2",
	    "OMPI_COMM_WORLD_LOCAL_RANK=0", "OMPI_COMM_WORLD_SIZE=4",
	    "OMPI_MCA_ess_base_jobid=123", "PMIX_NAMESPACE=ns", NULL },
	  "openmpi", 2, 0, 4, NONE, "123" },
	{ "a batch script itself is no rank",
	  { "SLURM_PROCID=0", "SLURM_JOB_ID=7", NULL }, NULL, NONE, NONE, NONE, NONE, "" },
	{ "srun",
	  { "SLURM_PROCID=6", "SLURM_LOCALID=2", "SLURM_NTASKS=8", "SLURM_JOB_ID=7",
	    "SLURM_STEP_ID=1", NULL },
	  "slurm", 6, 2, 8, NONE, "7.1" },
	{ "PRRTE's namespace serves where the job id is missing",
	  { "OMPI_COMM_WORLD_RANK=0", "PMIX_NAMESPACE=prterun-1@1", NULL },
	  "openmpi", 0, NONE, NONE, NONE, "prterun-1@1" },
	{ "PALS before the PMI variables that it sets too",
	  { "PMI_RANK=1", "PMI_LOCAL_RANK=1", "PMI_SIZE=2", "PALS_RANKID=1",
	    "PALS_LOCAL_RANKID=1", "PALS_APID=ap", NULL },
	  "pals", 1, 1, 2, NONE, "ap" },
	{ "hydra: MPI_LOCALRANKID is the local rank only",
	  { "PMI_RANK=9", "PMI_SIZE=16", "MPI_LOCALRANKID=1", NULL }, "hydra", 9, 1, 16, NONE, "" },
	{ "MPI_LOCALRANKID alone is no rank",
	  { "MPI_LOCALRANKID=1", NULL }, NULL, NONE, NONE, NONE, NONE, "" },
	{ "MVAPICH2",
	  { "MV2_COMM_WORLD_RANK=3", "MV2_COMM_WORLD_LOCAL_RANK=1", "MV2_COMM_WORLD_SIZE=4", NULL },
	  "mvapich2", 3, 1, 4, NONE, "" },
	{ "Flux",
	  { "FLUX_TASK_RANK=3", "FLUX_TASK_LOCAL_ID=1", "FLUX_JOB_SIZE=4", "FLUX_JOB_ID=f12", NULL },
	  "flux", 3, 1, 4, NONE, "f12" },
	{ "jsrun",
	  { "JSM_NAMESPACE_RANK=3", "JSM_NAMESPACE_LOCAL_RANK=1", "JSM_NAMESPACE_SIZE=4",
	    "LSB_JOBID=55", NULL },
	  "jsrun", 3, 1, 4, NONE, "55" },
	{ "an indexed Kubernetes job",
	  { "KUBERNETES_SERVICE_HOST=10.0.0.1", "JOB_COMPLETION_INDEX=4", NULL },
	  "kubernetes", 4, NONE, NONE, NONE, "" },
	{ "the user's word stands over the launcher's, variable by variable",
	  { "OMPI_COMM_WORLD_RANK=2", "OMPI_COMM_WORLD_LOCAL_RANK=2", "OMPI_COMM_WORLD_SIZE=4",
	    "RTL_RANK=7", "RTL_JOB_ID=mine", NULL },
	  "openmpi", 7, 2, 4, NONE, "mine" },
	{ "the user's word alone",
	  { "RTL_RANK=1", "RTL_LOCAL_RANK=0", NULL }, "user", 1, 0, NONE, NONE, "" },
	{ "a rank that is no number is unknown, not 0",
	  { "OMPI_COMM_WORLD_RANK=x", NULL }, NULL, NONE, NONE, NONE, NONE, "" },
	{ "so is one with a rest, a sign, nothing, or too many digits",
	  { "PMI_RANK=1x", "MV2_COMM_WORLD_RANK=-1", "FLUX_TASK_RANK=",
	    "JSM_NAMESPACE_RANK=4294967296", NULL },
	  NULL, NONE, NONE, NONE, NONE, "" },
	{ "a name that only starts alike is another variable",
	  { "RTL_RANKS=4", "OMPI_COMM_WORLD_RANK_X=1", NULL }, NULL, NONE, NONE, NONE, NONE, "" },
};

static void number_check(const char *claim, struct rank_number number, int64_t expected)
{
	int64_t value = number.is_known ? (int64_t)number.value : NONE;

	if (value != expected)
		fail_msg("%s: %lld, expected %lld", claim, (long long)value, (long long)expected);
}

static void every_launcher_is_told(void **state)
{
	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		const struct row *row = &rows[i];
		struct rank_info info;

		rank_detect(row->environment, &info);
		number_check(row->claim, info.rank, row->rank);
		number_check(row->claim, info.local_rank, row->local_rank);
		number_check(row->claim, info.world_size, row->world_size);
		number_check(row->claim, info.attempt, row->attempt);
		if (!row->launcher != !info.launcher ||
			(row->launcher && strcmp(row->launcher, info.launcher)))
			fail_msg("%s: launcher %s", row->claim,
				info.launcher ? info.launcher : "(none)");
		if (strcmp(row->job, info.job))
			fail_msg("%s: job '%s'", row->claim, info.job);
	}
}

static void a_long_job_key_is_cut(void **state)
{
	char job[1024] = "RTL_JOB_ID=";
	const char *environment[] = { job, NULL };
	struct rank_info info;

	(void)state;
	memset(job + 11, 'j', sizeof(job) - 12);
	job[sizeof(job) - 1] = '\0';
	rank_detect(environment, &info);
	assert_int_equal(strlen(info.job), LABEL_BYTES_MAX - 1);
}

static void no_environment_at_all(void **state)
{
	struct rank_info info;

	(void)state;
	rank_detect(NULL, &info);
	assert_null(info.launcher);
	assert_false(info.rank.is_known);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(every_launcher_is_told),
		cmocka_unit_test(a_long_job_key_is_cut),
		cmocka_unit_test(no_environment_at_all),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
