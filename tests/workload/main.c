// SPDX-License-Identifier: MIT
#include <stdio.h>

#include "tests/workload/code.h"
#include "tests/workload/gpu.h"
#include "tests/workload/launch.h"
#include "tests/workload/options.h"
#include "tests/workload/rank.h"
#include "tests/workload/worker.h"

int main(int argc, char **argv)
{
	struct options opt;
	struct rank_info info;

	options_parse(argc, argv, &opt);
	if (opt.list_kernels) {
		for (enum kernel_id id = 0; id < KERNEL_COUNT; id++)
			printf("%s\n", code_symbol(id));
		return 0;
	}
	if (opt.list_gpus)
		return gpu_list() ? 1 : 0;
	if (rank_detect(&info))
		return worker_run(&opt, &info, argv);
	return launch_ranks(&opt, argv);
}
