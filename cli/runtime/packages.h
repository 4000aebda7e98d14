/* SPDX-License-Identifier: MIT */
#pragma once
/*
 * ROCm's libraries in the packages of a Python: PyTorch's wheels bring their own in torch/lib,
 * those repaired by auditwheel in torch.libs, TheRock's in _rocm_sdk_core/lib; with or without a
 * version or a hash in their names. Found by their places and names: no Python is run. One thread.
 */
#include <limits.h>
#include <stdbool.h>
#include <stddef.h>

#define PACKAGES_MAX 16

enum package_library {
	LIBRARY_HSA,
	LIBRARY_HIP,
	LIBRARY_RCCL,
	LIBRARY_ROCTX,
	LIBRARY_SDK_ROCTX,
	LIBRARY_SDK,
	LIBRARY_REGISTER,
	LIBRARY_COUNT,
};

/* A folder of a package that has any of them. */
struct package {
	char folder[PATH_MAX];
	char file[LIBRARY_COUNT][NAME_MAX + 1]; /* "": it has none */
};

/* Those that the Python at @python imports (an absolute path), then those of the user; NULL: of the
 * environment and of the first python3 in PATH. Returns how many, at most PACKAGES_MAX. */
size_t packages_find(const char *python, struct package ret[PACKAGES_MAX]);

/* What @file, a file's name, is called after; LIBRARY_COUNT: none of them. */
enum package_library package_library_of(const char *file);

/* The first executable file called @name in PATH, or @name itself where it has a slash. */
bool packages_find_program(const char *name, char ret[PATH_MAX]);
