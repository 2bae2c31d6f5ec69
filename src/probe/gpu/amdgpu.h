/* SPDX-License-Identifier: MIT */
/* amdgpu.h - the text files of the driver amdgpu. */
#pragma once

#include "base/scan.h"

/* Of pp_dpm_sclk and pp_dpm_mclk: the clock in use, in MHz. False: none is marked. */
bool amdgpu_parse_clock(struct scan text, uint64_t *ret);
