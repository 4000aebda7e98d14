// SPDX-License-Identifier: MIT
/*
 * HIP functions that are looked up at run time: dlsym (ctypes, Triton's launcher) and
 * hipGetProcAddress. dlsym tells RTLD_NEXT by its return address, so ours leaves that in place:
 * it asks lookup_dlsym() and, for everything that is not HIP's, jumps on.
 */
#include <dlfcn.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "shim/hip.h"
#include "shim/real.h"

#define EXPORT __attribute__((visibility("default")))

/* Two words, in registers: where to go on, or the answer. */
struct lookup {
	void *go_on;
	void *answer;
};

struct lookup lookup_dlsym(void *handle, const char *name);
int hipGetProcAddress(const char *name, void **function, int version, uint64_t flags, void *status);

#define GET_ADDRESS "hipGetProcAddress"
#define NO_HIP	    100

static void *_Atomic real_get_address;

/* Who looks for it in vain asks dlerror() why, and is not ready for no answer. */
static void *not_found(real_dlsym_fn real, const char *name)
{
	return real(RTLD_NEXT, name);
}

/* RTLD_DEFAULT would find ours, HIP or no HIP. */
static void *find(real_dlsym_fn real, void *handle, const char *name, unsigned symbol)
{
	void *found = real(handle, name);

	if (found && hip_is_wrapper(symbol, found))
		found = real_find(name, "libamdhip64", (const void *)real);
	return found ? hip_wrap(symbol, found) : not_found(real, name);
}

static void *find_get_address(real_dlsym_fn real, void *handle)
{
	void *found = real(handle, GET_ADDRESS), *none = NULL;

	if (found == (void *)hipGetProcAddress)
		found = real_find(GET_ADDRESS, "libamdhip64", (const void *)real);
	if (!found)
		return not_found(real, GET_ADDRESS);
	if (atomic_compare_exchange_strong(&real_get_address, &none, found))
		real_keep(found);
	else if (none != found)
		return found;
	return (void *)hipGetProcAddress;
}

/* It gives the variant for the thread's own default stream when asked for it. */
static void *wrap_found(const char *name, void *function, const void *caller)
{
	static const char *const endings[] = {"", "_spt"};
	char full[128];
	unsigned symbol;

	for (size_t i = 0; i < sizeof(endings) / sizeof(endings[0]); i++) {
		if (strlen(name) + strlen(endings[i]) >= sizeof(full))
			break;
		strcpy(full, name);
		strcat(full, endings[i]);
		if (hip_has(full, &symbol) && real_find(full, "libamdhip64", caller) == function)
			return hip_wrap(symbol, function);
	}
	return function;
}

EXPORT int hipGetProcAddress(
	const char *name, void **function, int version, uint64_t flags, void *status)
{
	int (*real)(const char *, void **, int, uint64_t, void *);
	void *found = atomic_load_explicit(&real_get_address, memory_order_acquire);
	int result;

	if (!found)
		found = real_find(GET_ADDRESS, "libamdhip64", __builtin_return_address(0));
	if (!found)
		return NO_HIP;
	atomic_store_explicit(&real_get_address, found, memory_order_release);
	memcpy(&real, &found, sizeof(found));
	result = real(name, function, version, flags, status);
	if (!result && hip_is_on() && name && function && *function)
		*function = wrap_found(name, *function, found);
	return result;
}

__attribute__((visibility("hidden"))) struct lookup lookup_dlsym(void *handle, const char *name)
{
	real_dlsym_fn real = real_dlsym();
	struct lookup lookup = {0};
	unsigned symbol;

	memcpy(&lookup.go_on, &real, sizeof(real));
	if (!real || handle == RTLD_NEXT || !name || !hip_is_on())
		return lookup;
	if (!strcmp(name, GET_ADDRESS))
		lookup.answer = find_get_address(real, handle);
	else if (hip_has(name, &symbol))
		lookup.answer = find(real, handle, name, symbol);
	else
		return lookup;
	lookup.go_on = NULL;
	return lookup;
}

/* A sanitizer's runtime asks dlsym before instrumented code may run: there it stays libc's. */
#if defined(__x86_64__) && !defined(RTL_SANITIZE)
/* clang-format off */
__asm__(".text\n"
	".globl dlsym\n"
	".type dlsym, @function\n"
	"dlsym:\n"
	"	.cfi_startproc\n"
	"	endbr64\n"
	"	pushq %rdi\n"
	"	.cfi_adjust_cfa_offset 8\n"
	"	pushq %rsi\n"
	"	.cfi_adjust_cfa_offset 8\n"
	"	subq $8, %rsp\n"
	"	.cfi_adjust_cfa_offset 8\n"
	"	call lookup_dlsym\n"
	"	addq $8, %rsp\n"
	"	.cfi_adjust_cfa_offset -8\n"
	"	popq %rsi\n"
	"	.cfi_adjust_cfa_offset -8\n"
	"	popq %rdi\n"
	"	.cfi_adjust_cfa_offset -8\n"
	"	testq %rax, %rax\n"
	"	jz 1f\n"
	"	jmp *%rax\n"
	"1:	movq %rdx, %rax\n"
	"	ret\n"
	"	.cfi_endproc\n"
	".size dlsym, . - dlsym\n");
/* clang-format on */
#endif
