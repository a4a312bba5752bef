/* SPDX-License-Identifier: Apache-2.0 */
/* Bands of rows over ranks. Outputs whose filter lies in the band are computed from it where it is.
 * Of those at its two ends the rows that the filter reaches come from other ranks, and from beyond
 * the border: they are laid under one another, in strips, which are filtered as images of their
 * own. Sums are those of one place, in order and bits. */
#include "convolve/convolve_bands.h"

#include "convolve/convolve_border.h"
#include "weft/map.h"

enum {
    NONE = -1 /* no row: zeros */
};

ptrdiff_t wi_convolve_centre(const weft_convolution *c) {
    const size_t down = c->filter_height / 2;
    return (ptrdiff_t)(c->how & WEFT_CORRELATE ? down : c->filter_height - 1 - down);
}

wi_convolve_span wi_convolve_band(const wi_convolve_bands *r, int rank) {
    return (wi_convolve_span){(ptrdiff_t)r->begin[rank], (ptrdiff_t)r->begin[rank + 1]};
}

wi_convolve_span wi_convolve_outputs(const weft_convolution *c, wi_convolve_span band,
                                     size_t whole) {
    const ptrdiff_t above = wi_convolve_centre(c), below = (ptrdiff_t)c->filter_height - 1 - above;
    wi_convolve_span out = band;
    if (c->border == WEFT_BORDER_VALID) {
        out.first = out.first > above ? out.first : above;
        out.end = out.end < (ptrdiff_t)whole - below ? out.end : (ptrdiff_t)whole - below;
    }
    return out.first < out.end ? out : (wi_convolve_span){band.first, band.first};
}

/* The rows that the filter of these outputs reaches. */
static wi_convolve_span reach_of(const weft_convolution *c, wi_convolve_span out) {
    const ptrdiff_t above = wi_convolve_centre(c);
    return out.first == out.end
               ? out
               : (wi_convolve_span){out.first - above,
                                    out.end + (ptrdiff_t)c->filter_height - 1 - above};
}

/* ---- rows of other ranks ---- */

/* What a rank needs beside its band: rows from `reach.first` to the band, and behind it. */
typedef struct halo {
    wi_convolve_span band, reach;
} halo;

static halo halo_of(const wi_convolve_bands *r, int rank, size_t whole) {
    const wi_convolve_span band = wi_convolve_band(r, rank);
    return (halo){band, reach_of(r->c, wi_convolve_outputs(r->c, band, whole))};
}

static bool has_halo(const halo *h) {
    return h->reach.first < h->reach.end;
}

static size_t halo_rows(const halo *h) {
    return has_halo(h) ? (size_t)(h->band.first - h->reach.first + h->reach.end - h->band.end) : 0;
}

/* Row k of a halo, as a row of the whole, which may lie beyond the border. */
static ptrdiff_t halo_row(const halo *h, size_t k) {
    const ptrdiff_t row = h->reach.first + (ptrdiff_t)k;
    return row < h->band.first ? row : row + h->band.end - h->band.first;
}

/* Its place in the halo. */
static size_t halo_place(const halo *h, ptrdiff_t row) {
    return (size_t)((row < h->band.first ? row : row - h->band.end + h->band.first) -
                    h->reach.first);
}

/* What a call has while it runs. Rows travel with those of all images side by side. */
typedef struct exchange {
    weft_context *ctx;
    const wi_convolve_bands *r;
    size_t whole, row_bytes; /* of one image */
    halo own;
    size_t *sent, *got; /* rows for each rank, and from it */
    ptrdiff_t *place;   /* of each row of the halo: its place in `in`; or NONE; or behind these
                           values, NONE - 1 - the row of the own band */
    void *in, *out;
    void *strip; /* for one image */
} exchange;

static int rank_with(const exchange *x, size_t row) {
    const size_t *const begin = x->r->begin;
    int low = 0, high = x->ctx->comm->size - 1;
    while (low < high) { /* the last rank that begins at the row or before it */
        const int middle = (low + high + 1) / 2;
        if (begin[middle] <= row)
            low = middle;
        else
            high = middle - 1;
    }
    return low;
}

/* The row of the whole that stands for one; NONE: zeros. */
static ptrdiff_t source_of(const exchange *x, ptrdiff_t row) {
    return wi_convolve_pixel(x->r->c->border, (int)row, (int)x->whole);
}

static bool is_in(wi_convolve_span s, ptrdiff_t row) {
    return row >= s.first && row < s.end;
}

/* Counts what comes from each rank, and where it will lie. */
static void find_places(exchange *x) {
    const size_t rows = halo_rows(&x->own), ranks = (size_t)x->ctx->comm->size;
    size_t before = 0;
    for (size_t k = 0; k < rows; k++) {
        const ptrdiff_t source = source_of(x, halo_row(&x->own, k));
        if (source != NONE && !is_in(x->own.band, source))
            x->got[rank_with(x, (size_t)source)]++;
    }
    for (size_t q = 0; q < ranks; q++) { /* for a while: where those of each begin */
        const size_t count = x->got[q];
        x->got[q] = before;
        before += count;
    }
    for (size_t k = 0; k < rows; k++) {
        const ptrdiff_t source = source_of(x, halo_row(&x->own, k));
        x->place[k] = source == NONE ? NONE
                      : is_in(x->own.band, source)
                          ? NONE - 1 - (source - x->own.band.first)
                          : (ptrdiff_t)x->got[rank_with(x, (size_t)source)]++;
    }
    for (size_t q = ranks; q-- > 1;)
        x->got[q] -= x->got[q - 1];
}

/* The rows of images that lie one behind the other. */
static const char *row_of(const exchange *x, size_t image, size_t row) {
    const wi_convolve_args *const a = x->r->args;
    const size_t apart = a->rows_apart_x * a->ldx;
    return (const char *)x->r->x + (image * apart + row * a->ldx) * weft_type_size(a->type);
}

/* Some of this rank's rows, of all images, to `out`. */
static weft_status put_rows(const exchange *x, size_t to, size_t from, size_t rows) {
    const wi_convolve_args *const a = x->r->args;
    const size_t images = a->images;
    weft_status status = WEFT_OK;
    for (size_t k = 0; k < images && rows > 0 && status == WEFT_OK; k++)
        status = wi_dist_copy_rows(x->ctx, (char *)x->out + (to * images + k) * x->row_bytes,
                                   images * x->row_bytes, row_of(x, k, from),
                                   a->ldx * weft_type_size(a->type), rows, x->row_bytes);
    return status;
}

/* Calls for the rows that rank q needs of this one. With `packs` it puts them to `out`. */
static weft_status send_to(exchange *x, int q, size_t *to, bool packs) {
    const halo h = halo_of(x->r, q, x->whole);
    const size_t rows = halo_rows(&h);
    size_t first = 0, run = 0; /* rows of this rank that follow each other */
    weft_status status = WEFT_OK;
    for (size_t k = 0; k < rows && status == WEFT_OK; k++) {
        const ptrdiff_t source = source_of(x, halo_row(&h, k));
        if (source == NONE || !is_in(x->own.band, source))
            continue;
        const size_t row = (size_t)(source - x->own.band.first);
        if (run == 0 || row != first + run) {
            if (packs)
                status = put_rows(x, *to - run, first, run);
            first = row;
            run = 0;
        }
        run++;
        ++*to;
    }
    return packs && status == WEFT_OK ? put_rows(x, *to - run, first, run) : status;
}

static weft_status send_all(exchange *x, size_t *to, bool packs) {
    weft_status status = WEFT_OK;
    *to = 0;
    for (int q = 0; q < x->ctx->comm->size && status == WEFT_OK; q++) {
        const size_t before = *to;
        if (q != x->ctx->comm->rank)
            status = send_to(x, q, to, packs);
        x->sent[q] = *to - before;
    }
    return status;
}

/* Takes memory, and puts what goes to other ranks there. */
static weft_status open_exchange(exchange *x) {
    const size_t ranks = (size_t)x->ctx->comm->size, rows = halo_rows(&x->own);
    const size_t all = x->row_bytes * x->r->args->images;
    size_t leaving = 0, coming = 0;
    void *room;
    weft_status status = wi_dist_take(x->ctx, 2 * ranks + rows, sizeof(size_t), &room);
    if (status != WEFT_OK)
        return status;
    x->sent = room;
    x->got = x->sent + ranks;
    x->place = (ptrdiff_t *)(x->got + ranks);
    for (size_t q = 0; q < ranks; q++)
        x->got[q] = 0;
    find_places(x);
    for (size_t q = 0; q < ranks; q++)
        coming += x->got[q];
    send_all(x, &leaving, false);
    status = wi_dist_take_near(x->ctx, leaving, all, &x->out);
    if (status == WEFT_OK)
        status = wi_dist_take_near(x->ctx, coming, all, &x->in);
    if (status == WEFT_OK)
        status = wi_dist_take_near(x->ctx, 2 * x->r->c->filter_height, x->row_bytes, &x->strip);
    if (status == WEFT_OK)
        status = send_all(x, &leaving, true);
    return status == WEFT_OK ? wi_local(x->ctx, weft_sync(x->ctx->child)) : status;
}

static void close_exchange(exchange *x) {
    wi_host_free(x->sent);
    wi_dist_give_near(x->ctx, x->out);
    wi_dist_give_near(x->ctx, x->in);
    wi_dist_give_near(x->ctx, x->strip);
}

/* ---- filtering ---- */

/* Outputs of one image, from the rows that their filter reaches, ldx elements apart. */
static weft_status filter_rows(const exchange *x, size_t image, wi_convolve_span out,
                               const void *rows, size_t ldx) {
    const wi_convolve_bands *const r = x->r;
    const wi_convolve_span all = wi_convolve_outputs(r->c, x->own.band, x->whole);
    weft_convolution c = *r->c;
    wi_convolve_args a = *r->args;
    wi_call call;
    if (a.filters > 1) {
        c.filter += image * a.channels % a.filters * a.filter_width * a.filter_height;
        a.filters = a.channels;
    }
    a.images = 1;
    a.above = 0;
    a.out_height = a.rows_apart_y = (size_t)(out.end - out.first);
    a.height = a.rows_apart_x = a.out_height + a.filter_height - 1;
    a.x = rows;
    a.ldx = ldx;
    a.y = (char *)r->y + (image * r->args->rows_apart_y + (size_t)(out.first - all.first)) * a.ldy *
                             weft_type_size(a.out);
    weft_status status = wi_convolve_describe(x->ctx->child, &c, &a, &call);
    if (status == WEFT_OK)
        status = wi_convolve_call_run(x->ctx->child, &c, &a, &call);
    return wi_local(x->ctx, status);
}

/* Copies a run of rows to the strip: from this rank's band, or from those that came. */
static weft_status lay_run(const exchange *x, size_t image, size_t to, ptrdiff_t from,
                           size_t rows) {
    const wi_convolve_args *const a = x->r->args;
    char *const there = (char *)x->strip + to * x->row_bytes;
    static const uint8_t zero;
    if (rows == 0)
        return WEFT_OK;
    if (from == NONE)
        return wi_local(x->ctx,
                        weft_fill(x->ctx->child, WEFT_U8, rows * x->row_bytes, &zero, there));
    if (from < NONE)
        return wi_dist_copy_rows(x->ctx, there, x->row_bytes,
                                 row_of(x, image, (size_t)(NONE - 1 - from)),
                                 a->ldx * weft_type_size(a->type), rows, x->row_bytes);
    return wi_dist_copy_rows(x->ctx, there, x->row_bytes,
                             (char *)x->in + ((size_t)from * a->images + image) * x->row_bytes,
                             a->images * x->row_bytes, rows, x->row_bytes);
}

/* Where a row comes from, as `place` has it. */
static ptrdiff_t origin_of(const exchange *x, ptrdiff_t row) {
    return is_in(x->own.band, row) ? NONE - 1 - (row - x->own.band.first)
                                   : x->place[halo_place(&x->own, row)];
}

/* Is it the row behind `rows` others that begin at `first`? */
static bool follows(ptrdiff_t first, size_t rows, ptrdiff_t origin) {
    const ptrdiff_t ahead = first < NONE ? -(ptrdiff_t)rows : first == NONE ? 0 : (ptrdiff_t)rows;
    return rows > 0 && origin == first + ahead;
}

/* Lays the rows under one another, and filters them. */
static weft_status filter_strip(const exchange *x, size_t image, wi_convolve_span out) {
    const wi_convolve_span reach = reach_of(x->r->c, out);
    ptrdiff_t first = NONE;
    size_t rows = 0, at = 0;
    weft_status status = WEFT_OK;
    for (ptrdiff_t row = reach.first; row < reach.end && status == WEFT_OK; row++, at++) {
        const ptrdiff_t origin = origin_of(x, row);
        if (!follows(first, rows, origin)) {
            status = lay_run(x, image, at - rows, first, rows);
            first = origin;
            rows = 0;
        }
        rows++;
    }
    if (status == WEFT_OK)
        status = lay_run(x, image, at - rows, first, rows);
    if (status == WEFT_OK)
        status = wi_local(x->ctx, weft_sync(x->ctx->child));
    const size_t ld = x->r->args->width * x->r->args->channels;
    return status == WEFT_OK ? filter_rows(x, image, out, x->strip, ld) : status;
}

/* The outputs whose filter lies in the own band. */
static wi_convolve_span inner_of(const exchange *x) {
    const wi_convolve_span out = wi_convolve_outputs(x->r->c, x->own.band, x->whole),
                           band = x->own.band;
    const ptrdiff_t above = wi_convolve_centre(x->r->c), first = band.first + above;
    const ptrdiff_t end = band.end + above + 1 - (ptrdiff_t)x->r->c->filter_height;
    const wi_convolve_span in = {first > out.first ? first : out.first,
                                 end < out.end ? end : out.end};
    return in.first < in.end ? in : (wi_convolve_span){out.end, out.end};
}

static weft_status filter_inner(const exchange *x) {
    const wi_convolve_span in = inner_of(x);
    weft_status status = WEFT_OK;
    if (in.first == in.end)
        return WEFT_OK;
    const size_t top = (size_t)(in.first - wi_convolve_centre(x->r->c) - x->own.band.first);
    for (size_t k = 0; k < x->r->args->images && status == WEFT_OK; k++)
        status = filter_rows(x, k, in, row_of(x, k, top), x->r->args->ldx);
    return status;
}

/* Those before and behind them. */
static weft_status filter_ends(const exchange *x) {
    const wi_convolve_span out = wi_convolve_outputs(x->r->c, x->own.band, x->whole),
                           in = inner_of(x);
    const wi_convolve_span ends[] = {{out.first, in.first}, {in.end, out.end}};
    weft_status status = WEFT_OK;
    for (size_t k = 0; k < x->r->args->images; k++)
        for (int e = 0; e < 2 && status == WEFT_OK; e++)
            if (ends[e].first < ends[e].end)
                status = filter_strip(x, k, ends[e]);
    return status;
}

/* A GPU filters the inner rows while others travel. */
weft_status wi_convolve_run_bands(weft_context *ctx, const wi_convolve_bands *r) {
    const wi_convolve_args *const a = r->args;
    const int rank = ctx->comm->rank;
    exchange x = {.ctx = ctx,
                  .r = r,
                  .whole = r->begin[ctx->comm->size],
                  .row_bytes = a->width * a->channels * weft_type_size(a->type)};
    x.own = halo_of(r, rank, x.whole);
    weft_status status = open_exchange(&x);
    if (status == WEFT_OK)
        status = filter_inner(&x);
    status = wi_agree(ctx, 0, status);
    if (status == WEFT_OK)
        status = wi_dist_exchange(ctx, x.out, x.sent, x.in, x.got, x.row_bytes * a->images);
    if (status == WEFT_OK)
        status = filter_ends(&x);
    close_exchange(&x);
    return status;
}
