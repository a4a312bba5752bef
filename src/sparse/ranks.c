/* SPDX-License-Identifier: Apache-2.0 */
/* Sparse calls over ranks: how they begin, agree and end; what ranks exchange. */
#include "sparse/ranks.h"

#include <stdio.h>
#include <string.h>

#include "weft/mpi.h"

/* ---- contexts ---- */

/* The cores of a rank that works on a GPU otherwise; its own place keeps it. */
typedef struct cores {
    wi_kept kept;
    weft_context *ctx;
} cores;

static void close_cores(weft_context *ctx, wi_kept *kept) {
    (void)ctx;
    weft_close(((cores *)kept)->ctx);
    wi_host_free(kept);
}

static weft_context *find_cores(const weft_context *child) {
    for (wi_kept *kept = child->kept; kept; kept = kept->next) {
        if (kept->drop == close_cores)
            return ((cores *)kept)->ctx;
    }
    return NULL;
}

static weft_status open_cores(weft_context *child, const char *call, weft_context **own) {
    char place[WI_PLACE_BYTES];
    cores *const made = wi_host_alloc(sizeof *made);
    if (!made)
        return wi_fail(child, WEFT_ENOMEM, "%s: no memory for a context; free some", call);
    snprintf(place, sizeof place, "cpu:%d", child->threads);
    const weft_status status = weft_open(&made->ctx, place);
    if (status != WEFT_OK) {
        wi_host_free(made);
        return wi_fail(child, status, "%s: %s", call, weft_message(NULL));
    }
    made->kept = (wi_kept){.next = child->kept, .drop = close_cores};
    child->kept = &made->kept;
    *own = made->ctx;
    return WEFT_OK;
}

weft_status wi_over_enter(weft_context *ctx, const char *call, weft_context **own) {
    *own = ctx;
    if (!ctx->comm)
        return WEFT_OK;
    ctx->comm->call = call;
    *own = ctx->child;
    if (ctx->child->kind == WI_CPU)
        return WEFT_OK;
    weft_context *const kept = find_cores(ctx->child);
    if (!kept)
        return open_cores(ctx->child, call, own);
    *own = kept;
    return WEFT_OK;
}

weft_status wi_over_agree(weft_context *ctx, weft_context *own, uint64_t alike,
                          weft_status status) {
    if (!ctx->comm)
        return status;
    const char *const call = ctx->comm->call;
    if (status != WEFT_OK)
        wi_fail_as(ctx, status, own);
    status = wi_agree(ctx, wi_alike_bytes(alike, call, strlen(call)), status);
    if (status != WEFT_OK)
        wi_take_message(own, ctx);
    return status;
}

weft_status wi_over_leave(weft_context *ctx, const weft_context *own, weft_status status) {
    const bool told = ctx == own || strcmp(ctx->message, own->message) == 0;
    return status == WEFT_OK || told ? status : wi_fail_as(ctx, status, own);
}

weft_status wi_chol_agree(weft_context *own, const weft_chol *plan, weft_status status) {
    return plan->over ? wi_over_agree(plan->over, own, 0, status) : status;
}

weft_status wi_over_check_plan(const weft_context *ctx, weft_context *own, const char *call,
                               const weft_chol *plan) {
    const weft_status status = wi_chol_check_plan(own, call, plan);
    if (status != WEFT_OK)
        return status;
    const int ranks = ctx->comm ? ctx->comm->size : 0;
    if ((plan->numbers.panel && plan->numbers.cut.ranks != ranks) || (ctx->comm && plan->device))
        return wi_fail(own, WEFT_EARG,
                       "%s: plan has memory for %s, and the context is on %s; use the place it was "
                       "factored on, or analyze once more",
                       call,
                       plan->numbers.cut.ranks > 0 ? "a share of the ranks' work"
                                                   : "a place of one process",
                       ctx->place);
    return WEFT_OK;
}

/* Whole words, for it is asked in every call, and wi_alike_bytes goes byte by byte. */
uint64_t wi_over_alike(const weft_sparse *matrix) {
    uint64_t hash = matrix->fingerprint;
    for (int64_t k = 0; !matrix->dealt && k < matrix->start[matrix->cols]; k++) {
        uint64_t bits;
        memcpy(&bits, &matrix->value[k], sizeof bits);
        hash = (hash ^ bits) * UINT64_C(0x9E3779B97F4A7C15);
        hash ^= hash >> 29;
    }
    return hash;
}

/* ---- rows of b and x ---- */

size_t wi_sparse_rows_of(const weft_sparse *matrix, int r, int ranks) {
    const size_t n = matrix->rows, at = (size_t)r, count = (size_t)ranks;
    if (matrix->dealt && matrix->dealt->ranks == ranks)
        return matrix->dealt->rows[r];
    return n * (at + 1) / count - n * at / count;
}

size_t weft_sparse_own_rows(const weft_context *ctx, const weft_sparse *matrix, size_t *first) {
    const int rank = weft_rank(ctx), ranks = weft_ranks(ctx);
    size_t before = 0;
    for (int r = 0; matrix && r < rank; r++)
        before += wi_sparse_rows_of(matrix, r, ranks);
    if (first)
        *first = before;
    return matrix ? wi_sparse_rows_of(matrix, rank, ranks) : 0;
}

/* Those of `matrix`, or NULL: of the one that was factored. */
static size_t rows_of(const weft_chol *plan, const weft_sparse *matrix, int r) {
    return matrix ? wi_sparse_rows_of(matrix, r, plan->numbers.cut.ranks) : plan->numbers.rows[r];
}

wi_own_rows wi_chol_own_rows(const weft_chol *plan, const weft_sparse *matrix) {
    wi_own_rows own = {0, (size_t)plan->symbolic.n};
    if (!plan->over || plan->numbers.cut.ranks != plan->over->comm->size)
        return own;
    const int rank = plan->over->comm->rank;
    for (int r = 0; r < rank; r++)
        own.first += rows_of(plan, matrix, r);
    own.n = rows_of(plan, matrix, rank);
    return own;
}

/* counts[r] rows of each rank r are there. */
static weft_status gather(weft_context *ctx, weft_context *own, const size_t *counts,
                          const double *part, double *whole) {
    const weft_status status = ctx->comm->calls->all_gather_v(ctx, part, whole, counts, WEFT_F64);
    if (status != WEFT_OK && own != ctx)
        wi_take_message(own, ctx);
    return status;
}

weft_status wi_sparse_gather_rows(weft_context *ctx, weft_context *own, const weft_sparse *matrix,
                                  const double *part, double *whole) {
    size_t *const counts = (size_t *)ctx->comm->words;
    for (int r = 0; r < ctx->comm->size; r++)
        counts[r] = wi_sparse_rows_of(matrix, r, ctx->comm->size);
    return gather(ctx, own, counts, part, whole);
}

weft_status wi_over_gather_rows(weft_context *own, const weft_chol *plan, const weft_sparse *matrix,
                                const double *part, double *whole) {
    size_t *const counts = (size_t *)plan->over->comm->words;
    for (int r = 0; r < plan->over->comm->size; r++)
        counts[r] = rows_of(plan, matrix, r);
    return gather(plan->over, own, counts, part, whole);
}

/* ---- columns of L ---- */

/* Copies the elements of supernode s between `data` and where they are packed. */
static size_t copy_columns(const wi_symbolic *symbolic, int64_t s, size_t width, char *data,
                           char *packed, bool back) {
    const size_t bytes = (size_t)wi_super_columns(symbolic, s) * width;
    char *const at = data + (size_t)symbolic->first[s] * width;
    memcpy(back ? at : packed, back ? packed : at, bytes);
    return bytes;
}

weft_status wi_over_gather_columns(weft_context *own, const weft_chol *plan, int64_t rhs,
                                   void *data, size_t width) {
    const wi_owners *const owners = plan->numbers.cut.owners;
    const wi_symbolic *const symbolic = &plan->symbolic;
    const wi_solve_room room = wi_solve_room_of(plan, rhs);
    if (!owners)
        return WEFT_OK;
    const wi_comm *const comm = plan->over->comm;
    size_t *const at = (size_t *)comm->words, *const counts = at + comm->size;
    size_t sent = 0, before = 0;
    for (int64_t s = 0; s < symbolic->supernodes; s++) {
        if (wi_owns(owners, s))
            sent += copy_columns(symbolic, s, width, data, (char *)room.sent + sent, false);
    }
    for (int r = 0; r < comm->size; r++)
        counts[r] = owners->columns[r] * width;
    const weft_status status =
        comm->calls->all_gather_v(plan->over, room.sent, room.got, counts, WEFT_U8);
    for (int r = 0; r < comm->size; r++) {
        at[r] = before;
        before += owners->columns[r] * width;
    }
    for (int64_t s = 0; s < symbolic->supernodes && status == WEFT_OK; s++) {
        size_t *const from = &at[owners->owner[s]];
        *from += copy_columns(symbolic, s, width, data, (char *)room.got + *from, true);
    }
    if (status != WEFT_OK)
        wi_take_message(own, plan->over);
    return status;
}

/* ---- the walk ---- */

weft_status wi_over_move(const weft_chol *plan, void *numbers, size_t n, weft_type type, int other,
                         bool send) {
    const wi_comm_table *const calls = plan->over->comm->calls;
    return send ? calls->send(plan->over, numbers, n, type, other)
                : calls->recv(plan->over, numbers, n, type, other);
}

weft_status wi_over_pass(const wi_walk *walk, int64_t s, bool down) {
    const wi_symbolic *const symbolic = &walk->plan->symbolic;
    const wi_owners *const owners = walk->plan->numbers.cut.owners;
    const bool own = wi_owns(owners, s);
    weft_status status = WEFT_OK;
    for (int64_t c = wi_last_child(symbolic, s); c >= 0 && status == WEFT_OK;
         c = wi_child_before(symbolic, s, c)) {
        if (own != wi_owns(owners, c))
            status = walk->pass(walk->user, c, owners->owner[own ? c : s], own == down);
    }
    return status;
}

static bool is_joint(const wi_walk *walk, int64_t k) {
    const wi_numbers *const numbers = &walk->plan->numbers;
    return numbers->cut.owners &&
           wi_owners_join(numbers->cut.owners, &walk->plan->symbolic, numbers->tops[k]);
}

/* All ranks come to the supernodes in one order, so the first message that somebody waits for can
 * always be sent. */
weft_status wi_over_climb(const wi_walk *walk) {
    const wi_numbers *const numbers = &walk->plan->numbers;
    int64_t begin = 0;
    bool tasks = true;
    for (int64_t k = 0; k < numbers->cut.tops; k++) {
        if (!is_joint(walk, k))
            continue;
        walk->stage(walk->user, tasks, begin, k);
        tasks = false;
        begin = k;
        const weft_status status = wi_over_pass(walk, numbers->tops[k], false);
        if (status != WEFT_OK)
            return status;
    }
    walk->stage(walk->user, tasks, begin, numbers->cut.tops);
    return WEFT_OK;
}

weft_status wi_over_descend(const wi_walk *walk) {
    const wi_numbers *const numbers = &walk->plan->numbers;
    int64_t end = numbers->cut.tops;
    for (int64_t k = end - 1; k >= 0; k--) {
        if (!is_joint(walk, k))
            continue;
        walk->stage(walk->user, false, k, end);
        end = k;
        const weft_status status = wi_over_pass(walk, numbers->tops[k], true);
        if (status != WEFT_OK)
            return status;
    }
    walk->stage(walk->user, true, 0, end);
    return WEFT_OK;
}

/* ---- the rung ---- */

weft_status wi_chol_ranks(weft_context *ctx, const void *args) {
    const wi_chol_ranks_args *const g = args;
    wi_numbers *const numbers = &g->plan->numbers;
    g->plan->over = ctx;
    const weft_status status = wi_chol_factor(g->own, g->call, g->plan, g->matrix);
    g->plan->over = NULL;
    for (int r = 0; numbers->panel && r < ctx->comm->size; r++)
        numbers->rows[r] = wi_sparse_rows_of(g->matrix, r, ctx->comm->size);
    return wi_over_leave(ctx, g->own, status);
}
