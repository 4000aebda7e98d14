// SPDX-License-Identifier: MIT
/* What host calls caused: sums by function, and the call of each dispatch. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/base/memory.h"
#include "cli/base/array.h"
#include "cli/trace/kernels/host_call_key.h"
#include "cli/trace/kernels/kernel_totals.h"
#include "cli/base/wrapping.h"
#include "proto/base/cleanup.h"

struct host_call {
	uint32_t number, api; /* number: in its process; api: index of calls */
	int64_t start_ns;
};

struct host_process {
	int64_t id;
	size_t first, count;
	/* Position of the previous result, because dispatches come nearly in the order of calls. */
	size_t last;
};

struct measure_host {
	struct host_call *calls; /* sorted by process and number */
	size_t call_count, call_capacity;
	struct host_process *processes;
	size_t process_count, process_capacity;
	int64_t *api_ids; /* by index, like calls before they are sorted */
	size_t api_count, api_capacity, sums_capacity;
	struct idmap process_of_id, api_of_id;
};

void measure_free_host(struct measure *measure)
{
	struct measure_host *host = measure->host;

	if (!host)
		return;
	free(host->calls);
	free(host->processes);
	free(host->api_ids);
	idmap_done(&host->process_of_id);
	idmap_done(&host->api_of_id);
	free(host);
	measure->host = NULL;
}

static uint32_t *find_api(struct measure *m, int64_t api_id)
{
	uint32_t *at = idmap_at(&m->host->api_of_id, api_id);

	if (*at != IDMAP_NONE)
		return at;
	GROW(m->calls, m->call_count, m->host->sums_capacity);
	GROW(m->host->api_ids, m->host->api_count, m->host->api_capacity);
	m->host->api_ids[m->host->api_count++] = api_id;
	*at = (uint32_t)m->call_count;
	m->calls[m->call_count++] = (struct measure_call){.api_id = api_id};
	return at;
}

static struct host_process *find_process(struct measure_host *host, int64_t id)
{
	uint32_t *at;

	/* Rows are sorted by id, so those of a process are adjacent. */
	if (host->process_count && host->processes[host->process_count - 1].id == id)
		return host->processes + host->process_count - 1;
	at = idmap_at(&host->process_of_id, id);
	GROW(host->processes, host->process_count, host->process_capacity);
	*at = (uint32_t)host->process_count;
	host->processes[host->process_count] =
		(struct host_process){.id = id, .first = host->call_count};
	return host->processes + host->process_count++;
}

static void add_call(struct measure *m, const struct query_rows *rows)
{
	struct measure_host *host = m->host;
	int64_t id = query_integer(rows, 0), start = query_integer(rows, 2);
	int64_t length = wrap_minus(query_integer(rows, 3), start);
	uint32_t *api = find_api(m, query_integer(rows, 1));
	struct host_process *process = find_process(host, id >> HOST_CALL_PROCESS_SHIFT);
	struct measure_call *call;

	GROW(host->calls, host->call_count, host->call_capacity);
	call = m->calls + *api;
	if (!call->calls++ || length < call->min_ns)
		call->min_ns = length;
	if (call->calls == 1 || length > call->max_ns)
		call->max_ns = length;
	call->total_ns = wrap_plus(call->total_ns, length);
	call->nonzero += query_integer(rows, 4) != 0;
	host->calls[host->call_count++] =
		(struct host_call){.number = (uint32_t)id, .api = *api, .start_ns = start};
	process->count++;
}

int measure_load_host(struct query *query, struct measure *measure)
{
	int r = 0;

	measure->host = xcalloc(1, sizeof(*measure->host));
	QUERY_EACH (r, query, "host_calls", rows)
		add_call(measure, rows);
	return r;
}

uint32_t measure_find_host(const struct measure *measure, int64_t process_id)
{
	return measure->host ? idmap_find(&measure->host->process_of_id, process_id) : IDMAP_NONE;
}

static const struct host_call *find_call(
	struct measure_host *host, struct host_process *process, int64_t number)
{
	const struct host_call *calls = host->calls + process->first;
	size_t at = process->last;

	for (size_t near = at; near < process->count && near < at + 2; near++)
		if (calls[near].number == number) {
			process->last = near;
			return calls + near;
		}
	at = PARTITION_POINT(process->count, i, calls[i].number < number);
	process->last = at;
	return at < process->count && calls[at].number == number ? calls + at : NULL;
}

void measure_add_launch(struct measure *measure, uint32_t host, int64_t call, int64_t start_ns)
{
	const struct host_call *found =
		find_call(measure->host, measure->host->processes + host, call);

	if (!found)
		return;
	measure->calls[found->api].dispatches++;
	measure->calls[found->api].latency_ns = wrap_plus(
		measure->calls[found->api].latency_ns, wrap_minus(start_ns, found->start_ns));
}

int64_t measure_api_of(const struct measure *measure, int64_t call_id)
{
	uint32_t host = measure_find_host(measure, call_id >> HOST_CALL_PROCESS_SHIFT);
	const struct host_call *found =
		host == IDMAP_NONE
			? NULL
			: find_call(measure->host, measure->host->processes + host,
				  call_id & ((INT64_C(1) << HOST_CALL_PROCESS_SHIFT) - 1));

	return found ? measure->host->api_ids[found->api] : -1;
}

static int compare_calls(const void *a, const void *b)
{
	const struct measure_call *x = a, *y = b;

	if (x->total_ns != y->total_ns)
		return x->total_ns < y->total_ns ? 1 : -1;
	return strcmp(x->name, y->name);
}

int measure_name_calls(struct query *query, struct measure *measure)
{
	int r = 0;

	QUERY_EACH (r, query, "api_names", rows) {
		uint32_t at = idmap_find(&measure->host->api_of_id, query_integer(rows, 0));
		const char *name = query_text(rows, 1);

		if (at != IDMAP_NONE)
			snprintf(measure->calls[at].name, sizeof(measure->calls[at].name), "%s",
				name ? name : "");
	}
	if (!r && measure->call_count)
		qsort(measure->calls, measure->call_count, sizeof(*measure->calls), compare_calls);
	return r;
}
