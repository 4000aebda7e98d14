// SPDX-License-Identifier: MIT
/* The least that can be executed: static, and at its end at once. */
int main(void)
{
	return 0;
}
