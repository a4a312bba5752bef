/* SPDX-License-Identifier: Apache-2.0 */
/* A plan of a Cholesky factorization, the memory for its values, and the ladder "sparse" that
 * computes them. Internal. */
#ifndef WI_SPARSE_CHOL_H
#define WI_SPARSE_CHOL_H

#include "core/rows.h"
#include "sparse/dense.h"
#include "sparse/owners.h"
#include "sparse/progress.h"
#include "sparse/symbolic.h"

#ifdef __cplusplus
extern "C" {
#endif

/* ---- which thread does what: cut.c ---- */

/* Neighbouring subtrees that one thread factors: supernodes begin ... end - 1. */
typedef struct wi_task {
    int64_t begin, end;
    double work;
} wi_task;

/* Where a supernode's update (or its part of a right-hand side) is kept until its parent needs it.
 * offset >= 0: in the memory of the thread that factors it; ~offset, which is < 0: in memory that
 * all threads share. */
typedef int64_t wi_stack_offset;

/* Sizes of the memory for these, in doubles. First come the entries of the roots below the cut,
 * which all threads share. After them, while tasks run, each thread's own; later the entries of the
 * tops use the same memory. */
typedef struct wi_stack {
    int64_t roots, own, tops;
} wi_stack;

static inline int64_t wi_stack_entries(const wi_stack *stack, int threads) {
    const int64_t own = stack->own * threads;
    return stack->roots + (own > stack->tops ? own : stack->tops);
}

/* The index in that memory, for the thread of this rank. */
static inline int64_t wi_stack_at(const wi_stack *stack, wi_stack_offset place, int rank) {
    return place < 0 ? ~place : stack->roots + stack->own * rank + place;
}

/* The cut through the tree: subtrees below it are tasks of one thread each; the supernodes above
 * it, the `tops`, are each factored by all threads together. The cut changes only who computes
 * what, no result.
 *
 * Over ranks the tasks are those of this rank. Of its supernodes, all whose subtree is shared are
 * tops. The list of tops has shared ones of other ranks, too, where ranks may have to wait for each
 * other, but they take no memory here. The updates of children that other ranks send have memory
 * like those of the roots below the cut. */
typedef struct wi_cut {
    int threads;
    int ranks;               /* that the memory is for; 0: a place of one process */
    const wi_owners *owners; /* who has which supernode; NULL: this rank has all */
    double limit;            /* a supernode whose subtree takes more work than this is a top */
    int64_t tasks, tops;     /* number of each */
    wi_stack update;         /* memory for updates */
    wi_stack part;           /* memory for parts of one right-hand side */
    int64_t l;               /* numbers of L */
    int64_t front;           /* rows of the largest front */
    bool alone; /* too little work for a second thread, on any context. Then right-hand sides have
                   no parts: contributions go directly to their rows */
} wi_cut;

/* The sizes of the cut for at most `threads` threads, each with at least `least` work; `owners` as
 * in wi_cut. */
void wi_cut_measure(const wi_symbolic *symbolic, int threads, double least, const wi_owners *owners,
                    wi_cut *cut);

/* Is s above the cut? Those of other ranks count as if they were. */
bool wi_cut_is_top(const wi_symbolic *symbolic, const wi_cut *cut, int64_t s);

/* The cut itself: tasks[cut->tasks], the one with the most work first; tops[cut->tops], ascending,
 * the shared ones last; and for every supernode the offsets of its update and of its part of a
 * right-hand side. */
void wi_cut_make(const wi_symbolic *symbolic, const wi_cut *cut, wi_task *tasks, int64_t *tops,
                 wi_stack_offset *update, wi_stack_offset *part);

/* Is the matrix scaled, and by how much: row i and column i by 2^power[i]. */
typedef struct wi_balance {
    bool scaled;
    int32_t *power;
} wi_balance;

/* D and the interchanges of L D Lt, and how to choose pivots: for all columns, or from the first
 * column of a supernode on. */
typedef struct wi_pivots {
    double *d, *e; /* as in wi_dense_pivots */
    int8_t *mark;
    int32_t *swap; /* first column k of the supernode was exchanged with column swap[k], then the
                      next, and so on; counted in the supernode. Of a factor on a GPU: place k has
                      column swap[k] of the analysis */
    int8_t *signs; /* that the pivots should have; NULL for INDEFINITE */
    double tiny, share; /* what is tiny, and of the largest entry */
    bool perturb;
} wi_pivots;

/* ---- memory for the values: numbers.c ---- */

/* L is stored by supernodes: supernode s has a panel of height x columns, in blocks of columns
 * (wi_block_column_at), that begins at l + panel[s]. Row r of the panel is row
 * symbolic.rows[rows_at[s] + r] of L; entries above the diagonal are undefined. */
typedef struct wi_numbers {
    wi_cut cut;
    wi_owners owners;  /* over ranks, if they share the work: cut.owners */
    int64_t rhs;       /* how many right-hand sides there is memory for */
    int64_t *panel;    /* supernodes + 1 */
    int64_t *entry_at; /* n + 1 starts: entries e = entry_at[k] ... entry_at[k+1] - 1 are in column
                          k of the permuted lower triangle; */
    int64_t *entry;    /* entry e is value[entry[e]] of the matrix, */
    int32_t *slot;     /* and belongs in row slot[e] of its panel */
    int32_t *relative; /* for every element of symbolic.rows below the columns of its supernode: its
                          row in the parent's front */
    wi_stack_offset *update, *part; /* for each supernode; `part` is not used if cut.alone */
    wi_task *tasks;
    int64_t *tops;
    double *diagonal; /* of L Lt, where ranks share the work; else NULL */
    size_t *rows;     /* of b and x that each of cut.ranks passes, for the matrix last factored */
    void *l;          /* these three of floats if the plan is `narrow`, else of doubles */
    void *stack;      /* the memory described by cut.update */
    void *rooms; /* for packed rows: room_entries for each thread during tasks, later all of it for
                    the tops */
    int64_t room_entries;
    double *solve; /* all memory of a solve, for `rhs` right-hand sides */
    void *scratch; /* of the teaching rungs; NULL until one of them has factored */
    size_t scratch_bytes;
    double *low; /* what x leaves out, where residuals are exact; NULL until they are asked for */
    size_t low_bytes;
    double *scaled; /* for the values of a matrix that is scaled, and its powers of two */
    size_t scaled_bytes;
    wi_balance balance;
    wi_pivots pivots; /* for the kinds with D */
    bool mapped;      /* entry, slot and relative are filled */
} wi_numbers;

/* Who has which supernode over the ranks of `over`, if they are worth sharing, and the cut. `over`
 * NULL: a place of one process. */
weft_status wi_numbers_share(weft_context *ctx, const char *call, const weft_chol *plan,
                             const weft_context *over, wi_owners *owners, wi_cut *cut);

/* Bytes of everything in wi_numbers. */
size_t wi_numbers_bytes(const weft_chol *plan, const wi_cut *cut, int64_t rhs);

/* Vectors that GMRES needs. */
enum {
    WI_KRYLOV_STEPS = 10, /* between two restarts */
    WI_KRYLOV_VECTORS = WI_KRYLOV_STEPS + 2
};

/* The parts of `solve`, for `rhs` right-hand sides. */
typedef struct wi_solve_room {
    double *y, *x; /* n x rhs each */
    double *stack; /* parts as in cut.part, each times rhs */
    double *front; /* front_entries for each thread */
    int64_t front_entries;
    double *krylov;     /* if the plan may need GMRES: krylov.c has it */
    double *sent, *got; /* where ranks share the work, what they exchange: n x rhs each */
    double *sides; /* over ranks: right-hand sides and then solutions, n x the most there is memory
                      for; in one place whatever rhs is */
} wi_solve_room;
size_t wi_krylov_entries(const weft_chol *plan);
wi_solve_room wi_solve_room_of(const weft_chol *plan, int64_t rhs);

/* Allocates what is not there yet. If it allocates anything, the memory is sized for the context's
 * threads. */
weft_status wi_numbers_reserve(weft_context *ctx, const char *call, weft_chol *plan, int64_t rhs);
void wi_numbers_free(wi_numbers *numbers);

/* From now on L is of doubles: gives back what is sized for floats, and takes it anew. */
weft_status wi_numbers_widen(weft_context *ctx, const char *call, weft_chol *plan);

/* Updates the report's peak of the memory held. */
void wi_numbers_note_peak(weft_chol *plan);

/* Scratch memory of the teaching rungs, at least `bytes`; allocated at its first use. */
weft_status wi_numbers_scratch(weft_context *ctx, const char *call, weft_chol *plan, size_t bytes,
                               void **scratch);

/* Memory for `low`, for so many right-hand sides; allocated at its first use. */
weft_status wi_numbers_low(weft_context *ctx, const char *call, weft_chol *plan, int64_t rhs);

/* Says that an entry of the matrix is not in the pattern of L. */
weft_status wi_chol_tell_lost(weft_context *ctx, const char *call);

/* Fills the maps entry_at, entry, slot and relative, unless they are filled. */
weft_status wi_numbers_map(weft_context *ctx, const char *call, weft_chol *plan,
                           const weft_sparse *matrix);

/* ---- D: pivots.c ---- */

/* The bytes of wi_pivots; 0 for L Lt. And its parts in so many bytes. */
size_t wi_pivots_bytes(const weft_chol *plan);
void wi_pivots_place(const weft_chol *plan, void *memory, wi_pivots *pivots);

/* Takes host memory for them; once. */
weft_status wi_pivots_reserve(weft_context *ctx, const char *call, weft_chol *plan);

/* The column of the analysis that came to place k of a factor. */
int64_t wi_pivots_column(const weft_chol *plan, int64_t s, int64_t k);

/* The part of supernode s. */
wi_pivots wi_pivots_of(const weft_chol *plan, int64_t s);

/* Before a factorization: the signs wanted, and what is tiny in this matrix. */
void wi_pivots_begin(weft_chol *plan, const weft_sparse *matrix);

/* After it: the report's inertia. */
void wi_pivots_count(weft_chol *plan);

/* x = the rows of supernode s in the order in which they were pivots, or back; x has `count`
 * columns, and their first row is that of the supernode. Nothing for L Lt. */
void wi_pivots_interchange(const weft_chol *plan, int64_t s, int64_t count, double *x, int64_t ldx);
void wi_pivots_restore(const weft_chol *plan, int64_t s, int64_t count, double *x, int64_t ldx);

/* x = D^-1 x. */
void wi_pivots_divide(const weft_chol *plan, int64_t s, int64_t count, double *x, int64_t ldx);

/* ---- scaling: balance.c ---- */

/* Powers of two that bring the largest entries of all rows and columns near 1; `most` has room for
 * as many. */
void wi_equilibrate(const weft_sparse *matrix, int32_t *power, int32_t *most);

/* Memory for the matrix scaled; taken once. For L D Lt it is part of what is reserved, else it is
 * taken when it is first needed. */
size_t wi_balance_bytes(const weft_chol *plan);
weft_status wi_balance_reserve(weft_context *ctx, const char *call, weft_chol *plan);

/* Decides whether the matrix has to be scaled, and by how much. Allocates memory the first time one
 * has to be. The powers of the matrix before are kept. */
weft_status wi_chol_balance(weft_context *ctx, const char *call, weft_chol *plan,
                            const weft_sparse *matrix);

/* The matrix that the plan factors: the scaled one, for which *room then points to the plan's
 * values, or the matrix itself. Scaling rounds only numbers that become subnormal. */
const weft_sparse *wi_chol_balanced(const weft_chol *plan, const weft_sparse *matrix,
                                    weft_sparse *room);

/* ---- the plan ---- */

typedef enum wi_chol_state {
    WI_CHOL_EMPTY,
    WI_CHOL_FACTORED,
    WI_CHOL_INDEFINITE /* in all panels below `failed` in the tree, the columns before it are right
                        */
} wi_chol_state;

struct weft_chol {
    weft_chol_kind kind;
    weft_precision precision; /* AUTO, FULL or MIXED, as in weft_chol_options */
    bool narrow;              /* L, where it is or will be, is of floats */
    double condition;         /* of the matrix as factored, for L of floats; 0: not known yet */
    double perturbation;      /* as in weft_chol_options */
    uint64_t *negative;       /* a bit for each column of the caller: signs; NULL: none given */
    wi_symbolic symbolic;
    uint64_t fingerprint; /* of the pattern that was analyzed */
    weft_chol_report report;
    wi_numbers numbers;
    weft_context *over;            /* during a call over ranks: the context of all; or NULL */
    struct wi_chol_device *device; /* chol_device.h: what it has on a GPU; or NULL */
    bool on_device;                /* the latest factor is there */
    int small;                     /* rows of a front that a block of a GPU does; fewer in tests */
    wi_chol_state state;
    int64_t failed;    /* a permuted column; with interchanges, the one that is there now */
    double least_work; /* that pays for waking a thread; 0 in tests of small matrices */
    weft_chol_progress progress;
    void *progress_user;
    double told; /* the share of work done when progress was last reported */
};

/* Where column j of the panel of supernode s is in L; its row i, i >= j, comes i numbers later. */
static inline int64_t wi_chol_column_at(const weft_chol *plan, int64_t s, int64_t j) {
    return plan->numbers.panel[s] + wi_block_column_at(wi_super_height(&plan->symbolic, s), j);
}

/* That column, of a factor of doubles, and of one of floats. */
static inline double *wi_chol_column(const weft_chol *plan, int64_t s, int64_t j) {
    return (double *)plan->numbers.l + wi_chol_column_at(plan, s, j);
}
static inline float *wi_chol_narrow_column(const weft_chol *plan, int64_t s, int64_t j) {
    return (float *)plan->numbers.l + wi_chol_column_at(plan, s, j);
}

/* The bytes of a number of L. */
static inline size_t wi_chol_number(const weft_chol *plan) {
    return plan->narrow ? sizeof(float) : sizeof(double);
}

/* The bytes of L, of all ranks. */
static inline size_t wi_chol_factor_bytes(const weft_chol *plan) {
    return plan->symbolic.factor_bytes / sizeof(double) * wi_chol_number(plan);
}

/* The power of two by which row and column i of the caller's matrix are scaled. */
static inline int wi_chol_power(const weft_chol *plan, int64_t i) {
    return plan->numbers.balance.scaled ? plan->numbers.balance.power[i] : 0;
}

/* Has the factorization a D? */
static inline bool wi_chol_has_d(const weft_chol *plan) {
    return plan->kind != WEFT_CHOL_DEFINITE;
}

/* Words of plan->negative. */
static inline int64_t wi_sign_words(int64_t n) {
    return (n + 63) / 64;
}

/* Threads for a call: at most as many as there is memory for. */
static inline int wi_chol_team(const weft_context *ctx, const weft_chol *plan) {
    const int most = plan->on_device ? ctx->threads : plan->numbers.cut.threads;
    return ctx->threads < most ? ctx->threads : most;
}

/* Creates an empty plan. */
weft_status wi_chol_create(weft_context *ctx, const char *call, weft_chol **plan);

/* Takes memory for the signs of n columns, all positive. */
weft_status wi_chol_take_signs(weft_context *ctx, const char *call, weft_chol *plan, int64_t n);

/* Fills the report's facts about the structure. */
void wi_chol_describe(weft_chol *plan);

/* Checks that the plan is valid, and that the matrix has its pattern. */
weft_status wi_chol_check_plan(weft_context *ctx, const char *call, const weft_chol *plan);
weft_status wi_chol_check_matrix(weft_context *ctx, const char *call, const weft_chol *plan,
                                 const weft_sparse *matrix);
/* What the latest factorization left is used where it is. */
weft_status wi_chol_check_side(weft_context *ctx, const char *call, const weft_chol *plan);
/* The same, and that the plan is factored. */
weft_status wi_chol_check_factor(weft_context *ctx, const char *call, const weft_chol *plan);

/* ---- factor.c and values.c ---- */

/* weft_chol_factor, of a checked matrix or a view of one, by the name of another call. */
weft_status wi_chol_factor(weft_context *ctx, const char *call, weft_chol *plan,
                           const weft_sparse *matrix);

/* Can calls on this plan be captured, with so many right-hand sides at once? */
weft_status wi_chol_check_capture(weft_context *ctx, const char *call, const weft_chol *plan,
                                  int64_t rhs);

/* *view = the matrix with other values, in host or device memory, whose array is checked here. */
weft_status wi_chol_view(weft_context *ctx, const char *call, const weft_sparse *matrix,
                         const double *value, weft_sparse *view);

/* *own = the view with its values in host memory alone, which is taken if they are on the device;
 * wi_chol_give_back frees that. */
weft_status wi_chol_fetch(weft_context *ctx, const char *call, const weft_sparse *view,
                          weft_sparse *own);
void wi_chol_give_back(const weft_sparse *view, weft_sparse *own);

/* Is a diagonal between these numbers one that makes scaling necessary? */
bool wi_chol_is_extreme(const weft_chol *plan, double least, double most);
/* The same for kinds with D, if these are exponents of the largest entries of columns. */
bool wi_chol_is_uneven(const weft_chol *plan, int least, int most);

/* ---- the ladder "sparse" ---- */

/* A rung computes the panels of L, and D. plan->numbers is reserved and mapped. It allocates only
 * with wi_numbers_scratch, and before it writes to the panels. If column k of the permuted matrix
 * is the first whose pivot is not > 0 or not finite, the rung leaves that pivot in the place of L's
 * diagonal entry and returns wi_chol_fail(..., k). The columns before k in the subtree that ends
 * with k are then right in rows up to k, and finite below. */
typedef struct wi_chol_args {
    const char *call; /* the public name, for messages */
    weft_chol *plan;
    const weft_sparse *matrix;
} wi_chol_args;

extern const wi_ladder wi_sparse_ladder;

/* The misfit of rungs that compute L Lt of doubles alone. */
const char *wi_chol_fits_definite(const weft_context *ctx, const void *args);

weft_status wi_chol_up_looking(weft_context *ctx, const void *args);
const char *wi_chol_fits_blas(const weft_context *ctx, const void *args);
weft_status wi_chol_left_looking(weft_context *ctx, const void *args);
weft_status wi_chol_multifrontal(weft_context *ctx, const void *args);

/* After WEFT_ENOTSPD: the column that failed, in the caller's numbering, and its pivot. */
int64_t wi_chol_failed(const weft_chol *plan, double *pivot);

/* A pivot that is not positive may be a 0 with a rounding error: then WEFT_ESINGULAR. */
weft_status wi_chol_tell_singular(weft_context *ctx, const wi_chol_args *args);

/* Records that `column` failed: WEFT_ENOTSPD, or WEFT_ENONFINITE if its pivot is not finite. */
weft_status wi_chol_fail(weft_context *ctx, const char *call, weft_chol *plan, int64_t column);

/* Calls the caller's progress function with `done`, the share of the work that is done, if there is
 * one and enough has been done since its last call. False if it asks to stop: the rung then returns
 * wi_chol_cancel. Only for the calling thread. */
bool wi_chol_tell(weft_chol *plan, double done);
weft_status wi_chol_cancel(weft_context *ctx, const char *call);

/* Columns begin ... end - 1 of the panel of supernode s = the entries of A, and zeros elsewhere. */
void wi_chol_load_panel(const weft_chol *plan, const weft_sparse *matrix, int64_t s, int64_t begin,
                        int64_t end);

/* ---- after the factorization ---- */

/* L of doubles in place of one of floats that did not serve, for this plan from now on. */
weft_status wi_chol_fall_back(weft_context *ctx, const char *call, weft_chol *plan,
                              const weft_sparse *matrix);

/* y = L \ y if `up`, then y = Lt \ y if `down`. y is wi_solve_room_of(plan, rhs).y: n x rhs,
 * row-major, in the order of the columns of L. Fails only on a GPU. */
weft_status wi_chol_substitute(weft_context *ctx, const weft_chol *plan, int64_t rhs, bool up,
                               bool down);

/* y = d of weft_chol_direction, in the order of the columns of L, for column k of supernode s that
 * failed. Fails only on a GPU. */
weft_status wi_chol_direction(weft_context *ctx, const weft_chol *plan, int64_t s, int64_t k);

/* plan->condition, an estimate, from the matrix as factored; or from its norm alone. */
weft_status wi_chol_size_up(weft_context *ctx, weft_chol *plan, const weft_sparse *held);
weft_status wi_chol_size_up_by(weft_context *ctx, weft_chol *plan, double norm);

/* log(det A); of a factor on a GPU its diagonal must be on the host. */
double wi_chol_logdet(const weft_chol *plan);

#ifdef __cplusplus
}
#endif
#endif
