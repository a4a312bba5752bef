/* SPDX-License-Identifier: Apache-2.0 */
/* fft over ranks: blocks that go between rows and columns. The work is cut into pieces, the same
 * number on all ranks: while the blocks of one are under way (where the communicator works in the
 * background), the next piece is transformed. */
#include <string.h>

#include "core/rowcopy.h"
#include "fft/fft_dist.h"

enum {
    MOST_PIECES = 8,
    PIECE_BYTES = 1 << 16, /* a smaller one is not worth a step of its own */
    LEAST_COLUMNS = 16     /* of a piece, unless it is the last of its rank: whole vectors */
};

/* An exchange, as a sequence of pieces: of rows on the way to columns, of columns on the way back.
 */
typedef struct turn {
    const wi_fft_spread *s;
    const size_t *rows, *columns; /* where the rows, and the columns, of each rank begin */
    bool to_columns;
    size_t pieces;
    size_t width;           /* bytes of a number */
    void *sent[2], *got[2]; /* blocks for, and from, each rank; used alternately */
    size_t *counts; /* arguments of a step: how many numbers are sent to, and got from, each rank */
    int under_way;  /* the piece that is being sent, or -1 */
} turn;

static int rank_of(const wi_fft_spread *s) {
    return s->ctx->comm->rank;
}

static size_t ranks_of(const wi_fft_spread *s) {
    return (size_t)s->ctx->comm->size;
}

/* Where piece k of `pieces` begins, of what rank r has from `begin` on. */
static size_t piece_begin(const turn *t, const size_t *begin, size_t r, size_t k) {
    const size_t n = begin[r + 1] - begin[r];
    const size_t at = n / t->pieces * k + n % t->pieces * k / t->pieces;
    if (k == t->pieces)
        return n;
    return t->to_columns ? at : at / LEAST_COLUMNS * LEAST_COLUMNS;
}

static const size_t *cut_of(const turn *t) {
    return t->to_columns ? t->rows : t->columns;
}

/* Rows and columns of the block that goes from rank `from` to rank `to` in piece k. */
static void block_of(const turn *t, size_t from, size_t to, size_t k, size_t *rows,
                     size_t *columns) {
    const size_t cut = piece_begin(t, cut_of(t), from, k + 1) - piece_begin(t, cut_of(t), from, k);
    const size_t *const other = t->to_columns ? t->columns : t->rows;
    const size_t rest = other[to + 1] - other[to];
    *rows = t->to_columns ? cut : rest;
    *columns = t->to_columns ? rest : cut;
}

static size_t numbers_of(const turn *t, size_t from, size_t to, size_t k) {
    size_t rows, columns;
    block_of(t, from, to, k, &rows, &columns);
    return t->s->a->d.batch * rows * columns;
}

/* The most numbers that this rank sends, or gets, in a piece. */
static size_t most_numbers(const turn *t, bool sent) {
    const size_t own = (size_t)rank_of(t->s);
    size_t most = 0;
    for (size_t k = 0; k < t->pieces; k++) {
        size_t all = 0;
        for (size_t r = 0; r < ranks_of(t->s); r++)
            all += sent ? numbers_of(t, own, r, k) : numbers_of(t, r, own, k);
        most = all > most ? all : most;
    }
    return most;
}

/* The same on all ranks: as many as give the rank with the most pieces of PIECE_BYTES or more. */
static size_t pieces_of(const turn *t) {
    const size_t whole = t->to_columns ? t->columns[ranks_of(t->s)] : t->rows[ranks_of(t->s)];
    size_t most = 0;
    for (size_t r = 0; r < ranks_of(t->s); r++) {
        const size_t n = cut_of(t)[r + 1] - cut_of(t)[r];
        most = n > most ? n : most;
    }
    const size_t bytes = most * whole * t->s->a->d.batch * t->width, pieces = bytes / PIECE_BYTES;
    return pieces < 1 ? 1 : pieces > MOST_PIECES ? MOST_PIECES : pieces;
}

/* Bytes of the blocks that are sent or received at a time. */
static size_t near_bytes(const turn *t) {
    return (t->pieces == 1 ? 1 : 2) * (most_numbers(t, true) + most_numbers(t, false)) * t->width;
}

static weft_status open_turn(turn *t) {
    weft_context *const ctx = t->s->ctx;
    void *counts = NULL;
    t->width = wi_fft_number_bytes(t->s->a->d.type);
    t->pieces = pieces_of(t);
    t->under_way = -1;
    weft_status status = wi_dist_take(ctx, 2 * ranks_of(t->s), sizeof(size_t), &counts);
    t->counts = counts;
    if (t->s->tally)
        wi_fft_tally_take(t->s, near_bytes(t));
    for (int i = 0; i < 2; i++) {
        t->sent[i] = t->got[i] = NULL;
        if ((i == 1 && t->pieces == 1) || t->s->tally)
            continue;
        if (status == WEFT_OK)
            status = wi_dist_take_near(ctx, most_numbers(t, true), t->width, &t->sent[i]);
        if (status == WEFT_OK)
            status = wi_dist_take_near(ctx, most_numbers(t, false), t->width, &t->got[i]);
    }
    return wi_agree(ctx, 0, status);
}

static void close_turn(turn *t) {
    if (t->s->tally)
        wi_fft_tally_give(t->s, near_bytes(t));
    for (int i = 0; i < 2; i++) {
        wi_dist_give_near(t->s->ctx, t->sent[i]);
        wi_dist_give_near(t->s->ctx, t->got[i]);
    }
    wi_host_free(t->counts);
}

/* ---- copies ---- */

static weft_status copy_rows(weft_context *child, wi_pitched to, wi_pitched from, size_t rows,
                             size_t row_bytes) {
    if (rows == 0 || row_bytes == 0)
        return WEFT_OK;
    if (!wi_is_host(child, to.p) || !wi_is_host(child, from.p))
        return wi_copy_rows(child, to, from, rows, row_bytes);
    wi_pitched_copy_all(child, child->threads, to, from, rows, row_bytes);
    return WEFT_OK;
}

/* Copies between rows without gaps from `blocks` on, and the rows of `array` from `row` and
 * `column` on: to `blocks` if `packs`, else from there. */
static weft_status copy_block(const turn *t, char *blocks, const wi_fft_rows *array, size_t row,
                              size_t column, size_t rows, size_t columns, bool packs) {
    weft_status status = WEFT_OK;
    for (size_t b = 0; b < t->s->a->d.batch && status == WEFT_OK; b++) {
        const size_t at = b * array->apart + row * array->pitch + column;
        const wi_pitched one = {blocks + b * rows * columns * t->width, columns * t->width};
        const wi_pitched other = {(char *)array->p + at * t->width, array->pitch * t->width};
        status = copy_rows(t->s->ctx->child, packs ? one : other, packs ? other : one, rows,
                           columns * t->width);
    }
    return status;
}

/* Collects the blocks of piece k that this rank sends; `array` begins with its first row, or
 * column. */
static weft_status pack(const turn *t, size_t k, const wi_fft_rows *array) {
    const size_t own = (size_t)rank_of(t->s);
    const size_t first = piece_begin(t, t->columns, own, k);
    char *to = t->sent[k % 2];
    weft_status status = WEFT_OK;
    if (t->s->tally)
        return WEFT_OK;
    for (size_t r = 0; r < ranks_of(t->s) && status == WEFT_OK; r++) {
        size_t rows, columns;
        block_of(t, own, r, k, &rows, &columns);
        status = copy_block(t, to, array, t->to_columns ? 0 : t->rows[r],
                            t->to_columns ? t->columns[r] : first, rows, columns, true);
        to += numbers_of(t, own, r, k) * t->width;
    }
    if (status == WEFT_OK)
        status = weft_sync(t->s->ctx->child);
    return wi_local(t->s->ctx, status);
}

static weft_status unpack(const turn *t, size_t k, const wi_fft_rows *array) {
    const size_t own = (size_t)rank_of(t->s);
    char *from = t->got[k % 2];
    weft_status status = WEFT_OK;
    for (size_t r = 0; r < ranks_of(t->s) && status == WEFT_OK; r++) {
        const size_t at = cut_of(t)[r] + piece_begin(t, cut_of(t), r, k);
        size_t rows, columns;
        block_of(t, r, own, k, &rows, &columns);
        status = copy_block(t, from, array, t->to_columns ? at : 0, t->to_columns ? 0 : at, rows,
                            columns, false);
        from += numbers_of(t, r, own, k) * t->width;
    }
    if (status == WEFT_OK)
        status = weft_sync(t->s->ctx->child);
    return wi_local(t->s->ctx, status);
}

/* ---- steps ---- */

/* Sends piece k, in the background if the communicator can. */
static weft_status begin_piece(turn *t, size_t k) {
    const wi_comm_table *const calls = t->s->ctx->comm->calls;
    const size_t own = (size_t)rank_of(t->s), ranks = ranks_of(t->s);
    const weft_type type = t->s->a->d.type;
    for (size_t r = 0; r < ranks; r++) {
        t->counts[r] = 2 * numbers_of(t, own, r, k);
        t->counts[ranks + r] = 2 * numbers_of(t, r, own, k);
    }
    if (t->s->tally)
        return WEFT_OK;
    t->under_way = (int)k;
    if (calls->begin_exchange)
        return calls->begin_exchange(t->s->ctx, t->sent[k % 2], t->counts, t->got[k % 2],
                                     t->counts + ranks, type);
    return calls->all_to_all_v(t->s->ctx, t->sent[k % 2], t->counts, t->got[k % 2],
                               t->counts + ranks, type);
}

/* Waits for the piece under way, and puts what came where it belongs. */
static weft_status end_piece(turn *t, weft_status status, const wi_fft_rows *to) {
    const wi_comm_table *const calls = t->s->ctx->comm->calls;
    bool over;
    if (t->under_way < 0)
        return status;
    const size_t k = (size_t)t->under_way;
    t->under_way = -1;
    if (calls->begin_exchange) {
        const weft_status waited = calls->poll(t->s->ctx, true, &over);
        status = status == WEFT_OK ? waited : status;
    }
    return status == WEFT_OK ? unpack(t, k, to) : status;
}

/* ---- rows to columns ---- */

/* Transforms rows first ... end - 1 of this rank's into `to`, which begins with row `first`. */
static weft_status transform_rows(const wi_fft_spread *s, const wi_fft_args *args, size_t first,
                                  size_t end, const wi_fft_rows *to) {
    const unsigned rank = args->d.rank;
    const size_t real = args->d.kind == WEFT_FFT_REAL_TO_COMPLEX;
    const size_t width = (args->half_x ? 2 : weft_type_size(args->d.type)) * (real ? 1 : 2);
    const size_t dense[] = {s->columns, s->across, 1};
    wi_fft_args part = *args;
    if (first == end)
        return WEFT_OK;
    if (!s->tally)
        part.x = (const char *)args->x + first * args->d.stride_x[0] * width;
    part.y = to->p;
    part.part = end - first;
    part.whole = s->a->d.n[0];
    part.d.n[0] = end - first;
    for (unsigned k = 0; k < rank; k++)
        part.d.stride_y[k] = k + 1 == rank ? 1 : dense[k];
    part.d.apart_y = (end - first) * s->columns;
    return wi_fft_run_here(s, &part);
}

/* Numbers of the longest piece of this rank's rows. */
static size_t longest_piece(const turn *t) {
    const size_t own = (size_t)rank_of(t->s);
    size_t most = 0;
    for (size_t k = 0; k < t->pieces; k++) {
        const size_t n = piece_begin(t, t->rows, own, k + 1) - piece_begin(t, t->rows, own, k);
        most = n > most ? n : most;
    }
    return t->s->a->d.batch * most * t->s->columns;
}

weft_status wi_fft_rows_to_columns(const wi_fft_spread *s, const wi_fft_args *args,
                                   const size_t *rows, const size_t *columns,
                                   const wi_fft_rows *to) {
    const size_t own = (size_t)rank_of(s);
    turn t = {.s = s, .rows = rows, .columns = columns, .to_columns = true};
    wi_fft_rows piece = {.pitch = s->columns};
    weft_status status = open_turn(&t);
    if (status == WEFT_OK) {
        status = wi_fft_numbers_take(s, longest_piece(&t), &piece.p);
        for (size_t k = 0; k <= t.pieces; k++) {
            const size_t first = piece_begin(&t, rows, own, k),
                         end = k < t.pieces ? piece_begin(&t, rows, own, k + 1) : first;
            piece.apart = (end - first) * s->columns;
            if (status == WEFT_OK)
                status = transform_rows(s, args, first, end, &piece);
            if (status == WEFT_OK && k < t.pieces)
                status = pack(&t, k, &piece);
            status = wi_agree(s->ctx, 0, end_piece(&t, status, to));
            if (status != WEFT_OK || k == t.pieces)
                break;
            status = begin_piece(&t, k);
        }
        wi_fft_numbers_give(s, longest_piece(&t), piece.p);
    }
    close_turn(&t);
    return status;
}

/* ---- columns to rows ---- */

weft_status wi_fft_columns_run(const wi_fft_spread *s, const wi_fft_rows *work, size_t first,
                               size_t count) {
    const weft_fft_description *const d = &s->a->d;
    const size_t wide = count == 1 && s->columns > 1 ? 2 : count; /* see wi_fft_rows */
    void *const at = wi_fft_number_at(s, work->p, first);
    const wi_fft_args args = {
        .d = {.type = d->type,
              .direction = d->kind == WEFT_FFT_COMPLEX_TO_REAL ? WEFT_FFT_INVERSE : d->direction,
              .rank = 2,
              .n = {d->n[0], wide},
              .batch = d->batch,
              .scale = 1,
              .stride_x = {work->pitch, 1},
              .stride_y = {work->pitch, 1},
              .apart_x = work->apart,
              .apart_y = work->apart},
        .x = at,
        .y = at,
        .dimensions = 1,
        .part = wide,
        .whole = s->columns,
        .prepares = s->a->prepares,
        .asks_bytes = s->a->asks_bytes};
    return count == 0 || d->n[0] == 1 ? WEFT_OK : wi_fft_run_here(s, &args);
}

weft_status wi_fft_columns_to_rows(const wi_fft_spread *s, const wi_fft_rows *work, bool transforms,
                                   const size_t *columns, const size_t *rows,
                                   const wi_fft_rows *to) {
    const size_t own = (size_t)rank_of(s);
    turn t = {.s = s, .rows = rows, .columns = columns};
    weft_status status = open_turn(&t);
    for (size_t k = 0; k <= t.pieces && status == WEFT_OK; k++) {
        const size_t first = piece_begin(&t, columns, own, k),
                     end = k < t.pieces ? piece_begin(&t, columns, own, k + 1) : first;
        if (transforms)
            status = wi_fft_columns_run(s, work, first, end - first);
        if (status == WEFT_OK && k < t.pieces)
            status = pack(&t, k, work);
        status = wi_agree(s->ctx, 0, end_piece(&t, status, to));
        if (status == WEFT_OK && k < t.pieces)
            status = begin_piece(&t, k);
    }
    close_turn(&t);
    return status;
}
