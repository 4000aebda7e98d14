// SPDX-License-Identifier: MIT
#include "tests/softgpu/softgpu.h"

#include <errno.h>
#include <fnmatch.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define DEFAULT_DURATION_NS	  2000u
#define DEFAULT_DELAY_NS	  1000000u
#define DEFAULT_COPY_NS		  1000u
#define DEFAULT_COPY_BYTES_PER_US 16000u

enum rule_kind { RULE_DEFAULT, RULE_KERNEL, RULE_QUEUE, RULE_COPY, RULE_CLOCK };

/* One line. A later line that matches overrides what it sets, and nothing else. */
struct script_rule {
	struct script_rule *next;
	enum rule_kind kind;
	char *pattern;
	uint64_t from, to, every; /* ordinals; every 0: the range */
	bool has_ordinal;
	int64_t gpu, queue; /* -1 means any */
	bool has_duration, has_fault, has_delay, has_meet;
	uint32_t meet;
	uint64_t duration_ns, delay_ns;
	enum fault_kind fault;
	struct script_stall stall;
	uint64_t copy_ns, copy_bytes_per_us;
	struct script_clock clock;
};

static struct script_rule *rules, **rules_end = &rules;

static const struct {
	const char *name;
	enum fault_kind kind;
} faults[] = {
	{"none", FAULT_NONE},
	{"late_ts", FAULT_LATE_TS},
	{"zero_ts", FAULT_ZERO_TS},
	{"swapped_ts", FAULT_SWAPPED_TS},
	{"value_first", FAULT_VALUE_FIRST},
	{"never", FAULT_NEVER},
};

static int parse_u64(const char *text, char **end, uint64_t *ret)
{
	errno = 0;
	if (*text < '0' || *text > '9')
		return -EINVAL;
	*ret = strtoull(text, end, 10);
	return errno ? -EINVAL : 0;
}

static int parse_count(const char *text, uint64_t *ret)
{
	char *end = NULL;

	return parse_u64(text, &end, ret) || *end ? -EINVAL : 0;
}

/* Nanoseconds unless it says us, ms or s; rounded up to the tick. */
static int parse_time(const char *text, uint64_t *ret)
{
	char *end = NULL;
	uint64_t v, unit;

	if (parse_u64(text, &end, &v))
		return -EINVAL;
	if (!*end || !strcmp(end, "ns"))
		unit = 1;
	else if (!strcmp(end, "us"))
		unit = 1000;
	else if (!strcmp(end, "ms"))
		unit = 1000000;
	else if (!strcmp(end, "s"))
		unit = 1000000000;
	else
		return -EINVAL;
	if (v > UINT64_MAX / 4 / unit)
		return -EINVAL;
	v *= unit;
	*ret = (v + SOFTGPU_TICK_NS - 1) / SOFTGPU_TICK_NS * SOFTGPU_TICK_NS;
	return 0;
}

/* NAME, NAME#N, NAME#A-B or NAME#*\/N (every Nth, from the first). */
static int parse_pattern(char *text, struct script_rule *r)
{
	char *hash = strrchr(text, '#'), *end = NULL;
	uint64_t v;

	if (hash) {
		*hash++ = 0;
		r->has_ordinal = true;
		if (hash[0] == '*' && hash[1] == '/') {
			if (parse_count(hash + 2, &r->every) || !r->every)
				return -EINVAL;
		} else {
			if (parse_u64(hash, &end, &v))
				return -EINVAL;
			r->from = v;
			r->to = v;
			if (*end == '-' && parse_count(end + 1, &r->to))
				return -EINVAL;
			if ((*end && *end != '-') || r->to < r->from)
				return -EINVAL;
		}
	}
	if (!*text)
		return -EINVAL;
	r->pattern = strdup(text);
	return r->pattern ? 0 : -ENOMEM;
}

static int parse_fault(const char *text, struct script_rule *r)
{
	for (size_t i = 0; i < sizeof(faults) / sizeof(faults[0]); i++) {
		if (!strcmp(text, faults[i].name)) {
			r->fault = faults[i].kind;
			r->has_fault = true;
			return 0;
		}
	}
	return -EINVAL;
}

static int parse_gpu(struct script_rule *r, const char *value)
{
	uint64_t v;

	if (parse_count(value, &v) || v >= SOFTGPU_GPUS_MAX)
		return -EINVAL;
	r->gpu = (int64_t)v;
	return 0;
}

/*
 * A number, or "ranks": the number of ranks on this machine as the launcher states it. A single
 * rank does not meet.
 */
static int parse_meet(const char *value, struct script_rule *r)
{
	static const char *const names[] = {
		"LOCAL_WORLD_SIZE", "OMPI_COMM_WORLD_LOCAL_SIZE", "MPI_LOCALNRANKS", "WORLD_SIZE"};
	const char *text = strcmp(value, "ranks") != 0 ? value : NULL;
	uint64_t v;

	for (size_t i = 0; !text && i < sizeof(names) / sizeof(names[0]); i++)
		text = getenv(names[i]);
	if (parse_count(text ? text : "1", &v) || !v || v > SOFTGPU_MEET_MAX)
		return -EINVAL;
	r->has_meet = true;
	r->meet = v > 1 ? (uint32_t)v : 0;
	return 0;
}

static int parse_kernel_option(struct script_rule *r, const char *key, const char *value)
{
	if (!strcmp(key, "duration")) {
		r->has_duration = true;
		return parse_time(value, &r->duration_ns);
	}
	if (!strcmp(key, "delay")) {
		r->has_delay = true;
		return parse_time(value, &r->delay_ns);
	}
	if (!strcmp(key, "fault"))
		return parse_fault(value, r);
	if (!strcmp(key, "meet") && r->kind == RULE_KERNEL)
		return parse_meet(value, r);
	return !strcmp(key, "gpu") && r->kind == RULE_KERNEL ? parse_gpu(r, value) : -EINVAL;
}

/* drift=50ppm, drift=-20ppm */
static int parse_drift(const char *value, int64_t *ret)
{
	char *end = NULL;

	errno = 0;
	*ret = strtoll(value, &end, 10);
	return errno || end == value || strcmp(end, "ppm") || *ret > 100000 || *ret < -100000
		       ? -EINVAL
		       : 0;
}

static int parse_clock_option(struct script_rule *r, const char *key, const char *value)
{
	bool is_back = value[0] == '-';
	uint64_t ns;

	if (!strcmp(key, "gpu"))
		return parse_gpu(r, value);
	if (!strcmp(key, "drift"))
		return parse_drift(value, &r->clock.drift_ppm);
	if (!strcmp(key, "after"))
		return parse_time(value, &r->clock.after_ns);
	if (strcmp(key, "step") || parse_time(value + is_back, &ns))
		return -EINVAL;
	r->clock.step_ns = is_back ? -(int64_t)ns : (int64_t)ns;
	return 0;
}

static int parse_option(struct script_rule *r, const char *key, const char *value)
{
	switch (r->kind) {
	case RULE_DEFAULT:
	case RULE_KERNEL:
		return parse_kernel_option(r, key, value);
	case RULE_QUEUE:
		if (!strcmp(key, "stall_until"))
			return parse_count(value, &r->stall.until_pending);
		if (!strcmp(key, "stall_for"))
			return parse_time(value, &r->stall.for_ns);
		return -EINVAL;
	case RULE_CLOCK:
		return parse_clock_option(r, key, value);
	case RULE_COPY:
		if (!strcmp(key, "latency"))
			return parse_time(value, &r->copy_ns);
		if (!strcmp(key, "bytes_per_us"))
			return parse_count(value, &r->copy_bytes_per_us) || !r->copy_bytes_per_us
				       ? -EINVAL
				       : 0;
		return -EINVAL;
	}
	return -EINVAL;
}

static const struct {
	const char *verb;
	enum rule_kind kind;
} without_name[] = {{"default", RULE_DEFAULT}, {"copy", RULE_COPY}, {"clock", RULE_CLOCK}};

static int parse_subject(struct script_rule *r, const char *verb, char **save)
{
	char *word;
	uint64_t v;

	for (size_t i = 0; i < sizeof(without_name) / sizeof(without_name[0]); i++) {
		if (strcmp(verb, without_name[i].verb))
			continue;
		r->kind = without_name[i].kind;
		return 0;
	}
	word = strtok_r(NULL, " \t\r", save);
	if (!word)
		return -EINVAL;
	if (!strcmp(verb, "kernel")) {
		r->kind = RULE_KERNEL;
		return parse_pattern(word, r);
	}
	if (strcmp(verb, "queue") != 0)
		return -EINVAL;
	r->kind = RULE_QUEUE;
	if (!strcmp(word, "*"))
		return 0;
	if (parse_count(word, &v) || v > INT64_MAX)
		return -EINVAL;
	r->queue = (int64_t)v;
	return 0;
}

static void rule_free(struct script_rule *r)
{
	free(r->pattern);
	free(r);
}

/* @line is modified. 0, -EINVAL or -ENOMEM. */
static int parse_line(char *line)
{
	char *save = NULL, *verb, *word;
	struct script_rule *r;
	int err;

	line[strcspn(line, "\n")] = 0;
	verb = strtok_r(line, " \t\r", &save);
	if (!verb || verb[0] == '#')
		return 0;
	r = calloc(1, sizeof(*r));
	if (!r)
		return -ENOMEM;
	r->gpu = -1;
	r->queue = -1;
	r->copy_ns = DEFAULT_COPY_NS;
	r->copy_bytes_per_us = DEFAULT_COPY_BYTES_PER_US;
	err = parse_subject(r, verb, &save);
	while (!err && (word = strtok_r(NULL, " \t\r", &save))) {
		char *value = strchr(word, '=');

		if (word[0] == '#')
			break;
		if (value)
			*value++ = 0;
		err = value ? parse_option(r, word, value) : -EINVAL;
	}
	if (err) {
		rule_free(r);
		return err;
	}
	*rules_end = r;
	rules_end = &r->next;
	return 0;
}

static int complain(const char *where, unsigned int number, const char *line, int err)
{
	fprintf(stderr, "softgpu: %s:%u: not understood: %.*s\n", where, number,
		(int)strcspn(line, "\n"), line);
	return err;
}

static int load_file(const char *path)
{
	FILE *f = fopen(path, "re");
	char *line = NULL;
	size_t room = 0;
	int err = 0;

	if (!f) {
		err = -errno;
		fprintf(stderr, "softgpu: %s: %s\n", path, strerror(-err));
		return err;
	}
	for (unsigned int n = 1; !err && getline(&line, &room, f) >= 0; n++) {
		char *copy = strdup(line);

		err = copy ? parse_line(copy) : -ENOMEM;
		free(copy);
		if (err)
			err = complain(path, n, line, err);
	}
	free(line);
	fclose(f);
	return err;
}

static int load_text(const char *text)
{
	char *copy = strdup(text), *save = NULL;
	int err = copy ? 0 : -ENOMEM;
	unsigned int n = 1;

	for (char *s = copy ? strtok_r(copy, ";\n", &save) : NULL; s && !err; n++) {
		char *line = strdup(s);

		err = line ? parse_line(line) : -ENOMEM;
		free(line);
		if (err)
			err = complain("SOFTGPU_FAULT", n, s, err);
		s = strtok_r(NULL, ";\n", &save);
	}
	free(copy);
	return err;
}

int script_load(const char *path, const char *inline_text)
{
	int err = 0;

	if (path && *path)
		err = load_file(path);
	if (!err && inline_text && *inline_text)
		err = load_text(inline_text);
	if (err)
		script_free();
	return err;
}

void script_free(void)
{
	while (rules) {
		struct script_rule *r = rules;

		rules = r->next;
		rule_free(r);
	}
	rules_end = &rules;
}

static bool rule_matches(const struct script_rule *r, const char *name, uint32_t gpu)
{
	if (r->kind == RULE_DEFAULT)
		return true;
	if (r->kind != RULE_KERNEL || (r->gpu >= 0 && (uint64_t)r->gpu != gpu))
		return false;
	/* Exact first: mangled names may hold characters that mean something in a glob. */
	return !strcmp(r->pattern, name) || !fnmatch(r->pattern, name, 0);
}

int script_match_kernel(const char *name, uint32_t gpu, struct script_match *ret)
{
	uint32_t count = 0;

	*ret = (struct script_match){0};
	for (const struct script_rule *r = rules; r; r = r->next)
		count += rule_matches(r, name, gpu);
	if (!count)
		return 0;
	ret->rule = calloc(count, sizeof(struct script_rule *));
	if (!ret->rule)
		return -ENOMEM;
	for (const struct script_rule *r = rules; r; r = r->next) {
		if (rule_matches(r, name, gpu))
			ret->rule[ret->count++] = r;
	}
	return 0;
}

static bool ordinal_matches(const struct script_rule *r, uint64_t ordinal)
{
	if (!r->has_ordinal)
		return true;
	if (r->every)
		return ordinal % r->every == 0;
	return ordinal >= r->from && ordinal <= r->to;
}

bool script_match_is_fixed(const struct script_match *m)
{
	for (uint32_t i = 0; i < m->count; i++) {
		if (m->rule[i]->has_ordinal)
			return false;
	}
	return true;
}

void script_eval(const struct script_match *m, uint64_t ordinal, struct script_result *ret)
{
	*ret = (struct script_result){
		.duration_ns = DEFAULT_DURATION_NS, .delay_ns = DEFAULT_DELAY_NS};
	for (uint32_t i = 0; i < m->count; i++) {
		const struct script_rule *r = m->rule[i];

		if (!ordinal_matches(r, ordinal))
			continue;
		if (r->has_duration)
			ret->duration_ns = r->duration_ns;
		if (r->has_delay)
			ret->delay_ns = r->delay_ns;
		if (r->has_fault)
			ret->fault = r->fault;
		if (r->has_meet)
			ret->meet = r->meet;
	}
}

bool script_has_meetings(void)
{
	for (const struct script_rule *r = rules; r; r = r->next) {
		if (r->meet)
			return true;
	}
	return false;
}

void script_get_stall(uint32_t queue_ordinal, struct script_stall *ret)
{
	*ret = (struct script_stall){0};
	for (const struct script_rule *r = rules; r; r = r->next) {
		if (r->kind == RULE_QUEUE && (r->queue < 0 || (uint64_t)r->queue == queue_ordinal))
			*ret = r->stall;
	}
}

void script_get_clock(uint32_t gpu, struct script_clock *ret)
{
	*ret = (struct script_clock){0};
	for (const struct script_rule *r = rules; r; r = r->next)
		if (r->kind == RULE_CLOCK && (r->gpu < 0 || (uint64_t)r->gpu == gpu))
			*ret = r->clock;
}

void script_get_copy(uint64_t bytes, uint64_t *ret_ns)
{
	uint64_t ns = DEFAULT_COPY_NS, rate = DEFAULT_COPY_BYTES_PER_US;

	for (const struct script_rule *r = rules; r; r = r->next) {
		if (r->kind == RULE_COPY) {
			ns = r->copy_ns;
			rate = r->copy_bytes_per_us;
		}
	}
	ns += bytes / rate * 1000 + bytes % rate * 1000 / rate;
	*ret_ns = (ns + SOFTGPU_TICK_NS - 1) / SOFTGPU_TICK_NS * SOFTGPU_TICK_NS;
}
