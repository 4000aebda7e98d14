/* SPDX-License-Identifier: MIT */
#pragma once
/*
 * The verbs of rtl and what they return. Each verb has one file, called command.c if its folder has
 * one verb only. It contains the verb's options, calls database, output and collector, and is the
 * only place of its verb that writes to stderr (through message.h). A verb gets argv with its own
 * name in argv[0], as the user typed it. All of rtl runs on one thread.
 */

/* Exit statuses. Otherwise, `rtl run` returns what its command returned. */
enum cmd_exit {
	CMD_OK = 0,
	CMD_BAD_INPUT = 1, /* missing, foreign or broken file; no collector; failed query */
	CMD_USAGE = 2,
	CMD_LOSSY = 3,		/* --strict was given and something is missing */
	CMD_NOT_COMPARABLE = 4, /* diff; whatif: no prediction */
	CMD_REGRESSION = 5,	/* diff */
	CMD_RUN_FAILED = 125,	/* rtl run, before the command started */
	CMD_NOT_EXECUTABLE = 126,
	CMD_NOT_FOUND = 127,
};

struct cmd {
	const char *name;
	int (*run)(int argc, char **argv);
	const char *usage;   /* text after the name */
	const char *summary; /* one line; NULL for an alias, which is not listed */
};

int cmd_collectives(int argc, char **argv);
int cmd_config(int argc, char **argv);
int cmd_ctl(int argc, char **argv);
int cmd_diagnose(int argc, char **argv);
int cmd_diff(int argc, char **argv);
int cmd_doctor(int argc, char **argv);
int cmd_env(int argc, char **argv);
int cmd_export(int argc, char **argv);
int cmd_import(int argc, char **argv);
int cmd_info(int argc, char **argv);
int cmd_keep(int argc, char **argv);
int cmd_ls(int argc, char **argv);
int cmd_outstanding(int argc, char **argv);
int cmd_query(int argc, char **argv);
int cmd_report(int argc, char **argv);
int cmd_rm(int argc, char **argv);
int cmd_run(int argc, char **argv);
int cmd_stat(int argc, char **argv);
int cmd_summary(int argc, char **argv);
int cmd_timeline(int argc, char **argv);
int cmd_tree(int argc, char **argv);
int cmd_whatif(int argc, char **argv);
