/* SPDX-License-Identifier: MIT */
#include "kernel/written_disks.h"

#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include "base/io.h"
#include "base/mem.h"
#include "base/side_task.h"
#include "base/vec.h"

#define USES_MAX 64
#define BLOCK_BYTES 512 /* of st_blocks, whatever the file system has */

/* Used by the thread, and when it is done by the caller. */
struct search {
	int root_fd;
	size_t n;
	struct written_disks_process processes[WRITTEN_DISKS_PROCESSES];
	unsigned files; /* examined */
	struct disk_uses found;
};

struct written_disks {
	struct side_task *task;
	struct search *search; /* the task's */
};

static struct disk_use *find(struct disk_uses *uses, job_handle job, uint64_t device)
{
	vec_each(uses, use)
		if (use->job == job && use->device == device)
			return use;
	return NULL;
}

static void put_directory(int fd_dir, const char *name, struct disk_use *use)
{
	char path[4096];
	ssize_t n = readlinkat(fd_dir, name, path, sizeof path - 1);
	char *slash;
	size_t len;

	path[MAX(n, 0)] = '\0';
	slash = strrchr(path, '/');
	if (slash)
		slash[slash == path] = '\0';
	len = strlen(path);
	if (len < sizeof use->path)
		memcpy(use->path, path, len + 1);
	else
		snprintf(use->path, sizeof use->path, "…%s", path + len - (sizeof use->path - 4));
}

/* Skips read-only file systems and those without storage, such as memfd's. */
static bool read_room(int fd_dir, const char *name, bool is_root, struct disk_use *ret)
{
	cleanup(closep) int fd = openat(fd_dir, name, O_PATH | O_CLOEXEC);
	struct statvfs fs;

	if (fd < 0 || fstatvfs(fd, &fs) < 0 || !fs.f_blocks || fs.f_flag & ST_RDONLY)
		return false;
	ret->total_bytes = (uint64_t)fs.f_blocks * fs.f_frsize;
	ret->free_bytes = (uint64_t)(is_root ? fs.f_bfree : fs.f_bavail) * fs.f_frsize;
	put_directory(fd_dir, name, ret);
	return true;
}

static void add_file(struct search *s, job_handle job, int fd_dir, const char *name, bool is_root)
{
	struct stat link, file;
	struct disk_use *use;

	/* The mode of the link is how the file was opened. */
	if (fstatat(fd_dir, name, &link, AT_SYMLINK_NOFOLLOW) < 0 || !(link.st_mode & S_IWUSR) ||
	    fstatat(fd_dir, name, &file, 0) < 0 || !S_ISREG(file.st_mode))
		return;
	use = find(&s->found, job, file.st_dev);
	if (!use) {
		struct disk_use new = { .job = job, .device = file.st_dev };

		if (!read_room(fd_dir, name, is_root, &new))
			return;
		use = vec_push(&s->found, USES_MAX);
		if (!use)
			return;
		*use = new;
	}
	use->own_bytes += (uint64_t)file.st_blocks * BLOCK_BYTES;
}

static void read_process(struct search *s, const struct written_disks_process *p)
{
	const struct dirent *entry;
	struct stat owner;
	char path[32];
	DIR *dir;
	int fd;

	snprintf(path, sizeof path, "proc/%d/fd", p->pid);
	fd = openat(s->root_fd, path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (fd < 0 || fstat(fd, &owner) < 0 || !(dir = fdopendir(fd))) {
		closep(&fd);
		return;
	}
	while (s->files < WRITTEN_DISKS_FILES && (entry = readdir(dir))) {
		if (entry->d_name[0] == '.')
			continue;
		s->files++;
		add_file(s, p->job, fd, entry->d_name, owner.st_uid == 0);
	}
	closedir(dir);
}

static void run(void *self)
{
	struct search *s = self;

	for (size_t i = 0; i < s->n; i++)
		read_process(s, &s->processes[i]);
}

static void free_search(void *self)
{
	struct search *s = self;

	closep(&s->root_fd);
	vec_done(&s->found);
	free(s);
}

struct written_disks *written_disks_ask(int root_fd, const struct written_disks_process *processes,
                                        size_t n)
{
	struct search *s = xcalloc(1, sizeof *s);
	struct written_disks *w;
	struct side_task *task;

	s->root_fd = fcntl(root_fd, F_DUPFD_CLOEXEC, 0);
	s->n = MIN(n, (size_t)WRITTEN_DISKS_PROCESSES);
	memcpy(s->processes, processes, s->n * sizeof *processes);
	task = side_task_start(run, free_search, s);
	if (!task)
		return NULL;
	w = xcalloc(1, sizeof *w);
	*w = (struct written_disks){ task, s };
	return w;
}

bool written_disks_is_done(struct written_disks *w)
{
	return side_task_wait(w->task, 0);
}

const struct disk_uses *written_disks_found(const struct written_disks *w)
{
	return &w->search->found;
}

void written_disks_free(struct written_disks *w)
{
	if (!w)
		return;
	side_task_leave(w->task);
	free(w);
}
