/* SPDX-License-Identifier: MIT */
#include "model/sheet_use.h"

#include <math.h>

#include "base/clock.h"
#include "model/field.h"

/* wait4 and the sum over processes may differ by the resolution of /proc: by less it is the same. */
#define SAME_CPU_NS (20 * NS_PER_MS)
/* … and the kernel's mark lacks a few pages that each CPU counts for itself. */
#define SAME_PEAK_BYTES ((uint64_t)1 << 20)
#define MEAN_MIN_NS (50 * NS_PER_MS) /* over less a share of CPU time means little */

const struct metric sheet_figures[] = {
#define X(id, key_, unit_, help_)                                                                  \
	[SHEET_FIGURE_##id] = { .key = (key_), .unit = UNIT_##unit_, .help = (help_) },
	SHEET_FIGURES(X)
#undef X
};

const char *sheet_lack_reason(enum sheet_lack lack)
{
	static const char *const reasons[] = {
#define X(id, reason) [SHEET_LACKS_##id] = (reason),
		SHEET_LACKS(X)
#undef X
	};

	return lack < SHEET_LACK_COUNT ? reasons[lack] : NULL;
}

/* A part that is not known may add something. */
static enum quality join(struct figure a, struct figure b)
{
	return quality_join(figure_is_known(a) ? a.quality : QUALITY_AT_LEAST,
	                    figure_is_known(b) ? b.quality : QUALITY_AT_LEAST);
}

static struct figure larger(struct figure a, struct figure b)
{
	if (!figure_is_known(a) && !figure_is_known(b))
		return a;
	return (struct figure){ MAX(a.value, b.value), join(a, b) };
}

static struct figure sum(struct figure a, struct figure b)
{
	if (!figure_is_known(a) && !figure_is_known(b))
		return a;
	return (struct figure){ a.value + b.value, join(a, b) };
}

double sheet_use_mean_cpu(struct figure cpu_ns, uint64_t took_ns)
{
	double mean = (double)cpu_ns.value / (double)MAX(took_ns, (uint64_t)1);
	bool is_bound = figure_is_known(cpu_ns) && cpu_ns.quality != QUALITY_AT_MOST;

	return is_bound && took_ns >= MEAN_MIN_NS && mean >= SHEET_USE_CPU_MIN ? mean : (double)NAN;
}

void sheet_use_add(struct sheet_use *to, const struct sheet_use *more)
{
	for (enum sheet_figure i = 0; i < SHEET_FIGURE_COUNT; i++)
		to->figures[i] = i == SHEET_FIGURE_PEAK_RSS
		                         ? larger(to->figures[i], more->figures[i])
		                         : sum(to->figures[i], more->figures[i]);
	to->waited_cpu_ns += more->waited_cpu_ns;
	to->max_cpu_ratio = fmax(to->max_cpu_ratio, more->max_cpu_ratio);
	if (more->lack)
		to->lack = more->lack;
}

/* The usage of the command and its descendants: what wait4 returned, unless the processes show
 * more. wait4 misses the children of processes that ignore SIGCHLD. The processes that were born in
 * the sheet are not all, if some opened sheets of their own. */
static struct figure choose(struct figure waited, struct figure born, uint64_t same)
{
	if (!figure_is_known(born))
		return waited;
	if (!figure_is_known(waited) || waited.quality == QUALITY_AT_MOST)
		return born;
	if (born.value > waited.value + same)
		return born;
	return (struct figure){ MAX(waited.value, born.value), waited.quality };
}

static void join_wrapper(struct sheet_use *use, const struct sheet_use *born)
{
	struct figure *cpu = &use->figures[SHEET_FIGURE_CPU];
	struct figure *peak = &use->figures[SHEET_FIGURE_PEAK_RSS];

	*cpu = choose(*cpu, born->figures[SHEET_FIGURE_CPU], SAME_CPU_NS);
	*peak = choose(*peak, born->figures[SHEET_FIGURE_PEAK_RSS], SAME_PEAK_BYTES);
	use->processes = born->processes;
	use->max_cpu_ratio = fmax(use->max_cpu_ratio, born->max_cpu_ratio);
}

/* Where the kernel did not report what each process used in all, most lived between two ticks: then what their
 * parent waited for is more. */
static struct figure born_cpu(const struct sheet_use *born, uint64_t waited_ns)
{
	struct figure cpu = born->figures[SHEET_FIGURE_CPU];

	if (cpu.quality == QUALITY_EXACT || waited_ns <= cpu.value)
		return cpu;
	return (struct figure){ waited_ns, QUALITY_AT_LEAST };
}

/* `born` has no I/O: that of a process includes what the children read that it waited for. */
static void join_opener(struct sheet_use *use, const struct sheet_use *born)
{
	use->processes += born->processes;
	use->max_cpu_ratio = fmax(use->max_cpu_ratio, born->max_cpu_ratio);
	if (!born->processes && !use->waited_cpu_ns)
		return;
	for (enum sheet_figure i = 0; i < SHEET_FIGURE_COUNT; i++) {
		struct figure *own = &use->figures[i];

		if (i == SHEET_FIGURE_PEAK_RSS)
			*own = larger(*own, born->figures[i]);
		else if (i == SHEET_FIGURE_CPU)
			*own = sum(*own, born_cpu(born, use->waited_cpu_ns));
		else
			*own = sum(*own, born->figures[i]);
	}
}

static void forget(struct sheet_use *use)
{
	for (enum sheet_figure i = 0; i < SHEET_FIGURE_COUNT; i++)
		use->figures[i] = (struct figure){ 0 };
	use->max_cpu_ratio = (double)NAN;
}

struct sheet_use sheet_use_join(const struct sheet_use *own, const struct sheet_use *born,
                                bool is_wrapper)
{
	struct sheet_use use = *own;

	if (is_wrapper)
		join_wrapper(&use, born);
	else
		join_opener(&use, born);
	if (use.lack)
		forget(&use);
	return use;
}

void sheet_use_json(struct json *j, const struct sheet_use *use)
{
	json_begin_object(j);
	for (enum sheet_figure i = 0; i < SHEET_FIGURE_COUNT; i++) {
		json_key(j, sheet_figures[i].key);
		field_figure_json(j, sheet_figures[i].unit, use->figures[i]);
	}
	json_open_object(j, "quality");
	for (enum sheet_figure i = 0; i < SHEET_FIGURE_COUNT; i++)
		json_put_str(j, sheet_figures[i].key, quality_key(use->figures[i].quality));
	json_end_object(j);
	json_end_object(j);
}
