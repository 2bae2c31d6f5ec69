/* SPDX-License-Identifier: MIT */
#include "cli/progress.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/clock.h"
#include "base/io.h"
#include "store/store.h"
#include "view/format.h"

#define DRAW_EVERY_NS (100 * NS_PER_MS)
#define CLEAR_LINE "\r\x1b[K"

static bool has_terminal(void)
{
	const char *term = getenv("TERM");

	return isatty(STDERR_FILENO) && term && strcmp(term, "dumb") != 0;
}

void progress_begin(struct progress *p, bool is_wanted, uint64_t total, const char *what)
{
	uint64_t now_ns = clock_mono_ns();

	*p = (struct progress){ .what = what,
		                .total = total,
		                .began_ns = now_ns,
		                .next_ns = now_ns + DRAW_EVERY_NS,
		                .is_shown = is_wanted && has_terminal() };
}

static void put_line(const struct progress *p, uint64_t done, uint64_t count, uint64_t now_ns,
                     struct buf *to)
{
	double ratio = p->total ? MIN((double)done / (double)p->total, 1.0) : 0;

	buf_puts(to, CLEAR_LINE);
	if (p->total)
		buf_printf(to, "[%s] %3.0f %%  ", format_bar(ratio, false).at, 100 * ratio);
	if (count)
		buf_printf(to, "%s ", format_count(count).at);
	buf_puts(to, p->what);
	if (!p->total)
		buf_printf(to, ", %s", format_duration_short(now_ns - p->began_ns).at);
}

void progress_step(struct progress *p, uint64_t done, uint64_t count)
{
	cleanup(buf_done) struct buf line = { 0 };
	uint64_t now_ns;

	if (!p->is_shown || (now_ns = clock_mono_ns()) < p->next_ns)
		return;
	p->next_ns = now_ns + DRAW_EVERY_NS;
	p->is_drawn = true;
	put_line(p, done, count, now_ns, &line);
	if (io_write_all(STDERR_FILENO, line.at, line.len) < 0)
		p->is_shown = false;
}

void progress_end(struct progress *p)
{
	if (p->is_drawn)
		(void)!io_write_all(STDERR_FILENO, CLEAR_LINE, strlen(CLEAR_LINE));
	*p = (struct progress){ 0 };
}

static void on_update(void *self)
{
	progress_step(self, 0, 0);
}

void progress_of_store(struct progress *p, struct store_options *options)
{
	progress_begin(p, true, 0, "updating the store");
	options->while_updating = on_update;
	options->updating_self = p;
}
