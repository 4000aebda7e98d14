/* SPDX-License-Identifier: MIT */
#pragma once
/*
 * What a user chose to record: one table of options for rtl run and rtl env and of variables
 * for the shim, with one parser, so that both mean the same. Pure; texts are borrowed.
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* "0,3-5": more than a few are a mistake. */
#define CHOICE_RANGES_MAX 64u

struct choice_range {
	uint32_t first, last;
};

struct choice_list {
	uint32_t count; /* 0: everything */
	struct choice_range range[CHOICE_RANGES_MAX];
};

/* torch.profiler.schedule: of each wait + warmup + active steps the last `active` are recorded,
 * `repeat` times over; 0: for ever. */
struct choice_steps {
	uint32_t wait, warmup, active, repeat; /* active 0: no --steps */
};

struct choice {
	struct choice_list ranks;
	struct choice_list gpus; /* node-global gpuId */
	const char *kernels;	 /* POSIX ERE; NULL: all */
	const char *region;	 /* likewise */
	const char *step_marker; /* likewise; NULL: CHOICE_STEP_MARKER_DEFAULT */
	uint64_t start_after_ns; /* 0: at once */
	uint64_t duration_ns;	 /* 0: to the end */
	struct choice_steps steps;
	bool is_dormant; /* until rtl ctl start */
};

/* "ProfilerStep#7" (PyTorch), "step 7", "Step_7", "iteration 7", "iter#7". */
#define CHOICE_STEP_MARKER_DEFAULT                                                                 \
	"^(ProfilerStep#|([Tt]rain(ing)?[ _])?([Ss]tep|[Ii]ter(ation)?)[ _#:]+)[0-9]+"

/* key, option, variable, value, help; without a value: a flag, whose variable is 1 or 0. */
#define CHOICE_OPTIONS(X)                                                                          \
	X(CHOICE_RANKS, "ranks", "RTL_RANKS", "LIST", "these ranks only: 0,3-5")                   \
	X(CHOICE_GPUS, "gpus", "RTL_GPUS", "LIST", "these GPUs only, by gpuId: 0-3")               \
	X(CHOICE_KERNELS, "kernels", "RTL_KERNELS", "REGEX",                                       \
		"kernels whose raw symbol matches (POSIX extended)")                               \
	X(CHOICE_REGION, "region", "RTL_REGION", "REGEX",                                          \
		"what is submitted inside a roctx range whose text matches")                       \
	X(CHOICE_START_AFTER, "start-after", "RTL_START_AFTER", "TIME",                            \
		"from so long after a process began on: 10, 1.5, 500ms, 2m")                       \
	X(CHOICE_DURATION, "duration", "RTL_DURATION", "TIME", "for no longer than that")          \
	X(CHOICE_STEPS, "steps", "RTL_STEPS", "WAIT:WARMUP:ACTIVE:REPEAT",                         \
		"the last ACTIVE of so many steps, REPEAT times (0: for ever), as "                \
		"torch.profiler.schedule does")                                                    \
	X(CHOICE_STEP_MARKER, "step-marker", "RTL_STEP_MARKER", "REGEX",                           \
		"the roctx texts that begin a step (default: ProfilerStep#N, step N, iteration "   \
		"N)")                                                                              \
	X(CHOICE_DORMANT, "dormant", "RTL_DORMANT", NULL, "nothing until rtl ctl start")

#define CHOICE_ENUM(key, option, variable, arg, help) key,
enum choice_key { CHOICE_OPTIONS(CHOICE_ENUM) CHOICE_COUNT };
#undef CHOICE_ENUM

struct choice_option {
	const char *option;   /* without its dashes */
	const char *variable; /* RTL_... */
	const char *arg;      /* NULL: a flag; its variable is 1 or 0 */
	const char *help;
};

extern const struct choice_option choice_options[CHOICE_COUNT];

/* Why a value is bad, one line without a full stop. */
#define CHOICE_WHY_BYTES 256u

/* 0; -EINVAL with @why. @text has to live as long as @choice. */
int choice_set(
	struct choice *choice, enum choice_key key, const char *text, char why[CHOICE_WHY_BYTES]);

/* Checks options against each other. 0; -EINVAL with @why. */
int choice_check(const struct choice *choice, char why[CHOICE_WHY_BYTES]);

/* Reads the choice from an environment. 0; -EINVAL: @why names the variable, and *ret chooses
 * everything. */
int choice_read(const char *const *environment, struct choice *ret, char why[CHOICE_WHY_BYTES]);

bool choice_has(const struct choice_list *list, uint32_t number);

/* "0,3-5". 0; -EINVAL. */
int choice_parse_list(const char *text, struct choice_list *ret);

/* "10", "1.5", with ns, us, ms, s (default), m or h behind; above 0, at most ten years. 0; -EINVAL.
 */
int choice_parse_duration(const char *text, uint64_t *ret_ns);
