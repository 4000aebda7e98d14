/* SPDX-License-Identifier: MIT */
#pragma once
/*
 * Puts sections service, quota and retention of rtl.conf (proto/settings/config_file.h) in front of
 * the arguments of the command line, which therefore override them. Loop thread.
 */
#include <argp.h>

#include "proto/settings/config_file.h"

struct configured {
	struct config_file file;
	char **words; /* NULL-terminated: the program's name, those of the files, the others */
	int n_words;
	/* The setting that each word of the files was made of: n_settings of them. */
	const struct config_setting **settings;
	int n_settings;
};

/*
 * Reads the files; @options are the collector's own. -EINVAL: "PATH:LINE: why" is in @why, and @ret
 * is empty; -ENOMEM or the -errno of a file that cannot be read likewise. A collector of one job
 * ignores the files, because its rtl run passes every setting. The words of the command line are
 * those of @argv.
 */
int configured_read(const struct argp_option *options, int argc, char **argv,
	struct configured *ret, char why[CONFIG_FILE_WHY_BYTES]);
void configured_done(struct configured *configured);

/* Parses the words with @argp. The result of argp_parse(). */
error_t configured_parse(
	const struct configured *configured, const struct argp *argp, unsigned flags, void *input);

/*
 * For a parser within configured_parse(): refuses the value of @option, by its place in a file or
 * as
 * --OPTION; NULL: what several options are together. Exits with status 2, or returns EINVAL with
 * ARGP_NO_EXIT, and logs then.
 */
error_t configured_refuse(const struct argp_state *state, const char *option, const char *format,
	...) __attribute__((format(printf, 3, 4)));
