/* SPDX-License-Identifier: Apache-2.0 */
/* How many threads a process should use: quotas of control groups, in folders made here, with the
 * caller's affinity and OMP_NUM_THREADS. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "core/cores.h"
#include "testing.h"

enum {
    PATH_BYTES = 512,
    MOST_FILES = 8
};

typedef struct file {
    const char *path, *text;
} file;

/* A process's groups, and how many cores their quotas allow; 0: no quota. */
typedef struct groups {
    file files[MOST_FILES];
    int cores;
} groups;

static const groups trees[] = {
    {{{NULL, NULL}}, 0},
    {{{"proc/self/cgroup", "0::/\n"}, {"sys/fs/cgroup/cpu.max", "max 100000\n"}}, 0},
    {{{"proc/self/cgroup", "0::/\n"}, {"sys/fs/cgroup/cpu.max", "200000 100000\n"}}, 2},
    {{{"proc/self/cgroup", "0::/\n"}, {"sys/fs/cgroup/cpu.max", "150000 100000\n"}}, 2},
    {{{"proc/self/cgroup", "0::/\n"}, {"sys/fs/cgroup/cpu.max", "1000 100000\n"}}, 1},
    {{{"proc/self/cgroup", "0::/\n"}, {"sys/fs/cgroup/cpu.max", "200000\n"}}, 0},
    {{{"proc/self/cgroup", "0::/\n"}, {"sys/fs/cgroup/cpu.max", "200000 0\n"}}, 0},
    {{{"proc/self/cgroup", "0::/\n"}, {"sys/fs/cgroup/cpu.max", "nonsense\n"}}, 0},
    /* The smallest quota of a group and those above it. */
    {{{"proc/self/cgroup", "0::/a/b\n"},
      {"sys/fs/cgroup/a/cpu.max", "300000 100000\n"},
      {"sys/fs/cgroup/a/b/cpu.max", "max 100000\n"}},
     3},
    {{{"proc/self/cgroup", "0::/a/b\n"},
      {"sys/fs/cgroup/a/cpu.max", "300000 100000\n"},
      {"sys/fs/cgroup/a/b/cpu.max", "700000 100000\n"}},
     3},
    {{{"proc/self/cgroup", "0::/not/here\n"}, {"sys/fs/cgroup/cpu.max", "400000 100000\n"}}, 4},
    /* Version 1, and both together. */
    {{{"proc/self/cgroup", "5:memory:/m\n4:cpu,cpuacct:/a\n1:name=systemd:/s\n0::/s\n"},
      {"sys/fs/cgroup/cpu,cpuacct/a/cpu.cfs_quota_us", "250000\n"},
      {"sys/fs/cgroup/cpu,cpuacct/a/cpu.cfs_period_us", "100000\n"}},
     3},
    {{{"proc/self/cgroup", "4:cpuacct,cpu:/a\n"},
      {"sys/fs/cgroup/cpuacct,cpu/a/cpu.cfs_quota_us", "-1\n"},
      {"sys/fs/cgroup/cpuacct,cpu/a/cpu.cfs_period_us", "100000\n"},
      {"sys/fs/cgroup/cpuacct,cpu/cpu.cfs_quota_us", "500000\n"},
      {"sys/fs/cgroup/cpuacct,cpu/cpu.cfs_period_us", "100000\n"}},
     5},
    {{{"proc/self/cgroup", "4:cpuset:/a\n"},
      {"sys/fs/cgroup/cpuset/a/cpu.cfs_quota_us", "100000\n"},
      {"sys/fs/cgroup/cpuset/a/cpu.cfs_period_us", "100000\n"}},
     0},
};

/* Creates a file, and the folders it is in. */
static void put(const char *root, const file *f) {
    char path[PATH_BYTES];
    snprintf(path, sizeof path, "%s/%s", root, f->path);
    for (char *at = path + strlen(root) + 1; (at = strchr(at, '/')); at++) {
        *at = '\0';
        mkdir(path, 0700);
        *at = '/';
    }
    FILE *const out = fopen(path, "w");
    assert_non_null(out);
    assert_true(fputs(f->text, out) >= 0);
    assert_int_equal(fclose(out), 0);
}

/* Removes the file, and those of its folders that are then empty. */
static void drop(const char *root, const file *f) {
    char path[PATH_BYTES];
    snprintf(path, sizeof path, "%s/%s", root, f->path);
    unlink(path);
    for (char *slash; (slash = strrchr(path + strlen(root) + 1, '/'));) {
        *slash = '\0';
        rmdir(path);
    }
    rmdir(path);
}

static void test_quotas(void **state) {
    (void)state;
    char root[] = "/tmp/weft_cores_XXXXXX";
    assert_non_null(mkdtemp(root));
    for (size_t k = 0; k < sizeof trees / sizeof *trees; k++) {
        for (const file *f = trees[k].files; f->path; f++)
            put(root, f);
        const int cores = wi_cores_of_quota(root);
        for (const file *f = trees[k].files; f->path; f++)
            drop(root, f);
        if (cores != trees[k].cores)
            fail_msg("tree %zu: %d cores, should be %d", k, cores, trees[k].cores);
    }
    assert_int_equal(rmdir(root), 0);
}

static void test_usual(void **state) {
    (void)state;
    static const char *const no_wishes[] = {"", "many", "0", "-3", "1000000"};
    unsetenv("OMP_NUM_THREADS");
    const int all = wi_cores_usual();
    assert_true(all >= 1 && all <= wi_cores_allowed());
    for (size_t k = 0; k < sizeof no_wishes / sizeof *no_wishes; k++) {
        setenv("OMP_NUM_THREADS", no_wishes[k], 1);
        assert_int_equal(wi_cores_usual(), all);
    }
    setenv("OMP_NUM_THREADS", "1,8", 1);
    assert_int_equal(wi_cores_usual(), 1);
    unsetenv("OMP_NUM_THREADS");
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_quotas),
        cmocka_unit_test(test_usual),
    };
    return cmocka_run_group_tests_name("cores", tests, NULL, NULL);
}
