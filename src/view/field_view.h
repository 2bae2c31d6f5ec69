/* SPDX-License-Identifier: MIT */
/* field_view.h - what every key means, as `proctor help fields` lists it. */
#pragma once

#include "view/canvas.h"

void field_view(struct canvas *to);
