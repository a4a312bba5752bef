/* SPDX-License-Identifier: Apache-2.0 */
/* Cores by affinity, by control groups' quotas and by OMP_NUM_THREADS. */
#include "core/cores.h"

#include <errno.h>
#include <limits.h>
#include <sched.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/core.h"

enum {
    PATH_BYTES = 1024,
    LINE_BYTES = 256,
    MOST_CORES = 1 << 20
};

static int lesser(int a, int b) {
    return a < b ? a : b;
}

/* wi_cores_allowed on a system with more cores than a cpu_set_t holds: sched_getaffinity fails
 * until the set is large enough for all cores that the kernel knows. */
static int allowed_of_many(void) {
    int cores = 0;
    for (int room = 2 * CPU_SETSIZE; room <= MOST_CORES && cores == 0; room *= 2) {
        const size_t bytes = CPU_ALLOC_SIZE(room);
        cpu_set_t *const set = wi_host_alloc(bytes);
        if (set && sched_getaffinity(0, bytes, set) == 0)
            cores = CPU_COUNT_S(bytes, set);
        const bool small = set && cores == 0 && errno == EINVAL;
        wi_host_free(set);
        if (!small)
            break;
    }
    return cores > 0 ? cores : 1;
}

int wi_cores_allowed(void) {
    cpu_set_t set;
    if (sched_getaffinity(0, sizeof set, &set) != 0)
        return allowed_of_many();
    const int cores = CPU_COUNT(&set);
    return cores > 0 ? cores : 1;
}

/* Reads the first line of a file, at most LINE_BYTES - 1 bytes of it. */
static bool read_line(const char *path, char line[LINE_BYTES]) {
    FILE *const file = fopen(path, "re");
    const bool read = file && fgets(line, LINE_BYTES, file);
    if (file)
        fclose(file);
    return read;
}

/* The cores that a quota of time in each period amounts to; 0 for no quota, "max" or -1. */
static int cores_of(const char *quota, const char *period) {
    char *end;
    const long long used = strtoll(quota, &end, 10);
    const long long each = end == quota ? 0 : strtoll(period, &end, 10);
    if (used <= 0 || each <= 0 || used / each >= MOST_CORES)
        return 0;
    return (int)(used / each + (used % each != 0));
}

/* The quota of one group: in one file in version 2, in two in version 1. */
static int quota_in(const char *folder) {
    char path[PATH_BYTES + 32], quota[LINE_BYTES], period[LINE_BYTES];
    snprintf(path, sizeof path, "%s/cpu.max", folder);
    if (read_line(path, quota)) {
        const char *const space = strchr(quota, ' ');
        return space ? cores_of(quota, space) : 0;
    }
    snprintf(path, sizeof path, "%s/cpu.cfs_quota_us", folder);
    if (!read_line(path, quota))
        return 0;
    snprintf(path, sizeof path, "%s/cpu.cfs_period_us", folder);
    return read_line(path, period) ? cores_of(quota, period) : 0;
}

/* The smallest quota of a group and of the groups above it. In a container the path of the group
 * may not exist; those of its parents that exist still count. */
static int quota_up_from(const char *mount, const char *group) {
    char folder[PATH_BYTES];
    const size_t top = strlen(mount);
    int least = 0;
    if (snprintf(folder, sizeof folder, "%s%s", mount, group) >= (int)sizeof folder)
        return 0;
    for (;;) {
        const int cores = quota_in(folder);
        if (cores > 0)
            least = least > 0 ? lesser(least, cores) : cores;
        char *const slash = strrchr(folder + top, '/');
        if (!slash)
            return least;
        *slash = '\0';
    }
}

/* Is cpu among the controllers, as in "cpu,cpuacct"? */
static bool has_cpu(const char *controllers) {
    for (const char *at = controllers; at; at = strchr(at, ',')) {
        at += *at == ',';
        if (strncmp(at, "cpu", 3) == 0 && (at[3] == ',' || at[3] == '\0'))
            return true;
    }
    return false;
}

/* One line of /proc/self/cgroup, "4:cpu,cpuacct:/a/b"; "0::/a/b" is of version 2. */
static int quota_of_line(const char *root, char *line) {
    char mount[PATH_BYTES];
    char *const controllers = strchr(line, ':');
    char *const group = controllers ? strchr(controllers + 1, ':') : NULL;
    if (!group)
        return 0;
    *group = '\0';
    line[strcspn(line, ":")] = '\0';
    group[1 + strcspn(group + 1, "\n")] = '\0';
    const char *const named = controllers + 1;
    if (*named && !has_cpu(named))
        return 0;
    snprintf(mount, sizeof mount, "%s/sys/fs/cgroup%s%s", root, *named ? "/" : "", named);
    return quota_up_from(mount, strcmp(group + 1, "/") == 0 ? "" : group + 1);
}

int wi_cores_of_quota(const char *root) {
    char path[PATH_BYTES], line[PATH_BYTES];
    int least = 0;
    /* half of the room is left for longer paths that begin with root */
    if (snprintf(path, sizeof path, "%s/proc/self/cgroup", root) >= (int)sizeof path / 2)
        return 0;
    FILE *const file = fopen(path, "re");
    while (file && fgets(line, sizeof line, file)) {
        const int cores = quota_of_line(root, line);
        if (cores > 0)
            least = least > 0 ? lesser(least, cores) : cores;
    }
    if (file)
        fclose(file);
    return least;
}

int wi_cores_usual(void) {
    int cores = wi_cores_allowed();
    const int quota = wi_cores_of_quota("");
    if (quota > 0)
        cores = lesser(cores, quota);
    const char *const wish = getenv("OMP_NUM_THREADS"); /* "4", or "4,2" for levels */
    const long threads = wish ? strtol(wish, NULL, 10) : 0;
    return threads > 0 && threads < cores ? (int)threads : cores;
}
