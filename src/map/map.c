/* SPDX-License-Identifier: Apache-2.0 */
/* The public calls of map: check arguments, then run the ladder on memory that the place can
 * access. */
#include "map/map.h"

#include <string.h>

#include "comm/gpus.h"
#include "core/call.h"
#include "cpu/team.h"

#if defined(WEFT_CUDA) && WEFT_LADDER
static const char *fits_contiguous(const weft_context *ctx, const void *args) {
    const wi_map_args *g = args;
    bool packed = (!g->x || g->ldx == g->cols) && (!g->y || g->ldy == g->cols) && g->ldz == g->cols;
    (void)ctx;
    return g->rows == 1 || packed ? NULL : "needs rows without gaps between them: ld equal to cols";
}
#endif

/* Bytes read and written, each once. */
static double bytes_of(const wi_map_args *call) {
    const int arrays = 1 + (call->x != NULL) + (call->y != NULL);
    return (double)call->rows * (double)call->cols * (double)weft_type_size(call->type) * arrays;
}

/* Cycles of one thread, as seen on an AMD EPYC with AVX2. The compiler's own vectors are as fast as
 * ours, but for 16-bit floats. */
static double cycles_of(const wi_map_args *call, double of_half, double of_others) {
    const bool is_half = WI_HALF_FLOATS >> call->type & 1;
    return (double)call->rows * (double)call->cols * (is_half ? of_half : of_others);
}

static double serial_seconds(const weft_context *ctx, const void *args) {
    const wi_map_args *const call = args;
    const double z_is_read = 4.0 / 3; /* lines of the output are fetched before they are written */
    return wi_team_seconds(ctx, 1, cycles_of(call, 7.5, 0.4), bytes_of(call) * z_is_read);
}

static double threads_seconds(const weft_context *ctx, const void *args) {
    const wi_map_args *const call = args;
    const double call_cycles = 150;
    const size_t n = call->rows * call->cols;
    const int team = wi_team_size(ctx, n, n * weft_type_size(call->type));
    return wi_team_seconds(ctx, team, call_cycles + cycles_of(call, 0.8, 0.25), bytes_of(call));
}

static const wi_row rows[] = {
    {.name = "serial",
     .what = "the loop you would write",
     .kinds = WI_ON_CPU,
     .types = WI_ALL_TYPES,
     .seconds = serial_seconds,
     .run = wi_map_serial},
    {.name = "threads",
     .what = "all cores, wide vectors, stores that bypass the cache",
     .kinds = WI_ON_CPU,
     .types = WI_ALL_TYPES,
     .seconds = threads_seconds,
     .run = wi_map_threads},
#ifdef WEFT_CUDA
#    if WEFT_LADDER
    {.name = "one_each",
     .what = "one thread for one element",
     .kinds = WI_ON_CUDA,
     .types = WI_TAUGHT_TYPES,
     .misfit = fits_contiguous,
     .run = wi_map_one_each},
    {.name = "blocks_2d",
     .what = "two-dimensional blocks of threads over rows and columns",
     .kinds = WI_ON_CUDA,
     .types = WI_TAUGHT_TYPES,
     .run = wi_map_blocks_2d},
    {.name = "grid_stride",
     .what = "a fixed grid whose threads stride over the array",
     .kinds = WI_ON_CUDA,
     .types = WI_TAUGHT_TYPES,
     .misfit = fits_contiguous,
     .run = wi_map_grid_stride},
#    endif
    {.name = "vector",
     .what = "16 bytes for each load and store",
     .kinds = WI_ON_CUDA,
     .types = WI_ALL_TYPES,
     .seconds = wi_no_rival,
     .run = wi_map_vector},
#endif
    {.name = "ranks",
     .what = "every rank maps its own part",
     .kinds = WI_ON_CPU | WI_ON_CUDA,
     .scope = WI_DISTRIBUTED,
     .types = WI_ALL_TYPES,
     .seconds = wi_no_rival,
     .run = wi_map_ranks},
};

const wi_ladder wi_map_ladder = {"map", rows, sizeof rows / sizeof rows[0]};

/* A call's last array is its output; for axpy it is also an input. */
static weft_status run_part(weft_context *ctx, wi_call *call, const wi_part *part, void *user) {
    wi_map_args args = *(const wi_map_args *)user;
    const int out = call->count - 1;
    args.rows = part->rows;
    args.cols = part->cols;
    args.first += part->first;
    args.z = part->p[out];
    args.ldz = part->ld[out];
    if (call->count > 1) {
        args.x = part->p[0];
        args.ldx = part->ld[0];
        args.y = part->p[1];
        args.ldy = part->ld[1];
    }
    return wi_run(ctx, &wi_map_ladder, call->name, args.type, &args);
}

enum {
    MOST_ARRAYS = 3
};

/* An argument of a call; ld_name is NULL for a vector. */
typedef struct matrix {
    const char *name, *ld_name;
    const void *p;
    size_t ld;
} matrix;

weft_status wi_map_call_run(weft_context *ctx, wi_call *call, wi_map_args *args) {
    const bool empty = args->rows == 0 || args->cols == 0;
    return empty ? WEFT_OK : wi_call_run(ctx, call, run_part, args);
}

/* What ranks must pass alike. */
static uint64_t alike_of(const wi_map_args *args) {
    const size_t size = weft_type_size(args->type);
    return wi_alike_bytes(wi_alike_bytes(wi_alike(0, args->op), args->a.bytes, size), args->b.bytes,
                          size);
}

static void describe(wi_call *call, const wi_map_args *args, const matrix *arrays, int count) {
    const unsigned out = args->op == WI_MAP_AXPY ? WI_IN | WI_OUT : WI_OUT;
    for (int k = 0; k < count; k++) {
        const matrix *const m = &arrays[k];
        wi_call_add(call, wi_matrix(m->name, m->p, args->rows, args->cols, m->ld_name, m->ld,
                                    args->type, k == count - 1 ? out : WI_IN | WI_STRIDED));
    }
    call->array[count - 1].in_place = (1u << (count - 1)) - 1;
}

/* A checked call on a place of several GPUs: each maps its rows or, of a vector, elements. */
typedef struct spread {
    const char *name;
    const wi_map_args *args;
    const matrix *arrays;
    int count;
} spread;

static weft_status run(weft_context *ctx, const char *name, wi_map_args *args, const matrix *arrays,
                       int count, weft_status status);

static weft_status run_share(weft_context *rank, void *user) {
    const spread *const s = user;
    const matrix *const out = &s->arrays[s->count - 1];
    const size_t size = weft_type_size(s->args->type);
    const bool vector = s->args->rows == 1;
    wi_map_args args = *s->args;
    matrix arrays[MOST_ARRAYS];
    size_t *const n = vector ? &args.cols : &args.rows;
    const wi_share share = wi_gpus_share(rank, out->p, *n, vector ? size : out->ld * size);
    *n = share.n;
    for (int k = 0; k < s->count; k++) {
        arrays[k] = s->arrays[k];
        arrays[k].p = wi_share_of(arrays[k].p, share, vector ? size : arrays[k].ld * size);
    }
    return run(rank, s->name, &args, arrays, s->count, WEFT_OK);
}

/* Checks and runs a call on `count` arrays, the last of which is written; `status` is what the
 * checks of the other arguments have said. */
static weft_status run(weft_context *ctx, const char *name, wi_map_args *args, const matrix *arrays,
                       int count, weft_status status) {
    wi_call call;
    wi_call_begin(&call, name, args->rows, args->cols);
    call.distributed = true;
    if (status == WEFT_OK) {
        describe(&call, args, arrays, count);
        status = wi_call_check(ctx, &call);
    }
    if (status == WEFT_OK && wi_gpus_wanted(ctx, &wi_map_ladder, arrays[count - 1].p,
                                            args->rows * args->cols, weft_type_size(args->type)))
        return wi_gpus_run(ctx, &wi_map_ladder, name, run_share,
                           &(spread){name, args, arrays, count});
    if (wi_is_dist(ctx))
        return wi_dist_run(ctx, &wi_map_ladder, name, args->type, alike_of(args), status,
                           &(wi_dist_args){&call, args});
    return status == WEFT_OK ? wi_map_call_run(ctx, &call, args) : status;
}

static weft_status check(weft_context *ctx, const char *call, weft_type type) {
    return wi_check_context(ctx) == WEFT_OK ? wi_check_type(ctx, call, type) : WEFT_EARG;
}

/* Reads a scalar argument. */
static weft_status take_scalar(weft_context *ctx, const char *call, const char *name,
                               weft_type type, const void *p, wi_scalar *scalar) {
    if (!p)
        return wi_fail(ctx, WEFT_EARG, "%s: %s is NULL; pass a pointer to one element", call, name);
    memcpy(scalar->bytes, p, weft_type_size(type));
    return WEFT_OK;
}

static weft_status add(weft_context *ctx, const char *name, weft_type type, size_t n_rows,
                       size_t cols, const void *x, size_t ldx, const void *y, size_t ldy, void *z,
                       size_t ldz) {
    wi_map_args args = {.op = WI_MAP_ADD, .type = type, .rows = n_rows, .cols = cols};
    const matrix arrays[] = {{"x", "ldx", x, ldx}, {"y", "ldy", y, ldy}, {"z", "ldz", z, ldz}};
    return run(ctx, name, &args, arrays, 3, check(ctx, name, type));
}

static weft_status axpy(weft_context *ctx, const char *name, weft_type type, size_t n_rows,
                        size_t cols, const void *alpha, const void *x, size_t ldx, void *y,
                        size_t ldy) {
    wi_map_args args = {.op = WI_MAP_AXPY, .type = type, .rows = n_rows, .cols = cols};
    const matrix arrays[] = {{"x", "ldx", x, ldx}, {"y", "ldy", y, ldy}};
    weft_status status = check(ctx, name, type);
    if (status == WEFT_OK)
        status = take_scalar(ctx, name, "alpha", type, alpha, &args.a);
    return run(ctx, name, &args, arrays, 2, status);
}

static weft_status fill(weft_context *ctx, const char *name, weft_type type, size_t n_rows,
                        size_t cols, const void *value, void *x, size_t ldx) {
    wi_map_args args = {.op = WI_MAP_FILL, .type = type, .rows = n_rows, .cols = cols};
    const matrix array = {"x", "ldx", x, ldx};
    weft_status status = check(ctx, name, type);
    if (status == WEFT_OK)
        status = take_scalar(ctx, name, "value", type, value, &args.a);
    return run(ctx, name, &args, &array, 1, status);
}

static weft_status iota(weft_context *ctx, const char *name, weft_type type, size_t n_rows,
                        size_t cols, const void *start, const void *step, void *x, size_t ldx) {
    wi_map_args args = {.op = WI_MAP_IOTA, .type = type, .rows = n_rows, .cols = cols};
    const matrix array = {"x", "ldx", x, ldx};
    weft_status status = check(ctx, name, type);
    if (status == WEFT_OK)
        status = take_scalar(ctx, name, "start", type, start, &args.a);
    if (status == WEFT_OK)
        status = take_scalar(ctx, name, "step", type, step, &args.b);
    return run(ctx, name, &args, &array, 1, status);
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
