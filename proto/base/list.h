/* SPDX-License-Identifier: MIT */
#pragma once
/* Singly linked lists, for elements that hold their own link. Usable by every module. */
#include <stddef.h>

/* Takes out the first element of @list, which is not empty and linked by `next`. */
#define LIST_POP(list)                                                                             \
	({                                                                                         \
		__typeof__(list) first_ = (list);                                                  \
		(list) = first_->next;                                                             \
		first_;                                                                            \
	})

/* Takes @element out of @list, linked by the member @next; nothing if it is not in it. */
#define LIST_REMOVE(list, element, next)                                                           \
	do {                                                                                       \
		__typeof__(list) *at_ = &(list);                                                   \
		while (*at_ && *at_ != (element))                                                  \
			at_ = &(*at_)->next;                                                       \
		if (*at_)                                                                          \
			*at_ = (*at_)->next;                                                       \
	} while (0)
