/* SPDX-License-Identifier: MIT */
#include "kernel/blocked_reader.h"

#include <fcntl.h>
#include <inttypes.h>
#include <sched.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/mem.h"
#include "kernel/blocked_target.h"
#include "kernel/kernel_file.h"
#include "kernel/process_lookup.h"
#include "kernel/process_peek.h"
#include "kernel/socket_peer.h"
#include "model/syscall_signature.h"

#define THREADS_MAX 32   /* of one process */
#define HOLDERS_MAX 1024 /* processes outside of the list that may be at the other end */
#define MAPS_OF_ONE 16   /* memory maps that are read for the lock of a process */
#define MAPS_OF_ALL 1024 /* … and for those of all */
#define MAPS_IN_HASTE (2 * BLOCKED_PROCESSES_MAX)
#define CLOCKS 64        /* of CPUs that are remembered */
#define X32_BIT 0x40000000u
#define ADDRESSES_32 (UINT64_C(1) << 32)

struct blocked_thread {
	char state;
	bool is_readable; /* the call it is in is known */
	struct blocked_args call;
	char wchan[64];
	int cpu;         /* that it ran on last; -1: not known */
	uint64_t ran_ns; /* … when, by the scheduler's clock of that CPU; 0: not known */
};

/* The processes that are asked about, and room for questions about them. */
struct search {
	struct process_reader *r;
	int root_fd;
	const struct proc_id *ids;
	size_t n;
	bool is_wide; /* the other end may be any process */
	size_t last_holder; /* in ids: the other end that was found last */
	/* The answer is worthless if one of them does not wait, or this holds for it, or it comes later than that (monotonic
	 * clock); NULL: any answer is wanted, and since when they wait. */
	bool (*may_go_on)(const struct blocked_call *call);
	uint64_t until_ns;
	size_t maps_left; /* that may be read: they are long */
	struct cpu_clock {
		bool is_read;
		int cpu;
		uint64_t now_ns; /* 0: we may not run there */
	} clocks[CLOCKS];
	struct kernel_list list;
	struct process_request requests[PROCESS_READER_BATCH];
};

static struct search *search_new(struct process_reader *r, int root_fd, const struct proc_id *ids,
                                 size_t n)
{
	struct search *s = xcalloc(1, sizeof *s);

	s->r = r;
	s->root_fd = root_fd;
	s->ids = ids;
	s->n = MIN(n, (size_t)BLOCKED_PROCESSES_MAX);
	s->maps_left = MAPS_OF_ONE;
	return s;
}

static bool is_late(const struct search *s)
{
	return s->until_ns && clock_mono_ns() >= s->until_ns;
}

/* ---- one thread ------------------------------------------------------------------------------ */

/* "running", "-1 SP PC", or the number, six arguments, SP and PC. Of a program of 32 bits the number is that
 * of its own calls. */
bool blocked_reader_parse(struct scan text, struct blocked_args *ret)
{
	struct blocked_args a = { 0 };
	uint64_t number, value[8];

	if (!scan_u64(&text, &number) || number > UINT32_MAX)
		return false;
	for (size_t i = 0; i < ARRAY_LEN(value); i++)
		if (!scan_lit(&text, " 0x") || !scan_hex(&text, &value[i]))
			return false;
	memcpy(a.args, value, sizeof a.args);
	a.number = (uint32_t)number & ~X32_BIT;
	if (number & X32_BIT)
		a.abi = SYSCALL_X32;
	else if (value[6] < ADDRESSES_32 && value[7] < ADDRESSES_32)
		a.abi = SYSCALL_IA32;
	*ret = a;
	return true;
}

/* name (pid, #threads: 1)
 * ---
 * se.exec_start : 59457382.393648, in ms */
bool blocked_reader_parse_sched(struct scan text, uint64_t *ret_ns)
{
	struct scan line, name;

	while (scan_line(&text, &line))
		if (scan_word(&line, &name) && scan_eq(&name, "se.exec_start")) {
			scan_blanks(&line);
			return scan_lit(&line, ":") && scan_fixed(&line, 6, ret_ns);
		}
	return false;
}

/* Now, by the clock of the CPU that this thread runs on. */
static uint64_t read_scheduler_clock(int root_fd)
{
	char text[512];
	ssize_t n = kernel_file_read(root_fd, "proc/thread-self/sched", text, sizeof text);
	uint64_t now_ns = 0;

	(void)blocked_reader_parse_sched(scan_mem(text, n > 0 ? (size_t)n : 0), &now_ns);
	return now_ns;
}

/* Each CPU has a clock of its own, which stands still while it serves interrupts or the hypervisor runs another
 * guest: two of them may be minutes apart. So we go where the process has been. */
static uint64_t read_clock_of(int root_fd, int cpu)
{
	cpu_set_t before, there;
	uint64_t now_ns;

	CPU_ZERO(&there);
	if (cpu < 0 || cpu >= CPU_SETSIZE || sched_getaffinity(0, sizeof before, &before) < 0)
		return 0;
	CPU_SET(cpu, &there);
	if (sched_setaffinity(0, sizeof there, &there) < 0)
		return 0;
	now_ns = read_scheduler_clock(root_fd);
	sched_setaffinity(0, sizeof before, &before);
	return now_ns;
}

static uint64_t scheduler_now_ns(struct search *s, int cpu)
{
	struct cpu_clock *c = &s->clocks[(unsigned)cpu % CLOCKS];

	if (!c->is_read || c->cpu != cpu)
		*c = (struct cpu_clock){ true, cpu, read_clock_of(s->root_fd, cpu) };
	return c->now_ns;
}

static uint64_t idle_ns(struct search *s, const struct blocked_thread *t)
{
	uint64_t now_ns = t->ran_ns ? scheduler_now_ns(s, t->cpu) : 0;

	return now_ns ? MAX(now_ns, t->ran_ns + 1) - t->ran_ns : 0;
}

static void take_thread(const struct process_request *q, struct blocked_thread *ret)
{
	struct scan wchan = q->text[PROCESS_WCHAN];
	struct process_files_stat st;

	*ret = (struct blocked_thread){ 0 };
	if (q->error || !process_files_parse_stat(q->text[PROCESS_STAT], &st))
		return;
	ret->state = st.state;
	ret->is_readable = blocked_reader_parse(q->text[PROCESS_SYSCALL], &ret->call);
	if (!scan_eq(&wchan, "0"))
		snprintf(ret->wchan, sizeof ret->wchan, "%.*s", (int)scan_left(&wchan), wchan.p);
	ret->cpu = process_files_parse_cpu(q->text[PROCESS_STAT]);
	(void)blocked_reader_parse_sched(q->text[PROCESS_SCHED], &ret->ran_ns);
}

static bool is_one_of(const char *name, const char *const *list, size_t n)
{
	for (size_t i = 0; i < n; i++)
		if (strcmp(name, list[i]) == 0)
			return true;
	return false;
}

static enum blocked_thing thing_of(const char *name)
{
	static const char *const children[] = { "wait4", "waitid", "waitpid" };
	static const char *const timers[] = { "nanosleep", "clock_nanosleep",
		                              "clock_nanosleep_time64" };
	static const char *const locks[] = { "futex", "futex_time64", "futex_wait", "futex_waitv" };
	static const char *const files[] = { "poll",         "ppoll",       "ppoll_time64",
		                             "select",       "pselect6",    "pselect6_time64",
		                             "_newselect",   "epoll_wait",  "epoll_pwait",
		                             "epoll_pwait2", "io_getevents" };

	if (is_one_of(name, children, ARRAY_LEN(children)))
		return BLOCKED_ON_CHILD;
	if (is_one_of(name, timers, ARRAY_LEN(timers)))
		return BLOCKED_ON_TIMER;
	if (is_one_of(name, locks, ARRAY_LEN(locks)))
		return BLOCKED_ON_LOCK;
	return is_one_of(name, files, ARRAY_LEN(files)) ? BLOCKED_ON_FILES : BLOCKED_ON_UNKNOWN;
}

/* Calls that end with a signal or a new connection: a program that waits so has nothing to do yet. */
static bool awaits_others(const char *name)
{
	static const char *const calls[] = { "pause",   "rt_sigsuspend", "rt_sigtimedwait",
		                             "accept",  "accept4",       "sigsuspend",
		                             "io_uring_enter", "mq_timedreceive" };

	return is_one_of(name, calls, ARRAY_LEN(calls));
}

/* A lock that is given up after a time. */
static bool is_timed(const char *name, const struct blocked_args *call)
{
	return strcmp(name, "futex_waitv") == 0 || strcmp(name, "futex_wait") == 0
	               ? call->args[3] || call->args[4]
	               : call->args[3] != 0;
}

static bool may_wake(const struct blocked_thread *t, const struct blocked_call *b)
{
	if (!t->is_readable)
		return b->state != 'D';
	return b->thing == BLOCKED_ON_TIMER || b->thing == BLOCKED_ON_FILES ||
	       awaits_others(b->call) ||
	       (b->thing == BLOCKED_ON_LOCK && is_timed(b->call, &t->call)) ||
	       (b->thing == BLOCKED_ON_UNKNOWN && b->state != 'D');
}

static bool does_write(const char *name)
{
	static const char *const prefixes[] = { "write", "pwrite", "send" };

	for (size_t i = 0; i < ARRAY_LEN(prefixes); i++)
		if (strncmp(name, prefixes[i], strlen(prefixes[i])) == 0)
			return true;
	return false;
}

/* Before what it waits for is looked up: FILE stands for any open file. */
static void describe(const struct blocked_thread *t, struct blocked_call *ret)
{
	const struct blocked_args *a = &t->call;
	const struct syscall_signature *s;
	unsigned file;

	ret->fd = -1;
	ret->state = t->state;
	memcpy(ret->wchan, t->wchan, sizeof ret->wchan);
	if (!t->is_readable)
		return;
	syscall_name(syscall_id_of(a->abi, a->number), ret->call);
	ret->thing = thing_of(ret->call);
	s = syscall_signature_of(a->abi, a->number);
	if (s && ret->thing == BLOCKED_ON_UNKNOWN && syscall_signature_position(s, SYSCALL_ARG_PATH, 0)) {
		ret->thing = BLOCKED_ON_FILE;
		return;
	}
	file = s ? syscall_signature_file(s) : 0;
	if (ret->thing == BLOCKED_ON_LOCK)
		snprintf(ret->text, sizeof ret->text, "0x%" PRIx64, a->args[0]);
	if (ret->thing != BLOCKED_ON_UNKNOWN || !file || a->args[file - 1] > INT32_MAX)
		return;
	ret->thing = BLOCKED_ON_FILE;
	ret->fd = (int)a->args[file - 1];
	ret->writes = does_write(ret->call);
}

/* ---- the threads of a process ---------------------------------------------------------------- */

/* The thread that shows best why its process does not continue. */
static unsigned rank_of(const struct blocked_call *b)
{
	static const unsigned char ranks[BLOCKED_THING_COUNT] = {
		[BLOCKED_ON_FILE] = 6, [BLOCKED_ON_CHILD] = 5, [BLOCKED_ON_FILES] = 4,
		[BLOCKED_ON_LOCK] = 3, [BLOCKED_ON_TIMER] = 2, [BLOCKED_ON_UNKNOWN] = 1,
	};

	return ranks[b->thing];
}

static bool is_same(const struct blocked_call *a, const struct blocked_call *b)
{
	return strcmp(a->call, b->call) == 0 && a->thing == b->thing && a->fd == b->fd &&
	       strcmp(a->text, b->text) == 0 && (*a->call || strcmp(a->wchan, b->wchan) == 0);
}

/* Only the input of the shown thread is looked up: that of others may be a terminal. */
static bool any_may_wake(const struct blocked_thread *threads, const struct blocked_call *each,
                         size_t n, const struct blocked_call *shown)
{
	for (size_t i = 0; i < n; i++)
		if (may_wake(&threads[i], &each[i]) ||
		    (each[i].thing == BLOCKED_ON_FILE && each[i].fd != shown->fd))
			return true;
	return false;
}

/* False: it runs, has ended, or hangs. `ret_call` is that of the thread that is shown. */
static bool read_process(struct search *s, struct proc_id id, struct blocked_call *ret,
                         struct blocked_args *ret_call)
{
	struct process_request q[THREADS_MAX];
	struct blocked_thread threads[THREADS_MAX];
	struct blocked_call each[THREADS_MAX] = { 0 };
	unsigned files = 1U << PROCESS_STAT | 1U << PROCESS_WCHAN | 1U << PROCESS_SYSCALL |
	                 (s->may_go_on ? 0 : 1U << PROCESS_SCHED);
	size_t all = process_lookup_threads(s->r, id.pid, files, q, THREADS_MAX);
	size_t n = 0, best = 0;
	struct proc_id now = { .pid = id.pid };

	for (size_t i = 0; i < all; i++) {
		take_thread(&q[i], &threads[n]);
		if (!threads[n].state || strchr("RI", threads[n].state))
			return false;
		if (strchr("ZX", threads[n].state)) /* its first thread may end before the others */
			continue;
		describe(&threads[n], &each[n]);
		if (rank_of(&each[n]) > rank_of(&each[best]))
			best = n;
		n++;
	}
	process_lookup_find_start(s->r, &now);
	if (!n || (id.start_ticks && now.start_ticks != id.start_ticks))
		return false;
	*ret = each[best];
	*ret_call = threads[best].call;
	ret->id = now;
	ret->ran_ns = threads[best].ran_ns;
	ret->since_ns = idle_ns(s, &threads[best]);
	process_peek_comm(s->root_fd, id.pid, ret->name);
	for (size_t i = 0; i < n; i++)
		ret->threads += is_same(&each[i], ret);
	ret->others = (uint32_t)n - ret->threads;
	ret->may_wake = all == THREADS_MAX || any_may_wake(threads, each, n, ret);
	return true;
}

/* ---- on what --------------------------------------------------------------------------------- */

/* The first of these that has it open; 0: none. */
static pid_t ask_holders(struct search *s, size_t n, pid_t except)
{
	process_reader_read(s->r, s->requests, n);
	for (size_t i = 0; i < n; i++)
		if (s->requests[i].has_device && s->requests[i].pid != except)
			return s->requests[i].pid;
	return 0;
}

static pid_t search_others(struct search *s, const struct process_request *q, pid_t except)
{
	cleanup(closep) int fd = openat(s->root_fd, "proc", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	size_t n = 0, all = 0;
	pid_t found = 0, pid;
	int error;

	if (fd < 0)
		return 0;
	kernel_file_list_begin(&s->list);
	while (!found && all < HOLDERS_MAX &&
	       (pid = kernel_file_list_next_pid(&s->list, fd, &error)) > 0) {
		all++;
		s->requests[n] = *q;
		s->requests[n++].pid = pid;
		if (n == PROCESS_READER_BATCH) {
			found = ask_holders(s, n, except);
			n = 0;
		}
	}
	return found || !n ? found : ask_holders(s, n, except);
}

/* Many wait for the same process, often, their parent: so the last one that was found comes first. */
static pid_t search_list(struct search *s, const struct process_request *q, pid_t except)
{
	size_t done = 0, n;

	for (size_t batch = 1; done < s->n && !is_late(s); batch *= 2, done += n) {
		pid_t found;

		n = MIN(batch, s->n - done);
		for (size_t i = 0; i < n; i++) {
			s->requests[i] = *q;
			s->requests[i].pid = s->ids[(s->last_holder + done + i) % s->n].pid;
		}
		found = ask_holders(s, n, except);
		for (size_t i = 0; found && i < n; i++)
			if (s->requests[i].pid == found) {
				s->last_holder = (s->last_holder + done + i) % s->n;
				return found;
			}
	}
	return 0;
}

/* Other processes that have open what the link points to. */
static void find_holder(struct search *s, const char *link, unsigned mode, struct blocked_call *b)
{
	struct process_request q = { .device_mode = mode };

	if ((size_t)snprintf(q.device, sizeof q.device, "%s", link) >= sizeof q.device)
		return;
	b->peer = search_list(s, &q, b->id.pid);
	if (!b->peer && s->is_wide)
		b->peer = search_others(s, &q, b->id.pid);
}

static void look_up_socket(struct search *s, uint64_t inode, struct blocked_call *b)
{
	struct socket_peer peer;
	char link[40];

	b->thing = BLOCKED_ON_SOCKET;
	if (!socket_peer_find(s->root_fd, b->id.pid, inode, &peer))
		return;
	snprintf(b->text, sizeof b->text, "%s", peer.address);
	b->is_own_address = peer.is_own;
	if (!peer.inode)
		return;
	snprintf(link, sizeof link, "socket:[%" PRIu64 "]", peer.inode);
	find_holder(s, link, 0, b);
}

/* It is not open yet, or only looked at. */
static void look_up_path(struct search *s, const struct blocked_args *call, struct blocked_call *b)
{
	const struct syscall_signature *of = syscall_signature_of(call->abi, call->number);
	unsigned at = syscall_signature_position(of, SYSCALL_ARG_PATH, 0);

	if (!blocked_target_path(s->r, b->id.pid, call, at, b->text, sizeof b->text))
		b->thing = BLOCKED_ON_UNKNOWN;
}

/* A terminal waits for a person; timers, signals and events of files come by themselves. */
static bool is_device_of_others(const char *link)
{
	static const char *const prefixes[] = { "/dev/tty", "/dev/pts/", "/dev/console",
		                                "anon_inode:" };

	for (size_t i = 0; i < ARRAY_LEN(prefixes); i++)
		if (strncmp(link, prefixes[i], strlen(prefixes[i])) == 0)
			return true;
	return false;
}

static void look_up_file(struct search *s, struct blocked_call *b)
{
	struct process_request q = { .pid = b->id.pid,
		                     .fd = b->fd,
		                     .files = 1U << PROCESS_OPEN_FILE };
	char link[BLOCKED_TEXT_MAX];
	struct scan text;
	uint64_t inode;

	process_reader_read(s->r, &q, 1);
	text = q.text[PROCESS_OPEN_FILE];
	if (q.error || scan_at_end(&text))
		return;
	snprintf(link, sizeof link, "%.*s", (int)scan_left(&text), text.p);
	if (scan_lit(&text, "pipe:[")) {
		b->thing = BLOCKED_ON_PIPE;
		find_holder(s, link, b->writes ? S_IRUSR : S_IWUSR, b);
	} else if (scan_lit(&text, "socket:[") && scan_u64(&text, &inode)) {
		look_up_socket(s, inode, b);
	} else {
		memcpy(b->text, link, sizeof b->text);
		b->may_wake |= is_device_of_others(link);
	}
}

static void put_file_name(struct search *s, struct blocked_call *b, int fd)
{
	struct process_request q = { .pid = b->id.pid, .fd = fd, .files = 1U << PROCESS_OPEN_FILE };
	size_t len = strlen(b->text);
	struct scan name;

	process_reader_read(s->r, &q, 1);
	name = q.text[PROCESS_OPEN_FILE];
	snprintf(b->text + len, sizeof b->text - len, "%s%d%s%.*s", len ? ", " : "", fd,
	         scan_at_end(&name) ? "" : " ", (int)scan_left(&name), name.p);
}

/* A single file is reported like a read from it; with none it sleeps until its timeout or a signal. */
static void find_files(struct search *s, const struct blocked_args *call, struct blocked_call *b)
{
	struct blocked_files found;

	if (!blocked_target_files(s->r, b->id.pid, call, b->call, &found))
		return;
	b->files = (uint32_t)found.n;
	if (found.n == 0) {
		b->thing = BLOCKED_ON_TIMER;
	} else if (found.n == 1) {
		b->thing = BLOCKED_ON_FILE;
		b->fd = found.fds[0];
		b->writes = found.writes;
		look_up_file(s, b);
	}
	for (size_t i = 0; found.n > 1 && i < MIN(found.n, (size_t)BLOCKED_FILES_NAMED); i++)
		put_file_name(s, b, found.fds[i]);
}

/* The process of a thread, if it is one of those that can have the lock. */
static pid_t process_of(struct search *s, pid_t tid)
{
	char path[48];

	for (size_t i = 0; i < s->n; i++) {
		snprintf(path, sizeof path, "proc/%d/task/%d", (int)s->ids[i].pid, (int)tid);
		if (faccessat(s->root_fd, path, F_OK, 0) == 0)
			return s->ids[i].pid;
	}
	return 0;
}

static void look_up_lock(struct search *s, const struct blocked_args *call, struct blocked_call *b)
{
	pid_t owner = blocked_target_owner(s->r, b->id.pid, call), first = 0;

	if (owner && (b->peer = process_of(s, owner))) {
		b->owner = owner;
		return;
	}
	if (s->maps_left <= s->n)
		return;
	s->maps_left -= s->n;
	b->sharers = (uint32_t)blocked_target_sharers(s->r, b->id.pid, call, s->ids, s->n, &first);
	if (b->sharers == 1)
		b->peer = first;
}

/* The child itself, if it waits for that one, or has no other. */
static void look_up_child(struct search *s, const struct blocked_args *call, struct blocked_call *b)
{
	uint64_t wanted = call->args[strcmp(b->call, "waitid") == 0];
	pid_t child = 0;

	if (wanted > 0 && wanted <= INT32_MAX) {
		b->peer = (pid_t)wanted;
		return;
	}
	for (size_t i = 0; i < s->n; i++) {
		struct process_files_stat st;

		if (!process_lookup_stat(s->r, s->ids[i].pid, &st) || st.ppid != b->id.pid)
			continue;
		if (child)
			return;
		child = st.pid;
	}
	b->peer = child;
}

static void look_up(struct search *s, const struct blocked_args *call, struct blocked_call *b)
{
	if (b->thing == BLOCKED_ON_FILE && b->fd < 0)
		look_up_path(s, call, b);
	else if (b->thing == BLOCKED_ON_FILE)
		look_up_file(s, b);
	else if (b->thing == BLOCKED_ON_FILES)
		find_files(s, call, b);
	else if (b->thing == BLOCKED_ON_LOCK)
		look_up_lock(s, call, b);
	else if (b->thing == BLOCKED_ON_CHILD)
		look_up_child(s, call, b);
	if (b->peer)
		process_peek_comm(s->root_fd, b->peer, b->peer_name);
}

/* False: some are missing that were needed. */
static bool list_calls(struct search *s, struct blocked_calls *ret)
{
	struct blocked_args call;

	s->maps_left = s->may_go_on ? MAPS_IN_HASTE : MAPS_OF_ALL;
	for (size_t i = 0; i < s->n; i++) {
		struct blocked_call b = { 0 };
		struct blocked_call *to;

		if (!read_process(s, s->ids[i], &b, &call)) {
			if (s->may_go_on)
				return false;
			continue;
		}
		look_up(s, &call, &b);
		if (s->may_go_on && (s->may_go_on(&b) || is_late(s)))
			return false;
		to = vec_push(&ret->list, BLOCKED_PROCESSES_MAX);
		if (to)
			*to = b;
	}
	return true;
}

void blocked_reader_list(struct process_reader *r, int root_fd, const struct proc_id *ids, size_t n,
                         struct blocked_calls *ret)
{
	cleanup(freep) struct search *s = search_new(r, root_fd, ids, n);

	s->is_wide = true;
	(void)list_calls(s, ret);
}

bool blocked_reader_list_all(struct process_reader *r, int root_fd, const struct proc_id *ids,
                             size_t n, bool (*may_go_on)(const struct blocked_call *call),
                             uint64_t patience_ns, struct blocked_calls *ret)
{
	cleanup(freep) struct search *s = NULL;
	bool is_complete;

	if (n > BLOCKED_PROCESSES_MAX)
		return false;
	s = search_new(r, root_fd, ids, n);
	s->may_go_on = may_go_on;
	s->until_ns = clock_mono_ns() + patience_ns;
	process_reader_limit(r, s->until_ns);
	is_complete = list_calls(s, ret);
	process_reader_limit(r, 0);
	if (!is_complete)
		vec_reset(&ret->list);
	return is_complete;
}

bool blocked_reader_one(struct process_reader *r, int root_fd, const struct proc_id *ids, size_t n,
                        struct blocked_call *ret)
{
	cleanup(freep) struct search *s = search_new(r, root_fd, ids, n);
	struct blocked_args call;

	*ret = (struct blocked_call){ 0 };
	if (!n || !read_process(s, ids[0], ret, &call))
		return false;
	look_up(s, &call, ret);
	return true;
}

bool blocked_reader_brief(struct process_reader *r, pid_t pid, struct blocked_call *ret)
{
	struct process_request q = { .pid = pid,
		                     .files = 1U << PROCESS_STAT | 1U << PROCESS_WCHAN |
		                              1U << PROCESS_SYSCALL };
	struct blocked_thread thread;
	struct scan link;

	*ret = (struct blocked_call){ .id.pid = pid };
	process_reader_read(r, &q, 1);
	take_thread(&q, &thread);
	if (!thread.state || strchr("RIZX", thread.state))
		return false;
	describe(&thread, ret);
	if (ret->thing != BLOCKED_ON_FILE || ret->fd < 0)
		return true;
	q = (struct process_request){ .pid = pid, .fd = ret->fd, .files = 1U << PROCESS_OPEN_FILE };
	process_reader_read(r, &q, 1);
	link = q.text[PROCESS_OPEN_FILE];
	if (scan_lit(&link, "pipe:["))
		ret->thing = BLOCKED_ON_PIPE;
	else if (scan_lit(&link, "socket:["))
		ret->thing = BLOCKED_ON_SOCKET;
	else
		snprintf(ret->text, sizeof ret->text, "%.*s", (int)scan_left(&link),
		         link.p ? link.p : "");
	return true;
}
