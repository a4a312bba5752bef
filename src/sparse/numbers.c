/* SPDX-License-Identifier: Apache-2.0 */
/* Memory for the values of a factorization: its sizes, and the maps from entries of A, and of
 * updates, to their places. */
#include <string.h>

#include "comm/comm.h"
#include "sparse/chol_device.h"
#include "sparse/dense.h"
#include "sparse/ldlt_simd.h"

enum {
    LINE = 8,        /* doubles in a cache line: two threads' data are at least this far apart */
    NARROW_LINE = 16 /* floats in one */
};

static int64_t rounded(int64_t entries) {
    return (entries + LINE - 1) / LINE * LINE;
}

/* The same for numbers of L. */
static int64_t rounded_numbers(const weft_chol *plan, int64_t entries) {
    const int64_t line = plan->narrow ? NARROW_LINE : LINE;
    return (entries + line - 1) / line * line;
}

/* Room, in numbers of L, for the packed rows of a block of columns of supernode s; with a D, for
 * the square of a window, which is of doubles, and for L D and L, whose rows below the window begin
 * a group of packed rows. */
static int64_t packed_entries(const weft_chol *plan, int64_t s) {
    const int64_t columns = wi_super_columns(&plan->symbolic, s);
    const int64_t height = wi_super_height(&plan->symbolic, s);
    const int64_t window = wi_least(columns, WI_WINDOW),
                  block = wi_least(columns, WI_BLOCK_COLUMNS);
    const int64_t square = WI_WINDOW * window * (int64_t)(sizeof(double) / wi_chol_number(plan));
    if (plan->narrow)
        return wi_chol_has_d(plan)
                   ? square + 2 * wi_dense_narrow_packed(height + WI_DENSE_NARROW_GROUP, window)
                   : wi_dense_narrow_packed(height, block);
    return wi_chol_has_d(plan) ? square + 2 * wi_dense_packed(height + WI_DENSE_GROUP, window)
                               : wi_dense_packed(height, block);
}

/* The same for any front above (or below) the cut. */
static int64_t room_entries(const weft_chol *plan, const wi_cut *cut, bool above) {
    const wi_symbolic *const symbolic = &plan->symbolic;
    int64_t most = 0;
    for (int64_t s = 0; s < symbolic->supernodes; s++) {
        const int64_t entries = packed_entries(plan, s);
        if (wi_owns(cut->owners, s) && wi_cut_is_top(symbolic, cut, s) == above && entries > most)
            most = entries;
    }
    return rounded_numbers(plan, most);
}

/* ---- sizes: each block of memory holds several arrays, and the first pointer owns it ---- */

/* map_entries writes one entry more than it keeps. */
static size_t map_entries_of(const weft_chol *plan) {
    return plan->report.nnz_a + 1;
}

/* Of L Lt over ranks, for the diagonal of all. */
static size_t diagonal_bytes(const weft_chol *plan, const wi_cut *cut) {
    return cut->owners && !wi_chol_has_d(plan) ? (size_t)plan->symbolic.n * sizeof(double) : 0;
}

static size_t rows_bytes(const wi_cut *cut) {
    return (size_t)cut->ranks * sizeof(size_t);
}

static size_t index_bytes(const weft_chol *plan, const wi_cut *cut) {
    const size_t n = (size_t)plan->symbolic.n, supernodes = (size_t)plan->symbolic.supernodes;
    const size_t rows = (size_t)plan->symbolic.rows_at[supernodes];
    const size_t entries = map_entries_of(plan);
    return (supernodes + 1 + n + 1 + entries + 2 * supernodes + (size_t)cut->tops) *
               sizeof(int64_t) +
           (size_t)cut->tasks * sizeof(wi_task) + (entries + rows) * sizeof(int32_t) +
           diagonal_bytes(plan, cut) + rows_bytes(cut);
}

/* The bytes of this rank's part of L. */
static size_t own_bytes(const weft_chol *plan, const wi_cut *cut) {
    return (size_t)cut->l * wi_chol_number(plan);
}

static int64_t stack_entries(const weft_chol *plan, const wi_cut *cut) {
    return rounded_numbers(plan, wi_stack_entries(&cut->update, cut->threads));
}

static size_t work_bytes(const weft_chol *plan, const wi_cut *cut) {
    const int64_t tasks = room_entries(plan, cut, false) * cut->threads;
    const int64_t tops = room_entries(plan, cut, true);
    return (size_t)(stack_entries(plan, cut) + (tasks > tops ? tasks : tops)) *
           wi_chol_number(plan);
}

static size_t solve_entries(const weft_chol *plan, const wi_cut *cut, int64_t rhs) {
    const int64_t vectors = 2 + (cut->ranks > 0) + (cut->owners ? 2 : 0);
    return (size_t)(vectors * rounded(plan->symbolic.n * rhs) +
                    rounded(wi_stack_entries(&cut->part, cut->threads) * rhs) +
                    rounded(cut->front * rhs) * cut->threads) +
           wi_krylov_entries(plan);
}

wi_solve_room wi_solve_room_of(const weft_chol *plan, int64_t rhs) {
    if (plan->on_device)
        return wi_chol_device_room(plan, rhs);
    const wi_cut *const cut = &plan->numbers.cut;
    const int64_t vector = rounded(plan->symbolic.n * rhs);
    wi_solve_room room = {.y = plan->numbers.solve, .front_entries = rounded(cut->front * rhs)};
    room.x = room.y + vector;
    room.stack = room.x + vector;
    room.front = room.stack + rounded(wi_stack_entries(&cut->part, cut->threads) * rhs);
    room.krylov = room.front + room.front_entries * cut->threads;
    room.sent = room.krylov + wi_krylov_entries(plan);
    room.got = room.sent + vector;
    room.sides = plan->numbers.solve + solve_entries(plan, cut, plan->numbers.rhs) -
                 rounded(plan->symbolic.n * plan->numbers.rhs);
    return room;
}

size_t wi_krylov_entries(const weft_chol *plan) {
    const bool wanted = wi_chol_has_d(plan) || plan->precision == WEFT_PRECISION_MIXED;
    return wanted ? WI_KRYLOV_VECTORS * (size_t)plan->symbolic.n : 0;
}

size_t wi_numbers_bytes(const weft_chol *plan, const wi_cut *cut, int64_t rhs) {
    return index_bytes(plan, cut) + wi_owners_bytes(cut->owners) + own_bytes(plan, cut) +
           work_bytes(plan, cut) + solve_entries(plan, cut, rhs) * sizeof(double) +
           wi_pivots_bytes(plan) + plan->numbers.scratch_bytes + plan->numbers.low_bytes +
           (wi_chol_has_d(plan) ? wi_balance_bytes(plan) : plan->numbers.scaled_bytes);
}

/* ---- memory ---- */

static void *take(weft_context *ctx, const char *call, size_t bytes, const char *what) {
    void *const memory = wi_host_alloc(bytes);
    if (!memory)
        wi_fail(ctx, WEFT_ENOMEM, "%s: no memory for %zu bytes, %s; free some", call, bytes, what);
    return memory;
}

weft_status wi_numbers_share(weft_context *ctx, const char *call, const weft_chol *plan,
                             const weft_context *over, wi_owners *owners, wi_cut *cut) {
    const wi_symbolic *const symbolic = &plan->symbolic;
    const wi_comm *const comm = over ? over->comm : NULL;
    const bool pays = comm && comm->size > 1 && symbolic->supernodes > 0 &&
                      wi_all_work(symbolic) >= plan->least_work;
    weft_status status = WEFT_OK;
    if (pays)
        status = wi_owners_make(ctx, call, symbolic, comm->rank, comm->size, owners);
    if (status != WEFT_OK)
        return status;
    wi_cut_measure(symbolic, ctx->threads, plan->least_work, pays ? owners : NULL, cut);
    cut->ranks = comm ? comm->size : 0;
    return WEFT_OK;
}

static weft_status take_index(weft_context *ctx, const char *call, weft_chol *plan) {
    const wi_symbolic *const symbolic = &plan->symbolic;
    const int64_t supernodes = symbolic->supernodes, entries = (int64_t)map_entries_of(plan);
    wi_numbers *const numbers = &plan->numbers;
    weft_status status =
        wi_numbers_share(ctx, call, plan, plan->over, &numbers->owners, &numbers->cut);
    if (status != WEFT_OK)
        return status;
    numbers->panel = take(ctx, call, index_bytes(plan, &numbers->cut), "the maps of a factor");
    if (!numbers->panel)
        return WEFT_ENOMEM;
    numbers->entry_at = numbers->panel + supernodes + 1;
    numbers->entry = numbers->entry_at + symbolic->n + 1;
    numbers->update = numbers->entry + entries;
    numbers->part = numbers->update + supernodes;
    numbers->tops = numbers->part + supernodes;
    numbers->tasks = (wi_task *)(numbers->tops + numbers->cut.tops);
    double *const diagonal = (double *)(numbers->tasks + numbers->cut.tasks);
    numbers->rows = (size_t *)(diagonal + diagonal_bytes(plan, &numbers->cut) / sizeof *diagonal);
    numbers->slot = (int32_t *)(numbers->rows + numbers->cut.ranks);
    numbers->relative = numbers->slot + entries;
    numbers->diagonal = diagonal_bytes(plan, &numbers->cut) > 0 ? diagonal : NULL;
    wi_cut_make(symbolic, &numbers->cut, numbers->tasks, numbers->tops, numbers->update,
                numbers->part);
    numbers->panel[0] = 0;
    for (int64_t s = 0; s < supernodes; s++) {
        const int64_t own =
            wi_block_entries(wi_super_height(symbolic, s), wi_super_columns(symbolic, s));
        numbers->panel[s + 1] = numbers->panel[s] + (wi_owns(numbers->cut.owners, s) ? own : 0);
    }
    return WEFT_OK;
}

static weft_status take_work(weft_context *ctx, const char *call, weft_chol *plan) {
    wi_numbers *const numbers = &plan->numbers;
    const wi_cut *const cut = &numbers->cut;
    numbers->l = take(ctx, call, own_bytes(plan, cut), "the numbers of L");
    if (!numbers->l)
        return WEFT_ENOMEM;
    numbers->stack = take(ctx, call, work_bytes(plan, cut), "updates and workspace");
    if (!numbers->stack)
        return WEFT_ENOMEM;
    if (wi_chol_has_d(plan) && (wi_pivots_reserve(ctx, call, plan) != WEFT_OK ||
                                wi_balance_reserve(ctx, call, plan) != WEFT_OK))
        return WEFT_ENOMEM;
    numbers->rooms =
        (char *)numbers->stack + (size_t)stack_entries(plan, cut) * wi_chol_number(plan);
    numbers->room_entries = room_entries(plan, cut, false);
    return WEFT_OK;
}

static weft_status take_solve(weft_context *ctx, const char *call, weft_chol *plan, int64_t rhs) {
    wi_numbers *const numbers = &plan->numbers;
    const size_t entries = solve_entries(plan, &numbers->cut, rhs);
    double *const solve = take(ctx, call, entries * sizeof *solve, "right-hand sides");
    if (!solve)
        return WEFT_ENOMEM;
    wi_host_free(numbers->solve);
    numbers->solve = solve;
    numbers->rhs = rhs;
    return WEFT_OK;
}

void wi_numbers_note_peak(weft_chol *plan) {
    const wi_numbers *const numbers = &plan->numbers;
    size_t held = plan->report.analysis_bytes + wi_chol_device_held(plan);
    held += numbers->panel ? wi_numbers_bytes(plan, &numbers->cut, numbers->rhs)
                           : numbers->scratch_bytes + numbers->low_bytes + numbers->scaled_bytes +
                                 (numbers->pivots.d ? wi_pivots_bytes(plan) : 0);
    if (held > plan->report.bytes_peak)
        plan->report.bytes_peak = held;
}

/* Rows of a front are counted with 32 bits, and the memory for updates with 64: enough for any
 * front that fits memory. */
static weft_status check_fronts(weft_context *ctx, const char *call, const wi_symbolic *symbolic) {
    const int64_t most = INT64_C(1) << 28;
    if (symbolic->largest_front > most)
        return wi_fail(ctx, WEFT_ENOMEM,
                       "%s: the largest front has %lld rows, whose square no memory holds; analyze "
                       "with another ordering",
                       call, (long long)symbolic->largest_front);
    return WEFT_OK;
}

static void drop_work(wi_numbers *numbers) {
    wi_host_free(numbers->l);
    wi_host_free(numbers->stack);
    numbers->l = numbers->stack = numbers->rooms = NULL;
}

/* What a factor on the host has and one on a GPU has not. */
static void drop_factor(wi_numbers *numbers) {
    drop_work(numbers);
    wi_host_free(numbers->panel);
    wi_host_free(numbers->solve);
    wi_owners_free(&numbers->owners);
    numbers->panel = NULL;
    numbers->solve = NULL;
    numbers->rhs = 0;
}

weft_status wi_numbers_widen(weft_context *ctx, const char *call, weft_chol *plan) {
    const int64_t rhs = ctx->kind == WI_CUDA && plan->device ? plan->device->rhs : 1;
    plan->narrow = false;
    drop_work(&plan->numbers);
    wi_chol_device_widen(ctx, plan);
    return wi_numbers_reserve(ctx, call, plan, rhs);
}

weft_status wi_numbers_reserve(weft_context *ctx, const char *call, weft_chol *plan, int64_t rhs) {
    wi_numbers *const numbers = &plan->numbers;
    const bool first = !numbers->panel;
    weft_status status = check_fronts(ctx, call, &plan->symbolic);
    if (status == WEFT_OK && ctx->kind == WI_CUDA)
        return wi_chol_device_reserve(ctx, call, plan, rhs);
    if (status == WEFT_OK && first)
        status = take_index(ctx, call, plan);
    if (status == WEFT_OK && !numbers->stack) {
        drop_work(numbers);
        status = take_work(ctx, call, plan);
    }
    if (status == WEFT_OK && numbers->rhs < rhs)
        status = take_solve(ctx, call, plan, rhs);
    if (status != WEFT_OK) {
        if (first)
            drop_factor(numbers);
        return status;
    }
    wi_numbers_note_peak(plan);
    return WEFT_OK;
}

weft_status wi_numbers_scratch(weft_context *ctx, const char *call, weft_chol *plan, size_t bytes,
                               void **scratch) {
    wi_numbers *const numbers = &plan->numbers;
    if (bytes > numbers->scratch_bytes) {
        void *const larger = take(ctx, call, bytes, "the workspace of the variant forced");
        if (!larger)
            return WEFT_ENOMEM;
        wi_host_free(numbers->scratch);
        numbers->scratch = larger;
        numbers->scratch_bytes = bytes;
        wi_numbers_note_peak(plan);
    }
    *scratch = numbers->scratch;
    return WEFT_OK;
}

void wi_numbers_free(wi_numbers *numbers) {
    drop_factor(numbers);
    wi_host_free(numbers->pivots.d);
    wi_host_free(numbers->scratch);
    wi_host_free(numbers->low);
    wi_host_free(numbers->scaled);
    *numbers = (wi_numbers){.rhs = 0};
}

weft_status wi_numbers_low(weft_context *ctx, const char *call, weft_chol *plan, int64_t rhs) {
    wi_numbers *const numbers = &plan->numbers;
    const size_t bytes = (size_t)(plan->symbolic.n * rhs) * sizeof *numbers->low;
    if (bytes > numbers->low_bytes) {
        void *const larger = take(ctx, call, bytes, "the second half of x");
        if (!larger)
            return WEFT_ENOMEM;
        wi_host_free(numbers->low);
        numbers->low = larger;
        numbers->low_bytes = bytes;
        wi_numbers_note_peak(plan);
    }
    return WEFT_OK;
}

/* ---- maps ---- */

typedef struct mapping {
    const wi_symbolic *symbolic;
    const weft_sparse *matrix;
    wi_numbers *numbers;
    int64_t *at;  /* for each row of L, its latest index in symbolic.rows */
    int64_t next; /* the next entry to fill */
} mapping;

/* Finds the rows of supernode s in the front of its parent, the current supernode, which begins at
 * `base`. */
static void map_child(mapping *m, int64_t s, int64_t base) {
    const wi_symbolic *const symbolic = m->symbolic;
    for (int64_t k = symbolic->rows_at[s] + wi_super_columns(symbolic, s);
         k < symbolic->rows_at[s + 1]; k++)
        m->numbers->relative[k] = (int32_t)(m->at[symbolic->rows[k]] - base);
}

/* Adds the entries that belong in column k of L, from the `count` entries of the caller's column
 * perm[k] with rows or columns `other`. Entries that belong elsewhere are written and then
 * overwritten, because branching on it would be mispredicted. False if an entry is not in the
 * pattern of L. Entry e is value[number[e]], or value[first + e] if `number` is NULL. */
static bool map_entries(mapping *m, int64_t base, int64_t k, int64_t count, const int64_t *other,
                        const int64_t *number, int64_t first) {
    const int64_t *const inverse = m->symbolic->inverse;
    int64_t *const entry = m->numbers->entry, next = m->next;
    int32_t *const slot = m->numbers->slot;
    bool lost = false;
    for (int64_t e = 0; e < count; e++) {
        const int64_t i = inverse[other[e]], at = m->at[i];
        entry[next] = number ? number[e] : first + e;
        slot[next] = (int32_t)(at - base);
        lost |= (i >= k) & (at < base);
        next += i >= k;
    }
    m->next = next;
    return !lost;
}

static bool map_column(mapping *m, int64_t base, int64_t k) {
    const weft_sparse *const matrix = m->matrix;
    const int64_t j = m->symbolic->perm[k], *const start = matrix->start + j;
    const int64_t *const row_start = matrix->row_start + j;
    m->numbers->entry_at[k] = m->next;
    return map_entries(m, base, k, row_start[1] - row_start[0], matrix->col + row_start[0],
                       matrix->at + row_start[0], 0) &&
           map_entries(m, base, k, start[1] - start[0], matrix->row + start[0], NULL, start[0]);
}

static bool map_supernode(mapping *m, int64_t s) {
    const wi_symbolic *const symbolic = m->symbolic;
    const int64_t base = symbolic->rows_at[s];
    for (int64_t k = base; k < symbolic->rows_at[s + 1]; k++)
        m->at[symbolic->rows[k]] = k;
    for (int64_t c = wi_last_child(symbolic, s); c >= 0; c = wi_child_before(symbolic, s, c))
        map_child(m, c, base);
    for (int64_t k = symbolic->first[s]; k < symbolic->first[s + 1]; k++) {
        if (!map_column(m, base, k))
            return false;
    }
    return true;
}

weft_status wi_chol_tell_lost(weft_context *ctx, const char *call) {
    return wi_fail(ctx, WEFT_EARG,
                   "%s: matrix has an entry that the plan has no place for; analyze this matrix",
                   call);
}

weft_status wi_numbers_map(weft_context *ctx, const char *call, weft_chol *plan,
                           const weft_sparse *matrix) {
    const wi_symbolic *const symbolic = &plan->symbolic;
    wi_numbers *const numbers = &plan->numbers;
    mapping m = {
        .symbolic = symbolic, .matrix = matrix, .numbers = numbers, .at = (void *)numbers->solve};
    if (numbers->mapped)
        return WEFT_OK;
    for (int64_t i = 0; i < symbolic->n; i++)
        m.at[i] = -1;
    for (int64_t s = 0; s < symbolic->supernodes; s++) {
        if (!map_supernode(&m, s))
            return wi_chol_tell_lost(ctx, call);
    }
    numbers->entry_at[symbolic->n] = m.next;
    numbers->mapped = true;
    return WEFT_OK;
}
