// SPDX-License-Identifier: MIT
/*
 * librtl-calls.so: our definitions of HIP's functions, for LD_PRELOAD in modes full and hip. Each
 * begins a call, calls the real function, and ends the call; librtl-shim.so handles the records. It
 * is a separate library, because exporting these names tells programs that look for them that HIP
 * is present (docs/adr/0010).
 */
#include "shim/wrap/hip.h"

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>

#include "proto/names/host_calls.h"
#include "proto/names/mode.h"
#include "shim/events/calls.h"
#include "shim/wrap/graph_launches.h"
#include "shim/wrap/real.h"

#define EXPORT __attribute__((visibility("default")))

/* hipErrorNoDevice, returned if there is no HIP behind us: programs handle it. */
#define NO_HIP 100

/* Indices of all exported names. */
#define SYMBOL_ENUM(name, ...)	   SYMBOL_##name,
#define MANGLED_ENUM(name, symbol) SYMBOL_MANGLED_##name,
enum symbol { HOST_CALLS_WRAPPED(SYMBOL_ENUM) HOST_CALL_MANGLED(MANGLED_ENUM) SYMBOL_COUNT };

/*
 * Set once before main(): the capabilities of the mode. If they do not include the call, its
 * wrapper is a load and a jump.
 */
static uint32_t recorded;
static void *_Atomic real[SYMBOL_COUNT];

static const char *symbol_name(enum symbol symbol);

/*
 * Evaluated at compile time. The calls that tell the nodes of an executable graph, and its
 * launches.
 */
static inline __attribute__((always_inline)) bool is_of_graphs(enum rtl_host_call api)
{
	switch (api) {
	case RTL_HOST_hipGraphLaunch:
	case RTL_HOST_hipGraphLaunch_spt:
	case RTL_HOST_hipGraphInstantiate:
	case RTL_HOST_hipGraphInstantiateWithFlags:
	case RTL_HOST_hipGraphInstantiateWithParams:
	case RTL_HOST_hipGraphExecUpdate:
	case RTL_HOST_hipGraphExecDestroy:
	case RTL_HOST_hipGraphDestroy:
		return true;
	default:
		return false;
	}
}

static inline __attribute__((always_inline)) bool is_recorded(enum rtl_host_call api)
{
	return recorded & (is_of_graphs(api) ? HOST_CALLS | GRAPH_CALLS : HOST_CALLS);
}

static void *real_of(enum symbol symbol, const void *caller)
{
	void *found = atomic_load_explicit(&real[symbol], memory_order_acquire);

	if (__builtin_expect(!found, 0)) {
		found = real_find(symbol_name(symbol), "libamdhip64", caller);
		/* Not cached if it was not found: HIP may still be loaded. */
		if (found)
			atomic_store_explicit(&real[symbol], found, memory_order_release);
	}
	return found;
}

/* ---- what is recorded of a parameter after the call; EXEC counts before it ------------- */

#define BEFORE(kind, name) BEFORE_##kind(name)
#define BEFORE_PTR(name)
#define BEFORE_PASS(name)
#define BEFORE_OUT(name)
#define BEFORE_SIZE(name)
#define BEFORE_WIDE(name)
#define BEFORE_INT(name)
#define BEFORE_UINT(name)
#define BEFORE_BYTE(name)
#define BEFORE_SHORT(name)
#define BEFORE_COPY(name)
#define BEFORE_MS(name)
#define BEFORE_TEXT(name)
#define BEFORE_STREAM(name)
#define BEFORE_EXEC(name)  uint64_t launch = graph_launches_next(name);
#define BEFORE_ENDED(name) graph_launches_forget(name);
#define BEFORE_DIM3(name)
#define BEFORE_EXTENT(name)
#define BEFORE_PITCHED(name)
#define BEFORE_COPY3D(name)
#define BEFORE_NONE(name)

/* hipMemcpy3DParms: extent and kind, at offsets that have never moved. */
struct copy3d {
	uint8_t before[128];
	struct host_extent extent;
	uint32_t kind;
};

static uint64_t *record_text(uint64_t *at, const char *text)
{
	memset(at, 0, HOST_TEXT_WORDS * sizeof(*at));
	if (text)
		memcpy(at, text, strnlen(text, HOST_TEXT_WORDS * sizeof(*at)));
	return at + HOST_TEXT_WORDS;
}

static uint64_t *record_copy3d(uint64_t *at, const struct copy3d *params)
{
	static const struct copy3d none = {.kind = UINT32_MAX};

	if (!params)
		params = &none;
	*at++ = params->extent.width;
	*at++ = params->extent.height;
	*at++ = params->extent.depth;
	*at++ = params->kind;
	return at;
}

static uint64_t float_bits(const float *value)
{
	uint32_t bits;

	memcpy(&bits, value, sizeof(bits));
	return bits;
}

#define RECORD(kind, name) RECORD_##kind(name)
#define RECORD_PTR(name)   *at++ = (uint64_t)(uintptr_t)name;
#define RECORD_PASS(name)
/* The runtime has just written it. */
#define RECORD_OUT(name)     *at++ = end.result || !name ? 0 : (uint64_t)(uintptr_t)*name;
#define RECORD_SIZE(name)    *at++ = name;
#define RECORD_WIDE(name)    *at++ = name;
#define RECORD_INT(name)     *at++ = (uint32_t)name;
#define RECORD_UINT(name)    *at++ = name;
#define RECORD_BYTE(name)    *at++ = name;
#define RECORD_SHORT(name)   *at++ = name;
#define RECORD_COPY(name)    *at++ = (uint32_t)name;
#define RECORD_MS(name)	     *at++ = end.result || !name ? 0 : float_bits(name);
#define RECORD_TEXT(name)    at = record_text(at, name);
#define RECORD_STREAM(name)  end.stream = (uint64_t)(uintptr_t)name;
#define RECORD_EXEC(name)    *at++ = (uint64_t)(uintptr_t)name, *at++ = launch;
#define RECORD_ENDED(name)   *at++ = (uint64_t)(uintptr_t)name;
#define RECORD_DIM3(name)    *at++ = name.x, *at++ = name.y, *at++ = name.z;
#define RECORD_EXTENT(name)  *at++ = name.width, *at++ = name.height, *at++ = name.depth;
#define RECORD_PITCHED(name) *at++ = (uint64_t)(uintptr_t)name.address;
#define RECORD_COPY3D(name)  at = record_copy3d(at, name);
#define RECORD_NONE(name)

/* ---- the wrappers ----------------------------------------------------------------------- */

#define WRAP(function_, symbol_, api_, ...)                                                        \
	EXPORT int function_(HOST_LIST(HOST_PARAM, __VA_ARGS__))                                   \
	{                                                                                          \
		int (*real_one)(HOST_LIST(HOST_PARAM, __VA_ARGS__));                               \
		struct call_end end = {.kind = RECORDER_CALL_HOST, .api = RTL_HOST_##api_};        \
		struct call_frame frame;                                                           \
		uint64_t words[HOST_ARGS_MAX], *at = words;                                        \
		void *found = real_of(symbol_, __builtin_return_address(0));                       \
                                                                                                   \
		if (__builtin_expect(!found, 0))                                                   \
			return NO_HIP;                                                             \
		memcpy(&real_one, &found, sizeof(found));                                          \
		if (!is_recorded(RTL_HOST_##api_))                                                 \
			return real_one(HOST_LIST(HOST_ARG, __VA_ARGS__));                         \
		HOST_EACH(BEFORE, __VA_ARGS__)                                                     \
		rtl_call_begin(&frame);                                                            \
		end.result = real_one(HOST_LIST(HOST_ARG, __VA_ARGS__));                           \
		HOST_EACH(RECORD, __VA_ARGS__)                                                     \
		end.words = words;                                                                 \
		end.count = (uint32_t)(at - words);                                                \
		rtl_call_end(&frame, &end);                                                        \
		return end.result;                                                                 \
	}

#define WRAP_PLAIN(name, ...)                                                                      \
	int name(HOST_LIST(HOST_PARAM, __VA_ARGS__));                                              \
	WRAP(name, SYMBOL_##name, name, __VA_ARGS__)
HOST_CALLS_WRAPPED(WRAP_PLAIN)

#define DECLARE_MANGLED(name, symbol) __typeof__(name) mangled_##name __asm__(symbol);
HOST_CALL_MANGLED(DECLARE_MANGLED)
#define WRAP_MANGLED(name, ...) WRAP(mangled_##name, SYMBOL_MANGLED_##name, name, __VA_ARGS__)
HOST_CALLS_EXT(WRAP_MANGLED)

/* ---- look-ups by name: dlsym and hipGetProcAddress ------------------------------------- */

struct wrapper {
	const char *name;
	const void *function;
	enum rtl_host_call api;
};

#define WRAPPER(name, ...)	      {#name, (const void *)name, RTL_HOST_##name},
#define WRAPPER_MANGLED(name, symbol) {symbol, (const void *)mangled_##name, RTL_HOST_##name},
static const struct wrapper wrappers[SYMBOL_COUNT] = {
	HOST_CALLS_WRAPPED(WRAPPER) HOST_CALL_MANGLED(WRAPPER_MANGLED)};

static const char *symbol_name(enum symbol symbol)
{
	return wrappers[symbol].name;
}

bool hip_is_on(void)
{
	return recorded;
}

static bool has(const char *name, unsigned *ret)
{
	for (unsigned i = 0; i < SYMBOL_COUNT; i++) {
		if (strcmp(wrappers[i].name, name) || !is_recorded(wrappers[i].api))
			continue;
		*ret = i;
		return true;
	}
	return false;
}

static bool is_wrapper(unsigned symbol, const void *function)
{
	return wrappers[symbol].function == function;
}

/*
 * Our wrapper calls one real function. A look-up that has found another copy of the library gets
 * that copy's function.
 */
static void *wrap(unsigned symbol, void *function)
{
	return real_adopt(&real[symbol], function) ? (void *)(uintptr_t)wrappers[symbol].function
						   : function;
}

const struct wrapped hip_wrapped = {has, is_wrapper, real_next, wrap};

/* ---- start ------------------------------------------------------------------------------ */

__attribute__((constructor)) static void hip_start(void)
{
	const char *name = getenv("RTL_MODE");
	const struct mode *mode = mode_find(name ? name : "");

	if (getauxval(AT_SECURE) || !mode || mode->capabilities == MODE_OFF)
		return;
	recorded = mode->capabilities & (HOST_CALLS | GRAPH_CALLS);
	if (recorded)
		rtl_calls_attach();
}
