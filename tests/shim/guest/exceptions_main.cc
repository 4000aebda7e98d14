/* SPDX-License-Identifier: MIT
 *
 * shim-guest-exceptions: calls that are left by a C++ exception or by the end of their thread, with
 * our wrappers' frames in between, and a callback of the runtime's that throws.
 */
#include <cstddef>
#include <cstdio>
#include <pthread.h>
#include <stdexcept>

#include <hsa/hsa.h>

enum { RETURNS = 12, THROWS = 13, ENDS_THREAD = 14 };

extern "C" {
int ncclAllReduce(const void *, void *, size_t, int, int, void *, void *);
int hipStreamSynchronize(void *);
}

struct witness {
	const char *name;
	~witness() { printf("left %s\n", name); }
};

static int reduce(size_t how)
{
	witness here = {"ncclAllReduce"};

	return ncclAllReduce(nullptr, nullptr, how, 7, 0, nullptr, nullptr);
}

static int synchronize(size_t how)
{
	witness here = {"hipStreamSynchronize"};

	return hipStreamSynchronize(reinterpret_cast<void *>(how));
}

static void attempt(int (*call)(size_t), size_t how)
{
	try {
		printf("%d\n", call(how));
	} catch (const std::exception &e) {
		printf("caught %s\n", e.what());
	}
}

static hsa_status_t throw_here(hsa_agent_t, void *)
{
	throw std::runtime_error("from a callback");
}

static int iterate(size_t)
{
	return hsa_iterate_agents(throw_here, nullptr) == HSA_STATUS_SUCCESS;
}

static void *end_within(void *call)
{
	(void)reinterpret_cast<int (*)(size_t)>(call)(ENDS_THREAD);
	return call;
}

static void end_thread(int (*call)(size_t))
{
	pthread_t thread;
	void *ret = nullptr;

	if (!pthread_create(&thread, nullptr, end_within, reinterpret_cast<void *>(call)))
		pthread_join(thread, &ret);
	printf("%s\n", ret ? "returned" : "ended");
}

int main()
{
	if (hsa_init() != HSA_STATUS_SUCCESS)
		return 99;
	for (int i = 0; i < 10; i++) {
		attempt(reduce, RETURNS);
		attempt(reduce, THROWS);
		attempt(synchronize, THROWS);
		attempt(synchronize, RETURNS);
		end_thread(reduce);
		end_thread(synchronize);
		attempt(iterate, 0);
	}
	return hsa_shut_down() != HSA_STATUS_SUCCESS;
}
