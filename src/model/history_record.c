/* SPDX-License-Identifier: MIT */
#include "model/history_record.h"

/* Behind the NUL of the details. 0: it has none, or there is no room. */
static size_t put_name(const struct event *e, const char *text, struct buf *to)
{
	bool has_name = e->kind == EVENT_MARK || e->kind == EVENT_PHASE || e->kind == EVENT_LIMIT;
	size_t at = to->len + 1;

	return has_name && e->name.len && buf_putc(to, '\0') &&
	                       buf_put(to, text + e->name.at, e->name.len)
	               ? at
	               : 0;
}

struct event_record history_record_of_event(const struct event *e, const struct snapshot *snap,
                                            struct buf *text)
{
	bool has_job = e->job >= 0;
	size_t name_at;

	buf_reset(text);
	event_details(e, snap->text.at, text);
	name_at = put_name(e, snap->text.at, text);
	return (struct event_record){
		.kind = e->kind,
		.inferred = e->inferred,
		.wall_ns = e->wall_ns,
		.process = e->id,
		.has_exit_code = e->has_exit_code,
		.exit_code = e->exit_code,
		.signal = e->signal,
		.job_id = has_job ? snap->jobs.at[e->job].id : NULL,
		.has_job_uid = has_job,
		.job_uid = has_job ? snap->jobs.at[e->job].uid : 0,
		.sheet = has_job ? e->sheet : 0,
		.count = e->count,
		.details = text->at,
		.name = name_at ? text->at + name_at : NULL,
	};
}

struct anomaly_record history_record_of_anomaly(const struct anomaly *a,
                                                const struct snapshot *snap, struct buf *text)
{
	bool has_job = a->job >= 0 && (size_t)a->job < snap->jobs.len;

	buf_reset(text);
	anomaly_describe(a, text);
	return (struct anomaly_record){
		.kind = anomaly_kinds[a->kind].key,
		.severity = a->severity,
		.process = a->id,
		.job_id = has_job ? snap->jobs.at[a->job].id : NULL,
		.has_job_uid = has_job,
		.job_uid = has_job ? snap->jobs.at[a->job].uid : 0,
		.sheet = has_job ? a->sheet : 0,
		.began_ns = a->began_wall_ns,
		.ended_ns = a->ended_wall_ns,
		.value = anomaly_shown(a->kind, a->value),
		.peak = anomaly_shown(a->kind, a->peak),
		.threshold = anomaly_shown(a->kind, a->threshold),
		.runs = a->runs,
		.description = text->at,
	};
}

void history_record_profile_done(struct job_profile *p)
{
	vec_done(&p->sheets);
	vec_done(&p->syscalls);
}

static struct figure sampled_if(uint64_t present, unsigned id, uint64_t value)
{
	return present >> id & 1 ? (struct figure){ value, QUALITY_SAMPLED } : (struct figure){ 0 };
}

static struct figure reading_of(const struct proc_snap *p, enum proc_metric id)
{
	return sampled_if(p->s.r.present, id, p->s.r.value[id]);
}

struct process_sample_record history_record_of_process_sample(const struct snapshot *snap,
                                                              const struct proc_snap *p)
{
	return (struct process_sample_record){
		.wall_ns = snap->wall_ns,
		.id = p->s.id,
		.comm = p->s.comm,
		.sheet = p->sheet,
		.cpu_ratio = p->cpu_ratio,
		.rss = reading_of(p, PROC_RSS),
		.pss = reading_of(p, PROC_PSS),
		.uss = reading_of(p, PROC_USS),
		.threads = reading_of(p, PROC_THREADS),
		.fds = reading_of(p, PROC_FDS),
		.read = reading_of(p, PROC_READ_BYTES),
		.written = reading_of(p, PROC_WRITE_BYTES),
		.gpu_memory = reading_of(p, PROC_GPU_MEM),
		.gpu_sm_pct = reading_of(p, PROC_GPU_SM),
	};
}

static void add_to(struct figure *sum, const struct gpu_use *use, enum gpu_use_metric id)
{
	if (readings_has(&use->r, id))
		*sum = (struct figure){ sum->value + use->r.value[id], QUALITY_SAMPLED };
}

struct gpu_sample_record history_record_of_gpu_sample(const struct snapshot *snap, uint32_t gpu,
                                                      int32_t job)
{
	const struct gpu_sample *g = &snap->gpus.at[gpu];
	struct gpu_sample_record ret = { .wall_ns = snap->wall_ns,
		                         .index = g->index,
		                         .name = *g->name ? g->name : NULL };

	for (unsigned i = 0; i < GPU_METRIC_COUNT; i++)
		ret.r[i] = sampled_if(g->r.present, i, g->r.value[i]);
	vec_each(&snap->gpu_uses, use) {
		if (use->gpu != gpu || use->job != job)
			continue;
		add_to(&ret.own_memory, use, GPU_USE_MEM);
		add_to(&ret.own_sm_pct, use, GPU_USE_SM);
	}
	return ret;
}
