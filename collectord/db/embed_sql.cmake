# SPDX-License-Identifier: MIT
# cmake -DOUTPUT=FILE.c -DFILES=A.sql|B.sql -P embed_sql.cmake
# The migrations as bytes in a C table, in the order of their numbers: the daemon needs no file
# beside itself. Bytes and not string literals, so that nothing in SQL needs quoting.
string(REPLACE "|" ";" files "${FILES}")
list(SORT files)
set(arrays "")
set(table "")
set(number 0)
foreach(file ${files})
	math(EXPR number "${number} + 1")
	cmake_path(GET file STEM name)
	if(NOT name MATCHES "^([0-9][0-9][0-9][0-9])_[a-z0-9_]+$")
		message(FATAL_ERROR "${file}: not NNNN_name.sql")
	endif()
	string(REGEX REPLACE "^0+" "" version "${CMAKE_MATCH_1}")
	if(NOT version EQUAL number)
		message(FATAL_ERROR "${file}: migration ${number} is missing")
	endif()
	file(READ ${file} hex HEX)
	string(REGEX REPLACE "(................................)" "\\1\n" hex "${hex}")
	string(REGEX REPLACE "([0-9a-f][0-9a-f])" "0x\\1," hex "${hex}")
	string(APPEND arrays "static const char sql_${number}[] = {\n${hex}0x00};\n")
	string(APPEND table "\t{${version}, \"${name}\", sql_${number}},\n")
endforeach()
file(WRITE ${OUTPUT} "/* Made by embed_sql.cmake. */\n#include \"collectord/db/migrate.h\"\n\n${arrays}\n"
	"const struct migration migrations[] = {\n${table}\t{0, 0, 0},\n};\n")
