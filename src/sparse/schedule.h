/* SPDX-License-Identifier: Apache-2.0 */
/* The order in which a GPU factors the fronts of a plan, and where it keeps what. Internal.
 *
 * Fronts of the same depth in the tree (the root has depth 0) are a level. The deepest level is
 * done first, so a front's update is made in one level and added to its parent in the next. Levels
 * of even depth keep their updates at the beginning of the memory for updates, the others at its
 * end.
 *
 * If L is larger than what the device has for it, it lies in host memory, and two windows on the
 * device take the panels of one level after the other, in turn. A level whose panels do not fit one
 * window is cut into several, which follow each other as levels do.
 *
 * If several GPUs share the work, each has a schedule of its own fronts. A front of another GPU
 * whose parent is here is a guest: the other GPU puts its update, and its part of right-hand sides,
 * in memory that is kept for them here, before the level of the parent. */
#ifndef WI_SPARSE_SCHEDULE_H
#define WI_SPARSE_SCHEDULE_H

#include "sparse/dense.h"
#include "sparse/symbolic.h"

#ifdef __cplusplus
extern "C" {
#endif

enum {
    WI_PANEL = 64,        /* columns that are eliminated together */
    WI_OUTER = 4,         /* panels after which the rest of a front is updated */
    WI_FRONT_SMALL = 64,  /* rows of a front that one block of threads does, at most */
    WI_FRONT_TINY = 32,   /* the same, for a smaller block */
    WI_FRONT_ROWS = 128,  /* rows below a panel for one block */
    WI_FRONT_TILE = 64,   /* rows and columns of an update for one block */
    WI_FRONT_COLUMNS = 8, /* columns for one block that assembles, and rows for one that gathers */
    WI_FRONT_ALIGNMENT = 2, /* columns begin at a multiple of so many doubles */
    WI_CLASSES = 2          /* of small fronts */
};

/* A front, as the kernels see it. */
typedef struct wi_front_record {
    int64_t panel;  /* L, or the windows: column j of the front, j < columns, is at l + panel + j *
                       ld. In the square on the diagonal of every 64 columns, the elements above the
                       diagonal  are those of the inverse of L's square, transposed */
    int64_t update; /* column j of the update is at updates + update + j * ld_update */
    int64_t part;   /* rows of the right-hand sides that are kept for the parent, in `parts` */
    int64_t relative; /* relative[this + i] is row i of the update in the parent's front */
    int64_t rows;     /* rows[this + i] is row i of the front in L */
    int32_t first;    /* its first column of L */
    int32_t number;   /* the supernode */
    int32_t height, columns, ld, ld_update;
    int32_t child, children; /* child[this ...] are the records of its children, in the order in
                                which they are added */
} wi_front_record;

/* What all large fronts of a level do with panel p; `active` of them have one. list + at is an
 * array of active + 1 sums: before front k there are list[at + k] blocks. */
typedef struct wi_chol_step {
    int32_t active;
    int64_t rows_at, tiles_at;
} wi_chol_step;

/* A level: records first ..., of which the first small[0] have up to WI_FRONT_TINY rows, the next
 * small[1] up to WI_FRONT_SMALL, and `large` more, those with the most panels first. */
typedef struct wi_chol_level {
    int32_t first, small[WI_CLASSES], large;
    int32_t depth;
    int64_t l_at, l; /* its panels: where in L they begin, and how many numbers they are */
    int64_t heights_at, columns_at; /* sums over the large fronts, of blocks of 8 */
    int64_t step;                   /* the first of */
    int32_t steps;
    int64_t window; /* and, if pivots are interchanged, that of the first window, of */
    int32_t windows;
} wi_chol_level;

typedef struct wi_schedule {
    int64_t fronts, guests; /* the records: first the fronts of the levels, then guests */
    int64_t levels, steps, lists;
    int64_t waits;        /* the first level with a guest's parent; `levels`: none */
    wi_chol_level *level; /* the deepest first. This pointer owns all of the memory */
    wi_chol_step *step;
    wi_front_record *front; /* from here on the device has a copy */
    int32_t *child, *list;
    int64_t l, updates, parts; /* sizes: numbers of L and of the memory for updates; rows of the
                                  memory for parts */
    int64_t window;            /* numbers of a window; 0: all of L is on the device */
} wi_schedule;

/* Numbers of L that the device has room for. */
static inline int64_t wi_schedule_resident(const wi_schedule *s) {
    return s->window > 0 ? 2 * s->window : s->l;
}

/* Where on the device the panels of level k begin. */
static inline int64_t wi_schedule_level_at(const wi_schedule *s, int64_t k) {
    return s->window > 0 ? k % 2 * s->window : s->level[k].l_at;
}

enum {
    WI_TOP = -1 /* a front above all subtrees that GPUs have alone */
};

/* How a schedule is made. */
typedef struct wi_schedule_wish {
    int small;           /* fronts of up to so many rows are done by one block each */
    bool interchanged;   /* with windows of columns, for pivots that are interchanged */
    int64_t window;      /* as in wi_schedule; at least wi_schedule_widest */
    const int8_t *owner; /* the number of the GPU that has each supernode, or WI_TOP, which is the
                            first's; NULL: one GPU has all */
    int gpu;             /* the number of this one */
} wi_schedule_wish;

static inline int64_t wi_schedule_records(const wi_schedule *s) {
    return s->fronts + s->guests;
}

/* Bytes of the part that the device has a copy of. */
static inline size_t wi_schedule_device_bytes(const wi_schedule *s) {
    return (size_t)wi_schedule_records(s) * (sizeof *s->front + sizeof *s->child) +
           (size_t)s->lists * sizeof *s->list;
}
static inline size_t wi_schedule_host_bytes(const wi_schedule *s) {
    return (size_t)s->levels * sizeof *s->level + (size_t)s->steps * sizeof *s->step +
           wi_schedule_device_bytes(s);
}

weft_status wi_schedule_make(weft_context *ctx, const char *call, const wi_symbolic *symbolic,
                             const wi_schedule_wish *wish, wi_schedule *schedule);

/* The numbers of L of the front that has the most, of this GPU's. */
int64_t wi_schedule_widest(const wi_symbolic *symbolic, const wi_schedule_wish *wish);
void wi_schedule_free(wi_schedule *schedule);

/* ---- what the kernels and the schedule count alike ---- */

WI_COUNTED int32_t wi_pieces(int32_t n, int32_t size) {
    return (n + size - 1) / size;
}

/* What panel p of a front changes: columns begin ... end - 1, and of these the rows from the
 * diagonal down, by the products of columns from ... begin - 1. */
typedef struct wi_panel_scope {
    int32_t from, begin, end;
} wi_panel_scope;

/* The rest of a block of WI_OUTER panels is updated panel by panel, and what is right of the block
 * by all of its panels together. */
WI_COUNTED wi_panel_scope wi_panel_scope_of(int32_t height, int32_t columns, int32_t p) {
    const int32_t outer = p / WI_OUTER * WI_OUTER * WI_PANEL, block = outer + WI_OUTER * WI_PANEL;
    const int32_t end = columns < block ? columns : block;
    const int32_t next = (p + 1) * WI_PANEL, begin = next < columns ? next : columns;
    wi_panel_scope scope;
    scope.from = begin == end ? outer : p * WI_PANEL;
    scope.begin = begin;
    scope.end = begin == end ? height : end;
    return scope;
}

/* The first row and column of the tiles: columns of L begin at even rows in memory, and are copied
 * two rows at a time. */
WI_COUNTED int32_t wi_panel_tiles_from(wi_panel_scope scope) {
    return scope.begin / WI_FRONT_ALIGNMENT * WI_FRONT_ALIGNMENT;
}

/* Tiles of the rows from there to `height` in the columns from there to end - 1, on and below the
 * diagonal. */
WI_COUNTED int32_t wi_panel_tiles(int32_t height, wi_panel_scope scope) {
    const int32_t from = wi_panel_tiles_from(scope);
    const int32_t down = wi_pieces(height - from, WI_FRONT_TILE);
    const int32_t across = scope.end > scope.begin ? wi_pieces(scope.end - from, WI_FRONT_TILE) : 0;
    return across * down - across * (across - 1) / 2;
}

/* Blocks for the rows below panel p: at least one. */
WI_COUNTED int32_t wi_panel_blocks(int32_t height, int32_t columns, int32_t p) {
    const int32_t next = (p + 1) * WI_PANEL, end = next < columns ? next : columns;
    const int32_t blocks = wi_pieces(height - end, WI_FRONT_ROWS);
    return blocks > 0 ? blocks : 1;
}

/* Windows, where pivots are interchanged (INDEFINITE). A window is a run of up to WI_PANEL columns
 * inside a block of WI_OUTER panels. Columns without a pivot stay for the next window, so where it
 * begins is only known on the device. A block of several panels has one window more than panels,
 * and window w has to end where all columns that are left fit the windows after it. */

/* The windows of a block of `columns` columns, and of a front. */
WI_COUNTED int32_t wi_windows_of_block(int32_t columns) {
    const int32_t panels = wi_pieces(columns, WI_PANEL);
    return panels > 1 ? panels + 1 : panels;
}
WI_COUNTED int32_t wi_windows_of_front(int32_t columns) {
    const int32_t block = WI_OUTER * WI_PANEL;
    return columns / block * (WI_OUTER + 1) + wi_windows_of_block(columns % block);
}

/* Window p of a front: number `number` of the block that begins at column `block`; it begins at
 * column `least` or later, and ends at `least_end` or later. The columns of the block end before
 * `end`. */
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

/* What the columns first ... end - 1 of a window change, as wi_panel_scope. */
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
