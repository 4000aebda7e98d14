# SPDX-License-Identifier: MIT
# Finds uPlot (MIT), which draws the charts over steps of rtl report, and sets RTL_UPLOT_FILES: its
# style, script and licence. npm brings the version and the hash that package-lock.json says; a
# machine that npm cannot serve is told of a folder that has the package, and without one builds
# pages whose steps are tables only.
set(RTL_UPLOT "" CACHE PATH "folder of the npm package uplot, or 'none'; empty: npm gets it")

function(get_uplot folder)
	file(COPY ${CMAKE_CURRENT_LIST_DIR}/package.json
		${CMAKE_CURRENT_LIST_DIR}/package-lock.json DESTINATION ${folder})
	file(SHA256 ${folder}/package-lock.json wanted)
	set(has "")
	if(EXISTS ${folder}/has)
		file(READ ${folder}/has has)
	endif()
	if(has STREQUAL wanted)
		return()
	endif()
	find_program(NPM npm)
	if(NOT NPM)
		return()
	endif()
	execute_process(
		COMMAND ${NPM} ci --ignore-scripts --no-audit --no-fund --loglevel=error
			--prefer-offline --fetch-retries=1 --fetch-timeout=30000
		WORKING_DIRECTORY ${folder} RESULT_VARIABLE status OUTPUT_QUIET ERROR_QUIET TIMEOUT 120)
	if(status STREQUAL 0)
		file(WRITE ${folder}/has ${wanted})
	endif()
endfunction()

if(RTL_UPLOT)
	set(folder ${RTL_UPLOT})
else()
	get_uplot(${CMAKE_BINARY_DIR}/uplot)
	set(folder ${CMAKE_BINARY_DIR}/uplot/node_modules/uplot)
endif()
set(RTL_UPLOT_FILES ${folder}/LICENSE ${folder}/dist/uPlot.min.css ${folder}/dist/uPlot.iife.min.js)
foreach(file ${RTL_UPLOT_FILES})
	if(NOT EXISTS ${file})
		message(STATUS "no uPlot (npm could not get it; RTL_UPLOT names a folder that has it): "
			"pages of rtl report have no charts over steps")
		set(RTL_UPLOT_FILES "")
		break()
	endif()
endforeach()
