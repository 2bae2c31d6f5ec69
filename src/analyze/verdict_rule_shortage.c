/* SPDX-License-Identifier: MIT */
#include "analyze/verdict_rule_list.h"

#include <stdio.h>
#include <string.h>

#define GPU_FAULT_WITHIN_NS (10 * NS_PER_S)
#define GPU_FULL_PERCENT 97

static const struct verdict_event *find_disk(const struct verdict_facts *f, const char *name)
{
	vec_each(&f->events, s)
		if (s->kind == EVENT_DISK && strcmp(s->name, name) == 0)
			return s;
	return NULL;
}

static const struct {
	const char *error;
	enum verdict_code code;
} error_codes[] = {
	{ "ENOSPC", VERDICT_DISK_FULL },     { "EDQUOT", VERDICT_DISK_FULL },
	{ "EROFS", VERDICT_READ_ONLY_FS },   { "EMFILE", VERDICT_FDS_EXHAUSTED },
	{ "ENFILE", VERDICT_FDS_EXHAUSTED }, { "EAGAIN", VERDICT_PIDS_EXHAUSTED },
	{ "EFBIG", VERDICT_RLIMIT_FSIZE },   { "ENOMEM", VERDICT_RLIMIT_AS },
};

/* ENOMEM is that of a limit of address space where memory was asked for; elsewhere it is anything. */
static bool is_allocation(const char *call)
{
	static const char *const calls[] = { "mmap", "mremap", "brk", NULL };

	return verdict_origin_is_named(call, calls);
}

/* All calls that were counted are ones that programs do without. */
static bool is_optional(const struct verdict_facts *f, const struct verdict_error *e)
{
	uint64_t n = 0;

	if (e->is_optional)
		return true;
	vec_each(&f->errors, known)
		n += known->is_optional && strcmp(known->call, e->call) == 0 &&
		     strcmp(known->error, e->error) == 0;
	return e->count && e->count <= n;
}

static bool counts_as(const struct verdict_context *c, const struct verdict_error *e)
{
	if (is_optional(c->f, e))
		return false;
	if (e->id.pid && c->origin.first && !proc_id_eq(e->id, c->origin.first->id))
		return false;
	return strcmp(e->error, "ENOMEM") != 0 || is_allocation(e->call);
}

static bool has_state_of(const struct verdict_context *c, enum verdict_code code)
{
	switch ((int)code) {
	case VERDICT_DISK_FULL:
		return find_disk(c->f, EVENT_DISK_FULL);
	case VERDICT_INODES_FULL:
		return find_disk(c->f, EVENT_DISK_INODES);
	case VERDICT_READ_ONLY_FS:
		return find_disk(c->f, EVENT_DISK_READ_ONLY);
	case VERDICT_FDS_EXHAUSTED:
		return c->f->has_fd_anomaly;
	case VERDICT_PIDS_EXHAUSTED:
		return c->job->limits_hit & (1u << JOB_LIMIT_PIDS | 1u << JOB_LIMIT_USER_PIDS);
	case VERDICT_RLIMIT_AS: /* the kernel may also refuse what exceeds the machine's memory */
		return strcmp(c->job->allowed.memory_source, ALLOWANCE_ULIMIT) == 0;
	default:
		return false;
	}
}

/* A program may handle an error and fail later of something else: it is proven where it was right before the end and
 * the program reported it, or the state at the end shows the same. */
static bool is_proven(const struct verdict_context *c, const struct verdict_error *e,
                      enum verdict_code code)
{
	const struct verdict_death *d = c->origin.first;
	bool was_last = e->at_ns && d && (e->is_reported || d->signal) && e->at_ns <= d->ended_ns &&
	                d->ended_ns - e->at_ns <= NS_PER_S && code != VERDICT_RLIMIT_AS;

	return was_last || has_state_of(c, code);
}

bool verdict_rule_failed_call(const struct verdict_context *c, struct verdict *v)
{
	const struct verdict_error *found = NULL;
	struct evidence *e;

	/* The last error of a process is preferred to a count of the whole job. */
	vec_each(&c->f->errors, error)
		if (counts_as(c, error) && (!found || error->id.pid))
			found = error;
	for (size_t i = 0; found && i < ARRAY_LEN(error_codes); i++)
		if (strcmp(found->error, error_codes[i].error) == 0)
			v->code = error_codes[i].code;
	if (v->code == VERDICT_UNKNOWN)
		return false;
	if (v->code == VERDICT_DISK_FULL && find_disk(c->f, EVENT_DISK_INODES))
		v->code = VERDICT_INODES_FULL;
	v->confidence = verdict_evidence_confidence(c, is_proven(c, found, v->code));
	verdict_evidence_set_process(v, c->origin.first);
	e = verdict_add(v, EVIDENCE_CALL_FAILED);
	e->at_ns = found->at_ns;
	e->process = found->id;
	e->value = found->count;
	if (*found->text)
		memcpy(e->text, found->text, sizeof e->text);
	else
		snprintf(e->text, sizeof e->text, "%s: %s", found->call, found->error);
	verdict_evidence_add_ends(c, v);
	return true;
}

bool verdict_rule_disk(const struct verdict_context *c, struct verdict *v)
{
	static const struct {
		const char *name;
		enum verdict_code code;
		enum evidence_kind evidence;
		enum metric_unit unit;
	} kinds[] = {
		{ EVENT_DISK_FULL, VERDICT_DISK_FULL, EVIDENCE_DISK, UNIT_BYTES },
		{ EVENT_DISK_INODES, VERDICT_INODES_FULL, EVIDENCE_DISK, UNIT_COUNT },
		{ EVENT_DISK_READ_ONLY, VERDICT_READ_ONLY_FS, EVIDENCE_READ_ONLY, UNIT_COUNT },
	};
	struct evidence *e;

	/* If every call was counted, an error would have been among them. */
	if (c->f->has_calls && c->job->figures[JOB_FIGURE_SYSCALLS].quality == QUALITY_EXACT)
		return false;
	for (size_t i = 0; i < ARRAY_LEN(kinds); i++) {
		const struct verdict_event *s = find_disk(c->f, kinds[i].name);

		if (!s)
			continue;
		v->code = kinds[i].code;
		v->confidence = CONFIDENCE_MEDIUM;
		verdict_evidence_set_process(v, c->origin.first);
		e = verdict_evidence_add_text(v, kinds[i].evidence, s->at_ns, s->text);
		e->value = (uint64_t)MAX(s->count, (int64_t)0);
		e->unit = kinds[i].unit;
		verdict_evidence_add_ends(c, v);
		return true;
	}
	return false;
}

bool verdict_rule_out_of_tasks(const struct verdict_context *c, struct verdict *v)
{
	unsigned hit = c->job->limits_hit & (1u << JOB_LIMIT_PIDS | 1u << JOB_LIMIT_USER_PIDS);

	if (!hit)
		return false;
	v->code = VERDICT_PIDS_EXHAUSTED;
	v->confidence = CONFIDENCE_MEDIUM;
	verdict_evidence_set_process(v, c->origin.first);
	verdict_evidence_add_limit(
		v, 0, "--pids",
		c->job->limit[hit >> JOB_LIMIT_PIDS & 1 ? JOB_LIMIT_PIDS : JOB_LIMIT_USER_PIDS],
		UNIT_COUNT);
	verdict_evidence_add_ends(c, v);
	return true;
}

bool verdict_rule_out_of_files(const struct verdict_context *c, struct verdict *v)
{
	if (!c->f->has_fd_anomaly)
		return false;
	v->code = VERDICT_FDS_EXHAUSTED;
	v->confidence = CONFIDENCE_MEDIUM;
	verdict_evidence_set_process(v, c->origin.first);
	verdict_evidence_add_text(v, EVIDENCE_ANOMALY, c->f->fd_anomaly_ns, c->f->fd_anomaly);
	verdict_evidence_add_ends(c, v);
	return true;
}

/* The driver names no process: that the job failed at the same time makes it likely. */
bool verdict_rule_gpu_fault(const struct verdict_context *c, struct verdict *v)
{
	const struct verdict_event *found = NULL;

	vec_each(&c->f->events, s)
		if (s->kind == EVENT_GPU &&
		    (strcmp(s->name, "xid") == 0 || strcmp(s->name, "lost") == 0) &&
		    s->at_ns + GPU_FAULT_WITHIN_NS >= c->job->ended_ns)
			found = s;
	if (!found)
		return false;
	v->code = VERDICT_GPU_FAULT;
	v->confidence = CONFIDENCE_MEDIUM;
	verdict_evidence_set_process(v, c->origin.first);
	verdict_evidence_add_text(v, EVIDENCE_GPU, found->at_ns, found->text);
	verdict_evidence_add_ends(c, v);
	return true;
}

bool verdict_rule_out_of_gpu_memory(const struct verdict_context *c, struct verdict *v)
{
	struct figure used = c->job->figures[JOB_FIGURE_PEAK_GPU_DEVICE],
		      whole = c->job->figures[JOB_FIGURE_GPU_DEVICE];
	struct evidence *e;

	if (!figure_is_known(used) || !figure_is_known(whole) || !whole.value ||
	    used.value < whole.value / 100 * GPU_FULL_PERCENT)
		return false;
	v->code = VERDICT_GPU_OOM;
	v->confidence = CONFIDENCE_MEDIUM;
	verdict_evidence_set_process(v, c->origin.first);
	e = verdict_add(v, EVIDENCE_GPU_MEMORY);
	e->value = used.value;
	e->of = whole.value;
	e->unit = UNIT_BYTES;
	verdict_evidence_add_ends(c, v);
	return true;
}
