-- SPDX-License-Identifier: MIT
-- The tables of one process in rocprofiler-sdk's rocpd, version 3.0.2; @ is its guid with _ in front.
CREATE TABLE "rocpd_metadata@" (id INTEGER PRIMARY KEY, tag TEXT NOT NULL, value TEXT NOT NULL);
CREATE TABLE "rocpd_string@" (id INTEGER PRIMARY KEY, guid TEXT NOT NULL, string TEXT NOT NULL);
CREATE TABLE "rocpd_info_node@" (id INTEGER PRIMARY KEY, guid TEXT NOT NULL, hash INTEGER NOT NULL UNIQUE,
	machine_id TEXT NOT NULL UNIQUE, system_name TEXT, hostname TEXT, release TEXT, version TEXT, hardware_name TEXT,
	domain_name TEXT);
CREATE TABLE "rocpd_info_process@" (id INTEGER PRIMARY KEY, guid TEXT NOT NULL, nid INTEGER NOT NULL, ppid INTEGER,
	pid INTEGER NOT NULL, init INTEGER, fini INTEGER, start INTEGER, "end" INTEGER, command TEXT,
	environment TEXT NOT NULL DEFAULT '{}', extdata TEXT NOT NULL DEFAULT '{}');
CREATE TABLE "rocpd_info_thread@" (id INTEGER PRIMARY KEY, guid TEXT NOT NULL, nid INTEGER NOT NULL, ppid INTEGER,
	pid INTEGER NOT NULL, tid INTEGER NOT NULL, name TEXT, start INTEGER, "end" INTEGER,
	extdata TEXT NOT NULL DEFAULT '{}');
CREATE TABLE "rocpd_info_agent@" (id INTEGER PRIMARY KEY, guid TEXT NOT NULL, nid INTEGER NOT NULL,
	pid INTEGER NOT NULL, type TEXT CHECK (type IN ('CPU', 'GPU', 'NIC')), absolute_index INTEGER,
	logical_index INTEGER, type_index INTEGER, uuid INTEGER, name TEXT, model_name TEXT, vendor_name TEXT,
	product_name TEXT, user_name TEXT, extdata TEXT NOT NULL DEFAULT '{}');
CREATE TABLE "rocpd_info_queue@" (id INTEGER PRIMARY KEY, guid TEXT NOT NULL, nid INTEGER NOT NULL,
	pid INTEGER NOT NULL, name TEXT, extdata TEXT NOT NULL DEFAULT '{}');
CREATE TABLE "rocpd_info_stream@" (id INTEGER PRIMARY KEY, guid TEXT NOT NULL, nid INTEGER NOT NULL,
	pid INTEGER NOT NULL, name TEXT, extdata TEXT NOT NULL DEFAULT '{}');
CREATE TABLE "rocpd_info_pmc@" (id INTEGER PRIMARY KEY, guid TEXT NOT NULL, nid INTEGER NOT NULL,
	pid INTEGER NOT NULL, agent_id INTEGER, target_arch TEXT CHECK (target_arch IN ('CPU', 'GPU', 'NIC')),
	event_code INTEGER, instance_id INTEGER, name TEXT NOT NULL, symbol TEXT NOT NULL, description TEXT,
	long_description TEXT DEFAULT '', component TEXT, units TEXT DEFAULT '',
	value_type TEXT CHECK (value_type IN ('ABS', 'ACCUM', 'RELATIVE')), block TEXT, expression TEXT,
	is_constant INTEGER, is_derived INTEGER, extdata TEXT NOT NULL DEFAULT '{}');
CREATE TABLE "rocpd_info_code_object@" (id INTEGER PRIMARY KEY, guid TEXT NOT NULL, nid INTEGER NOT NULL,
	pid INTEGER NOT NULL, agent_id INTEGER, uri TEXT, load_base INTEGER, load_size INTEGER, load_delta INTEGER,
	storage_type TEXT CHECK (storage_type IN ('FILE', 'MEMORY')), extdata TEXT NOT NULL DEFAULT '{}');
CREATE TABLE "rocpd_info_kernel_symbol@" (id INTEGER PRIMARY KEY, guid TEXT NOT NULL, nid INTEGER NOT NULL,
	pid INTEGER NOT NULL, code_object_id INTEGER NOT NULL, kernel_name TEXT, display_name TEXT,
	kernel_object INTEGER, kernarg_segment_size INTEGER, kernarg_segment_alignment INTEGER,
	group_segment_size INTEGER, private_segment_size INTEGER, sgpr_count INTEGER, arch_vgpr_count INTEGER,
	accum_vgpr_count INTEGER, extdata TEXT NOT NULL DEFAULT '{}');
CREATE TABLE "rocpd_track@" (id INTEGER PRIMARY KEY, guid TEXT NOT NULL, nid INTEGER NOT NULL, pid INTEGER,
	tid INTEGER, name_id INTEGER, extdata TEXT NOT NULL DEFAULT '{}');
CREATE TABLE "rocpd_event@" (id INTEGER PRIMARY KEY, guid TEXT NOT NULL, category_id INTEGER, stack_id INTEGER,
	parent_stack_id INTEGER, correlation_id INTEGER, call_stack TEXT NOT NULL DEFAULT '{}',
	line_info TEXT NOT NULL DEFAULT '{}', extdata TEXT NOT NULL DEFAULT '{}');
CREATE TABLE "rocpd_arg@" (id INTEGER PRIMARY KEY, guid TEXT NOT NULL, event_id INTEGER NOT NULL,
	position INTEGER NOT NULL, type TEXT NOT NULL, name TEXT NOT NULL, value TEXT,
	extdata TEXT NOT NULL DEFAULT '{}');
CREATE TABLE "rocpd_pmc_event@" (id INTEGER PRIMARY KEY, guid TEXT NOT NULL, event_id INTEGER,
	pmc_id INTEGER NOT NULL, value REAL DEFAULT 0.0, extdata TEXT DEFAULT '{}');
CREATE TABLE "rocpd_region@" (id INTEGER PRIMARY KEY, guid TEXT NOT NULL, nid INTEGER NOT NULL,
	pid INTEGER NOT NULL, tid INTEGER NOT NULL, start INTEGER NOT NULL, "end" INTEGER NOT NULL,
	name_id INTEGER NOT NULL, event_id INTEGER, extdata TEXT NOT NULL DEFAULT '{}');
CREATE TABLE "rocpd_sample@" (id INTEGER PRIMARY KEY, guid TEXT NOT NULL, track_id INTEGER NOT NULL,
	timestamp INTEGER NOT NULL, event_id INTEGER, extdata TEXT NOT NULL DEFAULT '{}');
CREATE TABLE "rocpd_kernel_dispatch@" (id INTEGER PRIMARY KEY, guid TEXT NOT NULL, nid INTEGER NOT NULL,
	pid INTEGER NOT NULL, tid INTEGER, agent_id INTEGER NOT NULL, kernel_id INTEGER NOT NULL,
	dispatch_id INTEGER NOT NULL, queue_id INTEGER NOT NULL, stream_id INTEGER NOT NULL, start INTEGER NOT NULL,
	"end" INTEGER NOT NULL, private_segment_size INTEGER, group_segment_size INTEGER,
	workgroup_size_x INTEGER NOT NULL, workgroup_size_y INTEGER NOT NULL, workgroup_size_z INTEGER NOT NULL,
	grid_size_x INTEGER NOT NULL, grid_size_y INTEGER NOT NULL, grid_size_z INTEGER NOT NULL,
	region_name_id INTEGER, event_id INTEGER, extdata TEXT NOT NULL DEFAULT '{}', graph_exec_id INTEGER,
	graph_node_id INTEGER);
CREATE TABLE "rocpd_memory_copy@" (id INTEGER PRIMARY KEY, guid TEXT NOT NULL, nid INTEGER NOT NULL,
	pid INTEGER NOT NULL, tid INTEGER, start INTEGER NOT NULL, "end" INTEGER NOT NULL, name_id INTEGER NOT NULL,
	dst_agent_id INTEGER, dst_address INTEGER, src_agent_id INTEGER, src_address INTEGER, size INTEGER NOT NULL,
	queue_id INTEGER, stream_id INTEGER, region_name_id INTEGER, event_id INTEGER,
	extdata TEXT NOT NULL DEFAULT '{}', graph_exec_id INTEGER, graph_node_id INTEGER);
CREATE TABLE "rocpd_memory_allocate@" (id INTEGER PRIMARY KEY, guid TEXT NOT NULL, nid INTEGER NOT NULL,
	pid INTEGER NOT NULL, tid INTEGER, agent_id INTEGER,
	type TEXT CHECK (type IN ('ALLOC', 'FREE', 'REALLOC', 'RECLAIM')),
	level TEXT CHECK (level IN ('REAL', 'VIRTUAL', 'SCRATCH')), start INTEGER NOT NULL, "end" INTEGER NOT NULL,
	address INTEGER, size INTEGER NOT NULL, queue_id INTEGER, stream_id INTEGER, event_id INTEGER,
	extdata TEXT NOT NULL DEFAULT '{}');
CREATE TABLE "rocpd_graph_launch@" (id INTEGER PRIMARY KEY, guid TEXT NOT NULL, nid INTEGER NOT NULL,
	pid INTEGER NOT NULL, tid INTEGER, agent_id INTEGER, queue_id INTEGER, start INTEGER NOT NULL,
	"end" INTEGER NOT NULL, graph_exec_id INTEGER NOT NULL, kernel_dispatch_count INTEGER NOT NULL,
	event_id INTEGER, extdata TEXT NOT NULL DEFAULT '{}');
