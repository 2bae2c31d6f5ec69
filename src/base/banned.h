/* SPDX-License-Identifier: MIT */
/* banned.h - functions that this project does not use; using one is a compile error. The build
 * includes it before every source file (-include), after the headers that declare them. */
#pragma once

#include <alloca.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

/* Some libraries and compilers define these as macros, and macros cannot be poisoned. */
#undef stpcpy
#undef sprintf
#undef vsprintf
#undef gets
#undef alloca

#pragma GCC poison strcpy strcat strncpy strncat stpcpy sprintf vsprintf gets
#pragma GCC poison sscanf fscanf scanf vsscanf
#pragma GCC poison atoi atol atoll atof strtok strtok_r
#pragma GCC poison system popen tmpnam tempnam mktemp
#pragma GCC poison localtime gmtime ctime asctime
#pragma GCC poison alloca
