/* SPDX-License-Identifier: MIT */
#include "config/store_place.h"

#include <stdlib.h>
#include <string.h>
#include <sys/vfs.h>
#include <unistd.h>

#include "base/mem.h"

#define HOSTS "hosts"

/* From linux/magic.h, and of those that the kernel does not contain, from their own sources. */
static const struct {
	uint32_t f_type;
	const char *name;
} networks[] = {
	{ 0x6969, "NFS" },          { 0x0bd00bd0, "Lustre" }, { 0x47504653, "GPFS" },
	{ 0x19830326, "BeeGFS" },   { 0x00c36400, "CephFS" }, { 0xff534d42, "CIFS" },
	{ 0xfe534d42, "SMB" },      { 0x517b, "SMB" },        { 0x5346414f, "AFS" },
	{ 0x6b414653, "AFS" },      { 0x01021997, "9P" },     { 0x73757245, "Coda" },
	{ 0x20030528, "OrangeFS" }, { 0xaad7aaea, "PanFS" },  { 0x01161970, "GFS2" },
	{ 0x7461636f, "OCFS2" },    { 0x65735546, "FUSE" },
};

const char *store_place_network_name(uint32_t f_type)
{
	for (size_t i = 0; i < ARRAY_LEN(networks); i++)
		if (networks[i].f_type == f_type)
			return networks[i].name;
	return NULL;
}

/* The network file system of the nearest directory above that exists; NULL: it is local. */
static const char *network_of(const char *path)
{
	cleanup(freep) char *dir = xstrdup(path);
	struct statfs fs;

	while (statfs(dir, &fs) < 0) {
		char *slash = strrchr(dir, '/');

		if (!slash || slash == dir)
			return NULL;
		*slash = '\0';
	}
	return store_place_network_name((uint32_t)fs.f_type);
}

/* Whether it is DIR/hosts/HOST/NAME already: so the database of another host can be named. */
static bool is_of_a_host(const char *path)
{
	cleanup(freep) char *dir = xstrdup(path);

	for (int up = 0; up < 2; up++) {
		char *slash = strrchr(dir, '/');

		if (!slash)
			return false;
		*slash = '\0';
	}
	return strrchr(dir, '/') && strcmp(strrchr(dir, '/') + 1, HOSTS) == 0;
}

char *store_place_of_host(const char *path, const char *host)
{
	const char *slash = strrchr(path, '/');

	if (!slash || !*host || is_of_a_host(path))
		return xstrdup(path);
	return xasprintf("%.*s/" HOSTS "/%s%s", (int)(slash - path), path, host, slash);
}

void store_place_find(const char *path, enum config_switch per_host, struct store_place *ret)
{
	char host[256] = "";

	*ret = (struct store_place){ .file_system = network_of(path) };
	ret->is_per_host = per_host == SWITCH_ON || (per_host == SWITCH_AUTO && ret->file_system);
	gethostname(host, sizeof host - 1);
	ret->path = ret->is_per_host ? store_place_of_host(path, host) : xstrdup(path);
}

void store_place_done(struct store_place *p)
{
	free(p->path);
	p->path = NULL;
}
