// SPDX-License-Identifier: MIT
#include "tests/workload/board.h"

#include <errno.h>
#include <limits.h>
#include <linux/futex.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

const char board_env[] = "RTL_DEMO_BOARD_FD";

int board_new(int ranks, struct board **ret, int *ret_fd)
{
	size_t size = sizeof(struct board) + (size_t)ranks * sizeof(struct board_rank);
	struct board *board;
	int fd = memfd_create("rtl-demo-board", 0);

	if (fd < 0)
		return -errno;
	if (ftruncate(fd, (off_t)size)) {
		int r = -errno;

		close(fd);
		return r;
	}
	board = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	if (board == MAP_FAILED) {
		close(fd);
		return -ENOMEM;
	}
	board->ranks = ranks;
	for (int i = 0; i < ranks; i++)
		atomic_store(&board->rank[i].gpu, -1);
	*ret = board;
	*ret_fd = fd;
	return 0;
}

int board_join(struct board **ret)
{
	const char *text = getenv(board_env);
	struct board *board;
	struct stat st;
	int fd;

	if (!text)
		return -ENOENT;
	fd = atoi(text);
	if (fstat(fd, &st) || st.st_size < (off_t)sizeof(*board))
		return -EBADF;
	board = mmap(NULL, (size_t)st.st_size, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	if (board == MAP_FAILED)
		return -ENOMEM;
	close(fd);
	*ret = board;
	return 0;
}

uint64_t board_kernels(const struct board_rank *rank)
{
	uint64_t sum = 0;

	for (int i = 0; i < OPTIONS_THREADS_MAX; i++)
		sum += atomic_load_explicit(&rank->count[i].kernels, memory_order_relaxed);
	return sum;
}

static void board_wake(struct board *board)
{
	atomic_fetch_add(&board->turn, 1);
	syscall(SYS_futex, &board->turn, FUTEX_WAKE, INT_MAX, NULL, NULL, 0);
}

void board_leave(struct board *board, int rank)
{
	atomic_store(&board->rank[rank].state, BOARD_GONE);
	board_wake(board);
}

static bool board_all_there(const struct board *board, int steps)
{
	for (int i = 0; i < board->ranks; i++)
		if (atomic_load(&board->rank[i].state) == BOARD_RUNNING &&
			atomic_load(&board->rank[i].steps) < steps)
			return false;
	return true;
}

void board_meet(struct board *board, int rank, int steps)
{
	atomic_store(&board->rank[rank].steps, steps);
	board_wake(board);
	for (;;) {
		uint32_t turn = atomic_load(&board->turn);

		if (board_all_there(board, steps))
			return;
		syscall(SYS_futex, &board->turn, FUTEX_WAIT, turn, NULL, NULL, 0);
	}
}

int board_share_id(struct board *board, int rank, char id[BOARD_ID_BYTES])
{
	if (rank >= board->ranks)
		return -ENOTSUP;
	if (rank == 0) {
		memcpy(board->id, id, BOARD_ID_BYTES);
		atomic_store(&board->has_id, 1);
		board_wake(board);
		return 0;
	}
	for (;;) {
		uint32_t turn = atomic_load(&board->turn);

		if (atomic_load(&board->has_id))
			break;
		if (atomic_load(&board->rank[0].state) == BOARD_GONE)
			return -ESRCH;
		syscall(SYS_futex, &board->turn, FUTEX_WAIT, turn, NULL, NULL, 0);
	}
	memcpy(id, board->id, BOARD_ID_BYTES);
	return 0;
}
