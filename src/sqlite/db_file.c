/* SPDX-License-Identifier: MIT */
#include "sqlite/db_file.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <time.h>
#include <unistd.h>

#include "sqlite/db_lock.h"
#include "sqlite/schema_version.h"

#define HEADER_LEN 100
#define HEADER_COOKIE 40 /* 0: no table was ever made */
#define HEADER_USER_VERSION 60
#define HEADER_APPLICATION_ID 68
#define ROOM_ENOUGH ((uint64_t)256 << 20)
#define ROOM_AT_END ((uint64_t)96 << 10) /* of the smallest disk, for the ends of jobs */

static const char magic[16] = "SQLite format 3";

static uint32_t be32(const unsigned char *at)
{
	return (uint32_t)at[0] << 24 | (uint32_t)at[1] << 16 | (uint32_t)at[2] << 8 | at[3];
}

void db_file_beside(const char *path, const char *name, char *to, size_t cap)
{
	const char *slash = strrchr(path, '/');

	snprintf(to, cap, "%.*s%s", slash ? (int)(slash - path + 1) : 0, path, name);
}

static int judge_header(const char *path, const unsigned char *h, bool *ret_is_new, struct err *err)
{
	uint32_t id = be32(h + HEADER_APPLICATION_ID), version = be32(h + HEADER_USER_VERSION);

	if (memcmp(h, magic, sizeof magic) != 0)
		return err_set(err, EUCLEAN, "'%s' is not a database", path);
	if (id == 0 && version == 0 && be32(h + HEADER_COOKIE) == 0) {
		*ret_is_new = true;
		return 0;
	}
	if (id != SCHEMA_APPLICATION_ID)
		return err_set(err, EINVAL, "'%s' is a database of another program: left alone",
		               path);
	if (version > SCHEMA_VERSION)
		return err_set(
			err, EPROTONOSUPPORT,
			"'%s' was written by a newer proctor (schema %u, this one knows %d): "
			"left alone",
			path, version, SCHEMA_VERSION);
	*ret_is_new = false;
	return 0;
}

static int check_part(const char *path, const char *end, struct err *err)
{
	char name[4096];
	struct stat st;

	if (snprintf(name, sizeof name, "%s%s", path, end) >= (int)sizeof name)
		return err_set(err, ENAMETOOLONG, "'%s%s': name too long", path, end);
	if (lstat(name, &st) < 0)
		return errno == ENOENT
		               ? 0
		               : err_set(err, errno, "open '%s': %s", name, strerror(errno));
	return db_lock_check(name, &st, err);
}

int db_file_make(const char *path, struct err *err)
{
	static const char *const ends[] = { "", "-wal", "-shm", "-journal" };
	cleanup(closep) int fd = open(path, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW,
	                              0640);
	int r = 0;

	if (fd < 0 && errno != EEXIST)
		return err_set(err, errno, "open '%s': %s", path, strerror(errno));
	for (size_t i = 0; i < ARRAY_LEN(ends) && r == 0; i++)
		r = check_part(path, ends[i], err);
	return r;
}

static bool name_suspicion(const char *path, char *to, size_t cap)
{
	return snprintf(to, cap, "%s.suspect", path) < (int)cap;
}

void db_file_suspect(const char *path)
{
	char name[4096];
	cleanup(closep) int fd = -1;

	if (name_suspicion(path, name, sizeof name))
		fd = open(name, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0640);
}

bool db_file_take_suspicion(const char *path)
{
	char name[4096];

	return name_suspicion(path, name, sizeof name) && unlink(name) == 0;
}

/* Through SQLite's own descriptor: closing another one on the same file would drop the locks of
 * every connection this process has on it. */
int db_file_judge(sqlite3 *db, bool *ret_is_new, struct err *err)
{
	const char *path = sqlite3_db_filename(db, "main");
	unsigned char header[HEADER_LEN];
	sqlite3_file *file = NULL;
	sqlite3_int64 size = 0;

	sqlite3_file_control(db, "main", SQLITE_FCNTL_FILE_POINTER, &file);
	if (!file || !file->pMethods || file->pMethods->xFileSize(file, &size) != SQLITE_OK)
		return err_set(err, EIO, "'%s': its size cannot be read", path);
	if (size == 0) {
		*ret_is_new = true;
		return 0;
	}
	if (size < HEADER_LEN)
		return err_set(err, EUCLEAN, "'%s' is too short for a database", path);
	if (file->pMethods->xRead(file, header, HEADER_LEN, 0) != SQLITE_OK)
		return err_set(err, EIO, "'%s': its header cannot be read", path);
	return judge_header(path, header, ret_is_new, err);
}

int db_file_open_to_read(const char *path, sqlite3 **ret, struct err *err)
{
	cleanup(db_closep) sqlite3 *db = NULL;
	bool is_new = false;
	int r;

	if (access(path, F_OK) < 0)
		return err_set(err, errno, "'%s': %s", path, strerror(errno));
	r = db_open(path, DB_READ, &db, err);
	if (r == 0)
		r = db_file_judge(db, &is_new, err);
	if (r == -EPROTONOSUPPORT)
		err->code = EINVAL;
	if (r < 0)
		return -err->code;
	if (is_new)
		return err_set(err, ENOENT, "'%s' is empty", path);
	*ret = TAKE_PTR(db);
	return 0;
}

static int rename_part(const char *path, const char *to, const char *end, struct err *err)
{
	char from_name[4096], to_name[4096];

	if (snprintf(from_name, sizeof from_name, "%s%s", path, end) >= (int)sizeof from_name ||
	    snprintf(to_name, sizeof to_name, "%s%s", to, end) >= (int)sizeof to_name)
		return err_set(err, ENAMETOOLONG, "'%s%s': name too long", to, end);
	if (rename(from_name, to_name) < 0 && errno != ENOENT)
		return err_set(err, errno, "rename '%s' to '%s': %s", from_name, to_name,
		               strerror(errno));
	return 0;
}

static void name_aside(const char *path, uint64_t wall_ns, char *ret, size_t cap)
{
	time_t seconds = (time_t)(wall_ns / 1000000000);
	char stamp[32];
	struct tm tm;
	int n;

	gmtime_r(&seconds, &tm);
	strftime(stamp, sizeof stamp, "%Y%m%dT%H%M%SZ", &tm);
	n = snprintf(ret, cap, "%s.corrupt-%s", path, stamp);
	for (int i = 2; access(ret, F_OK) == 0 && i < 1000; i++)
		snprintf(ret + n, cap - (size_t)n, "-%d", i);
}

/* The log goes first: a database is found without its log rather than a log without its
 * database, which SQLite would throw away. */
int db_file_set_aside(const char *path, uint64_t wall_ns, char *ret, size_t cap, struct err *err)
{
	static const char *const ends[] = { "-wal", "-shm", "" };

	if (strlen(path) + 48 > cap)
		return err_set(err, ENAMETOOLONG, "'%s': name too long", path);
	name_aside(path, wall_ns, ret, cap);
	for (size_t i = 0; i < ARRAY_LEN(ends); i++) {
		int r = rename_part(path, ret, ends[i], err);

		if (r < 0)
			return r;
	}
	return 0;
}

bool db_file_has_room(const char *path, uint64_t more_bytes)
{
	struct statvfs fs;
	uint64_t size, enough;

	if (statvfs(path, &fs) < 0)
		return true; /* writing will fail if not */
	size = (uint64_t)fs.f_blocks * fs.f_frsize;
	enough = MAX(MIN(ROOM_ENOUGH, size / 100), ROOM_AT_END);
	return (uint64_t)fs.f_bavail * fs.f_frsize > enough + more_bytes;
}
