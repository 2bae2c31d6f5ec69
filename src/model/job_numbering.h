/* SPDX-License-Identifier: MIT */
/* job_numbering.h - the next free id of a job whose id its user has used before: ID.2, ID.3 … */
#pragma once

#include "base/err.h"
#include "model/job.h"

/* The first of ID, ID.2, ID.3 … that is free; a long id is cut to make room for the number. is_taken() returns 1, 0, or
 * -errno, which ends the search. Numbers are given without gaps, so that a few steps find it, however often the id
 * was used. */
int job_numbering_find_free(const char *id,
                            int (*is_taken)(void *self, const char *id, struct err *err),
                            void *self, char ret[static JOB_ID_MAX], struct err *err) must_check;
