/* SPDX-License-Identifier: MIT */
#include "collectord/loop/tools/ctl_reply.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include "collectord/loop/connections/peer.h"
#include "proto/base/cleanup.h"
#include "proto/wire/msg.h"

void ctl_reply(
	struct peer *peer, bool is_ok, enum ctl_reason reason, unsigned matched, const char *text)
{
	Rtl__CtlReply reply = RTL__CTL_REPLY__INIT;
	Rtl__Frame frame = RTL__FRAME__INIT;

	MSG_SET(&reply, ok, is_ok);
	MSG_SET(&reply, matched, matched);
	MSG_SET(&reply, reason, reason);
	msg_set_bytes(&reply.has_text, &reply.text, text);
	frame.body_case = RTL__FRAME__BODY_CTL_REPLY;
	frame.ctl_reply = &reply;
	peer_send(peer, &frame);
}

void ctl_refuse(struct peer *peer, enum ctl_reason reason, const char *format, ...)
{
	CLEANUP(free_p) char *text = NULL;
	va_list args;

	va_start(args, format);
	if (vasprintf(&text, format, args) < 0)
		text = NULL;
	va_end(args);
	ctl_reply(peer, false, reason, 0, text ? text : "no memory");
}
