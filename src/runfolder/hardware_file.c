/* SPDX-License-Identifier: MIT */
#include "runfolder/hardware_file.h"

#include <string.h>
#include <time.h>

#include "base/clock.h"

#define MILLI UINT64_C(1000)
#define PERCENT_MAX (100 * MILLI)
#define AMOUNT_MAX (UINT64_C(1000000000) * MILLI) /* a PiB of memory in MiB, a GW */

const char *const hardware_file_names[HARDWARE_FILE_COUNT] = { "hw_metrics.csv", "hw_dmon.csv",
	                                                       "cpu_metrics.csv" };

/* The names of columns in heads, and where those we write ourselves are; -1: not among them. The newest
 * drivers put fb before sm in dmon, so heads count and not the order. */
static const struct {
	enum hardware_file_kind kind;
	enum hardware_file_role role;
	const char *name;
	int column;
} columns[] = {
	{ HARDWARE_FILE_METRICS, HARDWARE_FILE_GPU, "index", -1 },
	{ HARDWARE_FILE_METRICS, HARDWARE_FILE_UTIL, "utilization.gpu", 1 },
	{ HARDWARE_FILE_METRICS, HARDWARE_FILE_MEM_UTIL, "utilization.memory", 2 },
	{ HARDWARE_FILE_METRICS, HARDWARE_FILE_VRAM, "memory.used", 3 },
	{ HARDWARE_FILE_METRICS, HARDWARE_FILE_POWER, "power.draw", 5 },
	{ HARDWARE_FILE_DMON, HARDWARE_FILE_GPU, "gpu", 0 },
	{ HARDWARE_FILE_DMON, HARDWARE_FILE_UTIL, "sm", 1 },
	{ HARDWARE_FILE_DMON, HARDWARE_FILE_MEM_UTIL, "mem", 2 },
	{ HARDWARE_FILE_DMON, HARDWARE_FILE_VRAM, "fb", 3 },
	{ HARDWARE_FILE_DMON, HARDWARE_FILE_POWER, "pwr", -1 },
	{ HARDWARE_FILE_CPU, HARDWARE_FILE_CPU_NAME, "CPU", -1 },
	{ HARDWARE_FILE_CPU, HARDWARE_FILE_USR, "usr_pct", 1 },
	{ HARDWARE_FILE_CPU, HARDWARE_FILE_USR, "%usr", -1 },
	{ HARDWARE_FILE_CPU, HARDWARE_FILE_USR, "%user", -1 },
	{ HARDWARE_FILE_CPU, HARDWARE_FILE_NICE, "%nice", -1 },
	{ HARDWARE_FILE_CPU, HARDWARE_FILE_IDLE, "idle_pct", 2 },
	{ HARDWARE_FILE_CPU, HARDWARE_FILE_IDLE, "%idle", -1 },
};

/* The series that a value goes to, its limit, and the metric it comes from when we write it. */
static const struct {
	enum resource_series series;
	uint64_t max_milli;
	enum gpu_metric metric;
} roles[HARDWARE_FILE_ROLE_COUNT] = {
	[HARDWARE_FILE_UTIL] = { RESOURCE_GPU_UTIL_PCT, PERCENT_MAX, GPU_UTIL },
	[HARDWARE_FILE_MEM_UTIL] = { RESOURCE_MEM_UTIL_PCT, PERCENT_MAX, GPU_MEM_UTIL },
	[HARDWARE_FILE_VRAM] = { RESOURCE_VRAM_MB, AMOUNT_MAX, GPU_MEM_USED },
	[HARDWARE_FILE_POWER] = { RESOURCE_POWER_WATTS, AMOUNT_MAX, GPU_POWER },
	[HARDWARE_FILE_USR] = { RESOURCE_CPU_USR_PCT, PERCENT_MAX },
	[HARDWARE_FILE_NICE] = { RESOURCE_CPU_USR_PCT, PERCENT_MAX },
	[HARDWARE_FILE_IDLE] = { RESOURCE_CPU_IDLE_PCT, PERCENT_MAX },
};

struct fields {
	struct scan at[HARDWARE_FILE_FIELDS_MAX];
	size_t n;
};

static bool is_blank(char c)
{
	return c == ' ' || c == '\t' || c == '\r';
}

static struct scan trim(struct scan s)
{
	while (s.p < s.end && is_blank(*s.p))
		s.p++;
	while (s.p < s.end && is_blank(s.end[-1]))
		s.end--;
	return s;
}

static void split_at_commas(struct scan line, struct fields *ret)
{
	struct scan field;

	while (ret->n < HARDWARE_FILE_FIELDS_MAX - 1 && scan_until(&line, ',', &field))
		ret->at[ret->n++] = trim(field);
	ret->at[ret->n++] = trim(line);
}

static void split_at_blanks(struct scan line, struct fields *ret)
{
	while (ret->n < HARDWARE_FILE_FIELDS_MAX && scan_word(&line, &ret->at[ret->n]))
		ret->n++;
}

static struct fields split(struct scan line)
{
	struct fields f = { 0 };

	if (memchr(line.p, ',', scan_left(&line)))
		split_at_commas(line, &f);
	else
		split_at_blanks(line, &f);
	return f;
}

void hardware_file_init(struct hardware_file *f, enum hardware_file_kind kind)
{
	static const size_t fields_needed[] = {
		[HARDWARE_FILE_METRICS] = 9, [HARDWARE_FILE_DMON] = 4, [HARDWARE_FILE_CPU] = 3
	};

	*f = (struct hardware_file){ .kind = kind, .fields_needed = fields_needed[kind] };
	memset(f->column, -1, sizeof f->column);
	for (size_t i = 0; i < ARRAY_LEN(columns); i++)
		if (columns[i].kind == kind && columns[i].column >= 0)
			f->column[columns[i].role] = columns[i].column;
}

/* "memory.used [MiB]": nvidia-smi names the unit even with nounits. */
static struct scan trim_unit(struct scan name)
{
	struct scan before;

	return scan_until(&name, '[', &before) ? trim(before) : name;
}

static int role_of(enum hardware_file_kind kind, struct scan name)
{
	name = trim_unit(name);
	for (size_t i = 0; i < ARRAY_LEN(columns); i++)
		if (columns[i].kind == kind && scan_eq(&name, columns[i].name))
			return (int)columns[i].role;
	return -1;
}

/* Learns the columns from a line that names at least one value; false: it is no head. */
static bool read_head(struct hardware_file *f, const struct fields *fields)
{
	int column[HARDWARE_FILE_ROLE_COUNT];
	size_t needed = 0;
	bool names_value = false;

	memset(column, -1, sizeof column);
	for (size_t i = 0; i < fields->n; i++) {
		int role = role_of(f->kind, fields->at[i]);

		if (role < 0 || column[role] >= 0)
			continue;
		column[role] = (int)i;
		needed = i + 1;
		names_value |= roles[role].max_milli > 0;
	}
	if (!names_value)
		return false;
	memcpy(f->column, column, sizeof column);
	/* A query's lines are whole or torn; behind dmon's and mpstat's columns more may follow. */
	f->fields_needed = f->kind == HARDWARE_FILE_METRICS ? fields->n : needed;
	return true;
}

/* "62", "62 %", "214.53 W": a number, and one of nvidia-smi's units behind it. */
static bool parse_milli(struct scan text, uint64_t *ret)
{
	static const char *const units[] = { "", "%", "MiB", "MB", "W" };

	if (!scan_fixed(&text, 3, ret))
		return false;
	text = trim(text);
	for (size_t i = 0; i < ARRAY_LEN(units); i++)
		if (scan_eq(&text, units[i]))
			return true;
	return false;
}

/* The value in the field of that role; false: there is no such field, or (counted) none can be
 * read. */
static bool read_value(struct hardware_file *f, const struct fields *fields,
                       enum hardware_file_role role, uint64_t *ret_milli)
{
	uint64_t milli;

	if (f->column[role] < 0)
		return false;
	if (!parse_milli(fields->at[f->column[role]], &milli) || milli > roles[role].max_milli) {
		f->counts.values_skipped++;
		return false;
	}
	*ret_milli = milli;
	return true;
}

static bool add_value(struct hardware_file *f, const struct fields *fields,
                      enum hardware_file_role role)
{
	uint64_t milli;

	if (!read_value(f, fields, role, &milli))
		return false;
	resource_summary_add(&f->sums, roles[role].series, milli);
	return true;
}

static bool read_gpu(struct hardware_file *f, const struct fields *fields)
{
	bool found = add_value(f, fields, HARDWARE_FILE_UTIL);
	uint64_t index;

	found |= add_value(f, fields, HARDWARE_FILE_MEM_UTIL);
	found |= add_value(f, fields, HARDWARE_FILE_VRAM);
	found |= add_value(f, fields, HARDWARE_FILE_POWER);
	if (found && f->column[HARDWARE_FILE_GPU] >= 0) {
		struct scan text = fields->at[f->column[HARDWARE_FILE_GPU]];

		if (scan_u64(&text, &index) && scan_at_end(&text) && index < 64)
			f->gpus_seen |= UINT64_C(1) << index;
	}
	return found;
}

/* 12:47:01 PM  CPU    %usr   %nice    %sys … %idle
 * 12:47:02 PM  all    4.02    0.00    1.51 … 94.47      each CPU may have a line of its own too
 * Average:     all    4.02    0.00    1.51 … 94.47 */
static bool is_of_whole_machine(const struct hardware_file *f, const struct fields *fields)
{
	int column = f->column[HARDWARE_FILE_CPU_NAME];

	return column < 0 ||
	       (scan_eq(&fields->at[column], "all") && !scan_eq(&fields->at[0], "Average:"));
}

static bool read_cpu(struct hardware_file *f, const struct fields *fields)
{
	uint64_t usr, nice = 0;
	bool found;

	if (!is_of_whole_machine(f, fields))
		return false;
	found = add_value(f, fields, HARDWARE_FILE_IDLE);
	if (!read_value(f, fields, HARDWARE_FILE_USR, &usr))
		return found;
	read_value(f, fields, HARDWARE_FILE_NICE, &nice);
	resource_summary_add(&f->sums, RESOURCE_CPU_USR_PCT, MIN(usr + nice, PERCENT_MAX));
	return true;
}

static void read_comment(struct hardware_file *f, struct scan line)
{
	struct fields fields;

	f->counts.comments++;
	line.p++;
	if (f->kind != HARDWARE_FILE_DMON)
		return;
	fields = split(line);
	read_head(f, &fields);
}

void hardware_file_read_line(struct hardware_file *f, struct scan line)
{
	struct fields fields;

	line = trim(line);
	if (scan_at_end(&line))
		return;
	if (*line.p == '#') {
		read_comment(f, line);
		return;
	}
	fields = split(line);
	if (read_head(f, &fields))
		f->counts.heads++;
	else if (fields.n < f->fields_needed)
		f->counts.too_short++;
	else if (f->kind == HARDWARE_FILE_CPU ? read_cpu(f, &fields) : read_gpu(f, &fields))
		f->counts.used++;
	else
		f->counts.unusable++;
}

uint64_t hardware_file_lines(const struct hardware_file_counts *c)
{
	return c->used + c->heads + c->comments + c->too_short + c->too_long + c->unusable;
}

/* ---- writing: reading these lines gives the same sums ----------------------------------------- */

void hardware_file_put_time(struct buf *to, uint64_t wall_ns)
{
	time_t seconds = (time_t)(wall_ns / NS_PER_S);
	char text[40];
	struct tm tm;

	localtime_r(&seconds, &tm);
	strftime(text, sizeof text, "%Y/%m/%d %H:%M:%S", &tm);
	buf_printf(to, "%s.%03u", text, (unsigned)(wall_ns % NS_PER_S / NS_PER_MS));
}

void hardware_file_put_cpu(struct buf *to, uint64_t wall_ns, uint64_t usr_tenths,
                           uint64_t idle_tenths)
{
	hardware_file_put_time(to, wall_ns);
	buf_printf(to, ",%llu.%llu,%llu.%llu\n", (unsigned long long)usr_tenths / 10,
	           (unsigned long long)usr_tenths % 10, (unsigned long long)idle_tenths / 10,
	           (unsigned long long)idle_tenths % 10);
}

/* Memory in whole MiB and power in hundredths of a watt, as nvidia-smi prints them. */
static uint64_t mib_of(uint64_t bytes)
{
	return (bytes >> 20) + (bytes >> 19 & 1);
}

static uint64_t centiwatts_of(uint64_t milliwatts)
{
	return milliwatts / 10 + (milliwatts % 10 >= 5);
}

/* In thousandths; false: not known. */
static bool gpu_milli(const struct gpu_sample *gpu, enum hardware_file_role role,
                      uint64_t *ret_milli)
{
	enum gpu_metric metric = roles[role].metric;
	uint64_t value = gpu->r.value[metric];

	if (!readings_has(&gpu->r, metric))
		return false;
	if (role == HARDWARE_FILE_VRAM)
		value = mib_of(value);
	*ret_milli = role == HARDWARE_FILE_POWER ? centiwatts_of(value) * 10 : value * MILLI;
	return true;
}

void hardware_file_add_gpu(struct resource_summary *sums, const struct gpu_sample *gpu,
                           enum hardware_file_role role)
{
	uint64_t milli;

	if (gpu_milli(gpu, role, &milli))
		resource_summary_add(sums, roles[role].series, milli);
}

static void put_field(struct buf *to, const struct gpu_sample *gpu, enum gpu_metric metric)
{
	unsigned long long value = gpu->r.value[metric];

	if (!readings_has(&gpu->r, metric)) {
		buf_puts(to, ", [N/A]");
		return;
	}
	if (metric == GPU_MEM_USED || metric == GPU_MEM_TOTAL)
		value = mib_of(value);
	if (metric == GPU_POWER)
		buf_printf(to, ", %llu.%02llu", (unsigned long long)centiwatts_of(value) / 100,
		           (unsigned long long)centiwatts_of(value) % 100);
	else
		buf_printf(to, ", %llu", value);
}

void hardware_file_put_gpu(struct buf *to, uint64_t wall_ns, const struct gpu_sample *gpu)
{
	static const enum gpu_metric order[] = { GPU_UTIL,      GPU_MEM_UTIL, GPU_MEM_USED,
		                                 GPU_MEM_TOTAL, GPU_POWER,    GPU_TEMPERATURE,
		                                 GPU_SM_CLOCK,  GPU_MEM_CLOCK };

	hardware_file_put_time(to, wall_ns);
	for (size_t i = 0; i < ARRAY_LEN(order); i++)
		put_field(to, gpu, order[i]);
	buf_putc(to, '\n');
}

void hardware_file_put_dmon(struct buf *to, const struct gpu_sample *gpu)
{
	static const enum hardware_file_role order[] = { HARDWARE_FILE_UTIL, HARDWARE_FILE_MEM_UTIL,
		                                         HARDWARE_FILE_VRAM };
	uint64_t milli;

	buf_printf(to, "%5u", gpu->index);
	for (size_t i = 0; i < ARRAY_LEN(order); i++) {
		if (gpu_milli(gpu, order[i], &milli))
			buf_printf(to, " %6llu", (unsigned long long)milli / MILLI);
		else
			buf_puts(to, "      -");
	}
	buf_putc(to, '\n');
}
