/* SPDX-License-Identifier: MIT */
#pragma once
/*
 * Kernels apart by rank, GPU, queue, roctx range or category: sums and percentiles of each group,
 * and of each kernel in it. From the cells of a measure. One thread.
 */
#include "cli/trace/categories.h"
#include "cli/trace/kernel_totals.h"

enum summary_by {
	SUMMARY_BY_NOTHING,
	SUMMARY_BY_RANK,
	SUMMARY_BY_GPU,
	SUMMARY_BY_QUEUE,
	SUMMARY_BY_MARKER,
	SUMMARY_BY_CATEGORY,
	SUMMARY_BYS,
};

struct summary_group_kernel {
	uint32_t kernel; /* of the measure */
	struct measure_sums sums;
};

struct summary_group {
	char *name; /* "rank 3", "GPU 0", a range, ... */
	struct measure_sums sums;
	struct summary_group_kernel *kernels; /* most time first */
	size_t kernel_count;
	int64_t process_id, rank, gpu_id, queue_id; /* what applies */
	bool has_process, has_rank, has_gpu, has_queue;
};

struct summary_groups {
	enum summary_by by;
	struct summary_group *at; /* by rank, GPU, queue; ranges and categories: most time first */
	size_t count;
};

/*
 * @categories: only for SUMMARY_BY_CATEGORY. By marker @measure must have been made so. 0 or -errno
 * as query_open().
 */
int summary_groups_new(struct query *query, const struct measure *measure, enum summary_by by,
	const struct categories *categories, struct summary_groups **ret);
void summary_groups_free_p(struct summary_groups **groups);

/* "rank", "gpu", "queue", "marker", "category". */
const char *summary_by_name(enum summary_by by);
