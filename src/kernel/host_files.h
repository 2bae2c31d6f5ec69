/* SPDX-License-Identifier: MIT */
/* host_files.h - parsers of the files in /proc about the whole machine: text in, readings out.
 * What a kernel does not report stays absent. False when nothing was understood. */
#pragma once

#include "base/scan.h"
#include "model/metric.h"

bool host_files_parse_meminfo(struct scan text, struct host_readings *ret);
bool host_files_parse_loadavg(struct scan text, struct host_readings *ret);
bool host_files_parse_stat(struct scan text, struct host_readings *ret);
bool host_files_parse_pressure_cpu(struct scan text, struct host_readings *ret);
bool host_files_parse_pressure_memory(struct scan text, struct host_readings *ret);
bool host_files_parse_pressure_io(struct scan text, struct host_readings *ret);
/* Whole disks only. False for an empty list: a container may see none. */
bool host_files_parse_diskstats(struct scan text, struct host_readings *ret);
bool host_files_parse_net_dev(struct scan text, struct host_readings *ret);
