/* SPDX-License-Identifier: MIT */
#include "tests/lib/columns.h"

void columns_frame(struct dispatch_columns *columns, uint32_t n, uint64_t number,
	Rtl__Dispatches *dispatches, Rtl__Frame *frame)
{
	Rtl__Dispatches *d = dispatches;

	d->has_n = 1;
	d->n = n;
	d->n_shape = d->n_seq = d->n_start_tick = d->n_duration_ticks = d->n_submit_delta_ns = n;
	d->shape = columns->shape;
	d->seq = columns->seq;
	d->start_tick = columns->start;
	d->duration_ticks = columns->duration;
	d->submit_delta_ns = columns->submit;
	d->n_tid = d->n_tid_from = 1;
	d->tid_from = &columns->tid_from;
	d->tid = &columns->tid;
	frame->has_number = 1;
	frame->number = number;
	frame->body_case = RTL__FRAME__BODY_DISPATCHES;
	frame->dispatches = d;
}
