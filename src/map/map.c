/* SPDX-License-Identifier: Apache-2.0 */
/* The public calls of map: check arguments once, then run the ladder on memory it can reach. */
#include "map/map.h"

#include <string.h>

#include "core/stage.h"
#ifdef WEFT_CUDA
#    include "core/taught.h"
#endif

/* One array argument. A call's last one is its output. */
typedef struct array {
    const char *name;
    const char *ld_name;
    const void *p;
    size_t ld;
} array;

enum {
    MAX_ARRAYS = 3
};

typedef struct call {
    const char *name;
    wi_map_args args;
    array arrays[MAX_ARRAYS];
    int count;
} call;

#if defined(WEFT_CUDA) && WEFT_LADDER
static const char *fits_taught(const weft_context *ctx, const void *args) {
    (void)ctx;
    return wi_misfit_taught(((const wi_map_args *)args)->type);
}

static const char *fits_contiguous(const weft_context *ctx, const void *args) {
    const wi_map_args *g = args;
    bool packed = (!g->x || g->ldx == g->cols) && (!g->y || g->ldy == g->cols) && g->ldz == g->cols;
    if (g->rows > 1 && !packed)
        return "needs rows without gaps between them: ld equal to cols";
    return fits_taught(ctx, args);
}
#endif

static const wi_row rows[] = {
    {"serial", WI_CPU, "the loop you would write", 0, wi_fits_all, wi_map_serial},
    {"threads", WI_CPU, "all cores, wide vectors, stores that bypass the cache", 1024, wi_fits_all,
     wi_map_threads},
#ifdef WEFT_CUDA
#    if WEFT_LADDER
    {"one_each", WI_CUDA, "one thread for one element", 0, fits_contiguous, wi_map_one_each},
    {"blocks_2d", WI_CUDA, "two-dimensional blocks of threads over rows and columns", 0,
     fits_taught, wi_map_blocks_2d},
    {"grid_stride", WI_CUDA, "a fixed grid whose threads stride over the array", 0, fits_contiguous,
     wi_map_grid_stride},
#    endif
    {"vector", WI_CUDA, "16 bytes for each load and store", 0, wi_fits_all, wi_map_vector},
#endif
};

const wi_ladder wi_map_ladder = {"map", rows, sizeof rows / sizeof rows[0]};

/* Elements from the first of the matrix to its last, gaps included; false if that overflows. */
static bool extent_of(size_t n_rows, size_t cols, size_t ld, size_t *extent) {
    size_t before;
    if (n_rows == 0 || cols == 0) {
        *extent = 0;
        return true;
    }
    return !__builtin_mul_overflow(n_rows - 1, ld, &before) &&
           !__builtin_add_overflow(before, cols, extent);
}

static weft_status check_shape(weft_context *ctx, const call *c, const array *a, size_t *extent) {
    const wi_map_args *g = &c->args;
    if (a->ld < g->cols)
        return wi_fail(ctx, WEFT_EARG,
                       "%s: %s is %zu, less than the %zu columns of a row; pass the distance "
                       "between starts of rows, in elements",
                       c->name, a->ld_name, a->ld, g->cols);
    size_t elements;
    if (!extent_of(g->rows, g->cols, a->ld, extent) ||
        __builtin_mul_overflow(g->rows, g->cols, &elements))
        return wi_fail(ctx, WEFT_EARG,
                       "%s: %zu rows, %zu elements apart, exceed the address space; check rows and "
                       "%s",
                       c->name, g->rows, a->ld, a->ld_name);
    return wi_check_array(ctx, c->name, a->name, a->p, *extent, g->type);
}

/* Two matrices of the same pitch may lie side by side, each in the other's gaps. */
static bool side_by_side(const call *c, const array *a, const array *b) {
    if (a->ld != b->ld)
        return false;
    uintptr_t from = (uintptr_t)a->p, to = (uintptr_t)b->p;
    size_t size = weft_type_size(c->args.type);
    size_t pitch = a->ld * size, width = c->args.cols * size;
    size_t shift = (from < to ? to - from : from - to) % pitch;
    return shift >= width && shift <= pitch - width;
}

static weft_status check_overlap(weft_context *ctx, const call *c, const array *a, const array *b,
                                 const size_t extent[], size_t size) {
    size_t bytes_a = extent[a - c->arrays] * size, bytes_b = extent[b - c->arrays] * size;
    if (c->args.rows > 1) {
        if (side_by_side(c, a, b))
            return WEFT_OK;
        if (a->p == b->p && a->ld != b->ld)
            return wi_fail(ctx, WEFT_EARG,
                           "%s: %s and %s are the same array, but %s is %zu and %s is %zu; to work "
                           "in place pass equal leading dimensions",
                           c->name, a->name, b->name, a->ld_name, a->ld, b->ld_name, b->ld);
    }
    return wi_check_overlap(ctx, c->name, a->name, a->p, bytes_a, b->name, b->p, bytes_b);
}

static weft_status check(weft_context *ctx, const call *c) {
    weft_status status = wi_check_type(ctx, c->name, c->args.type);
    if (status != WEFT_OK)
        return status;
    size_t size = weft_type_size(c->args.type);
    size_t extent[MAX_ARRAYS] = {0};
    for (int k = 0; k < c->count; k++) {
        status = check_shape(ctx, c, &c->arrays[k], &extent[k]);
        if (status != WEFT_OK)
            return status;
    }
    if (extent[0] == 0)
        return WEFT_OK;
    const array *out = &c->arrays[c->count - 1];
    for (const array *in = c->arrays; in < out; in++) {
        status = check_overlap(ctx, c, in, out, extent, size);
        if (status != WEFT_OK)
            return status;
    }
    return WEFT_OK;
}

static weft_status run_segment(weft_context *ctx, const void *user, size_t first, size_t n_rows,
                               size_t cols, void *const p[], const size_t ld[]) {
    const call *c = user;
    wi_map_args part = c->args;
    int out = c->count - 1;
    part.rows = n_rows;
    part.cols = cols;
    part.first += first;
    if (part.x) {
        part.x = p[0];
        part.ldx = ld[0];
    }
    if (part.y) {
        /* axpy works in place: its y is also its output, and the last operand. */
        part.y = p[1];
        part.ldy = ld[1];
    }
    part.z = p[out];
    part.ldz = ld[out];
    return wi_run(ctx, &wi_map_ladder, c->name, n_rows * cols, &part);
}

static weft_status run_staged(weft_context *ctx, const call *c) {
    size_t size = weft_type_size(c->args.type);
    wi_stage_args stage = {.call = c->name,
                           .rows = c->args.rows,
                           .cols = c->args.cols,
                           .operands = c->count,
                           .run = run_segment,
                           .user = c};
    for (int k = 0; k < c->count; k++) {
        const array *a = &c->arrays[k];
        bool out = k == c->count - 1;
        stage.operand[k] = (wi_operand){.p = (void *)(uintptr_t)a->p,
                                        .element_bytes = size,
                                        .pitch_bytes = a->ld * size,
                                        .in = !out || c->args.op == WI_MAP_AXPY,
                                        .out = out};
    }
    return wi_stage_run(ctx, &stage);
}

static weft_status run(weft_context *ctx, const call *c) {
    const wi_map_args *g = &c->args;
    weft_status status = check(ctx, c);
    if (status != WEFT_OK || g->rows == 0 || g->cols == 0)
        return status;
    if (ctx->kind == WI_CUDA) {
        for (int k = 0; k < c->count; k++) {
            if (!wi_is_device(ctx, c->arrays[k].p))
                return run_staged(ctx, c);
        }
    }
    return wi_run(ctx, &wi_map_ladder, c->name, g->rows * g->cols, g);
}

/* Fetches a scalar argument. Its type is checked first: a bad one has no size. */
static weft_status take_scalar(weft_context *ctx, const call *c, const char *name, const void *p,
                               wi_scalar *scalar) {
    weft_status status = wi_check_type(ctx, c->name, c->args.type);
    if (status != WEFT_OK)
        return status;
    if (!p)
        return wi_fail(ctx, WEFT_EARG, "%s: %s is NULL; pass a pointer to one element", c->name,
                       name);
    memcpy(scalar->bytes, p, weft_type_size(c->args.type));
    return WEFT_OK;
}

static weft_status add(weft_context *ctx, const char *name, weft_type type, size_t n_rows,
                       size_t cols, const void *x, size_t ldx, const void *y, size_t ldy, void *z,
                       size_t ldz) {
    call c = {.name = name,
              .args = {.op = WI_MAP_ADD,
                       .type = type,
                       .rows = n_rows,
                       .cols = cols,
                       .x = x,
                       .y = y,
                       .z = z,
                       .ldx = ldx,
                       .ldy = ldy,
                       .ldz = ldz},
              .arrays = {{"x", "ldx", x, ldx}, {"y", "ldy", y, ldy}, {"z", "ldz", z, ldz}},
              .count = 3};
    if (wi_check_context(ctx) != WEFT_OK)
        return WEFT_EARG;
    return run(ctx, &c);
}

static weft_status axpy(weft_context *ctx, const char *name, weft_type type, size_t n_rows,
                        size_t cols, const void *alpha, const void *x, size_t ldx, void *y,
                        size_t ldy) {
    call c = {.name = name,
              .args = {.op = WI_MAP_AXPY,
                       .type = type,
                       .rows = n_rows,
                       .cols = cols,
                       .x = x,
                       .y = y,
                       .z = y,
                       .ldx = ldx,
                       .ldy = ldy,
                       .ldz = ldy},
              .arrays = {{"x", "ldx", x, ldx}, {"y", "ldy", y, ldy}},
              .count = 2};
    if (wi_check_context(ctx) != WEFT_OK)
        return WEFT_EARG;
    weft_status status = take_scalar(ctx, &c, "alpha", alpha, &c.args.a);
    return status != WEFT_OK ? status : run(ctx, &c);
}

static weft_status fill(weft_context *ctx, const char *name, weft_type type, size_t n_rows,
                        size_t cols, const void *value, void *x, size_t ldx) {
    call c = {
        .name = name,
        .args = {.op = WI_MAP_FILL, .type = type, .rows = n_rows, .cols = cols, .z = x, .ldz = ldx},
        .arrays = {{"x", "ldx", x, ldx}},
        .count = 1};
    if (wi_check_context(ctx) != WEFT_OK)
        return WEFT_EARG;
    weft_status status = take_scalar(ctx, &c, "value", value, &c.args.a);
    return status != WEFT_OK ? status : run(ctx, &c);
}

static weft_status iota(weft_context *ctx, const char *name, weft_type type, size_t n_rows,
                        size_t cols, const void *start, const void *step, void *x, size_t ldx) {
    call c = {
        .name = name,
        .args = {.op = WI_MAP_IOTA, .type = type, .rows = n_rows, .cols = cols, .z = x, .ldz = ldx},
        .arrays = {{"x", "ldx", x, ldx}},
        .count = 1};
    if (wi_check_context(ctx) != WEFT_OK)
        return WEFT_EARG;
    weft_status status = take_scalar(ctx, &c, "start", start, &c.args.a);
    if (status == WEFT_OK)
        status = take_scalar(ctx, &c, "step", step, &c.args.b);
    return status != WEFT_OK ? status : run(ctx, &c);
}

weft_status weft_add(weft_context *ctx, weft_type type, size_t n, const void *x, const void *y,
                     void *z) {
    return add(ctx, "weft_add", type, 1, n, x, n, y, n, z, n);
}

weft_status weft_axpy(weft_context *ctx, weft_type type, size_t n, const void *alpha, const void *x,
                      void *y) {
    return axpy(ctx, "weft_axpy", type, 1, n, alpha, x, n, y, n);
}

weft_status weft_fill(weft_context *ctx, weft_type type, size_t n, const void *value, void *x) {
    return fill(ctx, "weft_fill", type, 1, n, value, x, n);
}

weft_status weft_iota(weft_context *ctx, weft_type type, size_t n, const void *start,
                      const void *step, void *x) {
    return iota(ctx, "weft_iota", type, 1, n, start, step, x, n);
}

weft_status weft_add_matrix(weft_context *ctx, weft_type type, size_t n_rows, size_t cols,
                            const void *x, size_t ldx, const void *y, size_t ldy, void *z,
                            size_t ldz) {
    return add(ctx, "weft_add_matrix", type, n_rows, cols, x, ldx, y, ldy, z, ldz);
}

weft_status weft_axpy_matrix(weft_context *ctx, weft_type type, size_t n_rows, size_t cols,
                             const void *alpha, const void *x, size_t ldx, void *y, size_t ldy) {
    return axpy(ctx, "weft_axpy_matrix", type, n_rows, cols, alpha, x, ldx, y, ldy);
}

weft_status weft_fill_matrix(weft_context *ctx, weft_type type, size_t n_rows, size_t cols,
                             const void *value, void *x, size_t ldx) {
    return fill(ctx, "weft_fill_matrix", type, n_rows, cols, value, x, ldx);
}

weft_status weft_iota_matrix(weft_context *ctx, weft_type type, size_t n_rows, size_t cols,
                             const void *start, const void *step, void *x, size_t ldx) {
    return iota(ctx, "weft_iota_matrix", type, n_rows, cols, start, step, x, ldx);
}
