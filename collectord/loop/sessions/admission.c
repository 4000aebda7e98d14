/* SPDX-License-Identifier: MIT */
#include "collectord/loop/sessions/admission.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "collectord/loop/sessions/instance.h"
#include "collectord/loop/connections/receiver.h"
#include "collectord/loop/connections/state.h"
#include "collectord/loop/sessions/session.h"
#include "collectord/store/store.h"
#include "proto/base/cleanup.h"
#include "proto/base/limits.h"
#include "proto/base/format.h"
#include "proto/recorder/layout.h"

const char *admit_check_recorder(int fd, const Rtl__Hello *hello)
{
	struct recorder_header header;
	const char *why = receiver_check_memfd(fd);
	struct stat st;

	if (why)
		return why;
	if (fstat(fd, &st) < 0 || !S_ISREG(st.st_mode) || st.st_size < (off_t)sizeof(header) ||
		st.st_size > (off_t)RECORDER_BYTES_MAX)
		return "the recorder has an impossible size";
	if (!hello->has_recorder_bytes || hello->recorder_bytes != (uint64_t)st.st_size)
		return "the recorder has not the size that Hello says";
	if (pread(fd, &header, sizeof(header), 0) != (ssize_t)sizeof(header) ||
		header.magic != RECORDER_MAGIC || header.layout != RECORDER_LAYOUT)
		return "the recorder has a layout that this collector does not know";
	if (memcmp(header.token, hello->token.data, INSTANCE_TOKEN_BYTES) != 0)
		return "the recorder is of another process";
	return NULL;
}

/*
 * The job that the launcher set, else a job for this process alone. Returns NULL if memory runs
 * out.
 */
static char *job_of(const Rtl__Hello *hello, const struct instance_identity *identity)
{
	char *job = NULL;

	if (hello->has_job && hello->job.len)
		return msg_string(true, &hello->job, LABEL_BYTES_MAX);
	job = format_new("pid-%d-%" PRIu64, identity->pid, identity->start_time);
	if (!job)
		return NULL;
	return job;
}

static int get_session(struct server *server, const struct instance_identity *identity,
	const Rtl__Hello *hello, struct session **ret)
{
	CLEANUP(free_p) char *job = job_of(hello, identity);
	CLEANUP(free_p) char *command = NULL;

	if (!job)
		return -ENOMEM;
	/*
	 * The runner of a private session sets the command, and a rank may connect before it does.
	 */
	if (!server->private_session)
		command = msg_string(hello->has_command, &hello->command, COMMAND_BYTES_MAX);
	return session_get(server, identity->uid, job, command, ret);
}

int admit_unrecorded(
	struct server *server, const struct instance_identity *identity, const Rtl__Hello *hello)
{
	struct session *session;
	int r = get_session(server, identity, hello, &session);

	if (r < 0)
		return r;
	r = store_session_unseen(session->store, 1, (uid_t)-1);
	session->had_unrecorded = true;
	session_check(session);
	return r;
}

int admit(struct server *server, const struct admission *admission, struct instance **ret)
{
	const struct instance_identity *identity = admission->identity;
	struct session *session = NULL;
	int r;

	if (session_count_instances(server) >= CONNECTIONS_MAX)
		return -EDQUOT;
	if (session_count_all_instances(server) >= PROCESSES_PER_UID_MAX)
		return -EUSERS;
	r = get_session(server, identity, admission->hello, &session);
	if (r < 0)
		return r;
	r = instance_new(session, identity, admission->memfd, admission->pidfd, admission->frame,
		admission->bytes, ret);
	if (r < 0)
		session_check(session);
	return r;
}
