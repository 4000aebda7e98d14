/* SPDX-License-Identifier: MIT */
#pragma once
/*
 * Splits kernels by rank, GPU, queue, roctx range or category, and computes sums and percentiles of
 * each group and of each kernel in it from the cells of a measure. Everything runs on one thread.
 */
#include "cli/trace/categories.h"
#include "cli/trace/kernels/kernel_totals.h"

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
	uint32_t kernel; /* index in the measure's kernels */
	struct measure_sums sums;
};

struct summary_group {
	char *name; /* "rank 3", "GPU 0", a range, ... */
	struct measure_sums sums;
	struct summary_group_kernel *kernels; /* most time first */
	size_t kernel_count;
	int64_t process_id, rank, gpu_id, queue_id; /* each is valid if its has_ flag is set */
	bool has_process, has_rank, has_gpu, has_queue;
};

struct summary_groups {
	enum summary_by by;
	/* sorted by rank, GPU, queue; ranges and categories by time, most first */
	struct summary_group *at;
	size_t count;
};

/*
 * @categories is needed for SUMMARY_BY_CATEGORY only. For SUMMARY_BY_MARKER, @measure must have
 * been made with by_marker. Returns 0 or -errno as query_open() does.
 */
struct summary_groups *summary_groups_new(
	const struct trace *trace, const struct measure *measure, enum summary_by by);
void summary_groups_free_p(struct summary_groups **groups);

/* "rank", "gpu", "queue", "marker", "category". */
const char *summary_by_name(enum summary_by by);
