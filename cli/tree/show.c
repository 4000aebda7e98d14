// SPDX-License-Identifier: MIT
#include "cli/tree/show.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "cli/base/memory.h"
#include "cli/base/color.h"
#include "proto/base/cleanup.h"

#define ROW_MAX	   40
/* Names are indented by two columns per level, up to this column. */
#define INDENT_MAX 24

static const struct render_column columns[] = {
	{"id", NULL, RENDER_ID},
	{"parent", NULL, RENDER_ID},
	{"depth", NULL, RENDER_ID},
	{"kind", NULL, RENDER_TEXT},
	{"rank", NULL, RENDER_ID},
	{"process_id", NULL, RENDER_ID},
	{"gpu_ns", "GPU ms", RENDER_NS_IN_MS},
	{"gpu_pct", "GPU %", RENDER_TENTHS},
	{"gpu_self_ns", "SELF ms", RENDER_NS_IN_MS},
	{"kernels", "KERNELS", RENDER_COUNT},
	{"kernels_self", NULL, RENDER_COUNT},
	{"untimed", NULL, RENDER_COUNT},
	{"launch_mean_ns", "LAUNCH us", RENDER_NS_IN_US},
	{"launch_max_ns", NULL, RENDER_ID},
	{"queue_mean_ns", "QUEUE us", RENDER_NS_IN_US},
	{"queue_max_ns", NULL, RENDER_ID},
	{"count", NULL, RENDER_COUNT},
	{"open", NULL, RENDER_COUNT},
	{"host_ns", NULL, RENDER_ID},
	{"processes", NULL, RENDER_COUNT},
	{"slowest_rank", NULL, RENDER_ID},
	{"slowest_gpu_ns", NULL, RENDER_ID},
	{"fastest_gpu_ns", NULL, RENDER_ID},
	{"category", NULL, RENDER_TEXT},
	{"flops", NULL, RENDER_ID},
	{"bytes", NULL, RENDER_ID},
	{"cost_ns", NULL, RENDER_ID},
	{"tflops_per_s", "TFLOP/s", RENDER_TENTHS},
	{"gb_per_s", "GB/s", RENDER_TENTHS},
	{"peak_pct", "PEAK %", RENDER_TENTHS},
	{"work_ns", NULL, RENDER_ID},
	{"slowest_work_rank", NULL, RENDER_ID},
	{"slowest_work_ns", NULL, RENDER_ID},
	{"fastest_work_ns", NULL, RENDER_ID},
	{"name", NULL, RENDER_TEXT},
	{NULL, "WORST", RENDER_NOTE},
	{NULL, "NAME", RENDER_TEXT},
};

#define COLUMNS	    (sizeof(columns) / sizeof(columns[0]))
#define KEYS	    (COLUMNS - 2) /* the last columns are only in the text output */
#define FIRST_COST  23		  /* category; text output has these if a cost is known */
#define LAST_COST   29
/* A rank whose time is at least this multiple of the mean is named. */
#define WORST_RATIO 1.2

static const char *kind_name(uint8_t kind)
{
	static const char *const names[] = {
		"root", "process", "thread", "range", "started", "op", "call", "kernel", "other"};

	return names[kind];
}

static struct render_value mean(int64_t sum, uint64_t count)
{
	return render_optional(count > 0, count ? sum / (int64_t)count : 0);
}

static double percent(const struct tree_view *view, int64_t gpu_ns)
{
	int64_t all = view->tree->nodes[0].all.gpu_ns;

	return all > 0 ? 100.0 * (double)gpu_ns / (double)all : 0;
}

static struct render_value ratio(double part, double whole)
{
	return whole > 0 ? render_real(part / whole) : render_null();
}

static void fill_costs(const struct tree_sums *all, struct render_value **ret)
{
	bool has = all->cost_ns > 0;

	*(*ret)++ = has ? render_real(all->flops) : render_null();
	*(*ret)++ = has ? render_real(all->bytes) : render_null();
	*(*ret)++ = render_optional(has, all->cost_ns);
	*(*ret)++ = ratio(all->flops / 1e3, (double)all->cost_ns);
	*(*ret)++ = ratio(all->bytes, (double)all->cost_ns);
	*(*ret)++ = ratio(100 * all->least_ns, (double)all->peak_ns);
}

/* Returns false for a collective's kernel, and for what has nothing else. */
static bool has_work(const struct tree_node *node)
{
	return !node->all.communication_ns || tree_work_ns(&node->all) > 0;
}

static void fill(const struct tree_view *view, uint32_t at, const char *name,
	struct render_value ret[ROW_MAX])
{
	const struct tree_node *node = view->tree->nodes + at;
	const struct tree_process *processes = view->by_rank->processes;
	const struct tree_process *own =
		view->options->is_merged || !at ? NULL : processes + node->process;
	const struct tree_process *slowest = node->processes ? processes + node->gpu.slowest : NULL;
	const struct tree_process *worst =
		node->processes && has_work(node) ? processes + node->work.slowest : NULL;

	*ret++ = render_integer(view->tree->place[at]);
	*ret++ = render_optional(at > 0, view->tree->place[node->parent]);
	*ret++ = render_integer(node->depth);
	*ret++ = render_text(kind_name(node->kind));
	*ret++ = render_optional(own && own->has_rank, own ? own->rank : 0);
	*ret++ = render_optional(own != NULL, own ? own->id : 0);
	*ret++ = render_integer(node->all.gpu_ns);
	*ret++ = render_real(percent(view, node->all.gpu_ns));
	*ret++ = render_integer(node->self.gpu_ns);
	*ret++ = render_integer((int64_t)node->all.kernels);
	*ret++ = render_integer((int64_t)node->self.kernels);
	*ret++ = render_integer((int64_t)node->all.untimed);
	*ret++ = mean(node->all.launch_ns, node->all.launched);
	*ret++ = render_optional(node->all.launched > 0, node->all.launch_max_ns);
	*ret++ = mean(node->all.queue_ns, node->all.queued);
	*ret++ = render_optional(node->all.queued > 0, node->all.queue_max_ns);
	*ret++ = render_optional(node->count > 0, (int64_t)node->count);
	*ret++ = render_integer((int64_t)node->open);
	*ret++ =
		render_optional(node->kind >= TREE_RANGE && node->kind <= TREE_CALL, node->host_ns);
	*ret++ = render_optional(node->processes > 0, node->processes);
	*ret++ = render_optional(slowest && slowest->has_rank, slowest ? slowest->rank : 0);
	*ret++ = render_optional(slowest != NULL, node->gpu.slowest_ns);
	*ret++ = render_optional(slowest != NULL, node->gpu.fastest_ns);
	*ret++ = render_text(node->category);
	fill_costs(&node->all, &ret);
	*ret++ = render_integer(tree_work_ns(&node->all));
	*ret++ = render_optional(worst && worst->has_rank, worst ? worst->rank : 0);
	*ret++ = render_optional(worst != NULL, node->work.slowest_ns);
	*ret++ = render_optional(worst != NULL, node->work.fastest_ns);
	*ret++ = render_text(name);
}

/* ---- choosing rows --------------------------------------------------------------------- */

struct showing {
	const struct tree_view *view;
	struct render *render;
};

static bool is_hidden(const struct tree_view *view, const struct tree_node *node)
{
	return (node->kind == TREE_KERNEL && !view->options->has_kernels) ||
	       (view->options->depth && node->depth > view->options->depth);
}

static bool is_small(const struct tree_view *view, const struct tree_node *node)
{
	return node->kind > TREE_THREAD && view->options->min_percent > 0 &&
	       percent(view, node->all.gpu_ns) < view->options->min_percent;
}

/* Writes how often the node occurs, and how many of its ranges or calls did not end. */
static void format_note(const struct tree_node *node, char ret[80])
{
	CLEANUP(free_p) char *count = render_count((int64_t)node->count);
	bool has_count = node->kind >= TREE_RANGE && node->kind <= TREE_CALL && node->count > 1;

	snprintf(ret, 80, "%s%s", has_count ? " x" : "", has_count && count ? count : "");
	if (node->open)
		snprintf(ret + strlen(ret), 80 - strlen(ret), " (%" PRIu64 " open)", node->open);
}

/* Writes "5: 1.31x": the rank that works longest here, compared with the mean. */
static bool find_worst(const struct tree_view *view, const struct tree_node *node, char ret[32])
{
	double mean_ns = node->processes ? (double)tree_work_ns(&node->all) / node->processes : 0;
	const struct tree_process *slowest;

	if (node->processes < 2 || mean_ns <= 0 ||
		(double)node->work.slowest_ns < WORST_RATIO * mean_ns)
		return false;
	slowest = view->by_rank->processes + node->work.slowest;
	snprintf(ret, 32, "%" PRId64 ": %.2fx", slowest->has_rank ? slowest->rank : slowest->id,
		(double)node->work.slowest_ns / mean_ns);
	return true;
}

static void put_named(struct showing *showing, uint32_t at)
{
	const struct tree_view *view = showing->view;
	const struct tree_node *node = view->tree->nodes + at;
	struct render_value row[ROW_MAX];
	CLEANUP(free_p) char *text = NULL;
	char buffer[64], note[80] = "", worst[32];
	const char *name = tree_name(view->tree, node, buffer);
	int indent = node->depth > 1 ? (node->depth - 1) * 2 : 0;

	format_note(node, note);
	text = xasprintf("%*s%s%s", indent < INDENT_MAX ? indent : INDENT_MAX, "", name, note);
	fill(view, at, name, row);
	row[KEYS] = render_text(find_worst(view, node, worst) ? worst : NULL);
	row[KEYS + 1] = render_text(text);
	render_row(showing->render, row);
}

/* Prints one row for all nodes that are too small. */
static void put_rest(
	struct showing *showing, uint32_t parent, const struct tree_node *rest, size_t n)
{
	struct render_value row[ROW_MAX];
	char text[INDENT_MAX + 64];
	int indent = showing->view->tree->nodes[parent].depth * 2;

	for (size_t i = 0; i < ROW_MAX; i++)
		row[i] = render_null();
	snprintf(text, sizeof(text), "%*s(%zu smaller)", indent < INDENT_MAX ? indent : INDENT_MAX,
		"", n);
	row[6] = render_integer(rest->all.gpu_ns);
	row[7] = render_real(percent(showing->view, rest->all.gpu_ns));
	row[9] = render_integer((int64_t)rest->all.kernels);
	row[KEYS + 1] = render_text(text);
	render_row(showing->render, row);
}

/* Recursion is as deep as the tree, at most TREE_DEPTH_MAX. */
static void put_children(struct showing *showing, uint32_t parent)
{
	const struct tree *tree = showing->view->tree;
	struct tree_node rest = {0};
	size_t small = 0;

	for (uint32_t i = tree->first_child[parent]; i < tree->first_child[parent + 1]; i++) {
		uint32_t at = tree->children[i];
		const struct tree_node *node = tree->nodes + at;

		if (is_hidden(showing->view, node))
			continue;
		if (is_small(showing->view, node)) {
			small++;
			rest.all.kernels += node->all.kernels;
			rest.all.gpu_ns =
				(int64_t)((uint64_t)rest.all.gpu_ns + (uint64_t)node->all.gpu_ns);
			continue;
		}
		put_named(showing, at);
		put_children(showing, at);
	}
	if (small && showing->view->options->format == RENDER_TABLE)
		put_rest(showing, parent, &rest, small);
}

/* ---- text ------------------------------------------------------------------------------ */

static double in_ranges(const struct tree *tree)
{
	int64_t sum = 0;

	for (size_t i = 1; i < tree->node_count; i++) {
		const struct tree_node *node = tree->nodes + i;
		uint8_t around = tree->nodes[node->parent].kind;

		if (node->kind == TREE_RANGE && around <= TREE_THREAD)
			sum = (int64_t)((uint64_t)sum + (uint64_t)node->all.gpu_ns);
	}
	return tree->nodes[0].all.gpu_ns > 0
		       ? 100.0 * (double)sum / (double)tree->nodes[0].all.gpu_ns
		       : 0;
}

static void put_reading(const struct tree_view *view, FILE *to)
{
	const struct tree *tree = view->tree;
	const struct tree_sums *all = &tree->nodes[0].all;
	CLEANUP(free_p) char *text = NULL;
	FILE *line;
	CLEANUP(free_p) char *kernels = render_count((int64_t)all->kernels);

	if (!all->kernels) {
		fputs("no kernels: nothing to show times of\n", to);
		return;
	}
	line = xmemstream(&text);
	fprintf(line, "%.3f ms GPU time: %s kernels, %zu %s, %.0f %% in roctx ranges",
		(double)all->gpu_ns / 1e6, kernels ? kernels : "", view->by_rank->wanted,
		view->by_rank->wanted == 1 ? "process" : "processes", in_ranges(tree));
	if (all->launched)
		fprintf(line, ", %.1f us from call to start",
			(double)all->launch_ns / (double)all->launched / 1e3);
	else if (all->queued)
		fprintf(line, ", %.1f us from submission to start",
			(double)all->queue_ns / (double)all->queued / 1e3);
	if (fclose(line) == 0)
		render_put_reading(to, text, 0);
}

static void put_notes(const struct tree_view *view, FILE *to)
{
	const struct tree *tree = view->by_rank;

	if (tree->nodes[0].all.untimed)
		fprintf(to, "  kernels without times: %" PRIu64 "; they are in no sum of time\n",
			tree->nodes[0].all.untimed);
	if (tree->lost_calls)
		fprintf(to, "  kernels whose host call has no record: %" PRIu64 "\n",
			tree->lost_calls);
	if (tree->lost_ranges)
		fprintf(to, "  kernels whose range has no record: %" PRIu64 "\n",
			tree->lost_ranges);
	if (tree->folded)
		fprintf(to, "  more than %zu names: some are summed as (other names)\n",
			TREE_NODES_MAX);
}

static void put_text(const struct tree_view *view, FILE *to)
{
	CLEANUP(render_free_p) struct render *render = NULL;
	struct showing showing = {.view = view};
	struct render_column shown[COLUMNS];

	memcpy(shown, columns, sizeof(shown));
	for (size_t i = FIRST_COST; i <= LAST_COST && !view->tree->nodes[0].all.cost_ns; i++)
		shown[i].title = NULL;
	color_put_verdict(to, view->verdict->line);
	put_reading(view, to);
	put_notes(view, to);
	if (view->tree->node_count < 2)
		return;
	fputc('\n', to);
	showing.render = render = render_new(to, RENDER_TABLE, shown, COLUMNS);
	render_set_width(render, view->options->width);
	put_children(&showing, 0);
	render_finish(render);
}

/* ---- JSON and CSV ---------------------------------------------------------------------- */

static void put_rows(const struct tree_view *view, FILE *to)
{
	CLEANUP(render_free_p)
	struct render *render = render_new(to, view->options->format, columns, KEYS);
	struct showing showing = {view, render};

	render_tell_simulated(render, view->verdict->is_simulated);
	put_children(&showing, 0);
	render_finish(render);
}

/* Rows are streamed, because there may be a million. */
static void put_json(const struct tree_view *view, FILE *to)
{
	const struct tree *tree = view->by_rank;
	json_t *document = json_pack("{s:i, s:s, s:I, s:I, s:I, s:I, s:I}", "schema", 1, "by",
		view->options->is_merged ? "merged" : "rank", "gpu_ns",
		(json_int_t)tree->nodes[0].all.gpu_ns, "kernels",
		(json_int_t)tree->nodes[0].all.kernels, "lost_calls", (json_int_t)tree->lost_calls,
		"lost_ranges", (json_int_t)tree->lost_ranges, "folded", (json_int_t)tree->folded);

	verdict_put_json(view->verdict, document);
	fputc('{', to);
	render_json_value(to, document, JSON_COMPACT | JSON_EMBED);
	json_decref(document);
	fputs(",\n\"nodes\":", to);
	put_rows(view, to);
	fputs("}\n", to);
}

/* ---- folded stacks --------------------------------------------------------------------- */

/* Semicolons separate frames, and the last blank precedes the number. */
static void put_frame(const char *name, FILE *to)
{
	CLEANUP(free_p) char *safe = render_escape(name, strlen(name));

	for (char *at = safe; at && *at; at++)
		if (*at == ';')
			*at = ':';
	fputs(safe ? safe : "", to);
}

static void put_stacks(
	const struct tree_view *view, uint32_t at, uint32_t *path, size_t depth, FILE *to)
{
	const struct tree *tree = view->tree;
	const struct tree_node *node = tree->nodes + at;
	char buffer[64];

	if (at)
		path[depth++] = at;
	if (node->kind == TREE_KERNEL && node->self.gpu_ns > 0) {
		for (size_t i = 0; i < depth; i++) {
			if (i)
				fputc(';', to);
			put_frame(tree_name(tree, tree->nodes + path[i], buffer), to);
		}
		fprintf(to, " %" PRId64 "\n", node->self.gpu_ns);
	}
	for (uint32_t i = tree->first_child[at]; i < tree->first_child[at + 1]; i++)
		put_stacks(view, tree->children[i], path, depth, to);
}

void tree_show(const struct tree_view *view, FILE *to)
{
	uint32_t path[TREE_DEPTH_MAX + 8];

	if (view->options->is_folded) {
		put_stacks(view, 0, path, 0, to);
		return;
	}
	switch (view->options->format) {
	case RENDER_JSON:
		put_json(view, to);
		break;
	case RENDER_CSV:
		put_rows(view, to);
		break;
	default:
		put_text(view, to);
	}
}
