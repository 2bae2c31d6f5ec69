/* SPDX-License-Identifier: MIT */
#include "probe/lifecycle/connector_receiver.h"

#include <errno.h>
#include <limits.h>
#include <linux/connector.h>
#include <linux/netlink.h>
#include <linux/sock_diag.h>
#include <poll.h>
#include <pthread.h>
#include <stdatomic.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/helper_process.h"
#include "base/io.h"
#include "base/mem.h"
#include "base/thread.h"
#include "model/own_process.h"
#include "probe/lifecycle/connector_filter.h"
#include "probe/lifecycle/connector_queue.h"

#define SOCKETS_MAX 8
#define BATCH 64 /* datagrams at a time */
#define DATAGRAM_MAX 256
#define TEST_RECEPTION_MS 50
/* A round with so many events shows that they come faster than they are taken. */
#define MANY_EVENTS 32
#define THREAD_PERIOD_MS 10
#define THREAD_QUIET_ROUNDS 100 /* without any work, after which the thread sleeps: a second */
#define STACK_BYTES ((size_t)PTHREAD_STACK_MIN + (64 << 10))

struct socket {
	int fd;
	uint32_t drops; /* of the kernel's counter, those that were reported */
};

struct connector_receiver {
	struct socket sockets[SOCKETS_MAX];
	unsigned socket_count;
	int buffer_bytes;
	int poll_fd;  /* an epoll of the sockets and of … */
	int ready_fd; /* an eventfd: events are queued */
	uint32_t nonce;

	pthread_mutex_t mutex; /* guards what follows, and receiving */
	struct connector_queue queue;
	bool is_ready;   /* what ready_fd shows */
	bool overflowed; /* since it was last asked */
	struct mmsghdr messages[BATCH];
	struct iovec pieces[BATCH];
	struct sockaddr_nl senders[BATCH];
	_Alignas(8) char bytes[BATCH][DATAGRAM_MAX];

	pthread_t thread;
	bool has_thread, thread_refused;
	int wake_fd; /* an eventfd that the thread waits for */
	atomic_bool is_awake, is_closing;
};

static bool send_request(const struct connector_receiver *r, bool listen)
{
	char request[CONNECTOR_MESSAGE_REQUEST_BYTES];
	size_t n = connector_message_request(listen, r->nonce, request);

	return send(r->sockets[0].fd, request, n, MSG_NOSIGNAL) == (ssize_t)n;
}

void connector_receiver_close(struct connector_receiver *r)
{
	if (!r)
		return;
	if (r->has_thread) {
		r->is_closing = true;
		(void)!eventfd_write(r->wake_fd, 1);
		pthread_join(r->thread, NULL);
	}
	/* Kernels before 6.6 go on making events for a listener that left without a word. */
	if (r->socket_count)
		(void)send_request(r, false);
	for (unsigned i = 0; i < r->socket_count; i++)
		closep(&r->sockets[i].fd);
	closep(&r->poll_fd);
	closep(&r->ready_fd);
	closep(&r->wake_fd);
	pthread_mutex_destroy(&r->mutex);
	connector_queue_done(&r->queue);
	free(r);
}

/* ---- receiving, with the mutex held ---------------------------------------------------------- */

static void prepare_messages(struct connector_receiver *r)
{
	for (unsigned i = 0; i < BATCH; i++) {
		r->pieces[i] = (struct iovec){ r->bytes[i], DATAGRAM_MAX };
		r->messages[i].msg_hdr = (struct msghdr){ .msg_name = &r->senders[i],
			                                  .msg_namelen = sizeof r->senders[i],
			                                  .msg_iov = &r->pieces[i],
			                                  .msg_iovlen = 1 };
	}
}

/* Any process may write to our socket; only port 0 is the kernel. */
static void queue_message(struct connector_receiver *r, unsigned i)
{
	struct connector_message_event ev;

	if (r->senders[i].nl_pid == 0 &&
	    connector_message_parse(r->bytes[i], r->messages[i].msg_len, &ev))
		connector_queue_add(&r->queue, &ev);
	r->messages[i].msg_hdr.msg_namelen = sizeof r->senders[i];
}

/* A socket that was full drops everything until it has been emptied. */
static int empty_socket(struct connector_receiver *r, int fd, struct err *err)
{
	int n;

	do {
		n = recvmmsg(fd, r->messages, BATCH, MSG_DONTWAIT, NULL);
		if (n < 0 && errno == ENOBUFS)
			r->overflowed = true;
		else if (n < 0 && errno != EAGAIN && errno != EINTR)
			return err_set(err, errno, "receive from the proc connector: %s",
			               strerror(errno));
		for (int i = 0; i < n; i++)
			queue_message(r, (unsigned)i);
	} while (n == BATCH || (n < 0 && errno != EAGAIN));
	return 0;
}

/* A socket that is not readable now is empty. */
static int empty_readable_sockets(struct connector_receiver *r, struct err *err)
{
	struct epoll_event readable[SOCKETS_MAX + 1];
	int n = epoll_wait(r->poll_fd, readable, SOCKETS_MAX + 1, 0);

	for (int i = 0; i < n; i++)
		if (readable[i].data.fd != r->ready_fd &&
		    empty_socket(r, readable[i].data.fd, err) < 0)
			return -err->code;
	return 0;
}

/* One socket alone gives its events in order. */
static int receive_round(struct connector_receiver *r, struct err *err)
{
	uint64_t now_ns = clock_mono_ns();

	if (r->socket_count == 1) {
		if (empty_socket(r, r->sockets[0].fd, err) < 0)
			return -err->code;
		connector_queue_release_all(&r->queue);
		return 0;
	}
	if (empty_readable_sockets(r, err) < 0)
		return -err->code;
	connector_queue_release(&r->queue, now_ns);
	return 0;
}

static void show_whether_ready(struct connector_receiver *r)
{
	bool is_ready = !connector_queue_is_empty(&r->queue);
	eventfd_t n;

	if (is_ready && !r->is_ready)
		(void)!eventfd_write(r->ready_fd, 1);
	else if (!is_ready && r->is_ready)
		(void)!eventfd_read(r->ready_fd, &n);
	r->is_ready = is_ready;
}

/* ---- the thread ------------------------------------------------------------------------------ */

static void wait_for_work(struct connector_receiver *r, int timeout_ms)
{
	struct pollfd wake = { .fd = r->wake_fd, .events = POLLIN };
	eventfd_t n;

	if (poll(&wake, 1, timeout_ms) > 0)
		(void)!eventfd_read(r->wake_fd, &n);
}

/* Returns whether there was something to receive. An error is left for the other thread to find and
 * report. */
static bool rescue_events(struct connector_receiver *r)
{
	struct err err = { 0 };
	bool found_some;
	size_t before;

	pthread_mutex_lock(&r->mutex);
	before = r->queue.events.len;
	(void)receive_round(r, &err);
	found_some = r->queue.events.len > before;
	show_whether_ready(r);
	pthread_mutex_unlock(&r->mutex);
	return found_some;
}

static void *thread_main(void *self)
{
	struct connector_receiver *r = self;

	for (unsigned quiet = 0; !r->is_closing;) {
		r->is_awake = quiet < THREAD_QUIET_ROUNDS;
		wait_for_work(r, r->is_awake ? THREAD_PERIOD_MS : -1);
		quiet = !r->is_awake || rescue_events(r) ? 0 : quiet + 1;
	}
	return NULL;
}

/* Where no thread can be started, events are received by take() alone. */
static void wake_thread(struct connector_receiver *r)
{
	if (r->has_thread && !r->is_awake)
		(void)!eventfd_write(r->wake_fd, 1);
	if (r->has_thread || r->thread_refused)
		return;
	r->is_awake = true;
	r->has_thread = thread_start(&r->thread, STACK_BYTES, thread_main, r) == 0;
	r->thread_refused = !r->has_thread;
}

/* ---- taking ---------------------------------------------------------------------------------- */

int connector_receiver_take(struct connector_receiver *r, struct connector_message_event *to,
                            size_t max, struct err *err)
{
	int taken = 0;
	size_t before;

	pthread_mutex_lock(&r->mutex);
	before = r->queue.events.len;
	if (connector_queue_ready(&r->queue) < max)
		taken = receive_round(r, err);
	if (r->queue.events.len - before >= MANY_EVENTS)
		wake_thread(r);
	if (taken == 0)
		taken = (int)connector_queue_take(&r->queue, to, max);
	show_whether_ready(r);
	pthread_mutex_unlock(&r->mutex);
	return taken;
}

/* The kernel counts each message that it could not queue (since 4.12). Sequence numbers would not show
 * it: what the filter drops has numbers too. */
static uint32_t count_drops(struct socket *s)
{
	uint32_t info[SK_MEMINFO_VARS] = { 0 }, before = s->drops;
	socklen_t len = sizeof info;

	if (getsockopt(s->fd, SOL_SOCKET, SO_MEMINFO, info, &len) < 0)
		return 0;
	s->drops = info[SK_MEMINFO_DROPS];
	return s->drops - before;
}

bool connector_receiver_lost(struct connector_receiver *r, uint64_t *ret_count)
{
	bool any;

	pthread_mutex_lock(&r->mutex);
	any = r->overflowed || r->queue.dropped;
	*ret_count = r->queue.dropped;
	for (unsigned i = 0; any && i < r->socket_count; i++)
		*ret_count += count_drops(&r->sockets[i]);
	r->overflowed = false;
	r->queue.dropped = 0;
	pthread_mutex_unlock(&r->mutex);
	return any;
}

int connector_receiver_fd(const struct connector_receiver *r)
{
	return r->poll_fd;
}

int connector_receiver_buffer_bytes(const struct connector_receiver *r)
{
	return r->buffer_bytes * (int)r->socket_count;
}

/* ---- opening --------------------------------------------------------------------------------- */

/* Returns how large the buffer is. */
static int enlarge_buffer(int fd, int bytes)
{
	socklen_t len = sizeof bytes;

	bytes /= 2; /* the kernel doubles it */
	if (setsockopt(fd, SOL_SOCKET, SO_RCVBUFFORCE, &bytes, sizeof bytes) < 0)
		(void)setsockopt(fd, SOL_SOCKET, SO_RCVBUF, &bytes, sizeof bytes);
	return getsockopt(fd, SOL_SOCKET, SO_RCVBUF, &bytes, &len) < 0 ? 0 : bytes;
}

static int add_socket(struct connector_receiver *r, int bytes)
{
	int fd = socket(PF_NETLINK, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, NETLINK_CONNECTOR);

	if (fd < 0)
		return -errno;
	r->buffer_bytes = enlarge_buffer(fd, bytes);
	r->sockets[r->socket_count++].fd = fd;
	return 0;
}

/* Twice as many until their buffers suffice. Where files are few, so are sockets. */
static int add_sockets(struct connector_receiver *r, int bytes, struct err *err)
{
	int error = add_socket(r, bytes);

	if (error < 0)
		return err_set(err, -error, "proc connector: %s", strerror(-error));
	while (r->socket_count < SOCKETS_MAX &&
	       connector_receiver_buffer_bytes(r) < CONNECTOR_RECEIVER_BYTES) {
		unsigned enough = r->socket_count;

		while (error == 0 && r->socket_count < 2 * enough)
			error = add_socket(r, bytes);
		if (error == 0)
			continue;
		while (r->socket_count > enough)
			closep(&r->sockets[--r->socket_count].fd);
		break;
	}
	return 0;
}

static int bind_socket(const struct connector_receiver *r, unsigned i, struct err *err)
{
	struct sockaddr_nl us = { .nl_family = AF_NETLINK, .nl_groups = CN_IDX_PROC };
	struct epoll_event readable = { .events = EPOLLIN, .data.fd = r->sockets[i].fd };
	struct sock_filter filter[CONNECTOR_FILTER_MAX];
	struct sock_fprog program = { .filter = filter };
	int fd = r->sockets[i].fd;

	program.len = (unsigned short)connector_filter_make(i, r->socket_count, filter);
	if (setsockopt(fd, SOL_SOCKET, SO_ATTACH_FILTER, &program, sizeof program) < 0)
		return err_set(err, errno, "proc connector: filter: %s", strerror(errno));
	if (bind(fd, (struct sockaddr *)&us, sizeof us) < 0)
		return err_set(err, errno, "proc connector: %s%s", strerror(errno),
		               errno == EPERM ? ": this kernel asks for CAP_NET_ADMIN" : "");
	if (epoll_ctl(r->poll_fd, EPOLL_CTL_ADD, fd, &readable) < 0)
		return err_set(err, errno, "proc connector: epoll: %s", strerror(errno));
	return 0;
}

static int open_poll(struct connector_receiver *r, struct err *err)
{
	struct epoll_event ready = { .events = EPOLLIN };

	r->poll_fd = epoll_create1(EPOLL_CLOEXEC);
	r->ready_fd = ready.data.fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	r->wake_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	if (r->poll_fd < 0 || r->ready_fd < 0 || r->wake_fd < 0 ||
	    epoll_ctl(r->poll_fd, EPOLL_CTL_ADD, r->ready_fd, &ready) < 0)
		return err_set(err, errno, "proc connector: %s", strerror(errno));
	return 0;
}

/* On sockets that listen together, one request serves all. */
static int subscribe(struct connector_receiver *r, struct err *err)
{
	for (unsigned i = 0; i < r->socket_count; i++)
		if (bind_socket(r, i, err) < 0)
			return -err->code;
	if (!send_request(r, true))
		return err_set(err, errno, "proc connector: %s%s", strerror(errno),
		               errno == ECONNREFUSED ? ": there is none in this network namespace"
		                                     : "");
	return 0;
}

struct test_result {
	bool is_granted, has_birth;
	uint32_t refusal; /* an errno value */
};

static void receive_test(struct connector_receiver *r, pid_t child, struct test_result *ret,
                         struct err *err)
{
	struct connector_message_event events[BATCH];
	int n;

	do {
		n = connector_receiver_take(r, events, BATCH, err);
		for (int i = 0; i < n; i++) {
			const struct connector_message_event *ev = &events[i];

			if (ev->kind == CONNECTOR_MESSAGE_ACK && ev->nonce == r->nonce) {
				ret->is_granted = !ev->status;
				ret->refusal = ev->status;
			}
			ret->has_birth |= ev->kind == CONNECTOR_MESSAGE_FORK && ev->tgid == child;
		}
	} while (n == BATCH);
}

/* From another pid or user namespace our request is taken and never answered. Events may come all
 * the same, as long as another process listens; so both are awaited: the answer, and an event that we
 * make. Both are sent before the calls that cause them return: no load on the machine can make us
 * miss them. */
static int test_reception(struct connector_receiver *r, struct err *err)
{
	struct pollfd poll_fd = { .fd = r->poll_fd, .events = POLLIN };
	struct test_result h = { 0 };
	pid_t child = helper_process_fork(OURS_NETLINK);

	if (child == 0)
		_exit(0);
	if (child < 0)
		return err_set(err, -child, "proc connector: fork to test it: %s",
		               strerror(-child));
	receive_test(r, child, &h, err);
	if (!h.refusal && !(h.is_granted && h.has_birth) &&
	    poll(&poll_fd, 1, TEST_RECEPTION_MS) > 0)
		receive_test(r, child, &h, err);
	while (waitpid(child, NULL, __WALL) < 0 && errno == EINTR)
		;
	if (h.refusal)
		return err_set(err, (int)h.refusal, "proc connector: refused: %s",
		               strerror((int)h.refusal));
	if (!h.is_granted || !h.has_birth)
		return err_set(
			err, ENOMSG,
			"proc connector: silent outside the initial pid and user namespaces");
	return 0;
}

int connector_receiver_open(int socket_bytes, struct connector_receiver **ret, struct err *err)
{
	cleanup(connector_receiver_closep) struct connector_receiver *r = xcalloc(1, sizeof *r);
	uint64_t ignored;

	r->poll_fd = r->ready_fd = r->wake_fd = -1;
	pthread_mutex_init(&r->mutex, NULL);
	prepare_messages(r);
	r->nonce = (uint32_t)clock_mono_ns() ^ (uint32_t)getpid() << 16;
	if (open_poll(r, err) < 0 || add_sockets(r, socket_bytes, err) < 0 ||
	    subscribe(r, err) < 0 || test_reception(r, err) < 0)
		return -err->code;
	(void)connector_receiver_lost(r, &ignored);
	*ret = TAKE_PTR(r);
	return 0;
}
