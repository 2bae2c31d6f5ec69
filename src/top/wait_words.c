/* SPDX-License-Identifier: MIT */
#include "top/wait_words.h"

#include <fcntl.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/mem.h"
#include "kernel/blocked_reader.h"

static char *describe(const struct blocked_call *b)
{
	static const char *const things[BLOCKED_THING_COUNT] = { [BLOCKED_ON_PIPE] = " pipe",
		                                                 [BLOCKED_ON_SOCKET] = " socket",
		                                                 [BLOCKED_ON_CHILD] = " child",
		                                                 [BLOCKED_ON_LOCK] = " lock" };
	bool is_path = b->thing == BLOCKED_ON_FILE && *b->text;

	if (!*b->call)
		return xstrdup(b->wchan);
	return xasprintf("%s%s%s", b->call,
	                 is_path            ? " "
	                 : things[b->thing] ? things[b->thing]
	                                    : "",
	                 is_path ? b->text : "");
}

static void read_one(struct wait_words *w, pid_t pid)
{
	struct blocked_call call;
	uint64_t known;
	char *words;

	if (map_get(&w->of, (uint64_t)pid, &known))
		return;
	words = blocked_reader_brief(w->reader, pid, &call) ? describe(&call) : xstrdup("");
	map_put(&w->of, (uint64_t)pid, (uint64_t)(uintptr_t)words);
}

void wait_words_read(struct wait_words *w, const pid_t *pids, size_t n)
{
	if (n && !w->reader) {
		w->root_fd = open("/", O_PATH | O_DIRECTORY | O_CLOEXEC);
		w->reader = process_reader_new(w->root_fd);
	}
	for (size_t i = 0; i < n; i++)
		read_one(w, pids[i]);
}

void wait_words_forget(struct wait_words *w)
{
	struct map_slot slot;
	size_t it = 0;

	while (map_next(&w->of, &it, &slot))
		free((void *)(uintptr_t)slot.value);
	map_reset(&w->of);
}

void wait_words_done(struct wait_words *w)
{
	wait_words_forget(w);
	map_done(&w->of);
	process_reader_free(w->reader);
	if (w->reader)
		close(w->root_fd);
}
