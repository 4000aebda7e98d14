/* SPDX-License-Identifier: MIT */
#include "collectord/ingest/call_arguments.h"

#include <stdlib.h>
#include <string.h>

#include <sqlite3.h>

#include "proto/names/collectives.h"
#include "tests/lib/test.h"

static const char *json(enum rtl_host_call api, const uint64_t *words)
{
	static char text[ARGUMENTS_BYTES_MAX];

	size_t bytes = arguments_json(&host_call_info[api], words, text);

	assert_int_equal(bytes, strlen(text));
	return text;
}

TEST_CASE(arguments_are_named)
{
	const uint64_t copy[] = {0x7f0000001000, 0x10, 4096, 1};
	const uint64_t launch[] = {0xabc, 1, 2, 3, 64, 1, 1, 512};
	const uint64_t device[] = {(uint32_t)-2};
	const uint64_t graph[] = {0x5000, 7};
	uint64_t load[1 + HOST_TEXT_WORDS] = {0x20};
	uint64_t elapsed[] = {0, 1, 2};
	float ms = 1.5f;

	memcpy(&elapsed[0], &ms, sizeof(ms));
	memcpy(&load[1], "a\"b\\c\x01\xff", 7);
	assert_string_equal(json(RTL_HOST_hipMemcpyAsync, copy),
		"{\"dst\":\"0x7f0000001000\",\"src\":\"0x10\",\"bytes\":4096,"
		"\"kind\":\"HostToDevice\"}");
	assert_string_equal(json(RTL_HOST_hipLaunchKernel, launch),
		"{\"function\":\"0xabc\",\"gridX\":1,\"gridY\":2,\"gridZ\":3,\"blockX\":64,"
		"\"blockY\":1,\"blockZ\":1,\"shared\":512}");
	assert_string_equal(json(RTL_HOST_hipSetDevice, device), "{\"device\":-2}");
	assert_string_equal(json(RTL_HOST_hipGraphLaunch, graph), "{\"graphExec\":\"0x5000\"}");
	assert_string_equal(json(RTL_HOST_hipEventElapsedTime, elapsed),
		"{\"ms\":1.5,\"start\":\"0x1\",\"stop\":\"0x2\"}");
	assert_string_equal(json(RTL_HOST_hipModuleLoad, load),
		"{\"module\":\"0x20\",\"file\":\"a\\\"b\\\\c\\u0001\\u00ff\"}");
	assert_string_equal(json(RTL_HOST_hipDeviceSynchronize, NULL), "{}");
}

/* Whatever the words are: one JSON object that SQLite reads. */
TEST_CASE(any_words_are_json)
{
	sqlite3_stmt *check;
	sqlite3 *db;

	assert_int_equal(sqlite3_open(":memory:", &db), SQLITE_OK);
	assert_int_equal(
		sqlite3_prepare_v2(db, "SELECT json_valid(?1)", -1, &check, NULL), SQLITE_OK);
	for (unsigned fill = 0; fill < 256; fill += 17) {
		uint64_t words[HOST_ARGS_MAX];

		memset(words, (int)fill, sizeof(words));
		for (int api = 0; api < RTL_HOST_COUNT; api++) {
			sqlite3_bind_text(check, 1, json((enum rtl_host_call)api, words), -1,
				SQLITE_TRANSIENT);
			assert_int_equal(sqlite3_step(check), SQLITE_ROW);
			assert_int_equal(sqlite3_column_int(check, 0), 1);
			sqlite3_reset(check);
		}
	}
	sqlite3_finalize(check);
	sqlite3_close(db);
}

TEST_CASE(every_function_is_in_the_table_once)
{
	char names[ARGUMENTS_BYTES_MAX];

	assert_true(RTL_HOST_COUNT >= 100);
	for (int i = 0; i < RTL_HOST_COUNT; i++) {
		assert_memory_equal(host_call_info[i].name,
			i < RTL_HOST_hsa_kernel_dispatch_packet ? "hip" : "hsa_",
			i < RTL_HOST_hsa_kernel_dispatch_packet ? 3 : 4);
		assert_true(host_call_info[i].words <= HOST_ARGS_MAX);
		for (int k = 0; k < i; k++)
			assert_string_not_equal(host_call_info[i].name, host_call_info[k].name);
	}
	arguments_names(&host_call_info[RTL_HOST_hipMemcpy], names);
	assert_string_equal(names, "dst,src,bytes,kind");
}

TEST_CASE(collectives_have_names)
{
	assert_string_equal(collective_name(RTL_COLLECTIVE_ncclAllToAllv), "ncclAllToAllv");
	assert_null(collective_name(RTL_COLLECTIVE_COUNT));
	assert_true(collective_moves(RTL_COLLECTIVE_ncclRecv));
	assert_false(collective_moves(RTL_COLLECTIVE_ncclGroupEnd));
	assert_false(collective_moves(UINT32_MAX));
	assert_string_equal(collective_type_name(10), "float8e4m3");
	assert_int_equal(collective_type_bytes(9), 2);
	assert_null(collective_type_name(12));
	assert_int_equal(collective_type_bytes(COLLECTIVE_NO_TYPE), 0);
	assert_string_equal(collective_reduction_name(4), "avg");
	assert_string_equal(collective_reduction_name(77), "custom");
	assert_null(collective_reduction_name(COLLECTIVE_NO_REDUCTION));
}
