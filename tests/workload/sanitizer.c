// SPDX-License-Identifier: MIT
/* Suppressions of the sanitizers for the HSA runtime, which is not built with them. */
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
const char *__lsan_default_suppressions(void);
const char *__tsan_default_suppressions(void);

/* It keeps some of its own, and all of ours that --no-shutdown and --no-wait leave to it. */
__attribute__((visibility("default"))) const char *__lsan_default_suppressions(void)
{
	return "leak:libhsa-runtime64\n";
}

/*
 * Copies go to the copy engine through the runtime alone, so ThreadSanitizer cannot see that the
 * engine reads after we wrote. For packets and signals, see gpu_wait and queue_reserve.
 */
__attribute__((visibility("default"))) const char *__tsan_default_suppressions(void)
{
	return "called_from_lib:libhsa-runtime64\n"
	       "race:sdma_step\n";
}
#endif
