/* SPDX-License-Identifier: MIT */
/* job_type.h - derives the type of a job from its command, so that its runs can be compared. Pure.
 *
 *	./sim --n 5                        sim
 *	python3 -u train.py --lr 0.1       train.py
 *	nice -n 5 timeout 60 ./sim         sim
 *	make -j8 test                      make-test
 *	npm run build                      npm-run-build
 *	python3 -m pytest tests            python-pytest
 *	sh -c 'a | b'                      sh:k3x9m2      (a hash of the text)
 *
 * A type consists of letters, digits and . _ + - : only, starts with a letter, digit, _ or +, and has
 * at most JOB_TYPE_LEN characters: it needs no quotes and can be part of a file name. */
#pragma once

#include "model/job.h"

#define JOB_TYPE_LEN 48

void job_type(int argc, char *const *argv, char ret[JOB_ID_MAX]);
