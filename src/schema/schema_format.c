/* SPDX-License-Identifier: MIT */
#include "schema/schema_format.h"

const char *const schema_pressure_names[] = { "none", "low", "medium", "high", "critical" };
static_assert(ARRAY_LEN(schema_pressure_names) == SCHEMA_PRESSURES, "one name a level");
