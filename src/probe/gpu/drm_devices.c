/* SPDX-License-Identifier: MIT */
#include "probe/gpu/drm_devices.h"

#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/defs.h"
#include "kernel/kernel_file.h"

#define DRM_DIR "sys/class/drm"
#define CARDS_MAX 256

/* Without files of figures in sysfs: what their clients' fdinfo shows is all there is. */
static const struct drm_driver drm_nouveau = { "nouveau", "NVIDIA", NULL },
			       drm_panfrost = { "panfrost", "Arm Mali", NULL },
			       drm_panthor = { "panthor", "Arm Mali", NULL },
			       drm_msm = { "msm", "Qualcomm", NULL },
			       drm_v3d = { "v3d", "Broadcom", NULL };

static const struct drm_driver *const drivers[] = {
	&drm_amdgpu,   &drm_i915,    &drm_xe,  &drm_nouveau,
	&drm_panfrost, &drm_panthor, &drm_msm, &drm_v3d,
};

static const struct drm_driver *find_driver(const char *name)
{
	for (size_t i = 0; i < ARRAY_LEN(drivers); i++)
		if (strcmp(drivers[i]->name, name) == 0)
			return drivers[i];
	return NULL;
}

/* ---- finding them ---------------------------------------------------------------------------- */

static void copy_text(struct scan text, char *to, size_t cap)
{
	size_t n = scan_left(&text);

	if (n >= cap || memchr(text.p, '\0', n))
		n = 0;
	memcpy(to, text.p, n);
	to[n] = '\0';
}

static void lower(char *text)
{
	for (; *text; text++)
		if (*text >= 'A' && *text <= 'Z')
			*text = (char)(*text - 'A' + 'a');
}

/* DRIVER=amdgpu
 * PCI_ID=1002:73BF
 * PCI_SLOT_NAME=0000:03:00.0 */
void drm_uevent_parse(struct scan text, struct drm_uevent *ret)
{
	struct scan line;

	*ret = (struct drm_uevent){ 0 };
	while (scan_line(&text, &line)) {
		if (scan_lit(&line, "DRIVER="))
			copy_text(line, ret->driver, sizeof ret->driver);
		else if (scan_lit(&line, "PCI_SLOT_NAME="))
			copy_text(line, ret->bus, sizeof ret->bus);
		else if (scan_lit(&line, "PCI_ID="))
			copy_text(line, ret->id, sizeof ret->id);
	}
	lower(ret->id);
}

/* A device that is not on a PCI bus is named after its directory. */
static void name_by_link(int card_fd, char to[GPU_BUS_MAX])
{
	char target[256];
	ssize_t n = readlinkat(card_fd, "device", target, sizeof target - 1);
	const char *slash;

	if (n <= 0)
		return;
	target[n] = '\0';
	slash = strrchr(target, '/');
	if (slash)
		copy_text(scan_str(slash + 1), to, GPU_BUS_MAX);
}

static void find_nodes(int device_fd, struct drm_device *to)
{
	cleanup(closep) int fd = openat(device_fd, "drm", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	struct kernel_list list;
	const char *name;
	int error;
	size_t n = 0;

	if (fd < 0)
		return;
	kernel_file_list_begin(&list);
	while (n < DRM_NODES_MAX && (name = kernel_file_list_next(&list, fd, &error)))
		if (strncmp(name, "card", 4) == 0 || strncmp(name, "render", 6) == 0)
			copy_text(scan_str(name), to->nodes[n++], DRM_TEXT_SHORT);
}

static int open_card(int root_fd, unsigned card)
{
	char path[48];

	snprintf(path, sizeof path, DRM_DIR "/card%u", card);
	return openat(root_fd, path, O_PATH | O_DIRECTORY | O_CLOEXEC);
}

static bool read_card(int root_fd, unsigned card, struct drm_device *ret)
{
	cleanup(closep) int card_fd = open_card(root_fd, card);
	cleanup(closep) int device_fd = -1;
	struct drm_uevent uevent;
	char text[2048];
	ssize_t n;

	if (card_fd < 0)
		return false;
	device_fd = openat(card_fd, "device", O_PATH | O_DIRECTORY | O_CLOEXEC);
	n = device_fd < 0 ? -1 : kernel_file_read(device_fd, "uevent", text, sizeof text);
	if (n <= 0)
		return false;
	drm_uevent_parse(scan_mem(text, (size_t)n), &uevent);
	*ret = (struct drm_device){ .driver = find_driver(uevent.driver), .card = card };
	if (!ret->driver)
		return false;
	memcpy(ret->bus, uevent.bus, sizeof ret->bus);
	memcpy(ret->id, uevent.id, sizeof ret->id);
	if (!ret->bus[0])
		name_by_link(card_fd, ret->bus);
	find_nodes(device_fd, ret);
	return true;
}

/* "card1", but not "card1-HDMI-A-1". */
static bool is_card(const char *name, unsigned *ret)
{
	struct scan s = scan_str(name);
	uint64_t v;

	if (!scan_lit(&s, "card") || !scan_u64(&s, &v) || !scan_at_end(&s) || v >= CARDS_MAX)
		return false;
	*ret = (unsigned)v;
	return true;
}

static void add_device(struct drm_devices *d, const struct drm_device *found)
{
	int at = found->bus[0] ? drm_devices_by_bus(d, found->bus) : -1;

	if (at >= 0)
		d->at[at] = *found; /* it may have come back as another card */
	else if (d->count < DRM_DEVICES_MAX)
		d->at[d->count++] = *found;
}

/* In the order of their numbers. */
void drm_devices_find(int root_fd, struct drm_devices *d)
{
	cleanup(closep) int fd = openat(root_fd, DRM_DIR, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	bool cards[CARDS_MAX] = { false };
	struct kernel_list list;
	struct drm_device found;
	const char *name;
	unsigned card;
	int error;

	if (fd < 0)
		return;
	kernel_file_list_begin(&list);
	while ((name = kernel_file_list_next(&list, fd, &error)))
		if (is_card(name, &card))
			cards[card] = true;
	for (card = 0; card < CARDS_MAX; card++)
		if (cards[card] && read_card(root_fd, card, &found))
			add_device(d, &found);
}

int drm_devices_by_bus(const struct drm_devices *d, const char *bus)
{
	for (size_t i = 0; i < d->count; i++)
		if (strcmp(d->at[i].bus, bus) == 0)
			return (int)i;
	return -1;
}

int drm_devices_by_node(const struct drm_devices *d, const char *node)
{
	for (size_t i = 0; i < d->count; i++)
		for (size_t k = 0; k < DRM_NODES_MAX; k++)
			if (*node && strcmp(d->at[i].nodes[k], node) == 0)
				return (int)i;
	return -1;
}

/* ---- their figures --------------------------------------------------------------------------- */

/* The number that is all of a small file; false: there is none. */
static bool read_number(int dir_fd, const char *name, uint64_t *ret)
{
	char text[64];
	ssize_t n = kernel_file_read(dir_fd, name, text, sizeof text);
	struct scan s = scan_mem(text, n > 0 ? (size_t)n : 0), line;
	uint64_t v;

	if (!scan_line(&s, &line) || !scan_u64(&line, &v))
		return false;
	scan_blanks(&line);
	if (!scan_at_end(&line))
		return false;
	*ret = v;
	return true;
}

void drm_read_reading(int dir_fd, const char *name, uint64_t divisor, enum gpu_metric id,
                      struct gpu_readings *to)
{
	uint64_t v;

	if (!readings_has(to, id) && read_number(dir_fd, name, &v))
		readings_set(to, id, v / divisor);
}

/* hwmon/hwmon3/temp1_input:61000 (m°C), power1_average:123450000 (µW); newer chips have
 * power1_input. */
void drm_read_sensors(int device_fd, struct gpu_readings *to)
{
	cleanup(closep) int fd = openat(device_fd, "hwmon", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	struct kernel_list list;
	const char *name;
	int error;

	if (fd < 0)
		return;
	kernel_file_list_begin(&list);
	while ((name = kernel_file_list_next(&list, fd, &error))) {
		cleanup(closep) int sensors_fd = openat(fd, name, O_PATH | O_DIRECTORY | O_CLOEXEC);

		if (sensors_fd < 0)
			continue;
		drm_read_reading(sensors_fd, "temp1_input", 1000, GPU_TEMPERATURE, to);
		drm_read_reading(sensors_fd, "power1_average", 1000, GPU_POWER, to);
		drm_read_reading(sensors_fd, "power1_input", 1000, GPU_POWER, to);
	}
}

/* Reading the figures of a GPU that sleeps would wake it up. */
static bool is_asleep(int device_fd)
{
	char text[32];
	ssize_t n = kernel_file_read(device_fd, "power/runtime_status", text, sizeof text);
	struct scan s = scan_mem(text, n > 0 ? (size_t)n : 0);

	return scan_lit(&s, "suspend"); /* suspended, suspending */
}

static void read_device(int root_fd, const struct drm_device *d, struct gpu_sample *to)
{
	cleanup(closep) int card_fd = open_card(root_fd, d->card);
	cleanup(closep) int device_fd = -1;

	if (card_fd >= 0)
		device_fd = openat(card_fd, "device", O_PATH | O_DIRECTORY | O_CLOEXEC);
	to->is_lost = device_fd < 0;
	if (device_fd >= 0 && d->driver->read && !is_asleep(device_fd))
		d->driver->read(device_fd, card_fd, to);
}

void drm_devices_read(int root_fd, struct drm_devices *d, struct gpu_report *ret)
{
	drm_devices_find(root_fd, d);
	gpu_report_begin(ret);
	ret->gpu_count = (uint32_t)d->count;
	for (size_t i = 0; i < d->count; i++) {
		struct gpu_sample *gpu = &ret->gpus[i];

		*gpu = (struct gpu_sample){ .index = (uint32_t)i };
		memcpy(gpu->bus, d->at[i].bus, sizeof gpu->bus);
		read_device(root_fd, &d->at[i], gpu);
		if (!gpu->name[0])
			snprintf(gpu->name, sizeof gpu->name, "%s %s", d->at[i].driver->maker,
			         d->at[i].id[0] ? d->at[i].id : d->at[i].driver->name);
		if (!gpu->uuid[0])
			snprintf(gpu->uuid, sizeof gpu->uuid, "%s", gpu->bus);
	}
}
