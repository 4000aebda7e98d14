/* SPDX-License-Identifier: MIT */
#pragma once
/* For programs whose tests run twice: SQLite copies the rows of a feed, then they are bound. */
#include <stdbool.h>

extern bool feeds_are_bound; /* in the second run */
