/* SPDX-License-Identifier: MIT */
/* A libnvidia-ml.so.1 for machines without a GPU. PROCTOR_FAKE_NVML chooses its mood, words apart:
 *   gpus=2            how many there are (1)
 *   init=18 count=15  the error code these calls return
 *   hang=WHERE abort=WHERE slow=WHERE
 *                     what happens in init, count, utilization, power, processes or events (slow: 50 ms)
 *   after=3           … from the third round of questions on, counted by calls of count (1)
 *   lost=1            that GPU answers "GPU is lost", also from `after` on
 *   while=PATH        all of these only while there is such a file
 *   unsupported=power,clock,temperature,utilization,memory,processes
 *   pids=4711:512:37,4712:100:0
 *                     processes on GPU 0: pid, MiB, SM percent
 *   use=PATH          … or on any GPU, a line each: GPU, pid, MiB, SM percent; read with every request
 *   mig               its GPUs are divided: there is no load of them or of processes
 *   parts=3           … into three parts each; process number i is on part i % 3
 *   state=PATH        what is wrong with GPUs, a line each: GPU, throttle reasons (hexadecimal), corrected and
 *                     uncorrected errors, XIDs so far (the last number: 0 none); read with every request. Without it
 *                     these calls are not supported
 *   garbage           texts without an end, percents beyond reason
 * Built three times: as it is, with the calls of old drivers only (FAKE_OLD), and empty
 * (FAKE_EMPTY). */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#ifndef FAKE_EMPTY

typedef struct fake_device *device;
struct memory_v1 {
	unsigned long long total, free, used;
};
struct memory_v2 {
	unsigned version;
	unsigned long long total, reserved, free, used;
};
struct process_v1 {
	unsigned pid;
	unsigned long long used;
};
struct process_v2 {
	unsigned pid;
	unsigned long long used;
	unsigned gi, ci;
};
struct process_use {
	unsigned pid;
	unsigned long long at_us;
	unsigned sm, mem, enc, dec;
};
struct utilization {
	unsigned gpu, memory;
};

#define API __attribute__((visibility("default")))
#define MIB (1ULL << 20)
enum { OK, NOT_SUPPORTED = 3, NOT_FOUND = 6, TOO_SMALL = 7, TIMED_OUT = 10, LOST = 15 };
#define PARTS_MAX 7
#define PART_BASE 1000 /* handles of parts: 1000 × (GPU + 1) + number */

static unsigned rounds;

/* The text behind "name=", or NULL. */
static const char *mood(const char *name)
{
	const char *at = getenv("PROCTOR_FAKE_NVML");
	size_t n = strlen(name);

	for (; at && *at; at = strchr(at, ' ') ? strchr(at, ' ') + 1 : "")
		if (strncmp(at, name, n) == 0 && (at[n] == '=' || at[n] == ' ' || !at[n]))
			return at[n] == '=' ? at + n + 1 : "";
	return NULL;
}

static unsigned long mood_number(const char *name, unsigned long otherwise)
{
	const char *text = mood(name);

	return text ? strtoul(text, NULL, 10) : otherwise;
}

static int mood_names(const char *name, const char *where)
{
	const char *text = mood(name);
	size_t n = strlen(where);

	for (; text && *text && *text != ' '; text = text + strcspn(text, ", ")) {
		text += *text == ',';
		if (strncmp(text, where, n) == 0 && strchr(", ", text[n]))
			return 1;
		if (!text[strcspn(text, ", ")])
			return strcmp(text, where) == 0;
	}
	return 0;
}

static int is_while(void)
{
	const char *text = mood("while");
	char path[512] = "";

	if (!text)
		return 1;
	snprintf(path, sizeof path, "%.*s", (int)strcspn(text, " "), text);
	return access(path, F_OK) == 0;
}

static int is_time(void)
{
	return rounds >= mood_number("after", 1) && is_while();
}

static void act(const char *where)
{
	if (strcmp(where, "init") != 0 && !is_time())
		return;
	if (mood_names("abort", where))
		abort();
	while (mood_names("hang", where))
		pause();
	if (mood_names("slow", where))
		usleep(50000);
}

static int is_part(device dev)
{
	return (size_t)dev >= PART_BASE;
}

/* The index of the GPU; for a part, that of its GPU. */
static unsigned index_of(device dev)
{
	return (unsigned)(is_part(dev) ? (size_t)dev / PART_BASE - 1 : (size_t)dev - 1);
}

static unsigned part_of(device dev)
{
	return (unsigned)((size_t)dev % PART_BASE);
}

static int refused(device dev, const char *what)
{
	const char *lost = mood("lost");

	if (lost && is_time() && strtoul(lost, NULL, 10) == index_of(dev))
		return LOST;
	return mood_names("unsupported", what) ? NOT_SUPPORTED : OK;
}

static void put_text(char *to, unsigned cap, const char *fmt, unsigned index)
{
	if (mood("garbage"))
		memset(to, '\xff', cap);
	else
		snprintf(to, cap, "%.40s%u", fmt, index);
}

API int nvmlInit(void);
API int nvmlInit(void)
{
	act("init");
	return (int)mood_number("init", OK);
}

API int nvmlDeviceGetCount(unsigned *n);
API int nvmlDeviceGetCount(unsigned *n)
{
	rounds++;
	act("count");
	*n = (unsigned)mood_number("gpus", 1);
	return is_time() ? (int)mood_number("count", OK) : OK;
}

API int nvmlDeviceGetHandleByIndex(unsigned i, device *ret);
API int nvmlDeviceGetHandleByIndex(unsigned i, device *ret)
{
	*ret = (device)(size_t)(i + 1);
	return refused(*ret, "handle");
}

API const char *nvmlErrorString(int code);
API const char *nvmlErrorString(int code)
{
	return code == 18 ? "Driver/library version mismatch" : "Unknown Error";
}

API int nvmlDeviceGetName(device dev, char *to, unsigned cap);
API int nvmlDeviceGetName(device dev, char *to, unsigned cap)
{
	put_text(to, cap, is_part(dev) ? "Fake GPU MIG 1g.5gb " : "Fake GPU ",
	         is_part(dev) ? part_of(dev) : index_of(dev));
	return refused(dev, "name");
}

API int nvmlDeviceGetUUID(device dev, char *to, unsigned cap);
API int nvmlDeviceGetUUID(device dev, char *to, unsigned cap)
{
	if (is_part(dev))
		put_text(to, cap, "MIG-00000000-0000-0000-0000-0000000000", 10 + part_of(dev));
	else
		put_text(to, cap, "GPU-00000000-0000-0000-0000-00000000000", index_of(dev));
	return refused(dev, "uuid");
}

API int nvmlDeviceGetUtilizationRates(device dev, struct utilization *ret);
API int nvmlDeviceGetUtilizationRates(device dev, struct utilization *ret)
{
	act("utilization");
	*ret = (struct utilization){ 50 + index_of(dev), 20 };
	if (mood("garbage"))
		ret->gpu = 4000000000u;
	return mood("mig") || mood("parts") ? NOT_SUPPORTED : refused(dev, "utilization");
}

/* What the driver keeps for itself is used here and not in v2. */
API int nvmlDeviceGetMemoryInfo(device dev, struct memory_v1 *ret);
API int nvmlDeviceGetMemoryInfo(device dev, struct memory_v1 *ret)
{
	*ret = (struct memory_v1){ 16384 * MIB, 15000 * MIB, 1384 * MIB };
	return refused(dev, "memory");
}

API int nvmlDeviceGetTemperature(device dev, int sensor, unsigned *ret);
API int nvmlDeviceGetTemperature(device dev, int sensor, unsigned *ret)
{
	*ret = sensor == 0 ? 61 : 999;
	return is_part(dev) ? NOT_SUPPORTED : refused(dev, "temperature");
}

API int nvmlDeviceGetPowerUsage(device dev, unsigned *ret);
API int nvmlDeviceGetPowerUsage(device dev, unsigned *ret)
{
	act("power");
	*ret = 123450;
	return is_part(dev) ? NOT_SUPPORTED : refused(dev, "power");
}

API int nvmlDeviceGetClockInfo(device dev, int which, unsigned *ret);
API int nvmlDeviceGetClockInfo(device dev, int which, unsigned *ret)
{
	*ret = which == 1 ? 1410 : which == 2 ? 1215 : 1;
	return is_part(dev) ? NOT_SUPPORTED : refused(dev, "clock");
}

struct fake_process {
	unsigned pid, mib, sm;
};

/* Line number i of those about this GPU. */
static int read_process(const char *mood_path, device dev, unsigned i, struct fake_process *ret)
{
	char path[512] = "", line[128];
	unsigned gpu;
	int found = 0;
	FILE *file;

	snprintf(path, sizeof path, "%.*s", (int)strcspn(mood_path, " "), mood_path);
	file = fopen(path, "r");
	while (file && !found && fgets(line, sizeof line, file)) {
		char *at = line;

		gpu = (unsigned)strtoul(at, &at, 10);
		ret->pid = (unsigned)strtoul(at, &at, 10);
		ret->mib = (unsigned)strtoul(at, &at, 10);
		ret->sm = (unsigned)strtoul(at, &at, 10);
		found = gpu == index_of(dev) && i-- == 0;
	}
	if (file)
		fclose(file);
	return found;
}

/* Process number i of the mood; 0 when there are fewer. */
static int find_process(device dev, unsigned i, struct fake_process *ret)
{
	const char *text = index_of(dev) == 0 ? mood("pids") : NULL;
	char *end;

	if (is_part(dev)) /* every so many of those on the GPU */
		return find_process((device)(size_t)(index_of(dev) + 1),
		                    part_of(dev) + i * (unsigned)mood_number("parts", 1), ret);
	if (mood("use"))
		return read_process(mood("use"), dev, i, ret);
	for (; text && *text && *text != ' ' && i--;)
		text += strcspn(text, ", ") + (text[strcspn(text, ", ")] == ',');
	if (!text || !*text || *text == ' ')
		return 0;
	ret->pid = (unsigned)strtoul(text, &end, 10);
	ret->mib = *end == ':' ? (unsigned)strtoul(end + 1, &end, 10) : 0;
	ret->sm = *end == ':' ? (unsigned)strtoul(end + 1, &end, 10) : 0;
	return 1;
}

API int nvmlDeviceGetComputeRunningProcesses(device dev, unsigned *n, struct process_v1 *to);
API int nvmlDeviceGetComputeRunningProcesses(device dev, unsigned *n, struct process_v1 *to)
{
	struct fake_process p;
	unsigned i;

	for (i = 0; find_process(dev, i, &p) && i < *n; i++)
		to[i] = (struct process_v1){ p.pid, p.mib * MIB };
	*n = i;
	return refused(dev, "processes");
}

#ifndef FAKE_OLD

API int nvmlInit_v2(void);
API int nvmlInit_v2(void)
{
	return nvmlInit();
}

API int nvmlShutdown(void);
API int nvmlShutdown(void)
{
	return OK;
}

API int nvmlDeviceGetCount_v2(unsigned *n);
API int nvmlDeviceGetCount_v2(unsigned *n)
{
	return nvmlDeviceGetCount(n);
}

API int nvmlDeviceGetHandleByIndex_v2(unsigned i, device *ret);
API int nvmlDeviceGetHandleByIndex_v2(unsigned i, device *ret)
{
	return nvmlDeviceGetHandleByIndex(i, ret);
}

API int nvmlSystemGetDriverVersion(char *to, unsigned cap);
API int nvmlSystemGetDriverVersion(char *to, unsigned cap)
{
	put_text(to, cap, "535.104.0", 5);
	return OK;
}

API int nvmlDeviceGetMemoryInfo_v2(device dev, struct memory_v2 *ret);
API int nvmlDeviceGetMemoryInfo_v2(device dev, struct memory_v2 *ret)
{
	if (ret->version != (sizeof *ret | 2u << 24))
		return 25; /* another layout than we know */
	ret->total = (is_part(dev) ? 4864 : 16384) * MIB;
	ret->reserved = 384 * MIB;
	ret->free = (is_part(dev) ? 4000 : 15000) * MIB;
	ret->used = (is_part(dev) ? 100 : 1000) * MIB;
	return refused(dev, "memory");
}

API int nvmlDeviceGetComputeRunningProcesses_v3(device dev, unsigned *n, struct process_v2 *to);
API int nvmlDeviceGetComputeRunningProcesses_v3(device dev, unsigned *n, struct process_v2 *to)
{
	struct fake_process p;
	unsigned i;

	act("processes");
	for (i = 0; find_process(dev, i, &p) && i < *n; i++)
		to[i] = (struct process_v2){ p.pid, p.mib ? p.mib * MIB : ~0ULL,
			                     mood("mig") ? 1 + i : ~0u, mood("mig") ? 0 : ~0u };
	*n = mood("garbage") ? ~0u : i;
	return refused(dev, "processes");
}

API int nvmlDeviceGetGraphicsRunningProcesses_v3(device dev, unsigned *n, struct process_v2 *to);
API int nvmlDeviceGetGraphicsRunningProcesses_v3(device dev, unsigned *n, struct process_v2 *to)
{
	return nvmlDeviceGetComputeRunningProcesses_v3(dev, n, to);
}

/* Two figures of each process since the time given; the newer one comes first. */
API int nvmlDeviceGetProcessUtilization(device dev, struct process_use *to, unsigned *n,
                                        unsigned long long since_us);
API int nvmlDeviceGetProcessUtilization(device dev, struct process_use *to, unsigned *n,
                                        unsigned long long since_us)
{
	struct fake_process p;
	unsigned i, count = 0;

	if (mood("mig") || mood("parts"))
		return NOT_SUPPORTED;
	for (i = 0; find_process(dev, i, &p) && count + 2 <= *n; i++) {
		unsigned sm = mood("garbage") ? 4000000000u : p.sm;

		to[count++] = (struct process_use){ p.pid, since_us + 2000, sm, 5, 0, 0 };
		to[count++] = (struct process_use){ p.pid, since_us + 1000, 99, 5, 0, 0 };
	}
	*n = count;
	return count ? refused(dev, "processes") : NOT_FOUND;
}

/* ---- what is wrong with them ---- */

struct fake_state {
	unsigned long long throttle, corrected, uncorrected, xid;
};

static int read_state(device dev, struct fake_state *ret)
{
	char path[512] = "", line[128];
	const char *mood_path = mood("state");
	int found = 0;
	FILE *file;

	if (!mood_path || is_part(dev))
		return 0;
	snprintf(path, sizeof path, "%.*s", (int)strcspn(mood_path, " "), mood_path);
	file = fopen(path, "r");
	while (file && !found && fgets(line, sizeof line, file)) {
		char *at = line;

		found = strtoul(at, &at, 10) == index_of(dev);
		ret->throttle = strtoull(at, &at, 16);
		ret->corrected = strtoull(at, &at, 10);
		ret->uncorrected = strtoull(at, &at, 10);
		ret->xid = strtoull(at, &at, 10);
	}
	if (file)
		fclose(file);
	return found;
}

API int nvmlDeviceGetCurrentClocksThrottleReasons(device dev, unsigned long long *ret);
API int nvmlDeviceGetCurrentClocksThrottleReasons(device dev, unsigned long long *ret)
{
	struct fake_state s;

	if (!read_state(dev, &s))
		return NOT_SUPPORTED;
	*ret = mood("garbage") ? ~0ULL : s.throttle;
	return refused(dev, "throttle");
}

API int nvmlDeviceGetTotalEccErrors(device dev, int severity, int since, unsigned long long *ret);
API int nvmlDeviceGetTotalEccErrors(device dev, int severity, int since, unsigned long long *ret)
{
	struct fake_state s;

	if (!read_state(dev, &s) || since != 0)
		return NOT_SUPPORTED;
	*ret = severity == 0 ? s.corrected : s.uncorrected;
	return refused(dev, "ecc");
}

struct fake_event {
	device dev;
	unsigned long long type, data;
	unsigned gi, ci;
};

static int is_registered[64];
static unsigned long long xids_seen[64];

API int nvmlEventSetCreate(void **ret);
API int nvmlEventSetCreate(void **ret)
{
	*ret = is_registered;
	return mood("state") ? OK : NOT_SUPPORTED;
}

API int nvmlDeviceRegisterEvents(device dev, unsigned long long types, void *set);
API int nvmlDeviceRegisterEvents(device dev, unsigned long long types, void *set)
{
	if (types != 8 || set != is_registered || index_of(dev) >= 64)
		return NOT_SUPPORTED;
	is_registered[index_of(dev)] = 1;
	return refused(dev, "events");
}

/* A number that was not there before has just happened. */
API int nvmlEventSetWait_v2(void *set, struct fake_event *ret, unsigned timeout_ms);
API int nvmlEventSetWait_v2(void *set, struct fake_event *ret, unsigned timeout_ms)
{
	struct fake_state s;

	(void)set;
	act("events");
	for (size_t i = 0; i < 64; i++) {
		device dev = (device)(i + 1);

		if (!is_registered[i] || !read_state(dev, &s) || s.xid == xids_seen[i])
			continue;
		xids_seen[i] = s.xid;
		*ret = (struct fake_event){ dev, 8, s.xid, ~0u, ~0u };
		return OK;
	}
	usleep(timeout_ms * 1000);
	return TIMED_OUT;
}

/* ---- parts ---- */

API int nvmlDeviceGetMigMode(device dev, unsigned *now, unsigned *next);
API int nvmlDeviceGetMigMode(device dev, unsigned *now, unsigned *next)
{
	*now = *next = mood("parts") != NULL;
	return mood("parts") ? refused(dev, "parts") : NOT_SUPPORTED;
}

API int nvmlDeviceGetMaxMigDeviceCount(device dev, unsigned *ret);
API int nvmlDeviceGetMaxMigDeviceCount(device dev, unsigned *ret)
{
	*ret = PARTS_MAX;
	return refused(dev, "parts");
}

API int nvmlDeviceGetMigDeviceHandleByIndex(device dev, unsigned i, device *ret);
API int nvmlDeviceGetMigDeviceHandleByIndex(device dev, unsigned i, device *ret)
{
	*ret = (device)(size_t)(PART_BASE * (index_of(dev) + 1) + i);
	return i < mood_number("parts", 0) ? OK : NOT_FOUND;
}

#endif
#else

__attribute__((visibility("default"))) int nvmlNothing;
int nvmlNothing = 1;

#endif
