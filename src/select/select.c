/* SPDX-License-Identifier: Apache-2.0 */
/* The public calls of select: each argument is checked once, and the call told as one of three jobs
 * that all rungs know. */
#include "select/select.h"

#include <string.h>

#ifdef WEFT_CUDA
#    include "core/gpu.h"
#    include "core/taught.h"
#endif

#ifdef WEFT_CUDA
#    if WEFT_LADDER
static const char *fits_three_kernels(const weft_context *ctx, const void *args) {
    const wi_select_args *call = args;
    (void)ctx;
    if (call->job != WI_SELECT_KEEP || call->unique || call->rest || call->rest_follows ||
        call->positions || call->x != call->tested || call->unit < 4)
        return "teaches weft_select of elements of 4 and 8 bytes only";
    if (call->kept == call->x)
        return "needs y apart from x: blocks that gather would write where others have yet to read";
    return call->n > UINT32_MAX ? "needs n < 2^32: it counts in u32" : NULL;
}
#    endif

static const char *fits_bulk(const weft_context *ctx, const void *args) {
    const wi_select_args *call = args;
    if (ctx->gpu->capability < 90)
        return "needs a GPU of compute capability 9.0 or later: bulk copies";
    if (call->job == WI_SELECT_EXPAND)
        return "does not expand: what it would read depends on the count so far";
    if (call->moves && call->units > 1)
        return "needs elements of 1, 2, 4, 8 or 16 bytes, aligned to as many";
    if ((uintptr_t)call->tested % 16 != 0 || (uintptr_t)call->x % 16 != 0)
        return "needs inputs aligned to 16 bytes: bulk copies";
    return NULL;
}
#endif

static const wi_row rows[] = {
    {"serial", WI_CPU, "the loop you would write", 0, wi_fits_all, wi_select_serial},
    {"threads", WI_CPU, "blocks packed in cache, vectors, one pass over memory", 1024, wi_fits_all,
     wi_select_threads},
#ifdef WEFT_CUDA
#    if WEFT_LADDER
    {"three_kernels", WI_CUDA, "predicate, scan, gather", 0, fits_three_kernels,
     wi_select_three_kernels},
#    endif
    {"lookback", WI_CUDA, "one pass; tiles look back at their neighbours' counts", 0, wi_fits_all,
     wi_select_lookback},
    {"bulk", WI_CUDA, "asynchronous bulk copies, several tiles in flight, persistent blocks",
     (size_t)1 << 22, fits_bulk, wi_select_bulk},
#endif
};

const wi_ladder wi_select_ladder = {"select", rows, sizeof rows / sizeof rows[0]};

/* ---- checks ---- */

static weft_status check_predicate(weft_context *ctx, const char *call, const weft_predicate *p) {
    if ((unsigned)p->test >= WEFT_TEST_COUNT)
        return wi_fail(ctx, WEFT_EARG,
                       "%s: test %d of the predicate is no weft_test; pass WEFT_EQ ... WEFT_IS_NAN",
                       call, (int)p->test);
    return wi_check_type(ctx, call, p->type);
}

/* An array of a call: `n` elements of `width` bytes, of any alignment. */
typedef struct span {
    const char *name;
    const void *p;
    size_t n, width;
} span;

static weft_status check_span(weft_context *ctx, const char *call, span s) {
    if (s.width == 0)
        return wi_fail(ctx, WEFT_EARG, "%s: width is 0; pass the bytes of one element", call);
    if (s.n > PTRDIFF_MAX / s.width)
        return wi_fail(ctx, WEFT_EARG,
                       "%s: %zu elements of %zu bytes do not fit the address space; check the "
                       "count of %s and width",
                       call, s.n, s.width, s.name);
    if (!s.p && s.n > 0)
        return wi_fail(ctx, WEFT_EARG, "%s: %s is NULL; pass memory of %zu elements of %zu bytes",
                       call, s.name, s.n, s.width);
    return WEFT_OK;
}

static weft_status check_apart(weft_context *ctx, const char *call, span a, span b) {
    if (!wi_overlap(a.p, a.n * a.width, b.p, b.n * b.width))
        return WEFT_OK;
    return wi_fail(ctx, WEFT_EARG, "%s: %s and %s overlap; pass separate memory", call, a.name,
                   b.name);
}

static weft_status check_in_place(weft_context *ctx, const char *call, span a, span b) {
    return wi_check_overlap(ctx, call, a.name, a.p, a.n * a.width, b.name, b.p, b.n * b.width);
}

/* The count, against all arrays; those without memory are NULL. */
static weft_status check_count(weft_context *ctx, const char *call, const uint64_t *count,
                               const span *arrays, int how_many) {
    const span own = {"count", count, 1, sizeof *count};
    weft_status status = wi_check_array(ctx, call, "count", count, 1, WEFT_U64);
    for (int k = 0; k < how_many && status == WEFT_OK; k++)
        if (arrays[k].p)
            status = check_apart(ctx, call, own, arrays[k]);
    return status;
}

/* ---- the calls ---- */

static span typed(const char *name, const void *p, size_t n, weft_type type) {
    return (span){name, p, n, weft_type_size(type)};
}

/* A call on elements tested by p, its predicate and its tested array checked. */
static weft_status begin(weft_context *ctx, const char *call, const weft_predicate *p, size_t n,
                         const char *name, const void *tested, wi_select_args *args) {
    if (wi_check_context(ctx) != WEFT_OK)
        return WEFT_EARG;
    weft_status status = check_predicate(ctx, call, p);
    if (status == WEFT_OK)
        status = wi_check_array(ctx, call, name, tested, n, p->type);
    if (status != WEFT_OK)
        return status;
    *args = (wi_select_args){.n = n,
                             .tested = tested,
                             .tested_bytes = weft_type_size(p->type),
                             .range = wi_select_range_of(p),
                             .unit = 1,
                             .units = 1};
    return WEFT_OK;
}

/* select and partition: s is tested, x is moved. The arrays' widths are args->units. */
static weft_status move(weft_context *ctx, const char *call, wi_select_args *args, span s, span x,
                        span y, span z, bool partition) {
    const span arrays[] = {s, x, y, z};
    weft_status status = check_span(ctx, call, x);
    if (status == WEFT_OK)
        status = check_span(ctx, call, y);
    if (status != WEFT_OK)
        return status;
    const bool same = s.p == x.p && s.width == x.width;
    if (partition && !z.p)
        status = check_apart(ctx, call, y, x);
    else
        status = check_in_place(ctx, call, x, y);
    if (status == WEFT_OK && !same)
        status = check_apart(ctx, call, y, s);
    for (int k = 0; k < 3 && status == WEFT_OK && z.p; k++)
        status = check_apart(ctx, call, z, arrays[k]);
    if (status == WEFT_OK)
        status = check_count(ctx, call, args->count, arrays, 4);
    if (status != WEFT_OK)
        return status;
    args->units = x.width;
    args->moves = true;
    args->x = x.p;
    args->kept = (void *)(uintptr_t)y.p;
    args->rest = (void *)(uintptr_t)z.p;
    args->rest_follows = partition && !z.p;
    return wi_select_run(ctx, call, args);
}

/* The same for elements of p's own type. */
static weft_status move_typed(weft_context *ctx, const char *call, const weft_predicate *p,
                              size_t n, const void *x, void *y, void *z, uint64_t *count,
                              bool partition) {
    wi_select_args args;
    weft_status status = begin(ctx, call, p, n, "x", x, &args);
    if (status == WEFT_OK)
        status = wi_check_array(ctx, call, "y", y, n, p->type);
    if (status == WEFT_OK && z)
        status = wi_check_array(ctx, call, "z", z, n, p->type);
    if (status != WEFT_OK)
        return status;
    args.count = count;
    const span in = typed("x", x, n, p->type);
    return move(ctx, call, &args, in, in, typed("y", y, n, p->type), typed("z", z, n, p->type),
                partition);
}

static weft_status move_where(weft_context *ctx, const char *call, const weft_predicate *p,
                              size_t n, const void *s, size_t width, const void *x, void *y,
                              void *z, uint64_t *count, bool partition) {
    wi_select_args args;
    weft_status status = begin(ctx, call, p, n, "s", s, &args);
    if (status != WEFT_OK)
        return status;
    args.count = count;
    return move(ctx, call, &args, typed("s", s, n, p->type), (span){"x", x, n, width},
                (span){"y", y, n, width}, (span){"z", z, n, width}, partition);
}

weft_status weft_select(weft_context *ctx, weft_predicate p, size_t n, const void *x, void *y,
                        uint64_t *count) {
    return move_typed(ctx, "weft_select", &p, n, x, y, NULL, count, false);
}

weft_status weft_select_where(weft_context *ctx, weft_predicate p, size_t n, const void *s,
                              size_t width, const void *x, void *y, uint64_t *count) {
    return move_where(ctx, "weft_select_where", &p, n, s, width, x, y, NULL, count, false);
}

weft_status weft_partition(weft_context *ctx, weft_predicate p, size_t n, const void *x, void *y,
                           void *z, uint64_t *count) {
    return move_typed(ctx, "weft_partition", &p, n, x, y, z, count, true);
}

weft_status weft_partition_where(weft_context *ctx, weft_predicate p, size_t n, const void *s,
                                 size_t width, const void *x, void *y, void *z, uint64_t *count) {
    return move_where(ctx, "weft_partition_where", &p, n, s, width, x, y, z, count, true);
}

weft_status weft_select_count(weft_context *ctx, weft_predicate p, size_t n, const void *x,
                              uint64_t *count) {
    static const char call[] = "weft_select_count";
    wi_select_args args;
    weft_status status = begin(ctx, call, &p, n, "x", x, &args);
    const span in = typed("x", x, n, p.type);
    if (status == WEFT_OK)
        status = check_count(ctx, call, count, &in, 1);
    if (status != WEFT_OK)
        return status;
    args.job = WI_SELECT_COUNT;
    args.count = count;
    return wi_select_run(ctx, call, &args);
}

weft_status weft_select_indices(weft_context *ctx, weft_predicate p, size_t n, const void *x,
                                weft_type index_type, void *y, uint64_t *count) {
    static const char call[] = "weft_select_indices";
    wi_select_args args;
    weft_status status = begin(ctx, call, &p, n, "x", x, &args);
    if (status == WEFT_OK)
        status = wi_check_index_type(ctx, call, "index_type", index_type, n > 0 ? n - 1 : 0);
    if (status == WEFT_OK)
        status = wi_check_array(ctx, call, "y", y, n, index_type);
    if (status != WEFT_OK)
        return status;
    const span arrays[] = {typed("x", x, n, p.type), typed("y", y, n, index_type)};
    status = check_apart(ctx, call, arrays[1], arrays[0]);
    if (status == WEFT_OK)
        status = check_count(ctx, call, count, arrays, 2);
    if (status != WEFT_OK)
        return status;
    args.positions = y;
    args.position_bytes = weft_type_size(index_type);
    args.count = count;
    return wi_select_run(ctx, call, &args);
}

weft_status weft_expand(weft_context *ctx, weft_predicate p, size_t n, const void *s, size_t width,
                        size_t m, const void *x, const void *fill, void *y) {
    static const char call[] = "weft_expand";
    wi_select_args args;
    weft_status status = begin(ctx, call, &p, n, "s", s, &args);
    const span y_span = {"y", y, n, width}, x_span = {"x", x, m, width};
    const span others[] = {typed("s", s, n, p.type), x_span, {"fill", fill, 1, width}};
    if (status == WEFT_OK)
        status = check_span(ctx, call, y_span);
    if (status == WEFT_OK)
        status = check_span(ctx, call, x_span);
    for (int k = 0; k < 3 && status == WEFT_OK; k++)
        if (others[k].p)
            status = check_apart(ctx, call, y_span, others[k]);
    if (status != WEFT_OK || n == 0)
        return status;
    args.job = WI_SELECT_EXPAND;
    args.units = width;
    args.moves = true;
    args.x = x;
    args.packed = m;
    args.kept = y;
    args.fill = fill;
    args.has_fill = fill != NULL;
    return wi_select_run(ctx, call, &args);
}

/* unique and run_length: values, and lengths if they are given. */
static weft_status find_runs(weft_context *ctx, const char *call, weft_type type, size_t n,
                             const void *x, span values, span lengths, uint64_t *count) {
    const span in = typed("x", x, n, type), arrays[] = {in, values, lengths};
    weft_status status = wi_check_array(ctx, call, "x", x, n, type);
    if (status == WEFT_OK)
        status = wi_check_array(ctx, call, values.name, values.p, n, type);
    if (status == WEFT_OK)
        status = check_in_place(ctx, call, in, values);
    for (int k = 0; k < 2 && status == WEFT_OK && lengths.p; k++)
        status = check_apart(ctx, call, lengths, arrays[k]);
    if (status == WEFT_OK)
        status = check_count(ctx, call, count, arrays, 3);
    if (status != WEFT_OK)
        return status;
    const wi_select_args args = {.n = n,
                                 .tested = x,
                                 .tested_bytes = in.width,
                                 .unique = true,
                                 .moves = true,
                                 .x = x,
                                 .unit = 1,
                                 .units = in.width,
                                 .kept = (void *)(uintptr_t)values.p,
                                 .positions = (void *)(uintptr_t)lengths.p,
                                 .position_bytes = lengths.width,
                                 .lengths = lengths.p != NULL,
                                 .count = count};
    return wi_select_run(ctx, call, &args);
}

weft_status weft_unique(weft_context *ctx, weft_type type, size_t n, const void *x, void *y,
                        uint64_t *count) {
    static const char call[] = "weft_unique";
    if (wi_check_context(ctx) != WEFT_OK || wi_check_type(ctx, call, type) != WEFT_OK)
        return WEFT_EARG;
    return find_runs(ctx, call, type, n, x, typed("y", y, n, type), (span){.p = NULL}, count);
}

weft_status weft_run_length(weft_context *ctx, weft_type type, size_t n, const void *x,
                            void *values, weft_type length_type, void *lengths, uint64_t *count) {
    static const char call[] = "weft_run_length";
    if (wi_check_context(ctx) != WEFT_OK || wi_check_type(ctx, call, type) != WEFT_OK)
        return WEFT_EARG;
    weft_status status = wi_check_index_type(ctx, call, "length_type", length_type, n);
    if (status == WEFT_OK)
        status = wi_check_array(ctx, call, "lengths", lengths, n, length_type);
    if (status != WEFT_OK)
        return status;
    return find_runs(ctx, call, type, n, x, typed("values", values, n, type),
                     typed("lengths", lengths, n, length_type), count);
}
