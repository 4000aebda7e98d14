/* SPDX-License-Identifier: MIT */
/* The main() of those tests that have none of their own. */
#include "tests/lib/test.h"

int main(void)
{
	return test_run(NULL, NULL);
}
