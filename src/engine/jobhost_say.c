/* SPDX-License-Identifier: MIT */
#include "engine/jobhost_self.h"

#include "engine/job_input.h"

int jobhost_begin_sheet(struct jobhost *h, uint32_t num, uint32_t total, const char *label,
                        pid_t pid, uint32_t *ret_num, struct err *err)
{
	const struct job_input_sheet begun = {
		.num = num, .total = total, .label = label, .pid = pid
	};

	return job_input_begin_sheet(h->engine, &begun, ret_num, err);
}

int jobhost_end_sheet(struct jobhost *h, uint32_t num, const struct sheet *how, struct err *err)
{
	return job_input_end_sheet(h->engine, 0, num, how, err);
}

int jobhost_say(struct jobhost *h, enum event_kind kind, const char *name, int64_t count,
                const char *data, struct err *err)
{
	return job_input_event(h->engine, 0, kind, name, count, data, err);
}
