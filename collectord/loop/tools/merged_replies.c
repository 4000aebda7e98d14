/* SPDX-License-Identifier: MIT */
#include "collectord/loop/tools/merged_replies.h"

#include <errno.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "proto/base/cleanup.h"
#include "proto/base/limits.h"
#include "proto/wire/msg.h"
#include "proto/base/format.h"

#define SESSIONS_MAX_SHOWN 2048u
#define SPARE_BYTES	   4096u
#define PART_BYTES	   16u /* upper bound for tag and length */

/* True if the state of a reply is "ok". */
static bool is_ok(const ProtobufCBinaryData *text)
{
	return text->len == 2 && !memcmp(text->data, "ok", 2);
}

/*
 * Returns the answerers that were silent, else the first state that is not "ok", else "ok". The
 * caller frees it.
 */
static char *merge_state(
	const struct merge *merge, bool (*state_of)(const Rtl__Frame *, ProtobufCBinaryData *))
{
	for (size_t i = 0; i < merge->count && !merge->silent; i++) {
		ProtobufCBinaryData state;

		if (merge->replies[i] && state_of(merge->replies[i], &state) && !is_ok(&state))
			return strndup((const char *)state.data, state.len);
	}
	if (!merge->silent)
		return strdup("ok");
	return format_new("degraded: no answer within 2 s: %s", merge->silent);
}

/* ---- sessions ---------------------------------------------------------------------------------
 */

static int compare_starts(const void *a, const void *b)
{
	const Rtl__SessionInfo *const *x = a, *const *y = b;

	return ((*x)->start_realtime_ns < (*y)->start_realtime_ns) -
	       ((*x)->start_realtime_ns > (*y)->start_realtime_ns);
}

static size_t sessions_of(const Rtl__Frame *reply, Rtl__SessionInfo ***ret)
{
	if (!reply)
		return 0;
	*ret = reply->body_case == RTL__FRAME__BODY_STAT_REPLY ? reply->stat_reply->sessions
							       : reply->sessions_reply->sessions;
	return reply->body_case == RTL__FRAME__BODY_STAT_REPLY ? reply->stat_reply->n_sessions
							       : reply->sessions_reply->n_sessions;
}

/* Lists the newest sessions first, as many as fit. */
static int merge_sessions(
	const struct merge *merge, size_t *bytes, size_t *ret_n, Rtl__SessionInfo ***ret)
{
	Rtl__SessionInfo **part = NULL, **all;
	size_t n = 0, kept = 0;

	for (size_t i = 0; i < merge->count; i++)
		n += sessions_of(merge->replies[i], &part);
	all = calloc(n + 1, sizeof(Rtl__SessionInfo *));
	if (!all)
		return -ENOMEM;
	n = 0;
	for (size_t i = 0; i < merge->count; i++) {
		size_t more = sessions_of(merge->replies[i], &part);

		for (size_t k = 0; k < more; k++)
			all[n++] = part[k];
	}
	qsort(all, n, sizeof(Rtl__SessionInfo *), compare_starts);
	for (; kept < n && kept < SESSIONS_MAX_SHOWN; kept++) {
		size_t more = PART_BYTES + rtl__session_info__get_packed_size(all[kept]);

		if (*bytes + more > REPLY_BYTES_MAX - SPARE_BYTES)
			break;
		*bytes += more;
	}
	*ret = all;
	*ret_n = kept;
	return 0;
}

static size_t kept_of(const Rtl__Frame *reply)
{
	return reply ? reply->sessions_reply->n_kept : 0;
}

/* Lists what is kept, as much as fits beside the sessions. */
static int merge_kept(const struct merge *merge, size_t bytes, Rtl__SessionsReply *ret)
{
	size_t n = 0;

	for (size_t i = 0; i < merge->count; i++)
		n += kept_of(merge->replies[i]);
	ret->kept = calloc(n + 1, sizeof(*ret->kept));
	if (!ret->kept)
		return -ENOMEM;
	for (size_t i = 0; i < merge->count; i++)
		for (size_t k = 0; k < kept_of(merge->replies[i]); k++) {
			ProtobufCBinaryData path = merge->replies[i]->sessions_reply->kept[k];

			if (bytes + PART_BYTES + path.len > REPLY_BYTES_MAX - SPARE_BYTES)
				return 0;
			bytes += PART_BYTES + path.len;
			ret->kept[ret->n_kept++] = path;
		}
	return 0;
}

/* ---- rows of rtl stat ---------------------------------------------------------------------------
 */

static size_t bytes_of(const Rtl__StatReply *reply)
{
	size_t bytes = 0;

	for (size_t i = 0; i < reply->n_rows; i++)
		bytes += PART_BYTES + rtl__stat_row__get_packed_size(reply->rows[i]);
	return bytes;
}

struct part {
	const Rtl__StatReply *reply;
	size_t bytes;
};

static int compare_parts(const void *a, const void *b)
{
	const struct part *x = a, *y = b;

	return (x->bytes > y->bytes) - (x->bytes < y->bytes);
}

/*
 * Takes as many rows of whole processes as fit in @share bytes. Returns the number of processes
 * left out.
 */
static unsigned take_rows(const Rtl__StatReply *reply, size_t share, Rtl__StatRow **rows, size_t *n)
{
	unsigned left_out = 0;
	size_t i = 0;

	while (i < reply->n_rows) {
		size_t end = i, bytes = 0;

		for (; end < reply->n_rows && reply->rows[end]->pid == reply->rows[i]->pid &&
			reply->rows[end]->process_id == reply->rows[i]->process_id;
			end++)
			bytes += PART_BYTES + rtl__stat_row__get_packed_size(reply->rows[end]);
		if (bytes > share) {
			share = 0;
			left_out++;
			i = end;
			continue;
		}
		share -= bytes;
		while (i < end)
			rows[(*n)++] = reply->rows[i++];
	}
	return left_out;
}

/* Takes the smallest replies first: the share that they do not use goes to the larger ones. */
static int merge_rows(const struct merge *merge, size_t bytes, Rtl__StatReply *ret)
{
	CLEANUP(free_p) struct part *parts = calloc(merge->count + 1, sizeof(*parts));
	size_t n = 0, rows = 0;

	if (!parts)
		return -ENOMEM;
	for (size_t i = 0; i < merge->count; i++) {
		if (!merge->replies[i])
			continue;
		parts[n].reply = merge->replies[i]->stat_reply;
		parts[n].bytes = bytes_of(parts[n].reply);
		rows += parts[n++].reply->n_rows;
	}
	ret->rows = calloc(rows + 1, sizeof(Rtl__StatRow *));
	if (!ret->rows)
		return -ENOMEM;
	qsort(parts, n, sizeof(*parts), compare_parts);
	for (size_t i = 0; i < n; i++) {
		size_t left = REPLY_BYTES_MAX - SPARE_BYTES - bytes, share = left / (n - i);
		size_t before = ret->n_rows;

		ret->left_out += parts[i].reply->left_out;
		ret->left_out += take_rows(parts[i].reply, share, ret->rows, &ret->n_rows);
		for (; before < ret->n_rows; before++)
			bytes += PART_BYTES + rtl__stat_row__get_packed_size(ret->rows[before]);
	}
	return 0;
}

static bool stat_state(const Rtl__Frame *reply, ProtobufCBinaryData *ret)
{
	*ret = reply->stat_reply->state;
	return reply->stat_reply->has_state;
}

static int merge_stat(const struct merge *merge, Rtl__Frame *frame)
{
	CLEANUP(free_p) char *state = merge_state(merge, stat_state);
	Rtl__StatReply *stat = frame->stat_reply;
	size_t bytes = 0;
	int r = state ? merge_sessions(merge, &bytes, &stat->n_sessions, &stat->sessions) : -ENOMEM;

	if (r == 0)
		r = merge_rows(merge, bytes, stat);
	if (r < 0)
		return r;
	for (size_t i = 0; i < merge->count; i++) {
		const Rtl__StatReply *one =
			merge->replies[i] ? merge->replies[i]->stat_reply : NULL;

		if (!one)
			continue;
		stat->has_time_ns = one->has_time_ns;
		stat->time_ns = one->time_ns;
		stat->node = one->node;
	}
	stat->has_left_out = stat->left_out > 0;
	msg_set_bytes(&stat->has_state, &stat->state, state);
	stat->state.data = (uint8_t *)TAKE(state);
	return 0;
}

/* ---- rtl ctl ------------------------------------------------------------------------------------
 */

static bool ctl_state(const Rtl__Frame *reply, ProtobufCBinaryData *ret)
{
	const uint8_t *end;

	*ret = reply->ctl_reply->text;
	end = ret->len ? memchr(ret->data, '\n', ret->len) : NULL;
	if (!reply->ctl_reply->has_text || !end)
		return false;
	ret->len = (size_t)(end - ret->data);
	return true;
}

/* True if the request matched something in this worker. */
static bool was_meant(const Rtl__CtlReply *reply)
{
	return reply->reason == 0;
}

static void put_text(FILE *out, const Rtl__CtlReply *reply, bool has_state)
{
	const uint8_t *text = reply->text.data;
	size_t bytes = reply->has_text ? reply->text.len : 0;
	const uint8_t *end = has_state && bytes ? memchr(text, '\n', bytes) : NULL;

	if (end) {
		bytes -= (size_t)(end + 1 - text);
		text = end + 1;
	}
	if (bytes)
		fwrite(text, 1, bytes, out);
}

static bool is_same_text(const Rtl__CtlReply *a, const Rtl__CtlReply *b)
{
	return a->text.len == b->text.len && !memcmp(a->text.data, b->text.data, a->text.len);
}

/* Takes the refusal of the worker that found most of what the request named. */
static void take_refusal(const struct merge *merge, Rtl__CtlReply *ret)
{
	for (size_t i = 0; i < merge->count; i++) {
		const Rtl__CtlReply *one = merge->replies[i] ? merge->replies[i]->ctl_reply : NULL;

		if (!one || (ret->has_reason && ret->reason >= one->reason))
			continue;
		MSG_SET(ret, reason, one->reason);
		free(ret->text.data);
		ret->text.data = malloc(one->text.len + 1);
		ret->text.len = ret->text.data ? one->text.len : 0;
		ret->has_text = ret->text.data != NULL;
		if (ret->has_text)
			memcpy(ret->text.data, one->text.data, one->text.len);
	}
}

static int write_ctl(const struct merge *merge, FILE *out, Rtl__CtlReply *ret)
{
	const Rtl__CtlReply *last = NULL;
	CLEANUP(free_p) char *state = merge->status ? merge_state(merge, ctl_state) : NULL;
	int meant = 0;

	if (merge->status && !state)
		return -ENOMEM;
	if (merge->status)
		fprintf(out, "%s%s\n", merge->status, state);
	ret->ok = !merge->silent;
	for (size_t i = 0; i < merge->count; i++) {
		const Rtl__CtlReply *one = merge->replies[i] ? merge->replies[i]->ctl_reply : NULL;

		if (!one || !was_meant(one))
			continue;
		meant++;
		ret->ok &= one->ok;
		ret->matched += one->matched;
		/* Equal texts, such as "everything received is committed", are written once. */
		if (!last || !is_same_text(last, one) || merge->status)
			put_text(out, one, merge->status);
		last = one;
	}
	if (merge->silent && !merge->status)
		fprintf(out, "no answer in time: %s\n", merge->silent);
	return meant;
}

static int merge_ctl(const struct merge *merge, Rtl__Frame *frame)
{
	Rtl__CtlReply *ctl = frame->ctl_reply;
	char *text = NULL;
	size_t bytes = 0;
	FILE *out = open_memstream(&text, &bytes);
	int meant = out ? write_ctl(merge, out, ctl) : -ENOMEM;

	if (out && fclose(out) != 0)
		meant = -ENOMEM;
	if (meant < 0 || (meant == 0 && !merge->silent)) {
		free(text);
		if (meant < 0)
			return meant;
		ctl->ok = false;
		take_refusal(merge, ctl);
	} else {
		ctl->has_text = true;
		ctl->text.data = (uint8_t *)text;
		ctl->text.len = bytes < REPLY_BYTES_MAX - SPARE_BYTES
					? bytes
					: REPLY_BYTES_MAX - SPARE_BYTES;
	}
	ctl->has_ok = ctl->has_matched = true;
	return 0;
}

/* ---- dispatch by reply ------------------------------------------------------------------- */

static const Rtl__Frame *find_first(const struct merge *merge)
{
	for (size_t i = 0; i < merge->count; i++)
		if (merge->replies[i])
			return merge->replies[i];
	return NULL;
}

int merge_replies(
	const struct merge *merge, void (*send)(const Rtl__Frame *reply, void *data), void *data)
{
	const Rtl__Frame *first = find_first(merge);
	Rtl__Frame frame = RTL__FRAME__INIT;
	Rtl__StatReply stat = RTL__STAT_REPLY__INIT;
	Rtl__SessionsReply sessions = RTL__SESSIONS_REPLY__INIT;
	Rtl__CtlReply ctl = RTL__CTL_REPLY__INIT;
	size_t bytes = 0;
	int r;

	if (!first)
		return -ENODATA;
	frame.body_case = first->body_case;
	switch (first->body_case) {
	case RTL__FRAME__BODY_STAT_REPLY:
		frame.stat_reply = &stat;
		r = merge_stat(merge, &frame);
		break;
	case RTL__FRAME__BODY_SESSIONS_REPLY:
		frame.sessions_reply = &sessions;
		r = merge_sessions(merge, &bytes, &sessions.n_sessions, &sessions.sessions);
		if (r == 0)
			r = merge_kept(merge, bytes, &sessions);
		break;
	default:
		frame.ctl_reply = &ctl;
		r = merge_ctl(merge, &frame);
		break;
	}
	if (r == 0)
		send(&frame, data);
	free(stat.sessions);
	free(stat.rows);
	free(stat.state.data);
	free(sessions.sessions);
	free(sessions.kept);
	free(ctl.text.data);
	return r;
}
