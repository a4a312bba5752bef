/* SPDX-License-Identifier: Apache-2.0 */
/* Facts about the processor, from Linux. */
#include "cli/machine.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "climb/meter.h"
#include "core/cores.h"
#include "core/gpu.h"

static void list_instructions(char *list, size_t bytes) {
    snprintf(list, bytes, "%s",
#if defined(__x86_64__)
             "SSE2"
#elif defined(__aarch64__)
             "NEON"
#else
             "none known"
#endif
    );
#if defined(__x86_64__)
    const struct {
        bool there;
        const char *name;
    } sets[] = {
        {__builtin_cpu_supports("avx"), " AVX"},
        {__builtin_cpu_supports("avx2"), " AVX2"},
        {__builtin_cpu_supports("fma"), " FMA"},
        {__builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
             __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512vl"),
         " AVX-512"},
    };
    for (size_t k = 0; k < sizeof sets / sizeof *sets; k++) {
        const size_t used = strlen(list);
        snprintf(list + used, bytes - used, "%s", sets[k].there ? sets[k].name : "");
    }
#endif
}

static size_t positive(long value) {
    return value > 0 ? (size_t)value : 0;
}

void wi_cpu_describe(wi_cpu_facts *facts) {
    *facts = (wi_cpu_facts){.cores = wi_cores_allowed()};
    wi_cpu_name(facts->model, sizeof facts->model);
    facts->level_1 = positive(sysconf(_SC_LEVEL1_DCACHE_SIZE));
    facts->level_2 = positive(sysconf(_SC_LEVEL2_CACHE_SIZE));
    facts->level_3 = positive(sysconf(_SC_LEVEL3_CACHE_SIZE));
    facts->memory_bytes = wi_memory_bytes();
    list_instructions(facts->instructions, sizeof facts->instructions);
}

void wi_place_title(const weft_context *ctx, char *title, size_t bytes) {
    if (ctx->kind == WI_CPU) {
        wi_cpu_facts facts;
        wi_cpu_describe(&facts);
        snprintf(title, bytes, "%s", facts.model);
        return;
    }
    wi_gpu_facts facts;
    snprintf(title, bytes, "%s", wi_gpu_describe(ctx->device, &facts) ? facts.name : "unknown GPU");
}
