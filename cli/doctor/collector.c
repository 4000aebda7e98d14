// SPDX-License-Identifier: MIT
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cli/collector/client.h"
#include "cli/doctor/doctor.h"
#include "proto/base/cleanup.h"
#include "proto/base/limits.h"

#define WHAT "collector"

/* Asks for an answer, because a listening socket may be that of a stopped daemon. */
static int ask_status(struct client *client, char **ret_text)
{
	Rtl__CtlRequest request = RTL__CTL_REQUEST__INIT;
	Rtl__Frame frame = RTL__FRAME__INIT, *reply;
	int r;

	request.has_version_min = request.has_version_max = 1;
	request.version_min = PROTO_VERSION_MIN;
	request.version_max = PROTO_VERSION_MAX;
	msg_set_bytes(&request.has_verb, &request.verb, "status");
	frame.body_case = RTL__FRAME__BODY_CTL_REQUEST;
	frame.ctl_request = &request;
	r = client_call(client, &frame, RTL__FRAME__BODY_CTL_REPLY, &reply);
	if (r == 0)
		*ret_text = msg_string(
			reply->ctl_reply->has_text, &reply->ctl_reply->text, DOCTOR_DETAIL_BYTES);
	return r;
}

static void report_failure(
	struct doctor *doctor, const struct client *client, int error, bool is_explicit)
{
	const char *todo = "rtl run records into a private collector meanwhile";
	enum doctor_level level = is_explicit ? DOCTOR_FAIL : DOCTOR_WARN;

	if (error == -EPERM) {
		doctor_add(doctor, DOCTOR_FAIL, WHAT,
			"do not use it: only your own, root's and user rtl's are trusted",
			"%s: belongs to uid %u (pid %d)", client->path, (unsigned)client->uid,
			(int)client->pid);
		return;
	}
	if (is_explicit)
		todo = "start it, or unset RTL_SOCKET";
	else if (error == -ECONNREFUSED)
		todo = "systemctl start rtl-collectord.socket, or leave it to rtl run";
	doctor_add(doctor, level, WHAT, todo, "%s: %s", client->path, client_error(client, error));
}

/* True if it answered. */
static bool check_socket(struct doctor *doctor, const char *path, bool is_explicit)
{
	CLEANUP(free_p) char *text = NULL;
	struct client client;
	int r = client_connect(&client, path);

	if (r == 0)
		r = ask_status(&client, &text);
	if (r < 0) {
		/* An absent collector is a failure only if the user named its socket. */
		if (is_explicit || r != -ENOENT)
			report_failure(doctor, &client, r, is_explicit);
		client_close(&client);
		return false;
	}
	if (text)
		text[strcspn(text, "\n")] = '\0';
	doctor_add(doctor, DOCTOR_OK, WHAT, NULL, "%s: %s, uid %u, answers%s%s", path,
		!strcmp(path, places_system_socket()) ? "the node's service" : "private",
		(unsigned)client.uid, text && *text ? ": " : "", text ? text : "");
	client_close(&client);
	return true;
}

/* Each other private socket belongs to a running job. */
static bool is_kept(const char *path)
{
	char own[PLACES_SOCKET_BYTES];

	return !strcmp(path, places_system_socket()) ||
	       (places_own_socket(own) && !strcmp(path, own));
}

static void check_sockets(struct doctor *doctor)
{
	const char *variable = getenv("RTL_SOCKET");
	bool is_explicit = variable && *variable;
	bool has_service = false;
	char **paths;

	if (places_sockets(NULL, &paths) < 0)
		return;
	for (size_t i = 0; paths[i]; i++) {
		bool answers = check_socket(doctor, paths[i], is_explicit);

		has_service |= answers && (is_explicit || is_kept(paths[i]));
	}
	places_sockets_free(paths);
	if (!has_service && !is_explicit)
		doctor_add(doctor, DOCTOR_OK, WHAT, NULL,
			"no service on this node: rtl run starts a private one for each job");
}

static void check_program(struct doctor *doctor)
{
	char path[PATH_MAX];
	int r = places_find(PLACE_COLLECTORD, path);

	if (r < 0)
		doctor_add(doctor, DOCTOR_WARN, "collectord", "install it beside rtl",
			"%s: %s: no private collectors", path, strerror(-r));
	else if (access(path, X_OK) < 0)
		doctor_add(doctor, DOCTOR_WARN, "collectord", "chmod +x", "%s: %s", path,
			strerror(errno));
	else
		doctor_add(doctor, DOCTOR_OK, "collectord", NULL, "%s", path);
}

static void check_folder(struct doctor *doctor)
{
	char path[PATH_MAX];
	int r = places_runtime_dir(true, path);

	if (r == -EPERM)
		doctor_add(doctor, DOCTOR_FAIL, "sockets",
			"remove it, or set XDG_RUNTIME_DIR to a directory of yours",
			"%s: is not a directory of yours alone", path);
	else if (r < 0)
		doctor_add(doctor, DOCTOR_FAIL, "sockets", "set XDG_RUNTIME_DIR", "%s: %s", path,
			strerror(-r));
	else
		doctor_add(doctor, DOCTOR_OK, "sockets", NULL, "private ones lie in %s", path);
}

void doctor_check_collector(struct doctor *doctor)
{
	check_sockets(doctor);
	check_program(doctor);
	check_folder(doctor);
}
