/* SPDX-License-Identifier: MIT */
/* A library that is looked at from outside only. */
extern int empty;
int empty;
