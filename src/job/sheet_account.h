/* SPDX-License-Identifier: MIT */
/* sheet_account.h - what processes used in a sheet that are older than it, the one that opened it and
 * those that joined it: the difference of their counters between begin and end, and the most memory that
 * was sampled meanwhile. Pure: the caller reads the counters. sheet_use.h joins the result with that of
 * the processes born in the sheet. */
#pragma once

#include "model/snapshot.h"

struct sheet_account {
	uint32_t num;
	struct proc_id id;
	bool is_joined; /* another opened the sheet, or none */
	uint64_t begin_boot_ns;
	struct proc_readings begin, now; /* now: as it was read or sampled last */
	uint64_t peak_bytes;             /* of the samples */
	double max_cpu_ratio;            /* of the samples; NAN: not known */
	struct sheet_use before;         /* of earlier attempts */
	bool has_before;
	enum sheet_lack lack;
	uint64_t waited_begin_ns, waited_ns; /* CPU time of the children that it waited for */
	bool counts_waited;                  /* all these children were born in the sheet */
	bool is_sampled; /* a tick has seen it: the next one covers no time before the sheet */
	bool is_late;    /* the sheet began before we read the counters */
	bool is_final;   /* `now` is as of the end of the sheet, or of the process */
	uint64_t closed_boot_ns; /* the sheet has ended; 0: it runs */
};

struct sheet_accounts {
	struct sheet_account *at;
	size_t len, cap;
};

/* It opens the sheet; at NULL: its counters could not be read. Other sheets that it has open overlap with
 * this one. The account is good until the next begins; NULL at the ceiling. */
struct sheet_account *sheet_accounts_begin(struct sheet_accounts *t, uint32_t num,
                                           struct proc_id opener, const struct proc_readings *at,
                                           uint64_t now_boot_ns);
/* The process opens a sheet beside those that it has open here: of none of them the usage is known. False:
 * it has none open. */
bool sheet_accounts_overlap(struct sheet_accounts *t, struct proc_id opener);
/* The process leaves the job; at NULL: as for sheet_account_end(). */
void sheet_accounts_leave(struct sheet_accounts *t, struct proc_id id,
                          const struct proc_readings *at, uint64_t now_boot_ns);
/* Another process that is older takes part in the sheet from now on. */
void sheet_accounts_join(struct sheet_accounts *t, uint32_t num, struct proc_id id,
                         const struct proc_readings *at, uint64_t now_boot_ns);
/* … and was found in a sample, if it is new in an open sheet: it may have joined before. */
void sheet_accounts_find(struct sheet_accounts *t, const struct job_row *row,
                         const struct proc_snap *p, uint64_t now_boot_ns);
/* The sheet ends; at NULL: its process has ended before, or hangs. */
void sheet_account_end(struct sheet_account *a, const struct proc_readings *at,
                       uint64_t now_boot_ns);
/* Processes as they were sampled, and ends with their totals. */
void sheet_accounts_take(struct sheet_accounts *t, const struct snapshot *snap);
/* Puts what is known into the sheets, and forgets those to which nothing will be added. */
void sheet_accounts_settle(struct sheet_accounts *t, struct job_row *row, uint64_t now_boot_ns);
void sheet_accounts_done(struct sheet_accounts *t);
