/* SPDX-License-Identifier: Apache-2.0 */
/* The public call of histogram: checks arguments, then runs the ladder on memory that the place can
 * access. */
#include "histogram/histogram.h"

#include "comm/gpus.h"
#include "core/call.h"
#include "core/gpu.h"

static const char name[] = "weft_histogram";

/* ---- checks ---- */

static weft_status check_even(weft_context *ctx, const weft_bins *bins) {
    if (!isfinite(bins->lo) || !isfinite(bins->hi) || !(bins->lo < bins->hi))
        return wi_fail(ctx, WEFT_EARG,
                       "%s: bins cover [lo, hi) = [%.17g, %.17g); pass finite numbers with lo < hi",
                       name, bins->lo, bins->hi);
    if (!isfinite((double)bins->count * (bins->hi - bins->lo)))
        return wi_fail(ctx, WEFT_EARG,
                       "%s: bins of [%g, %g) overflow f64; pass a shorter range, or edges", name,
                       bins->lo, bins->hi);
    return WEFT_OK;
}

static weft_status check_edges(weft_context *ctx, const double *edges, size_t count) {
    for (size_t k = 0; k <= count; k++) {
        if (edges[k] != edges[k] || (k > 0 && !(edges[k - 1] <= edges[k])))
            return wi_fail(ctx, WEFT_EARG,
                           "%s: edges[%zu] of bins is %.17g, after %.17g; pass edges that ascend, "
                           "without NaN",
                           name, k, edges[k], k ? edges[k - 1] : -INFINITY);
    }
    return WEFT_OK;
}

static weft_status check_bins(weft_context *ctx, weft_type type, const weft_bins *bins) {
    const size_t size = weft_type_size(type);
    if (!bins) {
        if (size <= 2 && !wi_type_is_float(type))
            return WEFT_OK;
        return wi_fail(ctx, WEFT_EUNSUPPORTED,
                       "%s: bins NULL counts the values of integers of 8 or 16 bits, not of %s; "
                       "pass bins",
                       name, weft_type_name(type));
    }
    if (bins->count < 1 || bins->count > WEFT_MOST_BINS)
        return wi_fail(ctx, WEFT_EARG, "%s: bins has a count of %zu; pass 1 to %zu", name,
                       bins->count, WEFT_MOST_BINS);
    return bins->edges ? WEFT_OK : check_even(ctx, bins);
}

size_t wi_histogram_bins(const wi_histogram_request *r) {
    return r->bins ? r->bins->count : (size_t)1 << 8 * weft_type_size(r->type);
}

static weft_status check_request(weft_context *ctx, const wi_histogram_request *r) {
    weft_status status = wi_check_type(ctx, name, r->type);
    if (status != WEFT_OK)
        return status;
    if (r->channels < 1 || r->channels > WEFT_MOST_CHANNELS)
        return wi_fail(ctx, WEFT_EARG, "%s: channels is %u; pass 1 to %d", name, r->channels,
                       WEFT_MOST_CHANNELS);
    if (r->counting != WEFT_OVERWRITE && r->counting != WEFT_ACCUMULATE)
        return wi_fail(ctx, WEFT_EARG,
                       "%s: counting %d is not a weft_counting; pass WEFT_OVERWRITE or "
                       "WEFT_ACCUMULATE",
                       name, (int)r->counting);
    status = wi_check_index_type(ctx, name, "count_type", r->count_type, r->n);
    if (status != WEFT_OK)
        return status;
    return check_bins(ctx, r->type, r->bins);
}

enum {
    X,
    COUNTS,
    OUTSIDE,
    EDGES, /* copied to the host before the call runs */
    ARRAYS
};

static weft_status describe(weft_context *ctx, const wi_histogram_request *r, wi_call *call) {
    const unsigned counted = WI_WHOLE | WI_OUT | (r->counting == WEFT_ACCUMULATE ? WI_IN : 0);
    const double *const edges = r->bins ? r->bins->edges : NULL;
    if (r->n > PTRDIFF_MAX / r->channels)
        return wi_fail(ctx, WEFT_EARG, "%s: n is %zu, more pixels than memory has room for", name,
                       r->n);
    const size_t n = r->n * r->channels, counts = wi_histogram_bins(r) * r->channels;
    *call = (wi_call){
        .name = name,
        .distributed = true,
        .array = {[X] = wi_elements("x", r->x, n, r->type, WI_IN | WI_STRIDED),
                  [COUNTS] = wi_elements("counts", r->counts, counts, r->count_type, counted),
                  [OUTSIDE] = wi_elements("outside", r->outside, (size_t)WI_OUTSIDE * r->channels,
                                          r->count_type, counted | WI_OPTIONAL),
                  [EDGES] = wi_elements("edges", edges, edges ? r->bins->count + 1 : 0, WEFT_F64,
                                        WI_IN | WI_WHOLE | WI_OPTIONAL)},
        .count = ARRAYS,
        .rows = 1,
        .cols = n};
    return wi_call_check(ctx, call);
}

/* ---- bins ---- */

static wi_key_form form_of(weft_type type) {
    const unsigned bits = 8 * (unsigned)weft_type_size(type);
    wi_key_form form = {.bits = bits, .is_float = wi_type_is_float(type)};
    if (form.is_float || wi_type_is_signed(type))
        form.flip = (uint64_t)1 << (bits - 1);
    form.mantissa_bits = type == WEFT_F16    ? 10
                         : type == WEFT_BF16 ? 7
                         : type == WEFT_F32  ? 23
                         : type == WEFT_F64  ? 52
                                             : 0;
    return form;
}

/* Are the edges of these even bins integers 2^shift apart, computed without rounding, and is the
 * first one a value of the integer type? */
static bool can_shift(const wi_bins *bins, double *width) {
    const double exact = 0x1p53, span = bins->hi - bins->lo;
    const bool computed_exactly =
        bins->count < 1u << 26 &&
        (bins->lo == 0 || (fabs(bins->lo) <= exact && fabs(bins->hi) <= exact && span <= exact));
    int exponent;
    *width = span / bins->count;
    uint64_t key;
    return !bins->form.is_float && computed_exactly && bins->lo == floor(bins->lo) &&
           *width * bins->count == span && *width >= 1 && frexp(*width, &exponent) == 0.5 &&
           exponent - 1 < (int)bins->form.bits &&
           wi_integer_threshold(&bins->form, bins->lo, &key) &&
           bins->lo == (double)key - (double)bins->form.flip;
}

wi_bins wi_bins_of(weft_type type, const weft_bins *bins) {
    wi_bins b = {.form = form_of(type), .rule = WI_BINS_SEARCH};
    if (bins && bins->edges) {
        b.count = (uint32_t)bins->count;
        b.edges = bins->edges;
        return b;
    }
    const double least = wi_type_is_signed(type) ? -ldexp(1, (int)b.form.bits - 1) : 0;
    b.count = bins ? (uint32_t)bins->count : (uint32_t)1 << b.form.bits;
    b.lo = bins ? bins->lo : least;
    b.hi = bins ? bins->hi : least + b.count;
    b.origin = b.form.is_float ? b.lo : b.lo + (double)b.form.flip;
    b.scale = b.count / (b.hi - b.lo);
    b.snap = b.form.is_float && b.lo < 0 ? -b.lo * 0x1p-48 : 0;
    double width;
    if (can_shift(&b, &width)) {
        b.rule = WI_BINS_SHIFT;
        wi_integer_threshold(&b.form, b.lo, &b.first);
        b.shift = (unsigned)ilogb(width);
    } else if (isfinite(b.scale) && isfinite(b.origin)) {
        b.rule = WI_BINS_LINEAR;
    }
    return b;
}

/* ---- running ---- */

static weft_status run_part(weft_context *ctx, wi_call *call, const wi_part *part, void *user) {
    wi_histogram_args args = *(const wi_histogram_args *)user;
    args.n = part->cols;
    args.channel = (uint32_t)(part->first % args.channels);
    args.x = part->p[X];
    args.accumulate = args.accumulate || part->index > 0;
    args.counts = part->p[COUNTS];
    args.outside = part->p[OUTSIDE];
    return wi_run(ctx, &wi_histogram_ladder, call->name, args.type, &args);
}

/* Runs the call; `edges` can be read by this thread. */
static weft_status run(weft_context *ctx, const wi_histogram_request *r, wi_call *call,
                       const double *edges) {
    weft_bins bins = {.count = 0};
    if (r->bins) {
        bins = *r->bins;
        bins.edges = edges;
    }
    const weft_status status = edges ? check_edges(ctx, edges, bins.count) : WEFT_OK;
    if (status != WEFT_OK)
        return status;
    wi_histogram_args args = {.type = r->type,
                              .channels = r->channels,
                              .bins = wi_bins_of(r->type, r->bins ? &bins : NULL),
                              .accumulate = r->counting == WEFT_ACCUMULATE,
                              .wide = weft_type_size(r->count_type) == 8};
    call->count = EDGES; /* without the edges, which are in args */
    return wi_call_run(ctx, call, run_part, &args);
}

static weft_status run_with_fetched_edges(weft_context *ctx, const wi_histogram_request *r,
                                          wi_call *call) {
    const size_t bytes = call->array[EDGES].bytes;
    double *const edges = wi_host_alloc(bytes);
    if (!edges)
        return wi_fail(ctx, WEFT_ENOMEM, "%s: no memory for %zu edges", name, r->bins->count + 1);
    weft_status status = weft_copy(ctx, edges, r->bins->edges, bytes);
    if (status == WEFT_OK)
        status = run(ctx, r, call, edges);
    wi_host_free(edges);
    return status;
}

/* What ranks must pass alike. Edges are compared only by their number. */
static uint64_t alike_of(const wi_histogram_request *r) {
    uint64_t alike = wi_alike(0, r->count_type);
    alike = wi_alike(wi_alike(alike, r->channels), r->counting);
    if (!r->bins)
        return alike;
    alike = wi_alike(wi_alike(alike, r->bins->count), r->bins->edges != NULL);
    if (r->bins->edges)
        return alike;
    return wi_alike_bytes(wi_alike_bytes(alike, &r->bins->lo, sizeof(double)), &r->bins->hi,
                          sizeof(double));
}

/* Memory for the counts of a rank other than the first. */
static weft_status take_counts(weft_context *rank, const wi_histogram_request *r, void **counts,
                               void **outside) {
    const size_t width = weft_type_size(r->count_type);
    weft_status status = wi_dist_take(rank, wi_histogram_bins(r) * r->channels, width, counts);
    *outside = NULL;
    if (status == WEFT_OK && r->outside)
        status = wi_dist_take(rank, (size_t)WI_OUTSIDE * r->channels, width, outside);
    return status;
}

/* On a place of several GPUs: all ranks get the counts, and the first gives them to the caller. */
static weft_status run_share(weft_context *rank, void *user) {
    const wi_histogram_request *const r = user;
    const size_t pixel = weft_type_size(r->type) * r->channels;
    const wi_share share = wi_gpus_share(rank, r->x, r->n, pixel);
    const bool first = weft_rank(rank) == 0;
    void *counts = r->counts, *outside = r->outside;
    weft_status status =
        wi_agree(rank, 0, first ? WEFT_OK : take_counts(rank, r, &counts, &outside));
    if (status == WEFT_OK)
        status =
            weft_histogram(rank, r->type, share.n, r->channels, wi_share_of(r->x, share, pixel),
                           r->bins, r->counting, r->count_type, counts, outside);
    if (!first) {
        wi_host_free(counts);
        wi_host_free(outside);
    }
    return status;
}

weft_status weft_histogram(weft_context *ctx, weft_type type, size_t n, unsigned channels,
                           const void *x, const weft_bins *bins, weft_counting counting,
                           weft_type count_type, void *counts, void *outside) {
    if (wi_check_context(ctx) != WEFT_OK)
        return WEFT_EARG;
    wi_histogram_request r = {type, count_type, n, channels, x, bins, counting, counts, outside};
    wi_call call;
    weft_status status = check_request(ctx, &r);
    if (status == WEFT_OK)
        status = describe(ctx, &r, &call);
    if (status == WEFT_OK &&
        wi_gpus_wanted(ctx, &wi_histogram_ladder, x, n * channels, weft_type_size(type)))
        return wi_gpus_run(ctx, &wi_histogram_ladder, name, run_share, &r);
    if (wi_is_dist(ctx))
        return wi_dist_run(ctx, &wi_histogram_ladder, name, type, alike_of(&r), status, &r);
    if (status != WEFT_OK)
        return status;
    const double *const edges = bins ? bins->edges : NULL;
    if (edges && ctx->kind == WI_CUDA && wi_gpu_capturing(ctx))
        return wi_fail(ctx, WEFT_EUNSUPPORTED,
                       "%s: edges cannot be read during a stream capture; pass even bins", name);
    return !edges || wi_is_host(ctx, edges) ? run(ctx, &r, &call, edges)
                                            : run_with_fetched_edges(ctx, &r, &call);
}
