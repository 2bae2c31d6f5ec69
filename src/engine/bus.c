/* SPDX-License-Identifier: MIT */
#include "engine/bus.h"

#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/mem.h"

/* In the ring, followed by name, job_id and text with their NULs. */
struct record {
	uint64_t seq;
	uint64_t wall_ns;
	uint32_t size; /* including the strings */
	uint32_t sheet;
	uid_t uid, process_uid;
	uint32_t job_at, text_at; /* offsets after the header */
};

/* Positions are counted from the first byte ever written, so they are never reused. */
struct bus {
	char *bytes;
	size_t size;
	uint64_t head, tail;         /* positions of the next record and of the oldest */
	uint64_t head_seq, tail_seq; /* their numbers; equal: empty */
	uint64_t first_seq;
	struct buf read; /* the strings that bus_next() returned */
};

struct bus *bus_new(size_t bytes, uint64_t first_seq)
{
	struct bus *bus = xcalloc(1, sizeof *bus);

	bus->size = MAX(bytes, (size_t)2 * BUS_TEXT_MAX);
	bus->bytes = xmalloc(bus->size);
	bus->first_seq = bus->head_seq = bus->tail_seq = first_seq;
	return bus;
}

void bus_free(struct bus *bus)
{
	if (!bus)
		return;
	buf_done(&bus->read);
	free(bus->bytes);
	free(bus);
}

uint64_t bus_next_seq(const struct bus *bus)
{
	return bus->head_seq;
}

static void write_bytes(struct bus *bus, const void *from, size_t n)
{
	size_t at = bus->head % bus->size, first = MIN(n, bus->size - at);

	memcpy(bus->bytes + at, from, first);
	memcpy(bus->bytes, (const char *)from + first, n - first);
	bus->head += n;
}

static void read_bytes(const struct bus *bus, uint64_t place, void *to, size_t n)
{
	size_t at = place % bus->size, first = MIN(n, bus->size - at);

	memcpy(to, bus->bytes + at, first);
	memcpy((char *)to + first, bus->bytes, n - first);
}

static struct record header_at(const struct bus *bus, uint64_t place)
{
	struct record r;

	read_bytes(bus, place, &r, sizeof r);
	return r;
}

static void make_room(struct bus *bus, size_t n)
{
	while (bus->head + n - bus->tail > bus->size) {
		bus->tail += header_at(bus, bus->tail).size;
		bus->tail_seq++;
	}
}

uint64_t bus_publish(struct bus *bus, const struct bus_event *event)
{
	size_t name = strlen(event->name) + 1, job = strlen(event->job_id) + 1,
	       text = strlen(event->text) + 1;
	struct record r = { .seq = bus->head_seq,
		            .wall_ns = event->wall_ns,
		            .size = (uint32_t)(sizeof r + name + job + text),
		            .sheet = event->sheet,
		            .uid = event->uid,
		            .process_uid = event->process_uid,
		            .job_at = (uint32_t)name,
		            .text_at = (uint32_t)(name + job) };

	if (name > BUS_NAME_MAX || job > BUS_JOB_MAX || text > BUS_TEXT_MAX)
		return 0;
	make_room(bus, r.size);
	write_bytes(bus, &r, sizeof r);
	write_bytes(bus, event->name, name);
	write_bytes(bus, event->job_id, job);
	write_bytes(bus, event->text, text);
	return bus->head_seq++;
}

struct bus_cursor bus_end(const struct bus *bus)
{
	return (struct bus_cursor){ .seq = bus->head_seq, .at = bus->head };
}

struct bus_cursor bus_begin(const struct bus *bus)
{
	return (struct bus_cursor){ .seq = bus->tail_seq, .at = bus->tail };
}

struct bus_cursor bus_at(const struct bus *bus, uint64_t seq)
{
	struct bus_cursor c = bus_begin(bus);

	if (seq < bus->first_seq || seq > bus->head_seq) {
		c.is_astray = true;
		return c;
	}
	while (c.seq < seq) {
		c.at += header_at(bus, c.at).size;
		c.seq++;
	}
	if (seq < c.seq)
		c.seq = seq; /* bus_next() reports the loss */
	return c;
}

static void load(struct bus *bus, uint64_t place, const struct record *r, struct bus_event *ret)
{
	size_t n = r->size - sizeof *r;

	buf_reset(&bus->read);
	read_bytes(bus, place + sizeof *r, buf_grow(&bus->read, n), n);
	*ret = (struct bus_event){ .seq = r->seq,
		                   .name = bus->read.at,
		                   .job_id = bus->read.at + r->job_at,
		                   .text = bus->read.at + r->text_at,
		                   .wall_ns = r->wall_ns,
		                   .sheet = r->sheet,
		                   .uid = r->uid,
		                   .process_uid = r->process_uid };
}

static bool lets_through(const struct bus_filter *f, const struct bus_event *e)
{
	return (f->uid == 0 || f->uid == e->uid || f->uid == e->process_uid) &&
	       strncmp(e->name, f->prefix, strlen(f->prefix)) == 0 &&
	       (!f->job_id[0] || (e->uid == f->job_uid && strcmp(e->job_id, f->job_id) == 0));
}

bool bus_next(struct bus *bus, struct bus_cursor *cursor, const struct bus_filter *filter,
              struct bus_event *ret, uint64_t *ret_lost)
{
	*ret_lost = 0;
	if (cursor->is_astray || cursor->seq < bus->tail_seq) {
		*ret_lost = cursor->is_astray ? BUS_LOST_UNKNOWN : bus->tail_seq - cursor->seq;
		*cursor = bus_begin(bus);
	}
	while (cursor->seq < bus->head_seq) {
		struct record r = header_at(bus, cursor->at);

		load(bus, cursor->at, &r, ret);
		cursor->at += r.size;
		cursor->seq++;
		if (lets_through(filter, ret))
			return true;
	}
	return false;
}
