/* SPDX-License-Identifier: MIT */
#include <errno.h>
#include <string.h>
#include <unistd.h>

#include "shim/base/config.h"
#include "shim/base/process/identity.h"
#include "tests/lib/test.h"

TEST_CASE(a_name_with_blanks_and_parentheses_does_not_shift_the_fields)
{
	uint64_t start = 0;

	assert_int_equal(identity_parse_stat("12 (a) 3 (b)) S 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 "
					     "16 17 18 424242 20\n",
				 &start),
		0);
	assert_int_equal(start, 424242);
	assert_int_equal(identity_parse_stat("12 (a) S 1 2", &start), -EBADMSG);
	assert_int_equal(identity_parse_stat("", &start), -EBADMSG);
}

TEST_CASE(a_boot_id_is_sixteen_bytes_or_refused)
{
	uint8_t id[16];

	assert_int_equal(identity_parse_uuid("00112233-4455-6677-8899-aAbBcCdDeEfF\n", id), 0);
	assert_int_equal(id[1], 0x11);
	assert_int_equal(id[15], 0xff);
	assert_int_equal(identity_parse_uuid("0011", id), -EBADMSG);
	assert_int_equal(
		identity_parse_uuid("00112233-4455-6677-8899-aabbccddeeff0", id), -EBADMSG);
	assert_int_equal(identity_parse_uuid("00112233-4455-6677-8899-aabbccddeefg", id), -EBADMSG);
}

TEST_CASE(this_process_is_known)
{
	struct identity one, two;

	assert_int_equal(identity_read(&one), 0);
	assert_int_equal(identity_read(&two), 0);
	assert_int_equal(one.pid, getpid());
	assert_true(one.start_time > 0);
	assert_int_equal(one.start_time, two.start_time);
	assert_memory_equal(one.boot_id, two.boot_id, sizeof(one.boot_id));
	assert_memory_not_equal(one.token, two.token, sizeof(one.token));
	assert_non_null(strstr(one.exe, "test_shim_identity"));
	assert_non_null(strstr(one.command, "test_shim_identity"));
	assert_true(one.host[0] != '\0');
}

TEST_CASE(configuration_comes_from_the_table)
{
	const char *environment[] = {
		"RTL_SOCKET=/tmp/x.sock", "RTL_DEBUG=2", "RTL_MODE=lite", NULL};
	const char *off[] = {"RTL_MODE=off", "RTL_DEBUG=yes", "RTL_EXIT_MS=1500", NULL};
	struct config config;

	config_read(environment, &config);
	assert_string_equal(config.socket, "/tmp/x.sock");
	assert_int_equal(config.debug, 2);
	assert_string_equal(config.mode->name, "lite");
	assert_string_equal(config.complaint, "");
	assert_false(config.is_off);
	assert_int_equal(config.exit_ns, EXIT_NS_MAX);
	config_read(off, &config);
	assert_true(config.is_off);
	assert_int_equal(config.debug, 0);
	assert_string_equal(config.socket, "");
	assert_int_equal(config.exit_ns, 1500000000);
}

TEST_CASE(a_mode_is_a_set_of_capabilities)
{
	static const struct {
		const char *mode;
		const char *name;
		unsigned has;
	} expected[] = {
		{"RTL_MODE=", "standard", OWN_SIGNAL_TIMES},
		{"RTL_MODE=default", "standard", OWN_SIGNAL_TIMES},
		{"RTL_MODE=lite", "lite", 0},
		{"RTL_MODE=full", "full", OWN_SIGNAL_TIMES | COPY_TIMES | GRAPH_CALLS},
		{"RTL_MODE=hip", "hip", OWN_SIGNAL_TIMES | HOST_CALLS},
		{"RTL_MODE=barriers", "barriers", OWN_SIGNAL_TIMES | COPY_TIMES | SIGNAL_EDGES},
		{"RTL_MODE=all", "all", OWN_SIGNAL_TIMES | COPY_TIMES | HOST_CALLS},
		{"RTL_MODE=off", "off", 0},
		{"RTL_MODE=litte", "standard", OWN_SIGNAL_TIMES},
	};
	struct config config;

	for (size_t i = 0; i < sizeof(expected) / sizeof(expected[0]); i++) {
		config_read((const char *const[]){expected[i].mode, NULL}, &config);
		assert_string_equal(config.mode->name, expected[i].name);
		for (unsigned bit = 1; bit <= HOST_CALLS; bit <<= 1)
			assert_int_equal(config_has(bit), (expected[i].has & bit) != 0);
	}
	assert_string_equal(config.complaint, "RTL_MODE=litte is not lite, standard, full, hip, "
					      "barriers, all or off; recording as standard");
}

TEST_CASE(a_time_that_is_none_is_the_default)
{
	static const char *const wrong[] = {"RTL_EXIT_MS=", "RTL_EXIT_MS=-1", "RTL_EXIT_MS=1s",
		"RTL_EXIT_MS=600001", "RTL_EXIT_MS=99999999999999999999"};
	struct config config;

	for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++) {
		config_read((const char *const[]){wrong[i], NULL}, &config);
		assert_int_equal(config.exit_ns, EXIT_NS_MAX);
		assert_int_equal(config.complaint[0] != '\0', i > 0);
	}
}

TEST_CASE(an_environment_without_a_socket_gives_way_to_the_one_that_the_process_began_with)
{
	const char *first[] = {
		"PATH=/bin", "RTL_SOCKET=/tmp/x.sock", "RTL_MODE=full", "RTL_EXIT_MS=1500", NULL};
	const char *other[] = {"RTL_SOCKET=/tmp/y.sock", NULL};
	const char *none[] = {"RTL_MODE=lite", NULL};
	struct config config;

	config_remember(first);
	config_read(NULL, &config);
	assert_string_equal(config.socket, "/tmp/x.sock");
	assert_string_equal(config.mode->name, "full");
	assert_int_equal(config.exit_ns, 1500000000);
	config_read(other, &config);
	assert_string_equal(config.socket, "/tmp/y.sock");
	assert_string_equal(config.mode->name, "standard");
	config_remember(none);
	config_read(NULL, &config);
	assert_string_equal(config.socket, "");
	assert_string_equal(config.mode->name, "standard");
}
