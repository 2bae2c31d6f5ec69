/* SPDX-License-Identifier: MIT */
/* host_files.h - parsers of the files in /proc that speak of the whole machine: text in, readings
 * out. What a kernel does not tell stays absent. False when nothing was understood. */
#pragma once

#include "base/scan.h"
#include "model/metric.h"

bool host_files_parse_meminfo(struct scan text, struct host_readings *ret);
bool host_files_parse_loadavg(struct scan text, struct host_readings *ret);
bool host_files_parse_stat(struct scan text, struct host_readings *ret);
bool host_files_parse_pressure_cpu(struct scan text, struct host_readings *ret);
bool host_files_parse_pressure_memory(struct scan text, struct host_readings *ret);
bool host_files_parse_pressure_io(struct scan text, struct host_readings *ret);
/* Whole disks only. An empty list is what a container gets to see, so it says nothing. */
bool host_files_parse_diskstats(struct scan text, struct host_readings *ret);
bool host_files_parse_net_dev(struct scan text, struct host_readings *ret);
