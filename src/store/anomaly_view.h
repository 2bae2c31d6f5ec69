/* SPDX-License-Identifier: MIT */
/* anomaly_view.h - the view of anomalies. For sql_views.c only. */
#pragma once

#include "base/buf.h"

void anomaly_view_put(struct buf *sql);
