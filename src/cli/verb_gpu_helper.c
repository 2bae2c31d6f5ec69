/* SPDX-License-Identifier: MIT */
/* verb_gpu_helper.c - internal: the recorder starts itself with this verb to query the GPU's driver,
 * which may hang. */
#include "probe/gpu/gpu_helper.h"
#include "cli/cli.h"

static int run(struct cli *cli, int argc, char **argv)
{
	(void)cli;
	return gpu_helper_main(argc, argv);
}

const struct verb verb_gpu_helper = {
	.name = GPU_HELPER_VERB,
	.run = run,
};
