/* SPDX-License-Identifier: MIT */
#include "collectord/db/rows/text.h"

#include <libiberty/demangle.h>
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "proto/base/cleanup.h"
#include "proto/base/limits.h"

#define DEMANGLE_OPTIONS   (DMGL_PARAMS | DMGL_ANSI | DMGL_NO_RECURSE_LIMIT)
#define DEMANGLE_PAIRS_MAX 65536u

/* Returns the length of the well-formed character at @at, or 0. Unicode, table 3-7. */
static size_t character_bytes(const uint8_t *at, size_t left)
{
	uint8_t low = 0x80, high = 0xbf;
	size_t n;

	if (at[0] && at[0] < 0x80)
		return 1;
	if (at[0] >= 0xc2 && at[0] <= 0xdf)
		n = 2;
	else if (at[0] >= 0xe0 && at[0] <= 0xef)
		n = 3;
	else if (at[0] >= 0xf0 && at[0] <= 0xf4)
		n = 4;
	else
		return 0;
	if (at[0] == 0xe0)
		low = 0xa0;
	else if (at[0] == 0xed)
		high = 0x9f;
	else if (at[0] == 0xf0)
		low = 0x90;
	else if (at[0] == 0xf4)
		high = 0x8f;
	if (n > left || at[1] < low || at[1] > high)
		return 0;
	for (size_t i = 2; i < n; i++)
		if (at[i] < 0x80 || at[i] > 0xbf)
			return 0;
	return n;
}

/* Counts the ASCII characters at @at, eight at a time, since most names consist only of them. */
static size_t plain_bytes(const uint8_t *at, size_t left)
{
	const uint64_t ones = UINT64_MAX / 255, tops = ones << 7;
	size_t n = 0;
	uint64_t eight;

	for (; left - n >= sizeof(eight); n += sizeof(eight)) {
		memcpy(&eight, at + n, sizeof(eight));
		if (((eight - ones) | eight) & tops)
			break;
	}
	while (n < left && at[n] && at[n] < 0x80)
		n++;
	return n;
}

char *text_clean(const void *bytes, size_t count, size_t max)
{
	static const uint8_t bad[3] = {0xef, 0xbf, 0xbd};
	const uint8_t *in = bytes;
	size_t room = count > max / 3 ? max : count * 3, used = 0;
	char *out = malloc(room + 1);

	if (!out)
		return NULL;
	while (count) {
		size_t plain = plain_bytes(in, count < room - used ? count : room - used);
		size_t n = plain ? plain : character_bytes(in, count);
		const uint8_t *from = n ? in : bad;
		size_t put = n ? n : sizeof(bad), step = n ? n : 1;

		if (put > room - used)
			break;
		memcpy(out + used, from, put);
		used += put;
		in += step;
		count -= step;
	}
	out[used] = 0;
	return out;
}

/* Processor time of the thread for one name. The longest real names take less than a
 * millisecond. */
#define DEMANGLE_NS_MAX 20000000
/* ThreadSanitizer delivers a signal during a computation only if the signal may report a fault. */
#ifdef __SANITIZE_THREAD__
#define DEMANGLE_SIGNAL SIGTRAP
#else
#define DEMANGLE_SIGNAL SIGVTALRM
#endif

enum demangle_end { DEMANGLE_RETURNED, DEMANGLE_TOO_LONG, DEMANGLE_OUT_OF_TIME };

struct demangled {
	sigjmp_buf over;
	size_t bytes;
	char text[TEXT_DEMANGLED_BYTES_MAX];
};

/* Where the thread jumps when its time is over; NULL: it demangles nothing. */
static _Thread_local sigjmp_buf *volatile out_of_time;

static void on_out_of_time(int number)
{
	(void)number;
	if (out_of_time)
		siglongjmp(*out_of_time, DEMANGLE_OUT_OF_TIME);
}

static void install_handler(void)
{
	/* A jump leaves the handler, so the signal must not stay blocked. */
	struct sigaction action = {
		.sa_handler = on_out_of_time, .sa_flags = SA_NODEFER | SA_RESTART};

	sigaction(DEMANGLE_SIGNAL, &action, NULL);
}

static void take_part(const char *part, size_t bytes, void *data)
{
	struct demangled *d = data;

	if (bytes > TEXT_DEMANGLED_BYTES_MAX - d->bytes)
		siglongjmp(d->over, DEMANGLE_TOO_LONG);
	memcpy(d->text + d->bytes, part, bytes);
	d->bytes += bytes;
}

/*
 * libiberty puts references x templates (each counted at most twice) on the stack. Real names stay
 * far below this bound, and the thread's stack (STORE_STACK_BYTES) is sized for it.
 */
static bool fits_stack(const char *mangled)
{
	size_t references = 0, templates = 0;

	for (const char *at = mangled; *at; at++) {
		templates += *at == 'I';
		references += (*at == 'R' || *at == 'O') && at[1] == 'T';
	}
	return references * templates <= DEMANGLE_PAIRS_MAX;
}

/*
 * Demangles with a bound on output and time. libiberty cannot be stopped: a name of 200 bytes can
 * ask for more output than any disk holds, or for hours of work without output. So we leave it by a
 * jump, from its callback or from a signal handler. That is safe because it keeps everything on the
 * stack, allocates nothing and holds no lock.
 */
static enum demangle_end demangle_for_a_while(const char *mangled, struct demangled *d)
{
	volatile bool is_name = false;
	int end = sigsetjmp(d->over, 0);

	if (end == DEMANGLE_RETURNED) {
		out_of_time = &d->over;
		/* libiberty's own limit would refuse every name over 1 KiB; ours is
		 * SYMBOL_BYTES_MAX. */
		is_name = cplus_demangle_v3_callback(mangled, DEMANGLE_OPTIONS, take_part, d);
	}
	out_of_time = NULL;
	if (!is_name)
		d->bytes = 0;
	return (enum demangle_end)end;
}

/* If @d has no bytes, @mangled is not a mangled name or its output is too long. */
static enum demangle_end demangle_mangled(const char *mangled, struct demangled *d)
{
	static pthread_once_t once = PTHREAD_ONCE_INIT;
	const struct itimerspec most = {.it_value.tv_nsec = DEMANGLE_NS_MAX};
	struct sigevent event = {.sigev_notify = SIGEV_THREAD_ID,
		.sigev_signo = DEMANGLE_SIGNAL,
		._sigev_un._tid = gettid()};
	enum demangle_end end = DEMANGLE_RETURNED;
	sigset_t ours, before;
	timer_t timer;

	pthread_once(&once, install_handler);
	if (timer_create(CLOCK_THREAD_CPUTIME_ID, &event, &timer) < 0)
		return end; /* demangling never starts without a time limit */
	sigemptyset(&ours);
	sigaddset(&ours, DEMANGLE_SIGNAL);
	pthread_sigmask(SIG_UNBLOCK, &ours, &before);
	if (timer_settime(timer, 0, &most, NULL) == 0)
		end = demangle_for_a_while(mangled, d);
	timer_delete(timer);
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	return end;
}

char *text_demangle(const char *symbol, unsigned *stopped)
{
	size_t bytes = strlen(symbol);
	CLEANUP(free_p) struct demangled *d = NULL;
	CLEANUP(free_p) char *plain = NULL;

	if (bytes > 3 && !strcmp(symbol + bytes - 3, ".kd"))
		bytes -= 3;
	plain = strndup(symbol, bytes);
	if (!plain)
		return NULL;
	if (strncmp(plain, "_Z", 2) || bytes > SYMBOL_BYTES_MAX || !fits_stack(plain) ||
		*stopped >= TEXT_STOPPED_MAX)
		return TAKE(plain);
	d = calloc(1, sizeof(*d));
	if (!d)
		return NULL;
	*stopped += demangle_mangled(plain, d) == DEMANGLE_OUT_OF_TIME;
	if (!d->bytes)
		return TAKE(plain);
	/* Identifiers in a mangled name are bytes, so one may end in the middle of a character. */
	return text_clean(d->text, d->bytes, TEXT_DEMANGLED_BYTES_MAX);
}
