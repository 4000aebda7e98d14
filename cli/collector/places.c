// SPDX-License-Identifier: MIT
#include "cli/collector/places.h"

#include <dirent.h>
#include <errno.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "proto/base/cleanup.h"

/* Relative to the folder of this program: the build tree first, then an installation. */
static const char *const candidates[][3] = {
	[PLACE_SHIM] = {"../lib/librtl-shim.so", "../" RTL_INSTALL_LIBDIR "/rtl/librtl-shim.so",
		"../" RTL_INSTALL_LIBDIR "/librtl-shim.so"},
	[PLACE_COLLECTORD] = {"collectord", "../sbin/collectord", "../libexec/rtl/collectord"},
	[PLACE_SOFTGPU] = {"../lib/softgpu", "../" RTL_INSTALL_LIBDIR "/rtl/softgpu",
		"../share/rtl/softgpu"},
};

static const char *const library_names[] = {
	[PLACE_SHIM] = "librtl-shim.so",
	[PLACE_SOFTGPU] = "softgpu",
};

static int join(char ret[PATH_MAX], const char *folder, const char *name)
{
	int n = snprintf(ret, PATH_MAX, "%s/%s", folder, name);

	return n < PATH_MAX ? 0 : -ENAMETOOLONG;
}

static int own_folder(char ret[PATH_MAX])
{
	ssize_t n = readlink("/proc/self/exe", ret, PATH_MAX - 1);
	char *slash;

	if (n < 0)
		return -errno;
	ret[n] = '\0';
	slash = strrchr(ret, '/');
	if (!slash)
		return -ENOENT;
	*slash = '\0';
	return 0;
}

/* The job may change its directory, so its paths must be absolute and contain no "..". */
static int exists(char path[PATH_MAX])
{
	char real[PATH_MAX];

	if (!realpath(path, real))
		return -ENOENT;
	strcpy(path, real);
	return 0;
}

const char *places_system_socket(void)
{
	if (access(PLACES_SYSTEM_SOCKET, F_OK) && !access(PLACES_CONTAINER_SOCKET, F_OK))
		return PLACES_CONTAINER_SOCKET;
	return PLACES_SYSTEM_SOCKET;
}

int places_find(enum place place, char ret[PATH_MAX])
{
	const char *libdir = getenv("RTL_LIBDIR");
	char folder[PATH_MAX];
	int r;

	if (place != PLACE_COLLECTORD && libdir && *libdir) {
		r = join(ret, libdir, library_names[place]);
		return r < 0 ? r : exists(ret);
	}
	r = own_folder(folder);
	if (r < 0)
		return r;
	for (size_t i = 0; i < sizeof(candidates[place]) / sizeof(char *); i++) {
		if (join(ret, folder, candidates[place][i]) == 0 && exists(ret) == 0)
			return 0;
	}
	r = join(ret, folder, candidates[place][0]);
	return r < 0 ? r : -ENOENT;
}

/* The folder must be private: other users can neither put a socket there nor see ours. */
static int check_folder(const char *path)
{
	struct stat st;

	if (lstat(path, &st) < 0)
		return -errno;
	if (!S_ISDIR(st.st_mode) || st.st_uid != geteuid() || (st.st_mode & 0022))
		return -EPERM;
	if ((st.st_mode & 0077) && chmod(path, 0700) < 0)
		return -errno;
	return 0;
}

static int make_folder(const char *path, bool create)
{
	if (create && mkdir(path, 0700) < 0 && errno != EEXIST)
		return -errno;
	return check_folder(path);
}

/* $XDG_RUNTIME_DIR/rtl, if it can hold sockets of this user; sudo leaves that of another user. */
static bool xdg_folder(char ret[PATH_MAX])
{
	const char *xdg = getenv("XDG_RUNTIME_DIR");
	struct stat st;

	if (!xdg || *xdg != '/' ||
		strlen(xdg) + strlen("/rtl/.sock") + PLACES_NAME_BYTES > PLACES_SOCKET_BYTES)
		return false;
	if (stat(xdg, &st) < 0 || !S_ISDIR(st.st_mode) || st.st_uid != geteuid())
		return false;
	return join(ret, xdg, "rtl") == 0;
}

/* The value of XDG_RUNTIME_DIR in a login of this user; su and cron do not set it. */
static void login_folder(char ret[PATH_MAX])
{
	snprintf(ret, PATH_MAX, "/run/user/%u/rtl", (unsigned)geteuid());
}

static void tmp_folder(char ret[PATH_MAX])
{
	snprintf(ret, PATH_MAX, "/tmp/rtl-%u", (unsigned)geteuid());
}

int places_runtime_dir(bool create, char ret[PATH_MAX])
{
	if (xdg_folder(ret) && make_folder(ret, create) == 0)
		return 0;
	tmp_folder(ret);
	return make_folder(ret, create);
}

static uint64_t hash_text(const char *text)
{
	uint64_t hash = 0xcbf29ce484222325u; /* FNV-1a: the names only need to differ */

	for (; *text; text++)
		hash = (hash ^ (uint8_t)*text) * 0x100000001b3u;
	return hash;
}

static bool is_name_byte(char c)
{
	return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
	       c == '.' || c == '_' || c == '-';
}

void places_session_name(const char *text, char ret[PLACES_NAME_BYTES])
{
	size_t length = strlen(text), kept = length;
	bool is_same = length > 0;

	if (kept > PLACES_NAME_BYTES - 1)
		kept = PLACES_NAME_BYTES - 1;
	is_same = is_same && kept == length;
	for (size_t i = 0; i < kept; i++) {
		bool is_good = is_name_byte(text[i]) && (i || text[i] != '.');

		ret[i] = is_good ? text[i] : '_';
		is_same = is_same && is_good;
	}
	ret[kept] = '\0';
	if (is_same)
		return;
	/* Two keys that are equal after cleaning must not share a session. */
	if (kept > PLACES_NAME_BYTES - 10)
		kept = PLACES_NAME_BYTES - 10;
	snprintf(ret + kept, PLACES_NAME_BYTES - kept, "-%08x", (unsigned)hash_text(text));
}

bool places_is_session_name(const char *text)
{
	char clean[PLACES_NAME_BYTES];

	places_session_name(text, clean);
	return *text != '-' && !strcmp(text, clean);
}

int places_session_socket(const char *session, bool create, char ret[PLACES_SOCKET_BYTES])
{
	char folder[PATH_MAX];
	int r = places_runtime_dir(create, folder);
	int n;

	if (r < 0)
		return r;
	n = snprintf(ret, PLACES_SOCKET_BYTES, "%s/%s.sock", folder, session);
	return (size_t)n < PLACES_SOCKET_BYTES ? 0 : -ENAMETOOLONG;
}

static bool has_own_socket(const char *folder, char ret[PLACES_SOCKET_BYTES])
{
	int n = snprintf(ret, PLACES_SOCKET_BYTES, "%s/" PLACES_OWN_SOCKET, folder);
	struct stat st;

	return (size_t)n < PLACES_SOCKET_BYTES && check_folder(folder) == 0 &&
	       lstat(ret, &st) == 0 && S_ISSOCK(st.st_mode);
}

bool places_own_socket(char ret[PLACES_SOCKET_BYTES])
{
	char folder[PATH_MAX];

	if (!xdg_folder(folder))
		login_folder(folder);
	if (has_own_socket(folder, ret))
		return true;
	tmp_folder(folder);
	return has_own_socket(folder, ret);
}

struct list {
	char **paths;
	size_t count;
};

static int list_add(struct list *list, const char *folder, const char *name)
{
	char **paths = realloc(list->paths, (list->count + 2) * sizeof(*paths));
	char *path = NULL;

	if (!paths)
		return -ENOMEM;
	list->paths = paths;
	paths[list->count] = NULL;
	if (asprintf(&path, "%s%s%s", folder ? folder : "", folder ? "/" : "", name) < 0)
		return -ENOMEM;
	paths[list->count++] = path;
	paths[list->count] = NULL;
	return 0;
}

static int is_socket_name(const struct dirent *entry)
{
	size_t length = strlen(entry->d_name);

	return length > 5 && entry->d_name[0] != '.' &&
	       !strcmp(entry->d_name + length - 5, ".sock");
}

static int list_add_folder(struct list *list, const char *folder)
{
	struct dirent **entries;
	int n, r = 0;

	if (check_folder(folder) < 0)
		return 0;
	n = scandir(folder, &entries, is_socket_name, alphasort);
	if (n < 0)
		return 0;
	for (int i = 0; i < n; i++) {
		if (r == 0)
			r = list_add(list, folder, entries[i]->d_name);
		free(entries[i]);
	}
	free(entries);
	return r;
}

int places_sockets(const char *option, char ***ret)
{
	const char *variable = getenv("RTL_SOCKET");
	struct list list = {0};
	char folder[PATH_MAX];
	int r = 0;

	if (option) {
		r = list_add(&list, NULL, option);
	} else if (variable && *variable) {
		r = list_add(&list, NULL, variable);
	} else {
		if (!xdg_folder(folder))
			login_folder(folder);
		r = list_add_folder(&list, folder);
		/* A collector may have been started without XDG_RUNTIME_DIR (cron, sudo). */
		tmp_folder(folder);
		if (r == 0)
			r = list_add_folder(&list, folder);
		if (r == 0)
			r = list_add(&list, NULL, places_system_socket());
	}
	if (r < 0) {
		places_sockets_free(list.paths);
		return r;
	}
	*ret = list.paths;
	return 0;
}

void places_sockets_free(char **paths)
{
	if (!paths)
		return;
	for (size_t i = 0; paths[i]; i++)
		free(paths[i]);
	free(paths);
}
