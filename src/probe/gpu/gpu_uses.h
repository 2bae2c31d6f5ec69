/* SPDX-License-Identifier: MIT */
/* gpu_uses.h - what a process does on a GPU, added to the sample and to the process in it. */
#pragma once

#include "model/sample.h"

void gpu_uses_add(struct sample *out, const struct gpu_use *use);
