/* SPDX-License-Identifier: MIT */
/* job_type.h - what kind of job a command is, so that its runs can be compared with each other. Pure.
 *
 *	./sim --n 5                        sim
 *	python3 -u train.py --lr 0.1       train.py
 *	nice -n 5 timeout 60 ./sim         sim
 *	make -j8 test                      make-test
 *	npm run build                      npm-run-build
 *	python3 -m pytest tests            python-pytest
 *	sh -c 'a | b'                      sh:k3x9m2      (a hash of the text)
 *
 * A type has letters, digits and . _ + - : only, begins with a letter, digit, _ or +, and has at
 *most JOB_TYPE_LEN characters: it needs no quotes and can be part of a file name. */
#pragma once

#include "model/job.h"

#define JOB_TYPE_LEN 48

void job_type(int argc, char *const *argv, char ret[JOB_ID_MAX]);

/* A hash of the names of its options and the number of its other words, whatever their values:
 * equal for runs that differ in numbers and file names only. */
uint64_t job_shape(int argc, char *const *argv);
