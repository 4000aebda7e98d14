/* SPDX-License-Identifier: MIT */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <unistd.h>

#include "proto/base/cleanup.h"
#include "proto/base/clock.h"
#include "shim/load/onload.h"
#include "shim/events/calls.h"
#include "shim/base/config.h"
#include "shim/events/copies.h"
#include "shim/hsa/debug.h"
#include "shim/send/connect.h"
#include "shim/events/events.h"
#include "shim/events/signal_edges.h"
#include "shim/base/gate.h"
#include "shim/capture/ends.h"
#include "shim/capture/harvest.h"
#include "shim/send/hello.h"
#include "shim/load/clr.h"
#include "shim/load/hooks.h"
#include "shim/hsa/ipc.h"
#include "shim/base/process/loaded_library.h"
#include "shim/load/namespace.h"
#include "shim/load/probe.h"
#include "shim/load/registration.h"
#include "shim/base/process/process_rank.h"
#include "shim/load/runtime.h"
#include "shim/load/waits.h"
#include "shim/capture/front_ends/create.h"
#include "shim/capture/front_ends/front_end.h"
#include "shim/base/glibc_compat.h"
#include "shim/base/log.h"
#include "shim/hsa/memory.h"
#include "shim/record/rank_changes.h"
#include "shim/send/worker.h"
#include "shim/wrap/unwrapped.h"

/*
 * How long OnUnload waits for a shim thread without a processor; after that the thread is stopped
 * and touches nothing.
 */
#define DETACH_NS_MAX 5000000000u

#define EXPORT __attribute__((visibility("default")))

/*
 * The runtime treats any loaded library that has this symbol as a tool, so LD_PRELOAD alone is
 * enough.
 */
EXPORT uint32_t HSA_AMD_TOOL_PRIORITY = 50;

/* Separate and zeroed, so that its three megabytes are not in the file. */
static struct symbols shim_symbols;

/* Static and never torn down: an application thread may be inside a hook at any time. */
static struct shim {
	struct config config;
	struct identity identity;
	struct rank_info rank;
	struct hsa_table table;
	struct agents agents;
	struct clock_source clocks;
	struct strings strings;
	struct front_ends front_ends;
	struct runtime_facts facts;
	/* Hello.front_end: a name or "none: why", and the tool loaded before us */
	char front_end[LABEL_BYTES_MAX];
	struct capture *capture;
	bool is_on;
	const char *build;  /* the build version that the runtime reports */
	bool is_left_alone; /* runtime_leaves_packets_alone() */
	bool is_watched;    /* shim_at_exit() is registered */
	uintptr_t runtime;  /* load address of the library that will call OnUnload; 0 if unknown */
	bool is_loaded;	    /* OnLoad was called, so OnUnload will be */
	bool is_probed;	    /* RTL_PROBE was answered */
	bool is_over;	    /* it has ended, and nothing of it is in use */
	/* Process that reported that nothing is recorded; a forked child reports too. */
	pid_t reported_by;
} shim = {.clocks.kfd = -1};

static const _Atomic uint64_t *gate_of(uint32_t gpu)
{
	return gate_of_gpu(shim.agents.gpu[gpu].gpu_id);
}

static uint32_t symbol_of(uint64_t kernel_object)
{
	return symbols_find(&shim_symbols, kernel_object);
}

static uint32_t symbol_define(uint64_t kernel_object)
{
	return symbols_define_unknown(&shim_symbols, kernel_object);
}

static bool signal_is_ipc(uint64_t handle)
{
	return ipc_has(handle);
}

/* docs/capture.md, rule 15: a ring in device memory is slow and unreliable to read back. */
static bool ring_is_in_host_memory(const hsa_queue_t *queue)
{
	hsa_amd_pointer_info_t info = {.size = sizeof(info)};

	if (!shim.table.real.hsa_amd_pointer_info ||
		shim.table.real.hsa_amd_pointer_info(
			queue->base_address, &info, NULL, NULL, NULL) != HSA_STATUS_SUCCESS)
		return true;
	return info.type != HSA_EXT_POINTER_TYPE_HSA ||
	       agents_find(&shim.agents, info.agentOwner) < 0;
}

static bool packets_are_read_back(void)
{
	return clr_reads_packets_back(shim.facts.kind);
}

static int shim_capture_create(struct shim *s)
{
	struct recorder_identity identity = {
		.pid = s->identity.pid, .start_time = s->identity.start_time};
	struct capture_hsa hsa = {
		.signal_create = s->table.real.hsa_amd_signal_create,
		.signal_destroy = s->table.real.hsa_signal_destroy,
		.signal_store_screlease = s->table.real.hsa_signal_store_screlease,
		.set_profiler_enabled = s->table.real.hsa_amd_profiling_set_profiler_enabled,
		.queue_create = s->table.real.hsa_queue_create,
		.queue_destroy = s->table.real.hsa_queue_destroy,
		.intercept_create = s->table.real.hsa_amd_queue_intercept_create,
		.intercept_register = s->table.real.hsa_amd_queue_intercept_register,
		.is_ring_readable = ring_is_in_host_memory,
		.gate_of = gate_of,
		.symbol_of = symbol_of,
		.symbols = shim_symbols.entry,
		.symbols_mask = SYMBOLS_CAPACITY - 1,
		.symbol_define = symbol_define,
		.signal_is_ipc = signal_is_ipc,
		.leave_own_signals = !config_has(OWN_SIGNAL_TIMES),
		.count_unlinked = config_has(HOST_CALLS),
		.packet_note = config_has(SIGNAL_EDGES) ? signal_edge_of_packet : NULL,
		.expects_no_queues = !s->front_ends.first,
		.reads_packets_back = packets_are_read_back,
	};

	if (!hsa.signal_create || !hsa.set_profiler_enabled)
		return -ENOSYS;
	if (s->is_left_alone && system_memory_open(&s->table)) {
		hsa.signal_memory_get = system_memory_get;
		hsa.signal_memory_put = system_memory_put;
	}
	slog_debug(1, "signals are %s", hsa.signal_memory_get ? "ours" : "the runtime's");
	memcpy(identity.boot_id, s->identity.boot_id, sizeof(identity.boot_id));
	memcpy(identity.token, s->identity.token, sizeof(identity.token));
	return capture_create(&identity, &hsa, &s->capture);
}

static int shim_worker_start(struct shim *s)
{
	struct worker_setup setup = {
		.capture = s->capture,
		.strings = &s->strings,
		.agents = &s->agents,
		.clocks = &s->clocks,
		.socket = s->config.socket,
		.exit_ns = s->config.exit_ns,
		.is_alone = s->config.is_alone,
		.hello =
			{
				.identity = &s->identity,
				.rank = &s->rank,
				.agents = &s->agents,
				.mode = s->config.mode->name,
				.front_end = s->front_end,
				.runtime = s->clocks.runtime,
				.recorder_bytes = capture_recorder(s->capture)->bytes,
			},
	};

	return worker_start(&setup);
}

/*
 * Frees what an earlier life of the runtime has left. Not done in OnUnload, because at the end of
 * the process threads may still be inside a hook; now the runtime has been started again.
 */
static void shim_forget(struct shim *s)
{
	if (!s->capture)
		return;
	hooks_remove();
	worker_release();
	strings_done(&s->strings);
	/*
	 * If something is in flight, the device may still write to our signals, so the capture
	 * stays. A forked child does not have the memory.
	 */
	if (s->is_over && !capture_is_pass_through(s->capture))
		capture_free(s->capture);
	s->is_over = false;
	s->capture = NULL;
}

/* Called at the end, if the runtime still has its tables: a program may have unloaded it. */
static void shim_check_hooks(void)
{
	struct library library;

	if (!library_find((const void *)shim.runtime, &library) || !hooks_are_taken_out())
		return;
	recorder_count(capture_recorder(shim.capture), RTL_P_runtimes_ignored, 1);
	slog_tell(
		"another tool has put back the runtime's tables as they were before rtl; what this "
		"process does from now on is not recorded");
}

/*
 * Called at exit() without hsa_shut_down(): turns what is finished into records, which the
 * collector reads.
 */
static void shim_at_exit(void)
{
	if (!shim.is_on || capture_is_pass_through(shim.capture))
		return;
	shim_check_hooks();
	unwrapped_check();
	worker_settle();
	/* What has ended since, or was not harvested, is written to the recorder as ended. */
	waits_record_ends();
}

/* @label gets only the file's name; the message on stderr has the whole path. */
static void label_add_tool(char label[LABEL_BYTES_MAX], const char *tool, const char *why)
{
	const char *slash = strrchr(tool, '/');
	size_t used = strlen(label);

	snprintf(label + used, LABEL_BYTES_MAX - used, ", behind %s: %s", slash ? slash + 1 : tool,
		why);
}

static void shim_front_ends_choose(struct shim *s)
{
	char release[RUNTIME_RELEASE_BYTES];
	const char *tool;

	s->build = runtime_build_version(&s->table);
	s->facts = (struct runtime_facts){
		.kind = runtime_kind_of(&s->table),
		.number = runtime_number(s->clocks.runtime, s->build),
		.tool = runtime_tool_before(&s->table, &tool),
		.has_intercept = s->table.real.hsa_amd_queue_intercept_create &&
				 s->table.real.hsa_amd_queue_intercept_register,
	};
	runtime_choose(&s->facts, s->config.front_end, &s->front_ends);
	s->front_ends.tool = tool;
	if (*tool)
		s->front_ends.tool_why =
			registration_missed((const void *)s->table.real.hsa_system_get_info);
	s->is_left_alone = runtime_leaves_packets_alone(&s->facts);
	snprintf(s->front_end, sizeof(s->front_end), "%s%s",
		s->front_ends.first ? s->front_ends.first->name : "none: ",
		s->front_ends.first ? "" : s->front_ends.why);
	if (*tool)
		label_add_tool(s->front_end, tool, s->front_ends.tool_why);
	runtime_release(&s->facts, release);
	slog_debug(1, "%s: %s, table %u, AMD's %u bytes, step %u; %u GPUs; front end %s",
		s->clocks.runtime, release, s->table.root_major, s->table.ext_bytes,
		s->table.ext_step, s->agents.count, s->front_end);
	slog_debug(1, "the clock is %s", clock_source_name(&s->clocks));
	if (*tool)
		slog_debug(1, "another tool came before: %s, %s", tool, s->front_ends.tool_why);
}

/*
 * There is no shim thread, but the collector knows of us, so each queue is counted as not recorded.
 */
static void shim_leave_all_plain(struct shim *s)
{
	s->front_ends = (struct front_ends){
		.why = "no thread for it",
		.is_asked_for = true, /* OnLoad prints the message */
		.is_off = true,
		.tool = "",
	};
	copies_end();
}

/* Reports to the collector that nothing is recorded because of @error. Once per process. */
static void shim_tell_unrecorded(struct shim *s, int error)
{
	const struct hello hello = {
		.identity = &s->identity,
		.rank = &s->rank,
		.agents = &s->agents,
		.mode = s->config.mode->name,
		.front_end = "none",
		.runtime = s->clocks.runtime,
		.unrecorded = (unsigned)-error,
	};
	CLEANUP(free_p) uint8_t *bytes = NULL;
	size_t count;

	if (s->reported_by == getpid())
		return;
	s->reported_by = getpid();
	rank_detect((const char *const *)environ, &s->rank);
	if (!gate_wants_rank(s->rank.rank.is_known, s->rank.rank.value))
		return;
	bytes = hello_encode(&hello, &count);
	if (bytes)
		dial_tell(s->config.socket, bytes, count);
}

/* The runtime is being shut down: from here on it must not be touched. */
static void shim_end(void)
{
	bool is_quiet, is_ended, is_out, is_unseen;

	if (!shim.is_on)
		return;
	shim.is_on = false;
	namespace_release();
	/* In a forked child, the thread, signals and recorder belong to the parent. */
	if (capture_is_pass_through(shim.capture))
		return;
	shim_check_hooks();
	unwrapped_check();
	capture_stop(shim.capture);
	/* A dispatch in progress is over in microseconds. */
	is_quiet =
		front_ends_quiesce(shim.capture, clock_monotonic_ns() + shim.config.exit_ns / 10);
	copies_end();
	is_out = events_stop(clock_monotonic_ns() + shim.config.exit_ns / 10);
	is_ended = worker_stop(is_quiet && is_out);
	/*
	 * Whatever took too long above, neither a thread that ends the program later nor the shim
	 * thread may read a signal that the runtime has freed.
	 */
	is_unseen = ends_stop(shim.capture, clock_monotonic_ns() + shim.config.exit_ns / 10);
	if (!is_ended && !harvest_detach(shim.capture, clock_monotonic_ns() + DETACH_NS_MAX))
		return;
	if (!is_ended)
		worker_stand_in();
	if (!is_quiet || !is_unseen)
		return;
	capture_release_signals(shim.capture);
	shim.is_over = is_ended && is_out && !capture_pending(shim.capture);
}

/* A runtime that registered its tables does not call OnUnload if it was told to load no tools. */
static void shim_end_registered(void)
{
	if (!shim.is_loaded)
		shim_end();
}

/* Starts everything in the order of dependencies. -errno: nothing is recorded. */
static int shim_start(struct shim *s, void *api_table)
{
	struct hsa_table table;
	int r;

	r = hsa_table_open(api_table, &table);
	if (r)
		return r;
	if (hooks_are_installed(&table))
		return 0;
	/* A forked child has inherited its parent's value. */
	s->is_on = false;
	if (worker_is_lost())
		return -ETIMEDOUT;
	shim_forget(s);
	s->table = table;
	r = identity_read(&s->identity);
	if (r)
		return r;
	process_rank_begin(&s->rank);
	rank_changes_begin();
	r = agents_read(&s->table, &s->agents);
	if (r)
		return r;
	if (!namespace_claim())
		return -EBUSY;
	clock_source_close(&s->clocks);
	clock_source_open(&s->table, &s->agents, &s->clocks);
	shim_front_ends_choose(s);
	r = shim_capture_create(s);
	if (r)
		return r;
	gate_begin(s->rank.rank.is_known, s->rank.rank.value, s->identity.start_ns);
	strings_init(&s->strings, capture_recorder(s->capture));
	symbols_init(&shim_symbols, capture_recorder(s->capture), &s->strings);
	copies_begin(&(struct copies_setup){&s->table, &s->agents, config_has(COPY_TIMES)});
	r = shim_worker_start(s);
	if (r && !worker_has_greeted())
		return r;
	if (r)
		shim_leave_all_plain(s);
	hooks_install(&(struct hooks){
		.capture = s->capture,
		.table = &s->table,
		.agents = &s->agents,
		.symbols = &shim_symbols,
		.front_ends = s->front_ends,
		.keeps_rings = s->config.keeps_rings,
		/* ROCr's variable came with 6.4. */
		.is_moved_by_hsa = s->config.is_moved_by_hsa && s->facts.kind >= RUNTIME_6,
		.is_moved_by_clr = s->config.is_moved_by_clr,
		.before_last_shut_down = shim_end_registered,
	});
	debug_install(&s->table, &s->agents, s->config.debug);
	s->is_on = true;
	unwrapped_begin(s->config.is_preload_asked_for);
	if (!s->is_watched)
		s->is_watched = !atexit(shim_at_exit);
	return r;
}

#define SECOND_RUNTIME "a second HSA runtime in this process; what it does is not recorded"

/* Each of several runtimes calls OnUnload at its end; the return address tells which one it is. */
static uintptr_t library_of(const void *address)
{
	struct library library;

	return library_find(address, &library) ? library.start : 0;
}

/*
 * A table arrived while we are on. There is one instance of the shim, for the runtime that came
 * first. That runtime shows its table twice if it registers it before it calls OnLoad; by then
 * another tool may have put its functions over ours.
 */
static void shim_take_another(struct shim *s, void *api_table, uintptr_t runtime, bool is_loaded)
{
	struct hsa_table table;

	if (hsa_table_open(api_table, &table))
		return;
	if (table.core != s->table.core && !hooks_are_installed(&table)) {
		recorder_count(capture_recorder(s->capture), RTL_P_runtimes_ignored, 1);
		slog_tell(SECOND_RUNTIME);
	} else if (is_loaded) {
		s->runtime = runtime;
		s->is_loaded = true;
	}
}

/* For `rtl doctor`: makes the same choice and does nothing else. */
static void shim_probe(struct shim *s, void *api_table, int fd)
{
	struct probe probe = {.table = &s->table, .front_ends = &s->front_ends};

	if (s->is_probed || hsa_table_open(api_table, &s->table))
		return;
	clock_source_runtime(&s->table, s->clocks.runtime, sizeof(s->clocks.runtime));
	shim_front_ends_choose(s);
	probe.runtime = s->clocks.runtime;
	probe.build = s->build;
	runtime_release(&s->facts, probe.release);
	probe_answer(fd, &probe);
	s->is_probed = true;
}

static bool needs_thread(const struct choice *choice)
{
	return choice->is_dormant || choice->start_after_ns || choice->duration_ns;
}

/*
 * @is_loaded: by OnLoad, else by registration. @runtime is the load address of the runtime's
 * library; 0 if unknown.
 */
static void shim_take(struct shim *s, void *api_table, uintptr_t runtime, bool is_loaded)
{
	uint64_t start_ns = clock_monotonic_ns();
	const char *choice_why;
	int r, probe;

	clock_find_shift(); /* for a forked child, or if loaded as a tool only */
	/* The caller of a setuid program controls its environment, so it is ignored. */
	if (getauxval(AT_SECURE))
		return;
	if (s->is_on && !capture_is_pass_through(s->capture)) {
		shim_take_another(s, api_table, runtime, is_loaded);
		return;
	}
	config_read((const char *const *)environ, &s->config);
	slog_init(s->config.debug);
	probe = probe_descriptor((const char *const *)environ);
	if (probe >= 0) {
		shim_probe(s, api_table, probe);
		return;
	}
	if (s->config.is_off) {
		calls_switch_off();
		return;
	}
	if (s->config.complaint[0])
		slog_tell("%s", s->config.complaint);
	/* Without calls about graphs only, the report about collectives says what is missing. */
	if (config_has(HOST_CALLS) && !calls_are_attached())
		slog_tell("RTL_MODE=hip without librtl-calls.so in LD_PRELOAD: HIP's calls are "
			  "not recorded");
	(void)gate_choice(&choice_why);
	if (choice_why)
		slog_tell("%s; everything is recorded", choice_why);
	if (s->config.is_alone && needs_thread(gate_choice(NULL)))
		slog_tell("RTL_THREAD=no: only the shim's thread starts and stops a recording by "
			  "time or "
			  "by rtl ctl; it stays as it begins");
	s->runtime = runtime;
	s->is_loaded = is_loaded;
	r = shim_start(s, api_table);
	slog_debug(2, "the runtime's table took %llu us",
		(unsigned long long)(clock_monotonic_ns() - start_ns) / 1000);
	if (r == -EBUSY)
		slog_tell(SECOND_RUNTIME);
	else if (r)
		slog_tell("cannot record: %s; the program runs unobserved", strerror(-r));
	if (r && !s->is_on) {
		namespace_release();
		shim_tell_unrecorded(s, r);
	}
}

void onload_take_registered(void *api_table, const void *function)
{
	shim_take(&shim, api_table, library_of(function), false);
}

EXPORT bool OnLoad(void *table, uint64_t runtime_version, uint64_t failed_tool_count,
	const char *const *failed_tool_names)
{
	(void)runtime_version;
	(void)failed_tool_count;
	(void)failed_tool_names;
	shim_take(&shim, table, library_of(__builtin_return_address(0)), true);
	/* Never false: the runtime would unload us, and the program runs either way. */
	return true;
}

EXPORT void OnUnload(void)
{
	if (library_of(__builtin_return_address(0)) == shim.runtime)
		shim_end();
}
