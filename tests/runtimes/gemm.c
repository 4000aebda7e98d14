/* SPDX-License-Identifier: MIT
 *
 * runtimes-gemm HIP ROCBLAS N: opens rocBLAS as programs do that do not link it, and multiplies
 * matrices N times. Prints how many products were asked for.
 */
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>

#include "tests/lib/check.h"

#define SIDE	     128
#define NO_TRANSPOSE 111

static void *find(void *library, const char *name)
{
	void *function = dlsym(library, name);

	if (!function) {
		fprintf(stderr, "gemm: %s\n", dlerror());
		exit(1);
	}
	return function;
}

#define CALL(library, name, types, ...)                                                            \
	check(((int(*) types)find(library, #name))(__VA_ARGS__), #name)

int main(int argc, char **argv)
{
	const float one = 1;
	void *hip, *blas, *handle, *matrix[3];
	int n;

	if (argc != 4)
		return 2;
	n = atoi(argv[3]);
	hip = dlopen(argv[1], RTLD_NOW | RTLD_LOCAL);
	blas = hip ? dlopen(argv[2], RTLD_NOW | RTLD_LOCAL) : NULL;
	if (!blas) {
		fprintf(stderr, "gemm: %s\n", dlerror());
		return 1;
	}
	CALL(blas, rocblas_create_handle, (void **), &handle);
	for (int i = 0; i < 3; i++)
		CALL(hip, hipMalloc, (void **, size_t), matrix + i, sizeof(one) * SIDE * SIDE);
	for (int i = 0; i < n; i++)
		CALL(blas, rocblas_sgemm,
			(void *, int, int, int, int, int, const float *, const void *, int,
				const void *, int, const float *, void *, int),
			handle, NO_TRANSPOSE, NO_TRANSPOSE, SIDE, SIDE, SIDE, &one, matrix[0], SIDE,
			matrix[1], SIDE, &one, matrix[2], SIDE);
	CALL(hip, hipDeviceSynchronize, (void));
	CALL(blas, rocblas_destroy_handle, (void *), handle);
	printf("multiplied %d times\n", n);
	return 0;
}
