/* SPDX-License-Identifier: Apache-2.0 */
/* What the fuzzer of the public calls works with. A session opens a place and makes some calls on
 * it. What it calls, and with what, is drawn from the input's bytes, and from a generator that they
 * seed once they are used up; so any bytes are a session. Every output is compared with an oracle
 * in plain C that shares no code with the library. */
#ifndef WEFT_FUZZ_CALLS_H
#define WEFT_FUZZ_CALLS_H

#include "testing.h"

enum {
    FUZZ_MOST_ARRAYS = 8,
    FUZZ_NAME_BYTES = 24,
    FUZZ_SAID_BYTES = 512
};

/* How an array is compared with what is wanted. */
typedef enum fuzz_compare {
    FUZZ_BITS,    /* bit for bit */
    FUZZ_SAME,    /* elements of `type`: bit for bit, but any NaN is as good as another */
    FUZZ_BOUNDED, /* elements of `type`: each within `bound` of `value` */
    FUZZ_ANY      /* checked by the case itself */
} fuzz_compare;

/* One argument that points at memory, in a guarded buffer of the host or of the device. */
typedef struct fuzz_array {
    const char *name; /* of the argument */
    test_buffer buffer;
    void *p; /* what the call is given: the array, or something wrong */
    size_t bytes, align;
    bool output, optional, shared; /* shared: two arguments, in place */
    unsigned char *before;         /* what it held */
    unsigned char *want;           /* what it has to hold after a call that succeeds */
    fuzz_compare compare;
    weft_type type;
    long double *value, *bound; /* an infinite bound: anything will do */
    bool signs;                 /* of a zero that is exact, the sign counts */
} fuzz_array;

typedef struct fuzz {
    const uint8_t *bytes; /* what is left of the input */
    size_t length;
    test_random random;
    weft_context *ctx;
    weft_context *twin; /* the cpu with other threads; NULL on a GPU */
    bool gpu;
    size_t most;          /* elements that a call may have */
    const wi_row *forced; /* the rung that this call has to run; NULL: the library chooses */
    const char *op;       /* the operation whose rungs may be forced; NULL: none */
    const char *used;     /* the rung that the call before this one ran */
    bool gaps;            /* outputs may lie in the gaps of inputs */
    /* the current call */
    weft_type type;
    size_t n;
    const char *wrong; /* the argument that is wrong on purpose, "" for one without a name; NULL:
                          none is */
    fuzz_array arrays[FUZZ_MOST_ARRAYS];
    size_t count;
    struct fuzz_memory *owned; /* freed after the call */
} fuzz;

/* ---- draws ---- */

size_t fuzz_below(fuzz *f, size_t bound); /* 0 ... bound - 1 */
bool fuzz_one_in(fuzz *f, size_t chances);
size_t fuzz_size(fuzz *f, size_t most); /* mostly small, often beside a power of two */
weft_type fuzz_type(fuzz *f);
weft_type fuzz_count_type(fuzz *f); /* of counts and positions: 32 or 64 bits, either sign */
test_random *fuzz_random(fuzz *f);  /* for data: its state is drawn from the input */

/* Fills n elements: every pattern of testing.h, sorted, all bits random, ... */
void fuzz_fill(fuzz *f, weft_type type, size_t n, void *p);
/* The same with whole numbers whose sums are exact, or with few different values. */
void fuzz_fill_tame(fuzz *f, weft_type type, size_t n, void *p);

/* ---- the arguments of a call ---- */

/* Begins a call of operation `op` with a rung forced or not, and draws its type and count. */
void fuzz_begin(fuzz *f, const char *op);
/* Memory that goes with the call. */
void *fuzz_take(fuzz *f, size_t bytes);
/* An array of `bytes`, aligned to `align`, host or device memory; filled with `from`, or poison. */
fuzz_array *fuzz_input(fuzz *f, const char *name, size_t bytes, size_t align, const void *from);
fuzz_array *fuzz_output(fuzz *f, const char *name, size_t bytes, size_t align);
/* The same in host memory, for arguments that have to be there. */
fuzz_array *fuzz_host_input(fuzz *f, const char *name, size_t bytes, size_t align,
                            const void *from);
fuzz_array *fuzz_host_output(fuzz *f, const char *name, size_t bytes, size_t align);
/* An output that is the input itself, or not. */
fuzz_array *fuzz_output_or(fuzz *f, fuzz_array *input, const char *name);
/* An input of n elements of f->type, filled by fuzz_fill. */
fuzz_array *fuzz_elements(fuzz *f, const char *name, size_t n);

/* Some of the time one argument is made wrong: NULL, misaligned, overlapping in part, no type, a
 * count that no memory has. */
void fuzz_spoil(fuzz *f);
/* The array of one argument, drawn, is made wrong: NULL, misaligned, or overlapping in part. */
void fuzz_spoil_array(fuzz *f);
/* The same, some of the time. */
void fuzz_spoil_any_array(fuzz *f);
/* Some of the time true: then the caller makes the argument of this name wrong. */
bool fuzz_spoil_own(fuzz *f, const char *name);

/* ---- after the call ---- */

/* A line on the call, told if it fails. */
void fuzz_say(fuzz *f, const char *format, ...) __attribute__((format(printf, 2, 3)));
/* What was said last. */
const char *fuzz_said(void);
/* Checks status and message, and every array: what was refused has changed nothing, inputs are what
 * they were, outputs what is wanted, guards intact, the forced rung ran. True if the call ran. */
bool fuzz_end(fuzz *f, const char *call, weft_status status);
/* Closes the arrays. */
void fuzz_free(fuzz *f);
/* What an array holds after the call. */
const void *fuzz_read(fuzz *f, fuzz_array *a);

/* ---- oracles shared by slices ---- */

/* The place of an element in the order of sort.h, as an unsigned number. */
uint64_t fuzz_rank(weft_type type, const void *p, size_t i);
/* positions = 0 ... n - 1, stably sorted by their ranks. */
void fuzz_order(const uint64_t *ranks, size_t n, size_t *positions);
uint64_t fuzz_bits(const void *p, size_t size, size_t i);
void fuzz_store_bits(void *p, size_t size, size_t i, uint64_t bits);

/* Reductions by a weft_op, or WEFT_OP_COUNT for a dot, of f->type: the type of a result, as the
 * table in reduce.h has it; then how `count` of them are compared, and the result number i, of n
 * elements.
 */
weft_type fuzz_reduction_type(weft_type type, unsigned op);
void fuzz_expect_reductions(fuzz *f, unsigned op, size_t count, fuzz_array *results);
void fuzz_expect_reduction(const fuzz *f, unsigned op, size_t n, const void *x, const void *y,
                           fuzz_array *results, size_t i);

/* Scans: an operation that scans of f->type have; how y is compared; and the elements first ... end
 * - 1, scanned by themselves from init or NULL. */
weft_op fuzz_scan_op(fuzz *f);
void fuzz_expect_scans(fuzz *f, weft_op op, fuzz_array *y);
void fuzz_expect_scan(const fuzz *f, weft_scan_kind kind, weft_op op, size_t first, size_t end,
                      const void *x, const void *init, fuzz_array *y);

/* 0 = cut[0] <= ... <= cut[count] = n, drawn. */
uint64_t *fuzz_cuts(fuzz *f, size_t count, size_t n);

/* ---- the calls ---- */

typedef struct fuzz_call {
    const char *name;
    unsigned weight; /* how often it is drawn */
    void (*run)(fuzz *f);
} fuzz_call;

void fuzz_core(fuzz *f);
void fuzz_map(fuzz *f);
void fuzz_map_matrix(fuzz *f);
void fuzz_reduce(fuzz *f);
void fuzz_scan(fuzz *f);
void fuzz_select(fuzz *f);
void fuzz_partition(fuzz *f);
void fuzz_expand(fuzz *f);
void fuzz_runs(fuzz *f);
void fuzz_histogram(fuzz *f);
void fuzz_sort(fuzz *f);
void fuzz_segments(fuzz *f);
void fuzz_records(fuzz *f);
void fuzz_merge(fuzz *f);
void fuzz_search(fuzz *f);
void fuzz_top_k(fuzz *f);
void fuzz_sparse(fuzz *f);
void fuzz_chol(fuzz *f);
void fuzz_gemm(fuzz *f);
void fuzz_gemv(fuzz *f);
void fuzz_ger(fuzz *f);
void fuzz_syrk(fuzz *f);
void fuzz_trmm(fuzz *f);
void fuzz_trsm(fuzz *f);
void fuzz_transpose(fuzz *f);
void fuzz_lu(fuzz *f);
void fuzz_cholesky(fuzz *f);
void fuzz_convolve(fuzz *f);
void fuzz_blend(fuzz *f);
void fuzz_fft(fuzz *f);
void fuzz_pull(fuzz *f);
void fuzz_steps(fuzz *f);
void fuzz_energy(fuzz *f);
void fuzz_conv(fuzz *f);
void fuzz_pool(fuzz *f);
void fuzz_upsample(fuzz *f);
void fuzz_bias(fuzz *f);
void fuzz_exact(fuzz *f);
void fuzz_exact_scan(fuzz *f);
void fuzz_exact_group(fuzz *f);
/* The sum of n elements of f->type, or of their magnitudes, rounded once to `type`. */
double fuzz_exact_sum(const fuzz *f, bool absolute, size_t n, const void *x, weft_type type);
weft_type fuzz_float_type(fuzz *f);
void fuzz_accumulate(fuzz *f);
void fuzz_nth(fuzz *f);
void fuzz_quantiles(fuzz *f);
void fuzz_summary(fuzz *f);
void fuzz_random_bits(fuzz *f);
void fuzz_random_reals(fuzz *f);
void fuzz_random_range(fuzz *f);
void fuzz_group(fuzz *f);
void fuzz_group_scan(fuzz *f);
void fuzz_gather(fuzz *f);
void fuzz_scatter(fuzz *f);
void fuzz_expr(fuzz *f);
void fuzz_record_runs(fuzz *f);
void fuzz_record_search(fuzz *f);
void fuzz_columns(fuzz *f);
void fuzz_strided(fuzz *f);
void fuzz_scan_wide(fuzz *f);

#endif
