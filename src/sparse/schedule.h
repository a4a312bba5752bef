/* SPDX-License-Identifier: Apache-2.0 */
/* The schedule of a multifrontal factorization on a GPU: the order in which it factors the fronts
 * of a plan, and where it stores their parts. Internal.
 *
 * Fronts of the same depth in the elimination tree (the root has depth 0) form a level. The deepest
 * level is done first, so a front's update (its Schur complement) is computed in one level and
 * added to its parent in the next. Updates of levels of even depth lie at the beginning of the
 * memory for updates, those of odd depth at its end.
 *
 * If the device has no room for L, then L lies in host memory, and the device has two windows
 * (buffers). The levels use them in turn: each puts its panels into one. A level whose panels do
 * not fit one window is cut into several levels, which follow each other.
 *
 * If several GPUs share the work, each has a schedule of its own fronts. A guest is a front of
 * another GPU whose parent is here. Before the parent's level begins, the other GPU writes the
 * guest's update, and its part of the right-hand sides, to memory that is kept for them here.
 * Fronts above the subtrees that were dealt out, the top, come after all others. Of those, large
 * ones may be factored by all GPUs together: each is a level of its own in the first GPU's
 * schedule, and in those of the others it is hosted, in memory that all hosted fronts use in turn.
 */
#ifndef WI_SPARSE_SCHEDULE_H
#define WI_SPARSE_SCHEDULE_H

#include "sparse/dense.h"
#include "sparse/symbolic.h"

#ifdef __cplusplus
extern "C" {
#endif

enum {
    WI_PANEL = 64,       /* columns that are eliminated together */
    WI_OUTER = 4,        /* the part of a front right of them is updated once for so many panels */
    WI_FLOW_OUTER = 8,   /* of one that the kernel of dense Cholesky factors, for so many */
    WI_FRONT_SMALL = 64, /* a front of up to so many rows is factored by one block of threads */
    WI_FRONT_TINY = 32,  /* up to so many rows: by a block of fewer threads, or by a warp */
    WI_FRONT_ROWS = 128, /* a block of threads computes so many rows below a panel, */
    WI_FRONT_TILE = 64,  /* or so many rows and columns of an update, */
    WI_RING_ROWS = 96,   /* or, of one by the copy engine, so many rows */
    WI_RING_COLUMNS = 128,  /* and so many columns, */
    WI_FRONT_COLUMNS = 8,   /* or assembles so many columns, or gathers so many rows */
    WI_FRONT_ALIGNMENT = 2, /* columns begin at a multiple of so many doubles, */
    WI_FRONT_LINE = 16,     /* or of so many, a line of the cache, */
    WI_FRONT_LONG = 256,    /* if they have so many rows */
    WI_CLASSES = 2,         /* of small fronts: tiny, and the others */
    WI_RISE_WARPS = 8,      /* of a block that takes fronts as their children finish; */
    WI_RISE_MOST = 4096,    /* not in levels of more fronts, which keep a launch at work */
    WI_MIDDLE_STRIP = 16,  /* rows of a middle front that lie together in one block of a cluster, */
    WI_MIDDLE_ROWS = 64,   /* so many rows in each block, */
    WI_MIDDLE_CLASSES = 3, /* of 2, 4 or 8 blocks */
    WI_UP_WARPS = 4,       /* of a block that substitutes forward, */
    WI_DOWN_WARPS = 8      /* or backward */
};

/* A front, as the kernels see it. */
typedef struct wi_front_record {
    int64_t panel;  /* column j of the front, j < columns, is at l + panel + j * ld, where l is L or
                       the windows. For every WI_PANEL columns, the square on the diagonal holds L on
                       and below the diagonal, and above it the inverse of that L, transposed */
    int64_t update; /* column j of the update is at updates + update + j * ld_update */
    int64_t part;   /* where in `parts` its rows of right-hand sides for the parent begin */
    int64_t relative; /* relative[this + i] is row i of the update in the parent's front */
    int64_t rows;     /* rows[this + i] is row i of the front in L */
    int32_t first;    /* its first column of L */
    int32_t number;   /* the supernode */
    int32_t height, columns, ld, ld_update;
    int32_t child, children; /* child[this ...] are the records of its children, in the order in
                                which they are added */
} wi_front_record;

/* Step p of a level: what its large fronts do with their panel p (or window p). `active` fronts
 * have one. A kernel gets the blocks of all fronts, numbered from front to front; list[at ... at +
 * active] are prefix sums: the blocks of front k begin at number list[at + k], and the last sum is
 * the number of all blocks. */
typedef struct wi_chol_step {
    int32_t active;
    int64_t rows_at, tiles_at; /* sums for the rows below the panel, and for the tiles it updates */
    int64_t boxes_at;          /* and for tiles by the copy engine; -1: there are none */
} wi_chol_step;

/* What one block of threads does in a substitution: `fronts` small fronts from record `front` on, a
 * warp each; or, if that is 0, part `part` of a large front. Forward those are its panels, and
 * after them blocks of WI_PANEL rows below its columns; backward its panels. An item comes after
 * those that it waits for. */
typedef struct wi_sweep_item {
    int32_t front, part, fronts;
    int32_t after; /* forward: the items of the levels before */
} wi_sweep_item;

/* What a block of threads of rung `rising` takes: `fronts` tiny fronts of level `level` from record
 * `front` on, a warp each; or, if that is 0, the small front `front`. */
typedef struct wi_rise_item {
    int32_t front, fronts, level;
    int32_t before; /* how many fronts the level before has */
} wi_rise_item;

/* A level. Its records begin at `first`: small[0] fronts of up to WI_FRONT_TINY rows, then small[1]
 * of up to WI_FRONT_SMALL, then `large` others, those with the most panels first. */
typedef struct wi_chol_level {
    int32_t first, small[WI_CLASSES], large;
    int32_t depth;
    int64_t l_at, l; /* its panels: where in L they begin, and how many numbers they have */
    int64_t heights_at, columns_at; /* prefix sums over the large fronts (see wi_chol_step): of
                                       blocks of WI_FRONT_COLUMNS rows, and of as many columns */
    int64_t step;                   /* its first step, */
    int32_t steps;                  /* one for each panel; */
    int64_t window;                 /* the first of its steps by windows, */
    int32_t windows;                /* of which there are 0 unless pivots are interchanged */
    int64_t maps;                   /* its first description for the copy engine, */
    int32_t mapped;                 /* and how many of its first large fronts have one */
    int64_t middle_at;              /* list[this ...]: the records of those of its last large fronts
                                       that are middle ones, for rung `clusters`, */
    int32_t middle[WI_MIDDLE_CLASSES]; /* so many for clusters of 2, 4 and 8 blocks; 8 come first */
    bool together;                     /* its only front is factored by all GPUs */
    int64_t up, down;                  /* its first items forward, and backward, */
    int32_t ups, downs;                /* and how many there are */
} wi_chol_level;

typedef struct wi_schedule {
    int64_t fronts, guests, hosted; /* the records: first the fronts of the levels, then guests,
                                       then hosted fronts */
    int64_t levels, steps, lists;
    int64_t ups, downs; /* items of a substitution forward, and backward */
    int64_t rising;     /* so many levels, the first ones, have a few small fronts only, */
    int64_t rises;      /* and so many items of rung `rising` */
    int64_t waits;      /* the first level of the top; `levels` if there is none */
    wi_chol_level
        *level; /* the deepest first. All arrays are one block of memory, which begins here */
    wi_chol_step *step;
    wi_sweep_item *item; /* those forward, from the first level to the last; then those backward,
                            from the last level to the first. The device has a copy of this and of
                            the arrays after it */
    wi_front_record *front;
    int32_t *child, *list;
    wi_rise_item *rise;
    int64_t l, updates, parts; /* sizes: numbers of L and of the memory for updates; rows of the
                                  memory for parts */
    int64_t window;            /* numbers of a window; 0: all of L is on the device */
    int64_t maps;              /* descriptions, those of hosted fronts last */
    int32_t flow_from;         /* fronts of so many columns are factored a block at a time; others
                                  of several panels too are updated by the copy engine. 0: none */
} wi_schedule;

/* How many numbers of L the device has room for. */
static inline int64_t wi_schedule_resident(const wi_schedule *s) {
    return s->window > 0 ? 2 * s->window : s->l;
}

/* Where on the device the panels of level k begin. */
static inline int64_t wi_schedule_level_at(const wi_schedule *s, int64_t k) {
    return s->window > 0 ? k % 2 * s->window : s->level[k].l_at;
}

/* The owner of a front above all subtrees that were dealt out to GPUs. */
enum {
    WI_TOP = -1,
    WI_TOGETHER = -2 /* and that pays to be factored by all GPUs, if it is a large one here */
};

/* What wi_schedule_make is asked for. */
typedef struct wi_schedule_wish {
    int small;           /* one block of threads factors a front of up to so many rows */
    bool interchanged;   /* pivots are interchanged: the schedule has steps by windows of columns */
    int64_t window;      /* as in wi_schedule; at least wi_schedule_widest */
    const int8_t *owner; /* for each supernode the number of its GPU; or WI_TOP, WI_TOGETHER: the
                            first GPU does it, or has it; NULL: one GPU has all supernodes */
    int gpu;             /* the number of the GPU that the schedule is for */
    int32_t flow_from;   /* as in wi_schedule */
} wi_schedule_wish;

static inline bool wi_is_top(const wi_schedule_wish *wish, int64_t s) {
    return wish->owner && wish->owner[s] < 0;
}

/* Is it of a subtree that was dealt out, and its parent of the top? */
static inline bool wi_is_below_top(const wi_symbolic *symbolic, const wi_schedule_wish *wish,
                                   int64_t s) {
    const int64_t parent = symbolic->super_parent[s];
    return parent >= 0 && wi_is_top(wish, parent) && !wi_is_top(wish, s);
}

/* The small fronts of a level. */
static inline int32_t wi_small_fronts(const wi_chol_level *level) {
    return level->small[0] + level->small[1];
}

static inline int64_t wi_schedule_records(const wi_schedule *s) {
    return s->fronts + s->guests + s->hosted;
}

/* Bytes of the part that the device has a copy of. */
static inline size_t wi_schedule_device_bytes(const wi_schedule *s) {
    return (size_t)wi_schedule_records(s) * (sizeof *s->front + sizeof *s->child) +
           (size_t)(s->ups + s->downs) * sizeof *s->item + (size_t)s->lists * sizeof *s->list +
           (size_t)s->rises * sizeof *s->rise;
}
static inline size_t wi_schedule_host_bytes(const wi_schedule *s) {
    return (size_t)s->levels * sizeof *s->level + (size_t)s->steps * sizeof *s->step +
           wi_schedule_device_bytes(s);
}

weft_status wi_schedule_make(weft_context *ctx, const char *call, const wi_symbolic *symbolic,
                             const wi_schedule_wish *wish, wi_schedule *schedule);

/* Where the updates and parts of all records lie, and the columns of hosted fronts, for a schedule
 * whose levels and records are there. */
void wi_schedule_place(const wi_symbolic *symbolic, const wi_schedule_wish *wish,
                       wi_schedule *schedule);

/* The items of substitutions: how many for a front, which is the k-th `small` one of
 * its level or a large one; and all of them, for a schedule whose levels and steps
 * are there. */
void wi_sweep_count(wi_schedule *schedule, int64_t height, int64_t columns, bool small, int64_t k);
void wi_sweep_list(wi_schedule *schedule);

/* The levels and items of rung `rising`: counts the next level, which has so many fronts of each
 * class; and lists the items of all of them. */
void wi_rise_count(wi_schedule *schedule, const int32_t small[WI_CLASSES]);
void wi_rise_list(wi_schedule *schedule);

/* Lists the middle fronts of a level, whose records are there, from list[*next] on. */
void wi_middle_list(wi_schedule *schedule, wi_chol_level *level, int64_t *next);
static inline int32_t wi_middle_fronts(const wi_chol_level *level) {
    return level->middle[0] + level->middle[1] + level->middle[2];
}

/* The largest panel of this GPU's fronts, in numbers of L. */
int64_t wi_schedule_widest(const wi_symbolic *symbolic, const wi_schedule_wish *wish);
void wi_schedule_free(wi_schedule *schedule);

/* ---- counts, computed by the same code for the schedule and in the kernels ---- */

/* How many pieces of `size` cover n. */
WI_COUNTED int32_t wi_pieces(int32_t n, int32_t size) {
    return (n + size - 1) / size;
}

/* Where columns of so many rows may begin. */
WI_COUNTED int32_t wi_front_alignment(int32_t rows) {
    return rows < WI_FRONT_LONG ? WI_FRONT_ALIGNMENT : WI_FRONT_LINE;
}
WI_COUNTED int64_t wi_front_aligned(int64_t at, int32_t rows) {
    const int64_t to = wi_front_alignment(rows);
    return (at + to - 1) / to * to;
}

/* The columns of a front that the kernel of dense Cholesky factors, a block at a time: its whole
 * panels. */
WI_COUNTED int32_t wi_flow_columns(int32_t columns, int32_t flow_from) {
    return flow_from > 0 && columns >= flow_from ? columns / WI_PANEL * WI_PANEL : 0;
}

/* May a cluster factor a large front of so many rows and columns? */
WI_COUNTED bool wi_fits_cluster(int32_t height, int32_t columns, int32_t flow_from) {
    return height <= WI_MIDDLE_ROWS << WI_MIDDLE_CLASSES &&
           wi_flow_columns(columns, flow_from) == 0;
}

/* The panels of a block. */
WI_COUNTED int32_t wi_block_panels(int32_t columns, int32_t flow_from) {
    return wi_flow_columns(columns, flow_from) > 0 ? WI_FLOW_OUTER : WI_OUTER;
}

/* Is panel p the last of its block? */
WI_COUNTED bool wi_ends_block(int32_t columns, int32_t p, int32_t flow_from) {
    return (p + 1) % wi_block_panels(columns, flow_from) == 0 || (p + 1) * WI_PANEL >= columns;
}

/* What a front updates after a panel: in columns begin ... end - 1, the rows from the diagonal
 * down, by the products of columns from ... begin - 1. */
typedef struct wi_panel_scope {
    int32_t from, begin, end;
} wi_panel_scope;

/* A panel updates the columns after it in its block, or the last one that is factored together with
 * those before it does so for all of them. The last panel of a block has none there: after it, all
 * panels of the block together update the columns right of the block. */
WI_COUNTED wi_panel_scope wi_panel_scope_of(int32_t height, int32_t columns, int32_t p,
                                            int32_t flow_from) {
    const int32_t width = wi_block_panels(columns, flow_from) * WI_PANEL;
    const int32_t outer = p * WI_PANEL / width * width, block = outer + width;
    const int32_t end = columns < block ? columns : block;
    const int32_t next = (p + 1) * WI_PANEL, begin = next < columns ? next : columns;
    const bool together = begin == end || begin == wi_flow_columns(columns, flow_from);
    wi_panel_scope scope;
    scope.from = together ? outer : p * WI_PANEL;
    scope.begin = begin;
    scope.end = begin == end ? height : end;
    return scope;
}

/* The first row and column of the tiles: a row where a line begins, or an even one, as columns are
 * copied two rows at a time. */
WI_COUNTED int32_t wi_panel_tiles_from(wi_panel_scope scope) {
    return scope.begin / wi_front_alignment(scope.end - scope.begin) *
           wi_front_alignment(scope.end - scope.begin);
}

/* Tiles of the rows from there to `height` in the columns from there to end - 1, on and below the
 * diagonal. */
WI_COUNTED int32_t wi_panel_tiles(int32_t height, wi_panel_scope scope) {
    const int32_t from = wi_panel_tiles_from(scope);
    const int32_t down = wi_pieces(height - from, WI_FRONT_TILE);
    const int32_t across = scope.end > scope.begin ? wi_pieces(scope.end - from, WI_FRONT_TILE) : 0;
    return across * down - across * (across - 1) / 2;
}

/* The same in tiles by the copy engine: those of a column of tiles begin on its diagonal. */
WI_COUNTED int32_t wi_ring_tiles(int32_t height, wi_panel_scope scope) {
    const int32_t from = wi_panel_tiles_from(scope);
    int32_t tiles = 0;
    for (int32_t column = from; scope.begin < scope.end && column < scope.end;
         column += WI_RING_COLUMNS)
        tiles += wi_pieces(height - column, WI_RING_ROWS);
    return tiles;
}

/* May a front be updated by such tiles after its blocks? They are for large ones. */
WI_COUNTED bool wi_has_ring(int32_t height, int32_t columns, int32_t flow_from) {
    return flow_from > 0 && columns > WI_PANEL && height >= flow_from;
}
/* How many of them a step has that uses them: with fewer, smaller tiles keep more multiprocessors
 * busy. The bits are the same. (Where tests begin with fewer columns, one is enough.) */
WI_COUNTED int32_t wi_ring_least(int32_t flow_from) {
    return flow_from >= 512 ? 256 : 1;
}

/* Blocks for the rows from panel p's first on: those below it, and as many more as it has columns,
 * from which the inverse of its square comes. */
WI_COUNTED int32_t wi_panel_blocks(int32_t height, int32_t p) {
    return wi_pieces(height - p * WI_PANEL, WI_FRONT_ROWS);
}

/* If pivots are interchanged (INDEFINITE), windows of columns take the place of panels. (They are
 * not the windows for L above.) A window is a run of up to WI_PANEL columns inside a block of
 * WI_OUTER panels. Columns in which no pivot was accepted are left to the next window, so only the
 * device knows where a window begins. A block of several panels has one more window than panels.
 * Window w must end so late that the windows after it have room for all columns that are left. */

/* The windows of a block of `columns` columns, and of a front. */
WI_COUNTED int32_t wi_windows_of_block(int32_t columns) {
    const int32_t panels = wi_pieces(columns, WI_PANEL);
    return panels > 1 ? panels + 1 : panels;
}
WI_COUNTED int32_t wi_windows_of_front(int32_t columns) {
    const int32_t block = WI_OUTER * WI_PANEL;
    return columns / block * (WI_OUTER + 1) + wi_windows_of_block(columns % block);
}

/* Window p of a front is window `number` of the block of columns block ... end - 1. It begins at
 * column `least` or later, and ends before column `least_end` or a later one. */
typedef struct wi_window_place {
    int32_t block, number, end, least, least_end;
} wi_window_place;

WI_COUNTED wi_window_place wi_window_place_of(int32_t columns, int32_t p) {
    const int32_t block = p / (WI_OUTER + 1) * WI_OUTER * WI_PANEL, left = columns - block;
    const int32_t size = left < WI_OUTER * WI_PANEL ? left : WI_OUTER * WI_PANEL;
    const int32_t number = p % (WI_OUTER + 1);
    const int32_t after = (wi_windows_of_block(size) - number) * WI_PANEL;
    wi_window_place place;
    place.block = block;
    place.number = number;
    place.end = block + size;
    place.least = size > after ? place.end - after : block;
    place.least_end = size > after - WI_PANEL ? place.end - after + WI_PANEL : block;
    return place;
}

/* What a front updates after a window of columns first ... end - 1. */
WI_COUNTED wi_panel_scope wi_window_scope_of(int32_t height, wi_window_place place, int32_t first,
                                             int32_t end) {
    wi_panel_scope scope;
    scope.from = end == place.end ? place.block : first;
    scope.begin = end;
    scope.end = end == place.end ? height : place.end;
    return scope;
}

/* The most blocks for the rows below window p, and the most tiles, wherever it begins and ends. */
WI_COUNTED int32_t wi_window_blocks(int32_t height, int32_t columns, int32_t p) {
    const wi_window_place place = wi_window_place_of(columns, p);
    const int32_t full = place.least + WI_PANEL, below = full < place.end ? full : place.end;
    const int32_t blocks = wi_pieces(height - below, WI_FRONT_ROWS);
    return blocks > 0 ? blocks : 1;
}
WI_COUNTED int32_t wi_window_tiles(int32_t height, int32_t columns, int32_t p) {
    const wi_window_place place = wi_window_place_of(columns, p);
    const bool may_be_last = place.block + (place.number + 1) * WI_PANEL >= place.end;
    const wi_panel_scope outer = wi_window_scope_of(height, place, place.block, place.end);
    wi_panel_scope inner = outer;
    inner.begin = place.least_end;
    inner.end = place.end;
    const int32_t within = wi_panel_tiles(height, inner);
    const int32_t beyond = may_be_last ? wi_panel_tiles(height, outer) : 0;
    return within > beyond ? within : beyond;
}

#ifdef __cplusplus
}
#endif
#endif
