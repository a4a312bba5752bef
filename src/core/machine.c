/* SPDX-License-Identifier: Apache-2.0 */
/* The figures of a cpu. Few of them can be asked for; what is assumed is what servers of recent
 * years have in common. */
#include "core/machine.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "core/core.h"
#include "cpu/isa.h"

static const double usual_hz = 3e9;
/* Of memory: what one thread moves, and what the memory of a processor gives all of them. */
static const double thread_bytes_per_s = 20e9, most_bytes_per_s = 200e9;
static const double cache_bytes_per_cycle = 10; /* of the last cache, for one thread */
static const double wake_s = 5e-6;

enum {
    USUAL_CACHE_BYTES = 32 << 20
};

static size_t cache_bytes(void) {
    const long level_3 = sysconf(_SC_LEVEL3_CACHE_SIZE), level_2 = sysconf(_SC_LEVEL2_CACHE_SIZE);
    const long last = level_3 > 0 ? level_3 : level_2;
    return last > 0 ? (size_t)last : USUAL_CACHE_BYTES;
}

/* Two multiply-adds a cycle of full vectors, or an addition and a multiplication where there is no
 * fused one. */
static double f64_flops_per_cycle(void) {
    switch (wi_cpu_isa()) {
    case WI_ISA_AVX512:
        return 2 * 2 * 8;
    case WI_ISA_AVX2:
        return 2 * 2 * 4;
    default:
        return 2 * 2;
    }
}

wi_machine wi_machine_of_cpu(int threads) {
    const double flops = threads * usual_hz * f64_flops_per_cycle();
    const double memory = threads * thread_bytes_per_s;
    return (wi_machine){
        .bytes_per_s = memory < most_bytes_per_s ? memory : most_bytes_per_s,
        .cache_bytes_per_s = threads * usual_hz * cache_bytes_per_cycle,
        .cache_bytes = cache_bytes(),
        .launch_s = threads > 1 ? wake_s : 0,
        .f32_flops = 2 * flops,
        .f64_flops = flops,
        .units = threads,
        .unit_hz = usual_hz,
    };
}

/* The value of the first line of /proc/cpuinfo that begins with `key`. */
static bool read_cpuinfo(const char *key, char *value, size_t bytes) {
    char line[1024];
    bool found = false;
    FILE *const file = fopen("/proc/cpuinfo", "r");
    if (!file)
        return false;
    while (!found && fgets(line, sizeof line, file)) {
        const char *const colon = strchr(line, ':');
        if (!colon || strncmp(line, key, strlen(key)) != 0)
            continue;
        const char *const text = colon + 1 + strspn(colon + 1, " \t");
        snprintf(value, bytes, "%.*s", (int)strcspn(text, "\n"), text);
        found = true;
    }
    fclose(file);
    return found;
}

void wi_cpu_name(char *name, size_t bytes) {
    if (!read_cpuinfo("model name", name, bytes) && !read_cpuinfo("Model", name, bytes))
        snprintf(name, bytes, "unknown processor");
}

const wi_machine *wi_machine_of(const weft_context *ctx) {
    return &ctx->machine;
}

double wi_no_rival(const weft_context *ctx, const void *args) {
    (void)ctx;
    (void)args;
    return 0;
}
