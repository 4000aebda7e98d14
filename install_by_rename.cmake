# SPDX-License-Identifier: MIT
# Run by `cmake --install` when all files are there: moves what was installed into FOLDER/.rtl-incoming, and
# stripped there, to FOLDER. A program that has the old file mapped keeps it; one that starts meanwhile finds
# the old or the new one, whole. Set before: RTL_FOLDERS, relative to the prefix.
foreach(folder ${RTL_FOLDERS})
	cmake_path(ABSOLUTE_PATH folder BASE_DIRECTORY "${CMAKE_INSTALL_PREFIX}")
	set(folder "$ENV{DESTDIR}${folder}")
	file(GLOB names RELATIVE "${folder}/.rtl-incoming" "${folder}/.rtl-incoming/*")
	foreach(name ${names})
		file(RENAME "${folder}/.rtl-incoming/${name}" "${folder}/${name}")
	endforeach()
	file(REMOVE_RECURSE "${folder}/.rtl-incoming")
endforeach()
list(TRANSFORM CMAKE_INSTALL_MANIFEST_FILES REPLACE "/\\.rtl-incoming/" "/")
