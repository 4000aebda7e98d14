/* SPDX-License-Identifier: MIT */
#pragma once
/* Replies to rtl ctl, one for each request. Loop thread. */
#include <stdbool.h>

struct peer;

/*
 * Why nothing matched (CtlReply.reason). A later value means that the collector found more of what
 * the request named.
 */
enum ctl_reason {
	REASON_NONE,
	REASON_NO_SESSION,
	REASON_OVER,
	REASON_NO_PROCESS,
	REASON_NO_RANK,
	REASON_TOO_OLD,
	REASON_LEFT_OUT,
	REASON_NOT_SO, /* a session that cannot be removed or kept */
	REASON_LATER,  /* likewise, until another one of the asker is removed */
};

void ctl_reply(
	struct peer *peer, bool is_ok, enum ctl_reason reason, unsigned matched, const char *text);
void ctl_refuse(struct peer *peer, enum ctl_reason reason, const char *format, ...)
	__attribute__((format(printf, 3, 4)));
