/* SPDX-License-Identifier: MIT */
#include "analyze/anomaly_rules.h"

#include "analyze/rules.h"

/* The rules of each scope, in the order of their kinds. */
#define X(id, key, name, scope, ...) scope##_ROW(ANOMALY_##id, rule_##key)
#define ROW(kind, rule) { kind, rule },
#define NO_ROW(kind, rule)

#define PROCESS_ROW ROW
#define JOB_ROW NO_ROW
#define MACHINE_ROW NO_ROW
static const struct {
	enum anomaly_kind kind;
	PROCESS_RULE((*holds));
} process_rules[] = { ANOMALY_KINDS(X) };

#undef PROCESS_ROW
#undef JOB_ROW
#define PROCESS_ROW NO_ROW
#define JOB_ROW ROW
static const struct {
	enum anomaly_kind kind;
	JOB_RULE((*holds));
} job_rules[] = { ANOMALY_KINDS(X) };

#undef JOB_ROW
#undef MACHINE_ROW
#define JOB_ROW NO_ROW
#define MACHINE_ROW ROW
static const struct {
	enum anomaly_kind kind;
	MACHINE_RULE((*holds));
} machine_rules[] = { ANOMALY_KINDS(X) };
#undef X

/* Its own text is long, and most rules have none. */
static void begin(struct finding *f, enum anomaly_kind kind, int32_t job)
{
	f->kind = kind;
	f->id = (struct proc_id){ 0 };
	f->comm[0] = '\0';
	f->job = job;
	f->sheet = 0;
	f->other = 0;
	f->text[0] = '\0';
	f->runs = 0;
}

static void add(struct findings *to, const struct finding *f)
{
	struct finding *slot = vec_push(to, FINDINGS_MAX);

	if (slot)
		*slot = *f;
	else
		to->dropped++;
}

static void check_process(const struct anomaly_input *in, const struct proc_snap *p,
                          const struct trail *t, struct findings *ret)
{
	struct finding f;

	for (size_t i = 0; i < ARRAY_LEN(process_rules); i++) {
		begin(&f, process_rules[i].kind, p->job);
		if (!process_rules[i].holds(in, p, t, &f))
			continue;
		f.id = p->s.id;
		f.sheet = p->sheet;
		memcpy(f.comm, p->s.comm, sizeof f.comm);
		add(ret, &f);
	}
}

/* Only of a job that runs, and was sampled at this tick. */
static void check_job(const struct anomaly_input *in, size_t job, struct findings *ret)
{
	const struct job_trail *t = job_history_trail(in->jobs, (int32_t)job);
	struct finding f;

	if (!t || job >= in->snap->sums.len || in->snap->jobs.at[job].status != JOB_RUNNING)
		return;
	for (size_t i = 0; i < ARRAY_LEN(job_rules); i++) {
		begin(&f, job_rules[i].kind, (int32_t)job);
		if (job_rules[i].holds(in, job, t, &f))
			add(ret, &f);
	}
}

void anomaly_rules_apply(const struct anomaly_input *in, struct findings *ret)
{
	const struct snapshot *snap = in->snap;
	struct finding f;

	vec_reset(ret);
	for (size_t i = 0; i < ARRAY_LEN(machine_rules); i++) {
		begin(&f, machine_rules[i].kind, -1);
		if (machine_rules[i].holds(in, &f))
			add(ret, &f);
	}
	for (size_t i = 0; i < snap->jobs.len; i++)
		check_job(in, i, ret);
	for (size_t i = 0; i < snap->procs.len; i++)
		check_process(in, &snap->procs.at[i], process_history_trail(in->processes, i), ret);
}
