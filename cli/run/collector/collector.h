/* SPDX-License-Identifier: MIT */
#pragma once
/* The collector that records the job: a service, or a private one. One thread. */
#include <limits.h>
#include <stdbool.h>
#include <stdint.h>

#include "cli/collector/client.h"
#include "cli/run/job/launcher.h"
#include "cli/run/job/options.h"

struct run_keeper;

struct run_collector {
	struct client client;
	char session[LABEL_BYTES_MAX];
	char database[PATH_MAX];
	char socket[PLACES_SOCKET_BYTES];
	/* Where the closed database is to be moved; "" if it is there already. */
	char publish[PATH_MAX];
	bool is_private;
	bool is_opening; /* the file is created, and the answer that it is open has not come yet */
	bool is_refused; /* it could not be opened, which was reported while the command ran */
	uint64_t socket_device, socket_inode; /* of a private socket whose name is to be removed */
	int log_fd;		   /* log of the collector that we started; -1 if there is none */
	struct run_keeper *keeper; /* of the collector that we started; NULL if it is not ours */
	const struct run_launch *launch; /* of a private collector; borrowed */
	/* Contents of the latest RunnerHello, for the next one; borrowed. */
	const struct run_options *options;
	const char *job, *display;
};

#define RUN_COLLECTOR_NONE                                                                         \
	{                                                                                          \
		.client = CLIENT_NONE, .log_fd = -1                                                \
	}

/*
 * Finds, joins or starts the collector and opens the session. Returns 0 if collector->client.fd >=
 * 0 or the job goes unrecorded, after a message why; otherwise an exit status (125), after a
 * message.
 */
int run_collector_attach(struct run_collector *collector, const struct run_options *options,
	const struct run_launch *launch);

void run_collector_done(struct run_collector *collector);

/*
 * Called while is_opening is set, when the connection is readable: checks whether the file is open.
 * Never waits. A connection that broke is handled at the end of the session.
 */
void run_collector_hear(struct run_collector *collector);
/* Reports that the collector refused with @error, and disconnects from it. */
void run_collector_refused(struct run_collector *collector, int error);

/* Lets rtl ls and the verbs find a private run by its session's name, wherever its file lies. Does
 * nothing of another, or while its file is not known. */
void run_list_private(const struct run_collector *collector);

struct verdict;

/*
 * Returns the verdict of the session from a service. The result is 0, -ENOENT if the service does
 * not know the session, or -errno.
 */
int run_told_verdict(const struct run_collector *collector, struct verdict **ret);
