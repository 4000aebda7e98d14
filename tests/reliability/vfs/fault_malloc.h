/* SPDX-License-Identifier: MIT */
#pragma once
/*
 * Memory that ends: SQLite's and, linked with FAULT_MALLOC_LINK, that of the code under test (what
 * of libc allocates by itself is not reached). Only threads that are not the first one meet it,
 * unless all are to.
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

/* Before anything of SQLite's. */
void fault_malloc_install(void);
/* The first thread, too. */
void fault_malloc_everywhere(void);
/* Like malloc() and realloc(): for libraries that take functions. */
void *fault_malloc_malloc(size_t bytes);
void *fault_malloc_realloc(void *old, size_t bytes);
/* Counting from 0 now; the @fail_at-th allocation fails, 0: none. @for_so_many: and more after it.
 */
void fault_malloc_set(uint64_t fail_at, uint64_t for_so_many);
uint64_t fault_malloc_count(void);

/*
 * A site is a chain of callers that ends in an allocation; its name, a hash of them, is the same in
 * each run of a program. From now on the @fail_at-th allocation of @site fails, 0: none, and
 * @for_so_many - 1 after it, of whatever site.
 */
void fault_malloc_set_site(uint64_t site, uint64_t fail_at, uint64_t for_so_many);
/* "SITE COUNT" a line. */
void fault_malloc_tell_sites(FILE *file);
bool fault_malloc_has_failed(void);
