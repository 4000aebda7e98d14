// SPDX-License-Identifier: MIT
/*
 * A rank of rtl-demo --no-hsa: the same options and variables in a program that is not linked to
 * the HSA runtime, as the ranks of a job that use no GPU. It keeps step with the others and ends.
 */
#include <signal.h>
#include <stdlib.h>
#include <unistd.h>

#include "tests/workload/board.h"
#include "tests/workload/options.h"
#include "tests/workload/rank.h"
#include "tests/workload/talk.h"

int main(int argc, char **argv)
{
	struct options opt;
	struct rank_info info;
	struct board *board;

	options_parse(argc, argv, &opt);
	if (!rank_detect(&info)) {
		talk("a rank without HSA is started by rtl-demo --no-hsa");
		return OPTIONS_EXIT_USAGE;
	}
	talk_as_rank(info.rank);
	if (opt.verbose)
		talk("no HSA in this process");
	if (!board_join(&board) && info.rank < board->ranks) {
		for (int step = 0; step < opt.steps; step++)
			board_meet(board, info.rank, step + 1);
		board_leave(board, info.rank);
	}
	if (opt.exit_mode == EXIT_RETURN || !options_hits(&opt, info.rank))
		return 0;
	if (opt.exit_mode == EXIT_ABORT)
		abort();
	if (opt.exit_mode == EXIT_KILL)
		raise(SIGKILL);
	_exit(0);
}
