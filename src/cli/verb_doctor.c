/* SPDX-License-Identifier: MIT */
/* verb_doctor.c - what works here, what does not, and why. */
#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/utsname.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/io.h"
#include "base/mem.h"
#include "cli/cli.h"
#include "cli/storage_estimate.h"
#include "config/config_key.h"
#include "engine/sampler.h"
#include "base/user_names.h"
#include "probe/bpf/bpf_call.h"
#include "sqlite/db_file.h"
#include "history/sql_query.h"
#include "store/store_sizes.h"
#include "view/doctor_view.h"

#define CHECK_TIME_NS (2 * NS_PER_S)
#define GPU_TIME_NS (2500 * NS_PER_MS) /* time limit for the GPU's driver */

/* ---- probes ---------------------------------------------------------------------------------- */

#define NOBODY 65534
#define PATIENCE_MS 5000

/* The roles' names are static, so that only their order needs to cross the pipe: the parent has the
 * same table. */
static int examine_as_nobody(const struct sampler_options *options, int to_fd)
{
	const struct job_roster no_jobs = { 0 };
	struct role_health health[ROLES_MAX] = { 0 };
	struct snapshot snap = { 0 };
	struct sampler *sampler = NULL;
	struct err err;
	size_t n;

	if (setgroups(0, NULL) < 0 || setresgid(NOBODY, NOBODY, NOBODY) < 0 ||
	    setresuid(NOBODY, NOBODY, NOBODY) < 0 || prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0)
		return 1;
	if (sampler_open(options, &sampler, &err) < 0)
		return 1;
	sampler_tick(sampler, &no_jobs, &snap);
	sampler_await(sampler, clock_mono_ns() + GPU_TIME_NS);
	n = sampler_health(sampler, health);
	return io_write_all(to_fd, health, n * sizeof *health) < 0;
}

/* Until the child closes the pipe or time is up; the bytes read. */
static size_t collect(int fd, void *to, size_t cap)
{
	uint64_t end_ns = clock_mono_ns() + PATIENCE_MS * NS_PER_MS;
	size_t len = 0;

	while (len < cap) {
		uint64_t now_ns = clock_mono_ns();
		struct pollfd p = { .fd = fd, .events = POLLIN };
		ssize_t n;

		if (now_ns >= end_ns || poll(&p, 1, (int)((end_ns - now_ns) / NS_PER_MS) + 1) <= 0)
			break;
		n = read(fd, (char *)to + len, cap - len);
		if (n <= 0)
			break;
		len += (size_t)n;
	}
	return len;
}

/* The health of each role for the user nobody, in a child that drops its privileges. Returns the count,
 * or -errno if it could not be tried. */
static ssize_t try_as_nobody(const struct sampler_options *options,
                             struct role_health ret[static ROLES_MAX])
{
	cleanup(closep) int from = -1;
	int fds[2], status;
	size_t len;
	pid_t pid;

	if (pipe2(fds, O_CLOEXEC) < 0)
		return -errno;
	from = fds[0];
	pid = fork();
	if (pid == 0)
		_exit(examine_as_nobody(options, fds[1]));
	close(fds[1]);
	if (pid < 0)
		return -errno;
	len = collect(from, ret, ROLES_MAX * sizeof *ret);
	kill(pid, SIGKILL); /* it has sent all, or takes too long; it is ours and not yet reaped */
	while (waitpid(pid, &status, 0) < 0 && errno == EINTR)
		;
	return len && len % sizeof *ret == 0 ? (ssize_t)(len / sizeof *ret) : -EIO;
}

static void add_role(struct doctor *d, const struct role_health *h, bool is_plain)
{
	static const enum doctor_state states[] = { [PROBE_WORKS] = DOCTOR_WORKS,
		                                    [PROBE_DEGRADED] = DOCTOR_DEGRADED,
		                                    [PROBE_ABSENT] = DOCTOR_ABSENT };
	struct doctor_line *line = is_plain ? vec_push(&d->plain, ROLES_MAX)
	                                    : vec_push(&d->roles, ROLES_MAX);

	if (!line)
		return;
	snprintf(line->name, sizeof line->name, "%s", h->role);
	snprintf(line->source, sizeof line->source, "%s", h->health.source);
	snprintf(line->note, sizeof line->note, "%s", h->health.note);
	line->state = states[h->health.state];
	line->lost = h->health.lost;
}

static bool is_same(const struct role_health *a, const struct role_health *b)
{
	return a->tier == b->tier && a->health.state == b->health.state &&
	       strcmp(a->health.source, b->health.source) == 0 &&
	       strcmp(a->health.note, b->health.note) == 0;
}

static int examine_probes(struct doctor *d, const struct sampler_options *options, struct err *err)
{
	const struct job_roster no_jobs = { 0 };
	cleanup(sampler_closep) struct sampler *sampler = NULL;
	struct role_health mine[ROLES_MAX] = { 0 }, plain[ROLES_MAX] = { 0 };
	struct snapshot snap = { 0 };
	ssize_t n_plain = -1;
	size_t n;

	/* Before ours are open: two programs of one kind may be more than a kernel gives. */
	if (d->is_root)
		n_plain = try_as_nobody(options, plain);
	if (sampler_open(options, &sampler, err) < 0)
		return -err->code;
	sampler_tick(sampler, &no_jobs, &snap);
	sampler_await(sampler, clock_mono_ns() + GPU_TIME_NS);
	snapshot_done(&snap);
	n = sampler_health(sampler, mine);
	d->plain_tried = n_plain == (ssize_t)n;
	for (size_t i = 0; i < n; i++) {
		add_role(d, &mine[i], false);
		if (d->plain_tried && !is_same(&mine[i], &plain[i]))
			add_role(d, &plain[i], true);
	}
	return 0;
}

/* ---- store and configuration ----------------------------------------------------------------- */

/* Shortens the path to the nearest directory above it that exists; "" if none does. */
static void cut_to_existing(char *path, struct statvfs *ret)
{
	while (statvfs(path, ret) < 0) {
		char *slash = strrchr(path, '/');

		if (!slash || path[1] == '\0') {
			*path = '\0';
			return;
		}
		slash[slash == path] = '\0';
	}
}

/* `existing`: of the directories above the store, the nearest. */
static void note_refusal(struct doctor *d, const char *existing, int why)
{
	const char *slash = strrchr(d->store_path, '/');
	size_t len = slash ? (size_t)(slash - d->store_path) : 0;

	d->store_state = DOCTOR_DEGRADED;
	if (strlen(existing) < len)
		snprintf(d->store_note, sizeof d->store_note,
		         "'%.*s' cannot be created in '%.80s': %s", (int)MIN(len, (size_t)80),
		         d->store_path, existing, strerror(why));
	else
		snprintf(d->store_note, sizeof d->store_note, "'%.160s' cannot be written: %s",
		         existing, strerror(why));
}

/* The file system that holds the store, or will. */
static void examine_disk(struct doctor *d)
{
	cleanup(freep) char *path = xstrdup(d->store_path);
	struct statvfs fs;

	cut_to_existing(path, &fs);
	if (!*path)
		return;
	d->has_disk_free = true;
	d->disk_free_bytes = (uint64_t)fs.f_bavail * fs.f_frsize;
	if (!db_file_has_room(path, 0)) {
		d->store_state = DOCTOR_DEGRADED;
		snprintf(d->store_note, sizeof d->store_note,
		         "the disk is almost full: nothing more is stored until there is room");
	}
	if (faccessat(AT_FDCWD, path, W_OK, AT_EACCESS) < 0 && !d->store_note[0])
		note_refusal(d, path, errno);
}

/* The database with its WAL, the JSONL files, and what becomes of them. */
static void measure_store(struct doctor *d, const struct config *config, const char *jsonl)
{
	struct history_storage estimate = storage_estimate(d->store_path, config);
	struct store_sizes sizes = store_sizes_measure(d->store_path, jsonl);

	d->storage = (struct storage_facts){
		.store_bytes = sizes.store,
		.wal_bytes = sizes.wal,
		.jsonl_bytes = sizes.jsonl,
		.growth_bytes_per_day = estimate.growth_bytes_per_day,
		.freed_bytes_per_day = estimate.freed_bytes_per_day,
	};
}

static void examine_store(struct doctor *d)
{
	struct err err = { 0 };
	int r = sql_query_check(d->store_path, CHECK_TIME_NS, &err);

	if (r == -ENOENT) {
		d->store_state = DOCTOR_ABSENT;
	} else if (r == -ETIME) {
		d->store_state = DOCTOR_WORKS;
		snprintf(d->store_note, sizeof d->store_note,
		         "no damage found, and too large to be checked completely");
	} else if (r < 0) {
		d->store_state = DOCTOR_DEGRADED;
		snprintf(d->store_note, sizeof d->store_note, "%.180s%s", err.msg,
		         r == -EUCLEAN ? "; the next recorder sets it aside and begins a new one"
		                       : "");
	}
	examine_disk(d);
}

static void add_files(struct doctor *d, const struct config_files *files)
{
	vec_each(&files->list, f) {
		struct doctor_file *file = vec_push(&d->files, CONFIG_FILES_MAX);

		if (file)
			*file = (struct doctor_file){ f->path, f->skipped };
	}
}

static void add_problems(struct doctor *d, const struct config_problems *problems)
{
	vec_each(&problems->list, p) {
		const char **text = vec_push(&d->problems, CONFIG_PROBLEMS_MAX);

		if (text)
			*text = p->text;
	}
	d->problems_dropped = problems->dropped;
}

/* Whoever sets such a key expects something that does not happen. */
static void add_unused(struct doctor *d, const struct config *config)
{
	struct doctor_key *slot;
	struct err why_not;

	if (!config->profiler.strace_enabled || bpf_check_rights(&why_not) == 0)
		return;
	slot = vec_push(&d->unused, CONFIG_KEYS_MAX);
	if (slot)
		*slot = (struct doctor_key){
			"profiler", "strace_enabled",
			"It counts by BPF, which needs CAP_BPF and CAP_PERFMON. "
			"proctor run --syscalls counts by strace."
		};
}

static int show(const struct cli *cli, const struct doctor *d)
{
	struct cli_page page;

	cli_page_begin(&page, cli);
	if (cli->json)
		doctor_view_json_put(d, &page.json);
	else
		doctor_view_put(d, &page.canvas);
	return cli_page_end(&page);
}

/* Whether recording would work: processes can be seen, the store is not broken, and the
 * configuration is not refused. */
static bool is_well(const struct doctor *d)
{
	return d->roles.len && d->roles.at[0].state != DOCTOR_ABSENT &&
	       d->store_state != DOCTOR_DEGRADED && !d->problems.len;
}

static int diagnose(const struct cli *cli, bool no_bpf, const struct config *config,
                    const struct config_files *files, const struct config_problems *problems)
{
	struct state_dir state_dir;
	char uid[16];
	cleanup(store_place_done) struct store_place place = { 0 };
	cleanup(freep) char *jsonl = NULL;
	struct doctor d = { .version = PROCTOR_VERSION, .is_root = geteuid() == 0 };
	struct sampler_options options = { .no_bpf = no_bpf,
		                           .traces_syscalls = true,
		                           .strace_dirs = getenv("PATH") };
	cleanup(buf_done) struct buf refused = { 0 };
	struct user_names users = { 0 };
	struct utsname uts = { 0 };
	struct err err;
	int status = cli_find_state_dir(cli, &state_dir);

	if (status != CLI_OK)
		return status;
	uname(&uts);
	snprintf(uid, sizeof uid, "uid %u", geteuid());
	cli_store_place(config, state_dir.path, &place);
	d.fallback_reason = state_dir.is_fallback ? state_dir.why.msg : NULL;
	if (cli_state_dir_is_nowhere(cli, &refused) && refused.len)
		d.refused = refused.at;
	d.store_path = place.path;
	d.store_is_per_host = place.is_per_host;
	d.file_system = place.file_system;
	d.kernel = uts.release;
	d.user = user_names_name(&users, geteuid()) ? user_names_name(&users, geteuid()) : uid;
	add_files(&d, files);
	add_problems(&d, problems);
	add_unused(&d, config);
	examine_store(&d);
	jsonl = cli_jsonl_path(config, state_dir.path, &place);
	measure_store(&d, config, jsonl);
	cli_sampler_options(config, &options);
	status = examine_probes(&d, &options, &err) < 0 ? cli_failed(&err) : show(cli, &d);
	if (status == CLI_OK && !is_well(&d))
		status = CLI_FAILED;
	doctor_done(&d);
	user_names_done(&users);
	return status;
}

static int run(struct cli *cli, int argc, char **argv)
{
	bool no_bpf = false;
	const struct opt opts[] = {
		{ "no-bpf", 0, OPT_FLAG, &no_bpf, NULL, "do not use BPF" },
		CLI_COMMON_OPTS(cli),
	};
	cleanup(config_files_done) struct config_files files = { 0 };
	cleanup(ini_problems_done) struct config_problems problems = { 0 };
	struct config config;
	int words, status;

	if (!cli_parse(cli, opts, argc, argv, &words))
		return cli->status;
	if (words)
		return cli_usage(cli, "takes options only");
	status = cli_config_to_show(cli, &config, &files, &problems);
	return status == CLI_OK ? diagnose(cli, no_bpf, &config, &files, &problems) : status;
}

const struct verb verb_doctor = {
	.name = "doctor",
	.summary = "what works here, what does not, and why",
	.usage = "[--no-bpf] [--json]",
	.about =
		"Tries every source of data, checks the store and the configuration, and reports what is lost where\n"
		"something is missing. As root it also tries what an unprivileged user would have. The exit status\n"
		"is 1 when recording would fail: processes cannot be seen, the store is not usable, or there is an\n"
		"error in a configuration file.",
	.example = "proctor doctor",
	.run = run,
};
