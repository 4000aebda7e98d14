/* SPDX-License-Identifier: MIT */
#pragma once
/*
 * Puts sections service, quota and retention of rtl.conf (proto/settings/config_file.h) in front of
 * the arguments of the command line, which therefore override them.
 */
#include <argp.h>

/*
 * Returns @argv with these arguments added; @options are the collector's own. If the file is wrong,
 * prints one line and exits with status 2. The result is valid until the program ends. A collector
 * of one job ignores the file, because its rtl run passes every setting.
 */
char **configured_arguments(const struct argp_option *options, int *argc, char **argv);
