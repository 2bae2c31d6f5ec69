/* SPDX-License-Identifier: MIT */
/* The list of stored tables, in the order in which they are written: jobs first, because most rows
 * refer to one; a snapshot before what belongs to it; sheets after processes, which they sum up. */
#include "store/store_table.h"

extern const struct store_table job_table, anomaly_table, recorder_table, snapshot_table,
	host_table, cgroup_table, process_table, gpu_table, sample_table, event_table,
	job_sample_table, sheet_table, syscall_table, flight_table, imported_run_table,
	pattern_table;

const struct store_table *const store_tables[] = {
	&job_table,          /* one row per job */
	&anomaly_table,      /* … per episode */
	&recorder_table,     /* … per start of a recorder */
	&snapshot_table,     /* … per snapshot, and the keyframes that hold them */
	&host_table,         /* the machine at a snapshot */
	&cgroup_table,       /* the recorder's control group at a snapshot */
	&process_table,      /* one row per life and recorder */
	&gpu_table,          /* GPUs at a snapshot, and processes on them */
	&sample_table,       /* a process at a snapshot */
	&event_table,        /* one row per event */
	&job_sample_table,   /* a running job at a snapshot */
	&sheet_table,        /* one row per sheet */
	&syscall_table,      /* a column of processes, sheets and jobs */
	&flight_table,       /* … of processes */
	&imported_run_table, /* one row per run that was imported */
	&pattern_table,      /* what the jobs of a type have in common */
};
const size_t store_table_count = ARRAY_LEN(store_tables);
