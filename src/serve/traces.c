/* SPDX-License-Identifier: MIT */
#include "serve/traces.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/io.h"
#include "base/vec.h"
#include "kernel/kernel_file.h"
#include "kernel/ptrace_access.h"
#include "model/field.h"

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
	char name[NAME_MAX_BYTES], path[PATH_MAX];
	int fd; /* the file, for reading */
	uint64_t started_ns, ended_ns, bytes;
	struct strace *strace; /* NULL: it is over */
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
	int dir_fd; /* -1: before the first */
};

/* ---- as JSON --------------------------------------------------------------------------------- */

static const char *status_name(const void *record)
{
	const struct trace *t = record;

	return t->strace ? "running" : "ended";
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

	return t->strace ? NULL : names[t->over.end];
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

static void end_trace(struct trace *t)
{
	struct err err;

	loop_remove(t->source);
	t->source = NULL;
	strace_free(t->strace);
	t->strace = NULL;
	t->ended_ns = clock_wall_ns();
	if (!t->is_attached) {
		(void)unlinkat(t->owner->dir_fd, t->name, 0);
		closep(&t->fd);
		t->path[0] = '\0';
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

/* ---- files ----------------------------------------------------------------------------------- */

static int open_dir(struct traces *t, struct err *err)
{
	if (t->dir_fd >= 0)
		return 0;
	if (io_mkdir_all(t->options.dir, 0700, err) < 0)
		return -err->code;
	t->dir_fd = open(t->options.dir, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	return t->dir_fd < 0 ? err_set(err, errno, "open '%s': %s", t->options.dir, strerror(errno))
	                     : 0;
}

/* "1000-20261117T182000-000001-4711.strace": of one user they are in the order of their age. */
static bool is_of(const char *name, const char *prefix)
{
	size_t n = strlen(name);

	return strncmp(name, prefix, strlen(prefix)) == 0 && n > strlen(SUFFIX) &&
	       n < NAME_MAX_BYTES && strcmp(name + n - strlen(SUFFIX), SUFFIX) == 0;
}

static bool is_running(const struct traces *t, const char *name)
{
	vec_each(&t->list, trace)
		if ((*trace)->strace && strcmp((*trace)->name, name) == 0)
			return true;
	return false;
}

/* False: there is nothing to delete. */
static bool delete_oldest(struct traces *t, uid_t uid)
{
	char prefix[16], oldest[NAME_MAX_BYTES] = "";
	struct kernel_list list;
	const char *name;
	unsigned count = 0;
	int error;

	snprintf(prefix, sizeof prefix, "%u-", uid);
	if (lseek(t->dir_fd, 0, SEEK_SET) < 0)
		return false;
	kernel_file_list_begin(&list);
	while ((name = kernel_file_list_next(&list, t->dir_fd, &error))) {
		if (!is_of(name, prefix))
			continue;
		count++;
		if ((!oldest[0] || strcmp(name, oldest) < 0) && !is_running(t, name))
			snprintf(oldest, sizeof oldest, "%s", name);
	}
	return count >= t->options.max_files && oldest[0] && unlinkat(t->dir_fd, oldest, 0) == 0;
}

static int make_file(struct traces *t, struct trace *trace, struct err *err)
{
	char time[32], *to = time;

	if (open_dir(t, err) < 0)
		return -err->code;
	while (delete_oldest(t, trace->uid))
		;
	clock_format_utc(trace->started_ns, time, sizeof time);
	for (const char *c = time; *c && *c != '.'; c++) /* without punctuation */
		if (*c != '-' && *c != ':')
			*to++ = *c;
	*to = '\0';
	snprintf(trace->name, sizeof trace->name, "%u-%s-%06llu-%d" SUFFIX, trace->uid, time,
	         (unsigned long long)trace->id, (int)trace->pid);
	snprintf(trace->path, sizeof trace->path, "%s/%s", t->options.dir, trace->name);
	trace->fd = openat(t->dir_fd, trace->name,
	                   O_RDWR | O_CREAT | O_EXCL | O_APPEND | O_NOFOLLOW | O_CLOEXEC, 0600);
	return trace->fd < 0 ? err_set(err, errno, "create '%s': %s", trace->path, strerror(errno))
	                     : 0;
}

/* ---- what clients ask for -------------------------------------------------------------------- */

/* Ended ones whose files are gone, or that are too many, are forgotten. */
static void forget_some(struct traces *t)
{
	size_t n = 0, ended = 0;

	vec_each(&t->list, trace)
		ended += !(*trace)->strace;
	vec_each(&t->list, trace) {
		struct trace *one = *trace;
		bool is_gone = one->fd < 0 ||
		               faccessat(t->dir_fd, one->name, F_OK, AT_SYMLINK_NOFOLLOW) < 0;

		if (!one->strace && !one->starter && !one->stopper &&
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
		all += (*trace)->strace != NULL;
		own += (*trace)->strace && (*trace)->uid == uid;
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

static int launch(struct traces *t, struct trace *trace, const struct rpc_server_peer *peer,
                  const struct traces_request *rq, struct err *err)
{
	struct strace_options o = { .pid = rq->pid,
		                    .filter = rq->filter,
		                    .out_fd = trace->fd,
		                    .for_ns = rq->for_ns,
		                    .max_bytes = t->options.max_bytes,
		                    .has_user = !rq->is_trusted,
		                    .uid = peer->uid,
		                    .gid = peer->gid };
	char program[PATH_MAX];

	if (strace_find(STRACE_DIRS, program, err) < 0)
		return err_set(err, EAGAIN, "strace is not installed");
	o.program = program;
	if (!rq->is_trusted)
		return strace_spawner_start(t->options.spawner, &o, &trace->strace, err);
	return strace_start(&o, &trace->strace, err);
}

static int open_trace(struct traces *t, struct trace *trace, const struct rpc_server_peer *peer,
                      const struct traces_request *rq, struct err *err)
{
	if (make_file(t, trace, err) < 0)
		return -err->code;
	if (launch(t, trace, peer, rq, err) < 0 ||
	    loop_add_reader(t->loop, strace_fd(trace->strace), on_news, trace, &trace->source,
	                    err) < 0) {
		(void)unlinkat(t->dir_fd, trace->name, 0);
		return -err->code;
	}
	return 0;
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
		                 .fd = -1,
		                 .started_ns = clock_wall_ns(),
		                 .starter = peer->session };
	if (open_trace(t, trace, peer, rq, err) < 0) {
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
	if (!trace->strace) {
		write_trace(result, trace);
		return 0;
	}
	strace_stop(trace->strace);
	trace->stopper = peer->session;
	rpc_session_defer(peer->session, &later);
	return RPC_SERVER_LATER;
}

int traces_read(struct traces *t, const struct rpc_server_peer *peer, uint64_t id, bool is_trusted,
                uint64_t offset, struct json *result, struct err *err)
{
	struct trace *trace = find(t, peer, id, is_trusted, err);
	cleanup(freep) char *text = NULL;
	const char *end;
	ssize_t n;

	if (!trace)
		return -err->code;
	text = xmalloc(READ_BYTES);
	n = trace->fd < 0 ? 0 : pread(trace->fd, text, READ_BYTES, (off_t)offset);
	if (n < 0)
		return err_set(err, errno, "read '%s': %s", trace->path, strerror(errno));
	end = memrchr(text, '\n', (size_t)n);
	if (end)
		n = end + 1 - text;
	else if (trace->strace && n < (ssize_t)READ_BYTES)
		n = 0; /* the line is not complete */
	json_begin_object(result);
	json_put_u64(result, "trace_id", id);
	json_key(result, "text");
	json_strn(result, text, (size_t)n);
	json_put_u64(result, "next_offset", offset + (uint64_t)n);
	json_put_bool(result, "is_over", !trace->strace && n == 0);
	json_end_object(result);
	return 0;
}

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

/* ---- all of them ----------------------------------------------------------------------------- */

struct traces *traces_new(struct loop *loop, struct process_reader *reader,
                          const struct traces_options *options)
{
	struct traces *t = xcalloc(1, sizeof *t);

	t->loop = loop;
	t->reader = reader;
	t->options = *options;
	t->dir_fd = -1;
	return t;
}

void traces_free(struct traces *t)
{
	if (!t)
		return;
	vec_each(&t->list, trace)
		trace_free(*trace);
	vec_done(&t->list);
	closep(&t->dir_fd);
	free(t);
}
