/* SPDX-License-Identifier: MIT */
#include "view/doctor_view.h"

#include <stdio.h>

#include "base/text.h"
#include "check.h"

static void add_line(struct doctor_line *line, const char *name, const char *source,
                     enum doctor_state state, const char *note)
{
	snprintf(line->name, sizeof line->name, "%s", name);
	snprintf(line->source, sizeof line->source, "%s", source);
	snprintf(line->note, sizeof line->note, "%s", note);
	line->state = state;
}

static struct doctor healthy(void)
{
	struct doctor d = {
		.version = "0.1.0",
		.kernel = "6.18.2",
		.user = "root",
		.is_root = true,
		.plain_tried = true,
		.store_path = "/var/lib/proctor/proctor.db",
		.store_state = DOCTOR_WORKS,
		.storage = { .store_bytes = UINT64_C(412) << 20,
		             .wal_bytes = UINT64_C(4) << 20,
		             .jsonl_bytes = UINT64_C(61) << 20,
		             .growth_bytes_per_day = 30.0 * (1 << 20),
		             .freed_bytes_per_day = 25.0 * (1 << 20) },
		.has_disk_free = true,
		.disk_free_bytes = UINT64_C(80) << 30,
	};

	add_line(vec_push(&d.roles, 16), "tasks", "BPF iterator", DOCTOR_WORKS,
	         "every process in one read");
	add_line(vec_push(&d.roles, 16), "lifecycle", "proc connector", DOCTOR_DEGRADED,
	         "no signals and no senders: BPF needs CAP_BPF and CAP_PERFMON");
	d.roles.at[1].lost = 1234;
	add_line(vec_push(&d.roles, 16), "gpu", "", DOCTOR_ABSENT, "no NVIDIA or AMD device found");
	add_line(vec_push(&d.plain, 16), "tasks", "lean scan of /proc", DOCTOR_DEGRADED,
	         "no I/O of other users' processes");
	*vec_push(&d.files, 16) = (struct doctor_file){ "/etc/proctor/proctor.conf", false };
	*vec_push(&d.files, 16) = (struct doctor_file){ "/etc/proctor/conf.d/a\nb.conf", true };
	*vec_push(
		&d.problems,
		16) = "/etc/proctor/proctor.conf:2: [profiler] interval_seconds: 'nan': not a time";
	d.problems_dropped = 3;
	*vec_push(&d.unused, 16) = (struct doctor_key){ "profiler", "strace_enabled",
		                                        "It counts by BPF." };
	return d;
}

static void assert_view(const struct doctor *d, size_t width, const char *golden)
{
	const struct style style = { .width = width };
	struct buf out = { 0 };

	doctor_view_put(d, CANVAS(&style, &out));
	assert_golden(golden, &out);
	assert_null(strstr(out.at, " \n"));
	buf_done(&out);
}

static void test_doctor_view__shows_what_works_and_what_does_not(void **state)
{
	struct doctor d = healthy();

	assert_view(&d, 120, "doctor-120.txt");
	assert_view(&d, 80, "doctor-80.txt");
	doctor_done(&d);
}

static void test_doctor_view__shows_that_there_is_little_to_show(void **state)
{
	struct doctor d = {
		.version = "0.1.0",
		.kernel = "6.18.2",
		.user = "uid 77",
		.store_path = "/home/x/.local/state/proctor/proctor.db",
		.store_state = DOCTOR_ABSENT,
	};

	assert_view(&d, 80, "doctor-bare.txt");
	d.plain_tried = true;
	d.store_state = DOCTOR_DEGRADED;
	snprintf(d.store_note, sizeof d.store_note, "file is not a database");
	d.store_path = "/var/tmp/proctor-77/proctor.db";
	d.fallback_reason = "state directory '/home/x/.local/state/proctor': not writable: "
			    "Permission denied";
	assert_view(&d, 80, "doctor-damaged.txt");
	doctor_done(&d);
}

static void test_doctor_view__fits_40_columns(void **state)
{
	struct doctor d = healthy();
	const struct style style = { .width = 40 };
	struct buf out = { 0 };

	snprintf(d.store_note, sizeof d.store_note, "and a note that is a sentence by itself");
	d.file_system = "nfs";
	doctor_view_put(&d, CANVAS(&style, &out));
	for (const char *line = out.at; *line; line = strchr(line, '\n') + 1)
		assert_true(text_columns(line, (size_t)(strchr(line, '\n') - line)) <= 40 ||
		            memchr(line, '/', (size_t)(strchr(line, '\n') - line)));
	buf_done(&out);
	doctor_done(&d);
}

static void test_doctor_json__holds_the_same(void **state)
{
	struct doctor d = healthy();
	struct buf out = { 0 };
	struct json j = { .out = &out };

	doctor_view_json_put(&d, &j);
	buf_putc(&out, '\n');
	d.has_disk_free = false;
	d.plain_tried = false;
	d.store_state = DOCTOR_ABSENT;
	doctor_view_json_put(&d, &(struct json){ .out = &out });
	buf_putc(&out, '\n');
	assert_golden("doctor.jsonl", &out);
	buf_done(&out);
	doctor_done(&d);
}

RUN_TESTS(TEST(test_doctor_view__shows_what_works_and_what_does_not),
          TEST(test_doctor_view__shows_that_there_is_little_to_show),
          TEST(test_doctor_view__fits_40_columns), TEST(test_doctor_json__holds_the_same))
