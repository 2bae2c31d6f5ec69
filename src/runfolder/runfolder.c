/* SPDX-License-Identifier: MIT */
#include "runfolder/runfolder_handle.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/io.h"
#include "base/mem.h"

#define EARLIER_MAX 100000

/* All files that a run may leave here. */
static const char *const names[] = { "run.jsonl",      "cpu_metrics.csv", "job_metrics.csv",
	                             "hw_metrics.csv", "hw_dmon.csv",     "summary.json",
	                             "report.txt",     "stdout.log",      "stderr.log" };

static int fail(const struct runfolder *f, const char *what, const char *name, struct err *err)
{
	return err_set(err, errno, "%s '%s/%s': %s", what, f->path, name, strerror(errno));
}

/* Whether an earlier run left files; -EINVAL when something of their names is no regular file. */
static int find_earlier(const struct runfolder *f, bool *ret, struct err *err)
{
	bool found = false;

	for (size_t i = 0; i < ARRAY_LEN(names); i++) {
		struct stat st;

		if (fstatat(f->dir_fd, names[i], &st, AT_SYMLINK_NOFOLLOW) < 0) {
			if (errno != ENOENT)
				return fail(f, "stat", names[i], err);
			continue;
		}
		if (!S_ISREG(st.st_mode))
			return err_set(err, EINVAL, "'%s/%s' is not a regular file: left alone",
			               f->path, names[i]);
		found = true;
	}
	*ret = found;
	return 0;
}

static int make_place(struct runfolder *f, char *name, size_t cap, struct err *err)
{
	for (int i = 1; i < EARLIER_MAX; i++) {
		snprintf(name, cap, "run.%d", i);
		if (mkdirat(f->dir_fd, name, 0777) == 0)
			return 0;
		if (errno != EEXIST)
			return fail(f, "create", name, err);
	}
	errno = EEXIST;
	return fail(f, "create", name, err);
}

/* A run into the same folder keeps the files of the run before. */
static int move_earlier(struct runfolder *f, struct err *err)
{
	cleanup(closep) int place_fd = -1;
	char place[32];
	bool found = false;
	int r = find_earlier(f, &found, err);

	if (r < 0 || !found)
		return r;
	r = make_place(f, place, sizeof place, err);
	if (r < 0)
		return r;
	place_fd = openat(f->dir_fd, place, O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	if (place_fd < 0)
		return fail(f, "open", place, err);
	for (size_t i = 0; i < ARRAY_LEN(names); i++)
		if (renameat(f->dir_fd, names[i], place_fd, names[i]) < 0 && errno != ENOENT)
			return fail(f, "move", names[i], err);
	f->moved_to = xasprintf("%s/%s", f->path, place);
	return 0;
}

/* Held as long as the folder is open. On file systems without locks we go on without. */
static int lock_directory(const struct runfolder *f, struct err *err)
{
	if (flock(f->dir_fd, LOCK_EX | LOCK_NB) < 0 && errno == EWOULDBLOCK)
		return err_set(err, EBUSY, "another run is writing into '%s'", f->path);
	return 0;
}

static int open_directory(struct runfolder *f, struct err *err)
{
	int r = io_mkdir_all(f->path, 0777, err);

	if (r < 0)
		return r;
	f->dir_fd = open(f->path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (f->dir_fd < 0)
		return err_set(err, errno, "open '%s': %s", f->path, strerror(errno));
	r = lock_directory(f, err);
	if (r < 0)
		return r;
	io_remove_abandoned(f->dir_fd);
	return move_earlier(f, err);
}

static int create_files(struct runfolder *f, struct err *err)
{
	int r = run_log_create(f->dir_fd, &f->log, err);

	if (r == 0)
		r = runfolder_create(f, HARDWARE_FILE_CPU, HARDWARE_FILE_CPU_HEAD, err);
	if (r == 0)
		r = runfolder_create_job(f, err);
	return r < 0 ? err_wrap(err, "run folder '%s'", f->path) : 0;
}

int runfolder_open(const struct runfolder_options *options, struct runfolder **ret, struct err *err)
{
	cleanup(runfolder_closep) struct runfolder *f = xcalloc(1, sizeof *f);
	int r;

	f->path = xstrdup(options->path);
	f->dir_fd = f->log.file.fd = f->job_file.fd = -1;
	for (size_t i = 0; i < HARDWARE_FILE_COUNT; i++)
		f->files[i].fd = -1;
	f->interval_ns = options->interval_ns ? options->interval_ns : RUNFOLDER_INTERVAL_NS;
	f->job.uid = options->job.uid;
	snprintf(f->job.id, sizeof f->job.id, "%s", options->job.id);
	r = open_directory(f, err);
	if (r == 0)
		r = create_files(f, err);
	if (r < 0)
		return r;
	*ret = TAKE_PTR(f);
	return 0;
}

void runfolder_close(struct runfolder *f)
{
	if (!f)
		return;
	run_log_close(&f->log);
	line_file_close(&f->job_file);
	for (size_t i = 0; i < HARDWARE_FILE_COUNT; i++)
		line_file_close(&f->files[i]);
	if (f->dir_fd >= 0)
		close(f->dir_fd);
	vec_done(&f->sheets);
	vec_done(&f->news);
	buf_done(&f->text);
	free(f->moved_to);
	free(f->path);
	free(f);
}

const char *runfolder_moved_to(const struct runfolder *f)
{
	return f->moved_to;
}

static int create_log(struct runfolder *f, const char *name, struct err *err)
{
	int fd = openat(f->dir_fd, name,
	                O_WRONLY | O_APPEND | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0666);

	return fd < 0 ? fail(f, "create", name, err) : fd;
}

int runfolder_create_logs(struct runfolder *f, bool is_one, int ret_fds[static RUNFOLDER_LOGS],
                          struct err *err)
{
	cleanup(closep) int out = create_log(f, "stdout.log", err);
	int error = -1;

	if (out < 0)
		return out;
	if (is_one) /* a file system without links has the first name only */
		(void)!linkat(f->dir_fd, "stdout.log", f->dir_fd, "stderr.log", 0);
	else
		error = create_log(f, "stderr.log", err);
	if (error < 0 && !is_one)
		return error;
	ret_fds[0] = TAKE_FD(out);
	ret_fds[1] = error;
	return 0;
}

static void find_job(struct runfolder *f, const struct snapshot *snap)
{
	vec_each(&snap->jobs, job) {
		if (!runfolder_is_of(f, job))
			continue;
		f->job = *job;
		f->has_job = true;
	}
}

int runfolder_put(struct runfolder *f, const struct snapshot *snap, struct err *err)
{
	struct err later;
	int r;

	find_job(f, snap);
	f->last_wall_ns = snap->wall_ns;
	r = runfolder_put_log(f, snap, err);
	if (!snap->events_only) {
		r = runfolder_first(r, runfolder_put_hw(f, snap, &later), &later, err);
		r = runfolder_first(r, runfolder_put_job(f, snap, &later), &later, err);
	}
	r = runfolder_first(r, runfolder_write_summary(f, false, &later), &later, err);
	return r < 0 ? err_wrap(err, "run folder '%s'", f->path) : 0;
}

int runfolder_end(struct runfolder *f, const struct job *job, const char *report, struct err *err)
{
	struct err later;
	int r;

	if (job) {
		f->job = *job;
		f->has_job = true;
		f->last_wall_ns = MAX(f->last_wall_ns, job->ended_ns);
	}
	r = runfolder_end_hw(f, err);
	r = runfolder_first(r, runfolder_end_job(f, &later), &later, err);
	r = runfolder_first(r, runfolder_log_end(f, &later), &later, err);
	if (report)
		r = runfolder_first(
			r,
			io_replace(f->dir_fd, "report.txt", report, strlen(report), false, &later),
			&later, err);
	r = runfolder_first(r, runfolder_write_summary(f, true, &later), &later, err);
	return r < 0 ? err_wrap(err, "run folder '%s'", f->path) : 0;
}
