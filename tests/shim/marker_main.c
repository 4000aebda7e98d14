/* SPDX-License-Identifier: MIT
 *
 * A program that says what it does, with the real runtime up and no kernel at all.
 * usage: shim-markers flood THREADS MARKS | open | early | child | odd | crowd | last
 *   flood  every thread makes MARKS marks as fast as it can; prints "made TOTAL"
 *   open   leaves ranges open and dies by SIGKILL, at once
 *   early  the same, with its ranges begun before the runtime
 *   child  opens a range and forks; it is the child that has a runtime, and a range of its own
 *   crowd  has more threads in ranges than the shim has places for; most of them end first
 *   last   its thread ends its range in the destructor of a key
 *   odd    ends ranges that were never begun and names what does not exist, like a faulty program
 */
#include <dlfcn.h>
#include <pthread.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#define THREADS_MAX 64

static struct {
	void (*mark)(const char *text);
	int (*push)(const char *text);
	int (*pop)(void);
	uint64_t (*start)(const char *text);
	void (*stop)(uint64_t id);
	int (*name)(const char *text);
	int (*name_agent)(const char *text, const uint64_t *agent);
	int (*name_stream)(const char *text, void *stream);
} roctx;

static unsigned long marks;

static void die(const char *what)
{
	fprintf(stderr, "shim-markers: %s\n", what);
	exit(2);
}

static void *find(void *library, const char *name)
{
	void *function = dlsym(library, name);

	if (!function)
		die(name);
	return function;
}

/* Like a program that asks the loader, not a library: finds the preloaded shim. */
static void find_roctx(void)
{
	void *function;

#define FIND(member, symbol)                                                                       \
	function = find(RTLD_DEFAULT, symbol);                                                     \
	memcpy(&roctx.member, &function, sizeof(function))
	FIND(mark, "roctxMarkA");
	FIND(push, "roctxRangePushA");
	FIND(pop, "roctxRangePop");
	FIND(start, "roctxRangeStartA");
	FIND(stop, "roctxRangeStop");
	FIND(name, "roctxNameOsThread");
	FIND(name_agent, "roctxNameHsaAgent");
	FIND(name_stream, "roctxNameHipStream");
#undef FIND
}

/* Also calls hsa_shut_down() if @what says so. */
static void runtime(const char *what)
{
	void *library = dlopen("libhsa-runtime64.so.1", RTLD_NOW | RTLD_GLOBAL);
	void *function = library ? find(library, what) : NULL;
	int (*call)(void);

	if (!function)
		die("no runtime");
	memcpy(&call, &function, sizeof(function));
	if (call())
		die(what);
}

static void *flood(void *argument)
{
	(void)argument;
	for (unsigned long i = 0; i < marks; i++)
		roctx.mark("flood");
	return NULL;
}

static int run_flood(unsigned threads)
{
	pthread_t thread[THREADS_MAX];

	if (!threads || threads > THREADS_MAX)
		die("threads");
	runtime("hsa_init");
	for (unsigned i = 0; i < threads; i++)
		if (pthread_create(&thread[i], NULL, flood, NULL))
			die("pthread_create");
	for (unsigned i = 0; i < threads; i++)
		pthread_join(thread[i], NULL);
	runtime("hsa_shut_down");
	printf("made %lu\n", threads * marks);
	return 0;
}

static void *stop_elsewhere(void *id)
{
	roctx.stop(*(uint64_t *)id);
	return NULL;
}

static int run_open(int is_early)
{
	pthread_t thread;
	uint64_t id;

	if (!is_early)
		runtime("hsa_init");
	roctx.name("the one thread");
	roctx.push("outer");
	roctx.push("inner");
	roctx.push("done");
	roctx.pop();
	id = roctx.start("stopped elsewhere");
	(void)roctx.start("never stopped");
	if (is_early)
		runtime("hsa_init");
	if (pthread_create(&thread, NULL, stop_elsewhere, &id))
		die("pthread_create");
	pthread_join(thread, NULL);
	roctx.mark("loss=0.5 lr=3e-4");
	if (is_early)
		runtime("hsa_shut_down");
	raise(SIGKILL);
	return 2;
}

static int run_child(void)
{
	int status = -1;
	pid_t pid;

	roctx.push("parent");
	pid = fork();
	if (pid)
		return pid < 0 || waitpid(pid, &status, 0) != pid || status;
	runtime("hsa_init");
	roctx.push("child");
	roctx.pop();
	roctx.pop();
	runtime("hsa_shut_down");
	return 0;
}

/* More threads than BLOCKS_MAX of shim/base/thread.c. */
#define CROWD	   4160
#define CROWD_LAST 100

static pthread_barrier_t all_in, others_out;
static _Atomic unsigned wrong_levels;

static void *be_in_crowd(void *is_last)
{
	wrong_levels += roctx.push("crowd") != 0;
	pthread_barrier_wait(&all_in);
	if (is_last) {
		pthread_barrier_wait(&others_out);
		roctx.mark("in its range");
	}
	wrong_levels += roctx.pop() != 0;
	return NULL;
}

static int run_crowd(void)
{
	static pthread_t thread[CROWD];
	pthread_attr_t small;

	pthread_attr_init(&small);
	pthread_attr_setstacksize(&small, 128 << 10);
	pthread_barrier_init(&all_in, NULL, CROWD);
	pthread_barrier_init(&others_out, NULL, CROWD_LAST + 1);
	runtime("hsa_init");
	for (unsigned i = 0; i < CROWD; i++)
		if (pthread_create(&thread[i], &small, be_in_crowd,
			    i < CROWD - CROWD_LAST ? NULL : thread))
			die("pthread_create");
	for (unsigned i = 0; i < CROWD - CROWD_LAST; i++)
		pthread_join(thread[i], NULL);
	pthread_barrier_wait(&others_out);
	for (unsigned i = CROWD - CROWD_LAST; i < CROWD; i++)
		pthread_join(thread[i], NULL);
	runtime("hsa_shut_down");
	return wrong_levels != 0;
}

static pthread_key_t at_end;

static void pop_at_end(void *value)
{
	(void)value;
	wrong_levels += roctx.pop() != 0;
}

static void *leave_open(void *argument)
{
	pthread_setspecific(at_end, &at_end);
	roctx.push("a scope");
	return argument;
}

static int run_last(void)
{
	pthread_t thread;

	if (pthread_key_create(&at_end, pop_at_end))
		die("pthread_key_create");
	runtime("hsa_init");
	if (pthread_create(&thread, NULL, leave_open, NULL))
		die("pthread_create");
	pthread_join(thread, NULL);
	runtime("hsa_shut_down");
	return wrong_levels != 0;
}

static int run_odd(void)
{
	static const uint64_t ids[] = {0, 77, UINT64_C(1) << 62, UINT64_C(1) << 63, UINT64_MAX};
	uint64_t agent = UINT64_MAX;

	runtime("hsa_init");
	roctx.push("before");
	for (size_t i = 0; i < sizeof(ids) / sizeof(ids[0]); i++)
		roctx.stop(ids[i]);
	roctx.name_agent("no agent", &agent);
	roctx.name_stream("no stream", (void *)UINTPTR_MAX);
	roctx.pop();
	roctx.mark("after");
	runtime("hsa_shut_down");
	return 0;
}

int main(int argc, char **argv)
{
	find_roctx();
	if (argc == 4 && !strcmp(argv[1], "flood")) {
		marks = strtoul(argv[3], NULL, 10);
		return run_flood((unsigned)strtoul(argv[2], NULL, 10));
	}
	if (argc == 2 && (!strcmp(argv[1], "open") || !strcmp(argv[1], "early")))
		return run_open(argv[1][0] == 'e');
	if (argc == 2 && !strcmp(argv[1], "child"))
		return run_child();
	if (argc == 2 && !strcmp(argv[1], "odd"))
		return run_odd();
	if (argc == 2 && !strcmp(argv[1], "crowd"))
		return run_crowd();
	if (argc == 2 && !strcmp(argv[1], "last"))
		return run_last();
	die("usage: shim-markers flood THREADS MARKS | open | early | child | odd | crowd | last");
	return 2;
}
