/* SPDX-License-Identifier: MIT */
/* fds.bpf.h - how many files a process has open: the bits that are set in the map of its file
 * table. */
#pragma once

#define FD_WORDS 8 /* read at once */
#define FDS_PER_CHUNK (64 * FD_WORDS)

struct fd_walk {
	__u64 bitmap;
	__u64 words;
	__u32 count;
};

static __always_inline __u32 bits_set(__u64 v)
{
	v -= (v >> 1) & 0x5555555555555555ULL;
	v = (v & 0x3333333333333333ULL) + ((v >> 2) & 0x3333333333333333ULL);
	v = (v + (v >> 4)) & 0x0f0f0f0f0f0f0f0fULL;
	return (v * 0x0101010101010101ULL) >> 56;
}

/* 64-bit numbers throughout: the verifier must see that what was checked is what is used. */
static long fd_chunk(__u32 chunk, struct fd_walk *walk)
{
	__u64 done = (__u64)chunk * FD_WORDS, left = walk->words - done;
	__u64 word[FD_WORDS] = {};

	if (done >= walk->words)
		return 1;
	if (left > FD_WORDS)
		left = FD_WORDS;
	if (bpf_probe_read_kernel(word, left * sizeof word[0], (void *)(walk->bitmap + done * 8)))
		return 1;
	for (int i = 0; i < FD_WORDS; i++)
		walk->count += bits_set(word[i]);
	return 0;
}

static __always_inline __u32 count_fds(struct files_struct *files)
{
	struct fdtable *fdt = files->fdt;
	__u32 fds = fdt->max_fds;

	/* Most processes: the table that is part of the structure itself, of one word. */
	if (fds <= 64)
		return bits_set(files->open_fds_init[0]);

	struct fd_walk walk = { .bitmap = (__u64)fdt->open_fds, .words = fds / 64 };
	if (fds <= FDS_PER_CHUNK)
		fd_chunk(0, &walk);
	else
		bpf_loop(fds / FDS_PER_CHUNK + 1, fd_chunk, &walk, 0);
	return walk.count;
}
