/* SPDX-License-Identifier: MIT */
#pragma once
/*
 * Session databases of a few rows, made by hand: the real schema, no collector. Rows are written
 * as a collector would, in the order in which they are asked for. Failures fail the test.
 */
#include <sqlite3.h>
#include <stdint.h>

#include "cli/trace/trace.h"

#define SCENE_NONE INT64_MIN /* NULL */

struct scene {
	char folder[64], path[128];
	sqlite3 *db;
	struct trace *trace;
	int64_t next_text;
};

void scene_begin(struct scene *scene);
/* Only the first @version migrations: a file of an older rtl. */
void scene_begin_older(struct scene *scene, int version);
/* Commits; the file can be opened then. */
struct query *scene_open(struct scene *scene);
/* The trace of that file, until scene_end(). */
const struct trace *scene_trace(struct scene *scene, struct query *query);
void scene_end(struct scene *scene, struct query **query);

/* sqlite3_mprintf's formats. */
void scene_sql(struct scene *scene, const char *format, ...);
void scene_process(struct scene *scene, int64_t id, int64_t rank);
int64_t scene_kernel(struct scene *scene, const char *name);
int64_t scene_shape(
	struct scene *scene, int64_t process, int64_t gpu, int64_t queue, int64_t kernel);
/* @start SCENE_NONE: untimed, submitted at @submit. @submit: a time; SCENE_NONE: not known. */
void scene_dispatch(struct scene *scene, int64_t shape, int64_t start, int64_t end, int64_t submit);
/* @end SCENE_NONE: open. */
void scene_range(
	struct scene *scene, int64_t process, const char *text, int64_t start, int64_t end);
void scene_mark(struct scene *scene, int64_t process, const char *text, int64_t at);
void scene_copy(struct scene *scene, int64_t process, int64_t from_gpu, int64_t to_gpu,
	int64_t start, int64_t end, int64_t submit);
/* Returns the number of the call in the process. @parent 0: none. */
int64_t scene_call(struct scene *scene, int64_t process, int64_t number, const char *api,
	int64_t start, int64_t end, int64_t parent);
/* The call of that number moves data. */
void scene_collective(
	struct scene *scene, int64_t process, int64_t number, int64_t comm, int64_t seq);
/* The last dispatch was caused by that call. */
void scene_link(struct scene *scene, int64_t call);
