# SPDX-License-Identifier: MIT
# Builds AMDGPU code objects from OpenCL C with a stock clang: no ROCm, no device library.
#
#   include(${CMAKE_SOURCE_DIR}/tests/code_object.cmake)
#   code_object(<target> kernels.cl [gfx...])
#
# makes a target that builds <target>-<gfx>.co (default gfx90a) in the current binary folder; its
# property CODE_OBJECT is the first of them. For many targets:
#
#   rtl_add_code_objects(<var> SOURCE kernels.cl TARGETS gfx90a gfx1030
#                        [DEPENDS kernels.h ...] [OPTIONS -DX=1 ...])
#
# makes <binary dir>/<stem>.<gfx>.co for each target this clang knows; <var> is then the list of
# those files and <var>_TARGETS the list of their gfx names, in the same order. A target that the
# clang does not know (gfx942 before clang 17) is left out and named in a STATUS line; none left is
# an error. A target that uses the files must depend on them (add_custom_target, OBJECT_DEPENDS).
#
# The version of the code object is 4: the newest that ROCr 5.2 loads, and every later one does.
include_guard(GLOBAL)

find_program(RTL_AMDGPU_CLANG
	NAMES clang-15 clang-16 clang-17 clang-18 clang-19 clang-14 clang
	DOC "clang with the AMDGPU back end, for the kernels of the tests")
if(NOT RTL_AMDGPU_CLANG)
	message(FATAL_ERROR "the tests' GPU kernels need clang 14 or later with its lld "
		"(Debian: apt-get install clang-15 lld-15)")
endif()

# In the cache, because the folders that include this file are not each other's parents. -O2 unrolls the loops of
# these kernels, whose speed is no figure, and takes three times as long.
set(RTL_AMDGPU_CLANG_FLAGS -x cl -cl-std=CL1.2 -target amdgcn-amd-amdhsa -nogpulib
	-mcode-object-version=4 -O1 -Wall -Werror CACHE INTERNAL "")

execute_process(
	COMMAND ${RTL_AMDGPU_CLANG} --target=amdgcn-amd-amdhsa -nogpulib --print-supported-cpus
	OUTPUT_VARIABLE rtl_amdgpu_out ERROR_VARIABLE rtl_amdgpu_err)
string(REGEX MATCHALL "gfx[0-9a-f]+" rtl_amdgpu_cpus "${rtl_amdgpu_out}${rtl_amdgpu_err}")
set(RTL_AMDGPU_CPUS ${rtl_amdgpu_cpus} CACHE INTERNAL "")
if(NOT RTL_AMDGPU_CPUS)
	message(FATAL_ERROR "${RTL_AMDGPU_CLANG} has no AMDGPU back end: ${rtl_amdgpu_err}")
endif()

function(rtl_add_code_objects var)
	cmake_parse_arguments(PARSE_ARGV 1 arg "" "SOURCE" "TARGETS;DEPENDS;OPTIONS")
	cmake_path(ABSOLUTE_PATH arg_SOURCE OUTPUT_VARIABLE source)
	cmake_path(GET source STEM stem)
	set(objects "")
	set(targets "")
	foreach(gfx IN LISTS arg_TARGETS)
		if(NOT gfx IN_LIST RTL_AMDGPU_CPUS)
			message(STATUS "${stem}: not built for ${gfx}, unknown to ${RTL_AMDGPU_CLANG}")
			continue()
		endif()
		set(object ${CMAKE_CURRENT_BINARY_DIR}/${stem}.${gfx}.co)
		add_custom_command(OUTPUT ${object}
			COMMAND ${RTL_AMDGPU_CLANG} ${RTL_AMDGPU_CLANG_FLAGS} -mcpu=${gfx} ${arg_OPTIONS}
				-I ${CMAKE_CURRENT_SOURCE_DIR} -o ${object} ${source}
			DEPENDS ${source} ${arg_DEPENDS}
			COMMENT "Building AMDGPU code object ${stem}.${gfx}.co"
			VERBATIM)
		list(APPEND objects ${object})
		list(APPEND targets ${gfx})
	endforeach()
	if(NOT objects)
		message(FATAL_ERROR "${RTL_AMDGPU_CLANG} knows none of: ${arg_TARGETS}")
	endif()
	set(${var} ${objects} PARENT_SCOPE)
	set(${var}_TARGETS ${targets} PARENT_SCOPE)
endfunction()

function(code_object target source)
	set(targets ${ARGN})
	if(NOT targets)
		set(targets gfx90a)
	endif()
	cmake_path(ABSOLUTE_PATH source)
	set(files)
	foreach(gfx IN LISTS targets)
		set(file ${CMAKE_CURRENT_BINARY_DIR}/${target}-${gfx}.co)
		add_custom_command(OUTPUT ${file}
			COMMAND ${RTL_AMDGPU_CLANG} ${RTL_AMDGPU_CLANG_FLAGS} -cl-std=CL2.0 -mcpu=${gfx}
				-o ${file} ${source}
			DEPENDS ${source}
			COMMENT "Building AMDGPU code object ${target}-${gfx}.co"
			VERBATIM)
		list(APPEND files ${file})
	endforeach()
	add_custom_target(${target} ALL DEPENDS ${files})
	list(GET files 0 first)
	set_target_properties(${target} PROPERTIES CODE_OBJECT ${first})
endfunction()
