/* SPDX-License-Identifier: MIT */
/* syscall_signature.h - what the arguments of system calls are: paths, open files, flags, sizes. */
#pragma once

#include "model/syscall.h"

#define SYSCALL_ARGS 6

/* X(letter, id): an argument, or what a call returns */
#define SYSCALL_ARG_KINDS(X)                                                                       \
	X('p', PATH)                                                                               \
	X('f', FILE)      /* an open file */                                                       \
	X('d', DIRECTORY) /* … below which the path is, or AT_FDCWD */                           \
	X('b', BUFFER)    /* data, which is not kept */                                            \
	X('a', ADDRESS)                                                                            \
	X('n', SIZE)                                                                               \
	X('i', INT)                                                                                \
	X('l', LONG)                                                                               \
	X('x', BITS)                                                                               \
	X('m', MODE)                                                                               \
	X('o', OPEN_FLAGS)                                                                         \
	X('O', FILE_FLAGS) /* of calls that open a file without a mode of access */                \
	X('s', SIGNAL)                                                                             \
	X('P', PROTECTION)                                                                         \
	X('M', MAP_FLAGS)                                                                          \
	X('A', ACCESS)                                                                             \
	X('w', WHENCE)                                                                             \
	X('C', FCNTL)                                                                              \
	X('u', FUTEX)                                                                              \
	X('D', DOMAIN)                                                                             \
	X('T', SOCKET_TYPE)                                                                        \
	X('F', AT_FLAGS)                                                                           \
	X('U', UNLINK_FLAGS)                                                                       \
	X('W', WAIT_FLAGS)                                                                         \
	X('S', MESSAGE_FLAGS)                                                                      \
	X('h', MASK_HOW)                                                                           \
	X('c', CLOCK)                                                                              \
	X('e', EPOLL)                                                                              \
	X('k', SOCKET_ADDRESS)

#define X(letter, id) SYSCALL_ARG_##id = (letter),
enum syscall_arg_kind { SYSCALL_ARG_KINDS(X) };
#undef X

struct syscall_signature {
	const char *name;
	char args[SYSCALL_ARGS + 1]; /* enum syscall_arg_kind each */
	char result;                 /* FILE or ADDRESS; 0: a number */
};

/* NULL: not known. */
const struct syscall_signature *syscall_signature_find(const char *name);
/* The position of the n-th argument of that kind, from 1 on; 0: there is none. */
unsigned syscall_signature_position(const struct syscall_signature *s, enum syscall_arg_kind kind,
                                    unsigned n);
/* Whether it closes the file that it is given. */
bool syscall_signature_closes(const struct syscall_signature *s);
/* The position of the open file that is worth a name: that of the first, or else of the directory. 0: none. */
unsigned syscall_signature_file(const struct syscall_signature *s);
/* The signature of the call with this number in that ABI; NULL: not known. */
const struct syscall_signature *syscall_signature_of(enum syscall_abi abi, uint32_t number);
