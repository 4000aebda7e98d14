// SPDX-License-Identifier: MIT
#include "proto/settings/config_file.h"

#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "proto/base/cleanup.h"

/* What is wrong with a line, without its place. */
#define WRONG_BYTES 256

static const struct section {
	const char *name;
	bool is_taken; /* a program has keys for it */
} sections[] = {
	{"run", true},
	{"stat", true},
	{"service", true},
	{"quota", true},
	{"retention", true},
	{"metrics", false},
	{"cluster", false},
};

void config_file_done(struct config_file *file)
{
	for (size_t i = 0; i < file->files; i++) {
		free(file->paths[i]);
		free(file->texts[i]);
	}
	free(file->settings);
	*file = (struct config_file){0};
}

/* NULL: there is no home. */
static char *user_path(void)
{
	const char *config = getenv("XDG_CONFIG_HOME"), *home = getenv("HOME");
	char *path = NULL;
	int n = -1;

	if (config && config[0] == '/')
		n = asprintf(&path, "%s/rtl/rtl.conf", config);
	else if (home && home[0] == '/')
		n = asprintf(&path, "%s/.config/rtl/rtl.conf", home);
	return n < 0 ? NULL : path;
}

/* ---- a file --------------------------------------------------------------------------------- */

static int fail(char why[CONFIG_FILE_WHY_BYTES], const char *path, int error)
{
	snprintf(why, CONFIG_FILE_WHY_BYTES, "%s: %s", path, strerror(-error));
	return error;
}

/* *@ret NULL: it is not there; or, of a user whose home this is not (sudo leaves HOME), not for us.
 */
static int read_text(const char *path, bool is_system, char **ret, char why[CONFIG_FILE_WHY_BYTES])
{
	CLEANUP(free_p) char *text = malloc(CONFIG_FILE_BYTES_MAX + 1);
	/* A FIFO would be waited for. */
	CLEANUP(close_p) int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	size_t bytes = 0;
	ssize_t n = 1;

	*ret = NULL;
	if (fd < 0)
		return errno == ENOENT || errno == ENOTDIR || (errno == EACCES && !is_system)
			       ? 0
			       : fail(why, path, -errno);
	if (!text)
		return fail(why, path, -ENOMEM);
	while (n > 0 && bytes <= CONFIG_FILE_BYTES_MAX) {
		n = read(fd, text + bytes, CONFIG_FILE_BYTES_MAX + 1 - bytes);
		bytes += n > 0 ? (size_t)n : 0;
	}
	if (n < 0)
		return fail(why, path, -errno);
	if (bytes > CONFIG_FILE_BYTES_MAX || memchr(text, 0, bytes)) {
		snprintf(why, CONFIG_FILE_WHY_BYTES, "%s: is no configuration of rtl: %s", path,
			bytes > CONFIG_FILE_BYTES_MAX ? "more than 64 KiB" : "it has zero bytes");
		return -EINVAL;
	}
	text[bytes] = '\0';
	*ret = TAKE(text);
	return 0;
}

/* ---- its lines ------------------------------------------------------------------------------ */

/* Without the blanks around it; cuts @text. */
static char *trim(char *text)
{
	size_t length;

	text += strspn(text, " \t\r");
	length = strlen(text);
	while (length && strchr(" \t\r", text[length - 1]))
		length--;
	text[length] = '\0';
	return text;
}

static const struct section *find_section(const char *name)
{
	for (size_t i = 0; i < sizeof(sections) / sizeof(*sections); i++)
		if (!strcmp(name, sections[i].name))
			return sections + i;
	return NULL;
}

static const struct config_setting *find(
	const struct config_file *file, size_t first, const struct config_setting *setting)
{
	for (size_t i = first; i < file->count; i++)
		if (!strcmp(file->settings[i].section, setting->section) &&
			!strcmp(file->settings[i].key, setting->key))
			return file->settings + i;
	return NULL;
}

static int add(struct config_file *file, const struct config_setting *setting)
{
	struct config_setting *grown;

	if (file->count == file->capacity) {
		file->capacity = file->capacity ? 2 * file->capacity : 16;
		grown = reallocarray(file->settings, file->capacity, sizeof(*grown));
		if (!grown)
			return -ENOMEM;
		file->settings = grown;
	}
	file->settings[file->count++] = *setting;
	return 0;
}

/* Where in a file the parser is. */
struct place {
	size_t first; /* of this file's settings */
	const struct section *section;
	struct config_setting setting;
};

static int wrong(char why[WRONG_BYTES], const char *what)
{
	snprintf(why, WRONG_BYTES, "%s", what);
	return -EINVAL;
}

static int take_section(struct place *at, char *line, char why[WRONG_BYTES])
{
	size_t length = strlen(line);

	if (line[length - 1] != ']')
		return wrong(why, "a section ends with ]");
	line[length - 1] = '\0';
	at->section = find_section(trim(line + 1));
	if (!at->section)
		return wrong(why, "sections are run, stat, service, quota, retention, metrics "
				  "and cluster");
	at->setting.section = at->section->name;
	return 0;
}

static int take_setting(
	struct config_file *file, struct place *at, char *line, char why[WRONG_BYTES])
{
	struct config_setting *setting = &at->setting;
	char *equals = strchr(line, '=');

	if (!equals)
		return wrong(why, "neither [section] nor key = value");
	if (!at->section)
		return wrong(why, "it stands before any [section]");
	*equals = '\0';
	setting->key = trim(line);
	setting->value = trim(equals + 1);
	if (!*setting->key || strspn(setting->key, "abcdefghijklmnopqrstuvwxyz0123456789-") !=
				      strlen(setting->key))
		return wrong(why, "a key is the long name of an option");
	if (!at->section->is_taken) {
		snprintf(why, WRONG_BYTES, "[%s] has no key %s; no program takes this section yet",
			setting->section, setting->key);
		return -EINVAL;
	}
	if (!*setting->value)
		return wrong(why, "the value is missing");
	if (find(file, at->first, setting))
		return wrong(why, "this key is given twice");
	if (add(file, setting) == 0)
		return 0;
	(void)wrong(why, "out of memory");
	return -ENOMEM;
}

static int take_line(struct config_file *file, struct place *at, char *line, char why[WRONG_BYTES])
{
	line = trim(line);
	if (!*line || *line == '#' || *line == ';')
		return 0;
	return *line == '[' ? take_section(at, line, why) : take_setting(file, at, line, why);
}

int config_file_take(
	struct config_file *file, char *path, char *text, char why[CONFIG_FILE_WHY_BYTES])
{
	struct place at = {.first = file->count, .setting.path = path};
	char what[WRONG_BYTES];
	char *next;
	int r;

	file->paths[file->files] = path;
	file->texts[file->files++] = text;
	for (char *line = text; line; line = next) {
		next = strchr(line, '\n');
		if (next)
			*next++ = '\0';
		at.setting.line++;
		r = take_line(file, &at, line, what);
		if (r == 0)
			continue;
		snprintf(why, CONFIG_FILE_WHY_BYTES, "%s:%u: %s", path, at.setting.line, what);
		return r;
	}
	return 0;
}

static int read_file(
	struct config_file *file, char *path, bool is_system, char why[CONFIG_FILE_WHY_BYTES])
{
	char *text;
	int r = read_text(path, is_system, &text, why);

	if (r == 0 && text)
		return config_file_take(file, path, text, why);
	free(path);
	return r;
}

int config_file_read(struct config_file *ret, char why[CONFIG_FILE_WHY_BYTES])
{
	char *system = strdup(CONFIG_FILE_SYSTEM), *user = user_path();
	int r;

	*ret = (struct config_file){0};
	if (!system) {
		free(user);
		return fail(why, CONFIG_FILE_SYSTEM, -ENOMEM);
	}
	r = read_file(ret, system, true, why);
	if (r == 0 && user)
		return read_file(ret, user, false, why);
	free(user);
	return r;
}

/* ---- its settings --------------------------------------------------------------------------- */

bool config_file_is_overridden(const struct config_file *file, const struct config_setting *setting)
{
	return find(file, (size_t)(setting - file->settings) + 1, setting) != NULL;
}

const char *config_setting_variable(const struct config_setting *setting, char ret[64])
{
	const char *value;

	if ((size_t)snprintf(ret, 64, "RTL_%s", setting->key) >= 64)
		return NULL;
	for (char *at = ret; *at; at++)
		*at = *at == '-' ? '_' : (char)toupper((unsigned char)*at);
	value = getenv(ret);
	return value && *value ? value : NULL;
}

int config_setting_flag(
	const struct config_setting *setting, bool *ret, char why[CONFIG_FILE_WHY_BYTES])
{
	*ret = !strcmp(setting->value, "yes");
	if (*ret || !strcmp(setting->value, "no"))
		return 0;
	snprintf(why, CONFIG_FILE_WHY_BYTES, "%s:%u: %s is yes or no, not %s", setting->path,
		setting->line, setting->key, setting->value);
	return -EINVAL;
}
