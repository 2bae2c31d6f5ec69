/* SPDX-License-Identifier: MIT */
#include "model/job_roster.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#define SLOT_BITS 12
#define GENERATIONS (INT32_MAX >> SLOT_BITS) /* then a slot begins anew */

#define JOINED (UINT32_C(1) << 31) /* beside the number of a sheet */

static_assert(JOBS_MAX <= 1 << SLOT_BITS, "a handle has room for every slot");

static struct job_slot *slot_of(const struct job_roster *t, job_handle job)
{
	size_t slot = (size_t)job & ((1u << SLOT_BITS) - 1);

	if (job < 0 || slot >= t->slots.len || !t->slots.at[slot].row ||
	    t->slots.at[slot].generation != job >> SLOT_BITS)
		return NULL;
	return &t->slots.at[slot];
}

static struct job_slot *find_free_slot(struct job_roster *t)
{
	vec_each(&t->slots, slot)
		if (!slot->row)
			return slot;
	return vec_push(&t->slots, JOBS_MAX);
}

job_handle job_roster_add(struct job_roster *t, const char *id, const char *type,
                          uint64_t started_ns)
{
	size_t id_len = strlen(id), type_len = strlen(type);
	struct job_slot *slot;
	struct job_row **at, *row;

	if (id_len >= JOB_ID_MAX || type_len >= JOB_ID_MAX)
		return -1;
	slot = find_free_slot(t);
	at = slot ? vec_push(&t->rows, JOBS_MAX) : NULL;
	if (!at)
		return -1;
	*at = slot->row = row = xcalloc(1, sizeof *row);
	slot->index = (int32_t)(t->rows.len - 1);
	row->job.handle = slot->generation << SLOT_BITS | (int32_t)(slot - t->slots.at);
	memcpy(row->job.id, id, id_len + 1);
	memcpy(row->job.type, type, type_len + 1);
	row->job.started_ns = started_ns;
	return row->job.handle;
}

struct job_row *job_roster_get(const struct job_roster *t, job_handle job)
{
	const struct job_slot *slot = slot_of(t, job);

	return slot ? slot->row : NULL;
}

int32_t job_roster_index(const struct job_roster *t, job_handle job)
{
	const struct job_slot *slot = slot_of(t, job);

	return slot ? slot->index : -1;
}

job_handle job_roster_find_key(const struct job_roster *t, struct job_key key)
{
	vec_each(&t->rows, row)
		if (job_key_eq(job_key_of(&(*row)->job), key))
			return (*row)->job.handle;
	return -1;
}

static void row_free(struct job_row *row)
{
	vec_done(&row->sheets);
	free(row);
}

static void remove_members(struct job_roster *t, job_handle job)
{
	struct map old = t->members;
	struct map_slot slot;

	t->members = (struct map){ 0 };
	for (size_t it = 0; map_next(&old, &it, &slot);)
		if ((job_handle)(slot.value >> 32) != job)
			map_put(&t->members, slot.key, slot.value);
	map_done(&old);
}

void job_roster_remove(struct job_roster *t, job_handle job)
{
	struct job_slot *slot = slot_of(t, job);
	size_t index;

	if (!slot)
		return;
	index = (size_t)slot->index;
	t->sheets -= slot->row->sheets.len;
	row_free(TAKE_PTR(slot->row));
	slot->generation = slot->generation == GENERATIONS ? 0 : slot->generation + 1;
	memmove(&t->rows.at[index], &t->rows.at[index + 1],
	        (t->rows.len - index - 1) * sizeof *t->rows.at);
	t->rows.len--;
	for (; index < t->rows.len; index++) {
		struct job_slot *moved = slot_of(t, t->rows.at[index]->job.handle);

		if (moved)
			moved->index--;
	}
	remove_members(t, job);
}

void job_roster_assign(struct job_roster *t, struct proc_id id, struct job_ref ref)
{
	map_put(&t->members, proc_key(id),
	        (uint64_t)(uint32_t)ref.job << 32 | (ref.is_joined ? JOINED : 0) | ref.sheet);
}

void job_roster_forget(struct job_roster *t, struct proc_id id)
{
	map_del(&t->members, proc_key(id));
}

struct job_ref job_roster_find(const struct job_roster *t, struct proc_id id)
{
	uint64_t packed;

	if (!map_get(&t->members, proc_key(id), &packed))
		return (struct job_ref){ .job = -1 };
	return (struct job_ref){ .job = (job_handle)(packed >> 32),
		                 .sheet = (uint32_t)packed & ~JOINED,
		                 .is_joined = packed & JOINED };
}

void job_roster_done(struct job_roster *t)
{
	vec_each(&t->rows, row)
		row_free(*row);
	vec_done(&t->rows);
	vec_done(&t->slots);
	map_done(&t->members);
}

/* ---- sheets ---------------------------------------------------------------------------------- */

struct sheet *job_row_sheet(const struct job_row *row, uint32_t num)
{
	for (size_t i = row->sheets.len; i > 0; i--)
		if (row->sheets.at[i - 1].num == num)
			return &row->sheets.at[i - 1];
	return NULL;
}

/* Sheets may run side by side: the current one is the highest that runs. */
static void follow_progress(struct job_row *row)
{
	struct job *job = &row->job;

	job->current_sheet = job->last_completed_sheet = 0;
	job->running_sheets = job->completed_sheets = job->failed_sheets = 0;
	vec_each(&row->sheets, sheet) {
		job->total_sheets = MAX(job->total_sheets, sheet->num);
		if (sheet->status == JOB_RUNNING)
			job->current_sheet = MAX(job->current_sheet, sheet->num);
		else if (sheet->status == JOB_COMPLETED)
			job->last_completed_sheet = MAX(job->last_completed_sheet, sheet->num);
		job->running_sheets += sheet->status == JOB_RUNNING;
		job->completed_sheets += sheet->status == JOB_COMPLETED;
		job->failed_sheets += sheet->status == JOB_FAILED;
	}
}

static uint32_t next_num(const struct job_row *row)
{
	uint32_t last = 0;

	vec_each(&row->sheets, sheet)
		last = MAX(last, sheet->num);
	return last + 1;
}

struct sheet *job_roster_begin_sheet(struct job_roster *t, struct job_row *row, uint32_t num,
                                     const char *label, uint64_t now_ns)
{
	struct sheet *sheet, before;

	if (!num)
		num = next_num(row);
	sheet = job_row_sheet(row, num);
	if (!sheet) {
		sheet = t->sheets < SHEETS_MAX ? vec_push(&row->sheets, SHEETS_MAX) : NULL;
		t->sheets += sheet != NULL;
	}
	if (!sheet)
		return NULL;
	before = *sheet; /* all 0 when it is new */
	*sheet = (struct sheet){ .job = row->job.handle,
		                 .num = num,
		                 .attempt = before.attempt + 1,
		                 .started_ns = now_ns,
		                 .own.max_cpu_ratio = (double)NAN };
	snprintf(sheet->label, sizeof sheet->label, "%s", *label ? label : before.label);
	row->has_news = true;
	follow_progress(row);
	return sheet;
}

void job_row_end_sheet(struct job_row *row, struct sheet *sheet, enum job_status status,
                       uint64_t now_ns)
{
	sheet->status = status;
	sheet->ended_ns = MAX(now_ns, sheet->started_ns);
	sheet->is_shown = false;
	row->has_news = true;
	follow_progress(row);
}
