/* SPDX-License-Identifier: MIT */
#include "model/past_run.h"

bool past_run_has(const struct past_run *run, enum run_number number)
{
	return run->has >> number & 1;
}

const char *past_run_basis_name(enum run_basis basis)
{
	return basis == RUN_BASIS_JOB ? "job" : "process";
}
