/* SPDX-License-Identifier: MIT */
#pragma once
/*
 * Texts of ranges that number the steps of a job: "step 1", "step 2", ... have one name, "step N".
 */
#include <regex.h>
#include <stdint.h>

#include "cli/database/query.h"
#include "cli/trace/id_map.h"

/* Texts of steps without their numbers; beyond this limit texts keep their numbers. */
#define STEP_NAMES_MAX 1000

/* Maps ids of texts to names, if they are texts of steps; and contains those names. */
struct step_names {
	struct idmap index_of;
	char *texts[STEP_NAMES_MAX];
	uint32_t count;
};

int step_names_load(struct query *query, const regex_t *steps, struct step_names *ret);
void step_names_done(struct step_names *steps);
/* Returns the name of a range's text: its id, or a negative number for that of a step. */
int64_t step_names_name(const struct step_names *steps, int64_t text_id);
/* Returns NULL if @name is not that of a step. */
const char *step_names_text(const struct step_names *steps, int64_t name);
