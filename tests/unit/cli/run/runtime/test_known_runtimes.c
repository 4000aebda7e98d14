// SPDX-License-Identifier: MIT
/* What is known of runtimes before a job starts: the libraries of packages, and runtimes that fail
 * programs. */
#include <stdio.h>
#include <string.h>

#include "cli/run/runtime/runtime.h"
#include "tests/lib/test.h"

TEST_CASE(libraries_are_known_with_a_version_a_hash_or_neither)
{
	static const struct {
		const char *file;
		enum package_library library;
	} names[] = {
		{"libhsa-runtime64.so.1.18.70204", LIBRARY_HSA},
		{"libhsa-runtime64.so", LIBRARY_HSA},
		{"libamdhip64-1a2b3c4d.so.7.2.53211", LIBRARY_HIP},
		{"librccl.so.1", LIBRARY_RCCL},
		{"librccl-0123456789abcdef.so", LIBRARY_RCCL},
		{"libroctx64.so.4", LIBRARY_ROCTX},
		{"librocprofiler-sdk-roctx.so", LIBRARY_SDK_ROCTX},
		{"librocprofiler-sdk-roctx-1a2b3c4d.so.1", LIBRARY_SDK_ROCTX},
		{"librocprofiler-sdk.so.1.0.0", LIBRARY_SDK},
		{"librocprofiler-register.so.0", LIBRARY_REGISTER},
		{"librccl-net.so", LIBRARY_COUNT},
		{"librocprofiler-sdk-rocpd.so.1", LIBRARY_COUNT},
		{"libamdhip64.a", LIBRARY_COUNT},
		{"libamdhip64.sox", LIBRARY_COUNT},
		{"libhip64.so", LIBRARY_COUNT},
	};

	for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++)
		if (package_library_of(names[i].file) != names[i].library)
			fail_msg("%s is %d", names[i].file, package_library_of(names[i].file));
}

static int known(unsigned root, unsigned bytes, unsigned step)
{
	const struct known_runtime *found;
	char answer[RUNTIME_ANSWER_BYTES];

	snprintf(answer, sizeof(answer),
		"runtime /lib/libhsa-runtime64.so.1\nbuild \nrelease ROCm\ntable %u\next_bytes "
		"%u\next_step %u\n",
		root, bytes, step);
	found = runtime_known(answer);
	if (found) {
		assert_non_null(strstr(found->symptom, "intercept queue"));
		assert_non_null(found->todo);
		assert_non_null(found->source);
	}
	return found != NULL;
}

TEST_CASE(runtimes_whose_intercept_queue_ends_programs_are_named_and_others_are_not)
{
	assert_int_equal(known(1, 400, 0), 1); /* 5.2.3 */
	assert_int_equal(known(3, 592, 5), 0); /* 6.4 */
	assert_int_equal(known(3, 608, 7), 0); /* 7.0 */
	assert_int_equal(known(3, 624, 8), 1); /* 7.2.4 */
	assert_int_equal(known(3, 640, 9), 0);
}
