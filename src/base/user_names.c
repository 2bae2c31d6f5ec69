/* SPDX-License-Identifier: MIT */
#include "base/user_names.h"

#include <pwd.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/mem.h"
#include "base/scan.h"

#define ENTRY_MAX 16384

const char *user_names_name(void *self, uint32_t uid)
{
	struct user_names *users = self;
	struct passwd entry, *pw = NULL;
	char texts[ENTRY_MAX], *name;
	uint64_t known;

	if (map_get(&users->names, uid, &known))
		return (const char *)(uintptr_t)known;
	(void)!getpwuid_r(uid, &entry, texts, sizeof texts, &pw); /* not the only thread */
	name = pw ? xstrdup(pw->pw_name) : NULL;
	map_put(&users->names, uid, (uintptr_t)name);
	return name;
}

void user_names_done(struct user_names *users)
{
	struct map_slot slot;
	size_t it = 0;

	while (map_next(&users->names, &it, &slot))
		free((void *)(uintptr_t)slot.value);
	map_done(&users->names);
}

bool user_names_parse_number(const char *text, size_t n, uint32_t *ret)
{
	struct scan number = scan_mem(text, n);
	uint64_t uid;

	if (!scan_u64(&number, &uid) || !scan_at_end(&number) || uid >= UINT32_MAX)
		return false;
	*ret = (uint32_t)uid;
	return true;
}

bool user_names_parse(const char *text, size_t n, uint32_t *ret)
{
	struct passwd entry, *pw = NULL;
	char texts[ENTRY_MAX], name[USER_NAME_MAX];

	if (user_names_parse_number(text, n, ret))
		return true;
	if (n >= sizeof name)
		return false;
	snprintf(name, sizeof name, "%.*s", (int)n, text);
	(void)!getpwnam_r(name, &entry, texts, sizeof texts, &pw);
	if (pw)
		*ret = pw->pw_uid;
	return pw != NULL;
}
