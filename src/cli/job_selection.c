/* SPDX-License-Identifier: MIT */
#include "cli/job_selection.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <pwd.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/io.h"
#include "base/log.h"
#include "base/mem.h"
#include "config/state_dir.h"
#include "kernel/kernel_file.h"
#include "kernel/user_namespace.h"
#include "view/format.h"
#include "view/jobs_view.h"

/* Those of root, of the user who called sudo, and our own. */
static void offer(const char *dir, const char *missing, bool *ret_found)
{
	cleanup(freep) char *path = xasprintf("%s/proctor.db", dir);

	if (strcmp(path, missing) == 0 || access(path, R_OK) < 0)
		return;
	log_info("there is a store in %s: --state-dir %s", dir, dir);
	*ret_found = true;
}

static void offer_home(const struct passwd *pw, const char *missing, bool *ret_found)
{
	const struct state_dir_env env = { .home = pw ? pw->pw_dir : NULL };
	char dir[CONFIG_PATH_MAX];
	struct err err;

	if (pw && state_dir_resolve(&env, dir, &err) == 0)
		offer(dir, missing, ret_found);
}

/* On a network file system those of the other hosts: DIR/hosts/HOST. */
static void offer_hosts(const char *missing, bool *ret_found)
{
	cleanup(freep) char *hosts = xstrdup(missing);
	struct dirent **names = NULL;
	int n = 0;

	for (int up = 0; up < 2 && strrchr(hosts, '/'); up++)
		*strrchr(hosts, '/') = '\0';
	if (strrchr(hosts, '/') && strcmp(strrchr(hosts, '/'), "/hosts") == 0)
		n = scandir(hosts, &names, NULL, alphasort);
	for (int i = 0; i < n; i++) {
		cleanup(freep) char *dir = xasprintf("%s/%s", hosts, names[i]->d_name);

		offer(dir, missing, ret_found);
		free(names[i]);
	}
	free(names);
}

static bool offer_others(const char *missing)
{
	const char *sudo_user = getenv("SUDO_USER");
	bool found = false;

	offer_hosts(missing, &found);
	offer("/var/lib/proctor", missing, &found);
	offer_home(getpwuid(getuid()), missing, &found);
	if (sudo_user)
		offer_home(getpwnam(sudo_user), missing, &found);
	return found;
}

int job_selection_no_store(const char *path)
{
	log_error("no store at '%s'", path);
	if (!offer_others(path))
		log_info("nothing is recorded yet; start with: proctor run -- COMMAND");
	return CLI_NOT_FOUND;
}

static int no_job(const char *path, const char *name)
{
	if (!name || strcmp(name, "last") == 0)
		log_error("no job in '%s' yet; record one with: proctor run -- COMMAND", path);
	else
		log_error("no job '%s' in '%s'; see: proctor ls", name, path);
	offer_others(path);
	return CLI_NOT_FOUND;
}

int job_selection_open(const struct cli *cli, struct job_selection *ret)
{
	struct err err = { 0 };
	int status = cli_store_path(cli, &ret->path), r;

	if (status != CLI_OK)
		return status;
	ret->cli = cli;
	ret->asks_daemon = !cli->state_dir;
	r = history_open(ret->path, &ret->reader, &err);
	return r < 0 && r != -ENOENT ? cli_failed(&err) : CLI_OK;
}

void job_selection_close(struct job_selection *r)
{
	daemon_jobs_close(&r->others);
	vec_done(&r->places);
	history_close(r->reader);
	free(r->path);
}

static bool has_job(struct job_selection *r, struct job_key key, struct job *ret)
{
	struct err err;

	return r->reader && history_get_job(r->reader, key, ret, &err) == 0;
}

/* The daemon stores what `run` records, too, and has to give it another id if it has one of that id. */
static bool has_original(struct job_selection *r, const struct job *job)
{
	const char *id = *job->recorded_as ? job->recorded_as : job->id;
	struct job ours;

	return has_job(r, (struct job_key){ job->uid, id }, &ours) &&
	       job_is_copy(job, job_key_of(&ours), ours.recording);
}

void job_selection_ask(struct job_selection *r, const struct job_filter *filter, size_t count)
{
	vec_reset(&r->places);
	if (!r->asks_daemon)
		return;
	daemon_jobs_open(&r->others, r->socket, r->path, filter, count);
	for (size_t i = 0; i < daemon_jobs_count(&r->others); i++) {
		struct job job = daemon_jobs_at(&r->others, i);
		size_t *place = has_original(r, &job) ? NULL
		                                      : vec_push(&r->places, DAEMON_JOBS_MAX);

		if (place)
			*place = i;
	}
}

/* ---- the job that was meant ------------------------------------------------------------------ */

#define OUR_STORE (-1) /* as the source of an offer; else its place in the daemon's answer */

/* The offers of both stores, newest first. */
struct feed {
	struct job_search search;
	const struct job_selection *from;
	size_t next; /* of the daemon's */
};

/* Offers the daemon's jobs from the next one on, as far as they did not start before that time. */
static void offer_newer(struct feed *f, uint64_t than_ns)
{
	for (; f->next < f->from->places.len; f->next++) {
		size_t place = f->from->places.at[f->next];
		struct job job = daemon_jobs_at(&f->from->others, place);
		struct job_offer offer = { .uid = job.uid,
			                   .started_ns = job.started_ns,
			                   .source = (int)place };

		if (job.started_ns < than_ns)
			return;
		memcpy(offer.id, job.id, sizeof offer.id);
		memcpy(offer.type, job.type, sizeof offer.type);
		job_search_offer(&f->search, &offer);
	}
}

static int offer_ours(void *self, const struct job_offer *offer)
{
	struct job_offer ours = *offer;
	struct feed *f = self;

	ours.source = OUR_STORE;
	offer_newer(f, offer->started_ns);
	job_search_offer(&f->search, &ours);
	return 0;
}

/* Offers all jobs that may be meant. */
static int offer_all(struct job_selection *r, struct feed *f, struct err *err)
{
	const struct scan text = job_search_part(&f->search);
	cleanup(freep) char *part = xstrndup(text.p, scan_left(&text));
	struct job_search_last last = { .count = INT32_MAX };
	struct job_filter filter = { 0 };
	int n = 0;

	if (job_search_is_last(&f->search, &last))
		filter = (struct job_filter){ .outermost = true,
			                      .of_one_user = last.of_one_user,
			                      .uid = last.uid };
	else
		filter.part = part;
	/* The daemon lists the caller's own jobs, or root those of everybody. */
	job_selection_ask(r, &filter, last.of_one_user ? DAEMON_JOBS_MAX : last.count);
	if (r->reader)
		n = history_offer_jobs(r->reader, &filter, last.count, offer_ours, f, err);
	offer_newer(f, 0);
	return MIN(n, 0);
}

static bool load(struct job_selection *r, const struct job_offer *offer, struct job *ret)
{
	if (offer->source == OUR_STORE)
		return has_job(r, (struct job_key){ offer->uid, offer->id }, ret);
	*ret = daemon_jobs_at(&r->others, (size_t)offer->source);
	return true;
}

/* On stderr: they are no result. */
static int list_several(struct job_selection *r, const char *name,
                        const struct job_matches *several)
{
	const struct style style = cli_style_of(r->cli, STDERR_FILENO);
	cleanup(user_names_done) struct user_names users = { 0 };
	struct jobs_view view = { .now_ns = clock_wall_ns(),
		                  .unicode = style.unicode,
		                  .uid = user_namespace_own_uid(),
		                  .users = &users };
	cleanup(buf_done) struct buf out = { 0 };
	uint64_t shown = MIN(several->n, (uint64_t)JOB_SEARCH_SHOWN);
	struct job job;

	log_error("'%s' could be any of %s jobs; write more of the id, USER:JOB or TYPE~N:", name,
	          format_count(several->n).at);
	for (uint64_t i = 0; i < shown; i++)
		if (load(r, &several->shown[i], &job))
			jobs_view_add_brief(&view, &job);
	table_print(&view.table, CANVAS(&style, &out));
	if (several->n > shown)
		buf_printf(&out, "  and %s more\n", format_count(several->n - shown).at);
	(void)!io_write_all(STDERR_FILENO, out.at, out.len);
	table_done(&view.table);
	return CLI_FAILED;
}

static int find(struct job_selection *r, struct feed *f, const char *name, struct job *ret,
                bool *ret_is_daemons)
{
	const struct job_matches *several = NULL;
	const struct job_offer *meant = NULL;
	struct err err = { 0 };

	if (job_search_init(&f->search, name, user_namespace_own_uid())) {
		if (offer_all(r, f, &err) < 0)
			return cli_failed(&err);
		meant = job_search_end(&f->search, &several);
	}
	if (several)
		return list_several(r, name, several);
	if (meant && load(r, meant, ret)) {
		*ret_is_daemons = meant->source != OUR_STORE;
		return CLI_OK;
	}
	return r->reader ? no_job(r->path, name) : job_selection_no_store(r->path);
}

int job_selection_find(struct job_selection *r, const char *name, struct job *ret,
                       bool *ret_is_daemons)
{
	struct feed *f;
	int status;

	name = name ? name : "last";
	*ret_is_daemons = false;
	/* An id in full is the most frequent case, and needs no search. */
	if (has_job(r, (struct job_key){ user_namespace_own_uid(), name }, ret))
		return CLI_OK;
	f = xcalloc(1, sizeof *f);
	f->from = r;
	status = find(r, f, name, ret, ret_is_daemons);
	free(f);
	return status;
}

int job_selection_find_own(struct job_selection *r, const char *name, struct job *ret)
{
	bool is_daemons;
	int status = job_selection_find(r, name, ret, &is_daemons);

	if (status != CLI_OK || !is_daemons)
		return status;
	if (geteuid() == 0)
		log_error("job '%s' is only in the daemon's store, which `proctor status` shows: "
		          "name its directory with --state-dir",
		          ret->id);
	else
		log_error("job '%s' is only in the daemon's store, of which you can read "
		          "reports: proctor report %s",
		          ret->id, ret->id);
	return CLI_FAILED;
}

void job_selection_now(struct report *ret)
{
	cleanup(closep) int root_fd = open("/", O_PATH | O_DIRECTORY | O_CLOEXEC);
	char boot_id[sizeof ret->boot_id] = "";

	if (root_fd >= 0)
		(void)kernel_file_boot_id(root_fd, boot_id);
	report_set_now(ret, clock_wall_ns(), clock_boot_ns(), boot_id);
}

int job_selection_gather(struct job_selection *r, struct report *ret)
{
	struct err err = { 0 };

	job_selection_now(ret);
	ret->reader_uid = geteuid();
	return report_gather(ret, r->reader, &err) < 0 ? cli_failed(&err) : CLI_OK;
}

int job_selection_report(struct job_selection *r, const char *name, struct report *ret)
{
	bool is_daemons;
	int status = job_selection_find(r, name, &ret->job, &is_daemons);

	if (status == CLI_OK && !is_daemons)
		return job_selection_gather(r, ret);
	job_selection_now(ret);
	ret->next = next_request_of(&ret->job, &(struct type_estimate){ 0 });
	if (status == CLI_OK)
		log_info("job '%s' is only in the daemon's store: only its totals are shown",
		         ret->job.id);
	return status;
}
