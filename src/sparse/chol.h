/* SPDX-License-Identifier: Apache-2.0 */
/* A plan of a Cholesky factorization, the memory for its numbers, and the ladder "sparse" that
 * fills it. Internal. */
#ifndef WI_SPARSE_CHOL_H
#define WI_SPARSE_CHOL_H

#include "core/rows.h"
#include "sparse/symbolic.h"

#ifdef __cplusplus
extern "C" {
#endif

/* ---- who does what: cut.c ---- */

/* Whole subtrees next to each other, which one thread factors: supernodes begin ... end - 1. */
typedef struct wi_task {
    int64_t begin, end;
    double work;
} wi_task;

/* Where a supernode's update, or its part of a right-hand side, waits for the parent: in memory of
 * its own for each thread (an offset from 0) or in memory that all reach (~offset). */
typedef int64_t wi_stack_offset;

/* Memory for what waits, in doubles. First come those of the roots below the cut, which all reach;
 * then each thread's own, while tasks are done, in the same place as those of the tops, which come
 * after the tasks. */
typedef struct wi_stack {
    int64_t roots, own, tops;
} wi_stack;

static inline int64_t wi_stack_entries(const wi_stack *stack, int threads) {
    const int64_t own = stack->own * threads;
    return stack->roots + (own > stack->tops ? own : stack->tops);
}

/* Where a place is in that memory, for the thread of this rank. */
static inline int64_t wi_stack_at(const wi_stack *stack, wi_stack_offset place, int rank) {
    return place < 0 ? ~place : stack->roots + stack->own * rank + place;
}

/* The tree is cut: subtrees below the cut are tasks, supernodes above it are `tops`, each factored
 * by all threads together. Nothing that is computed depends on the cut, only who computes it. */
typedef struct wi_cut {
    int threads;
    double limit;        /* a supernode whose subtree is more work than this is a top */
    int64_t tasks, tops; /* how many */
    wi_stack update;     /* doubles for updates */
    wi_stack part;       /* and for parts of one right-hand side */
    bool alone; /* there is not the work that pays for a second thread, whatever the context: so
                 * right-hand sides have no parts, each row is summed up in its place */
} wi_cut;

/* The cut for at most `threads` threads, each with `least` work to do: figures only. */
void wi_cut_measure(const wi_symbolic *symbolic, int threads, double least, wi_cut *cut);

/* The cut itself, tasks[cut->tasks] with the most work first and tops[cut->tops] ascending; and for
 * every supernode where its update and its part of a right-hand side wait. */
void wi_cut_make(const wi_symbolic *symbolic, const wi_cut *cut, wi_task *tasks, int64_t *tops,
                 wi_stack_offset *update, wi_stack_offset *part);

/* Is L of the matrix scaled, and by what: row i and column i by 2^power[i]. */
typedef struct wi_balance {
    bool scaled;
    int32_t *power;
} wi_balance;

/* ---- memory for the numbers: numbers.c ---- */

/* L is stored by supernodes: supernode s has a panel of height x columns, by blocks of columns
 * (wi_block_column), beginning at l + panel[s]. Row r of it is row symbolic.rows[rows_at[s] + r] of
 * L, and what lies above the diagonal is not defined. */
typedef struct wi_numbers {
    wi_cut cut;
    int64_t rhs;       /* right-hand sides that there is memory for */
    int64_t *panel;    /* supernodes + 1 */
    int64_t *entry_at; /* n + 1: entries of A in column k of the permuted lower triangle are */
    int64_t *entry;    /* the matrix's value[entry[e]], e = entry_at[k] ... entry_at[k+1] - 1, */
    int32_t *slot;     /* each in row slot[e] of the panel that has column k */
    int32_t *relative; /* for every element of symbolic.rows below the columns of its supernode:
                          the row of the parent's front that is the same */
    wi_stack_offset *update, *part; /* of each supernode; `part` is not used where cut.alone */
    wi_task *tasks;
    int64_t *tops;
    double *l;
    double *stack; /* updates, as in cut.update */
    double *rooms; /* for packed rows: room_entries for each thread while tasks are done, then all
                      of it for the tops */
    int64_t room_entries;
    double *solve; /* everything a solve needs, for `rhs` right-hand sides */
    void *scratch; /* of the teaching rungs; NULL until one of them has factored */
    size_t scratch_bytes;
    double *scaled; /* room for the values of a matrix that is scaled, and for its powers */
    size_t scaled_bytes;
    wi_balance balance;
    bool mapped; /* entry, slot and relative are filled */
} wi_numbers;

/* Bytes of everything in wi_numbers. */
size_t wi_numbers_bytes(const weft_chol *plan, const wi_cut *cut, int64_t rhs);

/* What is in `solve`, for `rhs` right-hand sides. */
typedef struct wi_solve_room {
    double *y, *x; /* n x rhs each */
    double *stack; /* parts, as in cut.part, x rhs */
    double *front; /* front_entries for each thread */
    int64_t front_entries;
} wi_solve_room;
wi_solve_room wi_solve_room_of(const weft_chol *plan, int64_t rhs);

/* Takes what is not there yet; the memory is for the context's threads if it takes any of it. */
weft_status wi_numbers_reserve(weft_context *ctx, const char *call, weft_chol *plan, int64_t rhs);
void wi_numbers_free(wi_numbers *numbers);

/* Has the report know of what is held now. */
void wi_numbers_note_peak(weft_chol *plan);

/* Scratch memory of the teaching rungs, at least `bytes`, taken when it is first asked for. */
weft_status wi_numbers_scratch(weft_context *ctx, const char *call, weft_chol *plan, size_t bytes,
                               void **scratch);

/* Fills the maps; WEFT_EARG if an entry of the matrix has no place in L. Nothing if they are full.
 */
weft_status wi_numbers_map(weft_context *ctx, const char *call, weft_chol *plan,
                           const weft_sparse *matrix);

/* ---- scaling: balance.c ---- */

/* Decides whether the matrix has to be scaled, and by what; takes memory when one first has to be.
 * The powers of before stay where they were. */
weft_status wi_chol_balance(weft_context *ctx, const char *call, weft_chol *plan,
                            const weft_sparse *matrix);

/* The matrix as the plan has it: scaled, in `room`, which then points to the plan's values; or as
 * it is. Nothing is rounded but numbers that come to lie below the range of double. */
const weft_sparse *wi_chol_balanced(const weft_chol *plan, const weft_sparse *matrix,
                                    weft_sparse *room);

/* ---- the plan ---- */

typedef enum wi_chol_state {
    WI_CHOL_EMPTY,
    WI_CHOL_FACTORED,
    WI_CHOL_INDEFINITE /* columns before `failed` are right in all panels below it in the tree */
} wi_chol_state;

struct weft_chol {
    wi_symbolic symbolic;
    uint64_t fingerprint; /* of the pattern analyzed */
    weft_chol_report report;
    wi_numbers numbers;
    wi_chol_state state;
    int64_t failed;    /* a permuted column */
    double least_work; /* that pays for waking a thread; 0 in tests of small matrices */
    weft_chol_progress progress;
    void *progress_user;
    double told; /* when progress was last told, as a share of the work */
};

/* Column j of the panel of supernode s; row i of it, i >= j, is at [i]. */
static inline double *wi_chol_column(const weft_chol *plan, int64_t s, int64_t j) {
    return wi_block_column(plan->numbers.l + plan->numbers.panel[s],
                           wi_super_height(&plan->symbolic, s), j);
}

/* The power of two that row and column i of the caller's matrix were scaled by. */
static inline int wi_chol_power(const weft_chol *plan, int64_t i) {
    return plan->numbers.balance.scaled ? plan->numbers.balance.power[i] : 0;
}

/* Threads for a call: no more than there is memory for. */
static inline int wi_chol_team(const weft_context *ctx, const weft_chol *plan) {
    const int most = plan->numbers.cut.threads;
    return ctx->threads < most ? ctx->threads : most;
}

/* A plan with nothing in it. */
weft_status wi_chol_create(weft_context *ctx, const char *call, weft_chol **plan);

/* Fills what the report says of the structure. */
void wi_chol_describe(weft_chol *plan);

/* Seconds of the monotonic clock. */
double wi_chol_now(void);

/* Is the plan a plan, and the matrix one of its pattern? */
weft_status wi_chol_check_plan(weft_context *ctx, const char *call, const weft_chol *plan);
weft_status wi_chol_check_matrix(weft_context *ctx, const char *call, const weft_chol *plan,
                                 const weft_sparse *matrix);
/* And is it factored? */
weft_status wi_chol_check_factor(weft_context *ctx, const char *call, const weft_chol *plan);

/* ---- the ladder "sparse" ---- */

/* A rung fills the panels of L. plan->numbers is reserved and mapped. It takes memory, if any, from
 * wi_numbers_scratch and before it writes to them. If column k of the permuted
 * matrix, and none before, has a pivot that is not > 0 and finite, a rung leaves that pivot where L
 * has it and returns wi_chol_fail(..., k); columns before k in the subtree of the tree that ends in
 * k are then right, rows down to k, and finite below. */
typedef struct wi_chol_args {
    const char *call; /* the public name, for messages */
    weft_chol *plan;
    const weft_sparse *matrix;
} wi_chol_args;

extern const wi_ladder wi_sparse_ladder;

weft_status wi_chol_up_looking(weft_context *ctx, const void *args);
const char *wi_chol_fits_blas(const weft_context *ctx, const void *args);
weft_status wi_chol_left_looking(weft_context *ctx, const void *args);
weft_status wi_chol_multifrontal(weft_context *ctx, const void *args);

/* After WEFT_ENOTSPD: the column that showed it, in the caller's numbering, and its pivot. */
int64_t wi_chol_failed(const weft_chol *plan, double *pivot);

/* Records that column `column` failed: WEFT_ENOTSPD, or WEFT_ENONFINITE if its pivot is not finite.
 */
weft_status wi_chol_fail(weft_context *ctx, const char *call, weft_chol *plan, int64_t column);

/* Tells the caller's progress function, if there is one and enough is done since it was last told,
 * that the share `done` of the work is. False if it asks to stop: then the rung returns
 * wi_chol_cancel. By the calling thread only. */
bool wi_chol_tell(weft_chol *plan, double done);
weft_status wi_chol_cancel(weft_context *ctx, const char *call);

/* Columns begin ... end - 1 of the panel of supernode s = the entries of A there are, else zeros.
 */
void wi_chol_load_panel(const weft_chol *plan, const weft_sparse *matrix, int64_t s, int64_t begin,
                        int64_t end);

/* ---- after the factorization ---- */

/* y, n x rhs row-major and in the order of the columns of L, = L \ y if `up`, then = Lt \ y if
 * `down`. y is wi_solve_room_of(plan, rhs).y. */
void wi_chol_substitute(const weft_context *ctx, const weft_chol *plan, int64_t rhs, bool up,
                        bool down);

/* y = d, in the order of the columns of L, for column k of supernode s that failed. */
void wi_chol_direction(const weft_chol *plan, int64_t s, int64_t k);

/* log(det A) */
double wi_chol_logdet(const weft_chol *plan);

#ifdef __cplusplus
}
#endif
#endif
