/* SPDX-License-Identifier: MIT */
#include "job/process_origin.h"

#define FILES (1U << PROCESS_STATUS | 1U << PROCESS_AUXV)

static bool is_of(const struct process_request *q, uint32_t uid)
{
	uint32_t uids[3];
	bool is_secure;

	return !q->error && !q->errors[PROCESS_STATUS] && !q->errors[PROCESS_AUXV] &&
	       process_files_parse_uids(q->text[PROCESS_STATUS], uids) &&
	       process_files_parse_secure(q->text[PROCESS_AUXV], &is_secure) && !is_secure &&
	       uids[0] == uid && uids[1] == uid && uids[2] == uid;
}

void process_origin_read(struct process_reader *r, pid_t pid, pid_t parent, uint32_t uid,
                         struct process_origin *ret)
{
	struct process_request q[2] = { { .pid = pid, .files = FILES },
		                        { .pid = parent, .files = FILES } };

	process_reader_read(r, q, ARRAY_LEN(q));
	*ret = (struct process_origin){ is_of(&q[0], uid), is_of(&q[1], uid) };
}
