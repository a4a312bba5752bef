/* SPDX-License-Identifier: Apache-2.0 */
/* Reductions by segment and by key inside the library: one call as the rungs get it, and the rungs.
 */
#ifndef WI_GROUP_H
#define WI_GROUP_H

#include "core/call.h"
#include "core/rows.h"
#include "reduce/reduce.h"
#include "weft/group.h"

#ifdef __cplusplus
extern "C" {
#endif

/* One reduction of every segment, on memory that the place can access directly. Segment s is
 * x[starts[s]] up to the start of the next; the last one ends at n. */
typedef struct wi_group_args {
    const char *call; /* the public name */
    wi_reduction op;  /* not DOT */
    weft_op asked;    /* the same, as the user has called it */
    weft_type type, result_type;
    size_t n;
    size_t segments;       /* with `found`: the most that there may be; not 0 */
    const uint64_t *found; /* where the place keeps the number of segments; NULL: `segments` */
    const void *x;
    const void *starts;
    size_t start_bytes; /* of one: 4 or 8 */
    void *y;
    void *room; /* wi_group_threads_bytes of memory for rung `threads`; NULL: it takes its own */
} wi_group_args;

extern const wi_ladder wi_group_ladder, wi_group_scan_ladder;

/* Where segment s begins, and where it ends, of so many; in host memory. */
static inline size_t wi_group_start(const wi_group_args *a, size_t s) {
    return a->start_bytes == 4 ? ((const uint32_t *)a->starts)[s]
                               : (size_t)((const uint64_t *)a->starts)[s];
}
static inline size_t wi_group_end(const wi_group_args *a, size_t segments, size_t s) {
    return s + 1 < segments ? wi_group_start(a, s + 1) : a->n;
}

/* Where the stretch of a thread begins, of all elements and all ends of segments in one line
 * (group_cpu.c): in a segment, at an element. */
typedef struct wi_group_cut {
    size_t segment, at;
} wi_group_cut;
wi_group_cut wi_group_cut_at(const wi_group_args *a, size_t segments, int rank, int size);

struct wi_group_way;

/* A call by segment as the user made it. n, segments and starts are the same for all columns. */
typedef struct wi_group_request {
    const struct wi_group_way *way;
    weft_type offset_type;
    size_t columns;
    bool has_names; /* arrays are x and y of the public call, not of its columns */
    wi_group_args column[WEFT_COLUMNS];
} wi_group_request;

/* Segments that are cut between ranks. */
typedef struct wi_group_pieces {
    size_t words; /* of 8 bytes: what ranks exchange of a piece */
    /* Reduces elements [from, end) of this rank. */
    weft_status (*reduce)(weft_context *ctx, const char *call, const wi_group_args *column,
                          size_t from, size_t end, uint64_t *piece);
    /* *result = pieces that follow one another, at most one of each rank, joined. */
    void (*join)(weft_context *ctx, const wi_group_args *column, const uint64_t *pieces, int count,
                 uint64_t *result);
    /* The column, for other elements, segments and results, on a rank's own place. */
    weft_status (*segments)(weft_context *child, const wi_group_args *column, size_t n,
                            const void *x, size_t segments, weft_type offset_type,
                            const void *offsets, void *y);
} wi_group_pieces;

extern const wi_group_pieces wi_group_rounded_pieces; /* as weft_reduce does */

/* The bytes that a call moves at least, and the threads that it is worth. */
double wi_group_bytes(const wi_group_args *a);
int wi_group_team(const weft_context *ctx, const wi_group_args *a);

/* Adds offsets to the arrays of a call, which are then checked; refuses a type of offsets, a count
 * of segments, and offsets in host memory that do not describe n elements. */
weft_status wi_group_check_segments(weft_context *ctx, wi_call *call, size_t n, size_t segments,
                                    weft_type offset_type, const void *offsets);

/* Checks the arrays of a call by segment, and runs it: its columns have everything but start_bytes.
 * `status` is what the call's own checks have said; if not WEFT_OK, only the name of the call, of
 * the first column, is valid. */
weft_status wi_group_by_segment(weft_context *ctx, wi_group_request *r, weft_status status);

/* The rungs. */
weft_status wi_group_serial(weft_context *ctx, const void *args);
weft_status wi_group_threads(weft_context *ctx, const void *args);
weft_status wi_group_thread_each(weft_context *ctx, const void *args);
weft_status wi_group_warp_each(weft_context *ctx, const void *args);
weft_status wi_group_paths(weft_context *ctx, const void *args);
weft_status wi_group_stretches(weft_context *ctx, const void *args);
weft_status wi_group_marks(weft_context *ctx, const void *args);
weft_status wi_group_lanes(weft_context *ctx, const void *args);
weft_status wi_group_teams(weft_context *ctx, const void *args);
/* Are there so few elements that rung `teams` can count their tiles? */
static inline bool wi_group_teams_fit(size_t n) {
    return n <= (size_t)1 << 27;
}
weft_status wi_group_ranks(weft_context *ctx, const void *request);
/* The memory that rung `threads` needs for a call; 0: none. */
size_t wi_group_threads_bytes(const weft_context *ctx, const wi_group_args *a);
/* Takes the memory that a rung keeps, so that it cannot fail for want of it. */
weft_status wi_group_paths_prepare(weft_context *ctx, const wi_group_args *args);
weft_status wi_group_stretches_prepare(weft_context *ctx, const wi_group_args *args);
weft_status wi_group_marks_prepare(weft_context *ctx, const wi_group_args *args);
weft_status wi_group_lanes_prepare(weft_context *ctx, const wi_group_args *args);
weft_status wi_group_teams_prepare(weft_context *ctx, const wi_group_args *args);

/* Memory of the place. */
weft_status wi_group_take(weft_context *ctx, const char *call, size_t bytes, void **p);
weft_status wi_group_give(weft_context *ctx, void *p);

/* heads[i] = 1 if element i is the first of its segment, else 0; of keys: if it differs from the
 * one before it. */
weft_status wi_group_mark_starts(weft_context *ctx, const wi_group_args *segments, uint8_t *heads);
weft_status wi_group_mark_starts_cuda(weft_context *ctx, const wi_group_args *segments,
                                      uint8_t *heads);
weft_status wi_group_mark_keys(weft_context *ctx, const void *keys, size_t width, size_t n,
                               uint8_t *heads);
weft_status wi_group_mark_keys_cuda(weft_context *ctx, const void *keys, size_t width, size_t n,
                                    uint8_t *heads);

/* How columns are reduced. */
typedef struct wi_group_way {
    const wi_ladder *ladder;
    bool rounds; /* as weft_reduce does; rung `one_pass` can do it */
    size_t (*bytes)(const weft_context *ctx, const wi_group_args *a);  /* of `room`, on a cpu */
    weft_status (*prepare)(weft_context *ctx, const wi_group_args *a); /* on a GPU */
    const wi_group_pieces *pieces;
} wi_group_way;

extern const wi_group_way wi_group_rounding; /* as weft_reduce does */

/* Several columns: the names of their arrays in messages; the checks of their number, and of what
 * is to be done with each, which goes to `args` with its types and arrays; and the memory that
 * their rungs need, taken before anything is written. */
extern const char *const wi_group_x_names[WEFT_COLUMNS], *const wi_group_y_names[WEFT_COLUMNS];
weft_status wi_group_check_columns(weft_context *ctx, const char *call, size_t columns,
                                   const void *column);
weft_status wi_group_take_columns(weft_context *ctx, const char *call, size_t columns,
                                  const weft_column *column, wi_group_args *args);
weft_status wi_group_take_room(weft_context *ctx, const wi_group_way *way, size_t columns,
                               const wi_group_args *args, void **room);

/* One reduction by key, on memory that the place can access directly. */
typedef struct wi_group_keys_args {
    const char *call;
    const wi_group_way *way;
    size_t n, width, columns; /* n is not 0 */
    const void *keys;
    void *keys_out;                     /* may be keys, or NULL */
    uint64_t *count;                    /* gets the number of runs */
    size_t start_bytes;                 /* of a number below n */
    wi_group_args column[WEFT_COLUMNS]; /* but for where segments begin */
} wi_group_keys_args;

extern const wi_ladder wi_group_keys_ladder;

/* Refuses what the shape of a call by key may not be; `column` is the caller's array of them. */
weft_status wi_group_check_keys(weft_context *ctx, const char *call, size_t width, size_t columns,
                                const void *column);
/* Checks the arrays of a call by key, and runs it: k has everything but start_bytes, and of each
 * column op, types, x and y. `status` is what the call's own checks have said. */
weft_status wi_group_by_key(weft_context *ctx, wi_group_keys_args *k, weft_status status);

enum {
    WI_GROUP_KEY_BYTES = 64 /* the widest keys of rung `blocks` */
};

/* Can select compare the keys itself? */
bool wi_group_is_word(size_t width, const void *keys);
/* The bytes that a call reads at least. */
double wi_group_keys_bytes(const wi_group_keys_args *k);

weft_status wi_group_keys_select(weft_context *ctx, const void *args);
weft_status wi_group_keys_blocks(weft_context *ctx, const void *args);
weft_status wi_group_keys_one_pass(weft_context *ctx, const void *args);
weft_status wi_group_keys_bulk(weft_context *ctx, const void *args);
weft_status wi_group_keys_one_tile(weft_context *ctx, const void *args);
weft_status wi_group_keys_ends(weft_context *ctx, const void *args);
/* Rung `one_pass`, which does nothing if *skip, on the device, is not 0 by then. */
weft_status wi_group_keys_one_pass_unless(weft_context *ctx, const wi_group_keys_args *a,
                                          const uint32_t *skip);
/* Over ranks: gets wi_dist_args. */
weft_status wi_group_keys_ranks(weft_context *ctx, const void *args);

/* The arrays of the call's description. */
enum {
    WI_GROUP_KEYS,
    WI_GROUP_KEYS_OUT,
    WI_GROUP_COUNT,
    WI_GROUP_COLUMNS /* x and y of each column follow */
};

/* Runs a checked call on this place alone; n is not 0. */
weft_status wi_group_keys_call_run(weft_context *ctx, wi_call *call, wi_group_keys_args *k);

/* A scan of every segment. */
typedef struct wi_group_scan_args {
    weft_scan_kind kind;
    weft_op op; /* SUM ... XOR */
    weft_type type;
    size_t n; /* not 0 */
    const void *x;
    void *y;              /* may be x */
    const uint8_t *heads; /* 1 where a segment begins; aligned to 16 bytes */
    const void *keys;     /* NULL if segments are asked for; a rung that compares them itself */
    size_t width;         /* gets no heads */
} wi_group_scan_args;

/* weft_scan_segments or weft_scan_by_key as the user called it. */
typedef struct wi_group_scan_request {
    wi_group_scan_args scan;
    wi_group_args segments; /* of both, the public name; else of segments */
    weft_type offset_type;
    bool has_keys; /* else segments */
    size_t width;  /* of keys */
    const void *keys;
} wi_group_scan_request;

weft_status wi_group_scan_ranks(weft_context *ctx, const void *request);
weft_status wi_group_scan_serial(weft_context *ctx, const void *args);
weft_status wi_group_scan_blocks(weft_context *ctx, const void *args);
weft_status wi_group_scan_tiles(weft_context *ctx, const void *args);
weft_status wi_group_scan_bulk(weft_context *ctx, const void *args);
weft_status wi_group_scan_one_tile(weft_context *ctx, const void *args);
enum {
    WI_GROUP_ONE_TILE = 4096 /* elements that the rungs `one_tile` take at most */
};

#ifdef __cplusplus
}
#endif
#endif
