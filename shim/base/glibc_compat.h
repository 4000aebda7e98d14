/* SPDX-License-Identifier: MIT */
#pragma once
/*
 * The shim is loaded into the user's image, whose glibc may be as old as 2.28. Functions that newer
 * versions of glibc moved between libraries are bound to the symbol version that they always had.
 * Every .c of the shim that calls one of them includes this header; tests/lint/shim_symbols.sh
 * fails otherwise. Sanitizers interpose the default versions, so a sanitizer build keeps those.
 */
#if defined(__x86_64__) && !defined(RTL_SANITIZE)
#define GLIBC_OLD(symbol, version) __asm__(".symver " #symbol ", " #symbol "@GLIBC_" version)

GLIBC_OLD(dladdr, "2.2.5");
GLIBC_OLD(dladdr1, "2.3.3");
GLIBC_OLD(dlerror, "2.2.5");
GLIBC_OLD(dlinfo, "2.3.3");
GLIBC_OLD(dlmopen, "2.3.4");
GLIBC_OLD(dlopen, "2.2.5");
GLIBC_OLD(dlclose, "2.2.5");
GLIBC_OLD(dlsym, "2.2.5");
GLIBC_OLD(dlvsym, "2.2.5");
GLIBC_OLD(pthread_create, "2.2.5");
GLIBC_OLD(pthread_join, "2.2.5");
GLIBC_OLD(pthread_detach, "2.2.5");
GLIBC_OLD(pthread_sigmask, "2.2.5");
GLIBC_OLD(pthread_mutex_trylock, "2.2.5");
GLIBC_OLD(pthread_attr_getstack, "2.2.5");
GLIBC_OLD(pthread_attr_setstacksize, "2.2.5");
GLIBC_OLD(pthread_getattr_np, "2.2.5");
GLIBC_OLD(pthread_setname_np, "2.12");
GLIBC_OLD(pthread_tryjoin_np, "2.3.3");
GLIBC_OLD(pthread_once, "2.2.5");
GLIBC_OLD(pthread_key_create, "2.2.5");
GLIBC_OLD(pthread_getspecific, "2.2.5");
GLIBC_OLD(pthread_setspecific, "2.2.5");
#endif
