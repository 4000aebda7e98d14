/* SPDX-License-Identifier: MIT */
#include <stdio.h>
#include <string.h>

#include "proto/settings/rank.h"
#include "tests/lib/test.h"

#define NONE (-1)

struct row {
	const char *claim;
	const char *environment[16];
	const char *launcher;
	int64_t rank, local_rank, world_size, attempt;
	const char *job;
};

static const struct row rows[] = {
	{"an empty environment knows nothing", {NULL}, NULL, NONE, NONE, NONE, NONE, ""},
	{"torchrun with all four variables",
		{"RANK=5", "GROUP_RANK=1", "LOCAL_RANK=1", "LOCAL_WORLD_SIZE=4", "WORLD_SIZE=8",
			"TORCHELASTIC_RUN_ID=abc", "TORCHELASTIC_RESTART_COUNT=2", NULL},
		"torchrun", 5, 1, 8, 2, "abc"},
	{"RANK alone is no rank", {"RANK=5", NULL}, NULL, NONE, NONE, NONE, NONE, ""},
	{"RANK and WORLD_SIZE without LOCAL_RANK or an address are no rank",
		{"RANK=5", "WORLD_SIZE=8", NULL}, NULL, NONE, NONE, NONE, NONE, ""},
	{"DeepSpeed's launch.py",
		{"MASTER_ADDR=10.0.0.1", "MASTER_PORT=29500", "WORLD_SIZE=8", "CROSS_RANK=1",
			"CROSS_SIZE=2", "LOCAL_SIZE=4", "RANK=5", "LOCAL_RANK=1", NULL},
		"deepspeed", 5, 1, 8, NONE, "10.0.0.1.29500"},
	{"DeepSpeed inside a Slurm step of one task",
		{"SLURM_PROCID=0", "SLURM_LOCALID=0", "SLURM_NTASKS=1", "SLURM_JOB_ID=7",
			"SLURM_STEP_ID=0", "MASTER_ADDR=h", "MASTER_PORT=1", "WORLD_SIZE=4",
			"CROSS_RANK=0", "CROSS_SIZE=1", "LOCAL_SIZE=4", "RANK=3", "LOCAL_RANK=3",
			NULL},
		"deepspeed", 3, 3, 4, NONE, "h.1"},
	{"DeepSpeed inside an mpirun of one process",
		{"OMPI_COMM_WORLD_RANK=0", "OMPI_COMM_WORLD_LOCAL_RANK=0", "OMPI_COMM_WORLD_SIZE=1",
			"MASTER_ADDR=h", "MASTER_PORT=1", "WORLD_SIZE=4", "CROSS_RANK=0",
			"CROSS_SIZE=1", "LOCAL_SIZE=4", "RANK=2", "LOCAL_RANK=2", NULL},
		"deepspeed", 2, 2, 4, NONE, "h.1"},
	{"Ray Train, which sets them in the worker",
		{"LOCAL_RANK=1", "RANK=5", "LOCAL_WORLD_SIZE=4", "WORLD_SIZE=8", "NODE_RANK=1",
			"MASTER_ADDR=10.0.0.1", "MASTER_PORT=43210", NULL},
		"pytorch", 5, 1, 8, NONE, "10.0.0.1.43210"},
	{"Accelerate's notebook_launcher, and a program that spawns its own ranks",
		{"WORLD_SIZE=4", "MASTER_ADDR=127.0.0.1", "MASTER_PORT=29500", "LOCAL_RANK=2",
			"RANK=2", "FORK_LAUNCHED=1", NULL},
		"pytorch", 2, 2, 4, NONE, "127.0.0.1.29500"},
	{"torch.multiprocessing.spawn with RANK and WORLD_SIZE only",
		{"MASTER_ADDR=localhost", "MASTER_PORT=12355", "RANK=2", "WORLD_SIZE=4", NULL},
		"pytorch", 2, NONE, 4, NONE, "localhost.12355"},
	{"torch.multiprocessing.spawn inside a Slurm step of one task",
		{"SLURM_PROCID=0", "SLURM_NTASKS=1", "SLURM_JOB_ID=7", "SLURM_STEP_ID=0",
			"MASTER_ADDR=localhost", "MASTER_PORT=12355", "RANK=2", "WORLD_SIZE=4",
			NULL},
		"pytorch", 2, NONE, 4, NONE, "localhost.12355"},
	{"a rendezvous whose ranks are arguments names the job only",
		{"MASTER_ADDR=localhost", "MASTER_PORT=12355", NULL}, "pytorch", NONE, NONE, NONE,
		NONE, "localhost.12355"},
	{"a rendezvous that a batch script exports leaves srun's rank and its step",
		{"MASTER_ADDR=n1", "MASTER_PORT=12355", "SLURM_PROCID=6", "SLURM_LOCALID=2",
			"SLURM_NTASKS=8", "SLURM_JOB_ID=7", "SLURM_STEP_ID=1", NULL},
		"slurm", 6, 2, 8, NONE, "7.1"},
	{"Lightning's children on the first node",
		{"MASTER_ADDR=127.0.0.1", "MASTER_PORT=40001", "NODE_RANK=0", "LOCAL_RANK=3",
			"WORLD_SIZE=8", NULL},
		"lightning", 3, 3, 8, NONE, "127.0.0.1.40001"},
	{"Lightning's children on another node do not say how many are before them",
		{"MASTER_ADDR=n1", "MASTER_PORT=40001", "NODE_RANK=1", "LOCAL_RANK=3",
			"WORLD_SIZE=8", NULL},
		"lightning", NONE, 3, 8, NONE, "n1.40001"},
	{"PyTorch's variables without a rendezvous: the job is that of the step around them",
		{"SLURM_PROCID=0", "SLURM_NTASKS=1", "SLURM_JOB_ID=7", "SLURM_STEP_ID=0", "RANK=1",
			"LOCAL_RANK=1", "WORLD_SIZE=2", NULL},
		"pytorch", 1, 1, 2, NONE, "7.0"},
	{"a rank past the world is left over from something else",
		{"RANK=8", "LOCAL_RANK=0", "WORLD_SIZE=8", "PMI_RANK=1", "PMI_SIZE=2", NULL},
		"hydra", 1, NONE, 2, NONE, ""},
	{"a local rank past those of the node, too",
		{"RANK=1", "LOCAL_RANK=4", "WORLD_SIZE=8", "LOCAL_WORLD_SIZE=4", NULL}, NULL, NONE,
		NONE, NONE, NONE, ""},
	{"a pod's rank does not hide those of the mpirun inside it",
		{"RANK=0", "WORLD_SIZE=2", "MASTER_ADDR=p0", "MASTER_PORT=23456",
			"OMPI_COMM_WORLD_RANK=5", "OMPI_COMM_WORLD_LOCAL_RANK=1",
			"OMPI_COMM_WORLD_SIZE=8", "PMIX_NAMESPACE=ns", NULL},
		"openmpi", 5, 1, 8, NONE, "ns"},
	{"a world of one hides no rank of an srun around it",
		{"RANK=0", "LOCAL_RANK=0", "WORLD_SIZE=1", "SLURM_PROCID=6", "SLURM_NTASKS=8",
			"SLURM_JOB_ID=7", "SLURM_STEP_ID=1", NULL},
		"slurm", 6, NONE, 8, NONE, "7.1"},
	{"a torchrun run called none is told apart by its rendezvous",
		{"RANK=0", "GROUP_RANK=0", "LOCAL_RANK=0", "LOCAL_WORLD_SIZE=2",
			"TORCHELASTIC_RUN_ID=none", "MASTER_ADDR=127.0.0.1", "MASTER_PORT=29500",
			NULL},
		"torchrun", 0, 0, NONE, NONE, "127.0.0.1.29500"},
	{"torchrun under sbatch: SLURM_PROCID=0 is the batch script's, in every rank",
		{"SLURM_PROCID=0", "SLURM_LOCALID=0", "SLURM_NTASKS=1", "SLURM_JOB_ID=7",
			"SLURM_STEP_ID=0", "RANK=3", "GROUP_RANK=0", "LOCAL_RANK=3",
			"LOCAL_WORLD_SIZE=4", "WORLD_SIZE=4", "TORCHELASTIC_RUN_ID=r", NULL},
		"torchrun", 3, 3, 4, NONE, "r"},
	{"mpirun under sbatch: Open MPI's rank, not Slurm's",
		{"SLURM_PROCID=0", "SLURM_JOB_ID=7", "OMPI_COMM_WORLD_RANK=2",
			"OMPI_COMM_WORLD_LOCAL_RANK=0", "OMPI_COMM_WORLD_SIZE=4",
			"OMPI_MCA_ess_base_jobid=123", "PMIX_NAMESPACE=ns", NULL},
		"openmpi", 2, 0, 4, NONE, "123"},
	{"a batch script itself is no rank", {"SLURM_PROCID=0", "SLURM_JOB_ID=7", NULL}, NULL, NONE,
		NONE, NONE, NONE, ""},
	{"srun",
		{"SLURM_PROCID=6", "SLURM_LOCALID=2", "SLURM_NTASKS=8", "SLURM_JOB_ID=7",
			"SLURM_STEP_ID=1", NULL},
		"slurm", 6, 2, 8, NONE, "7.1"},
	{"PRRTE's namespace serves where the job id is missing",
		{"OMPI_COMM_WORLD_RANK=0", "PMIX_NAMESPACE=prterun-1@1", NULL}, "openmpi", 0, NONE,
		NONE, NONE, "prterun-1@1"},
	{"PALS before the PMI variables that it sets too",
		{"PMI_RANK=1", "PMI_LOCAL_RANK=1", "PMI_SIZE=2", "PALS_RANKID=1",
			"PALS_LOCAL_RANKID=1", "PALS_APID=ap", NULL},
		"pals", 1, 1, 2, NONE, "ap"},
	{"hydra: MPI_LOCALRANKID is the local rank only",
		{"PMI_RANK=9", "PMI_SIZE=16", "MPI_LOCALRANKID=1", NULL}, "hydra", 9, 1, 16, NONE,
		""},
	{"hydra with a port for PMI names the rank PMI_ID",
		{"PMI_PORT=h:1", "PMI_ID=9", "MPI_LOCALRANKID=1", NULL}, "hydra", 9, 1, NONE, NONE,
		""},
	{"MPI_LOCALRANKID alone is no rank", {"MPI_LOCALRANKID=1", NULL}, NULL, NONE, NONE, NONE,
		NONE, ""},
	{"Intel MPI, whose Hydra names the local rank",
		{"PMI_RANK=3", "PMI_SIZE=4", "MPI_LOCALRANKID=1", "MPI_LOCALNRANKS=2",
			"I_MPI_HYDRA_UUID=x", NULL},
		"hydra", 3, 1, 4, NONE, ""},
	{"prun of PRRTE without the personality of an MPI",
		{"PMIX_NAMESPACE=prterun-h-7@2", "PMIX_RANK=3", "SLURM_PROCID=1", "SLURM_JOB_ID=7",
			"SLURM_STEP_ID=0", "SLURM_NTASKS=2", NULL},
		"pmix", 3, NONE, NONE, NONE, "prterun-h-7@2"},
	{"srun --mpi=pmix is Slurm, which says more",
		{"PMIX_NAMESPACE=slurm.pmix.7.1", "PMIX_RANK=6", "SLURM_PROCID=6",
			"SLURM_LOCALID=2", "SLURM_NTASKS=8", "SLURM_JOB_ID=7", "SLURM_STEP_ID=1",
			NULL},
		"slurm", 6, 2, 8, NONE, "7.1"},
	{"horovodrun without MPI",
		{"HOROVOD_RANK=3", "HOROVOD_LOCAL_RANK=1", "HOROVOD_SIZE=4", NULL}, "horovod", 3, 1,
		4, NONE, ""},
	{"MVAPICH2",
		{"MV2_COMM_WORLD_RANK=3", "MV2_COMM_WORLD_LOCAL_RANK=1", "MV2_COMM_WORLD_SIZE=4",
			NULL},
		"mvapich2", 3, 1, 4, NONE, ""},
	{"Flux",
		{"FLUX_TASK_RANK=3", "FLUX_TASK_LOCAL_ID=1", "FLUX_JOB_SIZE=4", "FLUX_JOB_ID=f12",
			NULL},
		"flux", 3, 1, 4, NONE, "f12"},
	{"jsrun",
		{"JSM_NAMESPACE_RANK=3", "JSM_NAMESPACE_LOCAL_RANK=1", "JSM_NAMESPACE_SIZE=4",
			"LSB_JOBID=55", NULL},
		"jsrun", 3, 1, 4, NONE, "55"},
	{"an indexed Kubernetes job",
		{"KUBERNETES_SERVICE_HOST=10.0.0.1", "JOB_COMPLETION_INDEX=4", NULL}, "kubernetes",
		4, NONE, NONE, NONE, ""},
	{"the user's word stands over the launcher's, variable by variable",
		{"OMPI_COMM_WORLD_RANK=2", "OMPI_COMM_WORLD_LOCAL_RANK=2", "OMPI_COMM_WORLD_SIZE=4",
			"RTL_RANK=7", "RTL_JOB_ID=mine", NULL},
		"openmpi", 7, 2, 4, NONE, "mine"},
	{"the user's word alone", {"RTL_RANK=1", "RTL_LOCAL_RANK=0", NULL}, "user", 1, 0, NONE,
		NONE, ""},
	{"a rank that is no number is unknown, not 0", {"OMPI_COMM_WORLD_RANK=x", NULL}, NULL, NONE,
		NONE, NONE, NONE, ""},
	{"so is one with a rest, a sign, nothing, or too many digits",
		{"PMI_RANK=1x", "MV2_COMM_WORLD_RANK=-1",
			"FLUX_TASK_RANK=", "JSM_NAMESPACE_RANK=4294967296", NULL},
		NULL, NONE, NONE, NONE, NONE, ""},
	{"a name that only starts alike is another variable",
		{"RTL_RANKS=4", "OMPI_COMM_WORLD_RANK_X=1", NULL}, NULL, NONE, NONE, NONE, NONE,
		""},
};

static void number_check(const char *claim, struct rank_number number, int64_t expected)
{
	int64_t value = number.is_known ? (int64_t)number.value : NONE;

	if (value != expected)
		fail_msg("%s: %lld, expected %lld", claim, (long long)value, (long long)expected);
}

TEST_CASE(every_launcher_is_recognised)
{
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

TEST_CASE(a_long_job_key_is_cut)
{
	char job[1024] = "RTL_JOB_ID=";
	const char *environment[] = {job, NULL};
	struct rank_info info;

	memset(job + 11, 'j', sizeof(job) - 12);
	job[sizeof(job) - 1] = '\0';
	rank_detect(environment, &info);
	assert_int_equal(strlen(info.job), LABEL_BYTES_MAX - 1);
}

TEST_CASE(no_environment_is_no_launcher)
{
	struct rank_info info;

	rank_detect(NULL, &info);
	assert_null(info.launcher);
	assert_false(info.rank.is_known);
}

TEST_CASE(the_first_process_of_a_node_is_the_one_of_local_rank_0_or_the_only_one)
{
	static const char *const first[] = {"RTL_RANK=4", "RTL_LOCAL_RANK=0", NULL};
	static const char *const second[] = {"RTL_RANK=0", "RTL_LOCAL_RANK=1", NULL};
	struct rank_info info;

	rank_detect(NULL, &info);
	assert_true(rank_is_first(&info));
	rank_detect(first, &info);
	assert_true(rank_is_first(&info));
	rank_detect(second, &info);
	assert_false(rank_is_first(&info));
}
