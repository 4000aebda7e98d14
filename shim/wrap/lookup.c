// SPDX-License-Identifier: MIT
/*
 * Wraps functions that are looked up at run time: those of HIP, RCCL and roctx by dlsym (ctypes,
 * Triton's launcher, JAX), those of HIP also by hipGetProcAddress. dlsym finds the caller's
 * RTLD_NEXT by its return address, so our dlsym must not change that: it calls lookup_dlsym() and
 * jumps to the real one for everything that we do not wrap.
 */
#include <dlfcn.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "shim/wrap/hip.h"
#include "shim/wrap/real.h"

#define EXPORT __attribute__((visibility("default")))

/* Returned in two registers: where to continue, or the answer. */
struct lookup {
	void *go_on;
	void *answer;
};

struct lookup lookup_dlsym(void *handle, const char *name, const void *caller);
int hipGetProcAddress(const char *name, void **function, int version, uint64_t flags, void *status);

#define GET_ADDRESS "hipGetProcAddress"
#define NO_HIP	    100

static void *_Atomic real_get_address;

/* If it finds nothing, the last look-up leaves the message in dlerror(). */
static void *next_of(
	const struct wrapped *wrapped, const char *name, void *handle, const void *caller)
{
	void *found = handle == RTLD_DEFAULT ? wrapped->next(name, caller) : NULL;

	return found ? found : wrapped->next(name, NULL);
}

/*
 * RTLD_DEFAULT would find our wrapper whether the library is present or not. Without us it would
 * find global symbols and dependencies of the calling library.
 */
static void *find(const struct wrapped *wrapped, unsigned symbol, void *handle, const char *name,
	const void *caller)
{
	real_dlsym_fn real = real_dlsym();
	void *found = real(handle, name);

	/* The failed look-up has set dlerror(). */
	if (!found)
		return NULL;
	if (wrapped->next && wrapped->is_wrapper(symbol, found))
		found = next_of(wrapped, name, handle, caller);
	return found ? wrapped->wrap(symbol, found) : NULL;
}

static void *find_get_address(void *handle, const void *caller)
{
	real_dlsym_fn real = real_dlsym();
	void *found = real(handle, GET_ADDRESS);

	if (found == (void *)hipGetProcAddress)
		found = next_of(&hip_wrapped, GET_ADDRESS, handle, caller);
	if (!found)
		return NULL;
	return real_adopt(&real_get_address, found) ? (void *)hipGetProcAddress : found;
}

/* hipGetProcAddress returns the variant for the thread's default stream if asked to. */
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
		if (hip_wrapped.has(full, &symbol) &&
			real_find(full, "libamdhip64", caller) == function)
			return hip_wrapped.wrap(symbol, function);
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

static const struct wrapped *wrapped_at(unsigned index)
{
	return index ? rtl_wrapped(index - 1) : &hip_wrapped;
}

__attribute__((visibility("hidden"))) struct lookup lookup_dlsym(
	void *handle, const char *name, const void *caller)
{
	real_dlsym_fn real = real_dlsym();
	const struct wrapped *wrapped;
	struct lookup lookup = {0};
	unsigned symbol;

	memcpy(&lookup.go_on, &real, sizeof(real));
	if (!real || handle == RTLD_NEXT || !name || !hip_is_on())
		return lookup;
	if (!strcmp(name, GET_ADDRESS)) {
		lookup = (struct lookup){.answer = find_get_address(handle, caller)};
		return lookup;
	}
	for (unsigned i = 0; (wrapped = wrapped_at(i)); i++) {
		if (!wrapped->has(name, &symbol))
			continue;
		lookup = (struct lookup){.answer = find(wrapped, symbol, handle, name, caller)};
		break;
	}
	return lookup;
}

/* A sanitizer's runtime calls dlsym before instrumented code may run, so it keeps libc's there. */
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
	"	movq 24(%rsp), %rdx\n" /* return address of the caller */
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
