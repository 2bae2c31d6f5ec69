/* SPDX-License-Identifier: MIT */
/* amdgpu.h - the text files of the driver amdgpu. */
#pragma once

#include "base/scan.h"

/* The clock in use, in MHz, from pp_dpm_sclk or pp_dpm_mclk. False: none is marked. */
bool amdgpu_parse_clock(struct scan text, uint64_t *ret);
