/* SPDX-License-Identifier: MIT */
#include "job/job_type.h"

#include <stdio.h>
#include <string.h>

#include "base/hash.h"
#include "base/buf.h"
#include "base/scan.h"

#define WRAPPERS_MAX 16 /* nice timeout env … one inside the other */

/* ---- programs that do not define the job themselves ------------------------------------------ */

enum tool_kind {
	WRAPPER,     /* runs the rest of its arguments: env, nice */
	INTERPRETER, /* runs a script, or a text: python3 */
	MULTIPLEXER, /* its first word is a subcommand: make, git */
};

/* Lists are words separated by blanks; NULL: empty. */
struct tool {
	const char *names;
	enum tool_kind kind;
	const char *valued; /* options whose value is the next argument */
	const char *text;   /* … whose next argument is the program itself */
	const char *script; /* … whose next argument names the script */
	const char *module; /* … whose next argument names a module that is run */
	const char *verbs;  /* multiplexer: options that are subcommands */
	const char *deeper; /* multiplexer: subcommands that need the second word, too */
	const char *only;   /* wrapper: only with this first argument, as in "uv run" */
	unsigned operands;  /* wrapper: words of its own before the command */
	bool has_long_dash; /* -name is one option, not four */
	bool word_is_text;  /* interpreter: its first word is the program itself */
};

#define W WRAPPER
#define I INTERPRETER
#define M MULTIPLEXER

/* In the order of likelihood only; names are unique but for wrappers with `only`, which come before
 * the tool without. */
/* clang-format off */
static const struct tool tools[] = {
	{ "sh bash dash zsh ksh ash fish mksh", I, .valued = "-o -O +o +O --rcfile --init-file", .text = "-c --command" },
	{ "python pypy", I, .valued = "-W -X", .text = "-c", .module = "-m" },
	{ "perl", I, .valued = "-I -M -m", .text = "-e -E" },
	{ "ruby", I, .valued = "-I -r -C", .text = "-e" },
	{ "node nodejs", I, .valued = "-r --require --import --loader -C --conditions", .text = "-e -p --eval --print", },
	{ "Rscript", I, .text = "-e" },
	{ "R", I, .text = "-e", .script = "-f" },
	{ "java", I, .valued = "-cp -classpath --class-path -p --module-path --add-modules --add-opens --add-exports",
	  .script = "-jar -m --module", .has_long_dash = true },
	{ "php", I, .valued = "-d -c -z", .text = "-r", .script = "-f" },
	{ "lua luajit", I, .valued = "-l", .text = "-e" },
	{ "julia", I, .valued = "-p -t -J -H --project --threads", .text = "-e -E --eval" },
	{ "octave octave-cli", I, .valued = "-p --path", .text = "--eval" },
	{ "matlab", I, .valued = "-sd -logfile", .text = "-batch -r", .has_long_dash = true },
	{ "awk gawk mawk", I, .valued = "-F -v", .script = "-f", .word_is_text = true },
	{ "tclsh wish expect guile racket groovy scala swipl osascript", I },
	{ "torchrun deepspeed", I, .valued = "--nproc_per_node --nnodes --node_rank --master_addr --master_port "
	  "--rdzv_backend --rdzv_endpoint --rdzv_id --hostfile --num_gpus --include", .script = "-m" },

	{ "env", W, .valued = "-u --unset -C --chdir", .text = "-S --split-string" },
	{ "nice", W, .valued = "-n --adjustment" },
	{ "ionice", W, .valued = "-c -n --class --classdata" },
	{ "timeout", W, .valued = "-k -s --kill-after --signal", .operands = 1 },
	{ "stdbuf", W, .valued = "-i -o -e --input --output --error" },
	{ "time", W, .valued = "-f -o --format --output" },
	{ "nohup setsid unbuffer command exec builtin dbus-run-session catchsegv", W },
	{ "taskset", W, .operands = 1 },
	{ "chrt", W, .valued = "-T -P -D", .operands = 1 },
	{ "numactl", W, .valued = "-N -m -C -i -p --cpunodebind --membind --physcpubind --interleave --preferred" },
	{ "setpriv", W, .valued = "--reuid --regid --groups --inh-caps --ambient-caps --bounding-set" },
	{ "prlimit choom", W, .valued = "-n" },
	{ "unshare", W },
	{ "chroot", W, .operands = 1 },
	{ "flock", W, .valued = "-w -E --timeout --conflict-exit-code", .text = "-c --command", .operands = 1 },
	{ "sudo", W, .valued = "-u -g -h -p -C -r -t -D -T -U --user --group --host --prompt --chdir" },
	{ "doas", W, .valued = "-u -C" },
	{ "xvfb-run", W, .valued = "-n -s -e -f --server-num --server-args" },
	{ "systemd-run", W, .valued = "-p -u -E -M -H --property --unit --setenv --slice --description --uid --gid" },
	{ "mpirun mpiexec orterun", W, .valued = "-n -np -c -N -H -x -hostfile -machinefile -wdir -ppn -host --host "
	  "--hostfile --map-by --bind-to --rank-by --np --oversubscribe-by", .has_long_dash = true },
	{ "srun", W, .valued = "-n -N -c -p -t -J -A -q -w -o -e -i -D -C" },
	{ "uv poetry pipenv pdm hatch rye", W, .only = "run", .valued = "--with --python -p --extra --group --directory" },
	{ "conda mamba micromamba", W, .only = "run", .valued = "-n -p --name --prefix --cwd" },
	{ "bundle", W, .only = "exec" },
	{ "accelerate", W, .only = "launch", .valued = "--config_file --num_processes --num_machines --mixed_precision "
	  "--main_process_port --gpu_ids" },
	{ "coverage", W, .only = "run", .valued = "--source --omit --rcfile" },
	{ "npx bunx pnpx", W, .valued = "-p --package" },

	{ "make gmake", M, .valued = "-C -f -I -o -W --directory --file --makefile" },
	{ "ninja", M, .valued = "-C -f -k -l -d -t" },
	{ "npm yarn pnpm", M, .valued = "--prefix --cwd -C -w --workspace --filter", .deeper = "run run-script exec workspace" },
	{ "bun deno", M, .deeper = "run task x" },
	{ "cargo", M, .valued = "--manifest-path --config -Z --color -C" },
	{ "git", M, .valued = "-C -c --git-dir --work-tree --namespace" },
	{ "go", M, .valued = "-C", .deeper = "tool mod work" },
	{ "docker podman nerdctl", M, .valued = "-H -c -l -f -p --context --config --host --log-level --file --profile",
	  .deeper = "compose image container volume network system buildx builder" },
	{ "kubectl oc helm", M, .valued = "-n --namespace --context --kubeconfig" },
	{ "mvn mvnw", M, .valued = "-f -pl -P -s -T --file --projects", .has_long_dash = true },
	{ "gradle gradlew", M, .valued = "-p -b -x --project-dir --exclude-task" },
	{ "terraform tofu", M, .has_long_dash = true },
	{ "ctest", M, .valued = "-R -E -L -C -j --test-dir" },
	{ "cmake", M, .valued = "-S -B -G -D -C -P --preset", .verbs = "--build --install --open" },
	{ "meson bazel bazelisk ant rake just task tox nox invoke scons b2", M, .valued = "-C -f -e -s" },
	{ "dotnet swift mix stack cabal dune zig nix flutter composer rustup", M },
	{ "pip pipx uv poetry pipenv pdm hatch rye conda mamba micromamba bundle coverage", M, .deeper = "pip tool" },
	{ "apt apt-get dnf yum zypper pacman apk brew snap flatpak", M, .valued = "-o -c -t" },
	{ "systemctl journalctl loginctl", M },
	{ "gh glab", M, .valued = "-R --repo", .deeper = "pr issue run repo release" },
	{ "aws gcloud az gsutil", M, .valued = "--profile --region --project --output", .deeper = "s3 s3api ec2 batch compute storage" },
	{ "openssl busybox", M },
	{ "samtools bcftools bedtools gatk picard seqkit bwa", M },
	{ "nextflow snakemake dvc mlflow airflow prefect dbt jupyter wandb accelerate", M },
	{ "ansible-playbook", I, .valued = "-i -e -l -t -u -f --inventory --limit --tags" },
	{ "xargs parallel", M, .valued = "-n -P -I -L -d -a -s -E -j" },
};
/* clang-format on */

static bool has_word(const char *list, struct scan word)
{
	struct scan s = scan_str(list ? list : ""), one;

	while (scan_word(&s, &one))
		if (scan_left(&one) == scan_left(&word) &&
		    memcmp(one.p, word.p, scan_left(&word)) == 0)
			return true;
	return false;
}

static bool is_version_char(char c)
{
	return (c >= '0' && c <= '9') || c == '.';
}

static const struct tool *find_exact(struct scan name, const char *next)
{
	for (size_t i = 0; i < ARRAY_LEN(tools); i++)
		if (has_word(tools[i].names, name) &&
		    (!tools[i].only || (next && strcmp(next, tools[i].only) == 0)))
			return &tools[i];
	return NULL;
}

/* NULL: not a tool. "python3.11" is found as "python". `next` is the next argument, or NULL. */
static const struct tool *find_tool(struct scan name, const char *next)
{
	const struct tool *found = find_exact(name, next);

	while (!scan_at_end(&name) && is_version_char(name.end[-1]))
		name.end--;
	return found ? found : find_exact(name, next);
}

/* The role of an argument. */
enum type_arg {
	TYPE_ARG_WORD,
	TYPE_ARG_OPTION, /* without a value */
	TYPE_ARG_END,    /* "--" */
	/* For these the next argument is the value: */
	TYPE_ARG_VALUED,
	TYPE_ARG_TEXT,
	TYPE_ARG_SCRIPT,
	TYPE_ARG_MODULE,
};

/* The kind of an option of this name; TYPE_ARG_OPTION when it is not in the table. */
static enum type_arg look_up(const struct tool *t, struct scan name)
{
	return has_word(t->text, name)     ? TYPE_ARG_TEXT
	       : has_word(t->script, name) ? TYPE_ARG_SCRIPT
	       : has_word(t->module, name) ? TYPE_ARG_MODULE
	       : has_word(t->valued, name) ? TYPE_ARG_VALUED
	                                   : TYPE_ARG_OPTION;
}

static enum type_arg look_up_letter(const struct tool *t, char letter)
{
	char name[2] = { '-', letter };

	return look_up(t, scan_mem(name, sizeof name));
}

static bool is_letter(char c)
{
	return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
}

/* -euo: the last letter may take the next argument. -Cdir and -Wignore: the first letter took it.
 */
static enum type_arg look_into_cluster(const struct tool *t, const char *letters)
{
	size_t len = strlen(letters);

	if (len < 2 || look_up_letter(t, letters[0]) == TYPE_ARG_VALUED)
		return TYPE_ARG_OPTION;
	for (size_t i = 0; i < len; i++)
		if (!is_letter(letters[i]))
			return TYPE_ARG_OPTION;
	for (size_t i = 0; i < len; i++)
		if (look_up_letter(t, letters[i]) == TYPE_ARG_TEXT)
			return TYPE_ARG_TEXT;
	return look_up_letter(t, letters[len - 1]);
}

static enum type_arg classify(const struct tool *t, const char *arg)
{
	struct scan whole = scan_str(arg);
	enum type_arg found;

	if (strcmp(arg, "--") == 0)
		return TYPE_ARG_END;
	found = look_up(t, whole);
	if (found != TYPE_ARG_OPTION)
		return found;
	if (arg[0] != '-' || arg[1] == '\0')
		return TYPE_ARG_WORD;
	return arg[1] == '-' || t->has_long_dash ? TYPE_ARG_OPTION : look_into_cluster(t, arg + 1);
}

/* ---- the walk over the arguments ------------------------------------------------------------- */

/* The words a type is made of, before they are cleaned. */
struct parts {
	const char *name, *verb, *more; /* "npm" "run" "build" */
	const char *text;               /* a program given as an argument */
	char plain[32];                 /* memory for `name` */
};

/* The arguments, and where we are. */
struct walk {
	char *const *argv;
	int argc, at;
};

static const char *peek(const struct walk *w, int ahead)
{
	return w->at + ahead < w->argc ? w->argv[w->at + ahead] : NULL;
}

static const char *base_name(const char *path)
{
	const char *slash = strrchr(path, '/');

	return slash && slash[1] ? slash + 1 : path;
}

static const struct tool *tool_at(const struct walk *w)
{
	const char *name = base_name(w->argv[w->at]);

	return find_tool(scan_str(name + (name[0] == '-')), peek(w, 1)); /* -bash: at login */
}

static bool is_number(const char *s)
{
	return *s && s[strspn(s, "0123456789.")] == '\0';
}

/* NAME=value */
static bool is_assignment(const char *s)
{
	size_t n = strspn(s, "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_");

	return n > 0 && s[n] == '=' && !(s[0] >= '0' && s[0] <= '9');
}

/* sh -c -- TEXT: options may stand in between. */
static const char *text_after(struct walk *w)
{
	while (w->at + 2 < w->argc && w->argv[w->at + 1][0] == '-')
		w->at++;
	return w->argv[MIN(w->at + 1, w->argc - 1)];
}

/* Moves on to the command that the tool runs; false: there is none, or it is a text. */
static bool skip_wrapper(struct walk *w, const struct tool *t, const char **ret_text)
{
	unsigned operands = t->operands;

	for (w->at += 1 + (t->only != NULL); w->at < w->argc; w->at++) {
		const char *arg = w->argv[w->at];
		enum type_arg kind = classify(t, arg);

		if (kind == TYPE_ARG_TEXT) {
			*ret_text = text_after(w);
			return false;
		}
		if (kind == TYPE_ARG_VALUED)
			w->at++;
		if (kind != TYPE_ARG_WORD || is_assignment(arg))
			continue;
		if (operands == 0)
			return true;
		operands--;
	}
	return false;
}

/* Ends at the command; ret has a text if it is one. */
static const struct tool *skip_wrappers(struct walk *w, struct parts *ret)
{
	const struct tool *t = tool_at(w);

	for (int i = 0; i < WRAPPERS_MAX && t && t->kind == WRAPPER; i++) {
		struct walk next = *w;

		if (!skip_wrapper(&next, t, &ret->text))
			return NULL;
		*w = next;
		t = tool_at(w);
	}
	return t;
}

/* python for python3.11 */
static void drop_version(struct parts *p)
{
	size_t n = strlen(p->name);

	while (n > 1 && strchr("0123456789.", p->name[n - 1]))
		n--;
	snprintf(p->plain, sizeof p->plain, "%.*s", (int)n, p->name);
	p->name = p->plain;
}

/* A script without a name of its own, as of `bash <(…)`: "/dev/fd/63". */
static bool is_stream(const char *path)
{
	return !strcmp(path, "-") || !strcmp(path, "/dev/stdin") ||
	       (strstr(path, "/fd/") && is_number(base_name(path)));
}

static void name_script(struct walk *w, const struct tool *t, struct parts *ret)
{
	for (w->at++; w->at < w->argc; w->at++) {
		const char *arg = w->argv[w->at];

		switch (classify(t, arg)) {
		case TYPE_ARG_TEXT:
			ret->text = text_after(w);
			drop_version(ret);
			return;
		case TYPE_ARG_MODULE:
			ret->verb = peek(w, 1);
			drop_version(ret);
			return;
		case TYPE_ARG_SCRIPT:
			ret->name = peek(w, 1) ? base_name(peek(w, 1)) : ret->name;
			return;
		case TYPE_ARG_WORD:
			if (t->word_is_text)
				ret->text = arg;
			else if (!is_stream(arg))
				ret->name = base_name(arg);
			return;
		case TYPE_ARG_VALUED:
			w->at++;
			break;
		case TYPE_ARG_OPTION:
		case TYPE_ARG_END:
			break;
		}
	}
}

/* Paths, numbers and settings are objects, not verbs. */
static bool is_verb(const char *word)
{
	return !strchr("+./", word[0]) && !is_number(word) && !is_assignment(word);
}

static void name_verb(struct walk *w, const struct tool *t, struct parts *ret)
{
	for (w->at++; w->at < w->argc && !ret->more; w->at++) {
		const char *arg = w->argv[w->at];
		enum type_arg kind = classify(t, arg);

		if (kind == TYPE_ARG_VALUED)
			w->at++;
		if (has_word(t->verbs, scan_str(arg)))
			kind = TYPE_ARG_WORD;
		if (kind != TYPE_ARG_WORD || !is_verb(arg))
			continue;
		if (ret->verb)
			ret->more = arg;
		else
			ret->verb = arg;
		if (!has_word(t->deeper, scan_str(ret->verb)))
			return;
	}
}

static bool is_kept(char c)
{
	return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
	       c == '.' || c == '_' || c == '+';
}

/* Appends s after a '-', other characters than the kept ones as one '-'. */
static void append_clean(struct buf *to, const char *s)
{
	if (to->len)
		buf_putc(to, '-');
	for (; *s; s++) {
		bool kept = is_kept(*s) && !(*s == '.' && to->len == 0);

		if (kept)
			buf_putc(to, *s);
		else if (to->len && to->at[to->len - 1] != '-')
			buf_putc(to, '-');
	}
	while (to->len && to->at[to->len - 1] == '-')
		to->len--;
}

static bool has_non_ascii(const char *s)
{
	for (; s && *s; s++)
		if (*s & 0x80)
			return true;
	return false;
}

static void assemble(const struct parts *p, char ret[JOB_ID_MAX])
{
	const char *const words[] = { p->name, p->verb, p->more };
	char plain[JOB_TYPE_LEN + 1], hash[HASH_NAME_LEN + 1] = "";
	cleanup(buf_done) struct buf text = { .max = 1 << 16 };
	uint64_t h = HASH_SEED;
	bool needs_hash = p->text != NULL;
	size_t room = JOB_TYPE_LEN;

	for (size_t i = 0; i < ARRAY_LEN(words); i++) {
		if (!words[i])
			continue;
		append_clean(&text, words[i]);
		needs_hash |= has_non_ascii(words[i]);
		h = p->text ? h : hash_bytes(h, words[i], strlen(words[i]) + 1);
	}
	if (p->text)
		h = hash_bytes(h, p->text, strlen(p->text));
	/* Names that cannot be typed or are too long are distinguished by a hash. */
	if (needs_hash || text.len > JOB_TYPE_LEN || text.len == 0) {
		hash_name(h, HASH_NAME_LEN, hash);
		room -= HASH_NAME_LEN + 1;
	}
	snprintf(plain, sizeof plain, "%.*s", (int)MIN(text.len, room), text.len ? text.at : "");
	snprintf(ret, JOB_ID_MAX, "%s%s%s", plain[0] ? plain : "job", hash[0] ? ":" : "", hash);
}

void job_type(int argc, char *const *argv, char ret[JOB_ID_MAX])
{
	struct walk w = { .argv = argv, .argc = argc };
	struct parts p = { .name = "" };
	const struct tool *t = NULL;

	if (argc > 0) {
		t = skip_wrappers(&w, &p);
		p.name = base_name(argv[w.at]);
		p.name += p.name[0] == '-';
	}
	if (t && t->kind == INTERPRETER)
		name_script(&w, t, &p);
	else if (t && t->kind == MULTIPLEXER)
		name_verb(&w, t, &p);
	assemble(&p, ret);
}
