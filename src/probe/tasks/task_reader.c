/* SPDX-License-Identifier: MIT */
#include "probe/tasks/task_reader.h"

#include <string.h>

static_assert(TASK_COMM_BYTES == COMM_LEN, "names are copied whole");

void task_reader_reset(struct task_reader *book)
{
	vec_relax(&book->exec_ids);
}

void task_reader_done(struct task_reader *book)
{
	vec_done(&book->exec_ids);
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

static void set_counters(const struct task_record *r, struct proc_sample *p)
{
	readings_set(&p->r, PROC_CPU_TIME, r->counters.cpu_ns);
	readings_set(&p->r, PROC_MINOR_FAULTS, r->counters.minor_faults);
	readings_set(&p->r, PROC_MAJOR_FAULTS, r->counters.major_faults);
	if (r->flags & TASK_HAS_IO) {
		readings_set(&p->r, PROC_READ_BYTES, r->counters.read_bytes);
		readings_set(&p->r, PROC_WRITE_BYTES, r->counters.write_bytes);
	}
}

static void set_gauges(const struct task_reader *book, const struct task_record *r,
                       struct proc_sample *p)
{
	readings_set(&p->r, PROC_VMS, r->vm_pages * book->page_bytes);
	readings_set(&p->r, PROC_FDS, r->open_fds);
	readings_set(&p->r, PROC_FD_LIMIT, r->fd_limit);
	readings_set(&p->r, PROC_THREADS, r->threads);
	if (r->flags & TASK_HAS_RSS)
		readings_set(&p->r, PROC_RSS, r->rss_pages * book->page_bytes);
}

static void take_process(struct task_reader *book, const struct task_record *r, struct sample *out)
{
	struct proc_sample *p = sample_add_proc(out);
	uint64_t *exec_id = vec_push(&book->exec_ids, PROCS_MAX);

	if (!p || !exec_id)
		return;
	*exec_id = r->exec_id;
	p->id = (struct proc_id){ (pid_t)r->tgid, r->start_boot_ns / NS_PER_TICK };
	p->ppid = (pid_t)r->ppid;
	p->uid = r->uid;
	p->state = state_letter(r->state, r->exit_state);
	memcpy(p->comm, r->comm, sizeof p->comm);
	p->comm[sizeof p->comm - 1] = '\0';
	set_gauges(book, r, p);
	set_counters(r, p);
}

size_t task_reader_take(struct task_reader *book, const void *bytes, size_t len, struct sample *out)
{
	const char *p = bytes;
	size_t used = 0;

	for (; len - used >= sizeof(struct task_record); used += sizeof(struct task_record)) {
		const struct task_record *r = (const void *)(p + used);

		if (r->size != sizeof *r) {
			book->malformed += len - used;
			return len;
		}
		take_process(book, r, out);
	}
	return used;
}
