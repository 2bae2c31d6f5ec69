/* SPDX-License-Identifier: MIT */
/* bare.h - the kernel's task iterator with a program that returns at once. */
#pragma once

#include "base/err.h"

struct bare;

int bare_open(struct bare **ret, struct err *err) must_check; /* -ENOTSUP in a build without BPF */
int bare_read(struct bare *b, struct err *err) must_check;
void bare_close(struct bare *b); /* NULL is fine */
