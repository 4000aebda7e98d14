/* SPDX-License-Identifier: MIT */
#pragma once
/*
 * The HIP functions that mode `hip` records, and what mode `barriers` does, once: librtl-calls.so makes its wrappers from this
 * table, the daemon the names of functions and arguments, a test compares it with the installed
 * headers. Append only within a release: the position is the wire's (HostCalls.api), and a shim
 * and its collector may be of different builds of one version only.
 *
 * A row is X(name, parameters...), a parameter (KIND, name):
 *
 *   PTR     any pointer or handle, recorded as it is    OUT     where a handle or an address comes
 *   PASS    a pointer that is not recorded                      back: the value that is there then
 *   SIZE    size_t      INT   int     UINT  unsigned    MS      float * out
 *   WIDE    u64         BYTE  u8      SHORT u16         TEXT    string, its first 48 bytes
 *   STREAM  the call's stream                           COPY    hipMemcpyKind
 *   DIM3    dim3 by value: nameX, nameY, nameZ          EXTENT  hipExtent by value
 *   EXEC    hipGraphExec_t, counts its launches         COPY3D  hipMemcpy3DParms *: extent, kind
 *   ENDED   hipGraphExec_t that ends: counts from 0
 *   PITCHED hipPitchedPtr by value: its address         NONE    no parameter at all
 *
 * Left out on purpose: queries that cost less than recording them and cause nothing
 * (hipGetDevice, hipGetLastError, attributes, occupancy).
 */
#include <stdint.h>

/* clang-format off */

#define HOST_CALLS_LAUNCH(X) \
	X(hipLaunchKernel, (PTR, function), (DIM3, grid), (DIM3, block), (PASS, args), \
		(SIZE, shared), (STREAM, stream)) \
	X(hipLaunchKernel_spt, (PTR, function), (DIM3, grid), (DIM3, block), (PASS, args), \
		(SIZE, shared), (STREAM, stream)) \
	X(hipExtLaunchKernel, (PTR, function), (DIM3, grid), (DIM3, block), (PASS, args), \
		(SIZE, shared), (STREAM, stream), (PTR, startEvent), (PTR, stopEvent), (INT, flags)) \
	X(hipModuleLaunchKernel, (PTR, function), (UINT, gridX), (UINT, gridY), (UINT, gridZ), \
		(UINT, blockX), (UINT, blockY), (UINT, blockZ), (UINT, shared), (STREAM, stream), \
		(PASS, params), (PASS, extra)) \
	X(hipLaunchCooperativeKernel, (PTR, function), (DIM3, grid), (DIM3, block), (PASS, args), \
		(UINT, shared), (STREAM, stream)) \
	X(hipLaunchCooperativeKernel_spt, (PTR, function), (DIM3, grid), (DIM3, block), \
		(PASS, args), (UINT, shared), (STREAM, stream)) \
	X(hipLaunchCooperativeKernelMultiDevice, (PASS, list), (INT, devices), (UINT, flags)) \
	X(hipExtLaunchMultiKernelMultiDevice, (PASS, list), (INT, devices), (UINT, flags)) \
	X(hipLaunchByPtr, (PTR, function)) \
	X(hipLaunchHostFunc, (STREAM, stream), (PTR, function), (PTR, data)) \
	X(hipGraphLaunch, (EXEC, graphExec), (STREAM, stream))

/* Declared in hip_ext.h; sizes in work-items. */
#define HOST_CALLS_EXT(X) \
	X(hipExtModuleLaunchKernel, (PTR, function), (UINT, globalX), (UINT, globalY), \
		(UINT, globalZ), (UINT, localX), (UINT, localY), (UINT, localZ), (SIZE, shared), \
		(STREAM, stream), (PASS, params), (PASS, extra), (PTR, startEvent), \
		(PTR, stopEvent), (UINT, flags)) \
	X(hipHccModuleLaunchKernel, (PTR, function), (UINT, globalX), (UINT, globalY), \
		(UINT, globalZ), (UINT, localX), (UINT, localY), (UINT, localZ), (SIZE, shared), \
		(STREAM, stream), (PASS, params), (PASS, extra), (PTR, startEvent), \
		(PTR, stopEvent))

#define HOST_CALLS_COPY(X) \
	X(hipMemcpy, (PTR, dst), (PTR, src), (SIZE, bytes), (COPY, kind)) \
	X(hipMemcpy_spt, (PTR, dst), (PTR, src), (SIZE, bytes), (COPY, kind)) \
	X(hipMemcpyAsync, (PTR, dst), (PTR, src), (SIZE, bytes), (COPY, kind), (STREAM, stream)) \
	X(hipMemcpyAsync_spt, (PTR, dst), (PTR, src), (SIZE, bytes), (COPY, kind), \
		(STREAM, stream)) \
	X(hipMemcpyWithStream, (PTR, dst), (PTR, src), (SIZE, bytes), (COPY, kind), \
		(STREAM, stream)) \
	X(hipMemcpyHtoD, (PTR, dst), (PTR, src), (SIZE, bytes)) \
	X(hipMemcpyDtoH, (PTR, dst), (PTR, src), (SIZE, bytes)) \
	X(hipMemcpyDtoD, (PTR, dst), (PTR, src), (SIZE, bytes)) \
	X(hipMemcpyHtoDAsync, (PTR, dst), (PTR, src), (SIZE, bytes), (STREAM, stream)) \
	X(hipMemcpyDtoHAsync, (PTR, dst), (PTR, src), (SIZE, bytes), (STREAM, stream)) \
	X(hipMemcpyDtoDAsync, (PTR, dst), (PTR, src), (SIZE, bytes), (STREAM, stream)) \
	X(hipMemcpyPeer, (PTR, dst), (INT, dstDevice), (PTR, src), (INT, srcDevice), \
		(SIZE, bytes)) \
	X(hipMemcpyPeerAsync, (PTR, dst), (INT, dstDevice), (PTR, src), (INT, srcDevice), \
		(SIZE, bytes), (STREAM, stream)) \
	X(hipMemcpy2D, (PTR, dst), (SIZE, dstPitch), (PTR, src), (SIZE, srcPitch), (SIZE, width), \
		(SIZE, height), (COPY, kind)) \
	X(hipMemcpy2D_spt, (PTR, dst), (SIZE, dstPitch), (PTR, src), (SIZE, srcPitch), \
		(SIZE, width), (SIZE, height), (COPY, kind)) \
	X(hipMemcpy2DAsync, (PTR, dst), (SIZE, dstPitch), (PTR, src), (SIZE, srcPitch), \
		(SIZE, width), (SIZE, height), (COPY, kind), (STREAM, stream)) \
	X(hipMemcpyParam2D, (PASS, copy)) \
	X(hipMemcpyParam2DAsync, (PASS, copy), (STREAM, stream)) \
	X(hipMemcpy3D, (COPY3D, params)) \
	X(hipMemcpy3D_spt, (COPY3D, params)) \
	X(hipMemcpy3DAsync, (COPY3D, params), (STREAM, stream)) \
	X(hipDrvMemcpy3D, (PASS, copy)) \
	X(hipDrvMemcpy3DAsync, (PASS, copy), (STREAM, stream)) \
	X(hipMemcpyToSymbol, (PTR, symbol), (PTR, src), (SIZE, bytes), (SIZE, offset), \
		(COPY, kind)) \
	X(hipMemcpyToSymbol_spt, (PTR, symbol), (PTR, src), (SIZE, bytes), (SIZE, offset), \
		(COPY, kind)) \
	X(hipMemcpyToSymbolAsync, (PTR, symbol), (PTR, src), (SIZE, bytes), (SIZE, offset), \
		(COPY, kind), (STREAM, stream)) \
	X(hipMemcpyFromSymbol, (PTR, dst), (PTR, symbol), (SIZE, bytes), (SIZE, offset), \
		(COPY, kind)) \
	X(hipMemcpyFromSymbol_spt, (PTR, dst), (PTR, symbol), (SIZE, bytes), (SIZE, offset), \
		(COPY, kind)) \
	X(hipMemcpyFromSymbolAsync, (PTR, dst), (PTR, symbol), (SIZE, bytes), (SIZE, offset), \
		(COPY, kind), (STREAM, stream)) \
	X(hipMemPrefetchAsync, (PTR, address), (SIZE, bytes), (INT, device), (STREAM, stream))

#define HOST_CALLS_SET(X) \
	X(hipMemset, (PTR, dst), (INT, value), (SIZE, bytes)) \
	X(hipMemset_spt, (PTR, dst), (INT, value), (SIZE, bytes)) \
	X(hipMemsetAsync, (PTR, dst), (INT, value), (SIZE, bytes), (STREAM, stream)) \
	X(hipMemsetD8, (PTR, dst), (BYTE, value), (SIZE, count)) \
	X(hipMemsetD8Async, (PTR, dst), (BYTE, value), (SIZE, count), (STREAM, stream)) \
	X(hipMemsetD16, (PTR, dst), (SHORT, value), (SIZE, count)) \
	X(hipMemsetD16Async, (PTR, dst), (SHORT, value), (SIZE, count), (STREAM, stream)) \
	X(hipMemsetD32, (PTR, dst), (INT, value), (SIZE, count)) \
	X(hipMemsetD32Async, (PTR, dst), (INT, value), (SIZE, count), (STREAM, stream)) \
	X(hipMemset2D, (PTR, dst), (SIZE, pitch), (INT, value), (SIZE, width), (SIZE, height)) \
	X(hipMemset2D_spt, (PTR, dst), (SIZE, pitch), (INT, value), (SIZE, width), \
		(SIZE, height)) \
	X(hipMemset2DAsync, (PTR, dst), (SIZE, pitch), (INT, value), (SIZE, width), \
		(SIZE, height), (STREAM, stream)) \
	X(hipMemset3D, (PITCHED, dst), (INT, value), (EXTENT, extent)) \
	X(hipMemset3D_spt, (PITCHED, dst), (INT, value), (EXTENT, extent)) \
	X(hipMemset3DAsync, (PITCHED, dst), (INT, value), (EXTENT, extent), (STREAM, stream))

#define HOST_CALLS_MEMORY(X) \
	X(hipMalloc, (OUT, address), (SIZE, bytes)) \
	X(hipExtMallocWithFlags, (OUT, address), (SIZE, bytes), (UINT, flags)) \
	X(hipMallocManaged, (OUT, address), (SIZE, bytes), (UINT, flags)) \
	X(hipMallocPitch, (OUT, address), (PASS, pitch), (SIZE, width), (SIZE, height)) \
	X(hipMallocAsync, (OUT, address), (SIZE, bytes), (STREAM, stream)) \
	X(hipMallocFromPoolAsync, (OUT, address), (SIZE, bytes), (PTR, pool), (STREAM, stream)) \
	X(hipMallocHost, (OUT, address), (SIZE, bytes)) \
	X(hipHostMalloc, (OUT, address), (SIZE, bytes), (UINT, flags)) \
	X(hipHostAlloc, (OUT, address), (SIZE, bytes), (UINT, flags)) \
	X(hipHostRegister, (PTR, address), (SIZE, bytes), (UINT, flags)) \
	X(hipHostUnregister, (PTR, address)) \
	X(hipFree, (PTR, address)) \
	X(hipFreeAsync, (PTR, address), (STREAM, stream)) \
	X(hipFreeHost, (PTR, address)) \
	X(hipHostFree, (PTR, address)) \
	X(hipMemAdvise, (PTR, address), (SIZE, bytes), (INT, advice), (INT, device)) \
	X(hipMemMap, (PTR, address), (SIZE, bytes), (SIZE, offset), (PTR, handle), (WIDE, flags)) \
	X(hipMemUnmap, (PTR, address), (SIZE, bytes))

#define HOST_CALLS_STREAM(X) \
	X(hipStreamCreate, (OUT, created)) \
	X(hipStreamCreateWithFlags, (OUT, created), (UINT, flags)) \
	X(hipStreamCreateWithPriority, (OUT, created), (UINT, flags), (INT, priority)) \
	X(hipExtStreamCreateWithCUMask, (OUT, created), (UINT, maskWords), (PASS, mask)) \
	X(hipStreamDestroy, (STREAM, stream)) \
	X(hipStreamSynchronize, (STREAM, stream)) \
	X(hipStreamSynchronize_spt, (STREAM, stream)) \
	X(hipStreamQuery, (STREAM, stream)) \
	X(hipStreamQuery_spt, (STREAM, stream)) \
	X(hipStreamWaitEvent, (STREAM, stream), (PTR, event), (UINT, flags)) \
	X(hipStreamWaitEvent_spt, (STREAM, stream), (PTR, event), (UINT, flags)) \
	X(hipStreamAddCallback, (STREAM, stream), (PTR, callback), (PTR, data), (UINT, flags)) \
	X(hipStreamWaitValue32, (STREAM, stream), (PTR, address), (UINT, value), (UINT, flags), \
		(UINT, mask)) \
	X(hipStreamWaitValue64, (STREAM, stream), (PTR, address), (WIDE, value), (UINT, flags), \
		(WIDE, mask)) \
	X(hipStreamWriteValue32, (STREAM, stream), (PTR, address), (UINT, value), (UINT, flags)) \
	X(hipStreamWriteValue64, (STREAM, stream), (PTR, address), (WIDE, value), (UINT, flags)) \
	X(hipStreamBeginCapture, (STREAM, stream), (INT, mode)) \
	X(hipStreamEndCapture, (STREAM, stream), (OUT, graph)) \
	X(hipEventCreate, (OUT, event)) \
	X(hipEventCreateWithFlags, (OUT, event), (UINT, flags)) \
	X(hipEventDestroy, (PTR, event)) \
	X(hipEventRecord, (PTR, event), (STREAM, stream)) \
	X(hipEventSynchronize, (PTR, event)) \
	X(hipEventQuery, (PTR, event)) \
	X(hipEventElapsedTime, (MS, ms), (PTR, start), (PTR, stop))

#define HOST_CALLS_GRAPH(X) \
	X(hipGraphCreate, (OUT, graph), (UINT, flags)) \
	X(hipGraphClone, (OUT, graph), (PTR, original)) \
	X(hipGraphDestroy, (PTR, graph)) \
	X(hipGraphInstantiate, (OUT, graphExec), (PTR, graph), (PASS, errorNode), (PASS, log), \
		(SIZE, logBytes)) \
	X(hipGraphInstantiateWithFlags, (OUT, graphExec), (PTR, graph), (WIDE, flags)) \
	X(hipGraphExecUpdate, (PTR, graphExec), (PTR, graph), (PASS, errorNode), (PASS, result)) \
	X(hipGraphExecDestroy, (ENDED, graphExec))

#define HOST_CALLS_OTHER(X) \
	X(hipInit, (UINT, flags)) \
	X(hipSetDevice, (INT, device)) \
	X(hipDeviceSynchronize, (NONE, none)) \
	X(hipDeviceReset, (NONE, none)) \
	X(hipCtxSynchronize, (NONE, none)) \
	X(hipModuleLoad, (OUT, module), (TEXT, file)) \
	X(hipModuleLoadData, (OUT, module), (PTR, image)) \
	X(hipModuleLoadDataEx, (OUT, module), (PTR, image), (UINT, options), (PASS, names), \
		(PASS, values)) \
	X(hipModuleUnload, (PTR, module)) \
	X(hipModuleGetFunction, (OUT, function), (PTR, module), (TEXT, name)) \
	X(hipIpcCloseMemHandle, (PTR, address))

/* Newer than the oldest runtime; prototypes are those of ROCm's reference. */
#define HOST_CALLS_LATER(X) \
	X(hipModuleLaunchCooperativeKernel, (PTR, function), (UINT, gridX), (UINT, gridY), \
		(UINT, gridZ), (UINT, blockX), (UINT, blockY), (UINT, blockZ), (UINT, shared), \
		(STREAM, stream), (PASS, params)) \
	X(hipModuleLaunchCooperativeKernelMultiDevice, (PASS, list), (UINT, devices), \
		(UINT, flags)) \
	X(hipLaunchKernelExC, (PASS, config), (PTR, function), (PASS, args)) \
	X(hipDrvLaunchKernelEx, (PASS, config), (PTR, function), (PASS, params), (PASS, extra)) \
	X(hipLaunchHostFunc_spt, (STREAM, stream), (PTR, function), (PTR, data)) \
	X(hipGraphLaunch_spt, (EXEC, graphExec), (STREAM, stream)) \
	X(hipGraphUpload, (PTR, graphExec), (STREAM, stream)) \
	X(hipGraphInstantiateWithParams, (OUT, graphExec), (PTR, graph), (PASS, params)) \
	X(hipMemcpy2DAsync_spt, (PTR, dst), (SIZE, dstPitch), (PTR, src), (SIZE, srcPitch), \
		(SIZE, width), (SIZE, height), (COPY, kind), (STREAM, stream)) \
	X(hipMemcpy3DAsync_spt, (COPY3D, params), (STREAM, stream)) \
	X(hipMemcpyToSymbolAsync_spt, (PTR, symbol), (PTR, src), (SIZE, bytes), (SIZE, offset), \
		(COPY, kind), (STREAM, stream)) \
	X(hipMemcpyFromSymbolAsync_spt, (PTR, dst), (PTR, symbol), (SIZE, bytes), \
		(SIZE, offset), (COPY, kind), (STREAM, stream)) \
	X(hipMemsetAsync_spt, (PTR, dst), (INT, value), (SIZE, bytes), (STREAM, stream)) \
	X(hipMemset2DAsync_spt, (PTR, dst), (SIZE, pitch), (INT, value), (SIZE, width), \
		(SIZE, height), (STREAM, stream)) \
	X(hipMemset3DAsync_spt, (PITCHED, dst), (INT, value), (EXTENT, extent), \
		(STREAM, stream)) \
	X(hipStreamAddCallback_spt, (STREAM, stream), (PTR, callback), (PTR, data), \
		(UINT, flags)) \
	X(hipStreamBeginCapture_spt, (STREAM, stream), (INT, mode)) \
	X(hipStreamEndCapture_spt, (STREAM, stream), (OUT, graph)) \
	X(hipEventRecord_spt, (PTR, event), (STREAM, stream)) \
	X(hipEventRecordWithFlags, (PTR, event), (STREAM, stream), (UINT, flags))

/* What hip_runtime_api.h of 5.2 declares. */
#define HOST_CALLS_API(X) \
	HOST_CALLS_LAUNCH(X) HOST_CALLS_COPY(X) HOST_CALLS_SET(X) HOST_CALLS_MEMORY(X) \
	HOST_CALLS_STREAM(X) HOST_CALLS_GRAPH(X) HOST_CALLS_OTHER(X)

/* What librtl-calls.so has wrappers of. */
#define HOST_CALLS_WRAPPED(X) HOST_CALLS_API(X) HOST_CALLS_EXT(X) HOST_CALLS_LATER(X)

/*
 * What mode `barriers` records of the HSA runtime: the packets and copies that complete a signal of
 * the program or wait for one, and the waits of its threads. queue: as in rtl_shape; dispatches: how
 * many came before in the queue, with a dispatch itself among them; copy: number in rtl_copy_base.
 */
#define HOST_CALLS_HSA(X) \
	X(hsa_kernel_dispatch_packet, (UINT, queue), (WIDE, dispatches), (PTR, signal)) \
	X(hsa_barrier_and_packet, (UINT, queue), (WIDE, dispatches), (PTR, signal), (PTR, dep0), \
		(PTR, dep1), (PTR, dep2), (PTR, dep3), (PTR, dep4)) \
	X(hsa_barrier_or_packet, (UINT, queue), (WIDE, dispatches), (PTR, signal), (PTR, dep0), \
		(PTR, dep1), (PTR, dep2), (PTR, dep3), (PTR, dep4)) \
	X(hsa_amd_memory_async_copy, (WIDE, copy), (PTR, signal), (PTR, dep0), (PTR, dep1), \
		(PTR, dep2), (PTR, dep3), (PTR, dep4)) \
	X(hsa_signal_wait, (PTR, signal))

#define HOST_CALLS(X) HOST_CALLS_WRAPPED(X) HOST_CALLS_HSA(X)

/*
 * C++ declarations without extern "C", so their symbols are mangled; newer runtimes may have the
 * plain name too.
 */
#define HOST_CALL_MANGLED(X) \
	X(hipExtModuleLaunchKernel, "_Z24hipExtModuleLaunchKernelP18ihipModuleSymbol_tjjjjjjm" \
		"P12ihipStream_tPPvS4_P11ihipEvent_tS6_j") \
	X(hipHccModuleLaunchKernel, "_Z24hipHccModuleLaunchKernelP18ihipModuleSymbol_tjjjjjjm" \
		"P12ihipStream_tPPvS4_P11ihipEvent_tS6_")

/* HOST_LIST(M, (K, n)...): M(K, n), ...; HOST_EACH: the same without commas. */
#define HOST_LIST(M, ...) HOST_PICK(__VA_ARGS__, HL14, HL13, HL12, HL11, HL10, HL9, HL8, HL7, HL6, \
	HL5, HL4, HL3, HL2, HL1)(M, __VA_ARGS__)
#define HOST_EACH(M, ...) HOST_PICK(__VA_ARGS__, HE14, HE13, HE12, HE11, HE10, HE9, HE8, HE7, HE6, \
	HE5, HE4, HE3, HE2, HE1)(M, __VA_ARGS__)
#define HOST_PICK(a, b, c, d, e, f, g, h, i, j, k, l, m, n, pick, ...) pick

#define HL1(M, a) M a
#define HL2(M, a, ...) M a, HL1(M, __VA_ARGS__)
#define HL3(M, a, ...) M a, HL2(M, __VA_ARGS__)
#define HL4(M, a, ...) M a, HL3(M, __VA_ARGS__)
#define HL5(M, a, ...) M a, HL4(M, __VA_ARGS__)
#define HL6(M, a, ...) M a, HL5(M, __VA_ARGS__)
#define HL7(M, a, ...) M a, HL6(M, __VA_ARGS__)
#define HL8(M, a, ...) M a, HL7(M, __VA_ARGS__)
#define HL9(M, a, ...) M a, HL8(M, __VA_ARGS__)
#define HL10(M, a, ...) M a, HL9(M, __VA_ARGS__)
#define HL11(M, a, ...) M a, HL10(M, __VA_ARGS__)
#define HL12(M, a, ...) M a, HL11(M, __VA_ARGS__)
#define HL13(M, a, ...) M a, HL12(M, __VA_ARGS__)
#define HL14(M, a, ...) M a, HL13(M, __VA_ARGS__)
#define HE1(M, a) M a
#define HE2(M, a, ...) M a HE1(M, __VA_ARGS__)
#define HE3(M, a, ...) M a HE2(M, __VA_ARGS__)
#define HE4(M, a, ...) M a HE3(M, __VA_ARGS__)
#define HE5(M, a, ...) M a HE4(M, __VA_ARGS__)
#define HE6(M, a, ...) M a HE5(M, __VA_ARGS__)
#define HE7(M, a, ...) M a HE6(M, __VA_ARGS__)
#define HE8(M, a, ...) M a HE7(M, __VA_ARGS__)
#define HE9(M, a, ...) M a HE8(M, __VA_ARGS__)
#define HE10(M, a, ...) M a HE9(M, __VA_ARGS__)
#define HE11(M, a, ...) M a HE10(M, __VA_ARGS__)
#define HE12(M, a, ...) M a HE11(M, __VA_ARGS__)
#define HE13(M, a, ...) M a HE12(M, __VA_ARGS__)
#define HE14(M, a, ...) M a HE13(M, __VA_ARGS__)

/* clang-format on */

/* HIP's dim3, which HIP passes by value; plain C, so that HIP's headers are not needed. */
struct host_dim3 {
	uint32_t x, y, z;
};
struct host_extent {
	uint64_t width, height, depth;
};
struct host_pitched {
	void *address;
	uint64_t pitch, width, height;
};

/* A parameter as it is declared, and as it is handed on. */
#define HOST_PARAM(kind, name)	 HOST_PARAM_##kind(name)
#define HOST_ARG(kind, name)	 HOST_ARG_##kind(name)
#define HOST_PARAM_PTR(name)	 void *name
#define HOST_PARAM_PASS(name)	 void *name
#define HOST_PARAM_OUT(name)	 void **name
#define HOST_PARAM_SIZE(name)	 uint64_t name
#define HOST_PARAM_WIDE(name)	 uint64_t name
#define HOST_PARAM_INT(name)	 int name
#define HOST_PARAM_UINT(name)	 unsigned name
#define HOST_PARAM_BYTE(name)	 unsigned char name
#define HOST_PARAM_SHORT(name)	 unsigned short name
#define HOST_PARAM_COPY(name)	 int name
#define HOST_PARAM_MS(name)	 float *name
#define HOST_PARAM_TEXT(name)	 const char *name
#define HOST_PARAM_STREAM(name)	 void *name
#define HOST_PARAM_EXEC(name)	 void *name
#define HOST_PARAM_ENDED(name)	 void *name
#define HOST_PARAM_DIM3(name)	 struct host_dim3 name
#define HOST_PARAM_EXTENT(name)	 struct host_extent name
#define HOST_PARAM_PITCHED(name) struct host_pitched name
#define HOST_PARAM_COPY3D(name)	 const void *name
#define HOST_PARAM_NONE(name)	 void
#define HOST_ARG_PTR(name)	 name
#define HOST_ARG_PASS(name)	 name
#define HOST_ARG_OUT(name)	 name
#define HOST_ARG_SIZE(name)	 name
#define HOST_ARG_WIDE(name)	 name
#define HOST_ARG_INT(name)	 name
#define HOST_ARG_UINT(name)	 name
#define HOST_ARG_BYTE(name)	 name
#define HOST_ARG_SHORT(name)	 name
#define HOST_ARG_COPY(name)	 name
#define HOST_ARG_MS(name)	 name
#define HOST_ARG_TEXT(name)	 name
#define HOST_ARG_STREAM(name)	 name
#define HOST_ARG_EXEC(name)	 name
#define HOST_ARG_ENDED(name)	 name
#define HOST_ARG_DIM3(name)	 name
#define HOST_ARG_EXTENT(name)	 name
#define HOST_ARG_PITCHED(name)	 name
#define HOST_ARG_COPY3D(name)	 name
#define HOST_ARG_NONE(name)

#define HOST_CALL_ENUM(name, ...) RTL_HOST_##name,
enum rtl_host_call { HOST_CALLS(HOST_CALL_ENUM) RTL_HOST_COUNT };

/* How the recorded words of an argument are shown. */
enum host_argument_form {
	HOST_FORM_NUMBER,  /* unsigned */
	HOST_FORM_SIGNED,  /* of 32 bits */
	HOST_FORM_ADDRESS, /* hexadecimal text */
	HOST_FORM_COPY,	   /* hipMemcpyKind by name */
	HOST_FORM_MS,	   /* bits of a float */
	HOST_FORM_TEXT,	   /* HOST_TEXT_WORDS words */
	HOST_FORM_EXEC,	   /* address; the word after it is its how many-th launch this was */
};

#define HOST_TEXT_WORDS 6u /* 48 bytes, ended by a zero if shorter */
#define HOST_ARGS_MAX	14u

struct host_argument {
	const char *name;
	enum host_argument_form form;
};

struct host_call_info {
	const char *name;
	unsigned words; /* recorded in all */
	unsigned count; /* of argument[] */
	struct host_argument argument[HOST_ARGS_MAX];
};

/* Indexed by enum rtl_host_call; defined in host_calls.c. */
extern const struct host_call_info host_call_info[RTL_HOST_COUNT];
