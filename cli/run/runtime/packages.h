/* SPDX-License-Identifier: MIT */
#pragma once
/*
 * Finds ROCm's libraries in the packages of a Python: PyTorch's wheels contain their own in
 * torch/lib, those repaired by auditwheel in torch.libs, those of TheRock in _rocm_sdk_core/lib;
 * with or without a version or a hash in their names. They are found by place and name, without
 * running Python. One thread.
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

/* A folder of a package that contains any of them. */
struct package {
	char folder[PATH_MAX];
	char file[LIBRARY_COUNT][NAME_MAX + 1]; /* "" if it has none */
};

/*
 * Finds the packages that the Python at @python (an absolute path) imports, then those of the user;
 * with NULL those of the environment and of the first python3 in PATH. Returns how many, at most
 * PACKAGES_MAX.
 */
size_t packages_find(const char *python, struct package ret[PACKAGES_MAX]);

/* Returns which library the file name @file belongs to; LIBRARY_COUNT if none. */
enum package_library package_library_of(const char *file);

/* Finds the first executable file called @name in PATH, or @name itself if it contains a slash. */
bool packages_find_program(const char *name, char ret[PATH_MAX]);
