/* SPDX-License-Identifier: MIT */
#include "tests/lib/fake_shim.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/random.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "proto/recorder/checksum.h"
#include "proto/base/cleanup.h"
#include "proto/base/clock.h"
#include "proto/base/limits.h"

#define TICK_HZ	     100000000u
#define TOTAL_BYTES  (256u << 10)
#define HEADER_BYTES 4096u

static uint8_t *at(const struct fake_shim *shim, const struct recorder_region *region)
{
	return (uint8_t *)shim->recorder + region->offset;
}

static uint64_t add_region(
	struct recorder_region *region, uint64_t offset, uint32_t count, uint32_t stride)
{
	*region = (struct recorder_region){.offset = offset, .count = count, .stride = stride};
	return offset + (uint64_t)count * stride;
}

static void read_boot_id(uint8_t ret[16])
{
	FILE *file = fopen("/proc/sys/kernel/random/boot_id", "re");
	int c;
	unsigned n = 0;

	while (file && n < 32 && (c = fgetc(file)) != EOF) {
		unsigned digit;

		if (c == '-' || c == '\n')
			continue;
		digit = c <= '9' ? (unsigned)(c - '0') : (unsigned)(c - 'a') + 10u;
		ret[n / 2] = (uint8_t)(ret[n / 2] << 4 | digit);
		n++;
	}
	if (file)
		fclose(file);
}

uint64_t fake_start_time(pid_t pid)
{
	char path[64];
	char text[1024];
	CLEANUP(close_p) int fd = -1;
	ssize_t n;
	char *field;

	snprintf(path, sizeof(path), "/proc/%d/stat", pid);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	n = read(fd, text, sizeof(text) - 1);
	if (n <= 0)
		return 0;
	text[n] = '\0';
	field = strrchr(text, ')') + 2;
	for (int i = 3; i < 22; i++)
		field = strchr(field, ' ') + 1;
	return strtoull(field, NULL, 10);
}

static void add_anchors(struct fake_shim *shim)
{
	struct recorder_anchors *anchors = (void *)at(shim, &shim->recorder->anchors);

	/* Ticks start with the host's clock: tick = ns / 10. */
	for (unsigned i = 0; i < 2; i++) {
		uint64_t now_ns = clock_boottime_ns() - (2u - i) * 1000000000u;

		anchors->entry[i].tick = now_ns / 10;
		anchors->entry[i].boottime_ns = now_ns;
		anchors->entry[i].realtime_ns = clock_realtime_ns();
	}
	anchors->tick_hz = TICK_HZ;
	anchors->count = 2;
}

int fake_shim_init(struct fake_shim *shim, const char *job)
{
	struct recorder_header *header;
	struct recorder_queue *queue;
	uint64_t offset = HEADER_BYTES;

	*shim = (struct fake_shim){.fd = -1,
		.control = -1,
		.next = 1,
		.version_min = PROTO_VERSION_MIN,
		.version_max = PROTO_VERSION_MAX,
		.rank = 0,
		.uid = (uid_t)-1,
		.job = job};
	frame_reader_init(&shim->reader, REPLY_BYTES_MAX);
	msg_arena_init(&shim->arena, ARENA_BYTES_MAX);
	shim->memfd = memfd_create("fake-recorder", MFD_CLOEXEC | MFD_ALLOW_SEALING);
	if (shim->memfd < 0 || ftruncate(shim->memfd, TOTAL_BYTES) < 0)
		return -errno;
	header = mmap(NULL, TOTAL_BYTES, PROT_READ | PROT_WRITE, MAP_SHARED, shim->memfd, 0);
	if (header == MAP_FAILED)
		return -errno;
	shim->recorder = header;
	header->magic = RECORDER_MAGIC;
	header->layout = RECORDER_LAYOUT;
	header->header_bytes = sizeof(*header);
	header->total_bytes = TOTAL_BYTES;
	offset = add_region(&header->slots, offset, FAKE_SLOTS, sizeof(struct recorder_slot));
	offset = (offset + 63u) & ~63ull;
	offset = add_region(&header->cells, offset, FAKE_CELLS, FAKE_CELL_BYTES);
	offset = add_region(&header->queues, offset, 1, sizeof(struct recorder_queue));
	offset = add_region(&header->anchors, offset, 1, sizeof(struct recorder_anchors));
	offset = add_region(&header->defines, offset, FAKE_DEFINE_BYTES, 1);
	offset = add_region(&header->markers, offset, 0, sizeof(struct recorder_marker));
	offset = add_region(&header->calls, offset, 0, sizeof(struct recorder_call));
	offset = add_region(&header->spare_calls, offset, 0, sizeof(struct recorder_call));
	(void)add_region(&header->hello, offset, FAKE_HELLO_BYTES, 1);
	read_boot_id(header->boot_id);
	if (getrandom(header->token, sizeof(header->token), 0) < 0)
		return -errno;
	queue = (void *)at(shim, &header->queues);
	queue->in_use = 1;
	header->queues_used = 1;
	add_anchors(shim);
	header->ready = 1;
	return 0;
}

void fake_shim_done(struct fake_shim *shim)
{
	if (shim->child > 0)
		fake_shim_kill(shim);
	close_p(&shim->fd);
	close_p(&shim->memfd);
	if (shim->recorder)
		munmap(shim->recorder, TOTAL_BYTES);
	frame_reader_done(&shim->reader);
	msg_arena_done(&shim->arena);
	*shim = (struct fake_shim){.fd = -1, .memfd = -1, .control = -1};
}

static void start_connection(struct fake_shim *shim, int fd)
{
	close_p(&shim->fd);
	shim->fd = fd;
	shim->reader.fill = 0;
	shim->cursor = 0;
}

int fake_shim_connect(struct fake_shim *shim, const char *path)
{
	int fd = fake_connect(path);

	if (fd < 0)
		return fd;
	start_connection(shim, fd);
	return 0;
}

int fake_shim_connect_child(struct fake_shim *shim, const char *path)
{
	int fd = fake_child_start(path, shim->uid, &shim->child, &shim->control);

	if (fd < 0)
		return fd;
	start_connection(shim, fd);
	return 0;
}

int fake_shim_reconnect_child(struct fake_shim *shim)
{
	int fd = fake_child_again(shim->control);

	if (fd < 0)
		return fd;
	start_connection(shim, fd);
	return 0;
}

void fake_shim_hang_up(struct fake_shim *shim)
{
	close_p(&shim->fd);
	shim->fd = -1;
}

void fake_shim_kill(struct fake_shim *shim)
{
	kill(shim->child, SIGKILL);
	waitpid(shim->child, NULL, 0);
	shim->child = 0;
	close_p(&shim->control);
	shim->control = -1;
}

static uint8_t *pack_hello(struct fake_shim *shim, size_t *ret_bytes)
{
	Rtl__Hello hello = RTL__HELLO__INIT;
	Rtl__Frame frame = RTL__FRAME__INIT;
	Rtl__Gpu gpu = RTL__GPU__INIT;
	Rtl__Gpu *gpus[] = {&gpu};
	pid_t pid = shim->child ? shim->child : getpid();

	hello.has_version_min = true;
	hello.version_min = shim->version_min;
	hello.has_version_max = true;
	hello.version_max = shim->version_max;
	hello.has_token = true;
	hello.token = (ProtobufCBinaryData){16, shim->recorder->token};
	hello.has_boot_id = true;
	hello.boot_id = (ProtobufCBinaryData){16, shim->recorder->boot_id};
	hello.has_pid = true;
	hello.pid = pid;
	hello.has_start_time = true;
	hello.start_time = fake_start_time(pid);
	hello.has_start_ns = true;
	hello.start_ns = clock_boottime_ns();
	hello.has_rank = shim->rank >= 0;
	hello.rank = (uint32_t)shim->rank;
	msg_set_bytes(&hello.has_job, &hello.job, shim->job);
	msg_set_bytes(&hello.has_exe, &hello.exe, "/usr/bin/fake");
	hello.has_recorder_bytes = true;
	hello.recorder_bytes = TOTAL_BYTES;
	gpu.has_gpu_id = true;
	gpu.has_tick_hz = true;
	gpu.tick_hz = TICK_HZ;
	msg_set_bytes(&gpu.has_gfx, &gpu.gfx, "gfx90a");
	hello.n_gpus = 1;
	hello.gpus = gpus;
	if (shim->edit_hello)
		shim->edit_hello(&hello, shim->edit_data);
	frame.body_case = RTL__FRAME__BODY_HELLO;
	frame.hello = &hello;
	return msg_pack_new(&frame, ret_bytes);
}

/* Fills in the identity of the process, which only the process itself knows. */
static int settle(struct fake_shim *shim)
{
	shim->recorder->pid = shim->child ? shim->child : getpid();
	shim->recorder->start_time = fake_start_time((pid_t)shim->recorder->pid);
	if (!shim->is_unsealed &&
		fcntl(shim->memfd, F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL) < 0 &&
		errno != EPERM)
		return -errno;
	return 0;
}

int fake_shim_keep_hello(struct fake_shim *shim)
{
	CLEANUP(free_p) uint8_t *bytes = NULL;
	size_t n = 0;
	int r = settle(shim);

	if (r < 0)
		return r;
	bytes = pack_hello(shim, &n);
	if (!bytes || n > FAKE_HELLO_BYTES)
		return -ENOMEM;
	memcpy(at(shim, &shim->recorder->hello), bytes, n);
	shim->recorder->hello_bytes = n;
	return 0;
}

int fake_shim_send_hello(struct fake_shim *shim, unsigned n_fds)
{
	CLEANUP(free_p) uint8_t *bytes = NULL;
	int fds[FAKE_FDS_MAX];
	size_t n = 0;
	int r = settle(shim);

	if (r < 0)
		return r;
	for (unsigned i = 0; i < FAKE_FDS_MAX; i++)
		fds[i] = shim->memfd;
	bytes = pack_hello(shim, &n);
	return bytes ? fake_send_fds(shim->fd, bytes, n, fds, n_fds) : -ENOMEM;
}

int fake_send_bytes(int fd, const void *bytes, size_t n)
{
	const char *from = bytes;

	while (n) {
		ssize_t sent = send(fd, from, n, MSG_NOSIGNAL);

		if (sent < 0)
			return -errno;
		from += sent;
		n -= (size_t)sent;
	}
	return 0;
}

int fake_send(int fd, const Rtl__Frame *frame)
{
	size_t n = 0;
	CLEANUP(free_p) uint8_t *bytes = msg_pack_new(frame, &n);

	return bytes ? fake_send_bytes(fd, bytes, n) : -ENOMEM;
}

static int receive_some(struct fake_shim *shim, int timeout_ms)
{
	struct pollfd poll_fd = {.fd = shim->fd, .events = POLLIN};
	uint8_t *to = NULL;
	size_t room = 0;
	ssize_t n;
	int r = frame_reader_space(&shim->reader, &to, &room);

	if (r < 0)
		return r;
	if (poll(&poll_fd, 1, timeout_ms) == 0)
		return -ETIMEDOUT;
	n = recv(shim->fd, to, room, 0);
	if (n <= 0)
		return -ECONNRESET;
	frame_reader_filled(&shim->reader, (size_t)n);
	return 0;
}

int fake_receive(struct fake_shim *shim, int timeout_ms, Rtl__Frame **ret)
{
	const uint8_t *frame = NULL;
	size_t bytes = 0;
	int r;

	for (;;) {
		size_t cursor = 0;

		r = frame_reader_next(&shim->reader, &cursor, &frame, &bytes);
		if (r == 1) {
			r = msg_unpack(&shim->arena, frame, bytes, ret);
			frame_reader_compact(&shim->reader, cursor);
			return r;
		}
		if (r < 0)
			return r;
		r = receive_some(shim, timeout_ms);
		if (r < 0)
			return r;
	}
}

int fake_shim_define(struct fake_shim *shim)
{
	Rtl__Frame frame = RTL__FRAME__INIT;
	Rtl__Defines defines = RTL__DEFINES__INIT;
	Rtl__StringDef string = RTL__STRING_DEF__INIT;
	Rtl__SymbolDef symbol = RTL__SYMBOL_DEF__INIT;
	Rtl__ShapeDef shape = RTL__SHAPE_DEF__INIT;
	Rtl__StringDef *strings[] = {&string};
	Rtl__SymbolDef *symbols[] = {&symbol};
	Rtl__ShapeDef *shapes[] = {&shape};
	uint32_t grid[] = {64, 1, 1};
	uint32_t workgroup[] = {64, 1, 1};
	uint8_t *log = at(shim, &shim->recorder->defines);
	size_t n;

	string.has_id = symbol.has_id = shape.has_id = true;
	string.id = symbol.id = shape.id = 1;
	msg_set_bytes(&string.has_text, &string.text, "fake_kernel.kd");
	symbol.has_name = true;
	symbol.name = 1;
	shape.has_gpu = shape.has_queue = shape.has_symbol = true;
	shape.symbol = 1;
	shape.n_grid = shape.n_workgroup = 3;
	shape.grid = grid;
	shape.workgroup = workgroup;
	defines.n_strings = defines.n_symbols = defines.n_shapes = 1;
	defines.strings = strings;
	defines.symbols = symbols;
	defines.shapes = shapes;
	frame.body_case = RTL__FRAME__BODY_DEFINES;
	frame.defines = &defines;
	n = msg_pack(&frame, log);
	shim->recorder->define_bytes = n;
	return shim->fd < 0 ? 0 : fake_send_bytes(shim->fd, log, n);
}

static struct recorder_cell *cell_of(const struct fake_shim *shim, uint64_t number)
{
	const struct recorder_region *cells = &shim->recorder->cells;

	return (void *)(at(shim, cells) + number % cells->count * cells->stride);
}

static void fill_dispatches(struct fake_shim *shim, Rtl__Dispatches *d, unsigned n, void *columns)
{
	uint64_t now_ns = clock_boottime_ns();
	uint64_t *start = columns;
	int64_t *seq = (int64_t *)(start + n);
	uint32_t *shape = (uint32_t *)(seq + n);
	uint32_t *duration = shape + n;
	int32_t *submit = (int32_t *)(duration + n);

	for (unsigned i = 0; i < n; i++) {
		start[i] = now_ns / 10 + i * 10;
		seq[i] = i ? 0 : (int64_t)shim->seq;
		shape[i] = 1;
		duration[i] = 10;
		submit[i] = 0;
	}
	d->has_n = d->has_submit_base_ns = true;
	d->n = n;
	d->submit_base_ns = now_ns;
	d->n_start_tick = d->n_seq = d->n_shape = d->n_duration_ticks = d->n_submit_delta_ns = n;
	d->start_tick = start;
	d->seq = seq;
	d->shape = shape;
	d->duration_ticks = duration;
	d->submit_delta_ns = submit;
	shim->seq += n;
}

int fake_shim_dispatch(struct fake_shim *shim, unsigned n, bool is_kept)
{
	struct recorder_queue *queue = (void *)at(shim, &shim->recorder->queues);
	struct recorder_cell *cell = cell_of(shim, shim->next);
	Rtl__Frame frame = RTL__FRAME__INIT;
	Rtl__Dispatches dispatches = RTL__DISPATCHES__INIT;
	CLEANUP(free_p) void *columns = calloc(n, 2 * sizeof(uint64_t) + 3 * sizeof(uint32_t));

	if (!columns)
		return -ENOMEM;
	fill_dispatches(shim, &dispatches, n, columns);
	frame.has_number = true;
	frame.number = shim->next;
	frame.body_case = RTL__FRAME__BODY_DISPATCHES;
	frame.dispatches = &dispatches;
	if (msg_packed_bytes(&frame) > FAKE_CELL_BYTES - sizeof(*cell))
		return -EMSGSIZE;
	queue->producer[RTL_Q_dispatched] += n;
	queue->harvester[RTL_Q_recorded - RTL_Q_HARVESTER_FIRST] += n;
	cell->number = 0;
	cell->length = (uint32_t)msg_pack(&frame, (uint8_t *)(cell + 1));
	cell->checksum = checksum32(cell + 1, cell->length, shim->next);
	cell->records = n;
	cell->number = shim->next;
	shim->recorder->published = shim->next++;
	return is_kept ? 0 : fake_send_bytes(shim->fd, cell + 1, cell->length);
}

int fake_shim_resend(struct fake_shim *shim, uint64_t hw)
{
	int r = 0;

	for (uint64_t number = hw + 1; r == 0 && number < shim->next; number++) {
		const struct recorder_cell *cell = cell_of(shim, number);

		r = fake_send_bytes(shim->fd, cell + 1, cell->length);
	}
	return r;
}

int fake_shim_send_counters(struct fake_shim *shim)
{
	const struct recorder_queue *block = (void *)at(shim, &shim->recorder->queues);
	Rtl__Frame frame = RTL__FRAME__INIT;
	Rtl__Counters counters = RTL__COUNTERS__INIT;
	Rtl__QueueCounters queue = RTL__QUEUE_COUNTERS__INIT;
	Rtl__QueueCounters *queues[] = {&queue};
	uint64_t process[RTL_P_COUNT];
	uint64_t values[RTL_Q_COUNT];

	for (unsigned i = 0; i < RTL_P_COUNT; i++)
		process[i] = shim->recorder->process[i];
	for (unsigned i = 0; i < RTL_Q_COUNT; i++)
		values[i] = i < RTL_Q_HARVESTER_FIRST ? block->producer[i]
						      : block->harvester[i - RTL_Q_HARVESTER_FIRST];
	counters.n_process = RTL_P_COUNT;
	counters.process = process;
	counters.n_queues = 1;
	counters.queues = queues;
	queue.has_queue = queue.has_gpu = true;
	queue.n_value = RTL_Q_COUNT;
	queue.value = values;
	frame.body_case = RTL__FRAME__BODY_COUNTERS;
	frame.counters = &counters;
	return fake_send(shim->fd, &frame);
}

int fake_shim_send_bye(struct fake_shim *shim)
{
	Rtl__Frame frame = RTL__FRAME__INIT;
	Rtl__Bye bye = RTL__BYE__INIT;

	shim->recorder->bye = 1;
	frame.body_case = RTL__FRAME__BODY_BYE;
	frame.bye = &bye;
	return fake_send(shim->fd, &frame);
}
