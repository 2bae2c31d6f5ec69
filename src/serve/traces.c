/* SPDX-License-Identifier: MIT */
#include "serve/traces.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/io.h"
#include "base/vec.h"
#include "kernel/kernel_file.h"
#include "kernel/ptrace_access.h"
#include "model/field.h"
#include "rpc/rpc_server.h"
#include "serve/store_worker.h"

#define KEPT_MAX 256 /* ended traces that are listed, of all users */
#define READ_BYTES ((size_t)64 << 10)
#define NAME_MAX_BYTES 64
#define SUFFIX ".strace"

struct trace {
	struct traces *owner;
	uint64_t id;
	uid_t uid;
	gid_t gid;
	bool is_trusted;
	pid_t pid;
	char name[NAME_MAX_BYTES], path[PATH_MAX], filter[STRACE_FILTER_MAX + 1];
	uint64_t for_ns;
	struct store_request *opening; /* its file is being made; then it has none of the next */
	int fd;                        /* the file, for reading */
	uint64_t started_ns, ended_ns, bytes;
	struct strace *strace; /* NULL: it is over, or has not begun */
	struct loop_source *source;
	bool is_attached;
	struct strace_news over;
	struct rpc_session *starter, *stopper; /* they wait for an answer; NULL: none does */
};

struct traces {
	struct loop *loop;
	struct traces_options options;
	struct process_reader *reader; /* the host's, or NULL */
	VEC(struct trace *) list;      /* oldest first */
	uint64_t last_id;
	struct store_worker *worker; /* of files: the loop never waits for their disk */
};

static bool is_running(const struct trace *t)
{
	return t->strace || t->opening;
}

/* ---- as JSON --------------------------------------------------------------------------------- */

static const char *status_name(const void *record)
{
	const struct trace *t = record;

	return is_running(t) ? "running" : "ended";
}

static const char *reason_name(const void *record)
{
	static const char *const names[] = {
		[STRACE_ALL_ENDED] = "ended",      [STRACE_STOPPED] = "stopped",
		[STRACE_TIME_OVER] = "time",       [STRACE_FULL] = "size",
		[STRACE_OUTPUT_CLOSED] = "failed", [STRACE_OUTPUT_FAILED] = "failed",
		[STRACE_NOT_ATTACHED] = "failed",  [STRACE_FAILED] = "failed",
		[STRACE_KEEPER_LOST] = "failed",
	};
	const struct trace *t = record;

	return is_running(t) ? NULL : names[t->over.end];
}

#define RECORD struct trace
static const struct field trace_rows[] = {
	{ "trace_id", FIELD(NUMBER, id) },
	{ "pid", FIELD(NUMBER, pid) },
	{ "uid", FIELD(NUMBER, uid) },
	{ "file", FIELD(TEXT, path) },
	{ "status", FIELD_NAME, .name = status_name },
	{ "reason", FIELD_NAME, .name = reason_name },
	{ "started_at", FIELD(ORDINAL, started_ns), .unit = UNIT_NS },
	{ "ended_at", FIELD(ORDINAL, ended_ns), .unit = UNIT_NS },
	{ "bytes", FIELD(NUMBER, bytes) },
};
#undef RECORD
static const struct field_table trace_fields = FIELD_TABLE(trace_rows);

static void write_trace(struct json *j, struct trace *t)
{
	off_t end = t->fd >= 0 ? lseek(t->fd, 0, SEEK_END) : -1;

	if (end >= 0)
		t->bytes = (uint64_t)end;
	field_table_json_object(j, &trace_fields, t);
}

static void answer(struct rpc_session **session, struct trace *t, int r, const struct err *err)
{
	cleanup(buf_done) struct buf text = { 0 };
	struct json j = { .out = &text };
	struct rpc_session *to = *session;

	*session = NULL;
	if (!to)
		return;
	if (r == 0)
		write_trace(&j, t);
	rpc_session_answer(to, r, &text, err);
}

/* ---- files, on the worker's thread ----------------------------------------------------------- */

/* What the worker knows of a file: a copy. */
struct file_task {
	struct trace *trace; /* for the loop only */
	const char *dir;
	uid_t uid;
	unsigned max_files;
	char name[NAME_MAX_BYTES], program[PATH_MAX];
	struct buf running; /* names of files that are being written, a line each */
	int fd;
};

static void file_task_free(void *self)
{
	struct file_task *f = self;

	closep(&f->fd);
	buf_done(&f->running);
	free(f);
}

static int open_dir(const struct file_task *f, struct err *err)
{
	int fd;

	if (io_mkdir_all(f->dir, 0700, err) < 0)
		return -err->code;
	fd = open(f->dir, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	return fd < 0 ? err_set(err, errno, "open '%s': %s", f->dir, strerror(errno)) : fd;
}

/* "1000-20261117T182000-000001-4711.strace": of one user they are in the order of their age. */
static bool is_of(const char *name, const char *prefix)
{
	size_t n = strlen(name);

	return strncmp(name, prefix, strlen(prefix)) == 0 && n > strlen(SUFFIX) &&
	       n < NAME_MAX_BYTES && strcmp(name + n - strlen(SUFFIX), SUFFIX) == 0;
}

static bool is_written(const struct file_task *f, const char *name)
{
	char line[NAME_MAX_BYTES + 1];

	snprintf(line, sizeof line, "%s\n", name);
	return f->running.len && strstr(f->running.at, line);
}

/* False: there is nothing to delete. */
static bool delete_oldest(const struct file_task *f, int dir_fd)
{
	char prefix[16], oldest[NAME_MAX_BYTES] = "";
	struct kernel_list list;
	const char *name;
	unsigned count = 0;
	int error;

	snprintf(prefix, sizeof prefix, "%u-", f->uid);
	if (lseek(dir_fd, 0, SEEK_SET) < 0)
		return false;
	kernel_file_list_begin(&list);
	while ((name = kernel_file_list_next(&list, dir_fd, &error))) {
		if (!is_of(name, prefix))
			continue;
		count++;
		if ((!oldest[0] || strcmp(name, oldest) < 0) && !is_written(f, name))
			snprintf(oldest, sizeof oldest, "%s", name);
	}
	return count >= f->max_files && oldest[0] && unlinkat(dir_fd, oldest, 0) == 0;
}

static int make_file(void *self, const struct history_cancel *cancel, struct json *result,
                     struct err *err)
{
	struct file_task *f = self;
	cleanup(closep) int dir_fd = -1;

	(void)cancel, (void)result;
	if (strace_find(STRACE_DIRS, f->program, err) < 0)
		return err_set(err, EAGAIN, "strace is not installed");
	dir_fd = open_dir(f, err);
	if (dir_fd < 0)
		return -err->code;
	while (delete_oldest(f, dir_fd))
		;
	f->fd = openat(dir_fd, f->name,
	               O_RDWR | O_CREAT | O_EXCL | O_APPEND | O_NOFOLLOW | O_CLOEXEC, 0600);
	return f->fd < 0
	               ? err_set(err, errno, "create '%s/%s': %s", f->dir, f->name, strerror(errno))
	               : 0;
}

static int remove_file(void *self, const struct history_cancel *cancel, struct json *result,
                       struct err *err)
{
	struct file_task *f = self;
	cleanup(closep) int dir_fd = open_dir(f, err);

	(void)cancel, (void)result;
	if (dir_fd >= 0)
		(void)unlinkat(dir_fd, f->name, 0);
	return 0;
}

/* ---- … and on the loop ----------------------------------------------------------------------- */

static struct file_task *file_task_new(struct trace *trace)
{
	const struct traces *t = trace->owner;
	struct file_task *f = xcalloc(1, sizeof *f);

	*f = (struct file_task){ .trace = trace,
		                 .dir = t->options.dir,
		                 .uid = trace->uid,
		                 .max_files = t->options.max_files,
		                 .fd = -1 };
	memcpy(f->name, trace->name, sizeof f->name);
	vec_each(&t->list, one)
		if (is_running(*one))
			buf_printf(&f->running, "%s\n", (*one)->name);
	return f;
}

static void ignore_result(void *self, int r, const struct buf *result, const struct err *err)
{
	(void)self, (void)r, (void)result, (void)err;
}

/* Where that cannot be ordered, the file is deleted when it is the oldest. */
static void delete_file(struct trace *t)
{
	struct store_worker_task task = { .self = file_task_new(t),
		                          .uid = t->uid,
		                          .work = remove_file,
		                          .done = ignore_result,
		                          .free = file_task_free };
	struct store_request *request;
	struct err err;

	(void)!store_worker_take(t->owner->worker, &task, &request, &err);
}

static void name_file(struct trace *t)
{
	char time[32], *to = time;

	clock_format_utc(t->started_ns, time, sizeof time);
	for (const char *c = time; *c && *c != '.'; c++) /* without punctuation */
		if (*c != '-' && *c != ':')
			*to++ = *c;
	*to = '\0';
	snprintf(t->name, sizeof t->name, "%u-%s-%06llu-%d" SUFFIX, t->uid, time,
	         (unsigned long long)t->id, (int)t->pid);
	snprintf(t->path, sizeof t->path, "%s/%s", t->owner->options.dir, t->name);
}

/* ---- one trace ------------------------------------------------------------------------------- */

static void trace_free(struct trace *t)
{
	loop_remove(t->source);
	strace_free(t->strace);
	closep(&t->fd);
	free(t);
}

/* The errors of ptrace_access.h as those of rpc_message.h. */
static int translate(struct err *err)
{
	static const struct {
		int from, to;
	} codes[] = { { ESRCH, ENOENT }, { EBUSY, EALREADY }, { EPERM, EACCES } };

	for (size_t i = 0; i < ARRAY_LEN(codes); i++)
		if (err->code == codes[i].from)
			err->code = codes[i].to;
	return -err->code;
}

static struct ptrace_caller caller_of(int root_fd, uid_t uid, gid_t gid, bool is_trusted)
{
	return is_trusted ? ptrace_access_own(root_fd)
	                  : (struct ptrace_caller){ .uid = uid, .gid = gid };
}

static int explain(const struct trace *t, struct err *err)
{
	cleanup(closep) int root_fd = open("/", O_PATH | O_DIRECTORY | O_CLOEXEC);
	const struct ptrace_caller caller = caller_of(root_fd, t->uid, t->gid, t->is_trusted);

	if (t->over.end == STRACE_NOT_ATTACHED && t->over.code == EINVAL)
		return err_set(err, EINVAL, "filter: %s", t->over.text);
	if (t->over.end == STRACE_NOT_ATTACHED && t->over.code == ESRCH)
		return err_set(err, ENOENT, "process %d has ended in the meantime", (int)t->pid);
	if (t->over.end == STRACE_NOT_ATTACHED && t->over.code == EPERM) {
		(void)!ptrace_access_explain(t->owner->reader, root_fd, t->pid, &caller, err);
		return translate(err);
	}
	return err_set(err, EAGAIN, "strace was not started: %s",
	               t->over.text[0] ? t->over.text : "it ended before it had attached");
}

/* Its file, if it has one, is nobody's. */
static void drop_file(struct trace *t)
{
	if (t->fd >= 0)
		delete_file(t);
	closep(&t->fd);
	t->path[0] = '\0';
}

static void end_trace(struct trace *t)
{
	struct err err;

	loop_remove(t->source);
	t->source = NULL;
	strace_free(t->strace);
	t->strace = NULL;
	t->ended_ns = clock_wall_ns();
	if (!t->is_attached) {
		drop_file(t);
		answer(&t->starter, t, explain(t, &err), &err);
	}
	answer(&t->stopper, t, 0, NULL);
}

static void on_news(void *self)
{
	struct trace *t = self;
	struct strace_news news;

	while (t->strace && strace_read(t->strace, &news)) {
		if (news.kind == STRACE_IS_ATTACHED) {
			t->is_attached = true;
			answer(&t->starter, t, 0, NULL);
		} else if (news.kind == STRACE_IS_OVER) {
			t->over = news;
			end_trace(t);
		}
	}
}

/* Nobody would know of it. */
static void abandon_start(void *self)
{
	struct trace *t = self;

	t->starter = NULL;
	if (t->strace)
		strace_stop(t->strace);
}

static void abandon_stop(void *self)
{
	struct trace *t = self;

	t->stopper = NULL;
}

/* ---- what clients ask for -------------------------------------------------------------------- */

/* Ended ones whose files are gone, or that are too many, are forgotten. */
static void forget_some(struct traces *t)
{
	size_t n = 0, ended = 0;

	vec_each(&t->list, trace)
		ended += !is_running(*trace);
	vec_each(&t->list, trace) {
		struct trace *one = *trace;
		struct stat st;
		bool is_gone = one->fd < 0 || fstat(one->fd, &st) < 0 || st.st_nlink == 0;

		if (!is_running(one) && !one->starter && !one->stopper &&
		    (is_gone || ended > KEPT_MAX)) {
			ended--;
			trace_free(one);
		} else {
			t->list.at[n++] = one;
		}
	}
	t->list.len = n;
}

static int check_room(const struct traces *t, uid_t uid, bool is_trusted, struct err *err)
{
	unsigned all = 0, own = 0;

	vec_each(&t->list, trace) {
		all += is_running(*trace);
		own += is_running(*trace) && (*trace)->uid == uid;
	}
	if (all >= t->options.max_running)
		return err_set(err, ENOSPC, "%u traces run already (limits.max_traces)", all);
	if (!is_trusted && own >= t->options.max_running_per_uid)
		return err_set(err, ENOSPC,
		               "%u traces of this user run already (limits.max_traces_per_user)",
		               own);
	return 0;
}

static int check_target(const struct traces *t, const struct rpc_server_peer *peer,
                        const struct traces_request *rq, struct err *err)
{
	cleanup(closep) int root_fd = open("/", O_PATH | O_DIRECTORY | O_CLOEXEC);
	const struct ptrace_caller caller = caller_of(root_fd, peer->uid, peer->gid,
	                                              rq->is_trusted);

	if (rq->pid == getpid())
		return err_set(err, EINVAL, "process %d is this daemon", (int)rq->pid);
	return ptrace_access_check(t->reader, root_fd, rq->pid, &caller, err) < 0 ? translate(err)
	                                                                          : 0;
}

static int launch(struct trace *t, const char *program, struct err *err)
{
	const struct strace_options o = { .program = program,
		                          .pid = t->pid,
		                          .filter = t->filter[0] ? t->filter : NULL,
		                          .out_fd = t->fd,
		                          .for_ns = t->for_ns,
		                          .max_bytes = t->owner->options.max_bytes,
		                          .has_user = !t->is_trusted,
		                          .uid = t->uid,
		                          .gid = t->gid };
	int r = t->is_trusted
	                ? strace_start(&o, &t->strace, err)
	                : strace_spawner_start(t->owner->options.spawner, &o, &t->strace, err);

	return r < 0 ? r
	             : loop_add_reader(t->owner->loop, strace_fd(t->strace), on_news, t, &t->source,
	                               err);
}

static void begin_trace(void *self, int r, const struct buf *result, const struct err *err)
{
	struct file_task *f = self;
	struct trace *t = f->trace;
	struct err failure = *err;

	(void)result;
	t->opening = NULL;
	t->fd = TAKE_FD(f->fd);
	if (r == 0 && t->starter)
		r = launch(t, f->program, &failure);
	if (r == 0 && t->starter)
		return;
	strace_free(TAKE_PTR(t->strace));
	t->over.end = STRACE_FAILED;
	t->ended_ns = clock_wall_ns();
	drop_file(t);
	answer(&t->starter, t, r, &failure);
}

static int order_file(struct trace *t, struct err *err)
{
	struct store_worker_task task = { .self = file_task_new(t),
		                          .uid = t->uid,
		                          .work = make_file,
		                          .done = begin_trace,
		                          .free = file_task_free };

	return store_worker_take(t->owner->worker, &task, &t->opening, err);
}

int traces_start(struct traces *t, const struct rpc_server_peer *peer,
                 const struct traces_request *rq, struct err *err)
{
	struct rpc_server_work later = { .abandon = abandon_start };
	struct trace *trace, **slot;

	if (!t->options.is_allowed)
		return err_set(err, EACCES, "profiler.strace_full_on_demand is false");
	if (!rq->is_trusted && !t->options.spawner)
		return err_set(err, EACCES,
		               "this daemon cannot trace with your rights: run `proctor trace %d`",
		               (int)rq->pid);
	forget_some(t);
	if (check_room(t, peer->uid, rq->is_trusted, err) < 0 || check_target(t, peer, rq, err) < 0)
		return -err->code;
	trace = xcalloc(1, sizeof *trace);
	*trace = (struct trace){ .owner = t,
		                 .id = t->last_id + 1,
		                 .uid = peer->uid,
		                 .gid = peer->gid,
		                 .is_trusted = rq->is_trusted,
		                 .pid = rq->pid,
		                 .for_ns = rq->for_ns,
		                 .fd = -1,
		                 .started_ns = clock_wall_ns(),
		                 .starter = peer->session };
	snprintf(trace->filter, sizeof trace->filter, "%s", rq->filter ? rq->filter : "");
	name_file(trace);
	if (order_file(trace, err) < 0) {
		trace_free(trace);
		return -err->code;
	}
	t->last_id++;
	slot = vec_push(&t->list, SIZE_MAX); /* bounded by KEPT_MAX and max_running */
	*slot = trace;
	later.self = trace;
	rpc_session_defer(peer->session, &later);
	return RPC_SERVER_LATER;
}

static struct trace *find(const struct traces *t, const struct rpc_server_peer *peer, uint64_t id,
                          bool is_trusted, struct err *err)
{
	vec_each(&t->list, trace)
		if ((*trace)->id == id && (is_trusted || (*trace)->uid == peer->uid))
			return *trace;
	err_set(err, ENOENT, "there is no trace %llu", (unsigned long long)id);
	return NULL;
}

int traces_stop(struct traces *t, const struct rpc_server_peer *peer, uint64_t id, bool is_trusted,
                struct json *result, struct err *err)
{
	struct trace *trace = find(t, peer, id, is_trusted, err);
	struct rpc_server_work later = { .self = trace, .abandon = abandon_stop };

	if (!trace)
		return -err->code;
	if (trace->stopper)
		return err_set(err, EALREADY, "trace %llu is being stopped already",
		               (unsigned long long)id);
	if (trace->opening)
		return err_set(err, EAGAIN, "trace %llu is about to begin", (unsigned long long)id);
	if (!trace->strace) {
		write_trace(result, trace);
		return 0;
	}
	strace_stop(trace->strace);
	trace->stopper = peer->session;
	rpc_session_defer(peer->session, &later);
	return RPC_SERVER_LATER;
}

/* ---- reading --------------------------------------------------------------------------------- */

struct read_task {
	struct rpc_session *session;
	uint64_t id, offset;
	bool is_running;
	int fd; /* its own; -1: there is no file */
};

static void read_task_free(void *self)
{
	struct read_task *q = self;

	closep(&q->fd);
	free(q);
}

static int read_text(void *self, const struct history_cancel *cancel, struct json *result,
                     struct err *err)
{
	struct read_task *q = self;
	cleanup(freep) char *text = xmalloc(READ_BYTES);
	ssize_t n = q->fd < 0 ? 0 : pread(q->fd, text, READ_BYTES, (off_t)q->offset);
	const char *end = n > 0 ? memrchr(text, '\n', (size_t)n) : NULL;

	(void)cancel;
	if (n < 0)
		return err_set(err, errno, "read trace %llu: %s", (unsigned long long)q->id,
		               strerror(errno));
	if (end)
		n = end + 1 - text;
	else if (q->is_running && n < (ssize_t)READ_BYTES)
		n = 0; /* the line is not complete */
	json_begin_object(result);
	json_put_u64(result, "trace_id", q->id);
	json_key(result, "text");
	json_strn(result, text, (size_t)n);
	json_put_u64(result, "next_offset", q->offset + (uint64_t)n);
	json_put_bool(result, "is_over", !q->is_running && n == 0);
	json_end_object(result);
	return 0;
}

static void send_text(void *self, int r, const struct buf *result, const struct err *err)
{
	const struct read_task *q = self;

	rpc_session_answer(q->session, r, result, err);
}

static void abandon_read(void *self)
{
	store_worker_drop(self);
}

int traces_read(struct traces *t, const struct rpc_server_peer *peer, uint64_t id, bool is_trusted,
                uint64_t offset, struct err *err)
{
	struct store_worker_task task = {
		.uid = peer->uid, .work = read_text, .done = send_text, .free = read_task_free
	};
	struct rpc_server_work later = { .abandon = abandon_read };
	struct trace *trace = find(t, peer, id, is_trusted, err);
	struct store_request *request;
	struct read_task *q;

	if (!trace)
		return -err->code;
	if (!rpc_session_may_defer(peer->session))
		return RPC_SERVER_WAIT;
	task.self = q = xmalloc(sizeof *q);
	*q = (struct read_task){ .session = peer->session,
		                 .id = id,
		                 .offset = offset,
		                 .is_running = is_running(trace),
		                 .fd = trace->fd < 0 ? -1 : fcntl(trace->fd, F_DUPFD_CLOEXEC, 3) };
	if (store_worker_take(t->worker, &task, &request, err) < 0)
		return -err->code;
	later.self = request;
	rpc_session_defer(peer->session, &later);
	return RPC_SERVER_LATER;
}

/* ---- all of them ----------------------------------------------------------------------------- */

void traces_list(const struct traces *t, const struct rpc_server_peer *peer, bool is_trusted,
                 struct json *result)
{
	json_begin_object(result);
	json_open_array(result, "traces");
	vec_each(&t->list, trace)
		if (is_trusted || (*trace)->uid == peer->uid)
			write_trace(result, *trace);
	json_end_array(result);
	json_end_object(result);
}

struct traces *traces_new(struct loop *loop, struct process_reader *reader,
                          const struct traces_options *options)
{
	struct traces *t = xcalloc(1, sizeof *t);

	t->loop = loop;
	t->reader = reader;
	t->options = *options;
	t->worker = store_worker_new(loop, RPC_SERVER_REPLY_MAX);
	return t;
}

void traces_free(struct traces *t)
{
	if (!t)
		return;
	store_worker_free(t->worker);
	vec_each(&t->list, trace)
		trace_free(*trace);
	vec_done(&t->list);
	free(t);
}
