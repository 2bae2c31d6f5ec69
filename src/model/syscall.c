/* SPDX-License-Identifier: MIT */
#include "model/syscall.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/defs.h"
#include "base/scan.h"
#include "model/syscall_names.h"

#define ABI_SHIFT 16
#define NUMBER_MASK 0xffffu

struct names {
	const char *const *at;
	size_t len;
};

static const struct names tables[SYSCALL_ABI_COUNT] = {
	[SYSCALL_NATIVE] = { native_names, ARRAY_LEN(native_names) },
	[SYSCALL_IA32] = { ia32_names, ARRAY_LEN(ia32_names) },
	[SYSCALL_X32] = { x32_names, ARRAY_LEN(x32_names) },
};

static const char *find_name(enum syscall_abi abi, uint32_t number)
{
	return abi < SYSCALL_ABI_COUNT && number < tables[abi].len ? tables[abi].at[number] : NULL;
}

syscall_id syscall_id_of(enum syscall_abi abi, uint32_t number)
{
	const char *name = abi == SYSCALL_NATIVE ? NULL : find_name(abi, number);

	for (uint32_t i = 0; name && i < tables[SYSCALL_NATIVE].len; i++)
		if (native_names[i] && strcmp(native_names[i], name) == 0)
			return i;
	return (uint32_t)abi << ABI_SHIFT | (number & NUMBER_MASK);
}

void syscall_name(syscall_id id, char ret[static SYSCALL_NAME_MAX])
{
	const char *name = find_name((enum syscall_abi)(id >> ABI_SHIFT), id & NUMBER_MASK);

	if (name)
		snprintf(ret, SYSCALL_NAME_MAX, "%s", name);
	else
		snprintf(ret, SYSCALL_NAME_MAX, "syscall_%u", id & NUMBER_MASK);
}

static bool is_name(const char *name, const char *sought, size_t len)
{
	return name && strncmp(name, sought, len) == 0 && !name[len];
}

bool syscall_id_find(const char *name, size_t len, syscall_id *ret)
{
	static const char unknown[] = "syscall_0x";
	struct scan rest = scan_mem(name, len);
	uint64_t number;

	for (uint32_t abi = 0; abi < SYSCALL_ABI_COUNT; abi++)
		for (uint32_t i = 0; i < tables[abi].len; i++)
			if (is_name(tables[abi].at[i], name, len)) {
				*ret = abi << ABI_SHIFT | i;
				return true;
			}
	if (!scan_lit(&rest, unknown) || !scan_hex(&rest, &number) || !scan_at_end(&rest))
		return false;
	*ret = (uint32_t)number & NUMBER_MASK;
	return true;
}

/* Not seen by programs, and not in their headers: what makes the kernel repeat a call, or end it with
 * EINTR, after a signal. */
static const char *const restarts[] = { "ERESTARTSYS", "ERESTARTNOINTR", "ERESTARTNOHAND", NULL,
	                                "ERESTART_RESTARTBLOCK" };
#define RESTARTS_AT 512

void syscall_error_name(uint32_t error, char ret[static SYSCALL_ERROR_MAX])
{
	const char *name = strerrorname_np((int)error);

	if (!name && error >= RESTARTS_AT && error - RESTARTS_AT < ARRAY_LEN(restarts))
		name = restarts[error - RESTARTS_AT];
	if (name)
		snprintf(ret, SYSCALL_ERROR_MAX, "%s", name);
	else
		snprintf(ret, SYSCALL_ERROR_MAX, "errno_%u", error);
}

uint32_t syscall_error_find(const char *name, size_t len)
{
	for (uint32_t i = 0; i < ARRAY_LEN(restarts); i++)
		if (is_name(restarts[i], name, len))
			return RESTARTS_AT + i;
	for (uint32_t i = 1; i < RESTARTS_AT; i++)
		if (is_name(strerrorname_np((int)i), name, len))
			return i;
	return SYSCALL_ERROR_UNKNOWN;
}

/* Where it stands, or where it belongs. */
static size_t find_place(const struct syscall_counts *c, const struct syscall_count *sought)
{
	size_t low = 0, high = c->list.len;

	while (low < high) {
		size_t mid = (low + high) / 2;
		const struct syscall_count *at = &c->list.at[mid];

		if (at->call < sought->call ||
		    (at->call == sought->call && at->error < sought->error))
			low = mid + 1;
		else
			high = mid;
	}
	return low;
}

bool syscall_counts_add(struct syscall_counts *c, const struct syscall_count *more)
{
	size_t place = find_place(c, more);
	struct syscall_count *at = c->list.at + place;

	if (place == c->list.len || at->call != more->call || at->error != more->error) {
		if (!vec_push(&c->list, SYSCALLS_MAX))
			return false;
		at = c->list.at + place;
		memmove(at + 1, at, (c->list.len - 1 - place) * sizeof *at);
		*at = (struct syscall_count){ .call = more->call, .error = more->error };
	}
	at->count += more->count;
	at->ns += more->ns;
	return true;
}

void syscall_counts_done(struct syscall_counts *c)
{
	vec_done(&c->list);
}

/* ---- as text --------------------------------------------------------------------------------- */

static uint64_t total_ns(const struct syscall_count *counts, size_t n)
{
	uint64_t ns = 0;

	for (size_t i = 0; i < n; i++)
		ns += counts[i].ns;
	return ns;
}

static void put_name(struct json *j, syscall_id call)
{
	char name[SYSCALL_NAME_MAX];

	syscall_name(call, name);
	json_key(j, name);
}

/* Those that stand behind counts[0], of the same call. Returns how many they are. */
static size_t put_errors(struct json *j, const struct syscall_count *counts, size_t n)
{
	size_t i = 1;

	if (n < 2 || !counts[1].error)
		return 0;
	json_begin_object(j);
	for (; i < n && counts[i].error; i++) {
		char name[SYSCALL_ERROR_MAX];

		syscall_error_name(counts[i].error, name);
		json_put_u64(j, name, counts[i].count);
	}
	json_end_object(j);
	return i - 1;
}

void syscall_counts_json(struct json *j, const struct syscall_count *counts, size_t n)
{
	json_begin_object(j);
	for (size_t i = 0; i < n; i++) {
		put_name(j, counts[i].call);
		json_begin_array(j);
		json_u64(j, counts[i].count);
		json_u64(j, counts[i].ns);
		i += put_errors(j, counts + i, n - i);
		json_end_array(j);
	}
	json_end_object(j);
}

void syscall_counts_json_calls(struct json *j, const struct syscall_count *counts, size_t n)
{
	json_begin_object(j);
	for (size_t i = 0; i < n; i++)
		if (!counts[i].error) {
			put_name(j, counts[i].call);
			json_u64(j, counts[i].count);
		}
	json_end_object(j);
}

void syscall_counts_json_shares(struct json *j, const struct syscall_count *counts, size_t n)
{
	uint64_t all_ns = total_ns(counts, n);

	json_begin_object(j);
	for (size_t i = 0; all_ns && i < n; i++)
		if (!counts[i].error) {
			put_name(j, counts[i].call);
			json_double(j, 100.0 * (double)counts[i].ns / (double)all_ns, 2);
		}
	json_end_object(j);
}

bool syscall_counts_hotspot(const struct syscall_count *counts, size_t n, syscall_id *ret_call,
                            double *ret_share)
{
	const struct syscall_count *hot = NULL;

	for (size_t i = 0; i < n; i++)
		if (counts[i].ns && (!hot || counts[i].ns > hot->ns))
			hot = &counts[i];
	if (!hot)
		return false;
	*ret_call = hot->call;
	*ret_share = (double)hot->ns / (double)total_ns(counts, n);
	return true;
}

static int by_time(const void *a_, const void *b_)
{
	const struct syscall_record *a = a_, *b = b_;

	if (a->ns != b->ns)
		return a->ns < b->ns ? 1 : -1;
	if (a->count != b->count)
		return a->count < b->count ? 1 : -1;
	return strcmp(a->name, b->name);
}

void syscall_add_error(struct syscall_record *s, const char *name, uint64_t count)
{
	unsigned at = s->n_errors;

	s->errors += count;
	while (at > 0 && s->by_error[at - 1].count < count)
		at--;
	if (at == SYSCALL_ERRORS_SHOWN)
		return;
	s->n_errors = MIN(s->n_errors + 1, (unsigned)SYSCALL_ERRORS_SHOWN);
	memmove(&s->by_error[at + 1], &s->by_error[at],
	        (s->n_errors - at - 1) * sizeof s->by_error[0]);
	s->by_error[at].count = count;
	snprintf(s->by_error[at].name, sizeof s->by_error[at].name, "%s", name);
}

size_t syscall_counts_list(const struct syscall_count *counts, size_t n, struct syscall_record *ret)
{
	double all_ns = (double)total_ns(counts, n);
	size_t len = 0;

	for (size_t i = 0; i < n; i++) {
		if (counts[i].error && len) {
			char error[SYSCALL_ERROR_MAX];

			syscall_error_name(counts[i].error, error);
			syscall_add_error(&ret[len - 1], error, counts[i].count);
			continue;
		}
		ret[len] = (struct syscall_record){ .count = counts[i].count,
			                            .ns = counts[i].ns,
			                            .time_ratio = (double)counts[i].ns / all_ns };
		syscall_name(counts[i].call, ret[len++].name);
	}
	if (len)
		qsort(ret, len, sizeof *ret, by_time);
	return len;
}
