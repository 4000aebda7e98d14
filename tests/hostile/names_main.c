// SPDX-License-Identifier: MIT
/*
 * hostile-names SOCKET <NAMES: sessions in which everything that has a name has one of NAMES
 * (hostile_names.py): jobs, commands, programs, hosts, GPUs, categories, kernels, ranges, threads,
 * metrics, arguments. Each is whole and acknowledged; then "ready", and they stay until stdin, the
 * end of NAMES behind it, is closed.
 */
#include <err.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "proto/base/clock.h"
#include "proto/names/counters.h"
#include "proto/names/host_calls.h"
#include "proto/base/limits.h"
#include "tests/lib/fake_shim.h"

#define SESSIONS   6u
#define NAMES_MAX  256u
#define RULE_BYTES 512u

static ProtobufCBinaryData names[NAMES_MAX];
static unsigned n_names;

struct life {
	unsigned first; /* of names: each session begins with another */
	int runner;
	struct fake_shim shim;
};

static void must(int r, const char *what)
{
	if (r < 0)
		errx(1, "%s: %s", what, strerror(-r));
}

static ProtobufCBinaryData name_of(const struct life *life, unsigned i)
{
	return names[(life->first + i) % n_names];
}

static void read_names(void)
{
	uint32_t bytes;

	while (fread(&bytes, sizeof(bytes), 1, stdin) == 1 && bytes != UINT32_MAX) {
		uint8_t *name = malloc(bytes + 1u);

		if (!name || n_names == NAMES_MAX || fread(name, 1, bytes, stdin) != bytes)
			errx(1, "names");
		names[n_names++] = (ProtobufCBinaryData){bytes, name};
	}
	if (!n_names)
		errx(1, "no names");
}

static ProtobufCBinaryData cut(ProtobufCBinaryData name, size_t max)
{
	name.len = name.len < max ? name.len : max;
	return name;
}

/* ---- its identity --------------------------------------------------------------------------- */

static void put(protobuf_c_boolean *has, ProtobufCBinaryData *field, ProtobufCBinaryData name)
{
	*has = true;
	*field = cut(name, 1000); /* all of them have to fit HELLO_BYTES_MAX */
}

static void edit_hello(Rtl__Hello *hello, void *data)
{
	const struct life *life = data;
	unsigned i = 0;

	put(&hello->has_job, &hello->job, name_of(life, i++));
	put(&hello->has_exe, &hello->exe, name_of(life, i++));
	put(&hello->has_command, &hello->command, name_of(life, i++));
	put(&hello->has_host, &hello->host, name_of(life, i++));
	put(&hello->has_mode, &hello->mode, name_of(life, i++));
	put(&hello->has_front_end, &hello->front_end, name_of(life, i++));
	put(&hello->has_launcher, &hello->launcher, name_of(life, i++));
	put(&hello->has_shim_version, &hello->shim_version, name_of(life, i++));
	put(&hello->has_runtime, &hello->runtime, name_of(life, i++));
	put(&hello->gpus[0]->has_gfx, &hello->gpus[0]->gfx, name_of(life, i++));
	put(&hello->gpus[0]->has_name, &hello->gpus[0]->name, name_of(life, i++));
	hello->has_has_control = hello->has_control = true;
}

/* "NAME TAB TAB * LF": what the collector takes for a rule has neither of the two in it. */
static void put_rule(char rule[RULE_BYTES], ProtobufCBinaryData name)
{
	size_t n = 0;

	for (size_t i = 0; i < name.len && n < RULE_BYTES - 16; i++)
		if (name.data[i] && name.data[i] != '\t' && name.data[i] != '\n')
			rule[n++] = (char)name.data[i];
	snprintf(rule + n, RULE_BYTES - n, "%s\t\t*%c*\n", n ? "" : "x", 'a' + (int)(n % 26));
}

static void say_runner(struct life *life, const char *path)
{
	Rtl__RunnerHello hello = RTL__RUNNER_HELLO__INIT;
	Rtl__Frame frame = RTL__FRAME__INIT;
	char rules[CATEGORIES_BYTES_MAX] = "", rule[RULE_BYTES];

	for (unsigned i = 0; i < n_names; i++) {
		put_rule(rule, name_of(life, i));
		if (strlen(rules) + strlen(rule) < 2000)
			strcat(rules, rule);
	}
	put(&hello.has_job, &hello.job, name_of(life, 0));
	put(&hello.has_command, &hello.command, name_of(life, 2));
	put(&hello.has_output, &hello.output, name_of(life, 3));
	msg_set_bytes(&hello.has_categories, &hello.categories, rules);
	frame.body_case = RTL__FRAME__BODY_RUNNER_HELLO;
	frame.runner_hello = &hello;
	life->runner = fake_connect(path);
	must(life->runner, "connect");
	must(fake_send(life->runner, &frame), "RunnerHello");
}

/* ---- what it records ------------------------------------------------------------------------ */

static void define(struct life *life)
{
	for (unsigned i = 0; i < n_names; i++) {
		Rtl__Frame frame = RTL__FRAME__INIT;
		Rtl__Defines defines = RTL__DEFINES__INIT;
		Rtl__StringDef string = RTL__STRING_DEF__INIT, *strings = &string;
		Rtl__SymbolDef symbol = RTL__SYMBOL_DEF__INIT, *symbols = &symbol;
		Rtl__ShapeDef shape = RTL__SHAPE_DEF__INIT, *shapes = &shape;
		uint32_t ones[] = {1, 1, 1};

		string.has_id = string.has_text = symbol.has_id = symbol.has_name = true;
		string.id = symbol.id = symbol.name = i + 1;
		string.text = name_of(life, i);
		shape.has_id = shape.has_gpu = shape.has_queue = shape.has_symbol = true;
		shape.id = shape.symbol = i + 1;
		shape.n_grid = shape.n_workgroup = 3;
		shape.grid = shape.workgroup = ones;
		defines.n_strings = defines.n_symbols = defines.n_shapes = 1;
		defines.strings = &strings;
		defines.symbols = &symbols;
		defines.shapes = &shapes;
		frame.body_case = RTL__FRAME__BODY_DEFINES;
		frame.defines = &defines;
		must(fake_send(life->shim.fd, &frame), "defines");
	}
}

static void send_numbered(struct life *life, Rtl__Frame *frame)
{
	frame->has_number = true;
	frame->number = life->shim.next++;
	must(fake_send(life->shim.fd, frame), "a frame");
}

static void dispatch(struct life *life)
{
	Rtl__Frame frame = RTL__FRAME__INIT;
	Rtl__Dispatches d = RTL__DISPATCHES__INIT;
	uint32_t shape[NAMES_MAX], duration[NAMES_MAX];
	uint64_t start[NAMES_MAX], now_ns = clock_boottime_ns();
	int64_t seq[NAMES_MAX] = {0};
	int32_t submit[NAMES_MAX] = {0};
	struct recorder_header *recorder = life->shim.recorder;
	struct recorder_queue *queue = (void *)((uint8_t *)recorder + recorder->queues.offset);

	for (unsigned i = 0; i < n_names; i++) {
		shape[i] = i + 1;
		start[i] = now_ns / 10 + 1000 * i;
		duration[i] = 500;
	}
	d.has_n = d.has_submit_base_ns = true;
	d.n = n_names;
	d.submit_base_ns = now_ns;
	d.n_shape = d.n_seq = d.n_start_tick = d.n_duration_ticks = d.n_submit_delta_ns = n_names;
	d.shape = shape;
	d.seq = seq;
	d.start_tick = start;
	d.duration_ticks = duration;
	d.submit_delta_ns = submit;
	frame.body_case = RTL__FRAME__BODY_DISPATCHES;
	frame.dispatches = &d;
	send_numbered(life, &frame);
	queue->producer[RTL_Q_dispatched] = n_names;
	queue->harvester[RTL_Q_recorded - RTL_Q_HARVESTER_FIRST] = n_names;
	must(fake_shim_send_counters(&life->shim), "counters");
}

/* All names as markers of @kind; with @suffix behind them. */
static void mark(struct life *life, uint32_t kind, const char *suffix, uint64_t first_id)
{
	Rtl__Frame frame = RTL__FRAME__INIT;
	Rtl__Markers m = RTL__MARKERS__INIT;
	uint32_t kinds[NAMES_MAX], tid[NAMES_MAX], text[NAMES_MAX];
	uint64_t id[NAMES_MAX], parent[NAMES_MAX] = {0}, time_ns[NAMES_MAX];
	ProtobufCBinaryData texts[NAMES_MAX];

	for (unsigned i = 0; i < n_names; i++) {
		ProtobufCBinaryData name = cut(name_of(life, i), MARKER_BYTES_MAX - 16);

		kinds[i] = kind;
		tid[i] = (uint32_t)life->shim.child;
		text[i] = RTL_MARKER_TEXT_INLINE;
		id[i] = first_id + i;
		time_ns[i] = clock_boottime_ns();
		texts[i].len = name.len + strlen(suffix);
		texts[i].data = malloc(texts[i].len + 1);
		if (!texts[i].data)
			err(1, "malloc");
		memcpy(texts[i].data, name.data, name.len);
		strcpy((char *)texts[i].data + name.len, suffix);
	}
	m.has_n = true;
	m.n = n_names;
	m.n_kind = m.n_id = m.n_parent = m.n_tid = m.n_time_ns = m.n_text = n_names;
	m.n_inline_text = n_names;
	m.kind = kinds;
	m.id = id;
	m.parent = parent;
	m.tid = tid;
	m.time_ns = time_ns;
	m.text = text;
	m.inline_text = texts;
	frame.body_case = RTL__FRAME__BODY_MARKERS;
	frame.markers = &m;
	send_numbered(life, &frame);
	for (unsigned i = 0; i < n_names; i++)
		free(texts[i].data);
}

/* The first function that has a text among its arguments; where in them. */
static uint32_t find_text_call(unsigned *ret_word)
{
	for (uint32_t api = 0; api < RTL_HOST_COUNT; api++) {
		const struct host_call_info *info = &host_call_info[api];

		*ret_word = 0;
		for (unsigned i = 0; i < info->count; i++) {
			if (info->argument[i].form == HOST_FORM_TEXT)
				return api;
			++*ret_word;
		}
	}
	errx(1, "no function has a text");
}

static void call(struct life *life)
{
	for (unsigned i = 0; i < n_names; i++) {
		Rtl__Frame frame = RTL__FRAME__INIT;
		Rtl__HostCalls c = RTL__HOST_CALLS__INIT;
		unsigned word = 0;
		uint32_t api = find_text_call(&word), count = host_call_info[api].words;
		uint64_t words[64] = {0}, id = 100 + i, zero = 0, now_ns = clock_boottime_ns();
		uint32_t tid = (uint32_t)life->shim.child;
		int32_t result = 0;
		ProtobufCBinaryData name = cut(name_of(life, i), HOST_TEXT_WORDS * 8);

		memcpy(words + word, name.data, name.len);
		c.has_n = true;
		c.n = 1;
		c.n_api = c.n_id = c.n_parent = c.n_tid = c.n_start_ns = c.n_duration_ns = 1;
		c.n_marker = c.n_result = c.n_stream = c.n_arg_count = 1;
		c.api = &api;
		c.id = &id;
		c.parent = c.marker = c.stream = &zero;
		c.tid = &tid;
		c.start_ns = c.duration_ns = &now_ns;
		c.result = &result;
		c.arg_count = &count;
		c.n_arg = count;
		c.arg = words;
		frame.body_case = RTL__FRAME__BODY_HOST_CALLS;
		frame.host_calls = &c;
		send_numbered(life, &frame);
	}
}

static void wait_ack(struct life *life)
{
	Rtl__Frame *frame = NULL;

	for (;;) {
		must(fake_receive(&life->shim, FAKE_WAIT_MS, &frame), "an Ack");
		if (frame->body_case == RTL__FRAME__BODY_REFUSAL)
			errx(1, "refused: %.*s", (int)frame->refusal->text.len,
				(const char *)frame->refusal->text.data);
		if (frame->body_case == RTL__FRAME__BODY_ACK &&
			frame->ack->frame + 1 == life->shim.next)
			return;
	}
}

static void live(struct life *life, const char *path)
{
	Rtl__Frame *frame = NULL;

	say_runner(life, path);
	must(fake_shim_init(&life->shim, NULL), "shim");
	life->shim.edit_hello = edit_hello;
	life->shim.edit_data = life;
	life->shim.rank = (int64_t)life->first;
	must(fake_shim_connect_child(&life->shim, path), "connect");
	must(fake_shim_send_hello(&life->shim, 1), "Hello");
	must(fake_receive(&life->shim, FAKE_WAIT_MS, &frame), "Welcome");
	if (frame->body_case != RTL__FRAME__BODY_WELCOME)
		errx(1, "no Welcome");
	define(life);
	dispatch(life);
	mark(life, RTL_MARKER_BEGIN_PUSH, "", 1);
	mark(life, RTL_MARKER_MARK, "", 1000);
	mark(life, RTL_MARKER_MARK, "=1.5", 2000);
	mark(life, RTL_MARKER_NAME_THREAD, "", 3000);
	mark(life, RTL_MARKER_NAME_STREAM, "", 4000);
	call(life);
	wait_ack(life);
}

int main(int argc, char **argv)
{
	static struct life lives[SESSIONS];
	char byte;

	if (argc != 2)
		errx(2, "usage: hostile-names SOCKET <NAMES");
	read_names();
	for (unsigned i = 0; i < SESSIONS; i++) {
		lives[i].first = 4 + i * 17; /* whose job is not empty */
		live(&lives[i], argv[1]);
	}
	puts("ready");
	fflush(stdout);
	while (read(STDIN_FILENO, &byte, 1) == 1)
		;
	for (unsigned i = 0; i < SESSIONS; i++) {
		must(fake_shim_send_bye(&lives[i].shim), "Bye");
		fake_shim_done(&lives[i].shim);
		close(lives[i].runner);
	}
	return 0;
}
