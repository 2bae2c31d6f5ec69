/* SPDX-License-Identifier: MIT */
#include "engine/bus.h"

#include <stdlib.h>
#include <string.h>

#include "base/map.h"
#include "base/mem.h"
#include "base/vec.h"

#define EMPTY_SLOTS_MAX 1024 /* and half of all: then they are removed */
#define USERS_MAX 4096       /* then those without events are forgotten */

/* Followed by name, job_id and text with their NULs. */
struct record {
	struct record *next; /* of the same user */
	uint64_t seq, wall_ns;
	uint64_t number, process_number; /* among the events that each of its users may see */
	uint32_t size;                   /* of all of it */
	uint32_t sheet;
	uid_t uid, process_uid;
	uint32_t job_at, text_at;
	char strings[];
};

struct user {
	uid_t uid;
	size_t bytes;
	struct record *oldest, **last;
	uint64_t next;      /* number of the next event that it may see */
	uint64_t displaced; /* `seq` of the last one that it could see and is gone; 0: none */
};

struct slot {
	uint64_t seq;
	struct record *record; /* NULL: displaced */
};

struct bus {
	size_t room, bytes; /* of one user, and in use by all */
	struct map users;   /* uid → struct user * */
	VEC(struct slot) slots; /* ascending */
	size_t empty;           /* of these */
	uint64_t head_seq, first_seq;
};

struct bus *bus_new(size_t bytes, uint64_t first_seq)
{
	struct bus *bus = xcalloc(1, sizeof *bus);

	bus->room = MAX(bytes, (size_t)2 * BUS_TEXT_MAX);
	bus->first_seq = bus->head_seq = first_seq;
	return bus;
}

void bus_free(struct bus *bus)
{
	struct map_slot user;

	if (!bus)
		return;
	vec_each(&bus->slots, slot)
		free(slot->record);
	vec_done(&bus->slots);
	for (size_t it = 0; map_next(&bus->users, &it, &user);)
		free((struct user *)(uintptr_t)user.value);
	map_done(&bus->users);
	free(bus);
}

uint64_t bus_next_seq(const struct bus *bus)
{
	return bus->head_seq;
}

/* ---- users ----------------------------------------------------------------------------------- */

static void forget_users(struct bus *bus)
{
	struct map all = bus->users;
	struct map_slot slot;

	bus->users = (struct map){ 0 };
	for (size_t it = 0; map_next(&all, &it, &slot);) {
		struct user *user = (struct user *)(uintptr_t)slot.value;

		if (user->oldest)
			map_put(&bus->users, slot.key, slot.value);
		else
			free(user);
	}
	map_done(&all);
}

/* Its numbers continue beyond all that it may have had before it was forgotten. */
static struct user *user_of(struct bus *bus, uid_t uid)
{
	struct user *user;
	uint64_t known;

	if (map_get(&bus->users, uid, &known))
		return (struct user *)(uintptr_t)known;
	user = xcalloc(1, sizeof *user);
	user->uid = uid;
	user->last = &user->oldest;
	user->next = bus->head_seq;
	map_put(&bus->users, uid, (uintptr_t)user);
	return user;
}

static struct user *largest_user(const struct bus *bus)
{
	struct user *largest = NULL;
	struct map_slot slot;

	for (size_t it = 0; map_next(&bus->users, &it, &slot);) {
		struct user *user = (struct user *)(uintptr_t)slot.value;

		if (!largest || user->bytes > largest->bytes)
			largest = user;
	}
	return largest;
}

/* ---- events ---------------------------------------------------------------------------------- */

/* The first slot whose number is not below. */
static size_t find_slot(const struct bus *bus, uint64_t seq)
{
	size_t from = 0, to = bus->slots.len;

	while (from < to) {
		size_t middle = from + (to - from) / 2;

		if (bus->slots.at[middle].seq < seq)
			from = middle + 1;
		else
			to = middle;
	}
	return from;
}

static void remove_empty_slots(struct bus *bus)
{
	size_t n = 0;

	if (bus->empty < EMPTY_SLOTS_MAX || bus->empty < bus->slots.len / 2)
		return;
	vec_each(&bus->slots, slot)
		if (slot->record)
			bus->slots.at[n++] = *slot;
	bus->slots.len = n;
	bus->empty = 0;
}

static void displace_oldest(struct bus *bus, struct user *user)
{
	struct record *r = user->oldest;

	user->oldest = r->next;
	if (!user->oldest)
		user->last = &user->oldest;
	user->bytes -= r->size;
	bus->bytes -= r->size;
	user->displaced = r->seq;
	if (r->process_uid != r->uid)
		user_of(bus, r->process_uid)->displaced = r->seq;
	bus->slots.at[find_slot(bus, r->seq)].record = NULL;
	bus->empty++;
	free(r);
}

static void make_room(struct bus *bus, struct user *user, size_t n)
{
	while (user->oldest && user->bytes + n > bus->room)
		displace_oldest(bus, user);
	while (bus->bytes + n > BUS_ROOMS * bus->room)
		displace_oldest(bus, largest_user(bus));
	remove_empty_slots(bus);
}

static void append(struct bus *bus, struct user *user, struct record *r)
{
	struct user *other = user_of(bus, r->process_uid);

	r->number = user->next++;
	r->process_number = other == user ? r->number : other->next++;
	*user->last = r;
	user->last = &r->next;
	user->bytes += r->size;
	bus->bytes += r->size;
	*vec_push(&bus->slots, SIZE_MAX) = (struct slot){ r->seq, r }; /* bounded by the bytes */
}

uint64_t bus_publish(struct bus *bus, const struct bus_event *event)
{
	size_t name = strlen(event->name) + 1, job = strlen(event->job_id) + 1,
	       text = strlen(event->text) + 1, size = sizeof(struct record) + name + job + text;
	struct user *user;
	struct record *r;

	if (name > BUS_NAME_MAX || job > BUS_JOB_MAX || text > BUS_TEXT_MAX)
		return 0;
	if (bus->users.len >= USERS_MAX)
		forget_users(bus);
	user = user_of(bus, event->uid);
	make_room(bus, user, size);
	r = xmalloc(size);
	*r = (struct record){ .seq = bus->head_seq++,
		              .wall_ns = event->wall_ns,
		              .size = (uint32_t)size,
		              .sheet = event->sheet,
		              .uid = event->uid,
		              .process_uid = event->process_uid,
		              .job_at = (uint32_t)name,
		              .text_at = (uint32_t)(name + job) };
	memcpy(r->strings, event->name, name);
	memcpy(r->strings + r->job_at, event->job_id, job);
	memcpy(r->strings + r->text_at, event->text, text);
	append(bus, user, r);
	return r->seq;
}

/* ---- cursors --------------------------------------------------------------------------------- */

static bool is_visible(const struct record *r, uid_t uid)
{
	return uid == 0 || r->uid == uid || r->process_uid == uid;
}

/* The number of the event among those that the user may see. */
static uint64_t number_of(const struct record *r, uid_t uid)
{
	return uid == 0 ? r->seq : r->uid == uid ? r->number : r->process_number;
}

static uint64_t next_number(struct bus *bus, uid_t uid)
{
	return uid == 0 ? bus->head_seq : user_of(bus, uid)->next;
}

/* The first event from `seq` on that the user may see; NULL: there is none. */
static const struct record *find_visible(const struct bus *bus, uid_t uid, uint64_t seq)
{
	for (size_t i = find_slot(bus, seq); i < bus->slots.len; i++)
		if (bus->slots.at[i].record && is_visible(bus->slots.at[i].record, uid))
			return bus->slots.at[i].record;
	return NULL;
}

struct bus_cursor bus_end(struct bus *bus, uid_t uid)
{
	return (struct bus_cursor){ .uid = uid,
		                    .seq = bus->head_seq,
		                    .own = next_number(bus, uid) };
}

static struct bus_cursor cursor_at(struct bus *bus, uid_t uid, uint64_t seq)
{
	const struct record *r = find_visible(bus, uid, seq);

	if (!r)
		return bus_end(bus, uid);
	return (struct bus_cursor){ .uid = uid, .seq = r->seq, .own = number_of(r, uid) };
}

struct bus_cursor bus_begin(struct bus *bus, uid_t uid)
{
	return cursor_at(bus, uid, bus->first_seq);
}

struct bus_cursor bus_at(struct bus *bus, uid_t uid, uint64_t seq)
{
	struct bus_cursor c;

	if (seq < bus->first_seq || seq > bus->head_seq) {
		c = bus_begin(bus, uid);
		c.is_astray = true;
		return c;
	}
	if (uid == 0) /* all numbers are its own: bus_next() reports the loss */
		return (struct bus_cursor){ .seq = seq, .own = seq };
	c = cursor_at(bus, uid, seq);
	c.is_astray = user_of(bus, uid)->displaced >= seq;
	return c;
}

static struct bus_event event_of(const struct record *r)
{
	return (struct bus_event){ .seq = r->seq,
		                   .name = r->strings,
		                   .job_id = r->strings + r->job_at,
		                   .text = r->strings + r->text_at,
		                   .wall_ns = r->wall_ns,
		                   .sheet = r->sheet,
		                   .uid = r->uid,
		                   .process_uid = r->process_uid };
}

static bool matches(const struct bus_filter *f, const struct bus_event *e)
{
	return (!f->of_one_user || f->user == e->uid) &&
	       strncmp(e->name, f->prefix, strlen(f->prefix)) == 0 &&
	       (!f->job_id[0] || (e->uid == f->job_uid && strcmp(e->job_id, f->job_id) == 0));
}

/* Moves the cursor behind what has this number; the numbers between were displaced. */
static uint64_t move_on(struct bus_cursor *c, uint64_t seq, uint64_t own)
{
	uint64_t lost = c->is_astray ? BUS_LOST_UNKNOWN : own - c->own;

	c->seq = seq + 1;
	c->own = own + 1;
	c->is_astray = false;
	return lost;
}

static void add_lost(uint64_t *sum, uint64_t lost)
{
	*sum = *sum == BUS_LOST_UNKNOWN || lost == BUS_LOST_UNKNOWN ? BUS_LOST_UNKNOWN : *sum + lost;
}

bool bus_next(struct bus *bus, struct bus_cursor *cursor, const struct bus_filter *filter,
              struct bus_event *ret, uint64_t *ret_lost)
{
	*ret_lost = 0;
	for (size_t i = find_slot(bus, cursor->seq); i < bus->slots.len; i++) {
		const struct record *r = bus->slots.at[i].record;

		if (!r || !is_visible(r, cursor->uid))
			continue;
		add_lost(ret_lost, move_on(cursor, r->seq, number_of(r, cursor->uid)));
		*ret = event_of(r);
		if (matches(filter, ret))
			return true;
	}
	add_lost(ret_lost, move_on(cursor, bus->head_seq, next_number(bus, cursor->uid)));
	*cursor = bus_end(bus, cursor->uid);
	return false;
}
