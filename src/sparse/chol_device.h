/* SPDX-License-Identifier: Apache-2.0 */
/* A factor in the memory of a GPU. Internal. */
#ifndef WI_SPARSE_CHOL_DEVICE_H
#define WI_SPARSE_CHOL_DEVICE_H

#include "sparse/chol.h"
#include "sparse/schedule.h"
#include "sparse/spread.h"

#ifdef __cplusplus
extern "C" {
#endif

/* The window of a front that is being done: columns first ... first + width - 1 of the front, of
 * which those before `end` have their pivots. */
typedef struct wi_window_state {
    int32_t first, width, end;
    int32_t moved; /* its columns were interchanged */
} wi_window_state;

/* D on the device, as wi_pivots. The other pointers are NULL if nothing is interchanged. */
typedef struct wi_device_pivots {
    double *d, *e;
    int8_t *mark;
    int8_t *signs;
    int32_t *order, *place; /* place k of a factor has column order[k] of the analysis, and place[]
                               is the inverse */
    int32_t *moved; /* of the latest window: what column of it, counted in it, came to its place k;
                       for each front from its first column on */
    const int32_t *perm;     /* as in the analysis */
    wi_window_state *window; /* for each front */
    double *tiny;
    bool perturb;
} wi_device_pivots;

/* What kernels need of a factor; all is device memory. */
typedef struct wi_device_chol {
    const wi_front_record *front;
    const wi_sweep_item *item;
    const int32_t *child, *list, *relative, *rows;
    void *l, *updates; /* of floats if the plan is `narrow`, else of doubles */
    const wi_rise_item *rise;
    uint32_t *risen;            /* of rung `rising`: the next item that a block takes, and how many
                                   fronts of each level are done; `arrived` comes after it */
    uint32_t *arrived;          /* for each front: blocks that have loaded a panel's square; or, of
                                   a small one, whether `rising` has done it */
    unsigned long long *failed; /* the first column whose pivot is none; all ones: none */
    uint32_t *progress;         /* of a substitution: the next item that a block takes, and,
                                   WI_PROGRESS_APART         words behind it, so that the two do not hold up
                                   each         other, how many are         done */
    int32_t flow_from;          /* as in the schedule */
    const char *boxes;          /* descriptions of fronts, WI_BOXES_BYTES each */
    wi_device_pivots pivots;
} wi_device_chol;

enum {
    WI_CLUSTER_SHARED = 225 << 10, /* shared memory of a block of rung `clusters`, at most */
    WI_BOXES_BYTES = 128,
    WI_PROGRESS_APART = 32,
    WI_PROGRESS_BYTES = (WI_PROGRESS_APART + 2) * 4
};

/* Right-hand sides on the device, n x rhs, row-major, in the order of L. The forward substitution
 * reads y and writes x; the backward one reads and writes x, and overwrites y. */
typedef struct wi_device_sides {
    double *y, *x, *parts;
    double *b, *solution; /* column-major, in the caller's order */
    int rhs;
} wi_device_sides;

/* What kernels find out about right-hand sides, the largest each: |b|, |x|, |r|, |r| / scale, and
 * of a correction, WI_CHOL_RHS numbers each; and the norm of A. */
enum {
    WI_FIGURE_B = 0,
    WI_FIGURE_X = WI_CHOL_RHS,
    WI_FIGURE_R = 2 * WI_CHOL_RHS,
    WI_FIGURE_ERROR = 3 * WI_CHOL_RHS,
    WI_FIGURE_NORM = 4 * WI_CHOL_RHS,
    WI_SOLVE_FIGURES
};

/* Facts of the values of a matrix: the largest |value|; the largest and the least number above 0 on
 * the diagonal; and for kinds with D, of the largest |value| of each column the least above 0. */
enum {
    WI_VALUE_MOST = 0,
    WI_VALUE_DIAGONAL_MOST,
    WI_VALUE_DIAGONAL_LEAST,
    WI_VALUE_COLUMN_LEAST,
    WI_VALUE_FIGURES
};

/* What the calls in graphs tell weft_chol_check: how many there were, and how many right-hand sides
 * are not refined to the end; facts of values, as above; of all right-hand sides the largest |b|, x
 * and backward error, and the least |b| of the columns' largest; and the norm of A. */
typedef struct wi_chol_told {
    unsigned long long factored, solved, stuck;
    unsigned long long value[WI_VALUE_FIGURES];
    unsigned long long b_least, b_most, x_most, error, norm;
} wi_chol_told;

/* What decides about corrections where the host cannot look. */
typedef struct wi_judged {
    wi_refining column[WI_CHOL_RHS];
    double largest[WI_CHOL_RHS]; /* |x| */
    unsigned taken;              /* a bit for each column whose correction is added */
    unsigned stuck;              /* and for each that one was not good enough for */
} wi_judged;

/* All that lies behind a matrix on the device. */
typedef struct wi_device_figures {
    unsigned long long solve[WI_SOLVE_FIGURES], value[WI_VALUE_FIGURES];
    wi_chol_told told;
    wi_judged judged;
    double tiny; /* of wi_device_pivots */
} wi_device_figures;

/* A symmetric matrix on the device: entries of its lower half by rows and by columns, the diagonal
 * only among the latter; values are those of the columns. Place k of the factor has the caller's
 * column perm[k]. */
typedef struct wi_device_matrix {
    int64_t *row_start, *start, *at;
    double *value;
    int32_t *col, *row, *perm;
    unsigned long long *figures; /* WI_SOLVE_FIGURES of them: bits of numbers above 0 */
    wi_device_figures *all;      /* which begins with these */
} wi_device_matrix;

/* The root of a subtree that another GPU has: its level there, and its records there and here. */
typedef struct wi_guest {
    int64_t level, there, here;
} wi_guest;

/* Part of a plan: memory of one GPU, kept until the plan is destroyed. If several GPUs share the
 * work, the plan has that of the first, which has the others'. */
typedef struct wi_chol_device {
    int device; /* the GPU's number */
    wi_schedule schedule;
    char *index;    /* device memory: the copy of the schedule, then the maps */
    char *matrix;   /* A by rows */
    void *l, *work; /* of floats or doubles; NULL until they are taken anew */
    double *sides;
    double *host; /* host memory: right-hand sides y, x, b and the caller's x, and n numbers of the
                     diagonal of L */
    uint64_t version;  /* of the values of A that are there; 0: unknown */
    int64_t rhs;       /* that there is room for */
    bool mapped;       /* the maps are there */
    bool sent;         /* the values that are about to be factored are there */
    bool has_diagonal; /* the host has the diagonal of the latest factor */
    bool captured;     /* a factorization was captured into a graph */
    bool has_signs;    /* the signs that the caller gave are there */
    void *home;        /* pinned host memory with L, if the device has no room for it; or NULL */
    struct wi_chol_windows *windows; /* then what is in the device's two windows: chol_stream.cu */
    wi_spread spread;                /* of the first: who has what */
    struct wi_chol_device *other[WI_SPREAD_MOST_GPUS]; /* of the first: those after it, from 1 on */
    struct wi_chol_device *first;                      /* of the others; NULL */
    int number;                                        /* among the GPUs that share the work */
    wi_guest *guest; /* of the others: their roots, as many as `guests`, by levels */
    int64_t guests;
} wi_chol_device;

/* Bytes on the device, and in host memory, of a plan with this schedule. */
size_t wi_chol_device_bytes(const weft_chol *plan, const wi_schedule *schedule, int64_t rhs);
size_t wi_chol_device_host_bytes(const weft_chol *plan, const wi_schedule *schedule, int64_t rhs);

/* Bytes of both kinds that the plan holds. */
size_t wi_chol_device_held(const weft_chol *plan);

/* Allocates what is not there yet, for the context's GPU. */
weft_status wi_chol_device_reserve(weft_context *ctx, const char *call, weft_chol *plan,
                                   int64_t rhs);
void wi_chol_device_free(weft_chol *plan);

/* For a plan whose L is of doubles from now on: gives back L and the memory for updates, or all of
 * the plan's memory on the device if L then has to lie elsewhere; wi_chol_device_reserve takes it
 * anew. */
void wi_chol_device_widen(weft_context *ctx, weft_chol *plan);

/* ---- how L fits: chol_fit.c ---- */

/* The schedule of one GPU for so many right-hand sides, with windows if L does not fit its free
 * memory. `spread` is who has what, NULL if one GPU has all. *needed
 * = 0; or, if the schedule fits in no way, the bytes that have to be free. */
weft_status wi_chol_fit(weft_context *ctx, const char *call, const weft_chol *plan, int64_t rhs,
                        const wi_spread *spread, int gpu, wi_schedule *schedule, size_t *needed);
weft_status wi_chol_tell_too_large(weft_context *ctx, const char *call, size_t needed);
/* Are so many bytes of the device free? */
bool wi_chol_fits(const weft_context *ctx, size_t bytes);
/* Bytes of L and of the memory for updates on the device, and of L in host memory. */
size_t wi_chol_device_work_bytes(const weft_chol *plan, const wi_schedule *schedule);
static inline size_t wi_chol_home_bytes(const weft_chol *plan, const wi_schedule *schedule) {
    return schedule->window > 0 ? (size_t)schedule->l * wi_chol_number(plan) : 0;
}

/* ---- several GPUs: chol_spread.c ---- */

/* Bytes that a plan needs: on all GPUs together, on the host, and of the latter those of L. */
typedef struct wi_chol_needs {
    size_t device, host, home;
} wi_chol_needs;
weft_status wi_chol_foresee(weft_context *ctx, const char *call, const weft_chol *plan,
                            wi_chol_needs *needs);

/* How many GPUs share the plan's work; and the context of one of them. */
static inline int wi_chol_gpus(const weft_chol *plan) {
    return plan->device && plan->device->spread.gpus > 1 ? plan->device->spread.gpus : 1;
}
weft_context *wi_chol_gpu(weft_context *ctx, int gpu);

/* The plan as GPU `gpu` has it; valid as long as the plan. */
weft_chol wi_chol_of_gpu(const weft_chol *plan, int gpu);

/* Calls `step` for the plan of every GPU in their order, until one fails. */
typedef weft_status (*wi_chol_gpu_step)(weft_context *ctx, weft_chol *plan, void *user);
weft_status wi_chol_each_gpu(weft_context *ctx, weft_chol *plan, wi_chol_gpu_step step, void *user);

/* The work from which GPUs share it. */
double wi_chol_spread_from(void);
/* Decides who has what on the context's GPUs. */
weft_status wi_chol_spread(weft_context *ctx, const char *call, const weft_chol *plan,
                           wi_spread *spread);
/* Finds those fronts of GPU `other` that are guests of GPU `first`. */
weft_status wi_chol_find_guests(weft_context *ctx, const char *call, const wi_chol_device *first,
                                wi_chol_device *other);
/* Is the context one with the GPUs that the plan has memory on? */
bool wi_chol_has_gpus(const weft_context *ctx, const weft_chol *plan);

/* ---- what moves between GPUs: chol_peers.cu. These do nothing if one GPU has all. ---- */

/* What the others queue next comes after what is queued on the first; and the other way round. */
weft_status wi_chol_others_wait(weft_context *ctx, const weft_chol *plan);
weft_status wi_chol_first_waits(weft_context *ctx, const weft_chol *plan);
/* What `later` queues next comes after what is queued on `earlier`: contexts of the plan's GPUs. */
weft_status wi_chol_let_wait(weft_context *ctx, weft_context *later, weft_context *earlier);
/* Columns of `row_bytes` that begin `ld_bytes` apart on both GPUs, which reach each other's memory.
 */
weft_status wi_chol_copy_columns(weft_context *ctx, void *to, const void *from, size_t ld_bytes,
                                 size_t row_bytes, int64_t columns);
/* Level k of another GPU is queued: updates of its roots go to the first; or parts of so many
 * right-hand sides, if any. */
weft_status wi_chol_send_guests(weft_context *ctx, const weft_chol *plan, int64_t k, int rhs);
/* Right-hand sides of the columns that another GPU has, and of the top if asked for, from the first
 * to it; or those of its columns back. `plan` is as that GPU has it, and so is the context. */
weft_status wi_chol_bring_sides(weft_context *ctx, const weft_chol *plan, const double *from,
                                double *to, int rhs, bool top);
weft_status wi_chol_return_sides(weft_context *ctx, const weft_chol *plan, const double *from,
                                 double *to, int rhs);
/* D and the order of pivots, of the columns that another GPU has, to the first. */
weft_status wi_chol_return_pivots(weft_context *ctx, const weft_chol *plan);
/* Where every column is, from the first to the others. */
weft_status wi_chol_share_places(weft_context *ctx, const weft_chol *plan);
/* The columns that a GPU has of a vector, to the host. */
weft_status wi_chol_fetch_runs(weft_context *ctx, const weft_chol *plan, const double *from,
                               double *to);

/* ---- L in host memory: chol_stream.cu. These do nothing if L is on the device. ---- */

/* Bytes of device memory that a factor may take. */
size_t wi_chol_free_bytes(const weft_context *ctx);

weft_status wi_chol_windows_take(weft_context *ctx, const weft_chol *plan, wi_chol_device *d);
void wi_chol_windows_drop(wi_chol_device *d);
/* Before the levels of a call, and after them. */
weft_status wi_chol_windows_begin(weft_context *ctx, const weft_chol *plan);
weft_status wi_chol_windows_end(weft_context *ctx, const weft_chol *plan);
/* What is queued next may write the panels of level k. */
weft_status wi_chol_windows_clear(weft_context *ctx, const weft_chol *plan, int64_t k);
/* They are written: they go to the host. */
weft_status wi_chol_windows_keep(weft_context *ctx, const weft_chol *plan, int64_t k);
/* What is queued next may read the panels of level k, and those of `next` are on the way; -1: none.
 */
weft_status wi_chol_windows_fetch(weft_context *ctx, const weft_chol *plan, int64_t k,
                                  int64_t next);
/* They were read. */
weft_status wi_chol_windows_used(weft_context *ctx, const weft_chol *plan, int64_t k);

/* ---- maps: chol_map.cu ---- */

/* Puts the matrix and the maps of its entries on the device, unless they are there. What L and the
 * right-hand sides have there is lost. */
weft_status wi_chol_device_map(weft_context *ctx, const char *call, weft_chol *plan,
                               const weft_sparse *matrix);

/* ---- between the host and the device: chol_device.c and others ---- */

/* Host memory for b and x of a solve. */
double *wi_chol_device_host_sides(const weft_chol *plan);

/* A on the device, with these values of it. */
wi_device_matrix wi_chol_device_matrix(const weft_chol *plan);
weft_status wi_chol_device_values(weft_context *ctx, const weft_chol *plan,
                                  const weft_sparse *matrix);
/* Sends values from the host ahead of a factorization, and finds facts of them, which takes the
 * device a hundredth of the host's time. */
weft_status wi_chol_device_send(weft_context *ctx, const weft_chol *plan, const weft_sparse *matrix,
                                double facts[WI_VALUE_FIGURES]);

/* Memory for y and x of a solve on the host. */
wi_solve_room wi_chol_device_room(const weft_chol *plan, int64_t rhs);

/* Fetches the diagonal of L to the host, unless it is there. */
weft_status wi_chol_device_diagonal(weft_context *ctx, const weft_chol *plan);
/* Fetches D to the host's wi_pivots. */
weft_status wi_chol_device_pivots(weft_context *ctx, const weft_chol *plan);
double wi_chol_device_entry(const weft_chol *plan, int64_t column);

/* As wi_chol_substitute, y in host memory. */
weft_status wi_chol_device_substitute(weft_context *ctx, const weft_chol *plan, int64_t rhs,
                                      bool up, bool down);

/* As wi_chol_direction. */
weft_status wi_chol_device_direction(weft_context *ctx, const weft_chol *plan, int64_t s,
                                     int64_t k);

/* The rungs of a GPU. */
weft_status wi_chol_levels(weft_context *ctx, const void *args);
weft_status wi_chol_batched(weft_context *ctx, const void *args);
weft_status wi_chol_overlapped(weft_context *ctx, const void *args);
weft_status wi_chol_clusters(weft_context *ctx, const void *args);
weft_status wi_chol_rising(weft_context *ctx, const void *args);

/* ---- values in device memory, and graphs: chol_values.cu ---- */

/* Finds the facts of values in device memory; waits for them. */
weft_status wi_chol_device_size_up(weft_context *ctx, const weft_chol *plan, const double *value,
                                   double facts[WI_VALUE_FIGURES]);
/* The same, without waiting, in the device's memory. */
weft_status wi_chol_device_find_facts(weft_context *ctx, const weft_chol *plan, const double *value,
                                      const unsigned long long **facts);
/* The same for weft_chol_check, of the factorization that is being captured. */
weft_status wi_chol_device_tell_factored(weft_context *ctx, const weft_chol *plan,
                                         const double *value);
/* Nothing has been told, and no pivot has failed. */
weft_status wi_chol_device_forget(weft_context *ctx, const weft_chol *plan);
/* Waits for what was told, and for the first column that failed, -1 for none; and forgets it. If
 * something was factored, fetches D and its signs. */
weft_status wi_chol_device_ask(weft_context *ctx, const weft_chol *plan, wi_chol_told *told,
                               int64_t *failed);

/* ---- between the files of this part ---- */

wi_device_chol wi_chol_device_view(const weft_chol *plan);
wi_device_sides wi_chol_device_sides_of(const weft_chol *plan, int64_t rhs);

/* For each entry of A, its index in L; device memory. */
const int64_t *wi_chol_device_places(const weft_chol *plan);

/* `work` = the diagonal of L. */
weft_status wi_chol_device_gather(weft_context *ctx, const weft_chol *plan);

/* L = the entries of A; nothing has failed. */
weft_status wi_chol_device_load(weft_context *ctx, const wi_chol_args *args);
/* Waits, and says whether all pivots were good; during a capture it does neither. */
weft_status wi_chol_device_finish(weft_context *ctx, const wi_chol_args *args);

/* From how many columns on fronts are factored by the kernel of dense Cholesky; 0: none. */
int32_t wi_chol_flow_from(const weft_context *ctx, const weft_chol *plan);

/* Takes the memory that this kernel works with, on both lanes of the context. */
weft_status wi_chol_flow_reserve(weft_context *ctx, const wi_schedule *schedule);

/* Describes L of the fronts that have it so to the copy engine, as the device's copy. */
weft_status wi_chol_describe_fronts(weft_context *ctx, const wi_chol_device *d, void *there);

/* The small fronts of a level, and its large ones, of any kind. */
weft_status wi_chol_small_fronts(weft_context *ctx, const weft_chol *plan,
                                 const wi_chol_level *level);
weft_status wi_chol_large_fronts(weft_context *ctx, const weft_chol *plan,
                                 const wi_chol_level *level);
/* The last of its large fronts, middle ones, each by a cluster: L Lt of doubles. */
weft_status wi_chol_middle_fronts(weft_context *ctx, const weft_chol *plan,
                                  const wi_chol_level *level);
/* The first levels by one kernel: L Lt. */
weft_status wi_chol_rise(weft_context *ctx, const weft_chol *plan);
/* All fronts of a level, each by one block: the teaching rung. */
weft_status wi_chol_alone_fronts(weft_context *ctx, const weft_chol *plan,
                                 const wi_chol_level *level);

/* Only supernodes first ... last take part, and of the last only its first `columns` rows: those
 * columns but one, and that row. Everything: {0, INT32_MAX, 0}. */
typedef struct wi_subtree {
    int32_t first, last, columns;
} wi_subtree;
/* Right-hand sides from the order of the analysis, in x, to that of the factor, in y; or back. */
weft_status wi_chol_interchange(weft_context *ctx, const weft_chol *plan, wi_device_sides sides,
                                bool back);
/* x = L \ y, divided by D if there is one. And x = Lt \ x. */
weft_status wi_chol_go_up(weft_context *ctx, const weft_chol *plan, wi_device_sides sides);
weft_status wi_chol_go_down(weft_context *ctx, const weft_chol *plan, wi_device_sides sides,
                            wi_subtree tree);

#ifdef __cplusplus
}
#endif
#endif
