# SPDX-License-Identifier: MIT
# OUTPUT: a C file with struct query_text TABLE[] of the files in QUERIES (a list).
set(text "/* Made by embed_sql.cmake. */\n#include \"cli/database/query_text.h\"\n\n")
string(APPEND text "const struct query_text ${TABLE}[] = {\n")
foreach(path ${QUERIES})
	get_filename_component(name ${path} NAME_WE)
	file(READ ${path} sql HEX)
	string(REGEX REPLACE "([0-9a-f][0-9a-f])" "'\\\\x\\1'," bytes "${sql}")
	string(APPEND text "\t{ \"${name}\", (const char[]){ ${bytes} 0 } },\n")
endforeach()
string(APPEND text "\t{ 0 },\n};\n")
file(WRITE ${OUTPUT} "${text}")
