/* SPDX-License-Identifier: Apache-2.0 */
/* `weft info`: this build, the processor and every GPU. */
#include <stdio.h>
#include <stdlib.h>

#include "blend/blend.h"
#include "cli/info.h"
#include "cli/machine.h"
#include "cli/options.h"
#include "cli/text.h"
#include "comm/nccl.h"

#if defined(__clang__)
#    define COMPILER "clang " __clang_version__
#else
#    define COMPILER "gcc " __VERSION__
#endif

#ifdef WEFT_DEMO
const bool wi_is_demo_build = true;
#else
const bool wi_is_demo_build = false;
#endif

void wi_info_field(const char *name, const char *value) {
    printf("  %-14s ", name);
    wi_print_wrapped(value, 17, 17);
}

void wi_info_heading(const char *title, const char *rest) {
    wi_print_line(stdout, 2, "%s%s%s  %s", wi_style_on(stdout, WI_BOLD), title,
                  wi_style_on(stdout, WI_PLAIN), rest);
}

static const char *version_text(int version, char out[WI_FIELD_BYTES]) {
    if (version)
        snprintf(out, WI_FIELD_BYTES, "%d.%d", version / 1000, version % 1000 / 10);
    else
        snprintf(out, WI_FIELD_BYTES, "none");
    return out;
}

/* NCCL's version, or why there is none. */
static void describe_nccl(char line[128]) {
    char why[WI_NCCL_WHY_BYTES] = "";
    int built, driver, version = 0;
    wi_cuda_versions(&built, &driver);
    const wi_nccl_library *const nccl = built ? wi_nccl_load(getenv("WEFT_NCCL"), why) : NULL;
    if (nccl && nccl->version(&version) == WI_NCCL_OK)
        snprintf(line, 128, "%d.%d.%d, for large steps between GPUs", version / 10000,
                 version / 100 % 100, version % 100);
    else
        snprintf(line, 128, "%s%.110s", built ? "none: " : "not in this build", why);
    wi_nccl_unload(nccl);
}

static void print_build(void) {
    char a[WI_FIELD_BYTES], b[WI_FIELD_BYTES], line[128];
    int built, driver;
    wi_cuda_versions(&built, &driver);
    snprintf(line, sizeof line, "%s", weft_version());
    wi_info_heading("weft", line);
    wi_info_field("compiler", COMPILER);
    if (built)
        snprintf(line, sizeof line, "%s; the driver offers %s", version_text(built, a),
                 version_text(driver, b));
    else
        snprintf(line, sizeof line, "not in this build");
    wi_info_field("CUDA", line);
#ifdef WEFT_OPENACC
    snprintf(line, sizeof line, "loops run on %s", wi_blend_openacc_device());
    wi_info_field("OpenACC", line);
#else
    wi_info_field("OpenACC", "not in this build");
#endif
    describe_nccl(line);
    wi_info_field("NCCL", line);
    wi_info_field("ladder", WEFT_LADDER ? "all rungs" : "without the teaching rungs");
    wi_info_field("optimised", wi_is_demo_build ? "what `weft demo` shows" : "all operations");
}

static void print_cpu(const weft_context *cpu) {
    wi_cpu_facts facts;
    char a[WI_FIELD_BYTES], b[WI_FIELD_BYTES], c[WI_FIELD_BYTES], line[128];
    wi_cpu_describe(&facts);
    putchar('\n');
    wi_info_heading(cpu ? weft_place(cpu) : "cpu", facts.model);
    snprintf(line, sizeof line, "%d", facts.cores);
    wi_info_field("cores", line);
    snprintf(line, sizeof line, "L1 %s and L2 %s a core, L3 %s",
             wi_format_bytes((double)facts.level_1, a), wi_format_bytes((double)facts.level_2, b),
             wi_format_bytes((double)facts.level_3, c));
    wi_info_field("caches", line);
    wi_info_field("instructions", facts.instructions);
    wi_info_field("memory", wi_format_bytes((double)facts.memory_bytes, a));
    if (!cpu)
        wi_info_field("refused", weft_message(NULL));
}

static void print_gpu_sizes(const wi_gpu_facts *facts) {
    char a[WI_FIELD_BYTES], b[WI_FIELD_BYTES], c[WI_FIELD_BYTES], line[256];
    snprintf(line, sizeof line, "%d, %d threads each", facts->multiprocessors,
             facts->threads_per_multiprocessor);
    wi_info_field("SMs", line);
    snprintf(line, sizeof line, "%d an SM, %d a block", facts->registers_per_multiprocessor,
             facts->registers_per_block);
    wi_info_field("registers", line);
    snprintf(line, sizeof line, "%s an SM, %s a block, %s on request",
             wi_format_bytes((double)facts->shared_per_multiprocessor, a),
             wi_format_bytes((double)facts->shared_per_block, b),
             wi_format_bytes((double)facts->shared_optin_per_block, c));
    wi_info_field("shared memory", line);
    wi_info_field("L2 cache", wi_format_bytes((double)facts->l2_bytes, a));
    if (facts->peak_bytes_per_second > 0)
        snprintf(line, sizeof line, "%s, %d bits wide, at most %s",
                 wi_format_bytes((double)facts->memory_bytes, a), facts->bus_bits,
                 wi_format_rate(facts->peak_bytes_per_second, b));
    else
        snprintf(line, sizeof line, "%s, %d bits wide",
                 wi_format_bytes((double)facts->memory_bytes, a), facts->bus_bits);
    wi_info_field("memory", line);
    if (facts->clock_hz > 0) {
        snprintf(line, sizeof line, "%.0f MHz, memory %.0f MHz", facts->clock_hz / 1e6,
                 facts->memory_clock_hz / 1e6);
        wi_info_field("clocks", line);
    }
}

/* Can the place be opened? If not, `why` gets the reason. */
static bool opens(const char *place, char *why, size_t bytes) {
    weft_context *ctx = NULL;
    const bool open = weft_open(&ctx, place) == WEFT_OK;
    snprintf(why, bytes, "%s", open ? "" : weft_message(NULL));
    weft_close(ctx);
    return open;
}

static void print_gpu(int device) {
    wi_gpu_facts facts;
    char place[WI_PLACE_BYTES], line[128], why[WI_MESSAGE_BYTES];
    snprintf(place, sizeof place, "gpu:%d", device);
    putchar('\n');
    const bool known = wi_gpu_describe(device, &facts);
    wi_info_heading(place, known ? facts.name : "unknown device");
    if (!opens(place, why, sizeof why))
        wi_info_field("refused", why);
    if (!known)
        return;
    snprintf(line, sizeof line, "compute %d.%d", facts.capability_major, facts.capability_minor);
    wi_info_field("capability", line);
    print_gpu_sizes(&facts);
}

static void print_all(void) {
    weft_context *cpu = NULL;
    char why[WI_MESSAGE_BYTES];
    weft_open(&cpu, "cpu"); /* on failure the message is printed instead */
    print_build();
    print_cpu(cpu);
    weft_close(cpu);
    const int gpus = wi_gpu_count(why, sizeof why);
    for (int device = 0; device < gpus; device++)
        print_gpu(device);
    if (gpus == 0) {
        putchar('\n');
        wi_info_heading("gpu", "none");
        wi_info_field("because", why);
    }
}

static void json_build(wi_json *json) {
    int built, driver;
    char text[WI_FIELD_BYTES], line[128];
    wi_cuda_versions(&built, &driver);
    wi_json_open(json);
    wi_json_string(json, "version", weft_version());
    wi_json_string(json, "compiler", COMPILER);
    describe_nccl(line);
    wi_json_string(json, "nccl", line);
    wi_json_string(json, "cuda", built ? version_text(built, text) : NULL);
    wi_json_string(json, "cuda_driver", driver ? version_text(driver, text) : NULL);
    wi_json_bool(json, "ladder", WEFT_LADDER);
    wi_json_bool(json, "demo", wi_is_demo_build);
    wi_json_close(json);
}

static void json_cpu(wi_json *json) {
    wi_cpu_facts facts;
    weft_context *cpu = NULL;
    wi_cpu_describe(&facts);
    const bool open = weft_open(&cpu, "cpu") == WEFT_OK;
    wi_json_open(json);
    wi_json_string(json, "place", open ? weft_place(cpu) : "cpu");
    wi_json_string(json, "refused", open ? NULL : weft_message(NULL));
    wi_json_string(json, "name", facts.model);
    wi_json_count(json, "cores", (uint64_t)facts.cores);
    wi_json_count(json, "l1_bytes", facts.level_1);
    wi_json_count(json, "l2_bytes", facts.level_2);
    wi_json_count(json, "l3_bytes", facts.level_3);
    wi_json_count(json, "memory_bytes", facts.memory_bytes);
    wi_json_string(json, "instructions", facts.instructions);
    wi_json_close(json);
    weft_close(cpu);
}

static void json_gpu(wi_json *json, int device) {
    wi_gpu_facts f = {.name = "unknown device"};
    char place[WI_PLACE_BYTES], why[WI_MESSAGE_BYTES];
    snprintf(place, sizeof place, "gpu:%d", device);
    wi_gpu_describe(device, &f);
    wi_json_open(json);
    wi_json_string(json, "place", place);
    wi_json_string(json, "refused", opens(place, why, sizeof why) ? NULL : why);
    wi_json_string(json, "name", f.name);
    wi_json_count(json, "capability", (uint64_t)(10 * f.capability_major + f.capability_minor));
    wi_json_count(json, "multiprocessors", (uint64_t)f.multiprocessors);
    wi_json_count(json, "threads_per_multiprocessor", (uint64_t)f.threads_per_multiprocessor);
    wi_json_count(json, "registers_per_multiprocessor", (uint64_t)f.registers_per_multiprocessor);
    wi_json_count(json, "registers_per_block", (uint64_t)f.registers_per_block);
    wi_json_count(json, "shared_per_multiprocessor_bytes", f.shared_per_multiprocessor);
    wi_json_count(json, "shared_per_block_bytes", f.shared_per_block);
    wi_json_count(json, "shared_optin_per_block_bytes", f.shared_optin_per_block);
    wi_json_count(json, "l2_bytes", f.l2_bytes);
    wi_json_count(json, "memory_bytes", f.memory_bytes);
    wi_json_count(json, "bus_bits", (uint64_t)f.bus_bits);
    wi_json_number(json, "clock_hz", f.clock_hz);
    wi_json_number(json, "memory_clock_hz", f.memory_clock_hz);
    wi_json_number(json, "peak_gbps", f.peak_bytes_per_second / 1e9);
    wi_json_close(json);
}

static void json_all(void) {
    wi_json json = {false};
    char why[WI_MESSAGE_BYTES];
    json_build(&json);
    json_cpu(&json);
    const int gpus = wi_gpu_count(why, sizeof why);
    for (int device = 0; device < gpus; device++)
        json_gpu(&json, device);
    if (gpus == 0) {
        wi_json_open(&json);
        wi_json_string(&json, "place", "gpu");
        wi_json_string(&json, "refused", why);
        wi_json_close(&json);
    }
}

static const wi_option limits_option = {.name = "limits",
                                        .help = "what each GPU allows and each rung's kernels use"};

static wi_exit execute(const wi_arguments *args) {
    if (wi_given(args, &limits_option))
        return wi_info_limits(args);
    if (wi_given(args, &wi_json_option))
        json_all();
    else
        print_all();
    return WI_EXIT_OK;
}

static const wi_option *const options[] = {&limits_option, &wi_json_option, &wi_help_option, NULL};

const wi_command wi_info_command = {
    .name = "info",
    .operand_text = "",
    .summary = "show this build, the processor and every GPU",
    .details = "Shows what this build of weft can do, what the processor offers, and for each "
               "GPU its size, speed and memory, or why weft does not use it. --limits shows what "
               "each GPU allows a launch, who shares it, and what the kernels of each rung use: "
               "threads of a block, registers of a thread, shared memory of a block, stack of a "
               "thread; which limit of a block they come closest to; the share of an SM's "
               "threads that run at once, and what limits it. For this every rung runs once, on "
               "65,536 elements or as many as it can do.",
    .examples = {{"weft info", "for people"},
                 {"weft info --json", "for programs: one object for the build and each place"},
                 {"weft info --limits", "how near each kernel comes to the GPU's limits"}},
    .options = options,
    .run = execute,
};
