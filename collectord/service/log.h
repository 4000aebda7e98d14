/* SPDX-License-Identifier: MIT */
#pragma once
/*
 * Writes one line to stderr per call, with the journal's level prefix if stderr is the journal.
 * Loop thread: server and session log, the code below them returns errors. Warnings about peers are
 * rate limited.
 */
#include <stdbool.h>

void log_init(bool is_verbose);

/* Has each further line begin with @tenant, of which this process is the worker; "": none. */
#define LOG_TENANT_BYTES 160
void log_tenant(const char *tenant);

void log_info(const char *format, ...) __attribute__((format(printf, 1, 2)));
void log_warning(const char *format, ...) __attribute__((format(printf, 1, 2)));
void log_error(const char *format, ...) __attribute__((format(printf, 1, 2)));

/*
 * For lines that peers can cause at will: log_peer() is a warning, log_event() an everyday event.
 * At most LOG_PEER_LINES of each are written per LOG_PEER_NS; the rest is counted.
 */
void log_peer(const char *format, ...) __attribute__((format(printf, 1, 2)));
void log_event(const char *format, ...) __attribute__((format(printf, 1, 2)));

/*
 * Logs why a peer of @uid was refused, @text, once a minute for the same reason, later with a
 * count. log_done() writes the pending counts.
 */
#define LOG_REFUSAL_BYTES 160
void log_refusal(unsigned uid, int pid, const char *text);
void log_done(void);

/* Logs only with --verbose, which puts CLOCK_MONOTONIC, in seconds, before each line. */
void log_debug(const char *format, ...) __attribute__((format(printf, 1, 2)));
