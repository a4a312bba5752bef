/* SPDX-License-Identifier: Apache-2.0 */
/* A dense system while it is solved. Internal.
 *
 * H z = c is the system that is worked on: H = R A C, z = 2^-shift C^-1 x, c = 2^-shift R b, where
 * R and C are diagonal, and all factors are powers of two. A itself is never changed: its entries
 * are scaled when they are read. z, c and residuals are f64 by columns, also of f32 systems. */
#ifndef WI_SYSTEM_H
#define WI_SYSTEM_H

#include <string.h>

#include "core/call.h"
#include "core/rows.h"
#include "lu/host_matrix.h"
#include "lu/lu_narrow.h"
#include "weft/solve.h"

#ifdef __cplusplus
extern "C" {
#endif

enum {
    WI_SYSTEM_GROUP = 64,          /* right-hand sides worked on together */
    WI_SYSTEM_BLOCKS = 20,         /* blocks of memory */
    WI_EXPONENT_OF_0 = -(1 << 20), /* what stands for the exponent of 0; */
    WI_EXPONENT_OF_BAD = 1 << 20   /* and of NaN and infinity */
};

/* Which elements of a grid there are: (i, j) with ... */
typedef enum wi_half {
    WI_HALF_ALL,
    WI_HALF_LOWER, /* j <= i */
    WI_HALF_UPPER, /* j >= i */
    WI_HALF_BELOW, /* j < i */
    WI_HALF_ABOVE  /* j > i */
} wi_half;

/* A matrix: element (i, j) is p[i * down + j * across] 2^(row_power[i] + column_power[j]). */
typedef struct wi_grid {
    weft_type type;
    wi_half half;
    size_t rows, columns;
    const void *p;
    size_t down, across;
    const int32_t *row_power, *column_power; /* NULL: all 0 */
} wi_grid;

/* The transpose. */
wi_grid wi_grid_turned(const wi_grid *g);
/* Of a symmetric matrix of which `g` is one half: the other half, without the diagonal. */
wi_grid wi_grid_mirrored(const wi_grid *g);

/* r = c - G x and size = |G| |x|, for `count` columns of `rows` numbers each. Sums in r have twice
 * the precision of f64. */
typedef struct wi_product {
    wi_grid g;
    bool symmetric; /* g is one half of G */
    size_t count;
    const double *x, *c; /* c may be NULL: 0 */
    double *r, *size;
    bool exact;        /* each r is the exact value, rounded once, of c - G (x + low) */
    const double *low; /* NULL: 0 */
    void *room;        /* of room_bytes for the same g, symmetric and count */
    /* Of parts of a matrix, if `exact`: a cascade for each element in place of r; NULL: r. */
    struct wi_deep_cascade *sums;
} wi_product;

/* Elements which[0 ... count - 1] of -G (x + low), as the words of wide integers. */
typedef struct wi_wide_args {
    const wi_product *p;
    size_t count;
    const uint64_t *which;
    int64_t *words; /* WI_EXACT_WORDS of each, not carried */
} wi_wide_args;

/* The worst of each column of a block n x count. */
typedef struct wi_misfit_args {
    size_t n, count;
    const double *r, *size, *c;
    const double *row_most; /* largest entry of each row of H */
    const double *most;     /* largest |z| of each column */
    double *error;          /* result, for each column */
} wi_misfit_args;

/* Where x goes, and what it is made of. */
typedef struct wi_answer {
    weft_type type;
    size_t n, count;
    const double *z;
    const int32_t *column_power, *shift; /* column_power may be NULL: all 0 */
    void *x;
    size_t down, across;
} wi_answer;

/* Of the elements of a square grid: the largest of each row, the least that is not 0 (INFINITY if
 * there is none) and the sum of sizes; and of each column. NaN counts as largest. */
typedef struct wi_survey {
    double *row_most, *row_least, *row_sum, *column_most, *column_sum;
} wi_survey;

/* What works on the numbers of a system, on each kind of place. All arrays are memory of the place;
 * blocks of vectors have no gaps. Queued on a GPU. */
typedef struct wi_system_place {
    /* The largest |element| of each row, NaN or infinity if there is one; and the least that is not
     * 0, INFINITY if there is none. */
    weft_status (*rows_range)(weft_context *ctx, const wi_grid *g, double *most, double *least);
    /* *at, on the place, = the number of the first element, counted by columns, that is NaN or
     * infinite; UINT64_MAX: none. */
    weft_status (*first_bad)(weft_context *ctx, const wi_grid *g, uint64_t *at);
    /* to[i + j ld] = element (i, j), rounded to `type`. */
    weft_status (*copy)(weft_context *ctx, const wi_grid *g, weft_type type, void *to, size_t ld);
    weft_status (*multiply)(weft_context *ctx, const wi_product *p);
    size_t (*room_bytes)(const wi_product *p);
    weft_status (*wide)(weft_context *ctx, const wi_wide_args *args);
    /* power[j] = the largest exponent in column j of a grid, which may exceed that of a double. */
    weft_status (*peaks)(weft_context *ctx, const wi_grid *g, int32_t *power);
    /* most[j] = the largest |element| of a column of n elements of a type. */
    weft_status (*columns_most)(weft_context *ctx, weft_type type, size_t n, size_t count,
                                const void *x, double *most);
    weft_status (*misfit)(weft_context *ctx, const wi_misfit_args *m);
    /* d = 2^-power[j] r, rounded to `type`. */
    weft_status (*narrow)(weft_context *ctx, weft_type type, size_t n, size_t count,
                          const double *r, const int32_t *power, void *d);
    /* z = 2^power[j] d if this is the first, else z += 2^power[j] d, but for columns where power[j]
     * is WI_EXPONENT_OF_0. If low is not NULL, it has what rounding takes from z. */
    weft_status (*add)(weft_context *ctx, weft_type type, size_t n, size_t count, const void *d,
                       const int32_t *power, bool first, double *z, double *low);
    /* z = what is left of it as x = 2^(column_power[i] + shift[j]) z of `type`; NaN and infinity
     * where x overflows. */
    weft_status (*settle)(weft_context *ctx, weft_type type, size_t n, size_t count,
                          const int32_t *column_power, const int32_t *shift, double *z);
    /* x[i * down + j * across] = 2^(column_power[i] + shift[j]) z, rounded to `type`. */
    weft_status (*store)(weft_context *ctx, const wi_answer *x);
    /* w[i] = max(w[i], (|r| + slack size) / most[j]) over the columns with most[j] > 0. */
    weft_status (*weigh)(weft_context *ctx, size_t n, size_t count, const double *r,
                         const double *size, const double *most, double slack, double *w);
    /* Of a whole grid that lies by columns, unscaled; NULL: this place has none. */
    weft_status (*survey)(weft_context *ctx, const wi_grid *g, const wi_survey *to);
} wi_system_place;

extern const wi_system_place wi_system_on_cpu;
#ifdef WEFT_CUDA
extern const wi_system_place wi_system_on_cuda;
/* The same where A, and maybe its factors, are host memory that is brought there in panels. */
void wi_system_streamed(wi_system_place *place);
#endif

/* One call, checked, on memory the place can reach. */
typedef struct wi_solve_args {
    const char *call;
    weft_type type;
    bool spd;
    size_t n, rhs;
    wi_grid a, b;  /* op(A); of a symmetric matrix one half */
    bool streamed; /* A is in host memory, for it and its factors do not fit the GPU together */
    void *x;
    size_t x_down, x_across;
    weft_solve_options options;
    weft_report *report;
} wi_solve_args;

extern const wi_ladder wi_solve_ladder;
/* The rung of options.precision, other than WEFT_PRECISION_AUTO. */
const wi_row *wi_solve_row(weft_precision precision);
weft_status wi_solve_serial(weft_context *ctx, const void *args);
weft_status wi_solve_three_kernels(weft_context *ctx, const void *args);
weft_status wi_solve_direct(weft_context *ctx, const void *args);
weft_status wi_solve_mixed(weft_context *ctx, const void *args);
weft_status wi_solve_butterfly(weft_context *ctx, const void *args);
weft_status wi_solve_tf32(weft_context *ctx, const void *args);
weft_status wi_solve_bf16(weft_context *ctx, const void *args);
weft_status wi_solve_f16(weft_context *ctx, const void *args);
/* Do options ask for factors that are less accurate than the matrix's type? */
static inline bool wi_is_reduced(const weft_solve_options *options) {
    return options->precision >= WEFT_PRECISION_MIXED;
}

/* How a matrix is factored. */
typedef struct wi_factoring {
    weft_type type;
    wi_products products; /* other than WI_FULL_PRODUCTS: of f32 */
    bool mixes;           /* of f32, on a GPU: those of H Q (solve_mix.h) */
    bool augments;        /* right-hand sides are columns beside H, and are eliminated with it */
} wi_factoring;

typedef struct wi_system {
    weft_context *ctx;
    const wi_solve_args *args;
    const wi_system_place *place;
    wi_system_place streamed; /* the place, if A is streamed */
    const char *call;
    weft_report *report;
    size_t n, group; /* group: right-hand sides worked on together, at least WI_ASCENT_COLUMNS */
    wi_grid a;       /* H */
    weft_type factor;
    wi_products products;
    bool mixes, augments;
    size_t ld;                         /* of f */
    void *f;                           /* the factors, and what augments them; */
    bool streams_factors;              /* they are in host memory */
    int64_t *pivot;                    /* of LU */
    int64_t *first;                    /* what the factorization found */
    int32_t *row_power, *column_power; /* on the place, if it is scaled */
    double *row_most;                  /* of H */
    double *z;                         /* n x (rhs + 1): the last is of the trial */
    double *low;                       /* n x group: what z leaves out; NULL unless exact */
    double *c, *r, *size;              /* n x group */
    double *w;                         /* weights of the forward bound */
    double *v;                         /* 3 n: vectors of the host, on their way */
    void *room;                        /* of products */
    void *d;                           /* n x group, of the type `factor` */
    double *words;                     /* 3 group figures on the place, */
    int32_t *powers;                   /* and powers */
    /* On the host: */
    int32_t *host_row_power, *host_column_power; /* NULL: not scaled */
    int32_t *shift;                              /* for each right-hand side */
    double *vector;                              /* WI_ASCENT_VECTORS times n */
    wi_survey found;                             /* of A, on the host; NULL: not made */
    double most_of_a;                            /* the largest entry of H, and */
    double norm;                                 /* its infinity norm */
    double norm_1;                               /* and 1-norm */
    double error_unit;                           /* u of the type that x is returned in */
    double condition;                            /* estimate; 0: not made yet */
    bool tries;                                  /* what a step of refinement gains is tried */
    double contraction;      /* by how much it multiplies the error, at worst, as far as it shows; 0
                                before */
    double most_contraction; /* more, and the factors are refused; 0: never */
    bool refines_inverse;    /* the factors alone are too inaccurate an inverse: by GMRES then */
    bool knows_inverse;      /* norms of the inverse were found so, or without the factors */
    bool lost;      /* GMRES did not converge for the estimates, or refinement had not ended */
    double *krylov; /* its vectors; NULL: not taken yet */
    struct wi_system_block {
        void *p;
        bool host;
    } block[WI_SYSTEM_BLOCKS];
    int blocks;
    size_t bytes;
} wi_system;

/* ---- memory; messages name the call ---- */

/* bytes may be 0. Freed by wi_system_close. */
weft_status wi_system_take(wi_system *s, size_t bytes, void *p);      /* on the place */
weft_status wi_system_take_host(wi_system *s, size_t bytes, void *p); /* on the host */
/* Copies between the host and the place, waiting for what is queued. */
weft_status wi_system_get(wi_system *s, void *host, const void *place, size_t bytes);
weft_status wi_system_put(wi_system *s, void *place, const void *host, size_t bytes);

/* Bytes that a call takes on the place besides A, with factors of this type. */
double wi_system_bytes(const wi_solve_args *args, weft_type factor);
weft_status wi_system_open(wi_system *s, weft_context *ctx, const wi_solve_args *args,
                           wi_factoring factoring);
void wi_system_close(wi_system *s);

/* ---- steps ---- */

/* Refuses entries of A and B that are not finite, and chooses R and C. */
weft_status wi_system_scale(wi_system *s);
/* power[i] = -exponent of size[i] / share; returns whether the sizes are too far apart, or too
 * large or small, for factors of this type. Rows of zeros have the power 0. */
bool wi_system_choose(size_t n, const double *size, int share, weft_type factor, int32_t *power);
void wi_system_note_range(size_t n, const int32_t *power, int *least, int *most);
/* Do all entries of H fit `type` without a loss but rounding? */
weft_status wi_system_fits(wi_system *s, weft_type type, bool *fits);
/* Copies H to f, and factors it. WEFT_ESINGULAR and WEFT_ENOTSPD come with message and witness. */
weft_status wi_system_factor(wi_system *s);
/* c = 2^-shift R b, with the largest numbers of extreme columns near 1: `count` of them. */
weft_status wi_system_load(wi_system *s, size_t first, size_t count);
/* to = 2^-power from, of the type `factor`, where 2^power is the size of each column; powers go to
 * the place too. */
weft_status wi_system_narrow(wi_system *s, size_t count, const double *from, const double *size,
                             int32_t *power, void *to);
/* Puts all right-hand sides beside H, as wi_system_narrow makes them. */
weft_status wi_system_augment(wi_system *s);
/* d = U \ what elimination made of them. */
weft_status wi_system_back_substitute(wi_system *s, size_t first, size_t count);
/* d = T \ d for a triangle of the factors. */
weft_status wi_system_triangle(wi_system *s, bool upper, bool transposed, bool unit, size_t count);
/* The factors in host memory, or a leading block of `order` columns. */
wi_host_matrix wi_system_host_factors(const wi_system *s, size_t order);
/* d = H \ d or Ht \ d, by the factors: `count` columns. */
weft_status wi_system_substitute(wi_system *s, bool transposed, size_t count);
/* The same for vectors of f64 on the host, WI_ASCENT_COLUMNS at most. */
weft_status wi_system_apply(wi_system *s, bool transposed, size_t count, double *const y[]);
/* out = H y or Ht y, vectors on the host. */
weft_status wi_system_multiply(wi_system *s, bool transposed, const double *y, double *out);
/* The same, accurately even if the factors are not: by GMRES, unless *converged becomes false. */
weft_status wi_system_gmres(wi_system *s, bool transposed, double *y, bool *converged);
/* One or the other, as s->refines_inverse says. */
weft_status wi_system_invert(wi_system *s, bool transposed, size_t count, double *const y[],
                             bool *converged);

/* Solves for all right-hand sides, to s->z, and fills the errors in the report; tries the factors
 * if s->tries, and ends early if they are refused. */
weft_status wi_system_solve(wi_system *s);
static inline bool wi_system_is_refused(const wi_system *s) {
    return s->tries && s->most_contraction > 0 && !(s->contraction <= s->most_contraction);
}
/* Growth and determinant. */
weft_status wi_system_judge_factors(wi_system *s);
/* The condition number, unless it is known. */
weft_status wi_system_find_condition(wi_system *s);
/* The same and the bound of the forward error, after wi_system_solve. */
weft_status wi_system_bound(wi_system *s);
/* After a pivot that is zero or not positive: the message and the witness; returns `status`. */
weft_status wi_system_refuse(wi_system *s, weft_status status, size_t column);

/* A norm that is looked for: that of M = H^-1 or, with weights, of M = W H^-t, in the 1-norm. The
 * latter is the infinity norm of H^-1 W. */
enum {
    WI_ASCENTS = 2,        /* at once */
    WI_ASCENT_COLUMNS = 3, /* that they solve for together, at most: one begins, with its waves,
                              when the other turns */
    WI_ASCENT_LINES = 3,   /* vectors of n that one works with */
    WI_ASCENT_VECTORS = WI_ASCENTS * WI_ASCENT_LINES + 1 /* of all, and of the weights, the last */
};
typedef struct wi_ascent {
    const double *weight;  /* NULL: none */
    double *x, *y, *waves; /* n each */
    double norm;           /* the result */
    int step;
    enum {
        WI_ASCENT_APPLY, /* y = M x is next, */
        WI_ASCENT_TURN,  /* or y = Mt y */
        WI_ASCENT_ENDED
    } phase;
} wi_ascent;
/* One that works in lines `first`, ... of `vectors`, which have n numbers each. */
static inline wi_ascent wi_ascent_in(double *vectors, size_t n, size_t first,
                                     const double *weight) {
    double *const x = vectors + first * n;
    wi_ascent a;
    memset(&a, 0, sizeof a);
    a.weight = weight;
    a.x = x;
    a.y = x + n;
    a.waves = x + 2 * n;
    return a;
}
/* Solves with H or, `transposed`, Ht, `count` vectors of the host, in their place. */
typedef weft_status wi_inverse(void *user, bool transposed, size_t count, double *const y[],
                               bool *converged);
/* `count` of them together, of matrices of order n. */
weft_status wi_ascend(size_t n, wi_ascent *all, int count, wi_inverse *inverse, void *user,
                      bool *converged);
/* The bound of the forward error by such a norm, which is an estimate and may be 3 times too small.
 * INFINITY if factors of this condition and growth may say nothing about the inverse. */
double wi_forward_bound(weft_type type, double condition, double growth, double norm);

/* ---- numbers ---- */

#define WI_LN_2 0.69314718055994530942 /* the natural logarithm of 2 */

#ifdef __CUDACC__
#    define WI_SYSTEM_BOTH __host__ __device__
#else
#    define WI_SYSTEM_BOTH
#endif

/* 2^p of a double's range, -1022 <= p <= 1023. */
WI_SYSTEM_BOTH static inline double wi_power_of_2(int p) {
    const uint64_t bits = (uint64_t)(p + 1023) << 52;
    double power;
    memcpy(&power, &bits, sizeof power);
    return power;
}

/* 2^p x, |p| <= 6000, rounded if it is subnormal. */
WI_SYSTEM_BOTH static inline double wi_times_power(double x, int p) {
    if (p >= -1000 && p <= 1000)
        return x * wi_power_of_2(p);
    const int most = p < -2900 ? -2900 : p > 2900 ? 2900 : p, third = most / 3;
    const double power = wi_power_of_2(third);
    return x * power * power * wi_power_of_2(most - 2 * third);
}

/* The exponent of x: 2^e <= |x| < 2^(e+1). */
WI_SYSTEM_BOTH static inline int32_t wi_exponent(double x) {
    uint64_t bits;
    memcpy(&bits, &x, sizeof bits);
    const int32_t e = (int32_t)(bits >> 52 & 0x7ff);
    if (e == 0x7ff)
        return WI_EXPONENT_OF_BAD;
    if (e > 0)
        return e - 1023;
    if (bits << 1 == 0)
        return WI_EXPONENT_OF_0;
    x *= 0x1p54;
    memcpy(&bits, &x, sizeof bits);
    return (int32_t)(bits >> 52 & 0x7ff) - 1023 - 54;
}

/* z + low = z + low + d in twice the precision, with z the rounded sum; or = d. */
WI_SYSTEM_BOTH static inline void wi_add_to_pair(double d, bool first, double *z, double *low) {
    const double high = first ? d : *z + d, part = first ? d : high - *z;
    const double rest = first ? 0 : (*z - (high - part)) + (d - part) + *low;
    *z = high + rest;
    *low = rest - (*z - high);
}

/* The larger of two sizes; NaN is larger than anything. */
WI_SYSTEM_BOTH static inline double wi_larger(double a, double b) {
    return a >= b || a != a ? a : b;
}

/* The largest of n sizes. */
static inline double wi_largest_of(size_t n, const double *size) {
    double most = 0;
    for (size_t i = 0; i < n; i++)
        most = wi_larger(most, size[i]);
    return most;
}

/* |r| / (size + |c|) of a row, as weft_report defines the componentwise backward error; a is the
 * largest entry of the row times the largest |z|. */
WI_SYSTEM_BOTH static inline double wi_row_error(double r, double size, double c, double a,
                                                 double tiny) {
    const double scale = size + c <= tiny * (a + c) ? size + a : size + c;
    return r == 0 && scale == 0 ? 0 : r / scale;
}

/* Columns of row i of a half. */
WI_SYSTEM_BOTH static inline size_t wi_half_begin(wi_half half, size_t i) {
    return half == WI_HALF_UPPER ? i : half == WI_HALF_ABOVE ? i + 1 : 0;
}
WI_SYSTEM_BOTH static inline size_t wi_half_end(wi_half half, size_t i, size_t columns) {
    const size_t end = half == WI_HALF_LOWER ? i + 1 : half == WI_HALF_BELOW ? i : columns;
    return end < columns ? end : columns;
}

#ifdef __cplusplus
}
#endif
#endif
