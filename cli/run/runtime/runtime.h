/* SPDX-License-Identifier: MIT */
#pragma once
/*
 * The HSA runtime that a program would load, before the program is started: which file it is, what
 * that file reports, and whether it has a known fault. One thread.
 */
#include <limits.h>
#include <stdbool.h>
#include <stddef.h>

#include "cli/run/runtime/packages.h"

/* ---- which file it is ------------------------------------------------------------------ */

#define PROGRAM_LIBRARIES_BYTES 256

struct program {
	char path[PATH_MAX];
	/* The loader finds all libraries of the program, or of a script's interpreter. */
	bool is_loadable;
	bool has_sdk; /* rocprofiler-sdk is among its libraries, or those of its Python */
	/* The libhsa-runtime64 that it would load; "" for the loader's own choice. */
	char runtime[PATH_MAX];
	/* Libraries of ROCm that it is linked to, for display. */
	char libraries[PROGRAM_LIBRARIES_BYTES];
	size_t package_count; /* of its Python; without a program, of the python3 in PATH */
	struct package package[PACKAGES_MAX];
};

/*
 * Examines the program that @name stands for in PATH, without running it; with NULL only the Python
 * of the environment. False if there is no such program.
 */
bool program_read(const char *name, struct program *ret);

/* ---- what it reports ------------------------------------------------------------------- */

#define RUNTIME_ANSWER_BYTES 4096

/*
 * Starts @runtime with the shim loaded, in a child process, and reads the shim's answer to
 * RTL_PROBE: lines of a key and a value. @runtime is a file, or "" for what the loader finds. @tool
 * is the shim as in HSA_TOOLS_LIB; @softgpu is the folder of the software GPU, or NULL. Returns the
 * bytes of the answer, 0 if the runtime did not start.
 */
size_t runtime_probe(const char *runtime, const char *tool, const char *softgpu,
	char answer[RUNTIME_ANSWER_BYTES]);

/* Copies the value of @key in @answer to @ret, "" if it is not there; returns @ret. */
const char *runtime_answer(const char *answer, const char *key, char *ret, size_t capacity);

/* ---- known faults ---------------------------------------------------------------------- */

struct known_runtime {
	/* Of the root table; of AMD's table; 0 matches any. */
	unsigned root_major, ext_bytes, ext_step;
	const char *build; /* part of its build version; NULL matches any */
	const char *symptom, *todo, *source;
};

/* Returns the first entry that matches @answer, NULL if there is none. */
const struct known_runtime *runtime_known(const char *answer);
