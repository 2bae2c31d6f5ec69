/* SPDX-License-Identifier: MIT */
#include "probe/lifecycle/connector_message.h"

#include <assert.h>
#include <linux/cn_proc.h>
#include <linux/connector.h>
#include <linux/netlink.h>
#include <stddef.h>
#include <string.h>

#define HEAD_BYTES (NLMSG_HDRLEN + sizeof(struct cn_msg))

static_assert(HEAD_BYTES + sizeof(enum proc_cn_mcast_op) == CONNECTOR_MESSAGE_REQUEST_BYTES,
              "a request is a header and a word");

size_t connector_message_request(bool listen, uint32_t nonce,
                                 char to[static CONNECTOR_MESSAGE_REQUEST_BYTES])
{
	struct nlmsghdr nl = { .nlmsg_len = CONNECTOR_MESSAGE_REQUEST_BYTES,
		               .nlmsg_type = NLMSG_DONE };
	struct cn_msg cn = { .id = { CN_IDX_PROC, CN_VAL_PROC },
		             .ack = nonce,
		             .len = sizeof(enum proc_cn_mcast_op) };
	enum proc_cn_mcast_op op = listen ? PROC_CN_MCAST_LISTEN : PROC_CN_MCAST_IGNORE;

	memcpy(to, &nl, sizeof nl);
	memcpy(to + NLMSG_HDRLEN, &cn, sizeof cn);
	memcpy(to + HEAD_BYTES, &op, sizeof op);
	return CONNECTOR_MESSAGE_REQUEST_BYTES;
}

static void take_data(const struct proc_event *e, struct connector_message_event *ret)
{
	switch ((uint32_t)e->what) {
	case (uint32_t)PROC_EVENT_NONE:
		ret->kind = CONNECTOR_MESSAGE_ACK;
		ret->status = e->event_data.ack.err;
		break;
	case (uint32_t)PROC_EVENT_FORK:
		ret->kind = CONNECTOR_MESSAGE_FORK;
		ret->pid = e->event_data.fork.child_pid;
		ret->tgid = e->event_data.fork.child_tgid;
		ret->parent = e->event_data.fork.parent_tgid;
		break;
	case (uint32_t)PROC_EVENT_EXEC:
		ret->kind = CONNECTOR_MESSAGE_EXEC;
		ret->pid = e->event_data.exec.process_pid;
		ret->tgid = e->event_data.exec.process_tgid;
		break;
	case (uint32_t)PROC_EVENT_EXIT:
		ret->kind = CONNECTOR_MESSAGE_EXIT;
		ret->pid = e->event_data.exit.process_pid;
		ret->tgid = e->event_data.exit.process_tgid;
		ret->status = e->event_data.exit.exit_code;
		break;
	case (uint32_t)PROC_EVENT_COMM:
		ret->kind = CONNECTOR_MESSAGE_COMM;
		ret->pid = e->event_data.comm.process_pid;
		ret->tgid = e->event_data.comm.process_tgid;
		memcpy(ret->comm, e->event_data.comm.comm, COMM_LEN - 1);
		break;
	case (uint32_t)PROC_EVENT_UID:
		ret->kind = CONNECTOR_MESSAGE_UID;
		ret->pid = e->event_data.id.process_pid;
		ret->tgid = e->event_data.id.process_tgid;
		ret->uid = e->event_data.id.e.euid;
		break;
	default:
		ret->kind = CONNECTOR_MESSAGE_OTHER;
	}
}

/* Nothing in the datagram is aligned for its type, so all is copied out. Kernels before 4.18 wrote
 * a shorter exit. */
bool connector_message_parse(const void *datagram, size_t len, struct connector_message_event *ret)
{
	const char *bytes = datagram;
	struct proc_event e = { 0 };
	struct nlmsghdr nl;
	struct cn_msg cn;

	if (len < HEAD_BYTES)
		return false;
	memcpy(&nl, bytes, sizeof nl);
	memcpy(&cn, bytes + NLMSG_HDRLEN, sizeof cn);
	if (nl.nlmsg_len > len || nl.nlmsg_len < HEAD_BYTES || cn.id.idx != CN_IDX_PROC ||
	    cn.id.val != CN_VAL_PROC || cn.len > nl.nlmsg_len - HEAD_BYTES ||
	    cn.len < offsetof(struct proc_event, event_data) + 16)
		return false;
	memcpy(&e, bytes + HEAD_BYTES, MIN((size_t)cn.len, sizeof e));
	/* The kernel answers with what we gave as ack, plus one; our own seq it writes over. */
	*ret = (struct connector_message_event){
		.cpu = e.cpu, .seq = cn.seq, .nonce = cn.ack - 1, .mono_ns = e.timestamp_ns
	};
	take_data(&e, ret);
	return true;
}
