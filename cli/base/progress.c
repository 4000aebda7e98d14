// SPDX-License-Identifier: MIT
#include "cli/base/progress.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "cli/base/terminal.h"
#include "proto/base/clock.h"

#define BAR_COLUMNS 30
#define DRAW_NS	    100000000ull
/* These are read in a few milliseconds. */
#define ROWS_FEW    100000u

static const char *task; /* NULL: no task runs, or stderr cannot show a bar */
static uint64_t drawn_ns;
static uint64_t rows_done, rows_all; /* 0: the task does not go by rows */

void progress_begin(const char *what)
{
	progress_end();
	task = terminal_is_smart(STDERR_FILENO) ? what : NULL;
	drawn_ns = 0;
	rows_all = 0;
	progress_set(0, 1);
}

void progress_begin_rows(const char *what, uint64_t rows)
{
	progress_end();
	task = rows > ROWS_FEW && terminal_is_smart(STDERR_FILENO) ? what : NULL;
	drawn_ns = clock_monotonic_ns();
	rows_done = 0;
	rows_all = rows;
}

void progress_add(uint64_t rows)
{
	if (!task || !rows_all)
		return;
	rows_done += rows;
	progress_set(rows_done, rows_all);
}

void progress_set(uint64_t done, uint64_t all)
{
	char bar[BAR_COLUMNS + 1];
	double part;
	uint64_t now_ns;

	if (!task)
		return;
	now_ns = clock_monotonic_ns();
	if (drawn_ns && now_ns - drawn_ns < DRAW_NS)
		return;
	drawn_ns = now_ns;
	/* A live file may have more than it had at the begin. */
	part = !all ? 0 : done >= all ? 1 : (double)done / (double)all;
	memset(bar, ' ', BAR_COLUMNS);
	memset(bar, '#', (size_t)(part * BAR_COLUMNS));
	bar[BAR_COLUMNS] = '\0';
	fprintf(stderr, "\rrtl: %s [%s] %3.0f %%\033[K", task, bar, 100 * part);
}

void progress_end(void)
{
	if (task)
		fputs("\r\033[K", stderr);
	task = NULL;
}
