/* SPDX-License-Identifier: MIT */
#include "cli/run_file.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/io.h"
#include "base/log.h"
#include "view/format.h"

#define PROGRESS_EVERY_NS (100 * NS_PER_MS)
#define PROGRESS_ROWS 512 /* between two looks at the clock */

int run_file_open(const char *path, int *ret_fd, struct err *err)
{
	cleanup(closep) int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	struct stat st;

	if (fd < 0 || fstat(fd, &st) < 0)
		return err_set(err, errno, "open '%s': %s", path, strerror(errno));
	if (!S_ISREG(st.st_mode))
		return err_set(err, EINVAL, "'%s' is not a regular file", path);
	*ret_fd = TAKE_FD(fd);
	return 0;
}

/* ---- progress --------------------------------------------------------------------------------- */

struct progress {
	bool is_shown, is_drawn;
	uint64_t total_bytes, next_ns, rows;
};

static void progress_begin(struct progress *p, int fd, bool is_wanted)
{
	struct stat st;

	*p = (struct progress){ .is_shown = is_wanted && isatty(STDERR_FILENO) &&
		                            fstat(fd, &st) == 0 && st.st_size > 0 };
	if (p->is_shown) {
		p->total_bytes = (uint64_t)st.st_size;
		p->next_ns = clock_mono_ns() + PROGRESS_EVERY_NS;
	}
}

static void progress_draw(struct progress *p, uint64_t done_bytes)
{
	cleanup(buf_done) struct buf line = { 0 };
	double ratio = MIN((double)done_bytes / (double)p->total_bytes, 1.0);

	if (!p->is_shown || ++p->rows % PROGRESS_ROWS || clock_mono_ns() < p->next_ns)
		return;
	p->next_ns = clock_mono_ns() + PROGRESS_EVERY_NS;
	p->is_drawn = true;
	buf_printf(&line, "\r\x1b[K[%s] %3.0f %%  %s rows", format_bar(ratio, false).at,
	           100 * ratio, format_count(p->rows).at);
	if (io_write_all(STDERR_FILENO, line.at, line.len) < 0)
		p->is_shown = false;
}

static void progress_end(struct progress *p)
{
	if (p->is_drawn && io_write_all(STDERR_FILENO, "\r\x1b[K", 4) < 0)
		p->is_shown = false;
}

/* ---- reading ---------------------------------------------------------------------------------- */

static void reject(struct run_file_counts *counts, uint64_t line, const char *why)
{
	if (counts->rejected < RUN_FILE_REASONS_MAX) {
		struct run_file_reason *r = &counts->reasons[counts->rejected];

		r->line = line;
		snprintf(r->why, sizeof r->why, "%.100s", why);
	}
	counts->rejected++;
}

static int read_header(struct csv *csv, struct csv_row *row, struct run_file_reader *reader,
                       struct err *err)
{
	int r = csv_next(csv, row, err);

	if (r == 0)
		return err_set(err, EBADMSG, "the file is empty");
	return r < 0 ? r : run_file_columns_parse(row, &reader->columns, err);
}

/* NULL: the end of the file. */
static int add_row(struct run_file_reader *reader, const struct csv_row *row, run_file_fn fn,
                   void *self, struct run_file_counts *counts, struct err *err)
{
	struct past_run run;
	struct err why;
	uint64_t line;
	int r = run_file_reader_add(reader, row, &run, &line, &why);

	if (r < 0)
		reject(counts, line, why.msg);
	if (r <= 0)
		return 0;
	counts->runs++;
	return fn(self, &run, line, err);
}

int run_file_read(int fd, bool shows_progress, run_file_fn fn, void *self,
                  struct run_file_counts *ret, struct err *err)
{
	cleanup(csv_done) struct csv csv = { 0 };
	struct run_file_reader reader = { 0 };
	struct run_file_counts counts = { 0 };
	struct progress progress;
	struct csv_row row;
	int r, status;

	if (lseek(fd, 0, SEEK_SET) < 0)
		return err_set(err, errno, "seek: %s", strerror(errno));
	csv_init(&csv, fd);
	status = read_header(&csv, &row, &reader, err);
	counts.kind = reader.columns.kind;
	progress_begin(&progress, fd, shows_progress);
	while (status == 0 && (r = csv_next(&csv, &row, err)) != 0) {
		if (r == -EBADMSG)
			reject(&counts, row.line, err->msg);
		else
			status = r < 0 ? r : add_row(&reader, &row, fn, self, &counts, err);
		progress_draw(&progress, csv.taken);
	}
	if (status == 0)
		status = add_row(&reader, NULL, fn, self, &counts, err);
	progress_end(&progress);
	if (status == 0)
		*ret = counts;
	return status;
}

void run_file_log_rejected(const char *path, const struct run_file_counts *counts)
{
	for (size_t i = 0; i < MIN(counts->rejected, (uint64_t)RUN_FILE_REASONS_MAX); i++)
		log_warn("%s:%llu: rejected: %s", path, (unsigned long long)counts->reasons[i].line,
		         counts->reasons[i].why);
	if (counts->rejected > RUN_FILE_REASONS_MAX)
		log_warn("%s: %llu rows were rejected in total", path,
		         (unsigned long long)counts->rejected);
}

void run_file_rejected_json(const struct run_file_counts *counts, struct json *j)
{
	json_put_u64(j, "rejected", counts->rejected);
	json_open_array(j, "rejected_rows");
	for (size_t i = 0; i < MIN(counts->rejected, (uint64_t)RUN_FILE_REASONS_MAX); i++) {
		json_begin_object(j);
		json_put_u64(j, "line", counts->reasons[i].line);
		json_put_str(j, "reason", counts->reasons[i].why);
		json_end_object(j);
	}
	json_end_array(j);
}
