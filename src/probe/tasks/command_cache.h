/* SPDX-License-Identifier: MIT */
/* command_cache.h - command lines by process identity, read once per program and not once per tick.
 * What is kept has been through redact_command(): a secret never enters the cache, nor a sample. */
#pragma once

#include "model/sample.h"
#include "kernel/process_reader.h"

struct command_cache;

/* The reader stays the caller's. A process not seen for `memory` ticks (0: two) is forgotten. */
struct command_cache *command_cache_new(struct process_reader *reader, uint32_t memory);
void command_cache_free(struct command_cache *c); /* NULL is fine */
DEFINE_CLEANUP(struct command_cache *, command_cache_free)

/* Gives p its command line; all but that is there already. Where its exec_id is not known, a new
 * name is the only sign of another program. One that must be read first is given it by command_cache_end_tick(), so
 * that all of them are read together. */
void command_cache_fill(struct command_cache *c, struct sample *out, struct proc_sample *p);
/* After the last process of a tick. Sorts the processes by pid. */
void command_cache_end_tick(struct command_cache *c, struct sample *out);

/* The command line from a request that read PROCESS_CMDLINE: its length. "[comm]" for a process
 * that has none, or is gone. */
size_t command_from_request(const struct process_request *q, const char *comm,
                            char to[COMMAND_MAX]);
