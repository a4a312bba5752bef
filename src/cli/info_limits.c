/* SPDX-License-Identifier: Apache-2.0 */
/* `weft info --limits`: what each GPU allows, who shares it, and how close each rung's kernels come
 * to its limits. Every rung runs once while its launches are recorded. */
#include <stdio.h>

#include "cli/info.h"
#include "cli/machine.h"
#include "cli/options.h"
#include "cli/table.h"
#include "cli/text.h"
#include "climb/climb.h"
#include "core/gpu_limits.h"
#include "core/stage.h"

enum {
    FIRST_N = 1 << 16, /* elements of the calls; halved until the rung can do it */
    MOST_KERNELS = 32  /* of one rung */
};

/* A rung that has run. */
typedef struct ran {
    const wi_climb *climb;
    const wi_row *row;
    weft_type type;
    size_t n;
    wi_kernel_use use[MOST_KERNELS];
    wi_watch watch;
} ran;

static weft_status call_once(weft_context *ctx, ran *r) {
    const wi_setup setup = {.ctx = ctx, .type = r->type, .n = r->n, .seed = 1};
    void *problem;
    weft_status status = r->climb->make(&setup, &problem);
    if (status != WEFT_OK)
        return status;
    r->watch = (wi_watch){r->use, MOST_KERNELS, 0, false};
    wi_gpu_watch(ctx, &r->watch);
    status = r->climb->call(problem);
    wi_gpu_watch(ctx, NULL);
    if (status == WEFT_OK)
        status = weft_sync(ctx);
    r->climb->drop(problem);
    return status;
}

/* Runs it on as many elements of its type as it can do. */
static weft_status run_type(weft_context *ctx, ran *r) {
    for (r->n = FIRST_N;; r->n /= 2) {
        const weft_status status = call_once(ctx, r);
        if (status != WEFT_EUNSUPPORTED || r->n == 1)
            return status;
    }
}

/* Runs a rung on the climb's usual type or, if it does not do that, on another. */
static weft_status run_rung(weft_context *ctx, ran *r) {
    static const weft_type others[] = {WEFT_F32, WEFT_U16};
    weft_status status = weft_use(ctx, r->climb->ladder->op, r->row->name);
    if (status != WEFT_OK)
        return status;
    r->type = r->climb->type;
    status = run_type(ctx, r);
    for (size_t k = 0; k < sizeof others / sizeof *others; k++) {
        if (status != WEFT_EUNSUPPORTED)
            break;
        if (!wi_climb_takes(r->climb, others[k]))
            continue;
        r->type = others[k];
        status = run_type(ctx, r);
    }
    weft_use(ctx, r->climb->ladder->op, NULL);
    return status;
}

/* ---- how close a kernel comes to the limits ---- */

/* The limit of a block of which a kernel uses the largest share. */
typedef struct nearest {
    wi_bound which;
    double share;
} nearest;

static nearest nearest_of(const wi_gpu_limits *l, const wi_kernel_use *use) {
    const double shared = (double)(use->dynamic_shared + use->static_shared);
    const double registers = (double)use->registers * use->threads;
    const double shares[] = {
        [WI_BOUND_THREADS] = (double)use->threads / l->threads_per_block,
        [WI_BOUND_REGISTERS] = registers / l->registers_per_block,
        [WI_BOUND_SHARED] = shared / (double)l->shared_per_block,
    };
    nearest found = {WI_BOUND_THREADS, 0};
    for (int k = 0; k < (int)(sizeof shares / sizeof *shares); k++)
        if (shares[k] > found.share)
            found = (nearest){(wi_bound)k, shares[k]};
    return found;
}

/* ---- for people ---- */

enum {
    RUNG,
    KERNEL,
    THREADS,
    REGISTERS,
    SHARED,
    STACK,
    NEAREST,
    OCCUPANCY,
    BOUND,
    COLUMNS,
    RUNG_WIDTH = 22,
    KERNEL_WIDTH = 24
};

static const wi_column all_columns[COLUMNS] = {
    [RUNG] = {"rung", -RUNG_WIDTH, 0, true},
    [KERNEL] = {"kernel", -KERNEL_WIDTH, 2, true},
    [THREADS] = {"threads", 7, 0, true},
    [REGISTERS] = {"regs", 5, 0, true},
    [SHARED] = {"shared", 9, 4, true},
    [STACK] = {"stack", 8, 6, true},
    [NEAREST] = {"nearest limit", 18, 3, true},
    [OCCUPANCY] = {"occupancy", 9, 1, true},
    [BOUND] = {"by", 13, 5, true},
};

static void print_extents(char *line, size_t room, const int extent[3]) {
    snprintf(line, room, "%d x %d x %d", extent[0], extent[1], extent[2]);
}

static const char *sharing_text(wi_told mps) {
    switch (mps) {
    case WI_YES:
        return "the multi-process service runs kernels of all processes side by side";
    case WI_NO:
        return "without the multi-process service processes take turns";
    default:
        return "the driver does not tell whether the multi-process service runs";
    }
}

static void print_blocks(const wi_gpu_limits *l) {
    char a[WI_FIELD_BYTES], b[WI_FIELD_BYTES], c[WI_FIELD_BYTES], extents[64], line[256];
    print_extents(extents, sizeof extents, l->grid);
    snprintf(line, sizeof line, "%s blocks", extents);
    wi_info_field("grid", line);
    print_extents(extents, sizeof extents, l->block);
    snprintf(line, sizeof line, "%d threads, at most %s", l->threads_per_block, extents);
    wi_info_field("block", line);
    snprintf(line, sizeof line, "%d a thread, %d a block, %d an SM", l->registers_per_thread,
             l->registers_per_block, l->registers_per_multiprocessor);
    wi_info_field("registers", line);
    snprintf(line, sizeof line, "%s a block, %s an SM; of every block's %s are the system's",
             wi_format_bytes((double)l->shared_per_block, a),
             wi_format_bytes((double)l->shared_per_multiprocessor, b),
             wi_format_bytes((double)l->shared_reserved, c));
    wi_info_field("shared memory", line);
    snprintf(line, sizeof line, "%d, with %d threads and %d blocks each", l->multiprocessors,
             l->threads_per_multiprocessor, l->blocks_per_multiprocessor);
    wi_info_field("SMs", line);
}

static void print_device(const wi_gpu_limits *l) {
    char a[WI_FIELD_BYTES], b[WI_FIELD_BYTES], line[256];
    print_blocks(l);
    snprintf(line, sizeof line, "stack %s a thread, heap %s, %zu pending launches",
             wi_format_bytes((double)l->stack_bytes, a), wi_format_bytes((double)l->heap_bytes, b),
             l->pending_launches);
    wi_info_field("in kernels", line);
    wi_info_field("watchdog",
                  l->watchdog ? "stops kernels that run for seconds: a display is on" : "none");
    snprintf(line, sizeof line, "%s of %s are free", wi_format_bytes((double)l->free_bytes, a),
             wi_format_bytes((double)l->memory_bytes, b));
    wi_info_field("memory", line);
    snprintf(line, sizeof line, "compute mode %s; %s", l->compute_mode,
             sharing_text(l->shared_by_mps));
    wi_info_field("processes", line);
}

static void print_kernel(const wi_column *columns, const wi_gpu_limits *l, const char *rung,
                         const wi_kernel_use *use) {
    char name[KERNEL_WIDTH + 1], threads[WI_FIELD_BYTES], registers[WI_FIELD_BYTES],
        shared[WI_FIELD_BYTES];
    char stack[WI_FIELD_BYTES], near_limit[64], occupancy[WI_FIELD_BYTES], share[WI_FIELD_BYTES];
    const nearest n = nearest_of(l, use);
    snprintf(name, sizeof name, "%.*s", (int)sizeof name - 1, use->kernel);
    snprintf(threads, sizeof threads, "%u", use->threads);
    snprintf(registers, sizeof registers, "%d", use->registers);
    wi_format_bytes((double)(use->dynamic_shared + use->static_shared), shared);
    wi_format_bytes((double)use->local_bytes, stack);
    snprintf(near_limit, sizeof near_limit, "%s %s", wi_bound_name(n.which),
             wi_format_share(n.share, share));
    wi_format_share(use->occupancy, occupancy);
    const char *const cells[COLUMNS] = {rung,       name,      threads,
                                        registers,  shared,    stack,
                                        near_limit, occupancy, wi_bound_name(use->bound)};
    wi_table_print(columns, COLUMNS, cells);
    putchar('\n');
}

static void print_ran(const wi_column *columns, const wi_gpu_limits *l, const ran *r) {
    char rung[RUNG_WIDTH + 1]; /* longer names are cut off */
    snprintf(rung, sizeof rung, "%s %s", r->climb->ladder->op, r->row->name);
    for (size_t k = 0; k < r->watch.count; k++)
        print_kernel(columns, l, k == 0 ? rung : "", &r->use[k]);
    if (r->watch.full)
        puts("and more kernels");
}

/* ---- for programs ---- */

static void json_device(const weft_context *ctx, const wi_gpu_limits *l) {
    static const char *const grid[] = {"grid_x", "grid_y", "grid_z"};
    static const char *const block[] = {"block_x", "block_y", "block_z"};
    wi_json json;
    wi_json_open(&json);
    wi_json_string(&json, "place", weft_place(ctx));
    for (int k = 0; k < 3; k++)
        wi_json_count(&json, grid[k], (uint64_t)l->grid[k]);
    for (int k = 0; k < 3; k++)
        wi_json_count(&json, block[k], (uint64_t)l->block[k]);
    wi_json_count(&json, "multiprocessors", (uint64_t)l->multiprocessors);
    wi_json_count(&json, "threads_per_block", (uint64_t)l->threads_per_block);
    wi_json_count(&json, "threads_per_multiprocessor", (uint64_t)l->threads_per_multiprocessor);
    wi_json_count(&json, "blocks_per_multiprocessor", (uint64_t)l->blocks_per_multiprocessor);
    wi_json_count(&json, "registers_per_thread", (uint64_t)l->registers_per_thread);
    wi_json_count(&json, "registers_per_block", (uint64_t)l->registers_per_block);
    wi_json_count(&json, "registers_per_multiprocessor", (uint64_t)l->registers_per_multiprocessor);
    wi_json_count(&json, "shared_per_block_bytes", l->shared_per_block);
    wi_json_count(&json, "shared_per_multiprocessor_bytes", l->shared_per_multiprocessor);
    wi_json_count(&json, "shared_reserved_bytes", l->shared_reserved);
    wi_json_count(&json, "stack_bytes", l->stack_bytes);
    wi_json_count(&json, "heap_bytes", l->heap_bytes);
    wi_json_count(&json, "pending_launches", l->pending_launches);
    wi_json_bool(&json, "watchdog", l->watchdog);
    wi_json_count(&json, "free_bytes", l->free_bytes);
    wi_json_count(&json, "memory_bytes", l->memory_bytes);
    wi_json_string(&json, "compute_mode", l->compute_mode);
    if (l->shared_by_mps == WI_NOT_TOLD)
        wi_json_null(&json, "multi_process_service");
    else
        wi_json_bool(&json, "multi_process_service", l->shared_by_mps == WI_YES);
    wi_json_close(&json);
}

static void json_kernel(const weft_context *ctx, const wi_gpu_limits *l, const ran *r,
                        const wi_kernel_use *use) {
    wi_json json;
    const nearest n = nearest_of(l, use);
    wi_json_open(&json);
    wi_json_string(&json, "place", weft_place(ctx));
    wi_json_string(&json, "op", r->climb->ladder->op);
    wi_json_string(&json, "variant", r->row->name);
    wi_json_string(&json, "type", weft_type_name(r->type));
    wi_json_count(&json, "n", r->n);
    wi_json_string(&json, "kernel", use->kernel);
    wi_json_count(&json, "threads", use->threads);
    wi_json_count(&json, "most_threads", (uint64_t)use->most_threads);
    wi_json_count(&json, "cluster", use->cluster);
    wi_json_count(&json, "registers", (uint64_t)use->registers);
    wi_json_count(&json, "dynamic_shared_bytes", use->dynamic_shared);
    wi_json_count(&json, "static_shared_bytes", use->static_shared);
    wi_json_count(&json, "stack_bytes", use->local_bytes);
    wi_json_string(&json, "nearest_limit", wi_bound_name(n.which));
    wi_json_number(&json, "nearest_share", n.share);
    wi_json_count(&json, "blocks_per_multiprocessor", (uint64_t)use->blocks);
    wi_json_number(&json, "occupancy", use->occupancy);
    wi_json_string(&json, "occupancy_bound", wi_bound_name(use->bound));
    wi_json_close(&json);
}

/* ---- all rungs of all GPUs ---- */

/* Reports a rung that cannot do the call that its climb measures. */
static void report_misfit(const weft_context *ctx, bool as_json, const ran *r) {
    wi_json json;
    if (!as_json) {
        wi_print_line(stdout, RUNG_WIDTH + 1, "%s %s: cannot do %s", r->climb->ladder->op,
                      r->row->name, r->climb->example);
        return;
    }
    wi_json_open(&json);
    wi_json_string(&json, "place", weft_place(ctx));
    wi_json_string(&json, "op", r->climb->ladder->op);
    wi_json_string(&json, "variant", r->row->name);
    wi_json_string(&json, "type", weft_type_name(r->type));
    wi_json_null(&json, "kernel");
    wi_json_string(&json, "note", weft_message(ctx));
    wi_json_close(&json);
}

/* Reports one rung; columns are NULL for JSON. */
static weft_status report_rung(weft_context *ctx, const wi_column *columns, const wi_gpu_limits *l,
                               ran *r) {
    wi_progress("%s: %s ...", r->climb->ladder->op, r->row->name);
    const weft_status status = run_rung(ctx, r);
    wi_progress_end();
    if (status == WEFT_EUNSUPPORTED) {
        report_misfit(ctx, !columns, r);
        return WEFT_OK;
    }
    if (status != WEFT_OK)
        return status;
    if (columns)
        print_ran(columns, l, r);
    for (size_t k = 0; !columns && k < r->watch.count; k++)
        json_kernel(ctx, l, r, &r->use[k]);
    return WEFT_OK;
}

static weft_status report_rungs(weft_context *ctx, const wi_column *columns,
                                const wi_gpu_limits *l) {
    for (size_t k = 0; k < wi_climb_count; k++) {
        const wi_climb *const climb = wi_climbs[k];
        for (size_t i = 0; i < climb->ladder->count; i++) {
            const wi_row *const row = &climb->ladder->rows[i];
            ran r = {.climb = climb, .row = row};
            if (!wi_row_serves(row, ctx) ||
                climb->ladder == &wi_stage_ladder) /* it only copies: no kernels */
                continue;
            const weft_status status = report_rung(ctx, columns, l, &r);
            if (status != WEFT_OK)
                return status;
        }
    }
    return WEFT_OK;
}

static weft_status report_device(weft_context *ctx, bool as_json) {
    wi_gpu_limits limits;
    wi_column columns[COLUMNS];
    char title[WI_NAME_BYTES];
    weft_status status = wi_gpu_limits_of(ctx, &limits);
    if (status != WEFT_OK)
        return status;
    if (as_json) {
        json_device(ctx, &limits);
        return report_rungs(ctx, NULL, &limits);
    }
    wi_place_title(ctx, title, sizeof title);
    wi_info_heading(weft_place(ctx), title);
    print_device(&limits);
    for (int k = 0; k < COLUMNS; k++)
        columns[k] = all_columns[k];
    wi_table_fit(columns, COLUMNS);
    putchar('\n');
    wi_table_print(columns, COLUMNS, NULL);
    putchar('\n');
    return report_rungs(ctx, columns, &limits);
}

/* Reports a GPU, or why weft does not use it. */
static wi_exit report_gpu(int device, bool as_json) {
    weft_context *ctx = NULL;
    char place[WI_PLACE_BYTES];
    snprintf(place, sizeof place, "gpu:%d", device);
    weft_status status = weft_open(&ctx, place);
    if (status == WEFT_OK)
        status = report_device(ctx, as_json);
    if (status != WEFT_OK)
        wi_say_error("info: %s", weft_message(ctx));
    weft_close(ctx);
    return status == WEFT_OK ? WI_EXIT_OK : WI_EXIT_FAILED;
}

wi_exit wi_info_limits(const wi_arguments *args) {
    const bool as_json = wi_given(args, &wi_json_option);
    char why[WI_MESSAGE_BYTES];
    wi_exit result = WI_EXIT_OK;
    const int gpus = wi_gpu_count(why, sizeof why);
    for (int device = 0; device < gpus; device++) {
        if (device > 0 && !as_json)
            putchar('\n');
        const wi_exit reported = report_gpu(device, as_json);
        result = result == WI_EXIT_OK ? reported : result;
    }
    if (gpus == 0)
        wi_say_error("info: no limits to show: %s", why);
    return gpus == 0 ? WI_EXIT_FAILED : result;
}
