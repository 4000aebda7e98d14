# SPDX-License-Identifier: MIT
# The capture path: recorder, shadow front end, harvest, batches. One library for the shim and
# for tests; its twin with fault points is for tests only.
set(rtl_capture_sources ahead.c recorder.c capture.c pool.c appsig.c copy_watch.c front_end.c shadow.c
	shadow_table.c intercept.c signals.c
	gate.c doze.c
	pace.c touch.c long_ring.c columns.c shapes.c
	event_ring.c origin.c thread_state.c ticks.c)
set(rtl_capture_faults dispatch.c harvest.c batch.c)
list(TRANSFORM rtl_capture_sources PREPEND ${CMAKE_CURRENT_LIST_DIR}/)
list(TRANSFORM rtl_capture_faults PREPEND ${CMAKE_CURRENT_LIST_DIR}/)

# The hot path has no arrays on its stack for a protector to guard, and a frame for each packet; what
# calls nobody needs no frame pointer.
set_source_files_properties(${CMAKE_CURRENT_LIST_DIR}/dispatch.c ${CMAKE_CURRENT_LIST_DIR}/shadow.c
	${CMAKE_CURRENT_LIST_DIR}/intercept.c
	PROPERTIES COMPILE_OPTIONS "-fno-stack-protector;-momit-leaf-frame-pointer")

# What the compiler puts in memset's place TSan does not see.
if(RTL_SANITIZE MATCHES thread)
	set_source_files_properties(${CMAKE_CURRENT_LIST_DIR}/thread_state.c
		PROPERTIES COMPILE_OPTIONS "-fno-builtin-memset;-U_FORTIFY_SOURCE")
endif()

rtl_twins(rtl_capture SOURCES ${rtl_capture_sources} FAULTS ${rtl_capture_faults} LIBS rtl_proto_static)
