/* SPDX-License-Identifier: MIT */
#include "cli/run/job/selection_options.h"

#include <stdlib.h>

#include "cli/base/options.h"

bool choices_take(struct choices *choices, int key, const char *value)
{
	struct choice choice = {0};
	char why[CHOICE_WHY_BYTES];
	int at = key == 'r' ? (int)CHOICE_RANKS : key == 'g' ? (int)CHOICE_GPUS : key - CHOICES_KEY;

	if (at < 0 || at >= CHOICE_COUNT)
		return false;
	if (!choice_options[at].arg)
		value = "1";
	else if (!*value)
		opts_error("--%s: the value is empty", choice_options[at].option);
	if (choice_set(&choice, (enum choice_key)at, value, why))
		opts_error("--%s %s", choice_options[at].option, why);
	choices->text[at] = value;
	return true;
}

void choices_check(const struct choices *choices)
{
	struct choice choice = {0};
	char why[CHOICE_WHY_BYTES];

	for (int i = 0; i < CHOICE_COUNT; i++) {
		const char *text = choices->text[i];

		if (!text)
			text = getenv(choice_options[i].variable);
		if (text && *text && choice_set(&choice, (enum choice_key)i, text, why))
			opts_error("%s=%s", choice_options[i].variable, why);
	}
	if (choice_check(&choice, why))
		opts_error("%s", why);
}
