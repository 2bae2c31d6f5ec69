/* SPDX-License-Identifier: MIT */
/* view_anomaly.h - the view of anomalies. For view.c only. */
#pragma once

#include "base/buf.h"

void view_put_anomalies(struct buf *sql);
