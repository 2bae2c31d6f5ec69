/* SPDX-License-Identifier: MIT */
#include "probe/tasks/task_reader.h"

#include <string.h>

static_assert(TASK_COMM_BYTES == COMM_LEN, "names are copied whole");

void task_reader_done(struct task_reader *reader)
{
	vec_done(&reader->fresh);
}

/* As the kernel's task_state_index() and the array beside it: what /proc/PID/stat shows. */
#define STATE_REPORTED 0x7fU
#define STATE_IDLE 0x402U     /* uninterruptible, and no load */
#define STATE_AS_DISK 0x9000U /* frozen, or waits for a lock: shown as uninterruptible */

static char state_letter(uint32_t state, uint32_t exit_state)
{
	uint32_t shown = (state | exit_state) & STATE_REPORTED;

	if (state & STATE_AS_DISK)
		return 'D';
	if ((state & STATE_IDLE) == STATE_IDLE)
		return 'I';
	return shown ? "SDTtXZP"[31 - __builtin_clz(shown)] : 'R';
}

void task_reader_set_counters(const struct task_counters *c, bool has_io, struct proc_readings *to)
{
#define X(member, metric, ...) readings_set(to, PROC_##metric, c->member);
	TASK_COUNTERS_ALWAYS(X)
	if (has_io) {
		TASK_COUNTERS_IO(X)
	}
#undef X
}

static void set_gauges(const struct task_reader *reader, const struct task_record *r,
                       struct proc_sample *p)
{
	readings_set(&p->r, PROC_VMS, r->vm_pages * reader->page_bytes);
	readings_set(&p->r, PROC_FDS, r->open_fds);
	readings_set(&p->r, PROC_FD_LIMIT, r->fd_limit);
	readings_set(&p->r, PROC_THREADS, r->threads);
	if (r->flags & TASK_HAS_RSS)
		readings_set(&p->r, PROC_RSS, r->rss_pages * reader->page_bytes);
	p->anon_bytes = r->anon_pages * reader->page_bytes;
}

/* ---- what did not change --------------------------------------------------------------------- */

void task_reader_begin(struct task_reader *reader, struct sample *out)
{
	reader->last = out->last;
	vec_relax(&reader->fresh);
	reader->next = reader->seen = 0;
	reader->families_changed = false;
	reader->unknown = reader->malformed = 0;
}

size_t task_reader_last_len(const struct task_reader *reader)
{
	return reader->last ? reader->last->procs.len : 0;
}

/* Both passes are in the order of pids: usually it is the one after the last. */
static const struct proc_sample *find_last(struct task_reader *reader, struct proc_id id)
{
	const struct proc_sample *p = NULL;

	if (reader->next < task_reader_last_len(reader))
		p = &reader->last->procs.at[reader->next];
	if (reader->last && (!p || p->id.pid != id.pid))
		p = sample_find_proc(reader->last, id.pid);
	if (!p || !proc_id_eq(p->id, id))
		return NULL;
	reader->next = (size_t)(p - reader->last->procs.at) + 1;
	reader->seen++;
	return p;
}

/* Without what other probes have added to it. */
static void add_unchanged(struct task_reader *reader, const struct task_unchanged *r,
                          struct sample *out)
{
	struct proc_id id = { (pid_t)r->tgid, r->start_boot_ns / NS_PER_TICK };
	const struct proc_sample *was = find_last(reader, id);
	struct proc_sample *p = was ? sample_add_proc(out) : NULL;

	reader->unknown += !was;
	if (!p)
		return;
	*p = *was;
	p->r.present &= reader->read;
	p->shmem_bytes = p->mark_shmem_bytes = 0;
	p->pss = (struct proc_pss){ 0 };
	p->command = (struct text_ref){ 0 };
	if (was->command.len)
		p->command = sample_add_text(out, reader->last->text.at + was->command.at,
		                             was->command.len);
}

struct proc_sample *task_reader_add(struct task_reader *reader, const struct proc_sample *p,
                                    struct sample *out)
{
	const struct proc_sample *was = find_last(reader, p->id);
	pid_t *fresh = vec_push(&reader->fresh, PROCS_MAX);
	struct proc_sample *added = fresh ? sample_add_proc(out) : NULL;

	if (!added)
		return NULL;
	*added = *p;
	*fresh = p->id.pid;
	reader->families_changed |= !was || was->ppid != p->ppid;
	return added;
}

/* ---- records --------------------------------------------------------------------------------- */

static void add_full(struct task_reader *reader, const struct task_record *r, struct sample *out)
{
	struct proc_sample p = {
		.id = { (pid_t)r->tgid, r->start_boot_ns / NS_PER_TICK },
		.ppid = (pid_t)r->ppid,
		.uid = r->uid,
		.state = state_letter(r->state, r->exit_state),
		.exec_id = r->exec_id,
	};

	memcpy(p.comm, r->comm, sizeof p.comm);
	p.comm[sizeof p.comm - 1] = '\0';
	set_gauges(reader, r, &p);
	task_reader_set_counters(&r->counters, r->flags & TASK_HAS_IO, &p.r);
	reader->read |= p.r.present;
	task_reader_add(reader, &p, out);
}

size_t task_reader_take(struct task_reader *reader, const void *bytes, size_t len,
                        struct sample *out)
{
	const char *p = bytes;
	size_t used = 0;

	while (len - used >= sizeof(struct task_unchanged)) {
		const struct task_unchanged *r = (const void *)(p + used);

		if (r->size != sizeof *r && r->size != sizeof(struct task_record)) {
			reader->malformed += len - used;
			return len;
		}
		if (r->size > len - used)
			break;
		if (r->size == sizeof *r)
			add_unchanged(reader, r, out);
		else
			add_full(reader, (const void *)r, out);
		used += r->size;
	}
	return used;
}
