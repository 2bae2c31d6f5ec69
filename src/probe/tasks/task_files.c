/* SPDX-License-Identifier: MIT */
#include "probe/tasks/task_files.h"

#include <string.h>

/* Readings of the address space and the file table. */
static void set_space(const struct process_request *q, uint64_t page_bytes, struct proc_sample *ret)
{
	(void)process_files_parse_statm(q->text[PROCESS_STATM], page_bytes, &ret->r);
	ret->anon_bytes = process_files_parse_anon(q->text[PROCESS_STATM], page_bytes);
	if (q->has_fds)
		readings_set(&ret->r, PROC_FDS, q->fds);
}

bool task_files_fill(const struct process_request *q, uint64_t page_bytes, struct proc_sample *ret)
{
	struct process_files_stat st;

	if (q->error || !process_files_parse_stat(q->text[PROCESS_STAT], &st))
		return false;
	*ret = (struct proc_sample){ .id = { st.pid, st.start_ticks },
		                     .ppid = st.ppid,
		                     .uid = q->uid,
		                     .state = st.state,
		                     .r = st.r,
		                     .exec_id = st.exec_id,
		                     .waited_cpu_ns = st.waited_cpu_ns };
	memcpy(ret->comm, st.comm, sizeof ret->comm);
	set_space(q, page_bytes, ret);
	(void)process_files_parse(PROCESS_IO, q->text[PROCESS_IO], &ret->r); /* may be refused */
	return true;
}

bool task_files_fill_thread(const struct process_request *q, uint64_t page_bytes,
                            struct proc_sample *ret)
{
	struct process_files_stat st;

	if (q->error || !process_files_parse_stat(q->text[PROCESS_STAT], &st) || st.state == 'Z' ||
	    st.state == 'X')
		return false;
	ret->state = st.state;
	ret->exec_id = st.exec_id;
	set_space(q, page_bytes, ret);
	return true;
}
