/* SPDX-License-Identifier: MIT */
#pragma once
/* What the command line of rtl run asks for. */
#include <stdbool.h>

#include "cli/run/job/run_export.h"
#include "cli/run/job/selection_options.h"

struct run_options {
	const char *verb;   /* run | trace */
	const char *output; /* -o or RTL_OUTPUT; NULL if there is none */
	const char *socket; /* --socket */
	const char *name;   /* --name; NULL if there is none */
	const char *mode;
	struct choices choices;
	/* The rules of --categories or RTL_CATEGORIES, for RunnerHello; NULL if there are none. */
	char *categories;
	struct run_exports exports; /* --export */
	bool is_private;
	/* As rtl.conf says it, and nothing else; the latter of the output, too. */
	bool is_socket_configured, is_private_configured;
	bool is_forced;
	bool is_aside; /* trace: an existing output is moved aside */
	bool is_strict;
	bool is_soft;
	bool is_quiet;
	bool is_verbose;
	char **command;
};

/* As opts_check_settings(). */
bool run_check_settings(void);

/* Exits on --help and on wrong options. */
void run_options_parse(struct run_options *options, int argc, char **argv);
