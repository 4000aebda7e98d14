// SPDX-License-Identifier: MIT
/*
 * Variables that leave data out: a job may be recorded as requested and the result may still be
 * empty.
 */
#include <stdlib.h>

#include "cli/doctor/doctor.h"
#include "proto/settings/selection.h"
#include "proto/settings/environment.h"

static void check_choice(struct doctor *doctor, enum choice_key key)
{
	const char *variable = choice_options[key].variable, *text = getenv(variable);
	struct choice choice = {0};
	char why[CHOICE_WHY_BYTES];

	if (!text || !*text)
		return;
	if (choice_set(&choice, key, text, why))
		doctor_add(doctor, DOCTOR_FAIL, "choice", "correct or unset it: rtl run refuses it",
			"%s=%s", variable, why);
	/* It leaves nothing out. */
	else if (key != CHOICE_STEP_MARKER && (key != CHOICE_DORMANT || choice.is_dormant))
		doctor_add(doctor, DOCTOR_WARN, "choice", "unset it to record everything",
			"%s=%s: not everything is recorded", variable, text);
}

static void check_variable(struct doctor *doctor, const struct variable *variable)
{
	const char *text = getenv(variable->name);
	char why[VARIABLE_WHY_BYTES];

	if (text && variable_check(variable->name, text, why))
		doctor_add(doctor, DOCTOR_FAIL, "choice", "correct or unset it: rtl run refuses it",
			"%s", why);
}

void doctor_check_choices(struct doctor *doctor)
{
	size_t before = doctor->count;

	for (const struct variable *v = variables; v->name; v++)
		check_variable(doctor, v);
	for (int key = 0; key < CHOICE_COUNT; key++)
		check_choice(doctor, (enum choice_key)key);
	if (doctor->count == before)
		doctor_add(doctor, DOCTOR_OK, "choice", NULL, "no variable leaves anything out");
}
