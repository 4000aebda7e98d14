// SPDX-License-Identifier: MIT
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/base/memory.h"
#include "cli/base/command.h"
#include "cli/doctor/doctor.h"
#include "cli/base/options.h"
#include "cli/output/table.h"
#include "cli/base/message.h"
#include "proto/base/cleanup.h"

enum doctor_key {
	KEY_DEVICE = 0x100,
};

struct doctor_options {
	bool is_json;
	bool is_soft;
	char **program;
};

static const struct argp_option doctor_option[] = {
	{"json", 'j', NULL, 0, "print JSON", 0},
	{"device", KEY_DEVICE, "real|soft", 0, "the GPU stack of jobs (default real)", 0},
	{0},
};

static error_t parse_option(int key, char *value, struct argp_state *state)
{
	struct doctor_options *options = state->input;

	switch (key) {
	case 'j':
		options->is_json = true;
		return 0;
	case KEY_DEVICE:
		options->is_soft = opts_is_soft(value);
		return 0;
	case ARGP_KEY_ARGS:
		options->program = state->argv + state->next;
		return 0;
	default:
		return ARGP_ERR_UNKNOWN;
	}
}

static const struct argp doctor_argp = {
	.options = doctor_option,
	.parser = parse_option,
	.args_doc = "[--] [PROGRAM [ARGUMENT...]]",
	.doc = "Look at everything between a job and its record, in the environment that the job "
	       "would have; of PROGRAM, which ROCm it would load.\vExit status: 0, or 1 when a "
	       "check says FAIL.",
};

static const char *const level_names[] = {
	[DOCTOR_OK] = "ok",
	[DOCTOR_WARN] = "warn",
	[DOCTOR_FAIL] = "FAIL",
};

static void print_text(const struct doctor *doctor)
{
	for (size_t i = 0; i < doctor->count; i++) {
		const struct doctor_finding *finding = &doctor->findings[i];
		CLEANUP(free_p)
		char *safe = render_escape(finding->detail, strlen(finding->detail));
		CLEANUP(free_p)
		char *line = xasprintf("%s: %s%s%s", finding->what, safe, finding->todo ? "; " : "",
			finding->todo ? finding->todo : "");

		printf("%-4s ", level_names[finding->level]);
		render_put_reading(stdout, line, 5);
	}
}

static int print_json(const struct doctor *doctor, bool is_well)
{
	json_t *checks = json_array();
	json_t *document =
		json_pack("{s:i, s:b, s:o}", "schema", 1, "ok", is_well, "checks", checks);
	int r = document ? 0 : -1;

	for (size_t i = 0; r == 0 && i < doctor->count; i++) {
		const struct doctor_finding *finding = &doctor->findings[i];
		CLEANUP(free_p)
		char *safe = render_escape(finding->detail, strlen(finding->detail));

		r = json_array_append_new(
			checks, json_pack("{s:s, s:s, s:s?, s:s?}", "check", finding->what, "level",
					level_names[finding->level], "detail", safe, "todo",
					finding->todo));
	}
	if (r == 0)
		render_json(stdout, document, false);
	json_decref(document);
	return r;
}

int cmd_doctor(int argc, char **argv)
{
	struct doctor_options options = {0};
	CLEANUP(free_p) struct doctor *doctor = xcalloc(1, sizeof(*doctor));
	bool is_well = true;

	opts_parse(&doctor_argp, argc, argv, OPTS_COMMAND, &options);
	if (!doctor) {
		say("out of memory");
		return CMD_BAD_INPUT;
	}
	doctor->is_soft = options.is_soft;
	doctor->program = options.program ? options.program[0] : NULL;
	doctor_check_collector(doctor);
	doctor_check_program(doctor);
	doctor_check_libraries(doctor);
	doctor_check_tools(doctor);
	doctor_check_choices(doctor);
	doctor_check_runtime(doctor);
	doctor_check_devices(doctor);
	doctor_check_system(doctor);
	for (size_t i = 0; i < doctor->count; i++)
		is_well = is_well && doctor->findings[i].level != DOCTOR_FAIL;
	if (!options.is_json)
		print_text(doctor);
	else if (print_json(doctor, is_well) < 0) {
		say("out of memory");
		return CMD_BAD_INPUT;
	}
	return is_well ? CMD_OK : CMD_BAD_INPUT;
}
