/* SPDX-License-Identifier: MIT */
#include "proto/names/host_calls.h"

#include <assert.h>

/* The words that a parameter records ... */
#define WORDS(kind, name) +WORDS_##kind
#define WORDS_PTR	  1u
#define WORDS_PASS	  0u
#define WORDS_OUT	  1u
#define WORDS_SIZE	  1u
#define WORDS_WIDE	  1u
#define WORDS_INT	  1u
#define WORDS_UINT	  1u
#define WORDS_BYTE	  1u
#define WORDS_SHORT	  1u
#define WORDS_COPY	  1u
#define WORDS_MS	  1u
#define WORDS_TEXT	  HOST_TEXT_WORDS
#define WORDS_STREAM	  0u
#define WORDS_EXEC	  2u
#define WORDS_ENDED	  1u
#define WORDS_DIM3	  3u
#define WORDS_EXTENT	  3u
#define WORDS_PITCHED	  1u
#define WORDS_COPY3D	  4u
#define WORDS_NONE	  0u

/* ... and the arguments that they are. */
#define SHOWN(kind, name) SHOWN_##kind(name)
#define ONE(name, form)	  {#name, HOST_FORM_##form},
#define SHOWN_PTR(name)	  ONE(name, ADDRESS)
#define SHOWN_PASS(name)
#define SHOWN_OUT(name)	  ONE(name, ADDRESS)
#define SHOWN_SIZE(name)  ONE(name, NUMBER)
#define SHOWN_WIDE(name)  ONE(name, NUMBER)
#define SHOWN_INT(name)	  ONE(name, SIGNED)
#define SHOWN_UINT(name)  ONE(name, NUMBER)
#define SHOWN_BYTE(name)  ONE(name, NUMBER)
#define SHOWN_SHORT(name) ONE(name, NUMBER)
#define SHOWN_COPY(name)  ONE(name, COPY)
#define SHOWN_MS(name)	  ONE(name, MS)
#define SHOWN_TEXT(name)  ONE(name, TEXT)
#define SHOWN_STREAM(name)
#define SHOWN_EXEC(name)    ONE(name, EXEC)
#define SHOWN_ENDED(name)   ONE(name, ADDRESS)
#define SHOWN_DIM3(name)    ONE(name##X, NUMBER) ONE(name##Y, NUMBER) ONE(name##Z, NUMBER)
#define SHOWN_EXTENT(name)  ONE(width, NUMBER) ONE(height, NUMBER) ONE(depth, NUMBER)
#define SHOWN_PITCHED(name) ONE(name, ADDRESS)
#define SHOWN_COPY3D(name)  ONE(width, NUMBER) ONE(height, NUMBER) ONE(depth, NUMBER) ONE(kind, COPY)
#define SHOWN_NONE(name)

#define COUNT(...)                                                                                 \
	(unsigned)(sizeof((const struct host_argument[]){__VA_ARGS__{0}}) /                        \
			   sizeof(struct host_argument) -                                          \
		   1u)
#define INFO(name_, ...)                                                                           \
	[RTL_HOST_##name_] = {                                                                     \
		.name = #name_,                                                                    \
		.words = 0u HOST_EACH(WORDS, __VA_ARGS__),                                         \
		.count = COUNT(HOST_EACH(SHOWN, __VA_ARGS__)),                                     \
		.argument = {HOST_EACH(SHOWN, __VA_ARGS__)},                                       \
	},
const struct host_call_info host_call_info[RTL_HOST_COUNT] = {HOST_CALLS(INFO)};

#define FITS(name_, ...) static_assert(0u HOST_EACH(WORDS, __VA_ARGS__) <= HOST_ARGS_MAX, #name_);
HOST_CALLS(FITS)
