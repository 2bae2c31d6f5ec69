/* SPDX-License-Identifier: MIT */
#include "store/anomaly_view.h"

#include "model/anomaly.h"
#include "store/schema.h"
#include "store/job_views.h"

void anomaly_view_put(struct buf *sql)
{
	const char *names[SEVERITY_COUNT];

	for (enum severity i = 0; i < SEVERITY_COUNT; i++)
		names[i] = severity_name(i);
	buf_puts(sql, "CREATE VIEW anomalies AS SELECT a.id AS id, a.began AS timestamp,"
	              " a.kind AS anomaly_type, ");
	view_put_case(sql, "a.severity", names, SEVERITY_COUNT);
	buf_printf(sql,
	           " AS severity, a.pid AS pid, (SELECT j.job_id FROM job j WHERE j.id = a.job)"
	           " AS job_id, a.sheet AS sheet_num, a.description AS description,"
	           " a.value AS metric_value, a.threshold AS threshold, a.peak AS peak,"
	           " a.ended AS ended, a.id >> %d AS recorder FROM anomaly a",
	           SCHEMA_EPISODE_BITS);
}
