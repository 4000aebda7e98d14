/* SPDX-License-Identifier: MIT */
#pragma once
/*
 * Sections service, quota and retention of rtl.conf (proto/settings/config_file.h) as arguments in
 * front of those of the command line, which so stand over them.
 */
#include <argp.h>

/*
 * @argv of @argc with them; @options: the collector's own. Ends the program with status 2 where the
 * file says what is wrong, in one line. What it returns stays to the end of the program. Not of a
 * job's own collector, whose rtl run says all.
 */
char **configured_arguments(const struct argp_option *options, int *argc, char **argv);
