// SPDX-License-Identifier: MIT
#include "cli/tree/gpu_peak.h"

#include <ctype.h>
#include <stdbool.h>
#include <stddef.h>
#include <string.h>

/* clang-format off */
/* Names of which others are the beginning come first. 0: the maker gives no figure. */
static const struct gpu_peak peaks[] = {
	/* product            FP64    FP32    FP16    BF16     FP8    INT8     GB/s */
	{"MI355X",          { 78.6,  157.3, 2516.6, 2516.6, 5033.2, 5033.2}, 8000},
	{"MI350X",          { 72.1,  144.2, 2306.9, 2306.9, 4613.7, 4613.7}, 8000},
	{"MI350P",          { 36.0,   72.1, 1153.4, 1153.4, 2306.9, 2306.9}, 4000},
	{"MI325X",          {163.4,  163.4, 1307.4, 1307.4, 2614.9, 2614.9}, 6000},
	{"MI300X",          {163.4,  163.4, 1307.4, 1307.4, 2614.9, 2614.9}, 5300},
	{"MI300A",          {122.6,  122.6,  980.6,  980.6, 1961.2, 1961.2}, 5300},
	/* Each of the two dies is a GPU. */
	{"MI250X",          {47.85,  47.85,  191.5,  191.5,      0,  191.5}, 1638.4},
	{"MI250",           {45.25,  45.25, 181.05, 181.05,      0, 181.05}, 1638.4},
	{"MI210",           { 45.3,   45.3,  181.0,  181.0,      0,  181.0}, 1638.4},
	/* FP64 is that of the vector units, as its matrix units have none. */
	{"MI100",           { 11.5,   46.1,  184.6,   92.3,      0,  184.6}, 1228.8},
	/* Slower than the others of its name; no data sheet was at hand. */
	{"H200 NVL",        {    0,      0,      0,      0,      0,      0}, 0},
	{"H200",            { 66.9,   66.9,  989.4,  989.4, 1978.9, 1978.9}, 4800},
	{"H100 80GB HBM3",  { 66.9,   66.9,  989.4,  989.4, 1978.9, 1978.9}, 3350},
	{"H100 SXM",        { 66.9,   66.9,  989.4,  989.4, 1978.9, 1978.9}, 3350},
	{"H100 PCIe",       { 51.2,   51.2,  756.4,  756.4, 1512.9, 1512.9}, 2000},
	{"A100-SXM4-80GB",  { 19.5,   19.5,  311.9,  311.9,      0,  623.9}, 2039},
	{"A100 80GB PCIe",  { 19.5,   19.5,  311.9,  311.9,      0,  623.9}, 1935},
	{"A100",            { 19.5,   19.5,  311.9,  311.9,      0,  623.9}, 1555},
	{"V100-PCIE",       {  7.0,   14.0,  112.0,      0,      0,      0},  900},
	{"V100",            {  7.8,   15.7,  125.0,      0,      0,      0},  900},
};
/* clang-format on */

/* A GH200 is no H200, and a V100S no V100. */
static bool has_word(const char *name, const char *word)
{
	size_t length = strlen(word);

	for (const char *at = name; (at = strstr(at, word)); at++)
		if ((at == name || !isalnum((unsigned char)at[-1])) &&
			!isalnum((unsigned char)at[length]))
			return true;
	return false;
}

const struct gpu_peak *gpu_peak_find(const char *name)
{
	for (size_t i = 0; name && i < sizeof(peaks) / sizeof(*peaks); i++)
		if (has_word(name, peaks[i].name))
			return peaks[i].gigabytes > 0 ? peaks + i : NULL;
	return NULL;
}

double gpu_peak_least_ns(const struct gpu_peak *peak, const struct op_cost *cost)
{
	double teraflops = peak && cost->has_precision ? peak->teraflops[cost->precision] : 0;
	double arithmetic_ns, memory_ns;

	if (teraflops <= 0 || !cost->has_bytes)
		return -1;
	arithmetic_ns = cost->flops / teraflops / 1e3;
	memory_ns = cost->bytes / peak->gigabytes;
	return arithmetic_ns > memory_ns ? arithmetic_ns : memory_ns;
}
