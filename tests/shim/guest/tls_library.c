/* SPDX-License-Identifier: MIT
 * A library whose thread-local variables have to lie in the block that is made with a thread. */
char *guest_tls(void);

static __thread char block[128] __attribute__((tls_model("initial-exec")));

__attribute__((visibility("default"))) char *guest_tls(void)
{
	return block;
}
