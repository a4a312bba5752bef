/* SPDX-License-Identifier: Apache-2.0 */
/* fft over ranks and GPUs: which steps a call takes, from the division of x to that of y. */
#include "fft/fft_dist.h"

#include <string.h>

#include "weft/map.h"

/* Counts the scratch memory of a part of the call, or makes its tables. */
static weft_status ask_here(const wi_fft_spread *s, wi_fft_args *here) {
    size_t bytes = 0;
    if (here->asks_bytes)
        here->asks_bytes = &bytes;
    const weft_status status = wi_run_row(s->ctx->child, &wi_fft_ladder, s->row, here);
    wi_fft_tally_take(s, bytes);
    wi_fft_tally_give(s, bytes);
    return wi_local(s->ctx, status);
}

weft_status wi_fft_run_here(const wi_fft_spread *s, const wi_fft_args *args) {
    wi_fft_args here = *args;
    here.d.layout = 0;
    if (s->tally)
        return ask_here(s, &here);
    return wi_local(s->ctx, wi_fft_call_run(s->ctx->child, s->ctx->comm->call, s->row, &here));
}

/* ---- steps ---- */

static size_t own_of(const wi_fft_spread *s, const size_t *begin) {
    const int r = s->ctx->comm->rank;
    return begin[r + 1] - begin[r];
}

static bool is_turned(const wi_fft_spread *s, unsigned flag) {
    return s->a->d.layout & flag;
}

weft_status wi_fft_numbers_take(const wi_fft_spread *s, size_t numbers, void **p) {
    static char standin[64];
    const size_t bytes = numbers * wi_fft_number_bytes(s->a->d.type);
    *p = s->tally ? standin : NULL;
    if (s->tally)
        wi_fft_tally_take(s, bytes);
    return s->tally || bytes == 0 ? WEFT_OK : wi_local(s->ctx, weft_alloc(s->ctx->child, p, bytes));
}

void wi_fft_numbers_give(const wi_fft_spread *s, size_t numbers, void *p) {
    if (s->tally)
        wi_fft_tally_give(s, numbers * wi_fft_number_bytes(s->a->d.type));
    else
        weft_free(s->ctx->child, p);
}

void *wi_fft_number_at(const wi_fft_spread *s, void *p, size_t at) {
    return s->tally ? p : (char *)p + at * wi_fft_number_bytes(s->a->d.type);
}

static weft_status take_rows(const wi_fft_spread *s, size_t rows, size_t pitch, wi_fft_rows *x) {
    *x = (wi_fft_rows){NULL, pitch, rows * pitch};
    return wi_fft_numbers_take(s, s->a->d.batch * x->apart, &x->p);
}

static void give_rows(const wi_fft_spread *s, const wi_fft_rows *x) {
    wi_fft_numbers_give(s, s->a->d.batch * x->apart, x->p);
}

/* Room for this rank's columns. A single column gets a neighbour of zeros. */
static weft_status take_columns(const wi_fft_spread *s, const size_t *columns, wi_fft_rows *x) {
    const size_t own = own_of(s, columns), n = s->a->d.n[0], batch = s->a->d.batch;
    const bool is_alone = own == 1 && s->columns > 1;
    const uint8_t zero = 0;
    weft_status status = take_rows(s, n, is_alone ? 2 : own, x);
    if (status == WEFT_OK && is_alone && !s->tally)
        status = wi_local(s->ctx, weft_fill(s->ctx->child, WEFT_U8,
                                            batch * n * 2 * wi_fft_number_bytes(s->a->d.type),
                                            &zero, x->p));
    return status;
}

/* The strides of rows of complex numbers without gaps. */
static void set_dense(const wi_fft_spread *s, const wi_fft_rows *rows, size_t across,
                      size_t strides[WEFT_FFT_DIMENSIONS], size_t *apart) {
    strides[0] = rows->pitch;
    if (s->a->d.rank == 3)
        strides[1] = across;
    strides[s->a->d.rank - 1] = 1;
    *apart = rows->apart;
}

/* The lengths of the complex side. */
static void set_lengths(const wi_fft_spread *s, wi_fft_args *args) {
    args->d.n[s->a->d.rank - 1] = s->a->d.rank == 3 ? s->across : s->columns;
}

/* Sets of dimensions (wi_fft_args): all but the first, and the last one alone. */
static unsigned all_but_first(const wi_fft_spread *s) {
    return s->a->d.rank == 3 ? 6 : 2;
}

static unsigned only_last(const wi_fft_spread *s) {
    return s->a->d.rank == 3 ? 4 : 2;
}

static bool is_complex_to_real(const wi_fft_spread *s) {
    return s->a->d.kind == WEFT_FFT_COMPLEX_TO_REAL;
}

/* The part of the transform of rows that is done before their columns are transformed: all of it,
 * unless complex numbers become real ones; then all but the last dimension. */
static wi_fft_args rows_before(const wi_fft_spread *s) {
    wi_fft_args args = *s->a;
    args.half_y = false;
    args.dimensions = all_but_first(s);
    if (!is_complex_to_real(s))
        return args;
    set_lengths(s, &args);
    args.d.kind = WEFT_FFT_COMPLEX;
    args.d.direction = WEFT_FFT_INVERSE;
    args.d.scale = 1;
    args.dimensions = s->a->d.rank == 3 ? 2 : WI_FFT_NO_DIMENSION; /* the middle one */
    return args;
}

/* Rows in `from` to y, with what is left to do. `late`: their columns are transformed already, so
 * that is nothing but a copy or, to real numbers, the last dimension. Otherwise it is all. */
static weft_status rows_after(const wi_fft_spread *s, const wi_fft_rows *from, bool late) {
    const size_t own = own_of(s, s->y_begin);
    wi_fft_args args = *s->a;
    args.x = from->p;
    args.half_x = false;
    args.part = own;
    args.whole = s->a->d.n[0];
    args.d.n[0] = own;
    set_dense(s, from, s->across, args.d.stride_x, &args.d.apart_x);
    args.dimensions = all_but_first(s);
    if (late && is_complex_to_real(s)) {
        args.dimensions = only_last(s);
    } else if (late) {
        set_lengths(s, &args);
        args.d.kind = WEFT_FFT_COMPLEX;
        args.dimensions = WI_FFT_NO_DIMENSION;
    }
    return own == 0 ? WEFT_OK : wi_fft_run_here(s, &args);
}

/* Copies between columns in `work` and the caller's array, divided along dimension 1. */
static weft_status copy_columns(const wi_fft_spread *s, const wi_fft_rows *work,
                                const size_t *begin, bool to_y) {
    wi_fft_args args = *s->a;
    const size_t own = own_of(s, begin);
    set_lengths(s, &args);
    args.d.kind = WEFT_FFT_COMPLEX;
    args.d.n[1] = own;
    args.dimensions = WI_FFT_NO_DIMENSION;
    if (to_y) {
        args.x = work->p;
        args.half_x = false;
        set_dense(s, work, s->across, args.d.stride_x, &args.d.apart_x);
    } else {
        args.y = work->p;
        args.half_y = false;
        set_dense(s, work, s->across, args.d.stride_y, &args.d.apart_y);
    }
    return own == 0 ? WEFT_OK : wi_fft_run_here(s, &args);
}

/* ---- ways from x to y ---- */

/* Where the columns of each rank begin, if the ranks have `begin` of dimension 1 (NULL: as equal as
 * can be). */
static void columns_of(const wi_fft_spread *s, const size_t *begin, size_t *columns) {
    const size_t ranks = (size_t)s->ctx->comm->size;
    for (size_t r = 0; r <= ranks; r++)
        columns[r] = begin ? begin[r] * s->across : wi_fft_even_begin(s->columns, r, ranks);
}

/* May rows be put directly into y? */
static bool takes_rows(const wi_fft_spread *s) {
    const weft_fft_description *const d = &s->a->d;
    return d->kind != WEFT_FFT_COMPLEX_TO_REAL && !s->a->half_y && d->stride_y[d->rank - 1] == 1 &&
           (d->rank == 2 || d->stride_y[1] == s->across);
}

/* From columns to y, which is divided along dimension 0; `late` as in rows_after. */
static weft_status finish_rows(const wi_fft_spread *s, const wi_fft_rows *work,
                               const size_t *columns, bool transforms, bool late) {
    const bool is_direct = late && takes_rows(s);
    wi_fft_rows rows = {s->a->y, s->a->d.stride_y[0], s->a->d.apart_y};
    weft_status status = WEFT_OK;
    if (!is_direct)
        status = take_rows(s, own_of(s, s->y_begin), s->columns, &rows);
    status = wi_agree(s->ctx, 0, status);
    if (status == WEFT_OK)
        status = wi_fft_columns_to_rows(s, work, transforms, columns, s->y_begin, &rows);
    if (status == WEFT_OK && !is_direct)
        status = rows_after(s, &rows, late);
    if (!is_direct)
        give_rows(s, &rows);
    return status;
}

/* From rows, transformed as `args` says, to y, which is divided along dimension 1. */
static weft_status finish_columns(const wi_fft_spread *s, const wi_fft_args *args,
                                  const size_t *rows, bool transforms, size_t *columns) {
    wi_fft_rows work;
    columns_of(s, s->y_begin, columns);
    weft_status status = wi_agree(s->ctx, 0, take_columns(s, columns, &work));
    if (status == WEFT_OK)
        status = wi_fft_rows_to_columns(s, args, rows, columns, &work);
    if (status == WEFT_OK && transforms)
        status = wi_fft_columns_run(s, &work, 0, own_of(s, columns));
    if (status == WEFT_OK)
        status = copy_columns(s, &work, s->y_begin, true);
    give_rows(s, &work);
    return status;
}

/* From x, divided along dimension 0, to y. */
static weft_status from_rows(const wi_fft_spread *s, size_t *columns) {
    const wi_fft_args args = rows_before(s);
    wi_fft_rows work;
    if (is_turned(s, WEFT_FFT_TRANSPOSED_Y))
        return finish_columns(s, &args, s->x_begin, true, columns);
    columns_of(s, NULL, columns);
    weft_status status = wi_agree(s->ctx, 0, take_columns(s, columns, &work));
    if (status == WEFT_OK)
        status = wi_fft_rows_to_columns(s, &args, s->x_begin, columns, &work);
    if (status == WEFT_OK)
        status = finish_rows(s, &work, columns, true, true);
    give_rows(s, &work);
    return status;
}

/* Rows between x and y that are both divided along dimension 1. */
static weft_status through_rows(const wi_fft_spread *s, const wi_fft_rows *work,
                                const size_t *columns, size_t *more) {
    const size_t ranks = (size_t)s->ctx->comm->size;
    size_t *const even = more, *const last = more + ranks + 1;
    wi_fft_rows rows;
    wi_fft_args args = *s->a;
    for (size_t r = 0; r <= ranks; r++)
        even[r] = wi_fft_even_begin(s->a->d.n[0], r, ranks);
    weft_status status = wi_agree(s->ctx, 0, take_rows(s, own_of(s, even), s->columns, &rows));
    if (status == WEFT_OK)
        status = wi_fft_columns_to_rows(s, work, false, columns, even, &rows);
    args.x = rows.p;
    args.half_x = args.half_y = false;
    args.dimensions = all_but_first(s);
    set_dense(s, &rows, s->across, args.d.stride_x, &args.d.apart_x);
    if (status == WEFT_OK)
        status = finish_columns(s, &args, even, false, last);
    give_rows(s, &rows);
    return status;
}

/* From x, divided along dimension 1, to y: columns are transformed first. */
static weft_status from_columns(const wi_fft_spread *s, size_t *columns, size_t *more) {
    wi_fft_rows work;
    columns_of(s, s->x_begin, columns);
    weft_status status = take_columns(s, columns, &work);
    if (status == WEFT_OK)
        status = copy_columns(s, &work, s->x_begin, false);
    if (status == WEFT_OK)
        status = wi_fft_columns_run(s, &work, 0, own_of(s, columns));
    status = wi_agree(s->ctx, 0, status);
    if (status == WEFT_OK)
        status = is_turned(s, WEFT_FFT_TRANSPOSED_Y) ? through_rows(s, &work, columns, more)
                                                     : finish_rows(s, &work, columns, false, false);
    give_rows(s, &work);
    return status;
}

/* ---- the rung ---- */

/* The row that one place would run. */
static weft_status choose(wi_fft_spread *s, const wi_fft_args *args) {
    const weft_type type = args->half_x ? WEFT_F16 : args->d.type;
    return wi_local(s->ctx, wi_choose_row(s->ctx->child, &wi_fft_ladder, s->ctx->comm->call, type,
                                          args, &s->row));
}

/* Each rank its own batch, of which only the size of all is known. */
static weft_status run_own(wi_fft_spread *s) {
    wi_fft_args args = *s->a;
    uint64_t before, all;
    const size_t own = args.d.batch;
    weft_status status = wi_all_counts(s->ctx, own, &before, &all);
    if (status != WEFT_OK || own == 0)
        return status;
    args.d.batch = all;
    status = choose(s, &args);
    args.d.batch = args.part = own;
    args.whole = all;
    return status == WEFT_OK ? wi_fft_run_here(s, &args) : status;
}

weft_status wi_fft_ranks(weft_context *ctx, const void *request) {
    wi_fft_spread s = *(const wi_fft_spread *)request;
    const weft_fft_description *const d = &s.a->d;
    const size_t n = d->n[d->rank - 1], last = d->kind == WEFT_FFT_COMPLEX ? n : n / 2 + 1;
    void *room = NULL;
    s.ctx = ctx;
    if (d->layout & WEFT_FFT_OWN)
        return run_own(&s);
    s.across = d->rank == 3 ? last : 1;
    s.columns = d->rank == 3 ? d->n[1] * last : last;
    weft_status status = choose(&s, s.a);
    if (status == WEFT_OK)
        status = wi_dist_take(ctx, 3 * ((size_t)ctx->comm->size + 1), sizeof(size_t), &room);
    status = wi_agree(ctx, 0, status);
    size_t *const columns = room, *const more = columns + ctx->comm->size + 1;
    if (status == WEFT_OK)
        status = d->layout & WEFT_FFT_TRANSPOSED_X ? from_columns(&s, columns, more)
                                                   : from_rows(&s, columns);
    wi_host_free(room);
    return status;
}
