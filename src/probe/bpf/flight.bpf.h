/* SPDX-License-Identifier: MIT OR GPL-2.0 */
/* flight.bpf.h - the flight recorder: the last system calls of each traced thread, reported when its process or its
 * job fails.
 *
 * `flight_calls` is set before the programs are loaded: where it is 0, the verifier throws out all of this. */
#pragma once

#include "probe/bpf/flight_record.h"

#define PATH_ROOM 256 /* names of files are put together in here, from the end */
#define PATH_DEPTH 48 /* directories and mounts of one name */
#define TEXT_HALF (FLIGHT_TEXT / 2)
#define MODE_TYPE_SHIFT 12
#define SIGNAL_GROUP_EXIT 0x4
#define PF_EXITING 0x4

const volatile __u32 flight_calls; /* kept of each thread; 0: none */
const volatile struct flight_rule
	flight_rules[FLIGHT_ABIS * FLIGHT_NUMBERS]; /* by ABI, then number */

__u64 flights_dropped; /* pages that found no room in the ring */

/* The state of a traced thread while it is in a call. */
struct flight_state {
	__u64 since_ns;
	__u32 at;             /* where the next call is put */
	__u32 lost;           /* calls that found no page */
	__u32 name_at;        /* where the name in path_room begins */
	__u32 has_new_memory; /* a program was run: addresses of the call are of the one before */
	__u32 version;        /* odd while the thread changes `now` or a page */
	struct flight_entry now;
	char path_room[2 * PATH_ROOM];
};

#define FLIGHT_PAGE_MAP(name)                                                                      \
	struct {                                                                                   \
		__uint(type, BPF_MAP_TYPE_TASK_STORAGE);                                           \
		__uint(map_flags, BPF_F_NO_PREALLOC);                                              \
		__type(key, int);                                                                  \
		__type(value, struct flight_page);                                                 \
	} name SEC(".maps")
FLIGHT_PAGE_MAP(page_0);
FLIGHT_PAGE_MAP(page_1);
FLIGHT_PAGE_MAP(page_2);
FLIGHT_PAGE_MAP(page_3);

static __always_inline struct flight_page *flight_page(struct task_struct *task, __u32 n,
                                                       __u64 flags)
{
	switch (n) {
	case 0:
		return bpf_task_storage_get(&page_0, task, 0, flags);
	case 1:
		return bpf_task_storage_get(&page_1, task, 0, flags);
	case 2:
		return bpf_task_storage_get(&page_2, task, 0, flags);
	default:
		return bpf_task_storage_get(&page_3, task, 0, flags);
	}
}

/* ---- names of files -------------------------------------------------------------------------- */

/* From a file up to the root of all names. */
struct flight_walk {
	struct flight_state *f;
	struct dentry *dentry;
	struct mount *mount;
};

/* Puts one more directory in front of the name, or steps from the top of a mount to where it is mounted. */
static long flight_climb(__u32 step, struct flight_walk *w)
{
	struct flight_state *f = w->f;
	struct mount *mount = w->mount;
	struct dentry *dentry = w->dentry, *parent = BPF_CORE_READ(dentry, d_parent);
	__u32 len, at = f->name_at;

	if (dentry == parent || dentry == BPF_CORE_READ(mount, mnt.mnt_root)) {
		struct mount *below = BPF_CORE_READ(mount, mnt_parent);

		if (below == mount)
			return 1;
		w->dentry = BPF_CORE_READ(mount, mnt_mountpoint);
		w->mount = below;
		return 0;
	}
	len = BPF_CORE_READ(dentry, d_name.len) & (PATH_ROOM - 1);
	if (at < len + 1 || at > PATH_ROOM) {
		f->now.flags |= FLIGHT_NAME_IS_CUT;
		return 1;
	}
	at = (at - len - 1) & (PATH_ROOM - 1);
	f->path_room[at] = '/';
	bpf_probe_read_kernel(&f->path_room[at + 1], len, BPF_CORE_READ(dentry, d_name.name));
	f->name_at = at;
	w->dentry = parent;
	return 0;
}

/* Pipes, sockets and the like are in no directory; some have a name all the same. */
static __always_inline void flight_name_alone(struct flight_state *f, struct dentry *dentry)
{
	__u32 len = BPF_CORE_READ(dentry, d_name.len) & (PATH_ROOM - 1);
	__u32 at = (PATH_ROOM - len) & (PATH_ROOM - 1);

	if (!len)
		return;
	bpf_probe_read_kernel(&f->path_room[at], len, BPF_CORE_READ(dentry, d_name.name));
	f->name_at = at;
}

static __always_inline struct file *flight_file(struct task_struct *task, __u64 fd)
{
	struct fdtable *table = BPF_CORE_READ(task, files, fdt);
	struct file *file = 0;

	if (!table || (__u32)fd >= BPF_CORE_READ(table, max_fds))
		return 0;
	bpf_probe_read_kernel(&file, sizeof file, BPF_CORE_READ(table, fd) + (__u32)fd);
	return file;
}

/* Describes the open file in f->now. */
static __noinline int flight_describe(struct flight_state *f, struct file *file)
{
	struct dentry *dentry = BPF_CORE_READ(file, f_path.dentry);
	struct inode *inode = BPF_CORE_READ(file, f_inode);
	struct flight_walk walk = { f, dentry,
		                    (void *)BPF_CORE_READ(file, f_path.mnt) -
		                            bpf_core_field_offset(struct mount, mnt) };
	__u32 len;

	f->now.file_type = BPF_CORE_READ(inode, i_mode) >> MODE_TYPE_SHIFT;
	f->now.file_inode = BPF_CORE_READ(inode, i_ino);
	f->now.flags = 0;
	f->name_at = PATH_ROOM;
	bpf_loop(PATH_DEPTH, flight_climb, &walk, 0);
	if (f->name_at >= PATH_ROOM)
		flight_name_alone(f, dentry);
	len = (PATH_ROOM - f->name_at) & (PATH_ROOM - 1);
	if (len > FLIGHT_TEXT) { /* the end of a path is worth more */
		len = FLIGHT_TEXT;
		f->now.flags |= FLIGHT_NAME_IS_CUT;
	}
	bpf_probe_read_kernel(f->now.text, len, &f->path_room[(PATH_ROOM - len) & 0xff]);
	f->now.text_len = len;
	return 0;
}

/* ---- changes, and how they are seen from outside --------------------------------------------- */

/* Begins or ends a change. x86 does not reorder stores; elsewhere an exchange keeps their order. */
static __always_inline void flight_turn(struct flight_state *f)
{
	const struct pt_regs___x86 *x86 = 0;
	__u32 next = f->version + 1;

	asm volatile("" ::: "memory");
	if (bpf_core_field_exists(x86->di))
		*(volatile __u32 *)&f->version = next;
	else
		__sync_lock_test_and_set(&f->version, next);
	asm volatile("" ::: "memory");
}

/* Where the calls of a thread that runs are put for a report. */
struct flight_copy {
	__u32 fence;
	struct flight_state state; /* to look up files with */
	struct flight_page page;
};
struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct flight_copy);
} copies SEC(".maps");

/* Reads the version between two full barriers, so that no other read moves across it. */
static __always_inline __u32 flight_version(struct flight_copy *c, const struct flight_state *f)
{
	__u32 version;

	__sync_lock_test_and_set(&c->fence, 1);
	version = *(const volatile __u32 *)&f->version;
	__sync_lock_test_and_set(&c->fence, 0);
	return version;
}

/* Positions in the ring of a thread. */
struct flight_tear {
	struct flight_page *page;
	__u32 page_at, at, len;
};

static long flight_drop_torn(__u32 i, struct flight_tear *tear)
{
	__u32 since = tear->page_at + i + flight_calls - tear->at;

	if (since % flight_calls < tear->len)
		tear->page->calls[i % FLIGHT_PAGE_CALLS].call = 0;
	return 0;
}

/* Without those that the thread may have written meanwhile: each change adds one, and the first may be the one
 * before `at`. */
static __always_inline void flight_copy_page(struct flight_copy *c, const struct flight_state *f,
                                             const struct flight_page *page, __u32 n)
{
	struct flight_tear tear = { .page = &c->page, .page_at = n * FLIGHT_PAGE_CALLS };
	__u32 before = flight_version(c, f), at = f->at, after;

	bpf_probe_read_kernel(&c->page, sizeof c->page, page);
	after = flight_version(c, f);
	if (before == after && !(before & 1))
		return;
	tear.at = (at + flight_calls - 1) % flight_calls;
	tear.len = (after - before) / 2 + 2;
	bpf_loop(FLIGHT_PAGE_CALLS, flight_drop_torn, &tear, 0);
}

/* The call that the thread is in becomes the first of the page. False: it is in none, or not for long. */
static __always_inline bool flight_copy_now(struct flight_copy *c, const struct flight_state *f)
{
	__u32 before = flight_version(c, f);

	bpf_probe_read_kernel(&c->page.calls[0], sizeof c->page.calls[0], &f->now);
	return c->page.calls[0].call && !(before & 1) && flight_version(c, f) == before;
}

/* ---- calls ----------------------------------------------------------------------------------- */

static __always_inline const volatile struct flight_rule *flight_rule_of(__u32 call)
{
	__u32 number = (call - 1) & 0xffff, abi = (call - 1) >> SYSCALL_ABI_SHIFT;

	if (number >= FLIGHT_NUMBERS)
		abi = FLIGHT_ABIS - 1;
	return &flight_rules[(abi * FLIGHT_NUMBERS + number) % (FLIGHT_ABIS * FLIGHT_NUMBERS)];
}

static __always_inline __u64 flight_arg(const struct flight_entry *e, __u8 position)
{
	__u32 i = position - 1u;

	return i < FLIGHT_ARGS ? e->args[i] : 0;
}

static __always_inline __u8 flight_read_path(struct flight_entry *e, char *to, __u32 room,
                                             __u8 position, __u8 is_unread)
{
	long n = bpf_probe_read_user_str(to, room, (const void *)flight_arg(e, position));

	if (n < 1) {
		e->flags |= is_unread;
		return 0;
	}
	return n - 1;
}

static __always_inline void flight_read_paths(struct flight_entry *e,
                                              const volatile struct flight_rule *rule)
{
	e->flags = 0;
	e->text_len = flight_read_path(e, e->text, rule->more ? TEXT_HALF : FLIGHT_TEXT, rule->path,
	                               FLIGHT_PATH_IS_UNREAD);
	if (rule->more)
		e->more_len = flight_read_path(e, e->text + TEXT_HALF, TEXT_HALF, rule->more,
		                               FLIGHT_MORE_IS_UNREAD);
}

static __always_inline void flight_read_address(struct flight_entry *e, __u8 position)
{
	__u32 len = flight_arg(e, position + 1);

	if (len > FLIGHT_TEXT)
		len = FLIGHT_TEXT;
	if (bpf_probe_read_user(e->text, len, (const void *)flight_arg(e, position)))
		return;
	e->text_len = len;
	e->flags = FLIGHT_IS_ADDRESS;
}

static __always_inline void flight_read_args(__u64 *to, const void *regs, __u32 call)
{
	const struct pt_regs___x86 *x86 = regs;
	const struct pt_regs___arm64 *arm64 = regs;

	if (bpf_core_field_exists(x86->di)) {
		bool is_ia32 = (call - 1) & SYSCALL_BITS_IA32;

		to[0] = is_ia32 ? (__u32)x86->bx : x86->di;
		to[1] = is_ia32 ? (__u32)x86->cx : x86->si;
		to[2] = is_ia32 ? (__u32)x86->dx : x86->dx;
		to[3] = is_ia32 ? (__u32)x86->si : x86->r10;
		to[4] = is_ia32 ? (__u32)x86->di : x86->r8;
		to[5] = is_ia32 ? (__u32)x86->bp : x86->r9;
	} else if (bpf_core_field_exists(arm64->orig_x0)) {
		to[0] = arm64->orig_x0;
		to[1] = arm64->regs[1];
		to[2] = arm64->regs[2];
		to[3] = arm64->regs[3];
		to[4] = arm64->regs[4];
		to[5] = arm64->regs[5];
	}
}

static __always_inline void flight_enter(struct flight_state *f, struct task_struct *task,
                                         const void *regs, __u32 call, __u64 now_ns)
{
	const volatile struct flight_rule *rule = flight_rule_of(call);
	struct flight_entry *e = &f->now;

	flight_turn(f);
	f->has_new_memory = 0;
	e->entered_ns = now_ns;
	e->left_ns = 0;
	e->result = 0;
	e->call = call;
	e->text_len = e->more_len = e->file_type = e->flags = 0;
	flight_read_args(e->args, regs, call);
	if (rule->path) {
		flight_read_paths(e, rule);
	} else if (rule->address) {
		flight_read_address(e, rule->address);
	} else if (rule->closes) {
		struct file *file = flight_file(task, flight_arg(e, rule->file));

		if (file)
			flight_describe(f, file);
	}
	flight_turn(f);
}

/* Moves the call that the thread was in to where the oldest one was. */
static __always_inline void flight_append(struct flight_state *f, struct task_struct *task)
{
	__u32 at = f->at;
	struct flight_page *page = flight_page(task, at / FLIGHT_PAGE_CALLS,
	                                       BPF_LOCAL_STORAGE_GET_F_CREATE);
	const struct flight_entry *e = &f->now;
	struct flight_entry *to;

	f->at = at + 1 < flight_calls ? at + 1 : 0;
	if (!page) {
		f->lost++;
		return;
	}
	to = &page->calls[at % FLIGHT_PAGE_CALLS];
	__builtin_memcpy(to, e, __builtin_offsetof(struct flight_entry, text));
	if (e->text_len | e->more_len)
		__builtin_memcpy(to->text, e->text, FLIGHT_TEXT);
}

/* A path that had to be fetched from its file is in memory now. */
static __always_inline void flight_leave(struct flight_state *f, struct task_struct *task,
                                         __s64 result, __u64 now_ns)
{
	if (!f->now.call)
		return; /* it was traced in mid-call */
	flight_turn(f);
	f->now.left_ns = now_ns;
	f->now.result = result;
	if (!f->has_new_memory && f->now.flags & (FLIGHT_PATH_IS_UNREAD | FLIGHT_MORE_IS_UNREAD))
		flight_read_paths(&f->now, flight_rule_of(f->now.call));
	flight_append(f, task);
	f->now.call = 0;
	flight_turn(f);
}

/* ---- the end --------------------------------------------------------------------------------- */

struct flight_reading {
	struct flight_state *f;
	struct flight_page *page;
	struct task_struct *task;
};

/* What the file of a call was: as long as it was not closed since, it is still that. */
static long flight_look_up(__u32 i, struct flight_reading *r)
{
	struct flight_entry *e = &r->page->calls[i % FLIGHT_PAGE_CALLS];
	const volatile struct flight_rule *rule = flight_rule_of(e->call);
	struct file *file;

	if (!e->call || !rule->file || rule->closes || e->flags || (e->text_len | e->more_len))
		return 0;
	file = flight_file(r->task, flight_arg(e, rule->file));
	if (!file)
		return 0;
	flight_describe(r->f, file);
	e->file_type = r->f->now.file_type;
	e->file_inode = r->f->now.file_inode;
	e->flags = r->f->now.flags;
	e->text_len = r->f->now.text_len;
	__builtin_memcpy(e->text, r->f->now.text, FLIGHT_TEXT);
	return 0;
}

/* The status that wait(2) will return to its parent; 0 also for a thread that ends alone. */
static __always_inline __s32 flight_status(struct task_struct *task)
{
	struct signal_struct *signal = BPF_CORE_READ(task, signal);

	if (BPF_CORE_READ(signal, flags) & SIGNAL_GROUP_EXIT)
		return BPF_CORE_READ(signal, group_exit_code);
	return BPF_CORE_READ(signal, live.counter) ? 0
	                                           : BPF_CORE_READ(task, group_leader, exit_code);
}

/* It has not begun to end: then it reports by itself. */
static __always_inline bool flight_is_alive(struct task_struct *task)
{
	return !(task->flags & PF_EXITING) &&
	       !(BPF_CORE_READ(task, signal, flags) & SIGNAL_GROUP_EXIT);
}

static __always_inline __u32 flight_tid(struct task_struct *task)
{
	struct pid *pid;

	if (!pidns_level)
		return task->pid;
	pid = BPF_CORE_READ(task, thread_pid);
	return BPF_CORE_READ(pid, level) < pidns_level ? 0 : pidns_nr(pid);
}
