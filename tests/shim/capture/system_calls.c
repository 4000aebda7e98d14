// SPDX-License-Identifier: MIT
#include "tests/shim/capture/system_calls.h"

#include <errno.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <time.h>
#include <ucontext.h>
#include <unistd.h>

#define STACK_BYTES (1u << 20)

/* In the sixth argument this marks a call of ours, which is not trapped. */
#define OURS 0x52544c31u

struct system_calls system_calls;

static _Thread_local volatile bool is_inside;

/*
 * Includes calls that wait for other threads which change the process's memory, except mmap(),
 * which has six arguments.
 */
static const int waiting[] = {SYS_futex, SYS_sched_yield, SYS_nanosleep, SYS_clock_nanosleep,
	SYS_poll, SYS_ppoll, SYS_select, SYS_pselect6, SYS_epoll_wait, SYS_epoll_pwait, SYS_read,
	SYS_write, SYS_connect, SYS_sendmsg, SYS_recvmsg, SYS_sendto, SYS_recvfrom, SYS_flock,
	SYS_madvise, SYS_mprotect, SYS_munmap, SYS_fallocate};
#define WAITING (sizeof(waiting) / sizeof(waiting[0]))

static long call(long number, const greg_t *of)
{
	register long fourth __asm__("r10") = of[REG_R10];
	register long fifth __asm__("r8") = of[REG_R8];
	register long sixth __asm__("r9") = OURS;
	long r;

	__asm__ volatile("syscall"
			 : "=a"(r)
			 : "a"(number), "D"(of[REG_RDI]), "S"(of[REG_RSI]), "d"(of[REG_RDX]),
			 "r"(fourth), "r"(fifth), "r"(sixth)
			 : "rcx", "r11", "memory");
	return r;
}

static void on_trap(int signal, siginfo_t *info, void *data)
{
	greg_t *registers = ((ucontext_t *)data)->uc_mcontext.gregs;

	(void)signal;
	if (is_inside && info->si_syscall == SYS_futex)
		atomic_fetch_add(&system_calls.futex, 1);
	else if (is_inside)
		atomic_fetch_add(&system_calls.others, 1);
	registers[REG_RAX] = call(info->si_syscall, registers);
}

int system_calls_trap(void)
{
	struct sigaction action = {.sa_sigaction = on_trap, .sa_flags = SA_SIGINFO | SA_NODEFER};
	struct sock_filter filter[WAITING + 6];
	struct sock_fprog program = {.filter = filter};
	unsigned short n = 0;

	filter[n++] = (struct sock_filter)BPF_STMT(
		BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, args[5]));
	filter[n++] = (struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, OURS, WAITING + 1, 0);
	filter[n++] = (struct sock_filter)BPF_STMT(
		BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr));
	for (size_t i = 0; i < WAITING; i++)
		filter[n++] = (struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K,
			(unsigned)waiting[i], (unsigned char)(WAITING - i), 0);
	filter[n++] = (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW);
	filter[n++] = (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_TRAP);
	program.len = n;
	if (sigaction(SIGSYS, &action, NULL) || prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) ||
		prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program))
		return -errno;
	return 0;
}

int system_calls_thread(pthread_t *thread, void *(*main)(void *), void *argument)
{
	void *stack = mmap(NULL, STACK_BYTES, PROT_READ | PROT_WRITE,
		MAP_PRIVATE | MAP_ANONYMOUS | MAP_STACK, -1, 0);
	pthread_attr_t attributes;
	int r;

	if (stack == MAP_FAILED)
		return errno;
	pthread_attr_init(&attributes);
	pthread_attr_setstack(&attributes, stack, STACK_BYTES);
	r = pthread_create(thread, &attributes, main, argument);
	pthread_attr_destroy(&attributes);
	return r;
}

void system_calls_enter(void)
{
	is_inside = true;
}

void system_calls_leave(void)
{
	is_inside = false;
}

void system_calls_pause(long ns)
{
	const struct timespec time = {.tv_nsec = ns};

	(void)syscall(SYS_clock_nanosleep, CLOCK_MONOTONIC, 0, &time, NULL, 0, OURS);
}
