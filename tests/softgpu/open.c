// SPDX-License-Identifier: MIT
#include "tests/softgpu/softgpu.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* 1.0 would silently turn interrupts off, and anything below 0.99 the GPUs. */
#define KFD_MAJOR 1u

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static bool is_for_each_runtime;
static uint32_t open_count; /* atomic for readers, written under lock */
static uint32_t is_child;   /* atomic: forked since the last open */

bool softgpu_is_open(void)
{
	return __atomic_load_n(&open_count, __ATOMIC_ACQUIRE) != 0;
}

bool softgpu_is_orphan(void)
{
	return __atomic_load_n(&is_child, __ATOMIC_ACQUIRE) != 0;
}

/* Processors do not survive fork and locks may be held for ever: touch nothing more. */
static void in_child(void)
{
	if (open_count)
		__atomic_store_n(&is_child, 1, __ATOMIC_RELEASE);
}

__attribute__((constructor)) static void watch_fork(void)
{
	pthread_atfork(NULL, NULL, in_child);
}

static HSAKMT_STATUS start(void)
{
	int err;

	if (config_load(&softgpu_config) ||
		script_load(softgpu_config.script_path, softgpu_config.fault_text))
		return HSAKMT_STATUS_ERROR;
	err = truth_open(softgpu_config.truth_path, softgpu_config.truth_records);
	if (err) {
		fprintf(stderr, "softgpu: SOFTGPU_TRUTH=%s: %s\n", softgpu_config.truth_path,
			strerror(-err));
		script_free();
		return HSAKMT_STATUS_ERROR;
	}
	if (script_has_meetings() && meet_open()) {
		script_free();
		return HSAKMT_STATUS_ERROR;
	}
	clock_reset_vtime();
	if (queue_init_all()) {
		script_free();
		return HSAKMT_STATUS_NO_MEMORY;
	}
	return HSAKMT_STATUS_SUCCESS;
}

void softgpu_open_for_each_runtime(void)
{
	pthread_mutex_lock(&lock);
	is_for_each_runtime = true;
	pthread_mutex_unlock(&lock);
}

HSAKMT_STATUS hsaKmtOpenKFD(void)
{
	HSAKMT_STATUS status;

	/* Our memory is a copy of the parent's in unknown state; the real thunk starts afresh. */
	if (softgpu_is_orphan())
		return HSAKMT_STATUS_KERNEL_IO_CHANNEL_NOT_OPENED;
	pthread_mutex_lock(&lock);
	if (open_count) {
		__atomic_add_fetch(&open_count, 1, __ATOMIC_RELEASE);
		status = is_for_each_runtime ? HSAKMT_STATUS_SUCCESS
					     : HSAKMT_STATUS_KERNEL_ALREADY_OPENED;
		pthread_mutex_unlock(&lock);
		return status;
	}
	status = start();
	if (!status)
		__atomic_store_n(&open_count, 1, __ATOMIC_RELEASE);
	pthread_mutex_unlock(&lock);
	return status;
}

HSAKMT_STATUS hsaKmtCloseKFD(void)
{
	if (softgpu_is_orphan())
		return HSAKMT_STATUS_SUCCESS;
	topology_report_ignored();
	pthread_mutex_lock(&lock);
	if (!open_count) {
		pthread_mutex_unlock(&lock);
		return HSAKMT_STATUS_KERNEL_IO_CHANNEL_NOT_OPENED;
	}
	if (__atomic_sub_fetch(&open_count, 1, __ATOMIC_ACQ_REL) == 0) {
		queue_stop_all();
		event_reset_all();
		memory_reset();
		script_free();
	}
	pthread_mutex_unlock(&lock);
	return HSAKMT_STATUS_SUCCESS;
}

HSAKMT_STATUS hsaKmtGetVersion(HsaVersionInfo *info)
{
	if (!info)
		return HSAKMT_STATUS_INVALID_PARAMETER;
	info->KernelInterfaceMajorVersion = KFD_MAJOR;
	info->KernelInterfaceMinorVersion = softgpu_config.kfd_minor;
	return HSAKMT_STATUS_SUCCESS;
}
