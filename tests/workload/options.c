// SPDX-License-Identifier: MIT
#include "tests/workload/options.h"

#include <argp.h>
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char options_doc[] =
	"A data-parallel training step on AMD GPUs, for trying out and testing profilers."
	"\v"
	"Each rank submits real AMDGPU kernels through the public HSA API: GEMMs, attention, norms "
	"and an optimizer on a compute queue, all-reduce and reduce-scatter on a second one, "
	"copies "
	"and roctx ranges. What is dispatched depends on the options alone, so two runs dispatch "
	"the same.\n\n"
	"Without a launcher, rtl-demo forks its ranks and gives them torchrun's variables. Under "
	"torchrun, DeepSpeed, mpirun, srun, jsrun, flux or PALS it is the one rank that their variables "
	"name.\n\n"
	"The last lines on stdout, one for each rank and GPU, say how many kernels were handed to "
	"the GPU; the number of a GPU is that of the node, whatever a rank may see:\n"
	"  dispatched rank=R gpu=G kernels=N\n\n"
	"Examples:\n"
	"  rtl-demo --ranks 8 --steps 20\n"
	"  rtl-demo --ranks 4 --steps 50 --one-gpu-each --straggler 2\n"
	"  rtl-demo --dispatches 1000000\n"
	"  rtl-demo --dispatches 60000 --rate 2000 --signal-every 10\n"
	"  mpirun -n 4 rtl-demo --steps 20";

enum {
	OPT_RANKS = 0x100,
	OPT_GPUS,
	OPT_ONE_GPU_EACH,
	OPT_STRAGGLER,
	OPT_FAULT_RANK,
	OPT_CAUSE,
	OPT_STEPS,
	OPT_BUCKETS,
	OPT_LAYERS,
	OPT_HANG_AT,
	OPT_DISPATCHES,
	OPT_RATE,
	OPT_THREADS,
	OPT_BATCH,
	OPT_QUEUE_SIZE,
	OPT_SIGNAL_EVERY,
	OPT_SIGNAL_SHARED,
	OPT_NO_SIGNAL,
	OPT_EXIT_MODE,
	OPT_NO_SHUTDOWN,
	OPT_NO_WAIT,
	OPT_INIT_ONLY,
	OPT_NO_HSA,
	OPT_LIST_KERNELS,
	OPT_LIST_GPUS,
	OPT_HELP,
	OPT_USAGE,
	OPT_VERSION,
};

static const struct argp_option options_table[] = {
	{NULL, 0, NULL, 0, "Ranks and GPUs:", 1},
	{"ranks", OPT_RANKS, "N", 0, "Fork N ranks (default 1; a launcher's own number wins)", 0},
	{"gpus", OPT_GPUS, "N", 0,
		"Use the first N GPUs: rank R takes R mod N (default: all that are visible)", 0},
	{"one-gpu-each", OPT_ONE_GPU_EACH, NULL, 0,
		"Show each rank only its own GPU, by ROCR_VISIBLE_DEVICES", 0},
	{"straggler", OPT_STRAGGLER, "R", 0,
		"Rank R computes its GEMMs with a slower kernel, as often as the others", 0},
	{NULL, 0, NULL, 0, "Work:", 2},
	{"steps", OPT_STEPS, "N", 0, "Training steps (default 10)", 0},
	{"cause", OPT_CAUSE, "CAUSE", 0,
		"What makes the steps slow: none (default), slow-rank (rank 1 has a --straggler's "
		"GEMMs), late-host (each batch comes late), exposed-comm (the backward pass waits "
		"for "
		"each of many all-reduces), slow-copies (the batch goes to the GPU in pieces, "
		"slowly), "
		"launch-bound (short kernels, each waited for), late-rank (the batches of rank 1 "
		"come late), late-in-turn (now rank 1's, now rank 2's), checkpoint (rank 0 stops "
		"in the step in the middle), compile (all ranks stop in the first three steps), "
		"slows-down (rank 1 has a --straggler's GEMMs from the step in the middle on)",
		0},
	{"buckets", OPT_BUCKETS, "N", 0,
		"All-reduces of each layer's gradients, while the next layer computes (default 1)",
		0},
	{"layers", OPT_LAYERS, "N", 0, "Layers of the model (default 4)", 0},
	{"dispatches", OPT_DISPATCHES, "N", 0,
		"Instead of steps, exactly N short kernels per rank on one queue", 0},
	{"rate", OPT_RATE, "HZ", 0,
		"Pace the N dispatches to HZ per second and rank; SIGUSR1 ends them early", 0},
	{"threads", OPT_THREADS, "N", 0, "Submit the N dispatches from N threads to one queue", 0},
	{"batch", OPT_BATCH, "N", 0, "Ring the doorbell for each N of them (default 1)", 0},
	{"queue-size", OPT_QUEUE_SIZE, "N", 0, "Packets in a queue (default 16384)", 0},
	{"signal-every", OPT_SIGNAL_EVERY, "N", 0,
		"Give each Nth dispatch a completion signal and read its times", 0},
	{"signal-shared", OPT_SIGNAL_SHARED, "N", 0,
		"Give N dispatches in a row the same signal, which counts them", 0},
	{"no-signal", OPT_NO_SIGNAL, NULL, 0, "No dispatch has a completion signal (default)", 0},
	{NULL, 0, NULL, 0, "Ways to go wrong:", 3},
	{"hang-at", OPT_HANG_AT, "STEP", 0, "Dispatch a kernel that never ends in STEP (0-based)",
		0},
	{"exit-mode", OPT_EXIT_MODE, "MODE", 0,
		"How a rank ends: return (default), _exit, abort or kill (SIGKILL)", 0},
	{"fault-rank", OPT_FAULT_RANK, "R", 0, "Only rank R hangs or ends that way (default: all)",
		0},
	{"no-shutdown", OPT_NO_SHUTDOWN, NULL, 0, "Return without hsa_shut_down", 0},
	{"no-wait", OPT_NO_WAIT, NULL, 0, "End without waiting for what was dispatched last", 0},
	{"init-only", OPT_INIT_ONLY, NULL, 0, "hsa_init and no dispatch", 0},
	{"no-hsa", OPT_NO_HSA, NULL, 0, "Ranks that do not even load the HSA runtime", 0},
	{NULL, 0, NULL, 0, "Information:", 4},
	{"list-kernels", OPT_LIST_KERNELS, NULL, 0, "Print the kernels' symbols and exit", 0},
	{"list-gpus", OPT_LIST_GPUS, NULL, 0, "Print the visible GPUs and exit", 0},
	{"verbose", 'v', NULL, 0, "Say on stderr what each rank does", 0},
	{"help", OPT_HELP, NULL, 0, "Print this and exit", 0},
	{"usage", OPT_USAGE, NULL, 0, "Print a short form of it and exit", 0},
	{"version", OPT_VERSION, NULL, 0, "Print the version and exit", 0},
	{0},
};

__attribute__((format(printf, 1, 2), noreturn)) static void options_fail(const char *format, ...)
{
	va_list args;

	fputs("rtl-demo: ", stderr);
	va_start(args, format);
	vfprintf(stderr, format, args);
	va_end(args);
	fputs(" (see rtl-demo --help)\n", stderr);
	exit(OPTIONS_EXIT_USAGE);
}

static uint64_t options_number(const char *name, const char *text, uint64_t min, uint64_t max)
{
	unsigned long long value;
	char *end;

	errno = 0;
	value = strtoull(text, &end, 10);
	if (errno || end == text || *end || text[0] < '0' || text[0] > '9' || value < min ||
		value > max)
		options_fail("%s takes a number from %llu to %llu, not '%s'", name,
			(unsigned long long)min, (unsigned long long)max, text);
	return value;
}

static int options_int(const char *name, const char *text, int min, int max)
{
	return (int)options_number(name, text, (uint64_t)min, (uint64_t)max);
}

static enum exit_mode options_exit_mode(const char *text)
{
	static const char *const names[] = {[EXIT_RETURN] = "return",
		[EXIT_UNDERSCORE] = "_exit",
		[EXIT_ABORT] = "abort",
		[EXIT_KILL] = "kill"};

	for (int mode = EXIT_RETURN; mode <= EXIT_KILL; mode++)
		if (!strcmp(text, names[mode]))
			return (enum exit_mode)mode;
	options_fail("--exit-mode is return, _exit, abort or kill, not '%s'", text);
}

static enum cause options_cause(const char *text)
{
	static const char *const names[CAUSES] = {"none", "slow-rank", "late-host", "exposed-comm",
		"slow-copies", "launch-bound", "late-rank", "late-in-turn", "checkpoint", "compile",
		"slows-down"};

	for (int cause = 0; cause < CAUSES; cause++)
		if (!strcmp(text, names[cause]))
			return (enum cause)cause;
	options_fail("--cause is none, slow-rank, late-host, exposed-comm, slow-copies, "
		     "launch-bound, late-rank, late-in-turn, checkpoint, compile or "
		     "slows-down, not '%s'",
		text);
}

static int options_take_queue_size(const char *text)
{
	int size = options_int("--queue-size", text, 64, OPTIONS_QUEUE_MAX);

	if (size & (size - 1))
		options_fail("--queue-size takes a power of two, not %d", size);
	return size;
}

static void options_check(const struct options *opt)
{
	bool storm = opt->dispatches_given;

	if (storm && opt->steps >= 0)
		options_fail("--steps and --dispatches exclude each other");
	if (!storm && (opt->rate_hz || opt->threads > 1 || opt->batch > 1))
		options_fail("--rate, --threads and --batch need --dispatches");
	if (storm && (opt->hang_at >= 0 || opt->straggler >= 0 || opt->cause != CAUSE_NONE))
		options_fail("--hang-at, --straggler and --cause need --steps");
	if (opt->cause == CAUSE_SLOW_RANK && opt->ranks > 0 && opt->ranks < 2)
		options_fail("--cause slow-rank needs two ranks");
	if (opt->cause == CAUSE_LATE_RANK && opt->ranks > 0 && opt->ranks < 2)
		options_fail("--cause late-rank needs two ranks");
	if (opt->cause == CAUSE_SLOWS_DOWN && opt->ranks > 0 && opt->ranks < 2)
		options_fail("--cause slows-down needs two ranks");
	if (opt->cause == CAUSE_LATE_IN_TURN && opt->ranks > 0 && opt->ranks < 3)
		options_fail("--cause late-in-turn needs three ranks");
	if (storm && opt->buckets)
		options_fail("--buckets needs --steps");
	if (opt->hang_at >= 0 && opt->steps >= 0 && opt->hang_at >= opt->steps)
		options_fail("--hang-at %d is past the last of %d steps", opt->hang_at, opt->steps);
	if (opt->batch > opt->queue_size / 2)
		options_fail(
			"--batch %d is more than half a queue of %d", opt->batch, opt->queue_size);
	if (opt->signal_every && opt->signal_shared)
		options_fail("--signal-every and --signal-shared exclude each other");
	if (opt->init_only && opt->no_hsa)
		options_fail("--init-only and --no-hsa exclude each other");
	if (opt->ranks > 0 && opt->straggler >= opt->ranks)
		options_fail(
			"--straggler %d: there are ranks 0 to %d", opt->straggler, opt->ranks - 1);
	if (opt->ranks > 0 && opt->fault_rank >= opt->ranks)
		options_fail("--fault-rank %d: there are ranks 0 to %d", opt->fault_rank,
			opt->ranks - 1);
}

static error_t options_take(int key, char *arg, struct argp_state *state);
static const struct argp options_argp = {
	options_table, options_take, NULL, options_doc, NULL, NULL, NULL};

__attribute__((noreturn)) static void options_help(unsigned flags)
{
	static char name[] = "rtl-demo";

	argp_help(&options_argp, stdout, flags, name);
	exit(0);
}

static error_t options_take(int key, char *arg, struct argp_state *state)
{
	struct options *opt = state->input;

	switch (key) {
	case OPT_RANKS:
		opt->ranks = options_int("--ranks", arg, 1, OPTIONS_RANKS_MAX);
		return 0;
	case OPT_GPUS:
		opt->gpus = options_int("--gpus", arg, 1, 1024);
		return 0;
	case OPT_ONE_GPU_EACH:
		opt->one_gpu_each = true;
		return 0;
	case OPT_STRAGGLER:
		opt->straggler = options_int("--straggler", arg, 0, OPTIONS_RANKS_MAX - 1);
		return 0;
	case OPT_FAULT_RANK:
		opt->fault_rank = options_int("--fault-rank", arg, 0, OPTIONS_RANKS_MAX - 1);
		return 0;
	case OPT_CAUSE:
		opt->cause = options_cause(arg);
		return 0;
	case OPT_STEPS:
		opt->steps = options_int("--steps", arg, 0, INT32_MAX);
		return 0;
	case OPT_BUCKETS:
		opt->buckets = options_int("--buckets", arg, 1, OPTIONS_BUCKETS_MAX);
		return 0;
	case OPT_LAYERS:
		opt->layers = options_int("--layers", arg, 1, OPTIONS_LAYERS_MAX);
		return 0;
	case OPT_HANG_AT:
		opt->hang_at = options_int("--hang-at", arg, 0, INT32_MAX);
		return 0;
	case OPT_DISPATCHES:
		opt->dispatches = options_number("--dispatches", arg, 0, UINT64_C(1) << 48);
		opt->dispatches_given = true;
		return 0;
	case OPT_RATE:
		opt->rate_hz = options_number("--rate", arg, 1, 100 * 1000 * 1000);
		return 0;
	case OPT_THREADS:
		opt->threads = options_int("--threads", arg, 1, OPTIONS_THREADS_MAX);
		return 0;
	case OPT_BATCH:
		opt->batch = options_int("--batch", arg, 1, OPTIONS_QUEUE / 2);
		return 0;
	case OPT_QUEUE_SIZE:
		opt->queue_size = options_take_queue_size(arg);
		return 0;
	case OPT_SIGNAL_EVERY:
		opt->signal_every = options_number("--signal-every", arg, 1, UINT32_MAX);
		return 0;
	case OPT_SIGNAL_SHARED:
		opt->signal_shared = options_number("--signal-shared", arg, 2, UINT32_MAX);
		return 0;
	case OPT_NO_SIGNAL:
		opt->signal_every = 0;
		opt->signal_shared = 0;
		return 0;
	case OPT_EXIT_MODE:
		opt->exit_mode = options_exit_mode(arg);
		return 0;
	case OPT_NO_SHUTDOWN:
		opt->no_shutdown = true;
		return 0;
	case OPT_NO_WAIT:
		opt->no_wait = true;
		return 0;
	case OPT_INIT_ONLY:
		opt->init_only = true;
		return 0;
	case OPT_NO_HSA:
		opt->no_hsa = true;
		return 0;
	case OPT_LIST_KERNELS:
		opt->list_kernels = true;
		return 0;
	case OPT_LIST_GPUS:
		opt->list_gpus = true;
		return 0;
	case 'v':
		opt->verbose = true;
		return 0;
	case OPT_HELP:
		options_help(ARGP_HELP_STD_HELP);
	case OPT_USAGE:
		options_help(ARGP_HELP_USAGE);
	case OPT_VERSION:
		printf("rtl-demo %s\n", RTL_VERSION);
		exit(0);
	case ARGP_KEY_ARG:
		options_fail("takes no argument '%s'", arg);
	default:
		return ARGP_ERR_UNKNOWN;
	}
}

void options_parse(int argc, char **argv, struct options *ret)
{
	struct options opt = {.ranks = -1,
		.straggler = -1,
		.fault_rank = -1,
		.steps = -1,
		.layers = 4,
		.hang_at = -1,
		.threads = 1,
		.batch = 1,
		.queue_size = OPTIONS_QUEUE};
	int next = argc;

	/* What argp itself says of a bad option takes two lines, and goes with its --help. */
	if (argp_parse(&options_argp, argc, argv, ARGP_NO_ERRS | ARGP_NO_HELP, &next, &opt))
		options_fail("unknown or incomplete option '%s'",
			argv[next > 1 && next <= argc ? next - 1 : argc - 1]);
	options_check(&opt);
	if (opt.cause == CAUSE_SLOW_RANK && opt.straggler < 0)
		opt.straggler = 1;
	if (opt.steps < 0)
		opt.steps = 10;
	if (!opt.dispatches_given && opt.hang_at >= opt.steps)
		options_fail("--hang-at %d is past the last of %d steps", opt.hang_at, opt.steps);
	*ret = opt;
}
