/* SPDX-License-Identifier: MIT */
#include "shim/send/hello.h"

#include <string.h>

#include "proto/wire/frame.h"
#include "proto/wire/msg.h"

static void bytes_set(
	protobuf_c_boolean *has, ProtobufCBinaryData *field, const void *data, size_t bytes)
{
	*has = 1;
	field->data = (uint8_t *)(uintptr_t)data;
	field->len = bytes;
}

/* "" counts as absent. */
static void text_set(protobuf_c_boolean *has, ProtobufCBinaryData *field, const char *text)
{
	if (text && *text)
		bytes_set(has, field, text, strlen(text));
}

static void number_set(protobuf_c_boolean *has, uint32_t *field, struct rank_number number)
{
	*has = number.is_known;
	*field = number.value;
}

static void gpu_fill(Rtl__Gpu *gpu, const struct agent *agent)
{
	rtl__gpu__init(gpu);
	gpu->has_gpu_id = 1;
	gpu->gpu_id = agent->gpu_id;
	gpu->has_kfd_node = 1;
	gpu->kfd_node = agent->kfd_node;
	gpu->has_kfd_gpu_id = agent->kfd_gpu_id != 0;
	gpu->kfd_gpu_id = agent->kfd_gpu_id;
	gpu->has_domain = 1;
	gpu->domain = agent->domain;
	gpu->has_location_id = 1;
	gpu->location_id = agent->location_id;
	gpu->has_unique_id = agent->unique_id != 0;
	gpu->unique_id = agent->unique_id;
	gpu->has_partition = 1;
	gpu->partition = agent->partition;
	gpu->has_tick_hz = agent->tick_hz != 0;
	gpu->tick_hz = agent->tick_hz;
	text_set(&gpu->has_gfx, &gpu->gfx, agent->gfx);
	text_set(&gpu->has_name, &gpu->name, agent->name);
}

static void process_fill(Rtl__Hello *message, const struct hello *hello)
{
	const struct identity *identity = hello->identity;
	const struct rank_info *rank = hello->rank;

	message->has_version_min = 1;
	message->version_min = PROTO_VERSION_MIN;
	message->has_version_max = 1;
	message->version_max = PROTO_VERSION_MAX;
	bytes_set(&message->has_token, &message->token, identity->token, sizeof(identity->token));
	bytes_set(&message->has_boot_id, &message->boot_id, identity->boot_id,
		sizeof(identity->boot_id));
	message->has_pid = 1;
	message->pid = identity->pid;
	message->has_start_time = 1;
	message->start_time = identity->start_time;
	message->has_start_ns = 1;
	message->start_ns = identity->start_ns;
	text_set(&message->has_exe, &message->exe, identity->exe);
	text_set(&message->has_command, &message->command, identity->command);
	text_set(&message->has_host, &message->host, identity->host);

	text_set(&message->has_launcher, &message->launcher, rank->launcher);
	number_set(&message->has_rank, &message->rank, rank->rank);
	number_set(&message->has_local_rank, &message->local_rank, rank->local_rank);
	number_set(&message->has_world_size, &message->world_size, rank->world_size);
	number_set(&message->has_attempt, &message->attempt, rank->attempt);
	text_set(&message->has_job, &message->job, rank->job);

	text_set(&message->has_mode, &message->mode, hello->mode);
	text_set(&message->has_front_end, &message->front_end, hello->front_end);
	text_set(&message->has_shim_version, &message->shim_version, RTL_VERSION);
	text_set(&message->has_runtime, &message->runtime, hello->runtime);
	message->has_has_control = 1;
	message->has_control = 1;
	message->has_recorder_bytes = !hello->unrecorded;
	message->recorder_bytes = hello->recorder_bytes;
	message->has_unrecorded = hello->unrecorded != 0;
	message->unrecorded = hello->unrecorded;
}

uint8_t *hello_encode(const struct hello *hello, size_t *ret_bytes)
{
	Rtl__Hello message = RTL__HELLO__INIT;
	Rtl__Frame frame = RTL__FRAME__INIT;
	Rtl__Gpu gpu[RECORDER_GPUS];
	Rtl__Gpu *list[RECORDER_GPUS];
	size_t bytes;

	process_fill(&message, hello);
	for (uint32_t i = 0; i < hello->agents->count; i++) {
		gpu_fill(&gpu[i], &hello->agents->gpu[i]);
		list[i] = &gpu[i];
	}
	message.gpus = list;
	message.n_gpus = hello->agents->count;
	frame.body_case = RTL__FRAME__BODY_HELLO;
	frame.hello = &message;

	bytes = msg_packed_bytes(&frame) - FRAME_PREFIX_BYTES;
	if (bytes > HELLO_BYTES_MAX) {
		size_t over = bytes - HELLO_BYTES_MAX;

		message.command.len = message.command.len > over ? message.command.len - over : 0;
	}
	/*
	 * Product names are informative only: with 64 GPUs and long names, names are dropped until
	 * Hello fits.
	 */
	for (uint32_t i = 0; i < hello->agents->count; i++)
		if (msg_packed_bytes(&frame) - FRAME_PREFIX_BYTES > HELLO_BYTES_MAX)
			gpu[hello->agents->count - 1 - i].has_name = 0;
	return msg_pack_new(&frame, ret_bytes);
}
