/* SPDX-License-Identifier: MIT */
#include "rpc/rpc_turns.h"

#include "base/clock.h"
#include "base/mem.h"

#define TURN_NS NS_PER_MS
#define TRUSTED_NS (2 * NS_PER_MS) /* of a round, by trusted users */
#define WINDOW_NS (4 * NS_PER_MS)
#define SPENT_MAX_NS (2 * NS_PER_MS) /* of a window, by users that are not trusted */
#define DEBTORS_MAX 256              /* users without connections that are remembered */

static void on_turn(void *self);

void rpc_turns_init(struct rpc_turns *t, struct loop *loop,
                    void (*serve)(struct rpc_turn *turn, uint64_t until_ns))
{
	*t = (struct rpc_turns){ .serve = serve };
	t->timer = loop_add_timer(loop, LOOP_NEVER, on_turn, t);
}

/* Those that owe nothing, or all if they are many. */
static void forget_users(struct rpc_turns *t, bool all)
{
	for (struct rpc_user **at = &t->users, *user; (user = *at);) {
		if (user->clients || (!all && user->used_ns > t->clock_ns)) {
			at = &user->next;
			continue;
		}
		*at = user->next;
		free(user);
	}
}

void rpc_turns_done(struct rpc_turns *t)
{
	loop_remove(t->timer);
	forget_users(t, true);
}

struct rpc_user *rpc_turns_user(const struct rpc_turns *t, uid_t uid)
{
	struct rpc_user *user = t->users;

	while (user && user->uid != uid)
		user = user->next;
	return user;
}

static size_t count_users(const struct rpc_turns *t)
{
	size_t n = 0;

	for (const struct rpc_user *user = t->users; user; user = user->next)
		n += !user->clients;
	return n;
}

void rpc_turns_enter(struct rpc_turns *t, struct rpc_turn *turn, uid_t uid, bool is_trusted)
{
	struct rpc_user *user = rpc_turns_user(t, uid);

	if (!user) {
		forget_users(t, count_users(t) > DEBTORS_MAX);
		user = xcalloc(1, sizeof *user);
		*user = (struct rpc_user){ .next = t->users, .uid = uid };
		user->last = &user->first;
		t->users = user;
	}
	user->is_trusted = is_trusted;
	user->clients++;
	*turn = (struct rpc_turn){ .user = user };
}

static void leave_line(struct rpc_turn *turn)
{
	struct rpc_user *user = turn->user;
	struct rpc_turn **at = &user->first;

	if (!turn->is_waiting)
		return;
	while (*at != turn)
		at = &(*at)->next;
	*at = turn->next;
	if (user->last == &turn->next)
		user->last = at;
	turn->is_waiting = false;
}

void rpc_turns_leave(struct rpc_turns *t, struct rpc_turn *turn)
{
	(void)t;
	leave_line(turn);
	turn->user->clients--;
}

static void serve(struct rpc_turns *t, struct rpc_turn *turn)
{
	uint64_t begin_ns = clock_mono_ns(), took_ns;
	struct rpc_user *user = turn->user;

	user->used_ns = MAX(user->used_ns, user->is_trusted ? 0 : t->clock_ns);
	if (!user->is_trusted)
		t->clock_ns = user->used_ns;
	t->serve(turn, begin_ns + TURN_NS);
	took_ns = clock_mono_ns() - begin_ns;
	user->used_ns += took_ns;
	if (!user->is_trusted)
		t->spent_ns += took_ns;
}

/* The one of these that used the least; NULL: none of them waits. */
static struct rpc_user *next_user(const struct rpc_turns *t, bool is_trusted)
{
	struct rpc_user *next = NULL;

	for (struct rpc_user *user = t->users; user; user = user->next)
		if (user->first && user->is_trusted == is_trusted &&
		    (!next || user->used_ns < next->used_ns))
			next = user;
	return next;
}

static void begin_window(struct rpc_turns *t, uint64_t now_ns)
{
	t->window_ns = now_ns;
	t->spent_ns = 0;
}

/* Once a window is used up, only the timer begins the next: by then the loop has looked after the rest. */
static bool has_time(struct rpc_turns *t)
{
	uint64_t now_ns = clock_mono_ns();

	if (t->spent_ns >= SPENT_MAX_NS)
		return false;
	if (now_ns - t->window_ns >= WINDOW_NS)
		begin_window(t, now_ns);
	return true;
}

static void serve_first(struct rpc_turns *t, struct rpc_user *user)
{
	struct rpc_turn *turn = user->first;

	leave_line(turn);
	serve(t, turn);
}

static void set_timer(struct rpc_turns *t)
{
	if (next_user(t, true))
		loop_timer_set(t->timer, 0);
	else if (next_user(t, false))
		loop_timer_set(t->timer, has_time(t) ? 0 : t->window_ns + WINDOW_NS);
}

/* Between two rounds the loop looks after everything else. */
static void on_turn(void *self)
{
	struct rpc_turns *t = self;
	uint64_t now_ns = clock_mono_ns(), end_ns = now_ns + TRUSTED_NS;
	struct rpc_user *user;

	if (now_ns - t->window_ns >= WINDOW_NS)
		begin_window(t, now_ns);
	while (clock_mono_ns() < end_ns && (user = next_user(t, true)))
		serve_first(t, user);
	while (has_time(t) && (user = next_user(t, false)))
		serve_first(t, user);
	set_timer(t);
}

bool rpc_turns_ask(struct rpc_turns *t, struct rpc_turn *turn)
{
	bool is_trusted = turn->user->is_trusted;

	if (turn->is_waiting)
		return false;
	if (is_trusted || (has_time(t) && !next_user(t, false))) {
		serve(t, turn);
		return true;
	}
	rpc_turns_wait(t, turn);
	return false;
}

void rpc_turns_wait(struct rpc_turns *t, struct rpc_turn *turn)
{
	struct rpc_user *user = turn->user;

	if (turn->is_waiting)
		return;
	turn->is_waiting = true;
	turn->next = NULL;
	*user->last = turn;
	user->last = &turn->next;
	set_timer(t);
}
