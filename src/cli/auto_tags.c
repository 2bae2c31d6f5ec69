/* SPDX-License-Identifier: MIT */
#include "cli/auto_tags.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "job/git_commit.h"
#include "job/job_ident.h"

#define COMMIT_PATIENCE_NS (50 * NS_PER_MS)
#define VALUE_MAX 128 /* bytes; longer ones are no ids */

/* A variable counts only if that of its system (`where`) is set: CI_JOB_ID alone may be anything's. The
 * first ones matter most, where there is no room for all. */
static const struct {
	const char *where, *variable, *tag;
} sources[] = {
	{ "SLURM_JOB_ID", "SLURM_JOB_ID", "slurm_job_id" },
	{ "SLURM_JOB_ID", "SLURM_ARRAY_JOB_ID", "slurm_array_job_id" },
	{ "SLURM_JOB_ID", "SLURM_ARRAY_TASK_ID", "slurm_array_task_id" },
	{ "SLURM_JOB_ID", "SLURM_STEP_ID", "slurm_step_id" },
	{ "SLURM_JOB_ID", "SLURM_PROCID", "slurm_procid" },
	{ "SLURM_JOB_ID", "SLURM_JOB_NAME", "slurm_job_name" },
	{ "SLURM_JOB_ID", "SLURM_CLUSTER_NAME", "slurm_cluster" },
	{ "GITHUB_ACTIONS", "GITHUB_RUN_ID", "github_run_id" },
	{ "GITHUB_ACTIONS", "GITHUB_RUN_ATTEMPT", "github_run_attempt" },
	{ "GITHUB_ACTIONS", "GITHUB_JOB", "github_job" },
	{ "GITHUB_ACTIONS", "GITHUB_REPOSITORY", "github_repository" },
	{ "GITHUB_ACTIONS", "GITHUB_REF", "github_ref" },
	{ "GITHUB_ACTIONS", "GITHUB_SHA", "github_sha" },
	{ "GITLAB_CI", "CI_JOB_ID", "gitlab_job_id" },
	{ "GITLAB_CI", "CI_PIPELINE_ID", "gitlab_pipeline_id" },
	{ "GITLAB_CI", "CI_JOB_NAME", "gitlab_job" },
	{ "GITLAB_CI", "CI_PROJECT_PATH", "gitlab_project" },
	{ "GITLAB_CI", "CI_COMMIT_REF_NAME", "gitlab_ref" },
	{ "GITLAB_CI", "CI_COMMIT_SHA", "gitlab_sha" },
};

#define TEXT_MAX (JOB_TAG_KEY_MAX + 1 + VALUE_MAX + 1)

struct additions {
	const char *texts[OPT_LIST_MAX + ARRAY_LEN(sources) + 1]; /* the user's, then ours */
	size_t given, len;
	char own[ARRAY_LEN(sources) + 1][TEXT_MAX];
	char *tags;
};

static bool is_given(const struct additions *a, const char *tag)
{
	size_t n = strlen(tag);

	for (size_t i = 0; i < a->given; i++)
		if (strncmp(a->texts[i], tag, n) == 0 && a->texts[i][n] == '=')
			return true;
	return false;
}

/* One that does not fit leaves the others as they are. */
static void add(struct additions *a, const char *tag, const char *value)
{
	char *text = a->own[a->len - a->given];
	struct err ignored;

	if (!value || !*value || strlen(value) > VALUE_MAX || is_given(a, tag))
		return;
	snprintf(text, TEXT_MAX, "%s=%s", tag, value);
	a->texts[a->len] = text;
	if (job_ident_tags_json(a->texts, a->len + 1, a->tags, &ignored) == 0)
		a->len++;
}

void auto_tags_add(const struct opt_list *given, char tags[JOB_TAGS_MAX])
{
	struct additions a = { .given = given->len, .len = given->len, .tags = tags };
	char commit[GIT_COMMIT_LEN];

	memcpy(a.texts, given->at, given->len * sizeof *given->at);
	for (size_t i = 0; i < ARRAY_LEN(sources); i++)
		if (getenv(sources[i].where))
			add(&a, sources[i].tag, getenv(sources[i].variable));
	/* The longest comes last: a list of jobs has room for the first ones only. */
	if (git_commit_find(COMMIT_PATIENCE_NS, commit))
		add(&a, "git_commit", commit);
}
