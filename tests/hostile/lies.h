/* SPDX-License-Identifier: MIT */
#pragma once
/*
 * What a recorder can say that is not so. Each lie is told in the recorder of a rank that is
 * killed then; the collector must find it out, or it harms only that rank.
 */
#include "shim/record/recorder.h"

#define LIE_GPUS 2u

struct lie {
	const char *name;
	/* The reason in rtl_loss as which it is found, or "-": nothing is lost by it. */
	const char *found_as;
	void (*before)(struct recorder *recorder); /* before Hello */
	void (*after)(struct recorder *recorder);  /* once it was looked at and welcomed */
};

/* Ends with one without a name. */
extern const struct lie lies[];
