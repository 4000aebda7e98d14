// SPDX-License-Identifier: MIT
/* What the environment chooses to leave out: jobs may be recorded as asked, and still be empty. */
#include <stdlib.h>
#include <string.h>

#include "cli/doctor.h"
#include "proto/choice.h"
#include "proto/mode.h"

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

void doctor_check_choices(struct doctor *doctor)
{
	const char *mode = getenv("RTL_MODE");
	size_t before = doctor->count;

	if (mode && !mode_find(mode))
		doctor_add(doctor, DOCTOR_WARN, "choice", "see RTL_MODE in the README",
			"RTL_MODE=%s is no mode: recorded as %s", mode, MODE_DEFAULT);
	for (int key = 0; key < CHOICE_COUNT; key++)
		check_choice(doctor, (enum choice_key)key);
	if (doctor->count == before)
		doctor_add(doctor, DOCTOR_OK, "choice", NULL, "no variable leaves anything out");
}
