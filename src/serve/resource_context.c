/* SPDX-License-Identifier: MIT */
#include "serve/resource_context.h"

#include <math.h>
#include <stdio.h>

#include "base/clock.h"

#define SHORTEST_NS (100 * NS_PER_MS) /* … of which a share of CPU means something */
/* json_put_double() writes NAN as null. */
#define MIB_OR_NAN(r, id) (readings_has(r, id) ? (double)(r)->value[id] / (1 << 20) : (double)NAN)

static void write_machine(struct json *j, const struct snapshot *snap,
                          const struct resource_context_jobs *jobs)
{
	json_put_str(j, "pressure_level", snap ? snap->pressure_level : NULL);
	json_key(j, "running_jobs");
	jobs ? json_u64(j, jobs->running) : json_nil(j);
	json_key(j, "active_sheets");
	jobs ? json_u64(j, jobs->active_sheets) : json_nil(j);
}

/* "futex 41%": the call in which most time was spent; null: none, or they are not counted. */
static void write_hotspot(struct json *j, const struct snapshot *snap,
                          const struct syscall_owner *of)
{
	char name[SYSCALL_NAME_MAX], text[SYSCALL_NAME_MAX + 8];
	syscall_id call;
	double share;

	json_key(j, "syscall_hotspot");
	if (!of || !syscall_counts_hotspot(snap->syscalls.at + of->at, of->len, &call, &share)) {
		json_nil(j);
		return;
	}
	syscall_name(call, name);
	snprintf(text, sizeof text, "%s %.0f%%", name, 100 * share);
	json_str(j, text);
}

static const struct syscall_owner *find_sheet_caller(const struct snapshot *snap,
                                                     const struct sheet *sheet)
{
	if (!snap)
		return NULL;
	vec_each(&snap->callers, of)
		if (!of->id.pid && of->sheet == sheet->num &&
		    snap->jobs.at[of->job].handle == sheet->job)
			return of;
	return NULL;
}

static bool concerns(const struct anomaly *a, const struct proc_snap *p)
{
	if (anomaly_kinds[a->kind].scope == ANOMALY_OF_JOB)
		return a->job >= 0 && a->job == p->job;
	return proc_id_eq(a->id, p->s.id);
}

/* The kinds of open episodes: those of the process and its job, or all for the machine. */
static void write_anomalies(struct json *j, const struct snapshot *snap,
                            const struct snapshot_scope *scope, const struct proc_snap *p,
                            bool is_machine)
{
	json_open_array(j, "anomalies_active");
	for (size_t i = 0; snap && i < snap->anomalies.len; i++) {
		const struct anomaly *a = &snap->anomalies.at[i];

		if (a->news != ANOMALY_ENDED && snapshot_scope_has_anomaly(scope, snap, a) &&
		    (is_machine || (p && concerns(a, p))))
			json_str(j, anomaly_kinds[a->kind].key);
	}
	json_end_array(j);
}

static void write_blocked(struct json *j, const struct blocked_call *blocked)
{
	json_key(j, "blocked");
	if (blocked->id.pid)
		field_table_json_object(j, &blocked_call_fields, blocked);
	else
		json_nil(j);
}

/* The members that are the same for a process as it is now, and as the last tick found it. */
static void write_process(struct json *j, const struct snapshot *snap,
                          const struct snapshot_scope *scope, const struct proc_snap *p,
                          bool is_machine)
{
	write_hotspot(j, snap, p ? snapshot_find_caller(snap, p->s.id) : NULL);
	write_anomalies(j, snap, scope, p, is_machine);
	json_put_double(j, "daemon_rss_mb",
	                snap ? MIB_OR_NAN(&snap->host, HOST_SELF_RSS) : (double)NAN, 1);
}

void resource_context_json(struct json *j, const struct snapshot *snap,
                           const struct snapshot_scope *scope, pid_t pid,
                           const struct resource_context_jobs *jobs,
                           const struct blocked_call *blocked)
{
	const struct proc_snap *p = snap && pid ? snapshot_find(snap, pid) : NULL;

	if (p && !snapshot_scope_has_proc(scope, snap, p))
		p = NULL;
	json_begin_object(j);
	json_put_double(j, "rss_mb", p ? MIB_OR_NAN(&p->s.r, PROC_RSS) : (double)NAN, 1);
	json_put_double(j, "cpu_pct", p ? p->cpu_ratio * 100 : (double)NAN, 1);
	write_process(j, snap, scope, p, !pid);
	if (!pid)
		write_machine(j, snap, jobs);
	if (blocked)
		write_blocked(j, blocked);
	json_end_object(j);
}

/* ---- sheets ---------------------------------------------------------------------------------- */

/* Since the last tick, or up to it if that was just now. */
static double share_now(const struct snapshot *snap, const struct proc_snap *p,
                        const struct proc_readings *now, uint64_t now_boot_ns)
{
	uint64_t elapsed_ns = now_boot_ns > snap->boot_ns ? now_boot_ns - snap->boot_ns : 0;
	uint64_t used_ns;

	if (elapsed_ns < SHORTEST_NS || !readings_has(now, PROC_CPU_TIME) ||
	    !readings_has(&p->s.r, PROC_CPU_TIME) ||
	    now->value[PROC_CPU_TIME] < p->s.r.value[PROC_CPU_TIME])
		return p->cpu_ratio;
	used_ns = now->value[PROC_CPU_TIME] - p->s.r.value[PROC_CPU_TIME];
	return (double)used_ns / (double)elapsed_ns;
}

static void write_opener(struct json *j, const struct snapshot *snap, pid_t pid,
                         const struct proc_readings *now, uint64_t now_boot_ns)
{
	const struct proc_snap *p = snap ? snapshot_find(snap, pid) : NULL;
	double share = p ? share_now(snap, p, now, now_boot_ns) : (double)NAN;

	json_begin_object(j);
	json_put_double(j, "rss_mb", MIB_OR_NAN(now, PROC_RSS), 1);
	json_put_double(j, "cpu_pct", share * 100, 1);
	write_process(j, snap, NULL, p, false);
	json_end_object(j);
}

static void write_tree(struct json *j, const struct snapshot *snap, const struct sheet *sheet)
{
	const struct sheet_tick_figures *tree = &sheet->tree;

	json_begin_object(j);
	json_put_double(j, "rss_mb", tree->seq ? (double)tree->rss_bytes / (1 << 20) : (double)NAN,
	                1);
	json_put_double(j, "cpu_pct", tree->seq ? tree->cpu_ratio * 100 : (double)NAN, 1);
	write_hotspot(j, snap, find_sheet_caller(snap, sheet));
	json_open_array(j, "anomalies_active");
	for (enum anomaly_kind i = 0; i < ANOMALY_KIND_COUNT; i++)
		if (tree->anomalies >> i & 1)
			json_str(j, anomaly_kinds[i].key);
	json_end_array(j);
	json_put_double(j, "daemon_rss_mb",
	                snap ? MIB_OR_NAN(&snap->host, HOST_SELF_RSS) : (double)NAN, 1);
	json_end_object(j);
}

static double age_s(uint64_t since_boot_ns, uint64_t now_boot_ns)
{
	return now_boot_ns > since_boot_ns ? (double)(now_boot_ns - since_boot_ns) / NS_PER_S : 0;
}

double resource_context_sheet_json(struct json *j, const struct snapshot *snap,
                                   const struct sheet *sheet,
                                   const struct resource_context_jobs *jobs,
                                   const struct proc_readings *now, uint64_t now_boot_ns)
{
	if (sheet->is_wrapper) {
		write_tree(j, snap, sheet);
		return sheet->tree.seq ? age_s(sheet->tree.boot_ns, now_boot_ns) : (double)NAN;
	}
	if (now && sheet->pid) {
		write_opener(j, snap, sheet->pid, now, now_boot_ns);
		return 0;
	}
	resource_context_json(j, snap, NULL, sheet->pid, jobs, NULL);
	return snap && sheet->pid && snapshot_find(snap, sheet->pid)
	               ? age_s(snap->boot_ns, now_boot_ns)
	               : (double)NAN;
}
