# SPDX-License-Identifier: MIT
# Included by project() where package.sh builds the tarball (CMAKE_PROJECT_rtl_INCLUDE): all libraries but the C
# library are linked statically, and the C library is the one of PORTABLE_SYSROOT. The headers are today's: what of them
# the old library does not have is an undefined symbol, or stands in old_libc.c.
set(CMAKE_FIND_LIBRARY_SUFFIXES .a .so)
# -B: gcc looks beside its own libraries first, and there are those of this machine.
string(APPEND CMAKE_EXE_LINKER_FLAGS
	" --sysroot=${PORTABLE_SYSROOT} -B${PORTABLE_SYSROOT}/usr/lib/x86_64-linux-gnu -L${PORTABLE_ARCHIVES}")
# Of the archives themselves; timers are in librt of the old C library.
string(APPEND CMAKE_C_STANDARD_LIBRARIES " -lattr -lm -ldl -lrt -lpthread")
add_library(old_libc STATIC ${CMAKE_CURRENT_LIST_DIR}/old_libc.c)
target_compile_definitions(old_libc PRIVATE _GNU_SOURCE)
link_libraries(old_libc)
