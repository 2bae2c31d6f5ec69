/* SPDX-License-Identifier: MIT */
/* bpf_call.h - the few bpf(2) calls that a light skeleton leaves to its owner. */
#pragma once

#include "base/err.h"

/* Says early and plainly that we lack the rights; 0 when we have them. */
int bpf_check_rights(struct err *err) must_check;
/* Runs a SEC("syscall") program once, in our own context. */
int bpf_run_once(int prog_fd, struct err *err) must_check;
/* A new iterator that starts from the beginning: an fd, or -errno. */
int bpf_iter_open(int link_fd, struct err *err) must_check;
