/* SPDX-License-Identifier: MIT */
#include "job/job_type_tool.h"

#include <string.h>

#define W JOB_TYPE_TOOL_WRAPPER
#define I JOB_TYPE_TOOL_INTERPRETER
#define M JOB_TYPE_TOOL_MULTIPLEXER

/* In the order of likelihood only; names are unique but for wrappers with `only`, which come before
 * the tool without. */
/* clang-format off */
static const struct job_type_tool tools[] = {
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

bool job_type_tool_lists(const char *list, struct scan word)
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

static const struct job_type_tool *find_exact(struct scan name, const char *next)
{
	for (size_t i = 0; i < ARRAY_LEN(tools); i++)
		if (job_type_tool_lists(tools[i].names, name) &&
		    (!tools[i].only || (next && strcmp(next, tools[i].only) == 0)))
			return &tools[i];
	return NULL;
}

const struct job_type_tool *job_type_tool_find(struct scan name, const char *next)
{
	const struct job_type_tool *found = find_exact(name, next);

	while (!scan_at_end(&name) && is_version_char(name.end[-1]))
		name.end--;
	return found ? found : find_exact(name, next);
}

/* The kind of an option of this name; TYPE_ARG_OPTION when the table says nothing. */
static enum type_arg look_up(const struct job_type_tool *t, struct scan name)
{
	return job_type_tool_lists(t->text, name)     ? TYPE_ARG_TEXT
	       : job_type_tool_lists(t->script, name) ? TYPE_ARG_SCRIPT
	       : job_type_tool_lists(t->module, name) ? TYPE_ARG_MODULE
	       : job_type_tool_lists(t->valued, name) ? TYPE_ARG_VALUED
	                                              : TYPE_ARG_OPTION;
}

static enum type_arg look_up_letter(const struct job_type_tool *t, char letter)
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
static enum type_arg look_into_cluster(const struct job_type_tool *t, const char *letters)
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

enum type_arg job_type_tool_arg(const struct job_type_tool *t, const char *arg)
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
