// SPDX-License-Identifier: MIT
#include "cli/timeline.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* What takes less than that of the time is not what makes it long. */
#define READING_PCT_MIN	  5.0
/* Nearer together they are alike. */
#define READING_PCT_APART 2.0

static double percent(uint64_t part, uint64_t whole)
{
	return whole ? 100.0 * (double)part / (double)whole : 0;
}

static uint64_t get_communication(const struct breakdown_row *row)
{
	return row->exposed_communication_ns;
}

static uint64_t get_copies(const struct breakdown_row *row)
{
	return row->exposed_copy_ns;
}

/* The lane with the greatest share of it. */
static const struct timeline_lane *find_worst(
	const struct timeline *t, uint64_t (*get)(const struct breakdown_row *row))
{
	const struct timeline_lane *worst = t->lanes;

	for (size_t i = 1; i < t->lane_count; i++)
		if (percent(get(&t->lanes[i].total), t->lanes[i].total.wall_ns) >
			percent(get(&worst->total), worst->total.wall_ns))
			worst = t->lanes + i;
	return worst;
}

/* ", most on rank 3 GPU 3 (41 %)": where one stands out. */
static void name_worst(const struct timeline *t, uint64_t (*get)(const struct breakdown_row *row),
	char *ret, size_t bytes)
{
	const struct timeline_lane *worst = find_worst(t, get);
	double most = percent(get(&worst->total), worst->total.wall_ns);

	ret[0] = '\0';
	if (t->lane_count < 2)
		return;
	if (most - percent(get(&t->total), t->total.wall_ns) < READING_PCT_APART)
		snprintf(ret, bytes, ", on all ranks alike");
	else if (worst->has_rank)
		snprintf(ret, bytes, ", most on rank %" PRId64 " GPU %" PRId64 " (%.0f %%)",
			worst->rank, worst->gpu_id, most);
	else
		snprintf(ret, bytes, ", most in process %" PRId64 " GPU %" PRId64 " (%.0f %%)",
			worst->process_id, worst->gpu_id, most);
}

static const char *explain(enum breakdown_cause cause)
{
	static const char *const why[BREAKDOWN_CAUSES + 1] = {
		[BREAKDOWN_HOST_LATE] = "the host submits late",
		[BREAKDOWN_QUEUE_EMPTY] =
			"nothing was submitted (--mode hip records what the host did meanwhile)",
		[BREAKDOWN_SYNCHRONISATION] = "the host waits for the GPU before it submits more",
		[BREAKDOWN_PEER] = "the host waits in RCCL",
		[BREAKDOWN_LAUNCH] = BREAKDOWN_LAUNCH_TEXT,
		[BREAKDOWN_DEPENDENCY] =
			"kernels were submitted and held back (a barrier, a copy without times, a "
			"peer)",
		[BREAKDOWN_UNKNOWN] = "nothing says when kernels were submitted",
		[BREAKDOWN_CAUSES] = "",
	};

	return why[cause];
}

/* What the shares are of: rows are steps, where there are any, and what is outside is no row. */
static const char *name_base(const struct timeline *t)
{
	return t->steps->source == STEPS_WHOLE ? "time" : "steps";
}

/* " (96 % of all the time)": where what lies between the steps makes it another number. */
static void name_all(const struct timeline *t, double idle_pct, char *ret, size_t bytes)
{
	uint64_t idle_ns = breakdown_idle_ns(&t->total);
	double all;

	ret[0] = '\0';
	for (size_t i = 0; i < t->lane_count; i++)
		idle_ns += breakdown_idle_ns(&t->lanes[i].outside);
	all = percent(idle_ns, t->total.wall_ns + t->outside_ns);
	if (t->outside_ns && fabs(all - idle_pct) >= READING_PCT_APART)
		snprintf(ret, bytes, " (%.0f %% of all the time)", all);
}

char *timeline_reading(const struct timeline *timeline)
{
	const struct breakdown_row *total = &timeline->total;
	double idle = percent(breakdown_idle_ns(total), total->wall_ns);
	double communication = percent(total->exposed_communication_ns, total->wall_ns);
	double copies = percent(total->exposed_copy_ns, total->wall_ns);
	const char *base = name_base(timeline);
	char where[96] = "", all[48], *text = NULL;
	int n;

	if (!total->wall_ns) {
		n = asprintf(&text, "nothing to read: no time was recorded");
	} else if (idle >= READING_PCT_MIN && idle >= communication && idle >= copies) {
		enum breakdown_cause cause = breakdown_main_cause(total);

		name_worst(timeline, breakdown_idle_ns, where, sizeof(where));
		name_all(timeline, idle, all, sizeof(all));
		n = asprintf(&text, "GPUs idle %.0f %% of the %s%s%s; %.0f %% of that: %s", idle,
			base, all, where, percent(total->cause_ns[cause], breakdown_idle_ns(total)),
			explain(cause));
	} else if (communication >= READING_PCT_MIN && communication >= copies) {
		name_worst(timeline, get_communication, where, sizeof(where));
		n = asprintf(&text,
			"communication is %.0f %% of the %s, %.0f %% of it exposed: %.0f %% of "
			"the %s%s",
			percent(total->communication_ns, total->wall_ns), base,
			percent(total->exposed_communication_ns, total->communication_ns),
			communication, base, where);
	} else if (copies >= READING_PCT_MIN) {
		name_worst(timeline, get_copies, where, sizeof(where));
		n = asprintf(&text, "copies that nothing hides are %.0f %% of the %s%s", copies,
			base, where);
	} else {
		n = asprintf(&text,
			"computation is %.0f %% of the %s; neither communication, copies nor idle "
			"time stand out",
			percent(total->stream_ns[BREAKDOWN_COMPUTE], total->wall_ns), base);
	}
	return n < 0 ? NULL : text;
}
