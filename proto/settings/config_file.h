/* SPDX-License-Identifier: MIT */
#pragma once
/*
 * rtl.conf: the system's (/etc/rtl) and over it the user's ($XDG_CONFIG_HOME/rtl, or
 * ~/.config/rtl).
 *
 *   # a comment; so is a line that begins with ;
 *   [run]
 *   mode = full
 *   strict = yes
 *
 * A key is the long name of an option of what its section is for, whose owner knows its keys; a
 * section that no program takes yet has none. A flag is yes or no. Nothing follows a value. Any thread; prints nothing.
 */
#include <stdbool.h>
#include <stddef.h>

#define CONFIG_FILE_SYSTEM    "/etc/rtl/rtl.conf"
#define CONFIG_FILE_BYTES_MAX (64u << 10) /* people write it */
#define CONFIG_FILE_WHY_BYTES 512

struct config_setting {
	const char *section, *key, *value;
	const char *path; /* of the file */
	unsigned line;
};

struct config_file {
	struct config_setting *settings; /* the system's, then the user's; each key once a file */
	size_t count, capacity;
	char *paths[2], *texts[2];
	size_t files;
};

/*
 * Files that are not there are empty. 0; -EINVAL with "PATH:LINE: what is wrong" in @why; -errno of
 * a file that cannot be read, likewise. @ret is good for config_file_done() in either case.
 */
int config_file_read(struct config_file *ret, char why[CONFIG_FILE_WHY_BYTES]);
/* Adds the settings of @text, which stands at @path, to @file, which owns both from here on, and
 * has less than two. -EINVAL as above. */
int config_file_take(
	struct config_file *file, char *path, char *text, char why[CONFIG_FILE_WHY_BYTES]);
void config_file_done(struct config_file *file);

/* A later one of the same section and key stands over this one. */
bool config_file_is_overridden(
	const struct config_file *file, const struct config_setting *setting);

/* The environment stands over the file: of "start-after" the variable RTL_START_AFTER. NULL: it is
 * not set. */
const char *config_setting_variable(const struct config_setting *setting, char ret[64]);

/* "yes" or "no"; -EINVAL with @why. */
int config_setting_flag(
	const struct config_setting *setting, bool *ret, char why[CONFIG_FILE_WHY_BYTES]);
