// SPDX-License-Identifier: MIT
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "cli/base/command.h"
#include "cli/base/options.h"
#include "cli/output/table.h"
#include "cli/base/memory.h"
#include "cli/base/message.h"
#include "cli/live/hang.h"
#include "cli/live/stat_outstanding.h"
#include "cli/live/screen.h"
#include "cli/live/stat.h"
#include "proto/base/cleanup.h"
#include "proto/base/clock.h"

#define SECOND_NS	     1000000000ull
/* Below this a table only flickers. Scripts may choose a shorter interval. */
#define STAT_INTERVAL_NS_MIN (SECOND_NS / 20)
#define STAT_INTERVAL_NS_MAX (86400 * SECOND_NS)

/* A command line may be long; it is cut off here. */
#define STAT_WIDTH_MAX 160

struct stat_options {
	const char *socket, *session;
	uint64_t count; /* 0 for no limit */
	uint64_t interval_ns;
	bool is_json, is_batch, is_outstanding;
	bool has_times; /* -n or -i was given */
};

enum { KEY_OUTSTANDING = 0x500 };

static const struct argp_option options[] = {
	{"count", 'n', "COUNT", 0, "number of samples (default: until stopped)", 0},
	{"interval", 'i', "SECONDS", 0, "time between samples (default 2)", 0},
	{"batch", 'b', NULL, 0, "print the table each time, for pipes and logs", 0},
	{"json", 'j', NULL, 0, "one JSON document a line each time", 0},
	{"outstanding", KEY_OUTSTANDING, NULL, 0,
		"once: the kernel that each rank waits in, and the odd rank out", 0},
	{"socket", 'S', "PATH", 0, "ask only this collector", 0},
	{0},
};

static error_t parse(int key, char *arg, struct argp_state *state)
{
	struct stat_options *o = state->input;

	switch (key) {
	case KEY_OUTSTANDING:
		o->is_outstanding = true;
		return 0;
	case 'n':
		o->has_times = true;
		o->count = opts_u64("count", arg, 1, UINT32_MAX);
		return 0;
	case 'i':
		o->has_times = true;
		o->interval_ns =
			opts_seconds("interval", arg, STAT_INTERVAL_NS_MIN, STAT_INTERVAL_NS_MAX);
		return 0;
	case 'b':
		o->is_batch = true;
		return 0;
	case 'j':
		o->is_json = true;
		return 0;
	case 'S':
		o->socket = opts_socket(arg);
		return 0;
	case ARGP_KEY_ARG:
		if (o->session)
			opts_error("one SESSION at a time");
		o->session = arg;
		return 0;
	case ARGP_KEY_END:
		if (o->is_outstanding && (o->has_times || o->is_batch))
			opts_error("--outstanding is shown once; it goes with --json and --socket");
		return 0;
	default:
		return ARGP_ERR_UNKNOWN;
	}
}

static const struct argp stat_argp = {options, parse, "[SESSION]",
	"A live table of all ranks and GPUs of the sessions that this user may see: rates, drops."
	"\vLOAD %: time of kernels per time passed; queues at once make it more than 100. IDLE s: "
	"since the end of the latest kernel. \"-\": not known (yet), which is never 0. \"!\": "
	"something is missing, lost kernels or else; the line below says what. What a job hangs in "
	"for 10 s stands above its ranks. Without a "
	"terminal -b is meant. --outstanding has the collectors look at what is in flight, and "
	"shows it as rtl outstanding does. Exit status: 0; 1: no collector answers, or none knows "
	"SESSION.",
	NULL, NULL, NULL};

static int report_absence(const struct sample *sample)
{
	say("no collector answers (%s); rtl run starts a job, rtl doctor tells more",
		sample->trouble ? sample->trouble : "none found");
	return CMD_BAD_INPUT;
}

static bool is_missing(const struct sample *sample, const char *session)
{
	return session && sample->collectors && !sample->session_count;
}

static int report_missing(const char *session)
{
	say("%s: no such session is open; see rtl ls", session);
	return CMD_BAD_INPUT;
}

/* Sleeps until @deadline_ns of CLOCK_MONOTONIC. */
static void sleep_until(uint64_t deadline_ns)
{
	struct timespec at = {.tv_sec = (time_t)(deadline_ns / SECOND_NS),
		.tv_nsec = (long)(deadline_ns % SECOND_NS)};

	while (clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &at, NULL) == EINTR)
		;
}

static void print_json(const struct sample *now)
{
	json_t *document = stat_view_json(now);

	render_json(stdout, document, true);
	json_decref(document);
}

static void print_table(const struct sample *now, uint64_t interval_ns, bool is_first)
{
	const size_t width = render_terminal_width(STDOUT_FILENO, 0);
	CLEANUP(stat_view_free_p)
	struct stat_view *view = stat_view_new(now, interval_ns, STAT_BY_RANK, width);

	if (!is_first)
		putchar('\n');
	for (size_t i = 0; i < view->count; i++) {
		CLEANUP(free_p)
		char *line = render_escape_cut(view->lines[i].text, strlen(view->lines[i].text),
			width ? width : STAT_WIDTH_MAX);

		puts(line);
	}
}

static int print(const struct sample *now, const struct stat_options *o, bool is_first)
{
	if (o->is_json)
		print_json(now);
	else
		print_table(now, o->count == 1 ? 0 : o->interval_ns, is_first);
	/* A program that reads from a pipe needs whole samples. If it has ended, so do we. */
	return fflush(stdout) ? -errno : 0;
}

static int loop_batch(const struct stat_options *o)
{
	CLEANUP(sample_free_p) struct sample *before = NULL;
	uint64_t deadline_ns = clock_monotonic_ns();

	for (uint64_t i = 0; !o->count || i < o->count; i++) {
		CLEANUP(sample_free_p) struct sample *now = NULL;
		int r;

		if (i) {
			deadline_ns += o->interval_ns;
			sleep_until(deadline_ns);
		}
		r = sample_take(o->socket, o->session, &now);
		/* The job and its collector have ended. */
		if (!r && !now->collectors)
			return i ? CMD_OK : report_absence(now);
		if (!r && is_missing(now, o->session))
			return i ? CMD_OK : report_missing(o->session);
		if (!r) {
			sample_rate(now, before);
			stat_find_hangs(now, before, o->session != NULL);
			r = print(now, o, !i);
		}
		if (r) {
			if (!ferror(stdout)) /* otherwise main() reports it */
				say("%s", strerror(-r));
			return CMD_BAD_INPUT;
		}
		sample_free_p(&before);
		before = TAKE(now);
	}
	return CMD_OK;
}

struct live {
	const struct stat_options *options;
	struct sample *before, *now;
	enum stat_order order;
	bool is_paused;
	uint64_t next_ns, samples;
};

static int take_live(struct live *live)
{
	struct sample *sample = NULL;
	int r = sample_take(live->options->socket, live->options->session, &sample);

	if (r)
		return r;
	live->samples++;
	live->next_ns = clock_monotonic_ns() + live->options->interval_ns;
	/* A private collector ends with its job, and its last figures are still of interest. */
	if (!sample->collectors && live->now) {
		sample_free_p(&sample);
		sample_note(live->now, "no collector answers any more; these are its last figures");
		return 0;
	}
	sample_free_p(&live->before);
	live->before = live->now;
	live->now = sample;
	sample_rate(sample, live->before);
	stat_find_hangs(sample, live->before, live->options->session != NULL);
	return 0;
}

static void draw_live(const struct live *live)
{
	/* With --wide the right edge cuts. */
	size_t width = render_terminal_width(STDOUT_FILENO, 0) ? stat_screen_width() : 0;
	CLEANUP(stat_view_free_p)
	struct stat_view *view =
		stat_view_new(live->now, live->options->interval_ns, live->order, width);

	stat_screen_draw(view, live->order, live->is_paused);
}

/* Returns 1 to continue, 0 if the user wants to leave. */
static int handle_key(struct live *live, enum stat_key key)
{
	switch (key) {
	case STAT_KEY_QUIT:
		return 0;
	case STAT_KEY_REFRESH:
		live->next_ns = 0;
		return 1;
	case STAT_KEY_ORDER:
		live->order = (live->order + 1) % STAT_ORDERS;
		return 1;
	case STAT_KEY_PAUSE:
		live->is_paused = !live->is_paused;
		return 1;
	default:
		return 1;
	}
}

static int loop_screen(struct live *live)
{
	uint64_t count = live->options->count, now_ns;
	int r = 0, go_on = 1;

	while (!r && go_on) {
		now_ns = clock_monotonic_ns();
		if (now_ns >= live->next_ns && (!live->is_paused || !live->next_ns)) {
			if (count && live->samples >= count)
				break;
			r = take_live(live);
		}
		if (!r)
			draw_live(live);
		if (r)
			break;
		now_ns = clock_monotonic_ns();
		go_on = handle_key(live, stat_screen_wait(live->next_ns > now_ns && !live->is_paused
								  ? live->next_ns - now_ns
							  : live->is_paused ? SECOND_NS
									    : 0));
	}
	return r;
}

static int show_screen(const struct stat_options *o)
{
	struct live live = {.options = o};
	int r = take_live(&live);

	if (!r && !live.now->collectors) {
		r = report_absence(live.now);
	} else if (!r && is_missing(live.now, o->session)) {
		r = report_missing(o->session);
	} else if (!r && stat_screen_open()) {
		r = loop_batch(o);
	} else if (!r) {
		memory_on_failure(stat_screen_close);
		r = loop_screen(&live);
		stat_screen_close();
		/* The screen is cleared at the end, so print the last table again. */
		if (!r && o->count && live.samples >= o->count)
			print_table(live.now, o->interval_ns, true);
		if (r)
			say("%s", strerror(-r));
		r = r ? CMD_BAD_INPUT : CMD_OK;
	} else {
		say("%s", strerror(-r));
		r = CMD_BAD_INPUT;
	}
	sample_free_p(&live.before);
	sample_free_p(&live.now);
	return r;
}

#define STAT_FLAGS (OPTS_CONFIG | OPTS_TABLE)

bool stat_check_settings(void)
{
	struct stat_options o = {0};

	return opts_check_settings(&stat_argp, "stat", STAT_FLAGS, &o);
}

int cmd_stat(int argc, char **argv)
{
	struct stat_options o = {.interval_ns = 2 * SECOND_NS};

	opts_parse(&stat_argp, argc, argv, STAT_FLAGS, &o);
	if (o.is_outstanding)
		return stat_outstanding(o.socket, o.session, o.is_json);
	if (o.is_json || o.is_batch || !isatty(STDOUT_FILENO) || !isatty(STDIN_FILENO))
		return loop_batch(&o);
	return show_screen(&o);
}
