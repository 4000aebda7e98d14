/* SPDX-License-Identifier: MIT */
#pragma once
/*
 * One line a call to stderr (with the journal's level prefix where stderr is the journal).
 * Loop thread: the server and session edge log, what lies below them returns errors. Bytes of
 * a peer never come here: log its uid and pid. Warnings about peers are rate limited.
 */
#include <stdbool.h>

void log_init(bool is_verbose);

void log_info(const char *format, ...) __attribute__((format(printf, 1, 2)));
void log_warning(const char *format, ...) __attribute__((format(printf, 1, 2)));
void log_error(const char *format, ...) __attribute__((format(printf, 1, 2)));

/*
 * What peers can cause at will, a warning and an everyday event: at most LOG_PEER_LINES in
 * LOG_PEER_NS of each, the rest is counted.
 */
void log_peer(const char *format, ...) __attribute__((format(printf, 1, 2)));
void log_event(const char *format, ...) __attribute__((format(printf, 1, 2)));

/*
 * @text is why a peer of @uid was refused: said once a minute for the same @owner (whom that uid
 * counts as) and reason, and then how often. The counts that wait for their minute are said by
 * log_done().
 */
#define LOG_REFUSAL_BYTES 160
void log_refusal(unsigned owner, unsigned uid, int pid, const char *text);
void log_done(void);

/* Only with --verbose, which puts CLOCK_MONOTONIC, in seconds, before each line. */
void log_debug(const char *format, ...) __attribute__((format(printf, 1, 2)));
