/* SPDX-License-Identifier: Apache-2.0 */
/* select: keep the elements that satisfy a predicate, in their order (also called compaction or
 * filter); partition, unique, run lengths; and the inverse.
 *
 * Every array may be host or device memory, mixed freely, with no alignment beyond that of C's own
 * types. Counts run from 0 past 2^32. When all of a call's arrays and its count are device memory,
 * the call is queued on the context's stream; otherwise it returns when the answer is there.
 *
 * An output must have room for as many elements as could go there, n at most; elements of it that
 * the call does not write keep their values. `count` takes one uint64_t, in host or device memory,
 * and must not overlap any array. An output may be the same array as an input where the comment on
 * a call says so; any other overlap is WEFT_EARG.
 *
 * The result is the same on every run, at every place and for every variant. Elements are copied
 * bit for bit.
 *
 * Over ranks (place mpi) every rank passes its part of each array and keeps what is selected from
 * it, so that the whole output lies in the order of the ranks. `count` is the number on all ranks,
 * and weft_own_count (weft/mpi.h) tells that of this one. Positions are those in the whole. A run
 * of equal elements that crosses ranks belongs to the rank where it begins. weft_partition needs z
 * there. weft_expand takes each rank's part of s, x and y, of any numbers of elements, and `fill`
 * on all ranks or on none: x[k] of the whole goes to place k of the whole. */
#ifndef WEFT_SELECT_H
#define WEFT_SELECT_H

#include "weft/core.h"

#ifdef __cplusplus
extern "C" {
#endif

/* How an element e is compared. Floats follow IEEE 754: -0.0 == +0.0, and a comparison with a NaN,
 * whether element or constant, is false, except that WEFT_NE is true. */
typedef enum weft_test {
    WEFT_EQ = 0,  /* e == a */
    WEFT_NE,      /* e != a */
    WEFT_LT,      /* e < a */
    WEFT_LE,      /* e <= a */
    WEFT_GT,      /* e > a */
    WEFT_GE,      /* e >= a */
    WEFT_BETWEEN, /* a <= e && e <= b */
    WEFT_IS_NAN   /* e is a NaN: never true for integers */
} weft_test;

#define WEFT_TEST_COUNT 8

/* One element of any type. */
typedef union weft_element {
    int8_t i8;
    int16_t i16;
    int32_t i32;
    int64_t i64;
    uint8_t u8;
    uint16_t u16;
    uint32_t u32;
    uint64_t u64;
    weft_f16 f16;
    weft_bf16 bf16;
    float f32;
    double f64;
} weft_element;

/* The condition that wanted elements meet: (weft_predicate){WEFT_GT, WEFT_F32, .a.f32 = 0} means e
 * > 0. */
typedef struct weft_predicate {
    weft_test test;
    weft_type type;    /* of the elements tested and of the constants */
    weft_element a, b; /* a: for all tests but IS_NAN; b: for BETWEEN only */
} weft_predicate;

/* The predicate for selection by flags, an array of u8 or bool that holds 0 where an element is not
 * wanted: weft_select_where(ctx, WEFT_FLAGGED, n, flags, sizeof *x, x, y, &count). */
#ifdef __cplusplus
#    define WEFT_FLAGGED (weft_predicate{WEFT_NE, WEFT_U8, {}, {}})
#else
#    define WEFT_FLAGGED ((weft_predicate){.test = WEFT_NE, .type = WEFT_U8})
#endif

/* y[0 .. *count) = the x[i] that satisfy p, in order. y may be x. */
WEFT_API weft_status weft_select(weft_context *ctx, weft_predicate p, size_t n, const void *x,
                                 void *y, uint64_t *count);

/* y[0 .. *count) = the x[i] whose s[i] satisfies p, in order. Elements of x and y have `width`
 * bytes, any number: structs are fine. Widths other than 1, 2, 4, 8 and 16, and addresses not
 * aligned to the width, take longer: such elements are copied in smaller pieces. y may be x; x may
 * be s. */
WEFT_API weft_status weft_select_where(weft_context *ctx, weft_predicate p, size_t n, const void *s,
                                       size_t width, const void *x, void *y, uint64_t *count);

/* *count = how many x[i] satisfy p. */
WEFT_API weft_status weft_select_count(weft_context *ctx, weft_predicate p, size_t n, const void *x,
                                       uint64_t *count);

/* y[0 .. *count) = the i for which x[i] satisfies p, ascending. `index_type` is WEFT_I32 (if n is
 * at most 2^31), WEFT_U32 (if n is at most 2^32), WEFT_I64 or WEFT_U64. */
WEFT_API weft_status weft_select_indices(weft_context *ctx, weft_predicate p, size_t n,
                                         const void *x, weft_type index_type, void *y,
                                         uint64_t *count);

/* y[0 .. *count) = the x[i] that satisfy p, and z[0 .. n - *count) = those that do not, both in
 * order. If z is NULL the latter follow the former in y: y[*count .. n). y may be x if z is not
 * NULL. */
WEFT_API weft_status weft_partition(weft_context *ctx, weft_predicate p, size_t n, const void *x,
                                    void *y, void *z, uint64_t *count);

/* The same with a test of other elements, as in weft_select_where. */
WEFT_API weft_status weft_partition_where(weft_context *ctx, weft_predicate p, size_t n,
                                          const void *s, size_t width, const void *x, void *y,
                                          void *z, uint64_t *count);

/* The inverse of weft_select_where. Let i be the k-th position (k = 0, 1, ...) at which s[i]
 * satisfies p: then y[i] = x[k] if k < m. All other y[i], i < n, become *fill, or keep their values
 * if fill is NULL. x has m elements of `width` bytes, y has n; fill is one element, in host or
 * device memory. */
WEFT_API weft_status weft_expand(weft_context *ctx, weft_predicate p, size_t n, const void *s,
                                 size_t width, size_t m, const void *x, const void *fill, void *y);

/* y[0 .. *count) = x without every element that equals the one before it. Elements are equal if
 * their bits are: -0.0 differs from +0.0, and a NaN equals a NaN of the same bits. y may be x. */
WEFT_API weft_status weft_unique(weft_context *ctx, weft_type type, size_t n, const void *x,
                                 void *y, uint64_t *count);

/* Runs of equal elements, equal as in weft_unique: run k consists of lengths[k] elements that equal
 * values[k]. `length_type` is WEFT_I32 (if n is less than 2^31), WEFT_U32 (if n is less than 2^32),
 * WEFT_I64 or WEFT_U64. values may be x. */
WEFT_API weft_status weft_run_length(weft_context *ctx, weft_type type, size_t n, const void *x,
                                     void *values, weft_type length_type, void *lengths,
                                     uint64_t *count);

#ifdef __cplusplus
}
#endif
#endif
