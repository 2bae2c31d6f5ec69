/* SPDX-License-Identifier: MIT */
#include "model/syscall_words.h"

#include <fcntl.h>
#include <linux/futex.h>
#include <signal.h>
#include <sys/epoll.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/defs.h"
#include "base/signal_name.h"

struct word {
	uint64_t value;
	const char *name;
};
#define WORD(id)                                                                                   \
	{                                                                                          \
		(uint64_t)(id), #id                                                                \
	}
#define WORDS(...) ((const struct word[]){ __VA_ARGS__, { 0 } })

/* The kernel's own value: libc has 0 where it is always set. */
#define KERNEL_O_LARGEFILE 0100000

/* One row for each kind of argument that has words: whether its bits have names, or its values. With `base` the
 * bits in that mask are one value. More than one bit come before those that they hold. */
static const struct dictionary {
	enum syscall_arg_kind kind;
	bool is_bits;
	const struct word *words;
	uint64_t base;
	const struct word *bases;
} dictionaries[] = {
	{ SYSCALL_ARG_OPEN_FLAGS, true,
	  WORDS(WORD(O_TMPFILE), WORD(O_SYNC), WORD(O_CREAT), WORD(O_EXCL), WORD(O_NOCTTY),
	        WORD(O_TRUNC), WORD(O_APPEND), WORD(O_NONBLOCK), WORD(O_DSYNC), WORD(O_ASYNC),
	        WORD(O_DIRECT), { KERNEL_O_LARGEFILE, "O_LARGEFILE" }, WORD(O_DIRECTORY),
	        WORD(O_NOFOLLOW), WORD(O_NOATIME), WORD(O_CLOEXEC), WORD(O_PATH)),
	  O_ACCMODE, WORDS(WORD(O_RDONLY), WORD(O_WRONLY), WORD(O_RDWR)) },
	{ SYSCALL_ARG_FILE_FLAGS, true, WORDS(WORD(O_NONBLOCK), WORD(O_DIRECT), WORD(O_CLOEXEC)) },
	{ SYSCALL_ARG_PROTECTION, true, WORDS(WORD(PROT_READ), WORD(PROT_WRITE), WORD(PROT_EXEC)),
	  0, WORDS(WORD(PROT_NONE)) },
	{ SYSCALL_ARG_MAP_FLAGS, true,
	  WORDS(WORD(MAP_SHARED), WORD(MAP_PRIVATE), WORD(MAP_FIXED), WORD(MAP_ANONYMOUS),
	        WORD(MAP_GROWSDOWN), WORD(MAP_DENYWRITE), WORD(MAP_NORESERVE), WORD(MAP_POPULATE),
	        WORD(MAP_STACK), WORD(MAP_HUGETLB)) },
	{ SYSCALL_ARG_ACCESS, true, WORDS(WORD(R_OK), WORD(W_OK), WORD(X_OK)), 0,
	  WORDS(WORD(F_OK)) },
	{ SYSCALL_ARG_AT_FLAGS, true,
	  WORDS(WORD(AT_SYMLINK_NOFOLLOW), WORD(AT_SYMLINK_FOLLOW), WORD(AT_NO_AUTOMOUNT),
	        WORD(AT_EMPTY_PATH)) },
	{ SYSCALL_ARG_UNLINK_FLAGS, true, WORDS(WORD(AT_REMOVEDIR)) },
	{ SYSCALL_ARG_WAIT_FLAGS, true,
	  WORDS(WORD(WNOHANG), WORD(WUNTRACED), WORD(WEXITED), WORD(WCONTINUED), WORD(WNOWAIT),
	        WORD(__WALL)) },
	{ SYSCALL_ARG_MESSAGE_FLAGS, true,
	  WORDS(WORD(MSG_PEEK), WORD(MSG_TRUNC), WORD(MSG_DONTWAIT), WORD(MSG_WAITALL),
	        WORD(MSG_NOSIGNAL), WORD(MSG_CMSG_CLOEXEC)) },
	{ SYSCALL_ARG_SOCKET_TYPE, true, WORDS(WORD(SOCK_NONBLOCK), WORD(SOCK_CLOEXEC)), 0xf,
	  WORDS(WORD(SOCK_STREAM), WORD(SOCK_DGRAM), WORD(SOCK_RAW), WORD(SOCK_SEQPACKET)) },
	{ SYSCALL_ARG_WHENCE, false,
	  WORDS(WORD(SEEK_SET), WORD(SEEK_CUR), WORD(SEEK_END), WORD(SEEK_DATA), WORD(SEEK_HOLE)) },
	{ SYSCALL_ARG_DOMAIN, false,
	  WORDS(WORD(AF_UNIX), WORD(AF_INET), WORD(AF_INET6), WORD(AF_NETLINK), WORD(AF_PACKET)) },
	{ SYSCALL_ARG_FCNTL, false,
	  WORDS(WORD(F_DUPFD), WORD(F_GETFD), WORD(F_SETFD), WORD(F_GETFL), WORD(F_SETFL),
	        WORD(F_GETLK), WORD(F_SETLK), WORD(F_SETLKW), WORD(F_DUPFD_CLOEXEC)) },
	{ SYSCALL_ARG_MASK_HOW, false,
	  WORDS(WORD(SIG_BLOCK), WORD(SIG_UNBLOCK), WORD(SIG_SETMASK)) },
	{ SYSCALL_ARG_CLOCK, false, WORDS(WORD(CLOCK_REALTIME), WORD(CLOCK_MONOTONIC)) },
	{ SYSCALL_ARG_EPOLL, false,
	  WORDS(WORD(EPOLL_CTL_ADD), WORD(EPOLL_CTL_DEL), WORD(EPOLL_CTL_MOD)) },
	{ SYSCALL_ARG_FUTEX, true, WORDS(WORD(FUTEX_CLOCK_REALTIME)), FUTEX_PRIVATE_FLAG | 0x7f,
	  WORDS(WORD(FUTEX_WAIT), WORD(FUTEX_WAKE), WORD(FUTEX_REQUEUE), WORD(FUTEX_CMP_REQUEUE),
	        WORD(FUTEX_WAKE_OP), WORD(FUTEX_LOCK_PI), WORD(FUTEX_UNLOCK_PI),
	        WORD(FUTEX_WAIT_BITSET), WORD(FUTEX_WAKE_BITSET), WORD(FUTEX_WAIT_PRIVATE),
	        WORD(FUTEX_WAKE_PRIVATE), WORD(FUTEX_REQUEUE_PRIVATE),
	        WORD(FUTEX_CMP_REQUEUE_PRIVATE), WORD(FUTEX_WAKE_OP_PRIVATE),
	        WORD(FUTEX_LOCK_PI_PRIVATE), WORD(FUTEX_UNLOCK_PI_PRIVATE),
	        WORD(FUTEX_WAIT_BITSET_PRIVATE), WORD(FUTEX_WAKE_BITSET_PRIVATE)) },
};

static void put_value(struct buf *to, const struct word *words, uint64_t value)
{
	for (; words && words->name; words++)
		if (words->value == value) {
			buf_puts(to, words->name);
			return;
		}
	buf_printf(to, "%#llx", (unsigned long long)value);
}

/* The bits that have names, and the rest as a number. */
static void put_bits(struct buf *to, const struct dictionary *d, uint64_t value)
{
	uint64_t bits = value & ~d->base;
	bool has_some = d->base != 0;

	if (d->base || !value)
		put_value(to, d->bases, value & d->base);
	for (const struct word *w = d->words; w->name; w++)
		if (w->value && (bits & w->value) == w->value) {
			buf_printf(to, "%s%s", has_some ? "|" : "", w->name);
			bits &= ~w->value;
			has_some = true;
		}
	if (bits)
		buf_printf(to, "%s%#llx", has_some ? "|" : "", (unsigned long long)bits);
}

static const struct dictionary *find_dictionary(enum syscall_arg_kind kind)
{
	for (size_t i = 0; i < ARRAY_LEN(dictionaries); i++)
		if (dictionaries[i].kind == kind)
			return &dictionaries[i];
	return NULL;
}

void syscall_words_put(struct buf *to, enum syscall_arg_kind kind, uint64_t value)
{
	const struct dictionary *d = find_dictionary(kind);

	if (d && d->is_bits)
		put_bits(to, d, (uint32_t)value);
	else if (d)
		put_value(to, d->words, (uint32_t)value);
	else if (kind == SYSCALL_ARG_BUFFER)
		buf_puts(to, value ? "..." : "NULL");
	else if (kind == SYSCALL_ARG_ADDRESS)
		buf_printf(to, value ? "%#llx" : "NULL", (unsigned long long)value);
	else if (kind == SYSCALL_ARG_SIZE)
		buf_printf(to, "%llu", (unsigned long long)value);
	else if (kind == SYSCALL_ARG_LONG)
		buf_printf(to, "%lld", (long long)value);
	else if (kind == SYSCALL_ARG_MODE)
		buf_printf(to, "0%03o", (unsigned)value & 0177777);
	else if (kind == SYSCALL_ARG_SIGNAL)
		buf_puts(to, (int32_t)value > 0 ? signal_name((int32_t)value).at : "0");
	else if (kind == SYSCALL_ARG_INT)
		buf_printf(to, "%d", (int32_t)value);
	else
		buf_printf(to, "%#llx", (unsigned long long)value);
}
