// SPDX-License-Identifier: MIT
/* For LD_AUDIT: sees every library that the program loads and every name that it binds, and changes
 * nothing. */
#include <link.h>
#include <stdint.h>

__attribute__((visibility("default"))) unsigned la_version(unsigned version);
__attribute__((visibility("default"))) unsigned la_objopen(
	struct link_map *map, Lmid_t space, uintptr_t *cookie);
__attribute__((visibility("default"))) uintptr_t la_symbind64(Elf64_Sym *symbol, unsigned index,
	uintptr_t *from, uintptr_t *to, unsigned *flags, const char *name);

unsigned la_version(unsigned version)
{
	return version < LAV_CURRENT ? version : LAV_CURRENT;
}

unsigned la_objopen(struct link_map *map, Lmid_t space, uintptr_t *cookie)
{
	(void)map;
	(void)space;
	(void)cookie;
	return LA_FLG_BINDTO | LA_FLG_BINDFROM;
}

uintptr_t la_symbind64(Elf64_Sym *symbol, unsigned index, uintptr_t *from, uintptr_t *to,
	unsigned *flags, const char *name)
{
	(void)index;
	(void)from;
	(void)to;
	(void)flags;
	(void)name;
	return symbol->st_value;
}
