// SPDX-License-Identifier: MIT
#include "tests/workload/worker.h"

#include <errno.h>
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "tests/workload/board.h"
#include "tests/workload/code.h"
#include "tests/workload/gpu.h"
#include "tests/workload/launch.h"
#include "tests/workload/model.h"
#include "tests/workload/step.h"
#include "tests/workload/storm.h"
#include "tests/workload/talk.h"
#include "tests/workload/visible.h"

/* Static, because the GPU may still use what they hold when main returns. */
static struct gpu worker_gpu;
static struct code worker_code;
static struct model worker_model;

struct worker {
	const struct options *opt;
	const struct rank_info *info;
	struct board *board;
	int slot;	 /* on the board */
	bool has_parent; /* which reports for us */
};

static int worker_find_board(struct worker *w)
{
	int fd, r = board_join(&w->board);

	if (r == -ENOENT) {
		r = board_new(1, &w->board, &fd);
		if (!r)
			close(fd);
		return r;
	}
	if (!r && w->info->rank >= w->board->ranks)
		return -EBADF;
	w->has_parent = true;
	w->slot = w->info->rank;
	return r;
}

static int worker_limit_gpus(const struct worker *w)
{
	struct visible visible;
	int r;

	if (w->has_parent || !w->opt->one_gpu_each)
		return 0;
	r = visible_open(w->opt, &visible);
	if (r)
		return r;
	r = visible_set(&visible, rank_on_node(w->info));
	visible_close(&visible);
	return r;
}

static void worker_introduce(const struct worker *w)
{
	const struct rank_info *info = w->info;
	char of[24] = "";

	/* Not every launcher says how many there are. */
	if (info->world_size > 0)
		snprintf(of, sizeof(of), " of %d", info->world_size);
	if (!w->has_parent && w->opt->ranks > 0 && w->opt->ranks != info->world_size)
		talk("started by %s as rank %d%s: --ranks %d is not heeded", info->launcher,
			info->rank, of, w->opt->ranks);
	if (w->opt->verbose)
		talk("GPU %d, %s, %s", worker_gpu.node_gpu, worker_gpu.gfx, worker_gpu.name);
	if (worker_gpu.simulated && rank_on_node(info) == 0)
		talk("%s: a software GPU. Durations come from a script; nothing is computed, "
		     "so no result is verified",
			worker_gpu.name);
}

/*
 * A software GPU copies as fast as its script says; a real one pays for each piece. Before the
 * runtime is there.
 */
static int worker_slow_copies(const struct options *opt)
{
	static const char slow[] = "copy bytes_per_us=1";
	const char *before = getenv("SOFTGPU_FAULT");
	char text[1024];
	int n;

	if (opt->cause != CAUSE_SLOW_COPIES)
		return 0;
	n = snprintf(text, sizeof(text), "%s%s%s", before ? before : "", before ? ";" : "", slow);
	if (n < 0 || (size_t)n >= sizeof(text))
		return -ENAMETOOLONG;
	return setenv("SOFTGPU_FAULT", text, 1) ? -errno : 0;
}

static int worker_work(const struct worker *w)
{
	const struct options *opt = w->opt;
	bool one = opt->one_gpu_each;
	int r = worker_slow_copies(opt);

	if (!r)
		r = gpu_open(one ? 0 : rank_on_node(w->info), one ? 0 : opt->gpus, &worker_gpu);
	if (r)
		return r;
	atomic_store(&w->board->rank[w->slot].gpu, worker_gpu.node_gpu);
	worker_introduce(w);
	if (opt->init_only)
		return 0;
	r = code_load(&worker_gpu, &worker_code);
	if (!r)
		r = model_open(&worker_gpu, &worker_code, opt, w->info->rank, &worker_model);
	if (r)
		return r;
	if (opt->dispatches_given)
		return storm_run(opt, &worker_model, &w->board->rank[w->slot]);
	return step_run_all(opt, &worker_model, w->board, w->slot);
}

static void worker_shut_down(const struct options *opt)
{
	if (opt->no_shutdown || opt->no_wait)
		return;
	if (!opt->init_only) {
		model_close(&worker_model);
		code_unload(&worker_code);
	}
	gpu_close();
}

static void worker_report(const struct worker *w)
{
	const struct board_rank *rank = &w->board->rank[w->slot];

	board_leave(w->board, w->slot);
	if (w->has_parent || atomic_load(&rank->gpu) < 0)
		return;
	printf("dispatched rank=%d gpu=%d kernels=%" PRIu64 "\n", w->info->rank,
		atomic_load(&rank->gpu), board_kernels(rank));
	fflush(stdout);
}

int worker_run(const struct options *opt, const struct rank_info *info, char **argv)
{
	struct worker w = {.opt = opt, .info = info};
	enum exit_mode mode = options_hits(opt, info->rank) ? opt->exit_mode : EXIT_RETURN;
	int r;

	talk_as_rank(info->rank);
	if (opt->no_hsa) {
		r = launch_without_hsa(argv);
		talk("rtl-demo-nohsa: %s", strerror(-r));
		return 1;
	}
	r = worker_find_board(&w);
	if (!r)
		r = worker_limit_gpus(&w);
	if (r) {
		if (r != -ENODEV)
			talk("%s", strerror(-r));
		return 1;
	}
	r = worker_work(&w);
	worker_report(&w);
	if (r)
		return 1;
	if (mode == EXIT_UNDERSCORE)
		_exit(0);
	if (mode == EXIT_ABORT)
		abort();
	if (mode == EXIT_KILL)
		raise(SIGKILL);
	worker_shut_down(opt);
	return 0;
}
