/* SPDX-License-Identifier: MIT */
#include "probe/taskbook.h"

#include <string.h>

#define EARLY_MAX ((size_t)1 << 16)

static_assert(TASK_COMM_BYTES == COMM_LEN, "names are copied whole");

void taskbook_reset(struct taskbook *book)
{
	vec_reset(&book->exec_ids);
	vec_reset(&book->early);
}

void taskbook_done(struct taskbook *book)
{
	vec_done(&book->exec_ids);
	vec_done(&book->early);
}

static void set_space(const struct taskbook *book, const struct task_space *space, struct proc_sample *p)
{
	p->state = space->state;
	readings_set(&p->r, PROC_VMS, space->vm_pages * book->page_bytes);
	readings_set(&p->r, PROC_FDS, space->open_fds);
	if (space->flags & TASK_HAS_RSS)
		readings_set(&p->r, PROC_RSS, space->rss_pages * book->page_bytes);
}

static void set_counters(const struct task_record *r, struct proc_sample *p)
{
	readings_set(&p->r, PROC_CPU_TIME, r->counters.cpu_ns);
	readings_set(&p->r, PROC_MINOR_FAULTS, r->counters.minor_faults);
	readings_set(&p->r, PROC_MAJOR_FAULTS, r->counters.major_faults);
	if (r->space.flags & TASK_HAS_IO) {
		readings_set(&p->r, PROC_READ_BYTES, r->counters.read_bytes);
		readings_set(&p->r, PROC_WRITE_BYTES, r->counters.write_bytes);
	}
}

static void take_process(struct taskbook *book, const struct task_record *r, struct sample *out)
{
	struct proc_sample *p = sample_add_proc(out);
	uint64_t *exec_id = vec_push(&book->exec_ids, PROCS_MAX);

	if (!p || !exec_id)
		return;
	*exec_id = r->exec_id;
	p->id = (struct proc_id){ (pid_t)r->head.tgid, r->start_boot_ns / NS_PER_TICK };
	p->ppid = (pid_t)r->ppid;
	p->uid = r->uid;
	memcpy(p->comm, r->comm, sizeof p->comm);
	p->comm[sizeof p->comm - 1] = '\0';
	readings_set(&p->r, PROC_THREADS, r->threads);
	readings_set(&p->r, PROC_FD_LIMIT, r->fd_limit);
	set_counters(r, p);
	set_space(book, &r->space, p);
}

/* Counters that the kernel does not keep are not marked present, so that adding to them does no harm. */
static void add_thread(const struct taskbook *book, const struct task_record *r, struct proc_sample *p)
{
	p->r.value[PROC_CPU_TIME] += r->counters.cpu_ns;
	p->r.value[PROC_MINOR_FAULTS] += r->counters.minor_faults;
	p->r.value[PROC_MAJOR_FAULTS] += r->counters.major_faults;
	p->r.value[PROC_READ_BYTES] += r->counters.read_bytes;
	p->r.value[PROC_WRITE_BYTES] += r->counters.write_bytes;
	/* A leader that has exited looks like a zombie and has given up its memory and files, while its process lives
	 * on in the other threads: the first of them speaks for it. */
	if (r->head.kind == TASK_STANDIN && p->state == 'Z')
		set_space(book, &r->space, p);
}

static void take_thread(struct taskbook *book, const struct task_record *r, struct sample *out)
{
	struct proc_sample *last = out->procs.len ? &out->procs.at[out->procs.len - 1] : NULL;
	pid_t pid = (pid_t)r->head.tgid;
	struct proc_sample *p = last && last->id.pid == pid ? last : sample_find_proc(out, pid);

	if (p) {
		add_thread(book, r, p);
		return;
	}
	struct task_record *early = vec_push(&book->early, EARLY_MAX);
	if (early)
		memcpy(early, r, r->head.size);
}

static const size_t sizes[] = {
	[TASK_PROCESS] = TASK_PROCESS_BYTES,
	[TASK_THREAD] = TASK_THREAD_BYTES,
	[TASK_STANDIN] = TASK_STANDIN_BYTES,
};

size_t taskbook_take(struct taskbook *book, const void *bytes, size_t len, struct sample *out)
{
	const char *p = bytes;
	size_t used = 0;

	while (len - used >= sizeof(struct task_head)) {
		const struct task_record *r = (const void *)(p + used);
		size_t size = r->head.kind < ARRAY_LEN(sizes) ? sizes[r->head.kind] : 0;

		if (!size || r->head.size != size) {
			book->malformed += len - used;
			return len;
		}
		if (size > len - used)
			break;
		if (r->head.kind == TASK_PROCESS)
			take_process(book, r, out);
		else
			take_thread(book, r, out);
		used += size;
	}
	return used;
}

void taskbook_finish(struct taskbook *book, struct sample *out)
{
	sample_sort_procs(out);
	vec_each(&book->early, r) {
		struct proc_sample *p = sample_find_proc(out, (pid_t)r->head.tgid);

		if (p)
			add_thread(book, r, p);
	}
}
