/* SPDX-License-Identifier: MIT */
#pragma once
/* The files of report/ and uPlot, embedded by embed_assets.cmake in the order of the page. */
#include <stdbool.h>
#include <stddef.h>

struct report_asset {
	const char *name;
	const char *text;
	size_t bytes;
	unsigned char sha256[32]; /* of the text: the page allows nothing else to run */
	bool is_style;
	bool is_notice; /* a licence, which becomes a comment of the page */
};

/* The last name is NULL. */
extern const struct report_asset report_assets[];
