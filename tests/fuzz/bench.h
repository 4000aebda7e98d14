/* SPDX-License-Identifier: MIT */
#pragma once
/*
 * A database with one open session and what stands between inputs and it: each begins a
 * transaction, opens the process of frames.h, and is rolled back, so that none knows of another.
 * Aborts where the code breaks a promise: libFuzzer keeps the input.
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "collectord/ingest/process/process.h"
#include "collectord/db/rows/writer.h"
#include "proto/wire/msg.h"

#define FUZZ_MUST(claim) ((claim) ? (void)0 : fuzz_broken(#claim, __FILE__, __LINE__))

_Noreturn void fuzz_broken(const char *claim, const char *file, int line);

struct bench {
	struct msg_arena arena;
	struct writer *writer;
	struct process *process; /* between begin and end */
	int64_t session_id;
};

/* A file in a folder of this process, gone at its exit. In memory where there is such a place. */
const char *fuzz_folder(void);

void bench_init(struct bench *bench);
void bench_begin(struct bench *bench);
/* One frame of the wire, without prefix; renumbered to be the next when @is_next. As
 * ingest_frame(), or what msg_unpack() says. */
int bench_take(struct bench *bench, const uint8_t *frame, size_t bytes, bool is_next);
/* Definitions of two kernels and anchors, as tests/unit/collectord/store/frames.h. */
void bench_take_base(struct bench *bench);
/* A dispatch of each shape that is defined, as far as there are few. */
void bench_use_shapes(struct bench *bench);
/* Books and rows agree, and no number is out of its bounds. */
void bench_check(struct bench *bench);
void bench_end(struct bench *bench);
