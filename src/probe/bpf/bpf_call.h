/* SPDX-License-Identifier: MIT */
/* bpf_call.h - the few bpf(2) calls that a light skeleton leaves to its owner. */
#pragma once

#include "base/err.h"

/* 0, or the reason: we lack the rights. */
int bpf_check_rights(struct err *err) must_check;
/* A new iterator that starts from the beginning: an fd, or -errno. */
int bpf_iter_open(int link_fd, struct err *err) must_check;
