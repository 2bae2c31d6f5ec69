/* SPDX-License-Identifier: MIT */
/* syscall_words.h - the values of arguments of system calls in the words of the C headers. */
#pragma once

#include "base/buf.h"
#include "model/syscall_signature.h"

/* "O_RDONLY|O_CLOEXEC", "SIGABRT", "0644", "-1": any kind but paths and open files. */
void syscall_words_put(struct buf *to, enum syscall_arg_kind kind, uint64_t value);
