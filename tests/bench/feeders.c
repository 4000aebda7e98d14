/* SPDX-License-Identifier: MIT */
/*
 * Ranks that only send: each a process with a connection, a recorder and a Hello of its own, that
 * sends prepared dispatches as fast as the collector reads them. All begin at once, and end when all
 * have their last Ack, as the ranks of a job do. Says, as JSON, how long that took and how long frames
 * waited for their Ack. What it costs to see a dispatch or to make a frame of it is not in it:
 * synthetic-shim has that.
 */
#include <argp.h>
#include <errno.h>
#include <inttypes.h>
#include <poll.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <linux/sockios.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include "proto/base/clock.h"
#include "proto/names/counters.h"
#include "proto/base/limits.h"
#include "tests/bench/rows.h"
#include "tests/lib/fake_shim.h"

#define WAIT_MS	     600000 /* also for a collector that valgrind runs */
/* A shim sends an anchor and its counters with each flush: 20 ms, of 200,000 dispatches a second.
 */
#define FLUSH_FRAMES 4u

static struct options {
	const char *socket;
	unsigned ranks;
	uint64_t rows; /* of a rank */
	unsigned records;
	const char *job;
	bool is_hasty;
} options = {.ranks = 1, .rows = 100000, .records = FRAME_RECORDS_MAX, .job = "bench"};

/* The times of one rank; shared with the process that forked it. */
struct outcome {
	uint64_t begin_ns, end_ns;
	_Atomic bool is_whole;
};

static struct shared {
	struct outcome *outcome;
	uint64_t *waited_ns; /* ranks x frames */
	uint64_t frames;     /* of a rank */
	int ready[2], go[2], acked[2];
} shared;

static const struct argp_option known[] = {
	{"socket", 's', "PATH", 0, "The collector", 0},
	{"ranks", 'k', "N", 0, "So many processes (default 1)", 0},
	{"rows", 'n', "N", 0, "Dispatches of each (default 100000)", 0},
	{"records", 'r', "N", 0, "Dispatches in a frame (default 1024, the most)", 0},
	{"hasty", 'h', NULL, 0, "End when all is sent: what is committed is known from the file",
		0},
	{"job", 'j', "NAME", 0, "What the ranks have in common (default bench)", 0},
	{0},
};

static error_t parse(int key, char *value, struct argp_state *state)
{
	struct options *o = state->input;

	switch (key) {
	case 's':
		o->socket = value;
		return 0;
	case 'k':
		o->ranks = (unsigned)strtoul(value, NULL, 10);
		return 0;
	case 'n':
		o->rows = strtoull(value, NULL, 10);
		return 0;
	case 'r':
		o->records = (unsigned)strtoul(value, NULL, 10);
		return 0;
	case 'h':
		o->is_hasty = true;
		return 0;
	case 'j':
		o->job = value;
		return 0;
	case ARGP_KEY_END:
		if (!o->socket || !o->ranks || !o->rows || !o->records ||
			o->records > FRAME_RECORDS_MAX)
			argp_error(state, "a socket, ranks, rows, and at most %u records a frame",
				FRAME_RECORDS_MAX);
		return 0;
	default:
		return ARGP_ERR_UNKNOWN;
	}
}

/* ---- what a rank sends ---------------------------------------------------------------------- */

static int send_names(struct fake_shim *shim)
{
	for (uint32_t i = 0; i < ROWS_KERNELS; i++) {
		Rtl__Frame frame = RTL__FRAME__INIT;
		Rtl__Defines defines = RTL__DEFINES__INIT;
		Rtl__StringDef string = RTL__STRING_DEF__INIT, *strings[] = {&string};
		Rtl__SymbolDef symbol = RTL__SYMBOL_DEF__INIT, *symbols[] = {&symbol};
		char name[96];
		int r;

		snprintf(name, sizeof(name),
			"Cijk_Ailk_Bljk_HHS_BH_MT128x%u_SE_1LDSB0_APM1_AF0EM8_ASEM8_GRVW8.kd", i);
		string.has_id = symbol.has_id = symbol.has_name = true;
		string.id = symbol.id = symbol.name = i + 1;
		msg_set_bytes(&string.has_text, &string.text, name);
		defines.n_strings = defines.n_symbols = 1;
		defines.strings = strings;
		defines.symbols = symbols;
		frame.body_case = RTL__FRAME__BODY_DEFINES;
		frame.defines = &defines;
		r = fake_send(shim->fd, &frame);
		if (r < 0)
			return r;
	}
	return 0;
}

static int send_shapes(struct fake_shim *shim)
{
	for (uint32_t i = 0; i < ROWS_SHAPES; i++) {
		Rtl__Frame frame = RTL__FRAME__INIT;
		Rtl__Defines defines = RTL__DEFINES__INIT;
		Rtl__ShapeDef shape = RTL__SHAPE_DEF__INIT, *shapes[] = {&shape};
		uint32_t grid[] = {64 * (i + 1), 1, 1}, workgroup[] = {64, 1, 1};
		int r;

		shape.has_id = shape.has_gpu = shape.has_queue = shape.has_symbol = true;
		shape.id = i + 1;
		shape.symbol = i % ROWS_KERNELS + 1;
		shape.n_grid = shape.n_workgroup = 3;
		shape.grid = grid;
		shape.workgroup = workgroup;
		defines.n_shapes = 1;
		defines.shapes = shapes;
		frame.body_case = RTL__FRAME__BODY_DEFINES;
		frame.defines = &defines;
		r = fake_send(shim->fd, &frame);
		if (r < 0)
			return r;
	}
	return 0;
}

/* Sends an anchor of the device's clock, at @ns of the rows. */
static int send_anchor(struct fake_shim *shim, uint64_t ns)
{
	Rtl__Frame frame = RTL__FRAME__INIT;
	Rtl__Anchors anchors = RTL__ANCHORS__INIT;
	Rtl__Anchor anchor = RTL__ANCHOR__INIT, *list[] = {&anchor};

	anchor.has_gpu = anchor.has_tick = anchor.has_boottime_ns = anchor.has_realtime_ns = true;
	anchor.has_error_ns = true;
	anchor.tick = ns / ROWS_TICK_NS;
	anchor.boottime_ns = ns;
	anchor.realtime_ns = ns + clock_realtime_ns() - clock_boottime_ns();
	anchor.error_ns = 1000;
	anchors.n_anchors = 1;
	anchors.anchors = list;
	frame.body_case = RTL__FRAME__BODY_ANCHORS;
	frame.anchors = &anchors;
	return fake_send(shim->fd, &frame);
}

struct columns {
	uint32_t shape[FRAME_RECORDS_MAX], ticks[FRAME_RECORDS_MAX];
	int64_t seq[FRAME_RECORDS_MAX];
	uint64_t start[FRAME_RECORDS_MAX];
	int32_t submit[FRAME_RECORDS_MAX];
	uint32_t range_from[FRAME_RECORDS_MAX];
	uint64_t range[FRAME_RECORDS_MAX];
};

static void fill(
	struct columns *c, Rtl__Dispatches *d, uint64_t base_ns, uint64_t first, uint32_t n)
{
	static uint32_t zero, tid = 4711;

	d->has_n = d->has_submit_base_ns = true;
	d->n = n;
	d->submit_base_ns = row_start_ns(base_ns, first);
	d->n_shape = d->n_seq = d->n_start_tick = d->n_duration_ticks = d->n_submit_delta_ns = n;
	d->n_tid_from = d->n_tid = 1;
	d->tid_from = &zero;
	d->tid = &tid;
	for (uint32_t i = 0; i < n; i++) {
		uint64_t start_ns = row_start_ns(base_ns, first + i);

		c->shape[i] = row_shape(first + i) + 1;
		c->seq[i] = i ? 0 : (int64_t)first;
		c->start[i] = start_ns / ROWS_TICK_NS;
		c->ticks[i] = row_duration_ticks(first + i);
		c->submit[i] =
			(int32_t)(start_ns - d->submit_base_ns) - (int32_t)row_wait_ns(first + i);
		if (!i || row_range(first + i) != row_range(first + i - 1)) {
			c->range_from[d->n_marker_from++] = i;
			c->range[d->n_marker++] = row_range(first + i);
		}
	}
	d->shape = c->shape;
	d->seq = c->seq;
	d->start_tick = c->start;
	d->duration_ticks = c->ticks;
	d->submit_delta_ns = c->submit;
	d->marker_from = c->range_from;
	d->marker = c->range;
}

/* ---- a rank --------------------------------------------------------------------------------- */

/* Frames as they go over the wire, prepared before the start, so that no rank computes on them
 * while others send. */
struct prepared {
	uint8_t *data;
	size_t bytes;
	unsigned rows;
	uint64_t sent_ns;
};

struct sender {
	struct fake_shim shim;
	struct prepared *frames;
	uint64_t *waited_ns; /* of each frame */
	uint64_t base_ns, acked;
};

/* Acks up to now; waits for the first at most @timeout_ms. */
static int take_acks(struct sender *s, int timeout_ms)
{
	Rtl__Frame *frame;
	int r;

	while ((r = fake_receive(&s->shim, timeout_ms, &frame)) == 0) {
		uint64_t now_ns = clock_monotonic_ns();

		timeout_ms = 0;
		if (frame->body_case != RTL__FRAME__BODY_ACK)
			continue;
		for (; s->acked < frame->ack->frame; s->acked++)
			s->waited_ns[s->acked] = now_ns - s->frames[s->acked].sent_ns;
	}
	return r == -ETIMEDOUT ? 0 : r;
}

/* Counts @n dispatches in the recorder, as a shim counts what it has seen. */
static void count(struct fake_shim *shim, unsigned n)
{
	struct recorder_queue *queue =
		(void *)((uint8_t *)shim->recorder + shim->recorder->queues.offset);

	queue->producer[RTL_Q_dispatched] += n;
	queue->producer[RTL_Q_signals_injected] += n;
	queue->harvester[RTL_Q_recorded - RTL_Q_HARVESTER_FIRST] += n;
}

/* Number @number, from 1. */
static int prepare_frame(struct sender *s, uint64_t number)
{
	static struct columns columns;
	Rtl__Frame frame = RTL__FRAME__INIT;
	Rtl__Dispatches dispatches = RTL__DISPATCHES__INIT;
	struct prepared *prepared = &s->frames[number - 1];
	uint64_t first = (number - 1) * options.records, left = options.rows - first;

	fill(&columns, &dispatches, s->base_ns, first,
		(uint32_t)(left < options.records ? left : options.records));
	frame.has_number = true;
	frame.number = number;
	frame.body_case = RTL__FRAME__BODY_DISPATCHES;
	frame.dispatches = &dispatches;
	prepared->rows = dispatches.n;
	prepared->data = msg_pack_new(&frame, &prepared->bytes);
	return prepared->data ? 0 : -ENOMEM;
}

static int prepare(struct sender *s)
{
	int r = 0;

	s->frames = calloc(shared.frames, sizeof(*s->frames));
	if (!s->frames)
		return -ENOMEM;
	s->base_ns = clock_boottime_ns();
	for (uint64_t number = 1; r == 0 && number <= shared.frames; number++)
		r = prepare_frame(s, number);
	return r;
}

static int send_frame(struct sender *s, struct prepared *frame)
{
	int r;

	count(&s->shim, frame->rows);
	frame->sent_ns = clock_monotonic_ns();
	r = fake_send_bytes(s->shim.fd, frame->data, frame->bytes);
	return r == 0 ? take_acks(s, 0) : r;
}

static int send_rows(struct sender *s)
{
	uint64_t flush_ns = FLUSH_FRAMES * options.records * (uint64_t)ROWS_PERIOD;
	int r = send_anchor(&s->shim, s->base_ns);

	for (uint64_t number = 1; r == 0 && number <= shared.frames; number++) {
		if (number % FLUSH_FRAMES == 1)
			r = send_anchor(
				&s->shim, s->base_ns + number / FLUSH_FRAMES * flush_ns + flush_ns);
		if (r == 0)
			r = send_frame(s, &s->frames[number - 1]);
		if (r == 0 && (number % FLUSH_FRAMES == 0 || number == shared.frames))
			r = fake_shim_send_counters(&s->shim);
	}
	return r;
}

static int greet(struct sender *s, unsigned rank)
{
	Rtl__Frame *frame;
	int r = fake_shim_init(&s->shim, options.job);

	s->shim.rank = rank;
	if (r == 0)
		r = fake_shim_connect(&s->shim, options.socket);
	if (r == 0)
		r = fake_shim_send_hello(&s->shim, 1);
	if (r == 0)
		r = fake_receive(&s->shim, WAIT_MS, &frame);
	if (r == 0 && frame->body_case != RTL__FRAME__BODY_WELCOME)
		r = -EPROTO;
	if (r == 0)
		r = send_names(&s->shim);
	if (r == 0)
		r = send_shapes(&s->shim);
	return r == 0 ? prepare(s) : r;
}

/* A socket that is closed with Acks unread takes with it what it has sent; a shim has it still. */
static int until_read(int fd)
{
	const struct timespec pause = {.tv_nsec = 1000000};
	uint64_t deadline_ns = clock_monotonic_ns() + WAIT_MS * 1000000ull;
	int unread = 1;

	while (unread) {
		if (ioctl(fd, SIOCOUTQ, &unread) < 0)
			return -errno;
		if (clock_monotonic_ns() > deadline_ns)
			return -ETIMEDOUT;
		nanosleep(&pause, NULL);
	}
	return 0;
}

/* Waits until the last rank has its last Ack, so that no rank's end is in the time of another. */
static int until_all_acked(void)
{
	char byte;

	close(shared.acked[1]);
	return read(shared.acked[0], &byte, 1) == 0 ? 0 : -EIO;
}

static int be_rank(struct sender *s, unsigned rank)
{
	struct outcome *outcome = &shared.outcome[rank];
	char byte = 0;
	int r = greet(s, rank);

	if (r < 0)
		return r;
	if (write(shared.ready[1], &byte, 1) != 1)
		return -errno;
	if (read(shared.go[0], &byte, 1) != 0) /* ends when all may go */
		return -EIO;
	outcome->begin_ns = clock_monotonic_ns();
	r = send_rows(s);
	/* As a shim does; else the last rows would wait for a commit by the clock. */
	if (r == 0)
		r = fake_shim_send_bye(&s->shim);
	while (r == 0 && !options.is_hasty && s->acked < shared.frames)
		r = take_acks(s, WAIT_MS);
	if (r < 0)
		return r;
	outcome->end_ns = clock_monotonic_ns();
	r = options.is_hasty ? 0 : until_all_acked();
	if (r == 0)
		r = until_read(s->shim.fd);
	outcome->is_whole = r == 0;
	return r;
}

static _Noreturn void rank_main(unsigned rank)
{
	static struct sender sender;
	int r;

	prctl(PR_SET_PDEATHSIG, SIGKILL);
	close(shared.go[1]);
	sender.waited_ns = shared.waited_ns + rank * shared.frames;
	r = be_rank(&sender, rank);
	if (r < 0)
		fprintf(stderr, "feeders: rank %u: %s\n", rank, strerror(-r));
	_exit(r < 0);
}

/* ---- all of them ---------------------------------------------------------------------------- */

static void *share(size_t bytes)
{
	void *memory = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);

	return memory == MAP_FAILED ? NULL : memory;
}

static int start_all(void)
{
	shared.frames = (options.rows + options.records - 1) / options.records;
	shared.outcome = share(options.ranks * sizeof(*shared.outcome));
	shared.waited_ns = share(options.ranks * shared.frames * sizeof(*shared.waited_ns));
	if (!shared.outcome || !shared.waited_ns || pipe(shared.ready) < 0 || pipe(shared.go) < 0 ||
		pipe(shared.acked) < 0)
		return -errno;
	for (unsigned rank = 0; rank < options.ranks; rank++) {
		pid_t child = fork();

		if (child < 0)
			return -errno;
		if (child == 0)
			rank_main(rank);
	}
	close(shared.ready[1]);
	close(shared.acked[1]);
	return 0;
}

/* All are connected, or some have died. */
static void release_all(void)
{
	char byte;

	for (unsigned ready = 0; ready < options.ranks && read(shared.ready[0], &byte, 1) == 1;)
		ready++;
	close(shared.go[1]);
}

static int compare(const void *a, const void *b)
{
	const uint64_t *x = a, *y = b;

	return (*x > *y) - (*x < *y);
}

static int print_outcome(void)
{
	uint64_t begin_ns = UINT64_MAX, end_ns = 0, count = options.ranks * shared.frames;
	unsigned whole = 0;

	for (unsigned i = 0; i < options.ranks; i++) {
		const struct outcome *o = &shared.outcome[i];

		whole += o->is_whole;
		begin_ns = o->begin_ns < begin_ns ? o->begin_ns : begin_ns;
		end_ns = o->end_ns > end_ns ? o->end_ns : end_ns;
	}
	if (whole != options.ranks) {
		fprintf(stderr, "feeders: only %u of %u ranks had all their Acks\n", whole,
			options.ranks);
		return 1;
	}
	qsort(shared.waited_ns, count, sizeof(*shared.waited_ns), compare);
	printf("{\"ranks\": %u, \"rows\": %" PRIu64
	       ", \"seconds\": %.6f, \"ack_ns\": {\"p50\": %" PRIu64 ", \"p99\": %" PRIu64
	       ", \"max\": %" PRIu64 "}}\n",
		options.ranks, options.ranks * options.rows, (double)(end_ns - begin_ns) / 1e9,
		shared.waited_ns[count / 2], shared.waited_ns[count * 99 / 100],
		shared.waited_ns[count - 1]);
	return 0;
}

int main(int argc, char **argv)
{
	static const struct argp argp = {.options = known,
		.parser = parse,
		.doc = "Ranks that only send, for figures of collectors."};
	int r;

	argp_parse(&argp, argc, argv, 0, NULL, &options);
	r = start_all();
	if (r < 0) {
		fprintf(stderr, "feeders: %s\n", strerror(-r));
		return 1;
	}
	release_all();
	while (wait(NULL) > 0)
		;
	return print_outcome();
}
