/* SPDX-License-Identifier: MIT */
#include "job/job_type.h"

#include <stdio.h>

#include "check.h"

#define ARGS_MAX 24

struct args {
	int argc;
	char *argv[ARGS_MAX + 1];
	char text[512];
};

/* Splits at blanks; '…' is one argument without its quotes. */
static void args_init(struct args *a, const char *line)
{
	bool is_quoted = false, is_inside = false;
	char *to = a->text;

	a->argc = 0;
	for (; *line; line++) {
		if (*line == '\'') {
			is_quoted = !is_quoted;
		} else if (*line == ' ' && !is_quoted) {
			is_inside = false;
			*to++ = '\0';
			continue;
		}
		if (!is_inside)
			a->argv[a->argc++] = to;
		is_inside = true;
		if (*line != '\'')
			*to++ = *line;
	}
	*to = '\0';
	a->argv[a->argc] = NULL;
}

static const char *type_of(const char *line)
{
	static char type[JOB_ID_MAX];
	struct args a;

	args_init(&a, line);
	job_type(a.argc, a.argv, type);
	return type;
}

struct sample_line {
	const char *line, *type;
};

static void check_types(const struct sample_line *s, size_t n)
{
	for (size_t i = 0; i < n; i++)
		if (strcmp(type_of(s[i].line), s[i].type) != 0)
			fail_msg("%s: '%s', not '%s'", s[i].line, type_of(s[i].line), s[i].type);
}

static void test_job_type__is_the_name_of_the_program(void **state)
{
	static const struct sample_line lines[] = {
		{ "./sim --n 5", "sim" },
		{ "/usr/bin/gcc -O2 -c x.c", "gcc" },
		{ "/opt/g++-12 x.cc", "g++-12" },
		{ "sim/", "sim" },
		{ "-bash", "bash" },
		{ ".hidden", "hidden" },
		{ "./'my sim (new).sh'", "my-sim-new-.sh" },
		{ "'a;rm -rf ~'", "a-rm-rf" },
	};

	check_types(lines, ARRAY_LEN(lines));
}

static void test_job_type__is_the_script_of_an_interpreter(void **state)
{
	static const struct sample_line lines[] = {
		{ "python3 train.py --lr 0.1", "train.py" },
		{ "/usr/bin/python3.11 -u -W ignore -X dev src/train.py", "train.py" },
		{ "python -Wignore train.py", "train.py" },
		{ "python3", "python3" },
		{ "python3 - x.py", "python3" },
		{ "bash run.sh 1 2", "run.sh" },
		{ "bash /dev/fd/63 1 2", "bash" },
		{ "python3 /proc/self/fd/9", "python3" },
		{ "sh /dev/stdin", "sh" },
		{ "sh /dev/shm/run.sh", "run.sh" },
		{ "bash -euo pipefail ./run.sh", "run.sh" },
		{ "bash --norc -x run.sh", "run.sh" },
		{ "sh -e -- run.sh", "run.sh" },
		{ "perl -w -I lib bin/tool.pl", "tool.pl" },
		{ "perl -MEncode tool.pl", "tool.pl" },
		{ "ruby -rjson tool.rb", "tool.rb" },
		{ "node --max-old-space-size=4096 -r dotenv index.js", "index.js" },
		{ "Rscript --vanilla fit.R", "fit.R" },
		{ "R -f fit.R", "fit.R" },
		{ "java -Xmx4g -cp a.jar:b.jar com.acme.Main", "com.acme.Main" },
		{ "java -Xmx4g -jar build/app.jar --port 1", "app.jar" },
		{ "awk -F : -f sum.awk /etc/passwd", "sum.awk" },
		{ "torchrun --nproc_per_node 8 train.py", "train.py" },
		{ "php8.2 -d memory_limit=1G job.php", "job.php" },
	};

	check_types(lines, ARRAY_LEN(lines));
}

static void test_job_type__names_what_a_multiplexer_does(void **state)
{
	static const struct sample_line lines[] = {
		{ "make", "make" },
		{ "make -j8 test", "make-test" },
		{ "make -j 8 -C sub CFLAGS=-O2 test", "make-test" },
		{ "make out/x.o", "make-out-x.o" },
		{ "npm test", "npm-test" },
		{ "npm --prefix web run build", "npm-run-build" },
		{ "npm run --silent build -- --watch", "npm-run-build" },
		{ "yarn build", "yarn-build" },
		{ "cargo +nightly build --release", "cargo-build" },
		{ "git -C /repo -c a.b=c gc --auto", "git-gc" },
		{ "go test ./...", "go-test" },
		{ "docker compose -f x.yml up", "docker-compose-up" },
		{ "docker run -it debian", "docker-run" },
		{ "cmake --build build -j4", "cmake-build" },
		{ "cmake -S . -B build", "cmake" },
		{ "python3 -m pytest -x tests", "python-pytest" },
		{ "python3.11 -um http.server 80", "python-http.server" },
		{ "pypy3 -m timeit x", "pypy-timeit" },
		{ "uv pip install x", "uv-pip-install" },
		{ "samtools sort -@ 8 a.bam", "samtools-sort" },
		{ "pip3 install numpy", "pip3-install" },
	};

	check_types(lines, ARRAY_LEN(lines));
}

static void test_job_type__sees_through_what_runs_the_command(void **state)
{
	static const struct sample_line lines[] = {
		{ "env", "env" },
		{ "env A=1 B=2 ./sim", "sim" },
		{ "env -i -u HOME PATH=/bin ./sim A=1", "sim" },
		{ "nice -n 5 ./sim", "sim" },
		{ "nice -10 ./sim", "sim" },
		{ "timeout -k 5 60 python3 train.py", "train.py" },
		{ "timeout --signal=KILL 5m make test", "make-test" },
		{ "stdbuf -oL ./sim", "sim" },
		{ "stdbuf -o L ./sim", "sim" },
		{ "nohup ./sim", "sim" },
		{ "sudo -u bob A=1 ./sim", "sim" },
		{ "sudo -iu bob ./sim", "sim" },
		{ "sudo -i", "sudo" },
		{ "/usr/bin/time -v -o out ./sim", "sim" },
		{ "taskset -c 0,1 ./sim", "sim" },
		{ "nice timeout 5 env X=y stdbuf -oL -- ./sim -n", "sim" },
		{ "mpirun -np 4 --bind-to core ./sim", "sim" },
		{ "uv run --python 3.12 train.py", "train.py" },
		{ "uv run python train.py", "train.py" },
		{ "conda run -n ml python train.py", "train.py" },
		{ "accelerate launch --num_processes 2 train.py", "train.py" },
		{ "timeout", "timeout" },
		{ "timeout 5", "timeout" },
	};

	check_types(lines, ARRAY_LEN(lines));
}

static void test_job_type__hashes_a_text_that_is_run(void **state)
{
	char first[JOB_ID_MAX];

	snprintf(first, sizeof first, "%s", type_of("sh -c 'a | b'"));
	assert_int_equal(strlen(first), strlen("sh:xxxxxx"));
	assert_memory_equal(first, "sh:", 3);
	/* Stored for ever, so it may never change. */
	assert_string_equal(first, "sh:n73f05");
	assert_string_equal(type_of("/bin/sh -ec 'a | b' x y"), first);
	assert_string_equal(type_of("nice sh -c -- 'a | b'"), first);
	assert_string_not_equal(type_of("sh -c 'a | c'"), first);
	assert_memory_equal(type_of("python3 -c 'print(1)'"), "python:", 7);
	assert_string_equal(type_of("python3.11 -c 'print(1)'"), type_of("python3 -c 'print(1)'"));
	assert_memory_equal(type_of("perl -lane 'print'"), "perl:", 5);
	assert_memory_equal(type_of("awk '{print $1}' file"), "awk:", 4);
	assert_memory_equal(type_of("env -S 'a b'"), "env:", 4);
}

static void test_job_type__distinguishes_names_that_cannot_be_typed(void **state)
{
	char first[JOB_ID_MAX];

	snprintf(first, sizeof first, "%s", type_of("python3 日本.py"));
	assert_memory_equal(first, "py:", 3);
	assert_string_not_equal(type_of("python3 中国.py"), first);
	assert_memory_equal(type_of("'///'"), "job:", 4);
	assert_memory_equal(type_of("''"), "job:", 4);
}

static void test_job_type__is_short_and_plain_whatever_comes(void **state)
{
	static const char *const ends[] = { "python3 -c", "bash -o", "make -C",
		                            "env -u",     "uv run",  "git -c" };
	char long_name[300], cut[JOB_ID_MAX];

	memset(long_name, 'x', sizeof long_name);
	long_name[298] = 'a';
	long_name[299] = '\0';
	snprintf(cut, sizeof cut, "%s", type_of(long_name));
	assert_int_equal(strlen(cut), JOB_TYPE_LEN);
	long_name[298] = 'b';
	assert_string_not_equal(type_of(long_name), cut);
	for (size_t i = 0; i < ARRAY_LEN(ends); i++)
		assert_true(strlen(type_of(ends[i])) > 0);
	job_type(0, (char *[]){ NULL }, cut);
	assert_memory_equal(cut, "job:", 4);
}

RUN_TESTS(TEST(test_job_type__is_the_name_of_the_program),
          TEST(test_job_type__is_the_script_of_an_interpreter),
          TEST(test_job_type__names_what_a_multiplexer_does),
          TEST(test_job_type__sees_through_what_runs_the_command),
          TEST(test_job_type__hashes_a_text_that_is_run),
          TEST(test_job_type__distinguishes_names_that_cannot_be_typed),
          TEST(test_job_type__is_short_and_plain_whatever_comes))
