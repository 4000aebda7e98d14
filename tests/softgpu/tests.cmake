# SPDX-License-Identifier: MIT
# Tests of the software GPU itself: the distribution's ROCr and HIP on this libhsakmt.
include(${CMAKE_SOURCE_DIR}/tests/code_object.cmake)
find_library(HSA_RUNTIME_LIBRARY hsa-runtime64 REQUIRED)

rtl_add_code_objects(softgpu_kernels SOURCE test_kernels.cl TARGETS gfx90a)
add_custom_target(softgpu_test_kernels DEPENDS ${softgpu_kernels})

add_library(softgpu_test STATIC test_gpu.c)
target_compile_definitions(softgpu_test PUBLIC
	LITTLEENDIAN_CPU=1
	SOFTGPU_LIBRARY="$<TARGET_FILE:softgpu>"
	SOFTGPU_DTIF="$<TARGET_FILE:softgpu_dtif>"
	TEST_CODE_OBJECT="${softgpu_kernels}"
	SOFTGPU_TRUTH_PROGRAM="$<TARGET_FILE:softgpu-truth>")
target_include_directories(softgpu_test SYSTEM PUBLIC ${HSAKMT_INCLUDE_DIR})
target_link_libraries(softgpu_test PUBLIC
	rtl_flags rtl_test ${HSA_RUNTIME_LIBRARY} Threads::Threads ${CMAKE_DL_LIBS})
add_dependencies(softgpu_test softgpu_test_kernels softgpu softgpu_dtif softgpu-truth)

set(softgpu_environment "LD_LIBRARY_PATH=$<TARGET_FILE_DIR:softgpu>"
	"LSAN_OPTIONS=suppressions=${CMAKE_SOURCE_DIR}/tests/lsan.supp:print_suppressions=0"
	"TSAN_OPTIONS=ignore_noninstrumented_modules=1")

function(softgpu_add_test name)
	add_executable(softgpu_test_${name} test_${name}.c)
	target_link_libraries(softgpu_test_${name} PRIVATE softgpu_test)
	set_target_properties(softgpu_test_${name} PROPERTIES
		RUNTIME_OUTPUT_DIRECTORY ${CMAKE_CURRENT_BINARY_DIR})
	add_test(NAME softgpu.${name} COMMAND softgpu_test_${name})
	set_tests_properties(softgpu.${name} PROPERTIES
		ENVIRONMENT "${softgpu_environment}" TIMEOUT 1800)
endfunction()

softgpu_add_test(topology)
softgpu_add_test(aql)
softgpu_add_test(time)
softgpu_add_test(truth)
softgpu_add_test(fault)
softgpu_add_test(copy)
softgpu_add_test(event)
softgpu_add_test(life)
softgpu_add_test(share)

find_library(HIP_LIBRARY amdhip64 REQUIRED)
softgpu_add_test(hip)
target_link_libraries(softgpu_test_hip PRIVATE ${HIP_LIBRARY})
# HIP leaks through a library without frame pointers: only a slow unwind names HIP.
set_property(TEST softgpu.hip APPEND PROPERTY
	ENVIRONMENT "ASAN_OPTIONS=fast_unwind_on_malloc=0")
set_tests_properties(softgpu.hip PROPERTIES TIMEOUT 1800)

# Without our folder in the path the real thunk is loaded: a failure with its name, never a skip.
add_test(NAME softgpu.real_thunk_is_refused COMMAND softgpu_test_topology)
set_tests_properties(softgpu.real_thunk_is_refused PROPERTIES
	ENVIRONMENT "LD_LIBRARY_PATH="
	PASS_REGULAR_EXPRESSION "not the software GPU: /.*libhsakmt")

# Without ROCr: these are of our code alone, whatever sanitizer it was built with.
foreach(name direct meet script)
	add_executable(softgpu_test_${name} test_${name}.c)
	target_link_libraries(softgpu_test_${name} PRIVATE softgpu_static rtl_test)
	set_target_properties(softgpu_test_${name} PROPERTIES
		RUNTIME_OUTPUT_DIRECTORY ${CMAKE_CURRENT_BINARY_DIR})
	add_test(NAME softgpu.${name} COMMAND softgpu_test_${name})
	set_tests_properties(softgpu.${name} PROPERTIES TIMEOUT 1800)
endforeach()

# libdtif.so, opened as ROCr 7 opens it; a module that stands for a runtime of a later release.
add_library(softgpu_later_runtime MODULE test_later_runtime.c)
target_link_libraries(softgpu_later_runtime PRIVATE rtl_flags ${CMAKE_DL_LIBS})
add_executable(softgpu_test_dtif test_dtif.c)
target_compile_definitions(softgpu_test_dtif PRIVATE
	LITTLEENDIAN_CPU=1
	SOFTGPU_DTIF="$<TARGET_FILE:softgpu_dtif>"
	SOFTGPU_LATER_RUNTIME="$<TARGET_FILE:softgpu_later_runtime>")
target_include_directories(softgpu_test_dtif SYSTEM PRIVATE ${HSAKMT_INCLUDE_DIR})
target_link_libraries(softgpu_test_dtif PRIVATE
	rtl_flags rtl_test Threads::Threads ${CMAKE_DL_LIBS})
add_dependencies(softgpu_test_dtif softgpu_dtif softgpu_later_runtime)
set_target_properties(softgpu_test_dtif softgpu_later_runtime PROPERTIES
	RUNTIME_OUTPUT_DIRECTORY ${CMAKE_CURRENT_BINARY_DIR}
	LIBRARY_OUTPUT_DIRECTORY ${CMAKE_CURRENT_BINARY_DIR})
add_test(NAME softgpu.dtif COMMAND softgpu_test_dtif)
set_tests_properties(softgpu.dtif PROPERTIES TIMEOUT 1800)

add_test(NAME softgpu.topology_files COMMAND sh ${CMAKE_CURRENT_SOURCE_DIR}/check_topology.sh
	$<TARGET_FILE:softgpu-topology>)
set_tests_properties(softgpu.topology_files PROPERTIES TIMEOUT 1800)
