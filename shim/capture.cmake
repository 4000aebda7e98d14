# SPDX-License-Identifier: MIT
# The capture path: recorder, shadow front end, harvest, batches. One library for the shim and
# for tests; its twin with fault points is for tests only.
set(rtl_capture_sources ahead.c recorder.c capture.c pool.c appsig.c copy_watch.c dispatch.c front_end.c shadow.c shadow_table.c intercept.c
	gate.c doze.c
	harvest.c batch.c columns.c shapes.c
	event_ring.c origin.c thread_state.c ticks.c)
list(TRANSFORM rtl_capture_sources PREPEND ${CMAKE_CURRENT_LIST_DIR}/)

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

foreach(name rtl_capture rtl_capture_faults)
	add_library(${name} STATIC ${rtl_capture_sources})
	target_link_libraries(${name} PUBLIC rtl_proto_static)
endforeach()
target_compile_definitions(rtl_capture_faults PUBLIC RTL_FAULTS)
