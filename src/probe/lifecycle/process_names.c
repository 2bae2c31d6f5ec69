/* SPDX-License-Identifier: MIT */
#include "probe/lifecycle/process_names.h"

#include <string.h>

void process_names_init(struct process_names *n)
{
	*n = (struct process_names){ .slots.entry_bytes = sizeof(struct known) };
}

void process_names_done(struct process_names *n)
{
	process_slots_done(&n->slots);
}

static struct known *see(struct process_names *n, pid_t pid)
{
	return process_slots_see(&n->slots, (struct proc_id){ .pid = pid });
}

void process_names_learn(struct process_names *n, const struct sample *s)
{
	vec_each(&s->procs, p) {
		struct known *k = see(n, p->id.pid);

		if (!k || k->changed_ns >= s->boot_ns)
			continue;
		*k = (struct known){ .id = p->id, .uid = p->uid, .named_ns = s->boot_ns };
		memcpy(k->comm, p->comm, sizeof k->comm);
	}
	process_slots_end_tick(&n->slots);
}

struct known *process_names_find(const struct process_names *n, pid_t pid)
{
	struct known *k = process_slots_find(&n->slots, (struct proc_id){ .pid = pid });

	return k && !k->is_gone ? k : NULL;
}

void process_names_put(struct process_names *n, const struct known *k)
{
	struct known *to = see(n, k->id.pid);

	if (to)
		*to = *k;
}

void process_names_forget(struct process_names *n, pid_t pid, uint64_t boot_ns)
{
	struct known *k = process_names_find(n, pid);

	if (!k)
		return;
	k->is_gone = true;
	k->changed_ns = boot_ns;
}
