// SPDX-License-Identifier: MIT
/*
 * softgpu-topology DIR: writes what the driver shows of its nodes in sysfs, for programs that read
 * it there and not through the thunk (RCCL, rocm-smi). DIR stands for /sys, and must not have such
 * nodes yet.
 */
#include "tests/softgpu/softgpu.h"

#include <errno.h>
#include <limits.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define NODES	     "class/kfd/kfd/topology/nodes"
#define RENDER_MINOR 128u /* of the first GPU; there is no such device file */

static void die(const char *path)
{
	fprintf(stderr, "softgpu-topology: %s: %s\n", path, strerror(errno));
	exit(1);
}

/* All folders of @path, the last of which must be new if @is_new. */
static void make_folder(const char *path, bool is_new)
{
	char part[PATH_MAX];
	int err = 0;

	for (size_t i = 1; path[i - 1]; i++) {
		if (path[i] && path[i] != '/')
			continue;
		snprintf(part, sizeof(part), "%.*s", (int)i, path);
		err = mkdir(part, 0755) ? errno : 0;
		if (err && err != EEXIST)
			break;
	}
	errno = err;
	if (err && (is_new || err != EEXIST))
		die(path);
}

__attribute__((format(printf, 2, 3))) static FILE *open_file(
	const char *name, const char *format, ...)
{
	char path[PATH_MAX];
	va_list args;
	size_t len;
	FILE *f;

	va_start(args, format);
	vsnprintf(path, sizeof(path), format, args);
	va_end(args);
	make_folder(path, false);
	len = strlen(path);
	snprintf(path + len, sizeof(path) - len, "/%s", name);
	f = fopen(path, "we");
	if (!f)
		die(path);
	return f;
}

static void close_file(FILE *f)
{
	if (fclose(f))
		die("write");
}

static void write_text(const char *folder, const char *name, const char *text)
{
	FILE *f = open_file(name, "%s", folder);

	fprintf(f, "%s\n", text);
	close_file(f);
}

/* The driver writes these for the CPU too, which has none of it. */
static void write_gpu(FILE *f, uint32_t node, const HsaNodeProperties *p)
{
	static const struct gfx_target none;
	const struct gfx_target *t = node ? softgpu_config.gfx[node - 1] : &none;

	fprintf(f, "lds_size_in_kb %u\nwave_front_size %u\narray_count %u\nsimd_per_cu %u\n",
		p->LDSSizeInKB, p->WaveFrontSize, p->NumShaderBanks, p->NumSIMDPerCU);
	fprintf(f, "cu_per_simd_array %u\nsimd_arrays_per_engine %u\nmax_waves_per_simd %u\n",
		p->NumCUPerArray, p->NumArrays, p->MaxWavesPerSIMD);
	fprintf(f, "gfx_target_version %u\nvendor_id %u\ndevice_id %u\n",
		t->major * 10000 + t->minor * 100 + t->stepping, p->VendorId, p->DeviceId);
	fprintf(f, "location_id %u\ndomain %u\ndrm_render_minor %u\nhive_id %llu\n", p->LocationId,
		p->Domain, node ? RENDER_MINOR + node - 1 : 0, (unsigned long long)p->HiveID);
	fprintf(f, "num_sdma_engines %u\nnum_sdma_xgmi_engines %u\n", p->NumSdmaEngines,
		p->NumSdmaXgmiEngines);
	fprintf(f, "num_sdma_queues_per_engine %u\nnum_cp_queues %u\nnum_gws %u\n",
		p->NumSdmaQueuesPerEngine, p->NumCpQueues, p->NumGws);
	fprintf(f, "unique_id %llu\nnum_xcc %u\nlocal_mem_size %llu\n",
		(unsigned long long)p->UniqueID, t->xccs, (unsigned long long)p->LocalMemSize);
}

static void write_links(const char *folder, uint32_t node)
{
	HsaIoLinkProperties l;
	uint32_t engines;
	FILE *f;

	for (uint32_t i = 0; topology_get_link(node, i, &l, &engines); i++) {
		f = open_file("properties", "%s/io_links/%u", folder, i);
		fprintf(f, "type %d\nversion_major 0\nversion_minor 0\nnode_from %u\nnode_to %u\n",
			(int)l.IoLinkType, l.NodeFrom, l.NodeTo);
		fprintf(f, "weight %u\nmin_latency 0\nmax_latency 0\nmin_bandwidth %u\n", l.Weight,
			l.MinimumBandwidth);
		fprintf(f, "max_bandwidth %u\nrecommended_transfer_size 0\n", l.MaximumBandwidth);
		fprintf(f, "recommended_sdma_engine_id_mask %u\nflags 1\n", engines);
		close_file(f);
	}
}

static void write_node(uint32_t node)
{
	char folder[16], id[16];
	HsaNodeProperties p;
	FILE *f;

	topology_get_node(node, &p);
	snprintf(folder, sizeof(folder), "%u", node);
	snprintf(id, sizeof(id), "%u", node ? SOFTGPU_GPU_ID + node - 1 : 0);
	write_text(folder, "gpu_id", id);
	write_text(folder, "name", node ? "softgpu" : "");
	f = open_file("properties", "%s", folder);
	fprintf(f, "cpu_cores_count %u\nsimd_count %u\nmem_banks_count 1\ncaches_count %u\n",
		p.NumCPUCores, p.NumFComputeCores, p.NumCaches);
	fprintf(f, "io_links_count %u\np2p_links_count 0\n", p.NumIOLinks);
	write_gpu(f, node, &p);
	close_file(f);
	write_links(folder, node);
}

int main(int argc, char **argv)
{
	char nodes[PATH_MAX];

	if (argc != 2 || argv[1][0] == '-') {
		fprintf(stderr, "usage: softgpu-topology DIR\n");
		return 2;
	}
	if (config_load(&softgpu_config))
		return 1;
	snprintf(nodes, sizeof(nodes), "%s/" NODES, argv[1]);
	make_folder(nodes, true);
	if (chdir(nodes))
		die(nodes);
	write_text("..", "generation_id", "2");
	for (uint32_t node = 0; node <= softgpu_config.count; node++)
		write_node(node);
	return 0;
}
