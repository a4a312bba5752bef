/* SPDX-License-Identifier: Apache-2.0 */
/* fft: a call becomes a chain of simpler works, mostly transforms of many lines of complex numbers,
 * which an engine does: loops on the cpu, or kernels. Each rung is an engine. */
#ifndef WI_FFT_H
#define WI_FFT_H

#include "core/call.h"
#include "core/rows.h"
#include "weft/fft.h"

#ifdef __cplusplus
extern "C" {
#endif

enum {
    WI_FFT_NO_DIMENSION = 1 << WEFT_FFT_DIMENSIONS,
    WI_FFT_LOOPS = 6,        /* around a line: other dimensions, the batch, and two of a cut line */
    WI_FFT_MOST_CUT = 1024,  /* the longest lines that engines cut lines into */
    WI_FFT_MOST_TURNED = 512 /* and those with large prime factors, as first factors */
};

/* One checked call on memory that the place can access; strides and distances are filled in. Of f16
 * d.type is f32, the type of all arithmetic and of what comes between. */
typedef struct wi_fft_args {
    weft_fft_description d;
    const void *x;
    void *y;
    bool half_x, half_y; /* the array is f16 */
    unsigned dimensions; /* a set: bit k for dimension k, only these are transformed; 0: all; or
                            WI_FFT_NO_DIMENSION: the array is copied */
    /* Not 0: of `whole` indices (or transforms) other ranks have all but `part`. Lines are
     * transformed as if this were the whole, so that results have the same bits. */
    size_t part, whole;
    bool prepares;      /* only tables are made */
    size_t *asks_bytes; /* not NULL: only the scratch memory is counted */
} wi_fft_args;

static inline bool wi_fft_only_asks(const wi_fft_args *args) {
    return args->prepares || args->asks_bytes;
}

extern const wi_ladder wi_fft_ladder;

/* ---- calls (fft.c, fft_spread.c) ---- */

enum {
    WI_FFT_DIVIDED = 8 /* of a layout: part_x and part_y are what this rank has */
};

/* Checks what does not depend on where arrays are, and fills in the scale. */
weft_status wi_fft_check(weft_context *ctx, const char *call, const weft_fft_description *given,
                         weft_fft_description *d);
/* Elements of dimension k of x (0) or y (1); and how many indices of the divided dimension all
 * ranks have. */
size_t wi_fft_length(const weft_fft_description *d, int array, unsigned k);
size_t wi_fft_divided(const weft_fft_description *d, int array);
/* Fills in strides, and checks and describes the arrays, if there are any yet. */
weft_status wi_fft_describe(weft_context *ctx, wi_fft_args *args, bool in_place, wi_call *call);
/* Of f16 arrays arithmetic is that of f32. */
void wi_fft_narrow(wi_fft_args *args);
/* Runs a row (NULL: the one that is chosen) on arrays in any memory, as part of another call. */
weft_status wi_fft_call_run(weft_context *ctx, const char *name, const wi_row *row,
                            const wi_fft_args *args);
/* Over ranks: a call, or what is to be prepared or counted for it (both for x != y); completes
 * args->d. */
weft_status wi_fft_over_ranks(weft_context *ctx, const char *call,
                              const weft_fft_description *given, wi_fft_args *args);
/* Is a call to run on all GPUs of its place? And runs it so. */
bool wi_fft_wants_gpus(weft_context *ctx, const wi_fft_args *args);
weft_status wi_fft_over_gpus(weft_context *ctx, const char *call, const wi_fft_args *args);

/* Loops over lines: the first is the innermost. Steps are in numbers, real or complex as the arrays
 * are. */
typedef struct wi_fft_loops {
    int used;
    size_t count[WI_FFT_LOOPS];
    size_t in[WI_FFT_LOOPS], out[WI_FFT_LOOPS];
} wi_fft_loops;

/* Transforms of lines of n complex numbers, forward; with swaps, real and imaginary parts change
 * places on the way in and out, which makes it inverse. In place if x is y and steps are equal. */
typedef struct wi_fft_lines {
    weft_type type;
    size_t n;
    const void *x;
    void *y;
    size_t stride_in, stride_out;
    wi_fft_loops loops;
    bool swaps_in, swaps_out;
    bool half_in, half_out; /* the array is f16, and `type` f32 */
    double scale;
    /* Not 0: result k of a line is multiplied by exp(-2 pi i k l / period), where l is the line's
     * number in loop `turning`. */
    size_t period;
    int turning;  /* -1 without period */
    size_t whole; /* not 0: so many lines there are with those of other ranks */
} wi_fft_lines;

/* Both passes of cut lines in groups: of group 0, and the steps in numbers from one group to the
 * next. The second pass reads what the first has written; group g has slot g mod `slots` of that
 * memory, at least two if there are two groups. */
typedef struct wi_fft_pair {
    wi_fft_lines first, second;
    size_t groups, step_in, step_out;
    size_t slot, slots;
} wi_fft_pair;

/* Copies rows of numbers: n_in are read and n_out written, zeros for those that are missing. */
typedef struct wi_fft_move {
    weft_type type;
    const void *x;
    void *y;
    size_t n_in, n_out;
    bool real_in, real_out;
    bool half_in, half_out;
    bool mirrors;             /* missing element k is the conjugate of n_out - k, not 0 */
    bool swaps_in, swaps_out; /* before and after the product with `table` */
    const void *table;        /* n_in complex numbers that multiply; or NULL */
    double scale;
    size_t stride_in, stride_out;
    wi_fft_loops loops;
} wi_fft_move;

/* Between a real line of even length n and the complex one of half that length that has the same
 * memory: after a forward transform gives elements 0 to n / 2 of the real line's, before an inverse
 * one takes them. Rows have no gaps inside; x may be y. */
typedef struct wi_fft_fold {
    weft_type type;
    bool is_inverse, half_in, half_out;
    size_t n;
    const void *x;
    void *y;
    const void *roots; /* exp(-2 pi i k / n) for k up to n / 2 */
    size_t stride_in, stride_out;
    wi_fft_loops loops;
} wi_fft_fold;

/* What does the works of a rung. */
typedef struct wi_fft_engine {
    bool any_length;   /* lines of any length */
    size_t most_prime; /* else none with larger prime factors: these need Bluestein's algorithm */
    bool halves;       /* lines from and to f16 arrays, chirps, too; moves and folds always do */
    /* Can it transform such lines in one go? */
    bool (*takes)(const weft_context *ctx, const wi_fft_lines *l);
    /* May a line be cut into lines of this length, which are then strided? */
    bool (*cuts)(weft_type type, size_t n);
    size_t kept_bytes;  /* intermediate results of so many bytes stay in a cache; 0: any number */
    size_t group_bytes; /* so many are made by one pass and then read by the next; 0: any number */
    size_t together;    /* lines next to each other that it should get together, at least */
    /* Makes the tables for such lines, and tells how much room they need besides, or 0. */
    weft_status (*prepare)(weft_context *ctx, const wi_fft_lines *l, size_t *room_bytes);
    weft_status (*lines)(weft_context *ctx, const wi_fft_lines *l, void *room);
    weft_status (*move)(weft_context *ctx, const wi_fft_move *m);
    weft_status (*fold)(weft_context *ctx, const wi_fft_fold *f);
    /* The first factor of lines of n numbers whose two passes it does together, 0 if it does not;
     * and of how many lines of each factor it should have a multiple next to each other. NULL: of
     * none. */
    size_t (*pairs)(weft_type type, size_t n, size_t lines[2]);
    weft_status (*pair)(weft_context *ctx, const wi_fft_pair *p, bool queues); /* or tables only */
    /* The length of the transforms by which it does lines of n numbers, n with a large prime
     * factor, in one go, 0 if it does not; and these lines. NULL: none. */
    size_t (*chirps)(const weft_context *ctx, weft_type type, size_t n);
    weft_status (*chirp)(weft_context *ctx, const wi_fft_lines *l,
                         bool queues); /* or tables only */
    /* The same of longer lines, in some passes, for each line through so many numbers of scratch
     * memory. NULL: none. */
    size_t (*long_chirps)(weft_type type, size_t n);
    weft_status (*long_chirp)(weft_context *ctx, const wi_fft_lines *l, void *room, bool queues);
    /* Can it transform such lines in some passes of its own, through a copy of each line? So many
     * bytes of copies should be made together. NULL: it cannot. */
    bool (*passes)(const weft_context *ctx, const wi_fft_lines *l);
    weft_status (*in_passes)(weft_context *ctx, const wi_fft_lines *l, void *room, bool queues);
    size_t passes_bytes;
    /* About how many microseconds such lines take it without a convolution, by sums, 2^24 numbers
     * in all; 0 if it does not do so: else they can be lines like others. NULL: none. */
    double (*sums)(const wi_fft_lines *l);
    /* Lines so long, and their parts, are cut without pairs: each pass goes through memory. 0: none
     * are. */
    size_t plain_from;
    /* Can it transform rows and then the columns of their planes, where the rows have gone, as one
     * work? NULL: it cannot. */
    bool (*planes)(const wi_fft_lines *rows, const wi_fft_lines *columns);
    weft_status (*in_planes)(weft_context *ctx, const wi_fft_lines *rows,
                             const wi_fft_lines *columns, bool queues); /* or tables only */
} wi_fft_engine;

/* Does a call with an engine (fft_drive.c, fft_lines.c). */
weft_status wi_fft_drive(weft_context *ctx, const wi_fft_engine *engine, const wi_fft_args *args);

/* A call in progress. It is gone through twice: first without working, to make tables and to find
 * how much scratch memory it takes, so that nothing is written if there is not enough. */
typedef struct wi_fft_job {
    weft_context *ctx;
    const wi_fft_engine *engine;
    const wi_fft_args *args;
    bool is_rehearsal;
    char *scratch; /* all of it; what is taken, and then the engine's room */
    size_t taken;  /* bytes now */
    size_t most;   /* bytes at a time so far */
    size_t room;   /* bytes for the engine */
} wi_fft_job;

/* Scratch memory, given back in reverse order. NULL in a rehearsal. */
void *wi_fft_take(wi_fft_job *job, size_t bytes);
void wi_fft_give(wi_fft_job *job, size_t bytes);
/* An array of complex numbers, or of real ones, with the strides of its dimensions. */
typedef struct wi_fft_side {
    const void *p;
    const size_t *strides;
    size_t apart;
    bool half;
} wi_fft_side;

/* Loops over all dimensions but one, and the batch; `counts` are in complex numbers. */
wi_fft_loops wi_fft_loops_of(const weft_fft_description *d, const size_t *counts, unsigned without,
                             const wi_fft_side *from, const wi_fft_side *to);
/* So many lines there are if the call is the part of one over ranks, else 0. */
size_t wi_fft_whole_of(const wi_fft_args *a, const wi_fft_loops *loops);
/* Lines of real numbers along the last dimension, to complex ones and back (fft_real.c). */
weft_status wi_fft_rows_forward(wi_fft_job *job, const wi_fft_side *from, const wi_fft_side *to);
weft_status wi_fft_rows_back(wi_fft_job *job, const wi_fft_side *from, const wi_fft_side *to);

/* Lines of any length. */
weft_status wi_fft_transform(wi_fft_job *job, const wi_fft_lines *l);
/* A line of one number is its own transform. */
weft_status wi_fft_copy_line(wi_fft_job *job, const wi_fft_lines *l);
/* Of f16 arrays, for an engine that takes f32 alone: through an f32 array. */
weft_status wi_fft_by_copies(wi_fft_job *job, const wi_fft_lines *l);
weft_status wi_fft_do_move(wi_fft_job *job, const wi_fft_move *m);
weft_status wi_fft_do_fold(wi_fft_job *job, const wi_fft_fold *f);

/* Adds a loop; one that goes around once is left out. */
void wi_fft_loop_add(wi_fft_loops *loops, size_t count, size_t in, size_t out);
size_t wi_fft_loops_lines(const wi_fft_loops *loops);
/* Steps of loops from `k` on over a dense array whose elements have n numbers. */
void wi_fft_loops_pack(const wi_fft_loops *loops, int k, size_t n, size_t steps[WI_FFT_LOOPS]);
/* Puts the shortest steps first and joins loops that go on where the one before ends. Loop *turning
 * stays one by itself, and its new number is stored; pass -1 for none. */
void wi_fft_loops_sort(wi_fft_loops *loops, int *turning);
/* Where line number `line` of all begins. */
void wi_fft_loops_at(const wi_fft_loops *loops, size_t line, size_t *in, size_t *out);

static inline size_t wi_fft_number_bytes(weft_type type) {
    return 2 * weft_type_size(type);
}

/* Of an array that may be f16 while arithmetic has `type`. */
static inline size_t wi_fft_stored_bytes(weft_type type, bool half) {
    return wi_fft_number_bytes(half ? WEFT_F16 : type);
}

/* Are all prime factors at most so large? */
bool wi_fft_is_smooth(size_t n, size_t most);

/* Lengths for which a GPU has special kernels: 7^5 and 3^9. */
static inline bool wi_fft_is_odd_power(size_t n) {
    return n == 16807 || n == 19683;
}
/* Lengths that are cut into shorter lines unless clusters of blocks transform them: does a call
 * have so many lines next to each other that clusters do? */
static inline bool wi_fft_is_column(weft_type type, size_t n, size_t lines) {
    const size_t least = type == WEFT_F64 ? 4096 : 2048, enough = type == WEFT_F64 ? 4 : 8;
    return type != WEFT_F16 && n >= least && n <= 8192 && (n & (n - 1)) == 0 && lines >= enough;
}

/* Longer lines that clusters transform in two passes: the first factor, about the square root; 0 if
 * they do not. */
static inline size_t wi_fft_first_of_two(size_t n) {
    const size_t least = (size_t)1 << 21, most = (size_t)1 << 24;
    size_t first = 1;
    while (first * first < n)
        first *= 2;
    return n >= least && n <= most && (n & (n - 1)) == 0 ? first : 0;
}

/* The radices of which n is the product, falling and as few as can be: up to `most`, or 11 and 13.
 * Returns how many; 0 if n is 1. n is at most 2^14, without larger prime factors. */
size_t wi_fft_radices(size_t n, unsigned most, unsigned *radix);

/* The same up to 10, or 11 and 13, where there are 16 vector registers: those whose stages take the
 * least time. */
size_t wi_fft_cheap_radices(size_t n, unsigned *radix);

/* ---- engines and rungs ---- */

weft_status wi_fft_definition(weft_context *ctx, const void *args);
weft_status wi_fft_radix2(weft_context *ctx, const void *args);
weft_status wi_fft_threads(weft_context *ctx, const void *args);
weft_status wi_fft_definition_gpu(weft_context *ctx, const void *args);
weft_status wi_fft_stages(weft_context *ctx, const void *args);
weft_status wi_fft_shared(weft_context *ctx, const void *args);
weft_status wi_fft_registers(weft_context *ctx, const void *args);
weft_status wi_fft_cached(weft_context *ctx, const void *args);
weft_status wi_fft_clusters(weft_context *ctx, const void *args);
weft_status wi_fft_fused(weft_context *ctx, const void *args);
weft_status wi_fft_ranks(weft_context *ctx, const void *request); /* a wi_fft_spread */

#ifdef __cplusplus
}
#endif
#endif
