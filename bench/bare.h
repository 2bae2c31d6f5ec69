/* SPDX-License-Identifier: MIT */
/* bare.h - the kernel's task iterator, read and thrown away. */
#pragma once

#include "base/err.h"

struct bare;

int bare_open(struct bare **ret, struct err *err) must_check; /* -ENOTSUP in a build without BPF */
int bare_read(struct bare *b, size_t *ret_tasks, struct err *err) must_check;
void bare_close(struct bare *b); /* NULL is fine */
