// SPDX-License-Identifier: MIT
#include "cli/base/user_name.h"

#include <inttypes.h>
#include <pwd.h>
#include <stdio.h>

const char *user_name(uint32_t uid, char ret[USER_NAME_BYTES])
{
	const struct passwd *user = getpwuid(uid);

	if (user)
		snprintf(ret, USER_NAME_BYTES, "%s", user->pw_name);
	else
		snprintf(ret, USER_NAME_BYTES, "%" PRIu32, uid);
	return ret;
}
