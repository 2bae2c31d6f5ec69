/* SPDX-License-Identifier: MIT */
#include "config/store_place.h"

#include <stdlib.h>

#include "check.h"

static void test_store_place__knows_the_file_systems_of_several_hosts(void **state)
{
	assert_string_equal(store_place_network_name(0x6969), "NFS");
	assert_string_equal(store_place_network_name(0x0bd00bd0), "Lustre");
	assert_string_equal(store_place_network_name(0xff534d42), "CIFS"); /* negative as a long */
	assert_string_equal(store_place_network_name((uint32_t)(long)(int)0xff534d42), "CIFS");
	assert_string_equal(store_place_network_name(0x65735546), "FUSE");
}

static void test_store_place__takes_others_for_local(void **state)
{
	static const uint32_t local[] = {
		0xef53, 0x58465342, 0x9123683e, 0x01021994, 0x794c7630, 0x2fc12fc1, 0
	}; /* ext4 xfs btrfs tmpfs overlay zfs */

	for (size_t i = 0; i < ARRAY_LEN(local); i++)
		assert_null(store_place_network_name(local[i]));
}

static void assert_of_host(const char *path, const char *host, const char *expected)
{
	char *got = store_place_of_host(path, host);

	assert_string_equal(got, expected);
	free(got);
}

static void test_store_place__of_a_host_is_beside_the_common_one(void **state)
{
	assert_of_host("/home/ana/proctor.db", "n7", "/home/ana/hosts/n7/proctor.db");
	assert_of_host("/proctor.db", "n7", "/hosts/n7/proctor.db");
	assert_of_host("/home/ana/proctor.db", "", "/home/ana/proctor.db");
	/* It was named as that of another host. */
	assert_of_host("/home/ana/hosts/n8/proctor.db", "n7", "/home/ana/hosts/n8/proctor.db");
}

static void test_store_place__follows_the_configuration(void **state)
{
	struct store_place p;

	store_place_find("/nowhere/x/proctor.db", SWITCH_OFF, &p);
	assert_false(p.is_per_host);
	assert_string_equal(p.path, "/nowhere/x/proctor.db");
	store_place_done(&p);
	store_place_find("/nowhere/x/proctor.db", SWITCH_ON, &p);
	assert_true(p.is_per_host);
	assert_non_null(strstr(p.path, "/nowhere/x/hosts/"));
	store_place_done(&p);
}

RUN_TESTS(TEST(test_store_place__knows_the_file_systems_of_several_hosts),
          TEST(test_store_place__takes_others_for_local),
          TEST(test_store_place__of_a_host_is_beside_the_common_one),
          TEST(test_store_place__follows_the_configuration))
