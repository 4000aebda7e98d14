// SPDX-License-Identifier: MIT
/*
 * The first line of a job whose runtime has a known fault that makes programs fail. All such faults
 * are in the runtime's intercept queue, so the runtime is examined only if that is requested: the
 * check starts the runtime once more.
 */
#include <stdlib.h>
#include <string.h>

#include "cli/base/message.h"
#include "cli/run/job/job_environment.h"
#include "cli/run/job/launcher.h"
#include "cli/run/job/options.h"
#include "cli/run/run.h"
#include "cli/run/runtime/runtime.h"
#include "proto/base/cleanup.h"

static bool is_intercept_wanted(void)
{
	static const char wish[] = "intercept"; /* or intercept-unsafe */
	const char *value = getenv("RTL_FRONT_END");

	return value && !strncmp(value, wish, strlen(wish));
}

/* If several rtl run belong to one launch, the one of the first rank prints the line. */
static bool is_first_rank(const struct run_launch *launch)
{
	return !launch->is_shared || !launch->rank.rank.is_known || launch->rank.rank.value == 0;
}

void run_say_known(const struct run_options *options, const struct run_launch *launch,
	const char *shim, const char *softgpu)
{
	CLEANUP(free_p) struct program *program = NULL;
	CLEANUP(free_p) char *tool = NULL;
	const struct known_runtime *known;
	char answer[RUNTIME_ANSWER_BYTES], release[64], path[PATH_MAX];

	if (options->is_quiet || !is_intercept_wanted() || !is_first_rank(launch))
		return;
	program = calloc(1, sizeof(*program));
	tool = jobenv_quote_tool(shim);
	if (!program || !tool || !program_read(options->command[0], program) ||
		!runtime_probe(program->runtime, tool, options->is_soft ? softgpu : NULL, answer))
		return;
	known = runtime_known(answer);
	if (known)
		say("%s, %s: %s; %s (%s)",
			runtime_answer(answer, "release", release, sizeof(release)),
			runtime_answer(answer, "runtime", path, sizeof(path)), known->symptom,
			known->todo, known->source);
}
