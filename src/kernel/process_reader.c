/* SPDX-License-Identifier: MIT */
#include "kernel/process_reader.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/magic.h>
#include <poll.h>
#include <pthread.h>
#include <semaphore.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/vfs.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/mem.h"
#include "base/thread.h"
#include "base/vec.h"
#include "kernel/drm_fdinfo.h"
#include "kernel/kernel_file.h"
#include "kernel/process_peek.h"
#include "kernel/user_namespace.h"

/* A process of 100 GB may need that for smaps_rollup, and must not need more. The more threads
 * hang, the less patience is left for the next. */
#define PATIENCE_NS (100 * NS_PER_MS)
/* Waiting in vain uses up patience, which comes back slowly: processes that hang anew at each tick would
 * else delay each. */
#define PATIENCE_LEAST_NS NS_PER_MS
#define PATIENCE_SAVED_NS (2 * PATIENCE_NS)
#define PATIENCE_COMES_BACK_IN 50 /* times the time that was waited */
/* Of a whole call: after that, a thread that waits in a file is left behind even if it has read others since the
 * last check. Else many processes that each take a little less than our patience would add up. */
#define PATIENCE_IN_ALL_NS (2 * PATIENCE_NS)
#define STARVED_NS (3 * NS_PER_S) /* for a thread that waits for a CPU and for nothing else */
/* A process that hung is not read for ten times as long as it hung, once its reader has returned:
 * on a very busy machine an execve() alone may take that long. */
#define REST_FACTOR 10
#define REST_NS (60 * NS_PER_S)
/* On a busy machine an execve() may take longer than our patience; it does not hang. */
#define HANG_NS (400 * NS_PER_MS)
/* Threads that may hang: of a user, while those of all users but the trusted ones are few; of these together, of which
 * the last are for users that have none; and of root and our own user. */
#define HANGING_PER_USER 8
#define HANGING_FREE_FOR_ALL 32
#define HANGING_OF_USERS 64
#define HANGING_OF_TRUSTED 32
#define HANGING_MAX (HANGING_OF_USERS + HANGING_OF_TRUSTED)
#define DEVICE_FDS_MAX 1024
#define DRM_TEXT_MAX 4096 /* of one open file of a GPU; 2 KB are usual */
#define STACK_BYTES ((size_t)PTHREAD_STACK_MIN + (64 << 10))

static const struct {
	const char *name;
	size_t max_bytes;
} files[PROCESS_FILE_COUNT] = {
#define X(id, name, max_bytes) { name, max_bytes },
	PROCESS_FILES(X)
#undef X
};

/* A thread and its work. The reader holds it, and so does the thread: the last one frees it. */
struct worker {
	pthread_t thread;
	atomic_int tid; /* 0: it has not begun to run */
	sem_t work;     /* a batch is there, or it is dismissed */
	sem_t finished; /* the batch is read */
	atomic_int holders;
	atomic_int file; /* enum process_file that is being read; PROCESS_FILE_COUNT: none */
	atomic_uint uid; /* whose process is being read */
	atomic_bool is_dismissed, has_returned;
	bool size_counts_fds;
	int proc_fd; /* its own */
	size_t count;
	atomic_size_t done;    /* requests that are answered */
	VEC(uint32_t) hanging; /* the users of all threads that hang, as the batch begins */
	uint64_t cpu_ns;       /* of this batch */
	char *text;            /* owned; holds all that a batch may read */
	size_t text_len, text_cap;
	struct kernel_list fds;
	VEC(struct process_request) requests; /* at least `count` */
};

/* Files of a process that hang, or did a moment ago. */
struct slow {
	pid_t pid;
	uint32_t uid;
	int pid_fd;           /* the process, even if its pid is reused; -1: not known */
	unsigned files;       /* 1 << enum process_file */
	struct worker *stuck; /* in one of them; NULL: it came back */
	bool is_counted;      /* among those that hang */
	uint64_t since_ns, rests_until_ns;
};

struct process_reader {
	int root_fd, proc_fd;
	bool is_live;          /* procfs, and no frozen tree */
	bool size_counts_fds;  /* st_size of /proc/PID/fd is their number (Linux 6.2) */
	struct worker *worker; /* NULL: none yet, or it was left behind */
	VEC(struct slow) slow;
	uint64_t limit_ns; /* process_reader_limit(); 0: none */
	uint64_t cpu_ns;
	uint64_t patience_ns, patience_at_ns; /* what was left of it then */
	struct process_reader_hangs hangs;
	struct buf uid_map; /* empty: users are those of our namespace */
};

static void worker_release(struct worker *w)
{
	if (!w || atomic_fetch_sub(&w->holders, 1) > 1)
		return;
	sem_destroy(&w->work);
	sem_destroy(&w->finished);
	closep(&w->proc_fd);
	free(w->text);
	vec_done(&w->requests);
	vec_done(&w->hanging);
	free(w);
}

/* ---- in the thread --------------------------------------------------------------------------- */

static bool count_fds(struct worker *w, int dir_fd, uint64_t *ret)
{
	cleanup(closep) int fd = -1;
	struct stat st;
	uint64_t n = 0;
	int error;

	if (w->size_counts_fds) {
		if (fstatat(dir_fd, "fd", &st, 0) < 0)
			return false;
		*ret = (uint64_t)st.st_size;
		return true;
	}
	fd = openat(dir_fd, "fd", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (fd < 0)
		return false;
	kernel_file_list_begin(&w->fds);
	while (kernel_file_list_next(&w->fds, fd, &error))
		n++;
	*ret = n;
	return error == 0;
}

/* The mode of the link shows how the file was opened. */
static bool is_open_for(int fds_fd, const char *name, unsigned mode)
{
	struct stat st;

	return !mode || (fstatat(fds_fd, name, &st, AT_SYMLINK_NOFOLLOW) == 0 && st.st_mode & mode);
}

/* A process with very many files is not searched to the end. */
static bool has_open(struct worker *w, int dir_fd, const struct process_request *q)
{
	cleanup(closep) int fd = openat(dir_fd, "fd", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	size_t len = strlen(q->device);
	char target[sizeof q->device];
	const char *name;
	int error;

	if (fd < 0)
		return false;
	kernel_file_list_begin(&w->fds);
	for (int i = 0; i < DEVICE_FDS_MAX && (name = kernel_file_list_next(&w->fds, fd, &error));
	     i++)
		if (readlinkat(fd, name, target, len) == (ssize_t)len &&
		    memcmp(target, q->device, len) == 0 && is_open_for(fd, name, q->device_mode))
			return true;
	return false;
}

static int open_process(int proc_fd, const struct process_request *q)
{
	char path[40];
	int fd;

	if (q->tid)
		snprintf(path, sizeof path, "%d/task/%d", q->pid, q->tid);
	else
		snprintf(path, sizeof path, "%d", q->pid);
	fd = openat(proc_fd, path, O_PATH | O_DIRECTORY | O_CLOEXEC);
	return fd < 0 ? -errno : fd;
}

static ssize_t read_link(int dir_fd, const char *name, char *to, size_t cap)
{
	ssize_t n = readlinkat(dir_fd, name, to, cap);

	return n < 0 ? -errno : n;
}

static ssize_t read_open_file(int dir_fd, int fd, char *to, size_t cap)
{
	char name[24];

	snprintf(name, sizeof name, "%s/%d", files[PROCESS_OPEN_FILE].name, fd);
	return read_link(dir_fd, name, to, cap);
}

static ssize_t read_file_info(int dir_fd, int fd, char *to, size_t cap)
{
	char name[24];

	snprintf(name, sizeof name, "%s/%d", files[PROCESS_FILE_INFO].name, fd);
	return kernel_file_read(dir_fd, name, to, cap);
}

/* They come a page at a time. */
static ssize_t read_maps(int dir_fd, char *to, size_t cap)
{
	cleanup(closep) int fd = openat(dir_fd, files[PROCESS_MAPS].name, O_RDONLY | O_CLOEXEC);
	size_t len = 0;
	ssize_t n = fd < 0 ? -1 : 0;

	while (fd >= 0 && len < cap && (n = read(fd, to + len, cap - len)) > 0)
		len += (size_t)n;
	return n < 0 ? -errno : (ssize_t)len;
}

/* "/dev/dri/renderD128" → "renderD128"; NULL: no such device. */
static const char *drm_node(const char *target)
{
	static const char *const places[] = { "/dev/dri/", "/dev/accel/" };

	for (size_t i = 0; i < ARRAY_LEN(places); i++) {
		const char *node = target + strlen(places[i]);

		if (strncmp(target, places[i], strlen(places[i])) != 0)
			continue;
		/* Not "renderD128 (deleted)", nor a file by that name. */
		return *node && strlen(node) < DRM_NAME_MAX && !strpbrk(node, " /\n") ? node : NULL;
	}
	return NULL;
}

/* One file's text behind its mark: how much was written. */
static size_t read_fdinfo(int dir_fd, const char *name, const char *node, char *to, size_t cap)
{
	char path[40];
	int mark = snprintf(to, cap, "%c%s\n", DRM_FDINFO_MARK, node);
	ssize_t n;

	if (mark < 0 || (size_t)mark >= cap)
		return 0;
	snprintf(path, sizeof path, "%s/%.20s", files[PROCESS_DRM].name, name);
	n = kernel_file_read(dir_fd, path, to + mark, cap - (size_t)mark - 1);
	if (n < 0)
		return 0;
	if (n && to[mark + n - 1] != '\n') /* cut off */
		to[mark + n++] = '\n';
	return (size_t)(mark + n);
}

static ssize_t read_drm_files(struct worker *w, int dir_fd, char *to, size_t cap)
{
	cleanup(closep) int fd = openat(dir_fd, "fd", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	char target[64];
	const char *name, *node;
	size_t len = 0;
	int error = 0, i = 0;

	if (fd < 0)
		return -errno;
	kernel_file_list_begin(&w->fds);
	while ((name = kernel_file_list_next(&w->fds, fd, &error))) {
		ssize_t n = readlinkat(fd, name, target, sizeof target - 1);

		target[MAX(n, 0)] = '\0';
		node = drm_node(target);
		if (++i > DEVICE_FDS_MAX || (node && cap - len < DRM_TEXT_MAX)) {
			len += (size_t)snprintf(to + len, cap - len, "%c\n", DRM_FDINFO_MARK);
			break;
		}
		if (node)
			len += read_fdinfo(dir_fd, name, node, to + len, DRM_TEXT_MAX - 2);
	}
	return error ? error : (ssize_t)len;
}

static bool is_trusted(uint32_t uid)
{
	return uid == 0 || uid == geteuid();
}

/* As many threads hang in processes of this user as may. */
static bool is_at_limit(const struct worker *w, uint32_t uid)
{
	size_t of_user = 0, of_trusted = 0, of_others;

	vec_each(&w->hanging, one) {
		of_user += *one == uid;
		of_trusted += is_trusted(*one);
	}
	of_others = w->hanging.len - of_trusted;
	if (is_trusted(uid))
		return of_trusted >= HANGING_OF_TRUSTED;
	return of_user >= (of_others < HANGING_FREE_FOR_ALL ? HANGING_PER_USER : 1) ||
	       of_others >= HANGING_OF_USERS;
}

static void read_file(struct worker *w, int dir_fd, enum process_file file,
                      struct process_request *q)
{
	char *to = w->text + w->text_len;
	off_t offset = file == PROCESS_ENVIRON || file == PROCESS_MEMORY ? (off_t)q->offset : 0;
	ssize_t n;

	atomic_store_explicit(&w->file, (int)file, memory_order_relaxed);
	if (file == PROCESS_PID_NAMESPACE || file == PROCESS_CWD)
		n = read_link(dir_fd, files[file].name, to, files[file].max_bytes);
	else if (file == PROCESS_OPEN_FILE)
		n = read_open_file(dir_fd, q->fd, to, files[file].max_bytes);
	else if (file == PROCESS_FILE_INFO)
		n = read_file_info(dir_fd, q->fd, to, files[file].max_bytes);
	else if (file == PROCESS_MAPS)
		n = read_maps(dir_fd, to, files[file].max_bytes);
	else if (file == PROCESS_DRM)
		n = read_drm_files(w, dir_fd, to, files[file].max_bytes);
	else
		n = kernel_file_read_from(dir_fd, files[file].name, offset, to,
		                          files[file].max_bytes);
	q->errors[file] = n < 0 ? (int)n : 0;
	q->text[file] = scan_mem(to, n > 0 ? (size_t)n : 0);
	w->text_len += n > 0 ? (size_t)n : 0;
}

/* The owner of /proc/PID is the effective user, for undumpable processes too (unlike that of the
 * files in it). A process that has ended has no other files either. */
static void read_process(struct worker *w, struct process_request *q)
{
	cleanup(closep) int dir_fd = -1;
	struct stat owner;

	if (q->error)
		return;
	atomic_store_explicit(&w->file, PROCESS_FILE_COUNT, memory_order_relaxed);
	dir_fd = open_process(w->proc_fd, q);
	if (dir_fd < 0 || fstat(dir_fd, &owner) < 0) {
		q->error = dir_fd < 0 ? dir_fd : -errno;
		return;
	}
	q->uid = owner.st_uid;
	atomic_store_explicit(&w->uid, q->uid, memory_order_relaxed);
	if (w->hanging.len && is_at_limit(w, q->uid)) {
		q->error = -EBUSY;
		return;
	}
	for (int i = 0; i < PROCESS_FILE_COUNT; i++) {
		if (!(q->files >> i & 1) || q->errors[i])
			continue;
		read_file(w, dir_fd, (enum process_file)i, q);
		if (q->errors[i] == -ESRCH)
			return;
	}
	atomic_store_explicit(&w->file, PROCESS_FILE_COUNT, memory_order_relaxed);
	if (q->counts_fds)
		q->has_fds = count_fds(w, dir_fd, &q->fds);
	if (q->device[0])
		q->has_device = has_open(w, dir_fd, q);
}

static void read_batch(struct worker *w)
{
	uint64_t begin_ns = clock_thread_cpu_ns();

	for (size_t i = 0; i < w->count && !w->is_dismissed; i++) {
		read_process(w, &w->requests.at[i]);
		w->done = i + 1;
	}
	w->cpu_ns = clock_thread_cpu_ns() - begin_ns;
	sem_post(&w->finished);
}

static void *worker_main(void *self)
{
	struct worker *w = self;

	w->tid = gettid();
	for (;;) {
		while (sem_wait(&w->work) < 0)
			;
		if (w->is_dismissed)
			break;
		read_batch(w);
	}
	w->has_returned = true;
	worker_release(w);
	return NULL;
}

/* ---- threads come and go --------------------------------------------------------------------- */

static int worker_new(const struct process_reader *r, struct worker **ret)
{
	struct worker *w = xcalloc(1, sizeof *w);
	int error;

	w->proc_fd = fcntl(r->proc_fd, F_DUPFD_CLOEXEC, 3);
	w->size_counts_fds = r->size_counts_fds;
	sem_init(&w->work, 0, 0);
	sem_init(&w->finished, 0, 0);
	atomic_init(&w->holders, 2);
	error = w->proc_fd < 0 ? -errno : thread_start(&w->thread, STACK_BYTES, worker_main, w);
	if (error < 0) {
		atomic_store(&w->holders, 1);
		worker_release(w);
		return error;
	}
	*ret = w;
	return 0;
}

/* It ends when it has nothing to read, or comes back from what hangs. */
static void worker_dismiss(struct worker *w)
{
	w->is_dismissed = true;
	sem_post(&w->work);
}

/* We have one open file at least, so a kernel that counts reports more than 0. The size of an ordinary
 * directory, in a frozen tree, is something else. */
static bool does_size_count_fds(int proc_fd)
{
	struct stat st;

	return fstatat(proc_fd, "self/fd", &st, 0) == 0 && st.st_size > 0;
}

struct process_reader *process_reader_new(int root_fd)
{
	struct process_reader *r = xcalloc(1, sizeof *r);

	r->root_fd = root_fd;
	r->proc_fd = -1;
	r->patience_ns = PATIENCE_SAVED_NS;
	return r;
}

int process_reader_proc_fd(struct process_reader *r)
{
	struct statfs fs;

	if (r->proc_fd >= 0)
		return r->proc_fd;
	r->proc_fd = openat(r->root_fd, "proc", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (r->proc_fd < 0)
		return -errno;
	r->is_live = fstatfs(r->proc_fd, &fs) == 0 && fs.f_type == PROC_SUPER_MAGIC;
	if (r->is_live && !kernel_file_is_our_proc(r->proc_fd)) {
		closep(&r->proc_fd);
		r->proc_fd = -1;
		return -ENOENT;
	}
	r->size_counts_fds = r->is_live && does_size_count_fds(r->proc_fd);
	return r->proc_fd;
}

static void slow_drop(struct process_reader *r, struct slow *slow)
{
	worker_release(slow->stuck);
	closep(&slow->pid_fd);
	*slow = r->slow.at[--r->slow.len];
}

void process_reader_free(struct process_reader *r)
{
	if (!r)
		return;
	if (r->worker) {
		worker_dismiss(r->worker);
		pthread_join(r->worker->thread, NULL);
		worker_release(r->worker);
	}
	while (r->slow.len)
		slow_drop(r, &r->slow.at[0]);
	vec_done(&r->slow);
	buf_done(&r->uid_map);
	closep(&r->proc_fd);
	free(r);
}

/* ---- processes that hang --------------------------------------------------------------------- */

static bool has_ended(const struct slow *slow)
{
	struct pollfd p = { .fd = slow->pid_fd, .events = POLLIN };

	return slow->pid_fd >= 0 && poll(&p, 1, 0) > 0;
}

static void forget_the_rested(struct process_reader *r)
{
	uint64_t now_ns = r->slow.len ? clock_mono_ns() : 0;

	for (size_t i = 0; i < r->slow.len;) {
		struct slow *slow = &r->slow.at[i];

		if (slow->stuck && slow->stuck->has_returned) {
			worker_release(TAKE_PTR(slow->stuck));
			slow->rests_until_ns = now_ns + MIN(REST_NS, (now_ns - slow->since_ns) *
			                                                     REST_FACTOR);
		}
		if (!slow->stuck && (now_ns >= slow->rests_until_ns || has_ended(slow)))
			slow_drop(r, slow);
		else
			i++;
	}
}

static size_t count_stuck(const struct process_reader *r)
{
	size_t n = 0;

	vec_each(&r->slow, slow)
		n += slow->stuck != NULL;
	return n;
}

/* stat waits for a process that executes another program; where it does, all others do but status. The
 * command line waits for the address space alone, as some others do. */
static unsigned files_that_hang_with(enum process_file file)
{
	const unsigned of_memory = 1U << PROCESS_CMDLINE | 1U << PROCESS_ENVIRON |
	                           1U << PROCESS_ROLLUP | 1U << PROCESS_MEMORY |
	                           1U << PROCESS_AUXV | 1U << PROCESS_MAPS;

	if (file == PROCESS_STAT || file == PROCESS_FILE_COUNT)
		return ~(file == PROCESS_STAT ? 1U << PROCESS_STATUS : 0U);
	if (file == PROCESS_DRM) /* in the GPU's driver */
		return 1U << file;
	return 1U << file | of_memory | (file == PROCESS_CMDLINE ? 0 : 1U << PROCESS_IO);
}

/* The thread hangs in the files of this process. */
static void leave_behind(struct process_reader *r, struct worker *w, pid_t pid)
{
	struct slow *slow = vec_push(&r->slow, SIZE_MAX); /* HANGING_MAX is the ceiling */

	worker_dismiss(w);
	pthread_detach(w->thread);
	slow->pid = pid;
	slow->uid = atomic_load(&w->uid);
	slow->pid_fd = (int)syscall(SYS_pidfd_open, pid, 0);
	if (slow->pid_fd >= 0 || errno != ESRCH) /* else its pid is free for others */
		slow->files = files_that_hang_with((enum process_file)atomic_load(&w->file));
	slow->stuck = w;
	slow->since_ns = clock_mono_ns();
	r->worker = NULL;
}

/* Hanging processes are not read. */
static void prepare(const struct process_reader *r, struct process_request *q)
{
	unsigned hanging = 0;

	q->error = 0;
	q->has_fds = q->has_device = false;
	memset(q->errors, 0, sizeof q->errors);
	memset(q->text, 0, sizeof q->text);
	vec_each(&r->slow, slow)
		if (slow->pid == q->pid && !has_ended(slow))
			hanging |= slow->files;
	for (int i = 0; i < PROCESS_FILE_COUNT; i++)
		if (q->files & hanging & 1U << i)
			q->errors[i] = -ETIMEDOUT;
	if (hanging && !(q->files & ~hanging))
		q->error = -ETIMEDOUT;
}

/* ---- a batch --------------------------------------------------------------------------------- */

static struct timespec timespec_of(uint64_t at_ns)
{
	return (struct timespec){ .tv_sec = (time_t)(at_ns / NS_PER_S),
		                  .tv_nsec = (long)(at_ns % NS_PER_S) };
}

static bool is_past_limit(const struct process_reader *r)
{
	return r->limit_ns && clock_mono_ns() >= r->limit_ns;
}

static uint64_t cpu_of(const struct worker *w)
{
	struct timespec ts = { 0 };
	clockid_t clock;

	if (pthread_getcpuclockid(w->thread, &clock) == 0)
		(void)clock_gettime(clock, &ts);
	return (uint64_t)ts.tv_sec * NS_PER_S + (uint64_t)ts.tv_nsec;
}

/* On a busy machine a thread may stand still because it gets no CPU. It is our own: reading about it
 * never hangs. The state of the process that it reads from must not matter here: that process can run for
 * as long as it likes while another of its threads holds the lock. */
static bool is_runnable(const struct process_reader *r, const struct worker *w)
{
	char path[40], text[1024];
	struct process_files_stat st;
	ssize_t n;

	if (!w->tid || !r->is_live) /* it has not begun to run, or cannot hang */
		return true;
	snprintf(path, sizeof path, "self/task/%d/stat", w->tid);
	n = kernel_file_read(r->proc_fd, path, text, sizeof text);
	return n > 0 && process_files_parse_stat(scan_mem(text, (size_t)n), &st) && st.state == 'R';
}

/* When to look again how far the thread is. */
static uint64_t next_check_ns(const struct process_reader *r, uint64_t patience_ns)
{
	uint64_t now_ns = clock_mono_ns(), at_ns = now_ns + patience_ns;

	return r->limit_ns > now_ns ? MIN(at_ns, r->limit_ns) : at_ns;
}

/* Until all is read, or the thread hangs in a file: how many requests are answered. */
static size_t await(const struct process_reader *r, struct worker *w, uint64_t patience_ns,
                    uint64_t until_ns)
{
	uint64_t since_ns = clock_mono_ns(), cpu_ns = cpu_of(w);
	struct timespec check = timespec_of(next_check_ns(r, patience_ns));
	size_t seen = 0;

	while (sem_clockwait(&w->finished, CLOCK_MONOTONIC, &check) < 0) {
		size_t done = w->done;
		uint64_t now_ns = clock_mono_ns();
		bool runs;

		if (errno != ETIMEDOUT)
			continue;
		runs = is_runnable(r, w);
		if (done != seen && (runs || now_ns < until_ns)) {
			seen = done;
			since_ns = now_ns;
			cpu_ns = cpu_of(w);
		} else if (done < w->count && (!runs || now_ns - since_ns > STARVED_NS ||
		                               cpu_of(w) - cpu_ns > PATIENCE_NS)) {
			return done;
		}
		check = timespec_of(next_check_ns(r, patience_ns));
	}
	return w->count;
}

static void make_room(struct worker *w)
{
	size_t need = 0;

	for (size_t i = 0; i < w->count; i++)
		for (int file = 0; file < PROCESS_FILE_COUNT; file++)
			need += w->requests.at[i].files >> file & 1 ? files[file].max_bytes : 0;
	w->text_len = 0;
	if (need <= w->text_cap)
		return;
	free(w->text);
	w->text = xmalloc(need);
	w->text_cap = need;
}

static uint64_t patience_left(struct process_reader *r)
{
	uint64_t now_ns = clock_mono_ns(),
		 back_ns = (now_ns - r->patience_at_ns) / PATIENCE_COMES_BACK_IN;

	r->patience_ns = MIN(r->patience_ns + back_ns, PATIENCE_SAVED_NS);
	r->patience_at_ns = now_ns;
	return MAX(MIN(PATIENCE_NS / (1 + count_stuck(r)), r->patience_ns / 4), PATIENCE_LEAST_NS);
}

static void use_up_patience(struct process_reader *r, uint64_t waited_ns)
{
	r->patience_ns -= MIN(r->patience_ns, waited_ns);
}

static void name_hanging_users(const struct process_reader *r, struct worker *w)
{
	vec_reset(&w->hanging);
	vec_each(&r->slow, slow) {
		uint32_t *uid = slow->stuck ? vec_push(&w->hanging, HANGING_MAX) : NULL;

		if (uid)
			*uid = slow->uid;
	}
}

/* Hands requests to the thread and takes what it read: how many are settled, which is all of them
 * or those before one that hangs. */
static size_t read_some(struct process_reader *r, struct process_request *requests, size_t n,
                        uint64_t until_ns)
{
	struct worker *w = r->worker;
	uint64_t patience_ns = patience_left(r), begin_ns = clock_mono_ns();
	size_t settled;

	w->count = n;
	w->done = 0;
	(void)vec_reserve(&w->requests, n, PROCESS_READER_BATCH);
	memcpy(w->requests.at, requests, n * sizeof *requests);
	make_room(w);
	name_hanging_users(r, w);
	sem_post(&w->work);
	settled = await(r, w, patience_ns, until_ns);
	memcpy(requests, w->requests.at, settled * sizeof *requests);
	if (settled == n) {
		r->cpu_ns += w->cpu_ns;
	} else {
		use_up_patience(r, MIN(clock_mono_ns() - begin_ns, 2 * patience_ns));
		leave_behind(r, w, requests[settled].pid);
	}
	return settled;
}

/* 0, or why nothing can be read. */
static int ensure_worker(struct process_reader *r)
{
	int error = r->worker ? 0 : process_reader_proc_fd(r);

	if (is_past_limit(r))
		return -ETIMEDOUT;
	if (r->worker || error < 0)
		return error;
	return count_stuck(r) < HANGING_MAX ? worker_new(r, &r->worker) : -EBUSY;
}

void process_reader_show_outer_users(struct process_reader *r)
{
	struct err err;

	r->uid_map.max = KERNEL_FILE_MAX;
	if (kernel_file_load_own(r->root_fd, "uid_map", &r->uid_map, &err) < 0)
		buf_reset(&r->uid_map);
}

static void show_outer_users(const struct process_reader *r, struct process_request *requests,
                             size_t n)
{
	for (size_t i = 0; r->uid_map.len && i < n; i++)
		requests[i].uid = user_namespace_outer(kernel_file_text(&r->uid_map),
		                                       requests[i].uid);
}

void process_reader_limit(struct process_reader *r, uint64_t until_mono_ns)
{
	r->limit_ns = until_mono_ns;
}

static void count_refused(struct process_reader *r, const struct process_request *requests,
                          size_t n)
{
	for (size_t i = 0; i < n; i++) {
		if (requests[i].error != -EBUSY)
			continue;
		r->hangs.refused++;
		r->hangs.refused_uid = requests[i].uid;
	}
}

void process_reader_read(struct process_reader *r, struct process_request *requests, size_t n)
{
	uint64_t until_ns = r->limit_ns ? r->limit_ns : clock_mono_ns() + PATIENCE_IN_ALL_NS;
	size_t settled = 0;
	int error = 0;

	forget_the_rested(r);
	for (size_t i = 0; i < n; i++)
		prepare(r, &requests[i]);
	while (settled < n && (error = ensure_worker(r)) == 0) {
		settled += read_some(r, requests + settled, n - settled, until_ns);
		if (settled < n)
			prepare(r, &requests[settled]);
	}
	for (; settled < n; settled++)
		requests[settled].error = error;
	count_refused(r, requests, n);
	show_outer_users(r, requests, n);
}

uint64_t process_reader_cpu_ns(const struct process_reader *r)
{
	return r->cpu_ns;
}

/* On a busy machine a process may hold the lock because it gets no CPU. */
static bool may_be_starved(const struct process_reader *r, const struct slow *slow, uint64_t age_ns)
{
	return age_ns < STARVED_NS && process_peek_state(r->root_fd, slow->pid) == 'R';
}

struct process_reader_hangs process_reader_hangs(struct process_reader *r)
{
	uint64_t now_ns = r->slow.len ? clock_mono_ns() : 0;

	vec_each(&r->slow, slow) {
		uint64_t age_ns = now_ns - slow->since_ns;

		if (slow->is_counted || !slow->stuck || slow->stuck->has_returned ||
		    age_ns < HANG_NS || may_be_starved(r, slow, age_ns))
			continue;
		slow->is_counted = true;
		r->hangs.found++;
		r->hangs.last = slow->pid;
	}
	return r->hangs;
}
