/* SPDX-License-Identifier: MIT */
#include "kernel/shm_files.h"

#include <dirent.h>
#include <fcntl.h>
#include <sys/stat.h>

#include "base/clock.h"
#include "base/io.h"

#define FILES_MAX 256
#define BLOCK_BYTES 512 /* of st_blocks, on any file system */

uint64_t shm_files_changed(int root_fd, uid_t uid, uint64_t since_wall_ns)
{
	int fd = openat(root_fd, "dev/shm", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	DIR *dir = fd >= 0 ? fdopendir(fd) : NULL;
	const struct dirent *entry;
	uint64_t bytes = 0;
	struct stat st;

	if (!dir) {
		closep(&fd);
		return 0;
	}
	for (int n = 0; n < FILES_MAX && (entry = readdir(dir)); n++)
		if (fstatat(fd, entry->d_name, &st, AT_SYMLINK_NOFOLLOW) == 0 &&
		    S_ISREG(st.st_mode) && st.st_uid == uid &&
		    (uint64_t)st.st_ctim.tv_sec * NS_PER_S + (uint64_t)st.st_ctim.tv_nsec >=
		            since_wall_ns)
			bytes += (uint64_t)st.st_blocks * BLOCK_BYTES;
	closedir(dir);
	return bytes;
}
