// SPDX-License-Identifier: MIT
#include "cli/timeline/timeline.h"

#include <inttypes.h>
#include <math.h>

/* Percent of the time. A part that takes less is not what makes a step long. */
#define READING_PCT_MIN	  5.0
/* Percentage points. Shares that lie nearer together count as equal. */
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

/* Returns the lane with the greatest share. */
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

/* Writes ", most on rank 3 GPU 3 (41 %)" if one lane stands out, or says that all are alike. */
static void name_worst(const struct timeline *t, uint64_t (*get)(const struct breakdown_row *row),
	char *ret, size_t bytes)
{
	const struct timeline_lane *worst = find_worst(t, get);
	double most = percent(get(&worst->total), worst->total.wall_ns);
	char name[REPLICA_NAME_BYTES];

	ret[0] = '\0';
	timeline_name_lane(worst, name);
	if (t->lane_count < 2)
		return;
	if (most - percent(get(&t->total), t->total.wall_ns) < READING_PCT_APART)
		snprintf(ret, bytes, ", on all ranks alike");
	else
		snprintf(ret, bytes, ", most %s %s GPU %" PRId64 " (%.0f %%)",
			worst->has_rank || worst->replica.replica ? "on" : "in", name,
			worst->gpu_id, most);
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

/* Names what the shares refer to: the steps if there are any. The time outside of steps is not part
 * of it. */
static const char *name_base(const struct timeline *t)
{
	return t->steps->source == STEPS_WHOLE ? "time" : "steps";
}

/* Returns the total plus the time between the steps of those ranks. */
static struct breakdown_row sum_all(const struct timeline *t)
{
	struct breakdown_row all = t->total;

	for (size_t i = 0; t->outside_ns && i < t->lane_count; i++)
		breakdown_sum(&all, &t->lanes[i].outside);
	return all;
}

static double idle_percent(const struct breakdown_row *row)
{
	return percent(breakdown_idle_ns(row), row->wall_ns);
}

/* Returns true if the share of idle time differs between all the time and the steps. */
static bool is_apart(const struct timeline *t, const struct breakdown_row *all)
{
	return fabs(idle_percent(all) - idle_percent(&t->total)) >= READING_PCT_APART;
}

/* Writes "80 % of that: the host submits late" for the main cause of the idle time. */
static void name_cause(const struct breakdown_row *row, char *ret, size_t bytes)
{
	enum breakdown_cause cause = breakdown_main_cause(row);

	snprintf(ret, bytes, "%.0f %% of that: %s",
		cause < BREAKDOWN_CAUSES ? percent(row->cause_ns[cause], breakdown_idle_ns(row))
					 : 0,
		explain(cause));
}

static int read_idle(const struct timeline *t, char **ret)
{
	struct breakdown_row all = sum_all(t);
	char where[96], share[48] = "", cause[128];

	name_worst(t, breakdown_idle_ns, where, sizeof(where));
	name_cause(&t->total, cause, sizeof(cause));
	if (is_apart(t, &all))
		snprintf(share, sizeof(share), " (%.0f %% of all the time)", idle_percent(&all));
	return asprintf(ret, "GPUs idle %.0f %% of the %s%s%s; %s", idle_percent(&t->total),
		name_base(t), share, where, cause);
}

/* Writes "; of all the time GPUs idle 50 %, 80 % of that: ..." for sentences whose main part is not
 * idle time. */
static void name_rest(const struct timeline *t, char *ret, size_t bytes)
{
	struct breakdown_row all = sum_all(t);
	char cause[128] = "";

	ret[0] = '\0';
	if (!is_apart(t, &all))
		return;
	if (idle_percent(&all) >= READING_PCT_MIN)
		name_cause(&all, cause, sizeof(cause));
	snprintf(ret, bytes, "; of all the time GPUs idle %.0f %%%s%s", idle_percent(&all),
		cause[0] ? ", " : "", cause);
}

static int read_communication(const struct timeline *t, char **ret)
{
	const struct breakdown_row *total = &t->total;
	char where[96], rest[192];

	name_worst(t, get_communication, where, sizeof(where));
	name_rest(t, rest, sizeof(rest));
	return asprintf(ret,
		"communication is %.0f %% of the %s, %.0f %% of it exposed: %.0f %% of the %s%s%s",
		percent(total->communication_ns, total->wall_ns), name_base(t),
		percent(total->exposed_communication_ns, total->communication_ns),
		percent(total->exposed_communication_ns, total->wall_ns), name_base(t), where,
		rest);
}

static int read_copies(const struct timeline *t, char **ret)
{
	char where[96], rest[192];

	name_worst(t, get_copies, where, sizeof(where));
	name_rest(t, rest, sizeof(rest));
	return asprintf(ret, "copies that nothing hides are %.0f %% of the %s%s%s",
		percent(t->total.exposed_copy_ns, t->total.wall_ns), name_base(t), where, rest);
}

static int read_computation(const struct timeline *t, char **ret)
{
	char rest[192];

	name_rest(t, rest, sizeof(rest));
	return asprintf(ret,
		"computation is %.0f %% of the %s; neither communication, copies nor idle time "
		"stand out%s%s",
		percent(t->total.stream_ns[BREAKDOWN_COMPUTE], t->total.wall_ns), name_base(t),
		rest[0] ? " in them" : "", rest);
}

char *timeline_reading(const struct timeline *timeline)
{
	const struct breakdown_row *total = &timeline->total;
	double idle = idle_percent(total);
	double communication = percent(total->exposed_communication_ns, total->wall_ns);
	double copies = percent(total->exposed_copy_ns, total->wall_ns);
	char *text = NULL;
	int n;

	if (!total->wall_ns)
		n = asprintf(&text, "nothing to read: no time was recorded");
	else if (timeline->left_out)
		n = asprintf(&text,
			"nothing to read: %" PRIu64 " kernels were not recorded, as was asked, so "
			"that no share of the time is known",
			timeline->left_out);
	else if (idle >= READING_PCT_MIN && idle >= communication && idle >= copies)
		n = read_idle(timeline, &text);
	else if (communication >= READING_PCT_MIN && communication >= copies)
		n = read_communication(timeline, &text);
	else if (copies >= READING_PCT_MIN)
		n = read_copies(timeline, &text);
	else
		n = read_computation(timeline, &text);
	return n < 0 ? NULL : text;
}
