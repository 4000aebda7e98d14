/* SPDX-License-Identifier: MIT */
#pragma once
/*
 * The HSA runtime that a program would load, before it is started: which file it is, what that file
 * says of itself, and whether it is one that is known to fail programs. One thread.
 */
#include <limits.h>
#include <stdbool.h>
#include <stddef.h>

#include "cli/runtime/packages.h"

/* ---- which file it is ----------------------------------------------------------------------- */

#define PROGRAM_LIBRARIES_BYTES 256

struct program {
	char path[PATH_MAX];
	bool is_loadable; /* the loader finds all that it, or a script's interpreter, is linked to
			   */
	bool has_sdk;	  /* rocprofiler-sdk is among its libraries, or those of its Python */
	char runtime[PATH_MAX]; /* the libhsa-runtime64 that it would load; "": the loader's own
				   choice */
	char libraries[PROGRAM_LIBRARIES_BYTES]; /* of ROCm that it is linked to, for people */
	size_t package_count;			 /* of its Python; of no program, of PATH's */
	struct package package[PACKAGES_MAX];
};

/*
 * Looks at the program that @name stands for in PATH, without running it; NULL: at none, only at
 * the Python of the environment. False: there is none of that name.
 */
bool program_read(const char *name, struct program *ret);

/* ---- what it says ---------------------------------------------------------------------------- */

#define RUNTIME_ANSWER_BYTES 4096

/*
 * Brings @runtime up with the shim in it, in a child process, and reads the shim's answer to
 * RTL_PROBE, lines of a key and a value. @runtime: a file, "": what the loader finds. @tool: the
 * shim as HSA_TOOLS_LIB has it; @softgpu: the folder of the software GPU, or NULL. Returns the
 * bytes of the answer, 0: the runtime did not come up.
 */
size_t runtime_probe(const char *runtime, const char *tool, const char *softgpu,
	char answer[RUNTIME_ANSWER_BYTES]);

/* The value of @key in @answer into @ret, "" when it is not there; returns @ret. */
const char *runtime_answer(const char *answer, const char *key, char *ret, size_t capacity);

/* ---- whether it is known to fail programs ---------------------------------------------------- */

struct known_runtime {
	unsigned root_major, ext_bytes, ext_step; /* of the root table; of AMD's; 0: any */
	const char *build;			  /* part of its build version; NULL: any */
	const char *symptom, *todo, *source;
};

/* The first that @answer is, NULL: none. */
const struct known_runtime *runtime_known(const char *answer);
