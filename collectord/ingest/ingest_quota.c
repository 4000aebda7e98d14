/* SPDX-License-Identifier: MIT */
#include "collectord/ingest/ingest_quota.h"

#include <errno.h>
#include <stdio.h>

uint64_t ingest_quota_records(const Rtl__Frame *frame)
{
	switch (frame->body_case) {
	case RTL__FRAME__BODY_DISPATCHES:
		return frame->dispatches->n;
	case RTL__FRAME__BODY_MARKERS:
		return frame->markers->n;
	case RTL__FRAME__BODY_COPIES:
		return frame->copies->n;
	case RTL__FRAME__BODY_HOST_CALLS:
		return frame->host_calls->n;
	case RTL__FRAME__BODY_COLLECTIVES:
		return frame->collectives->n;
	default:
		return 0;
	}
}

static int bad(char why[INGEST_WHY_BYTES], const char *text)
{
	snprintf(why, INGEST_WHY_BYTES, "%s", text);
	return -EBADMSG;
}

/* Checks everything that can fail before the first dispatch is counted. */
static int check_dispatches(
	struct process *process, const Rtl__Dispatches *d, char why[INGEST_WHY_BYTES])
{
	int64_t seq = -1;
	int r;

	for (uint32_t i = 0; i < d->n; i++) {
		struct define_shape *shape = defines_shape(&process->defines, d->shape[i]);

		seq = ingest_next_seq(seq, d->seq[i]);
		if (seq < 0)
			return bad(why, "a sequence number is out of range");
		if (!shape)
			return bad(why, "a dispatch has an undefined shape");
		r = ingest_find_books(process, shape);
		if (r < 0)
			return r == -EDQUOT ? bad(why, ingest_no_memory) : r;
	}
	return 0;
}

static int drop_dispatches(
	struct process *process, const Rtl__Dispatches *d, char why[INGEST_WHY_BYTES])
{
	int64_t seq = -1;
	size_t next = 0;
	int r = check_dispatches(process, d, why);

	for (uint32_t i = 0; r == 0 && i < d->n; i++) {
		const struct define_shape *shape = &process->defines.shapes[d->shape[i]];
		uint64_t submit_ns = ingest_submit_ns(d, i, &next);

		seq = ingest_next_seq(seq, d->seq[i]);
		ledger_count_over_quota(
			shape->books, (uint64_t)seq, submit_ns <= INT64_MAX ? submit_ns : 0);
	}
	return r;
}

int ingest_quota_drop(struct process *process, const Rtl__Frame *frame, char why[INGEST_WHY_BYTES])
{
	uint64_t *loss = process->ledger.loss;

	process->is_dirty = true;
	switch (frame->body_case) {
	case RTL__FRAME__BODY_DISPATCHES:
		return drop_dispatches(process, frame->dispatches, why);
	case RTL__FRAME__BODY_MARKERS:
		loss[LEDGER_QUOTA_MARKERS] += ingest_quota_records(frame);
		return 0;
	case RTL__FRAME__BODY_COPIES:
		loss[LEDGER_QUOTA_COPIES] += ingest_quota_records(frame);
		return 0;
	case RTL__FRAME__BODY_HOST_CALLS:
	case RTL__FRAME__BODY_COLLECTIVES:
		loss[LEDGER_QUOTA_CALLS] += ingest_quota_records(frame);
		return 0;
	default:
		return bad(why, "a frame that no shim sends");
	}
}
