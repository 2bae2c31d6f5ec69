/* SPDX-License-Identifier: MIT */
/* A fuzz target as an ordinary test: every file of its corpus, then some thousand mutations of
 * them. The mutations are the same in every run, so what fails once fails again. The input that
 * broke the target is written to NAME.crash in the working directory. */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <string.h>
#include <sys/stat.h>

#include "base/buf.h"
#include "../unit/load_file.h"
#include "base/vec.h"
#include "fuzz.h"

#define MUTATIONS 3000
#define INPUT_MAX ((size_t)1 << 16)
#define SEEDS_MAX 4096

/* The SIGABRT handler has no argument to be given: what it must write out stands here. */
static struct {
	const char *crash_path;
	const char *at;
	size_t len;
} current;

struct seeds {
	VEC(struct buf) all;
};

static uint64_t next_random(uint64_t *state)
{
	*state ^= *state << 13;
	*state ^= *state >> 7;
	*state ^= *state << 17;
	return *state;
}

static size_t random_below(uint64_t *state, size_t n)
{
	return n ? (size_t)(next_random(state) % n) : 0;
}

static void on_abort(int signo)
{
	int fd = open(current.crash_path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);

	(void)signo;
	if (fd >= 0 && io_write_all(fd, current.at, current.len) == 0) {
		static const char message[] = "the input was kept in NAME.crash\n";

		if (io_write_all(STDERR_FILENO, message, sizeof message - 1) < 0)
			_exit(1);
	}
}

/* The target gets bytes in memory of exactly their size, so that the sanitizer sees a read past the
 * end. */
static void feed(const char *bytes, size_t len)
{
	char *exact = xmalloc(len ? len : 1);

	if (len)
		memcpy(exact, bytes, len);
	current.at = exact;
	current.len = len;
	LLVMFuzzerTestOneInput((const uint8_t *)exact, len);
	free(exact);
}

static int seeds_load(struct seeds *seeds, const char *directory, struct err *err)
{
	DIR *dir = opendir(directory);
	struct dirent *entry;
	int r = 0;

	if (!dir)
		return err_set(err, errno, "open corpus '%s': %s", directory, strerror(errno));
	while (r == 0 && (entry = readdir(dir))) {
		struct buf *seed;

		if (entry->d_name[0] == '.')
			continue;
		seed = vec_push(&seeds->all, SEEDS_MAX);
		r = seed ? load_file(dirfd(dir), entry->d_name, seed, err)
		         : err_set(err, E2BIG, "too many seeds");
	}
	closedir(dir);
	return r;
}

/* readdir's order differs between file systems; the mutations must not. */
static int by_bytes(const void *a, const void *b)
{
	const struct buf *x = a, *y = b;
	size_t n = MIN(x->len, y->len);
	int order = n ? memcmp(x->at, y->at, n) : 0;

	return order ? order : (x->len > y->len) - (x->len < y->len);
}

/* Replaces `cut` bytes at `pos` by these. */
static void replace_bytes(struct buf *b, size_t pos, size_t cut, const char *bytes, size_t n)
{
	struct buf out = { .max = INPUT_MAX };

	cut = MIN(cut, b->len - pos);
	buf_put(&out, b->at, pos);
	buf_put(&out, bytes, n);
	buf_put(&out, b->at + pos + cut, b->len - pos - cut);
	buf_done(b);
	*b = out;
}

static void mutate_once(struct buf *b, const struct seeds *seeds, uint64_t *rng)
{
	static const char *const keywords[] = {
		"-1",
		"0",
		"18446744073709551615",
		"18446744073709551616",
		"9223372036854775808",
		"4294967296",
		"\n",
		" ",
		")",
		"(",
		"\"",
		"\\",
		"\x1b[2J",
		"\xff",
		"\xc2\x9b",
		"\xed\xa0\x80",
		"\xf4\x90\x80\x80",
		"1e309",
		".",
		":",
		"=",
		"[",
		"]",
		"{",
		"}",
		"\r\n",
		"\t",
		"#",
		"max",
		"kB",
		"\xef\xbb\xbf",
	};
	const char *word = keywords[random_below(rng, ARRAY_LEN(keywords))];
	const struct buf *other = &seeds->all.at[random_below(rng, seeds->all.len)];
	size_t pos = random_below(rng, b->len + 1), from = random_below(rng, other->len + 1);
	char byte = (char)next_random(rng);

	switch (random_below(rng, 7)) {
	case 0: /* another byte */
		replace_bytes(b, pos, 1, &byte, 1);
		break;
	case 1: /* a byte more */
		replace_bytes(b, pos, 0, &byte, 1);
		break;
	case 2: /* a stretch less */
		replace_bytes(b, pos, 1 + random_below(rng, 16), NULL, 0);
		break;
	case 3: /* cut short */
		replace_bytes(b, pos, b->len, NULL, 0);
		break;
	case 4: /* a keyword in place of something */
		replace_bytes(b, pos, random_below(rng, 8), word, strlen(word));
		break;
	case 5: /* a piece of another seed */
		replace_bytes(b, pos, random_below(rng, 8), other->at + from,
		              random_below(rng, other->len - from + 1));
		break;
	default: /* one bit */
		if (pos < b->len)
			b->at[pos] = (char)(b->at[pos] ^ (1 << random_below(rng, 8)));
	}
}

static void replay(const struct seeds *seeds)
{
	uint64_t rng = 0x9E3779B97F4A7C15;

	feed(NULL, 0);
	vec_each(&seeds->all, seed)
		feed(seed->at, seed->len);
	for (size_t i = 0; seeds->all.len && i < MUTATIONS; i++) {
		const struct buf *seed = &seeds->all.at[i % seeds->all.len];
		struct buf b = { .max = INPUT_MAX };

		buf_put(&b, seed->at, MIN(seed->len, INPUT_MAX / 2));
		for (size_t n = 1 + random_below(&rng, 4); n; n--)
			mutate_once(&b, seeds, &rng);
		feed(b.at, b.len);
		buf_done(&b);
	}
}

int main(int argc, char **argv)
{
	struct seeds seeds = { 0 };
	struct err err;
	char crash_path[128];

	if (argc != 3) {
		fprintf(stderr, "usage: %s NAME CORPUS\n", argv[0]);
		return 2;
	}
	snprintf(crash_path, sizeof crash_path, "%s.crash", argv[1]);
	current.crash_path = crash_path;
	signal(SIGABRT, on_abort);
	if (seeds_load(&seeds, argv[2], &err) < 0) {
		fprintf(stderr, "%s\n", err.msg);
		return 1;
	}
	if (!seeds.all.len) {
		fprintf(stderr, "the corpus '%s' is empty\n", argv[2]);
		return 1;
	}
	qsort(seeds.all.at, seeds.all.len, sizeof *seeds.all.at, by_bytes);
	replay(&seeds);
	vec_each(&seeds.all, seed)
		buf_done(seed);
	vec_done(&seeds.all);
	return 0;
}
