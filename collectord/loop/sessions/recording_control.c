/* SPDX-License-Identifier: MIT */
#include "collectord/loop/sessions/recording_control.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "collectord/loop/sessions/control_memory.h"
#include "collectord/loop/sessions/instance.h"
#include "collectord/service/log.h"
#include "collectord/loop/connections/peer.h"
#include "collectord/loop/connections/state.h"
#include "collectord/loop/sessions/session.h"
#include "collectord/store/store.h"
#include "proto/base/cleanup.h"
#include "proto/base/clock.h"
#include "proto/names/control.h"
#include "proto/wire/frame.h"
#include "proto/base/limits.h"

/* ---- what a process reports -------------------------------------------------------------- */

void control_introduce(struct instance *instance, const Rtl__Hello *hello)
{
	instance->control.has_control = hello->has_has_control && hello->has_control;
	instance->control.has_rank = hello->has_rank;
	instance->control.rank = hello->rank;
}

static void take_done(struct instance *instance, const Rtl__ControlDone *done)
{
	struct control_state *state = &instance->control;

	state->is_told = true;
	state->closed = done->has_closed ? done->closed : done->is_recording ? 0 : CONTROL_DORMANT;
	if (done->has_seq && done->seq > state->seq)
		state->seq = done->seq;
	state->settles = done->has_settles && done->settles;
	state->is_settled = done->has_settled_frame;
	state->settled_frame = done->settled_frame;
}

void control_take(struct instance *instance, const uint8_t *frames, size_t bytes)
{
	/*
	 * The protobuf tag of field 25, the body of ControlDone; such a frame has no other field.
	 */
	static const uint8_t tag[] = {0xca, 0x01};
	bool has_news = false;
	size_t at = 0;

	while (bytes - at > FRAME_PREFIX_BYTES) {
		uint32_t length = frame_get_length(frames + at);
		Rtl__Frame *frame;

		at += FRAME_PREFIX_BYTES;
		if (length > bytes - at)
			break;
		if (length > sizeof(tag) && !memcmp(frames + at, tag, sizeof(tag)) &&
			msg_unpack(&instance->session->server->arena, frames + at, length,
				&frame) == 0 &&
			frame->body_case == RTL__FRAME__BODY_CONTROL_DONE) {
			take_done(instance, frame->control_done);
			has_news = true;
		}
		at += length;
	}
	/* Called once for all frames, because it visits every process for each pending request. */
	if (has_news)
		instance->session->server->calls->control_changed(instance->session->server);
}

const char *control_text(const struct instance *instance)
{
	const struct control_state *state = &instance->control;

	if (!state->has_control)
		return "records, its shim is too old to be told";
	return state->is_told ? control_state_text(state->closed) : "has not said yet";
}

bool control_rank(const struct instance *instance, uint32_t *ret)
{
	const struct control_state *state = &instance->control;
	bool has_rank;

	/*
	 * The store knows a rank that the process reported after its Hello, and resolves ranks used
	 * twice.
	 */
	if (instance->store && store_process_rank(instance->store, &has_rank, ret))
		return has_rank;
	*ret = state->rank;
	return state->has_rank;
}

bool control_is_stored(const struct instance *instance)
{
	const struct control_state *state = &instance->control;

	return !state->settles || !state->closed ||
	       (state->is_settled && instance->committed >= state->settled_frame);
}

bool control_is_meant(const struct instance *instance, const struct choice_list *ranks)
{
	uint32_t rank;

	return !ranks->count || (control_rank(instance, &rank) && choice_has(ranks, rank));
}

/* ---- what a process is told -------------------------------------------------------------- */

static void send_control(struct instance *instance, const struct control *control)
{
	uint64_t now_ns = clock_boottime_ns();
	Rtl__Control message = RTL__CONTROL__INIT;
	Rtl__Frame frame = RTL__FRAME__INIT;

	MSG_SET(&message, seq, control->seq);
	MSG_SET(&message, record, control->record);
	if (control->until_ns > now_ns) {
		MSG_SET(&message, duration_ns, control->until_ns - now_ns);
	} else if (control->until_ns) {
		message.record = !control->record;
	}
	frame.body_case = RTL__FRAME__BODY_CONTROL;
	frame.control = &message;
	peer_send(instance->peer, &frame);
}

static bool can_hear(const struct instance *instance)
{
	return instance->peer && instance->is_welcomed && instance->control.has_control;
}

void control_welcome(struct instance *instance)
{
	const struct session *session = instance->session;

	if (!can_hear(instance))
		return;
	/*
	 * Sends the newest control that selects this process. A process that knows it already
	 * answers with its state.
	 */
	for (unsigned i = session->n_controls; i-- > 0;) {
		if (!control_is_meant(instance, &session->controls[i].ranks))
			continue;
		send_control(instance, &session->controls[i]);
		return;
	}
}

/* Appends @control. A control for all ranks replaces every earlier one. */
static int keep(struct session *session, const struct control *control)
{
	if (!session->controls) {
		session->controls = calloc(CONTROLS_PER_SESSION_MAX, sizeof(*control));
		if (!session->controls)
			return -ENOMEM;
	}
	if (!control->ranks.count)
		session->n_controls = 0;
	if (session->n_controls == CONTROLS_PER_SESSION_MAX)
		memmove(session->controls, session->controls + 1,
			--session->n_controls * sizeof(*control));
	session->controls[session->n_controls++] = *control;
	return 0;
}

/*
 * Stores the controls in the database. The tool gets its answer when that is done, or
 * CONTROL_ANSWER_MS later.
 */
static int remember(const struct session *session)
{
	CLEANUP(free_p) char *text = control_memory_write(session->controls, session->n_controls);

	return text && session->store ? store_session_controls(session->store, text) : -ENOMEM;
}

void control_restore(struct session *session, const char *text)
{
	struct control old[CONTROLS_PER_SESSION_MAX], *newer = TAKE(session->controls);
	unsigned n_old = control_memory_read(text, old), n_newer = session->n_controls;
	uint64_t *last_seq = &session->server->control_seq;
	int r = 0;

	session->n_controls = 0;
	for (unsigned i = 0; r == 0 && i < n_old; i++) {
		r = keep(session, &old[i]);
		*last_seq = old[i].seq > *last_seq ? old[i].seq : *last_seq;
	}
	/* These were given before the database was open, so they come last. */
	for (unsigned i = 0; r == 0 && i < n_newer; i++)
		r = keep(session, &newer[i]);
	if (r == 0 && n_newer)
		r = remember(session);
	if (r < 0)
		log_error("no memory for what session %s was told", session->name);
	free(newer);
}

int control_apply(struct session *session, struct control *control)
{
	struct server *server = session->server;
	int r;

	if (!control->seq) {
		uint64_t now_ns = clock_boottime_ns();

		control->seq = now_ns > server->control_seq ? now_ns : server->control_seq + 1;
		server->control_seq = control->seq;
	}
	r = keep(session, control);
	if (r == 0)
		r = remember(session);
	if (r < 0)
		return r;
	for (struct instance *i = session->instances; i; i = i->next)
		if (can_hear(i) && control_is_meant(i, &control->ranks))
			send_control(i, control);
	return 0;
}

void control_forget(struct session *session)
{
	free(session->controls);
	session->controls = NULL;
	session->n_controls = 0;
}
