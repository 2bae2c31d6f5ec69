/* SPDX-License-Identifier: MIT */
/* flight_record.h - the last system calls of a thread, shared with their reader.
 *
 * They are kept in a few pages of each thread, each smaller than the 8 KiB up to which every kernel gives storage to
 * a task. A page is also the record that reports them. */
#pragma once

#include "probe/bpf/syscall_record.h"

#define FLIGHT_ARGS 6
#define FLIGHT_TEXT 152
#define FLIGHT_PAGE_CALLS 32
#define FLIGHT_PAGES 4
#define FLIGHT_NUMBERS 512 /* of each ABI that have a rule */
#define FLIGHT_ABIS 4      /* the last one has none: the verifier understands powers of two */

#define FLIGHT_LEN 0xffffffffu /* in the head of a record: it is a page */

enum flight_flag {
	FLIGHT_NAME_IS_CUT = 1 << 0,    /* of a file: its beginning is missing */
	FLIGHT_PATH_IS_UNREAD = 1 << 1, /* it was not in memory, or the address is wrong */
	FLIGHT_MORE_IS_UNREAD = 1 << 2, /* … the second one */
	FLIGHT_IS_ADDRESS = 1 << 3,     /* the text is the address of a socket */
};

/* What to keep of a call besides the values of its arguments: positions, from 1 on; 0: none. */
struct flight_rule {
	__u8 path, more; /* of paths; with two of them each has half of the text */
	__u8 file;       /* of an open file: what it is, unless there is a path */
	__u8 closes;     /* … known only before the call */
	__u8 address;    /* of a socket's address, before its length */
};

struct flight_entry {
	__u64 entered_ns, left_ns; /* boot clock; left 0: it has not returned */
	__s64 result;
	__u64 args[FLIGHT_ARGS];
	__u32 call;     /* one more than that of a tally; 0: this entry is empty */
	__u8 text_len;  /* of the path, or of the name of the file */
	__u8 more_len;  /* of the second path */
	__u8 file_type; /* the upper bits of its mode; 0: not known */
	__u8 flags;     /* enum flight_flag */
	__u64 file_inode;
	char text[FLIGHT_TEXT];
};

/* A record may end before the last of its calls. */
struct flight_page {
	struct syscall_head head; /* len: FLIGHT_LEN */
	__u64 since_ns;           /* calls that were entered before do not count */
	__u32 tid;                /* in the reader's namespace */
	__s32 wait_status;        /* of the process; 0: it still runs */
	__u32 lost;               /* calls that found no page */
	__u32 pad;
	struct flight_entry calls[FLIGHT_PAGE_CALLS];
};
