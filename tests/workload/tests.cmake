# SPDX-License-Identifier: MIT
# ctest: workload.*, one entry for each case_ of check.sh.

# The same program with the code of one target alone, which is not the software GPU's default.
rtl_demo_embed(code_objects_other.c gfx906)
add_executable(rtl-demo-other ${RTL_DEMO_SOURCES} collectives.c
	${CMAKE_CURRENT_BINARY_DIR}/code_objects_other.c)
target_link_libraries(rtl-demo-other PRIVATE rtl_demo_gpu)
set_target_properties(rtl-demo-other PROPERTIES
	RUNTIME_OUTPUT_DIRECTORY ${CMAKE_CURRENT_BINARY_DIR})

add_library(roctx_log MODULE roctx_log.c)
target_link_libraries(roctx_log PRIVATE rtl_flags)
set_target_properties(roctx_log PROPERTIES
	LIBRARY_OUTPUT_DIRECTORY ${CMAKE_CURRENT_BINARY_DIR})

file(STRINGS check.sh cases REGEX "^case_")
set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS check.sh)
foreach(case IN LISTS cases)
	string(REGEX REPLACE "^case_([a-z0-9_]+).*" "\\1" case "${case}")
	add_test(NAME workload.${case} COMMAND sh ${CMAKE_CURRENT_SOURCE_DIR}/check.sh ${case})
	set_tests_properties(workload.${case} PROPERTIES TIMEOUT 1800 ENVIRONMENT
		"DEMO=$<TARGET_FILE:rtl-demo>;OTHER_DEMO=$<TARGET_FILE:rtl-demo-other>;TRUTH=$<TARGET_FILE:softgpu-truth>;SOFTGPU=$<TARGET_FILE_DIR:softgpu>;ROCTX_LIB=$<TARGET_FILE:roctx_log>;SCRIPT=${CMAKE_CURRENT_SOURCE_DIR}/softgpu.script")
endforeach()
