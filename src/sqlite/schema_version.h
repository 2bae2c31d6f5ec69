/* SPDX-License-Identifier: MIT */
/* schema_version.h - by what a file is known to be ours, and which version of its tables it has. */
#pragma once

#define SCHEMA_APPLICATION_ID 0x70726374 /* "prct" */
#define SCHEMA_VERSION 10
