/* SPDX-License-Identifier: MIT */
#include "model/syscall_signature.h"

#include <stdlib.h>
#include <string.h>

#include "base/defs.h"

/* In the order of names. The last letter is what it returns. */
/* clang-format off */
static const struct syscall_signature signatures[] = {
	{ "accept", "fbb", 'f' },
	{ "accept4", "fbbx", 'f' },
	{ "access", "pA", 0 },
	{ "alarm", "n", 0 },
	{ "arch_prctl", "xa", 0 },
	{ "bind", "fkn", 0 },
	{ "brk", "a", 'a' },
	{ "chdir", "p", 0 },
	{ "chmod", "pm", 0 },
	{ "chown", "pii", 0 },
	{ "chroot", "p", 0 },
	{ "clock_nanosleep", "cxbb", 0 },
	{ "clone", "xa", 0 },
	{ "clone3", "bn", 0 },
	{ "close", "f", 0 },
	{ "close_range", "nnx", 0 },
	{ "connect", "fkn", 0 },
	{ "copy_file_range", "fbfbnx", 0 },
	{ "creat", "pm", 'f' },
	{ "dup", "f", 'f' },
	{ "dup2", "fi", 'f' },
	{ "dup3", "fiO", 'f' },
	{ "epoll_create", "i", 'f' },
	{ "epoll_create1", "x", 'f' },
	{ "epoll_ctl", "fefb", 0 },
	{ "epoll_pwait", "fbii", 0 },
	{ "epoll_pwait2", "fbib", 0 },
	{ "epoll_wait", "fbii", 0 },
	{ "eventfd2", "nx", 'f' },
	{ "execve", "pbb", 0 },
	{ "execveat", "dpbbF", 0 },
	{ "exit", "i", 0 },
	{ "exit_group", "i", 0 },
	{ "faccessat", "dpA", 0 },
	{ "faccessat2", "dpAF", 0 },
	{ "fadvise64", "flnx", 0 },
	{ "fallocate", "fxll", 0 },
	{ "fchdir", "f", 0 },
	{ "fchmod", "fm", 0 },
	{ "fchmodat", "dpm", 0 },
	{ "fchmodat2", "dpmF", 0 },
	{ "fchown", "fii", 0 },
	{ "fchownat", "dpiiF", 0 },
	{ "fcntl", "fCx", 0 },
	{ "fdatasync", "f", 0 },
	{ "fgetxattr", "fbbn", 0 },
	{ "flock", "fx", 0 },
	{ "fork", "", 0 },
	{ "fsetxattr", "fbbnx", 0 },
	{ "fstat", "fb", 0 },
	{ "fstatfs", "fb", 0 },
	{ "fsync", "f", 0 },
	{ "ftruncate", "fl", 0 },
	{ "futex", "aui", 0 },
	{ "getcwd", "bn", 0 },
	{ "getdents", "fbn", 0 },
	{ "getdents64", "fbn", 0 },
	{ "getegid", "", 0 },
	{ "geteuid", "", 0 },
	{ "getgid", "", 0 },
	{ "getpeername", "fbb", 0 },
	{ "getpgid", "i", 0 },
	{ "getpgrp", "", 0 },
	{ "getpid", "", 0 },
	{ "getppid", "", 0 },
	{ "getrandom", "bnx", 0 },
	{ "getrusage", "ib", 0 },
	{ "getsockname", "fbb", 0 },
	{ "getsockopt", "fiibb", 0 },
	{ "gettid", "", 0 },
	{ "getuid", "", 0 },
	{ "getxattr", "pbbn", 0 },
	{ "inotify_add_watch", "fpx", 0 },
	{ "inotify_init1", "x", 'f' },
	{ "ioctl", "fxa", 0 },
	{ "kill", "is", 0 },
	{ "lchown", "pii", 0 },
	{ "lgetxattr", "pbbn", 0 },
	{ "link", "pp", 0 },
	{ "linkat", "dpdpF", 0 },
	{ "listen", "fi", 0 },
	{ "listxattr", "pbn", 0 },
	{ "llistxattr", "pbn", 0 },
	{ "lseek", "flw", 0 },
	{ "lstat", "pb", 0 },
	{ "madvise", "anx", 0 },
	{ "membarrier", "xx", 0 },
	{ "memfd_create", "px", 'f' },
	{ "mkdir", "pm", 0 },
	{ "mkdirat", "dpm", 0 },
	{ "mknod", "pmx", 0 },
	{ "mknodat", "dpmx", 0 },
	{ "mlock", "an", 0 },
	{ "mmap", "anPMfl", 'a' },
	{ "mount", "ppbxb", 0 },
	{ "mprotect", "anP", 0 },
	{ "mremap", "annxa", 'a' },
	{ "msync", "anx", 0 },
	{ "munlock", "an", 0 },
	{ "munmap", "an", 0 },
	{ "nanosleep", "bb", 0 },
	{ "newfstatat", "dpbF", 0 },
	{ "open", "pom", 'f' },
	{ "openat", "dpom", 'f' },
	{ "openat2", "dpbn", 'f' },
	{ "pause", "", 0 },
	{ "perf_event_open", "biiix", 'f' },
	{ "pidfd_open", "ix", 'f' },
	{ "pidfd_send_signal", "fsbx", 0 },
	{ "pipe", "b", 0 },
	{ "pipe2", "bO", 0 },
	{ "pivot_root", "pp", 0 },
	{ "poll", "bni", 0 },
	{ "ppoll", "bnbb", 0 },
	{ "prctl", "ixx", 0 },
	{ "pread64", "fbnl", 0 },
	{ "preadv", "fbnl", 0 },
	{ "preadv2", "fbnlx", 0 },
	{ "prlimit64", "iibb", 0 },
	{ "pselect6", "ibbbb", 0 },
	{ "pwrite64", "fbnl", 0 },
	{ "pwritev", "fbnl", 0 },
	{ "pwritev2", "fbnlx", 0 },
	{ "read", "fbn", 0 },
	{ "readahead", "fln", 0 },
	{ "readlink", "pbn", 0 },
	{ "readlinkat", "dpbn", 0 },
	{ "readv", "fbn", 0 },
	{ "recvfrom", "fbnSbb", 0 },
	{ "recvmmsg", "fbnSb", 0 },
	{ "recvmsg", "fbS", 0 },
	{ "rename", "pp", 0 },
	{ "renameat", "dpdp", 0 },
	{ "renameat2", "dpdpx", 0 },
	{ "restart_syscall", "", 0 },
	{ "rmdir", "p", 0 },
	{ "rseq", "anxx", 0 },
	{ "rt_sigaction", "sbbn", 0 },
	{ "rt_sigpending", "bn", 0 },
	{ "rt_sigprocmask", "hbbn", 0 },
	{ "rt_sigqueueinfo", "isb", 0 },
	{ "rt_sigreturn", "", 0 },
	{ "rt_sigsuspend", "bn", 0 },
	{ "rt_sigtimedwait", "bbbn", 0 },
	{ "rt_tgsigqueueinfo", "iisb", 0 },
	{ "sched_getaffinity", "inb", 0 },
	{ "sched_setaffinity", "inb", 0 },
	{ "sched_yield", "", 0 },
	{ "select", "ibbbb", 0 },
	{ "sendfile", "ffbn", 0 },
	{ "sendmmsg", "fbnS", 0 },
	{ "sendmsg", "fbS", 0 },
	{ "sendto", "fbnSbn", 0 },
	{ "set_robust_list", "an", 0 },
	{ "set_tid_address", "a", 0 },
	{ "setgid", "i", 0 },
	{ "setpgid", "ii", 0 },
	{ "setresgid", "iii", 0 },
	{ "setresuid", "iii", 0 },
	{ "setsid", "", 0 },
	{ "setsockopt", "fiibn", 0 },
	{ "setuid", "i", 0 },
	{ "setxattr", "pbbnx", 0 },
	{ "shutdown", "fi", 0 },
	{ "sigaltstack", "bb", 0 },
	{ "signalfd4", "fbnx", 'f' },
	{ "socket", "DTi", 'f' },
	{ "socketpair", "DTib", 0 },
	{ "splice", "fbfbnx", 0 },
	{ "stat", "pb", 0 },
	{ "statfs", "pb", 0 },
	{ "statx", "dpFxb", 0 },
	{ "symlink", "pp", 0 },
	{ "symlinkat", "pdp", 0 },
	{ "sync", "", 0 },
	{ "sync_file_range", "fllx", 0 },
	{ "sysinfo", "b", 0 },
	{ "tee", "ffnx", 0 },
	{ "tgkill", "iis", 0 },
	{ "timerfd_create", "cx", 'f' },
	{ "timerfd_settime", "fxbb", 0 },
	{ "tkill", "is", 0 },
	{ "truncate", "pl", 0 },
	{ "umask", "m", 0 },
	{ "umount2", "px", 0 },
	{ "uname", "b", 0 },
	{ "unlink", "p", 0 },
	{ "unlinkat", "dpU", 0 },
	{ "utimensat", "dpbF", 0 },
	{ "vfork", "", 0 },
	{ "wait4", "ibWb", 0 },
	{ "waitid", "iibW", 0 },
	{ "write", "fbn", 0 },
	{ "writev", "fbn", 0 },
};
/* clang-format on */

static int by_name(const void *name, const void *row)
{
	return strcmp(name, ((const struct syscall_signature *)row)->name);
}

const struct syscall_signature *syscall_signature_find(const char *name)
{
	return bsearch(name, signatures, ARRAY_LEN(signatures), sizeof *signatures, by_name);
}

unsigned syscall_signature_position(const struct syscall_signature *s, enum syscall_arg_kind kind,
                                    unsigned n)
{
	for (unsigned i = 0; s->args[i]; i++)
		if (s->args[i] == (char)kind && n-- == 0)
			return i + 1;
	return 0;
}

bool syscall_signature_closes(const struct syscall_signature *s)
{
	return strcmp(s->name, "close") == 0;
}

unsigned syscall_signature_file(const struct syscall_signature *s)
{
	unsigned file = syscall_signature_position(s, SYSCALL_ARG_FILE, 0);

	return file ? file : syscall_signature_position(s, SYSCALL_ARG_DIRECTORY, 0);
}

const struct syscall_signature *syscall_signature_of(enum syscall_abi abi, uint32_t number)
{
	char name[SYSCALL_NAME_MAX];

	syscall_name((uint32_t)abi << 16 | number, name);
	return syscall_signature_find(name);
}
