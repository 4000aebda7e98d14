// SPDX-License-Identifier: MIT
/*
 * Handles a siglongjmp() out of a signal handler that has interrupted a doorbell; used with
 * LD_PRELOAD. The thread never returns to the doorbell, so the walk that it has begun is completed
 * first (docs/capture.md, rule 5). For any other longjmp() there is nothing to do. A thread that
 * ends inside a doorbell, by cancellation or by pthread_exit() in a handler, is handled likewise.
 */
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "shim/base/glibc_compat.h"
#include "shim/base/thread.h"
#include "shim/capture/capture.h"
#include "shim/capture/front_ends/shadow.h"
#include "shim/load/hooks.h"
#include "shim/wrap/real.h"

/*
 * The interrupted frames are at most this far below the target of a jump from an alternate signal
 * stack.
 */
#define FRAMES_BYTES	 ((uintptr_t)1 << 20)
/*
 * glibc on x86-64: index of the stack pointer in a jmp_buf, where it is rotated and XORed with a
 * word of the thread.
 */
#define JUMP_STACK	 6
#define JUMP_ROTATE_BITS 17

typedef void jump(struct __jmp_buf_tag environment[1], int value);

/* Found before main(), because a signal handler must not search. */
static struct {
	jump *plain, *bsd, *with_mask, *checked;
} real;

static void find(const char *name, jump **ret)
{
	void *found = real_next(name, NULL);

	memcpy(ret, &found, sizeof(*ret));
}

static uintptr_t stack_of(const struct __jmp_buf_tag *environment)
{
#ifdef __x86_64__
	uintptr_t mixed = (uintptr_t)environment->__jmpbuf[JUMP_STACK], word;

	__asm__("movq %%fs:0x30, %0" : "=r"(word));
	return (mixed >> JUMP_ROTATE_BITS | mixed << (64 - JUMP_ROTATE_BITS)) ^ word;
#else
	(void)environment;
	return 0;
#endif
}

static struct capture *capture_in_use(void)
{
	struct capture *capture = hooks_capture();

	return capture && !capture_is_pass_through(capture) ? capture : NULL;
}

/* @from is the address of the caller's frame. */
static void leave(const struct __jmp_buf_tag *environment, uintptr_t from)
{
	struct capture *capture = capture_in_use();
	uintptr_t to = capture ? stack_of(environment) : 0, walker = 0;
	stack_t other = {.ss_flags = 0};

	if (!to)
		return;
	if (!sigaltstack(NULL, &other) && other.ss_flags & SS_ONSTACK) {
		uintptr_t begin = (uintptr_t)other.ss_sp;

		/* A jump within the alternate stack leaves only frames that are on it. */
		if (to < begin || to > begin + other.ss_size) {
			from = to - FRAMES_BYTES;
			walker = (uintptr_t)__builtin_thread_pointer();
		}
	}
	shadow_leave(capture, from, to, walker);
}

/* The thread is about to end, whatever it is inside of. */
static void complete_walks_of_thread(void)
{
	struct capture *capture = capture_in_use();
	pthread_attr_t attributes;
	void *begin;
	size_t bytes;

	if (!capture || !shadow_is_any_held(capture) ||
		pthread_getattr_np(pthread_self(), &attributes))
		return;
	if (!pthread_attr_getstack(&attributes, &begin, &bytes))
		shadow_leave(capture, (uintptr_t)begin, (uintptr_t)begin + bytes, 0);
	pthread_attr_destroy(&attributes);
}

__attribute__((constructor)) static void find_all(void)
{
	find("longjmp", &real.plain);
	find("_longjmp", &real.bsd);
	find("siglongjmp", &real.with_mask);
	find("__longjmp_chk", &real.checked);
	thread_state_watch_ends(complete_walks_of_thread);
}

/*
 * Aborts without a real function, since there is no way to continue. A sanitizer unpoisons the
 * frames that are left before it calls this function, so this frame must not be poisoned.
 */
__attribute__((no_sanitize("address"))) static _Noreturn void jump_by(
	jump *const *function, const char *name, struct __jmp_buf_tag *environment, int value)
{
	jump *found = *function;

	leave(environment, (uintptr_t)__builtin_frame_address(0));
	if (!found) /* called before it was found */
		find(name, &found);
	if (found)
		found(environment, value);
	abort();
}

/*
 * The C names differ from the exported ones, because <setjmp.h> may redirect longjmp() to
 * __longjmp_chk().
 */
#define EXPORTED(function, name, real_function)                                                    \
	_Noreturn void function(struct __jmp_buf_tag environment[1], int value) __asm__(name)      \
		__attribute__((visibility("default")));                                            \
	_Noreturn void function(struct __jmp_buf_tag environment[1], int value)                    \
	{                                                                                          \
		jump_by(&(real_function), name, environment, value);                               \
	}

EXPORTED(jump_plain, "longjmp", real.plain)
EXPORTED(jump_bsd, "_longjmp", real.bsd)
EXPORTED(jump_with_mask, "siglongjmp", real.with_mask)
EXPORTED(jump_checked, "__longjmp_chk", real.checked)
