/* SPDX-License-Identifier: MIT */
#pragma once
/*
 * Sessions that their owners keep from retention, as the store reports them: for rtl ls. The store
 * limits their number. Loop thread.
 */
#include <sys/types.h>

#include "proto/wire/rtl.pb-c.h"

struct peer;
struct server;
struct store_answer;

struct kept_session {
	struct kept_session *next;
	uid_t uid;
	char *database;
};

/* Takes the texts of @answer, a STORE_MARKED. */
void kept_sessions_take(struct server *server, struct store_answer *answer);
/* The file is gone. */
void kept_sessions_forget(struct server *server, const char *database);
void kept_sessions_done(struct server *server);

/*
 * Fills the list of @reply with what @peer may see, as far as @bytes suffice. The texts are
 * borrowed; the caller frees the array. -ENOMEM.
 */
int kept_sessions_list(
	struct server *server, struct peer *peer, size_t bytes, Rtl__SessionsReply *reply);
