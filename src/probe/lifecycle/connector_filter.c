/* SPDX-License-Identifier: MIT */
#include "probe/lifecycle/connector_filter.h"

#include <arpa/inet.h>
#include <assert.h>
#include <linux/cn_proc.h>
#include <linux/connector.h>
#include <linux/netlink.h>
#include <stdint.h>

#define SEQ_AT (NLMSG_HDRLEN + offsetof(struct cn_msg, seq))
#define EVENT_AT (NLMSG_HDRLEN + sizeof(struct cn_msg))
#define FIELD_AT(field) (EVENT_AT + offsetof(struct proc_event, field))
#define SEQ_LOW_BYTE_AT (SEQ_AT + (__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__ ? 0 : 3))
#define WHOLE_MESSAGE UINT32_MAX

/* All but fork have the process and its thread group in the same place. */
static_assert(offsetof(struct proc_event, event_data.exit.process_tgid) ==
                              offsetof(struct proc_event, event_data.comm.process_tgid) &&
                      offsetof(struct proc_event, event_data.exit.process_tgid) ==
                              offsetof(struct proc_event, event_data.id.process_tgid),
              "one comparison serves exit, comm and uid");

enum label { FORK = 1, PROCESS, EXIT, KEEP, DROP, LABEL_COUNT };

/* While the program is written, jumps hold labels; resolve() replaces them. 0: the next instruction. */
struct program {
	struct sock_filter *at;
	size_t len;
	size_t places[LABEL_COUNT];
};

static void add(struct program *p, uint16_t code, uint32_t k)
{
	assert(p->len < CONNECTOR_FILTER_MAX);
	p->at[p->len++] = (struct sock_filter)BPF_STMT(code, k);
}

static void jump(struct program *p, uint16_t code, uint32_t k, enum label yes, enum label no)
{
	assert(p->len < CONNECTOR_FILTER_MAX);
	p->at[p->len++] = (struct sock_filter)BPF_JUMP(BPF_JMP | code, k, yes, no);
}

static void place(struct program *p, enum label label)
{
	p->places[label] = p->len;
}

static uint8_t distance(const struct program *p, size_t from, uint8_t label)
{
	return label ? (uint8_t)(p->places[label] - from - 1) : 0;
}

static void resolve(struct program *p)
{
	for (size_t i = 0; i < p->len; i++) {
		struct sock_filter *s = &p->at[i];

		if (BPF_CLASS(s->code) != BPF_JMP)
			continue;
		s->jt = distance(p, i, s->jt);
		s->jf = distance(p, i, s->jf);
	}
}

/* The program reads words in network order, and messages have the machine's. */
static void load(struct program *p, size_t at)
{
	add(p, BPF_LD | BPF_W | BPF_ABS, (uint32_t)at);
}

static void jump_if_kind(struct program *p, uint32_t what, enum label yes, enum label no)
{
	jump(p, BPF_JEQ | BPF_K, htonl(what), yes, no);
}

static void compare_words(struct program *p, size_t a, size_t b, enum label yes, enum label no)
{
	load(p, a);
	add(p, BPF_MISC | BPF_TAX, 0);
	load(p, b);
	jump(p, BPF_JEQ | BPF_X, 0, yes, no);
}

size_t connector_filter_make(unsigned share, unsigned n,
                             struct sock_filter to[static CONNECTOR_FILTER_MAX])
{
	struct program p = { .at = to };

	load(&p, FIELD_AT(what));
	jump_if_kind(&p, PROC_EVENT_NONE, share == 0 ? KEEP : DROP, 0);
	add(&p, BPF_LD | BPF_B | BPF_ABS, SEQ_LOW_BYTE_AT);
	add(&p, BPF_ALU | BPF_RSH | BPF_K, CONNECTOR_FILTER_RUN_BITS);
	add(&p, BPF_ALU | BPF_AND | BPF_K, n - 1);
	jump(&p, BPF_JEQ | BPF_K, share, 0, DROP);
	load(&p, FIELD_AT(what));
	jump_if_kind(&p, PROC_EVENT_EXEC, KEEP, 0);
	jump_if_kind(&p, PROC_EVENT_FORK, FORK, 0);
	jump_if_kind(&p, PROC_EVENT_EXIT, EXIT, 0);
	jump_if_kind(&p, PROC_EVENT_COMM, PROCESS, 0);
	jump_if_kind(&p, PROC_EVENT_UID, PROCESS, DROP);

	place(&p, EXIT);
	load(&p, FIELD_AT(event_data.exit.exit_code));
	jump(&p, BPF_JEQ | BPF_K, 0, PROCESS, KEEP);
	place(&p, PROCESS);
	compare_words(&p, FIELD_AT(event_data.exit.process_pid),
	              FIELD_AT(event_data.exit.process_tgid), KEEP, DROP);
	place(&p, FORK);
	compare_words(&p, FIELD_AT(event_data.fork.child_pid), FIELD_AT(event_data.fork.child_tgid),
	              KEEP, DROP);
	place(&p, KEEP);
	add(&p, BPF_RET | BPF_K, WHOLE_MESSAGE);
	place(&p, DROP);
	add(&p, BPF_RET | BPF_K, 0);
	resolve(&p);
	return p.len;
}
