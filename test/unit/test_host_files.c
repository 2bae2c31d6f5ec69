/* SPDX-License-Identifier: MIT */
#include "kernel/host_files.h"

#include "base/clock.h"
#include "check.h"

static void test_hostfile_parse_meminfo__takes_four_lines_and_ignores_the_rest(void **state)
{
	struct host_readings r = { 0 };

	(void)state;
	assert_true(host_files_parse_meminfo(scan_str("MemTotal:       24682416 kB\n"
	                                              "MemFree:        10000000 kB\n"
	                                              "MemAvailable:   20000001 kB\n"
	                                              "SwapCached:            9 kB\n"
	                                              "SwapTotal:             0 kB\n"
	                                              "SwapFree:              0 kB\n"),
	                                     &r));
	assert_int_equal(r.value[HOST_MEM_TOTAL], 24682416ull * 1024);
	assert_int_equal(r.value[HOST_MEM_AVAILABLE], 20000001ull * 1024);
	assert_true(readings_has(&r, HOST_SWAP_TOTAL) && readings_has(&r, HOST_SWAP_FREE));
	assert_int_equal(r.value[HOST_SWAP_TOTAL], 0);
	assert_false(readings_has(&r, HOST_MEM_USED));
}

static void test_hostfile_parse_meminfo__leaves_available_absent_on_kernels_without_it(void **state)
{
	struct host_readings r = { 0 };

	(void)state;
	assert_true(host_files_parse_meminfo(scan_str("MemTotal: 1024 kB\nMemFree: 512 kB\n"), &r));
	assert_false(readings_has(&r, HOST_MEM_AVAILABLE));
}

static void test_hostfile_parse_meminfo__refuses_numbers_that_overflow(void **state)
{
	struct host_readings r = { 0 };

	(void)state;
	assert_false(host_files_parse_meminfo(scan_str("MemTotal: 18446744073709551615 kB\n"), &r));
	assert_false(readings_has(&r, HOST_MEM_TOTAL));
}

static void test_hostfile_parse_loadavg__keeps_thousandths(void **state)
{
	struct host_readings r = { 0 };

	(void)state;
	assert_true(host_files_parse_loadavg(scan_str("0.52 12.43 0.20 2/152 11811\n"), &r));
	assert_int_equal(r.value[HOST_LOAD_1], 520);
	assert_int_equal(r.value[HOST_LOAD_5], 12430);
	assert_int_equal(r.value[HOST_LOAD_15], 200);
	assert_false(host_files_parse_loadavg(scan_str("0.52 12.43\n"), &r));
}

static void test_hostfile_parse_stat__sums_the_cpu_line(void **state)
{
	struct host_readings r = { 0 };

	(void)state;
	assert_true(host_files_parse_stat(
		scan_str("cpu  100 10 30 1000 50 3 7 20 90 9\n"
	                 "cpu0 100 10 30 1000 50 3 7 20 90 9\n"
	                 "intr 2847502 8 9 0\nctxt 5263123\nbtime 1667916221\n"
	                 "processes 8733\nprocs_running 3\nprocs_blocked 2\n"),
		&r));
	assert_int_equal(r.value[HOST_CPU_TOTAL],
	                 1220 * (NS_PER_S / 100)); /* guest is in user already */
	assert_int_equal(r.value[HOST_CPU_USER], 110 * (NS_PER_S / 100));
	assert_int_equal(r.value[HOST_CPU_SYSTEM], 40 * (NS_PER_S / 100));
	assert_int_equal(r.value[HOST_CPU_IDLE], 1000 * (NS_PER_S / 100));
	assert_int_equal(r.value[HOST_CPU_IOWAIT], 50 * (NS_PER_S / 100));
	assert_int_equal(r.value[HOST_CPU_STEAL], 20 * (NS_PER_S / 100));
	assert_int_equal(r.value[HOST_FORKS], 8733);
	assert_int_equal(r.value[HOST_RUNNING], 3);
	assert_int_equal(r.value[HOST_BLOCKED], 2);
}

static void test_hostfile_parse_stat__leaves_steal_absent_when_the_line_is_short(void **state)
{
	struct host_readings r = { 0 };

	(void)state;
	assert_true(host_files_parse_stat(scan_str("cpu  100 10 30 1000\n"), &r));
	assert_true(readings_has(&r, HOST_CPU_IDLE));
	assert_false(readings_has(&r, HOST_CPU_IOWAIT));
	assert_false(readings_has(&r, HOST_CPU_STEAL));
	r.present = 0;
	assert_false(host_files_parse_stat(scan_str("cpu  100 10 30\n"), &r));
	assert_int_equal(r.present, 0);
}

static void test_hostfile_parse_pressure__takes_the_totals(void **state)
{
	const char *text = "some avg10=0.12 avg60=0.05 avg300=0.01 total=81723\n"
			   "full avg10=0.00 avg60=0.00 avg300=0.00 total=70001\n";
	struct host_readings r = { 0 };

	(void)state;
	assert_true(host_files_parse_pressure_cpu(scan_str(text), &r));
	assert_true(host_files_parse_pressure_memory(scan_str(text), &r));
	assert_true(host_files_parse_pressure_io(scan_str(text), &r));
	assert_int_equal(r.value[HOST_PSI_CPU_SOME], 81723000);
	assert_int_equal(r.value[HOST_PSI_MEM_SOME], 81723000);
	assert_int_equal(r.value[HOST_PSI_MEM_FULL], 70001000);
	assert_int_equal(r.value[HOST_PSI_IO_FULL], 70001000);
	assert_false(host_files_parse_pressure_io(scan_str("some avg10=0.00\nfull total=\n"), &r));
}

static void test_hostfile_parse_diskstats__counts_whole_disks_once(void **state)
{
	struct host_readings r = { 0 };

	(void)state;
	assert_true(host_files_parse_diskstats(
		scan_str("   8       0 sda 1 0 100 0 1 0 200 0 0 0 0 0 0 0 0\n"
	                 "   8       1 sda1 1 0 90 0 1 0 190 0 0 0 0\n"
	                 "   8      16 sdaa 1 0 7 0 1 0 7 0 0 0 0\n" /* another disk, no partition
	                                                                of sda */
	                 " 259       0 nvme0n1 1 0 10 0 1 0 20 0 0 0 0\n"
	                 " 259       1 nvme0n1p12 1 0 10 0 1 0 20 0 0 0 0\n"
	                 " 259       2 nvme0c3n1 1 0 10 0 1 0 20 0 0 0 0\n" /* a path to nvme0n1 */
	                 " 202       1 xvda1 1 0 1 0 1 0 2 0 0 0 0\n" /* a disk without a parent */
	                 " 253       0 dm-0 1 0 100 0 1 0 200 0 0 0 0\n"
	                 "   9     127 md127 1 0 100 0 1 0 200 0 0 0 0\n"
	                 "   7       0 loop0 1 0 100 0 1 0 200 0 0 0 0\n"
	                 "   1       0 ram0 1 0 100 0 1 0 200 0 0 0 0\n"
	                 " 253       0 zram0 1 0 100 0 1 0 200 0 0 0 0\n"
	                 " 179       0 mmcblk0 1 0 1000 0 1 0 2000 0 0 0 0\n"
	                 " 179       1 mmcblk0p1 1 0 1000 0 1 0 2000 0 0 0 0\n"),
		&r));
	assert_int_equal(r.value[HOST_DISK_READ], (100 + 7 + 10 + 1 + 1000) * 512);
	assert_int_equal(r.value[HOST_DISK_WRITE], (200 + 7 + 20 + 2 + 2000) * 512);
}

static void test_hostfile_parse_diskstats__returns_nothing_for_an_empty_list(void **state)
{
	struct host_readings r = { 0 };

	(void)state;
	assert_false(host_files_parse_diskstats(scan_str(""), &r));
	assert_false(host_files_parse_diskstats(scan_str("   8       0 sda 1 0\n"), &r));
	assert_int_equal(r.present, 0);
}

static void test_hostfile_parse_net_dev__leaves_loopback_out(void **state)
{
	struct host_readings r = { 0 };

	(void)state;
	assert_true(host_files_parse_net_dev(
		scan_str("Inter-|   Receive                |  Transmit\n"
	                 " face |bytes    packets errs |bytes    packets errs\n"
	                 "    lo:3267      29    0    0    0     0          0   "
	                 "      0     3267      29    0\n"
	                 "  eth0: 1000       9    0    0    0     0          0  "
	                 "       0       77       9    0\n"
	                 "  lo0:1:23       9    0    0    0     0          0    "
	                 "     0       5       9    0\n"
	                 "  bad: 1 2 3\n"),
		&r));
	assert_int_equal(r.value[HOST_NET_RX], 1023);
	assert_int_equal(r.value[HOST_NET_TX], 82);
}

static void test_hostfile_parse_net_dev__knows_zero_from_nothing(void **state)
{
	struct host_readings r = { 0 };

	(void)state;
	assert_false(host_files_parse_net_dev(scan_str("Inter-|\n face |bytes\n"), &r));
	assert_int_equal(r.present, 0);
	assert_true(host_files_parse_net_dev(scan_str("    lo: 1 0 0 0 0 0 0 0 1 0 0 0 0 0 0 0\n"),
	                                     &r));
	assert_true(readings_has(&r, HOST_NET_RX));
	assert_int_equal(r.value[HOST_NET_RX], 0);
}

RUN_TESTS(TEST(test_hostfile_parse_meminfo__takes_four_lines_and_ignores_the_rest),
          TEST(test_hostfile_parse_meminfo__leaves_available_absent_on_kernels_without_it),
          TEST(test_hostfile_parse_meminfo__refuses_numbers_that_overflow),
          TEST(test_hostfile_parse_loadavg__keeps_thousandths),
          TEST(test_hostfile_parse_stat__sums_the_cpu_line),
          TEST(test_hostfile_parse_stat__leaves_steal_absent_when_the_line_is_short),
          TEST(test_hostfile_parse_pressure__takes_the_totals),
          TEST(test_hostfile_parse_diskstats__counts_whole_disks_once),
          TEST(test_hostfile_parse_diskstats__returns_nothing_for_an_empty_list),
          TEST(test_hostfile_parse_net_dev__leaves_loopback_out),
          TEST(test_hostfile_parse_net_dev__knows_zero_from_nothing))
