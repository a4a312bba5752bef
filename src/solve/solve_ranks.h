/* SPDX-License-Identifier: Apache-2.0 */
/* A system over ranks while it is solved. */
#ifndef WI_SOLVE_RANKS_H
#define WI_SOLVE_RANKS_H

#include "exact/exact_cascade.h"
#include "solve/solve_dist.h"

enum {
    WI_RANKS_BLOCKS = 32, /* of memory */
    WI_RANKS_WIDE = 64    /* elements that are added up as wide integers at a time */
};

typedef struct wi_ranks {
    weft_context *ctx, *child;
    const wi_solve_ranks_args *args;
    const wi_system_place *place;
    weft_report *report;
    const char *call;
    weft_type type;
    weft_type factor;  /* of f */
    size_t n;          /* the order, */
    size_t first, own; /* and the columns of A that this rank passes */
    size_t rhs_first, rhs, all_rhs;
    const uint64_t *all; /* own and rhs of each rank */
    wi_grid a;           /* H = R op(A) C: own columns, or rows if op(A) is transposed */
    wi_grid b, x;        /* what the call passes */
    bool scaled;         /* R or C is not 1 */
    int32_t *power;      /* of R and of C, n each */
    int32_t *shift;      /* own column j of B is multiplied by 2^shift[j], too, when it is read, and
                            that of the solution when it is stored */
    char *f;             /* factors of A, own columns */
    char *whole;         /* own columns of a symmetric A; else NULL */
    int64_t *pivot, *at;
    size_t *counts;
    size_t group, share, share_first; /* right-hand sides in work; those this rank substitutes */
    /* On all ranks alike, on the host, n x group each: */
    double *c, *z, *r, *size;
    double *low; /* what r is short of, as each rank has it */
    double *row_most, *gathered, *gathered_low;
    char *d;               /* corrections, of the type */
    double *own_b, *own_x; /* right-hand sides and solutions that this rank passes */
    double norm, norm_1;   /* of op(A): the infinity norm, and the 1-norm */
    double *vector;        /* WI_ASCENT_VECTORS times n, of which the last are: */
    double *weight;        /* what is left of residuals, relative to z */
    bool lost;             /* refinement of a right-hand side had not ended */
    size_t most_group;     /* right-hand sides worked on together */
    /* Residuals are correctly rounded, and z + z_low is the solution: */
    bool exact;
    double *z_low;
    wi_deep_cascade *sums, *all_sums; /* of elements of r: this rank's, and those of all ranks */
    uint64_t *untold;                 /* numbers of elements that these do not tell */
    int64_t *words;                   /* wide integers of some of them, twice */
    /* On the place: */
    double *place_x, *place_c, *place_r, *place_size;
    double *place_low; /* if exact */
    wi_deep_cascade *place_sums;
    uint64_t *place_which;
    int64_t *place_words;
    int32_t *place_power, *place_shift;
    void *room;
    struct {
        void *p;
        bool host;
    } block[WI_RANKS_BLOCKS];
    int blocks;
    weft_status status; /* of taking memory */
} wi_ranks;

/* Copies between host and place, or within one, and waits for it. */
weft_status wi_ranks_move(wi_ranks *s, void *to, const void *from, size_t bytes);
/* x = the sum over ranks, or the largest: in their order. `status` is how this rank has fared. */
weft_status wi_ranks_combine(wi_ranks *s, double *x, size_t n, bool largest, weft_status status);
/* Refuses what is not finite in a grid of `which`, whose first element is at (row, column). */
weft_status wi_ranks_check_finite(wi_ranks *s, const wi_grid *g, const char *which, size_t row,
                                  size_t column);
/* Of a symmetric matrix: the same for the triangle that the call passes; and s->a becomes whole
 * columns. */
weft_status wi_ranks_check_triangle(wi_ranks *s);
weft_status wi_ranks_complete(wi_ranks *s);
wi_grid wi_ranks_whole(const wi_ranks *s);
/* After a pivot in column k that is 0 or not positive: the proof, to the memory of the options. */
weft_status wi_ranks_find_witness(wi_ranks *s, size_t k);
/* Element e of x, of the type of the factors. */
static inline double wi_ranks_element(const wi_ranks *s, const char *x, size_t e) {
    return s->factor == WEFT_F64 ? ((const double *)(const void *)x)[e]
                                 : (double)((const float *)(const void *)x)[e];
}
static inline void wi_ranks_put(const wi_ranks *s, char *x, size_t e, double value) {
    if (s->factor == WEFT_F64)
        ((double *)(void *)x)[e] = value;
    else
        ((float *)(void *)x)[e] = (float)value;
}
/* The product of own columns of op(A) with `count` vectors at place_x. */
wi_product wi_ranks_product(const wi_ranks *s, size_t count);
/* Rows of z, n x group, that own columns of op(A) meet, to memory of the place. */
weft_status wi_ranks_put_rows(wi_ranks *s, double *place, const double *z);
/* What it has found goes to whole vectors: if op(A) is transposed, to this rank's rows of them. */
weft_status wi_ranks_spread(wi_ranks *s, const double *place, size_t count, double *whole);
/* r = c - op(A) (z + z_low), each element rounded once, and size = |op(A)| |z|. */
weft_status wi_ranks_exact_residual(wi_ranks *s);
/* Chooses R and C, and reads own right-hand sides. All ranks agree. */
weft_status wi_ranks_scale(wi_ranks *s);
/* The largest entry of each row of H, or of each column; `status` is how this rank has fared. */
weft_status wi_ranks_lines_most(wi_ranks *s, bool columns, double *most, weft_status status);
/* Own solutions to where the call wants them. */
weft_status wi_ranks_store(wi_ranks *s);
/* The norms, and the largest entry of each row. */
weft_status wi_ranks_measure(wi_ranks *s);
/* Determinant and growth; and when all is solved, the condition and the bound of the error. */
weft_status wi_ranks_judge_factors(wi_ranks *s);
weft_status wi_ranks_bound(wi_ranks *s);
/* r = op(A) \ r, or with the transpose of op(A), for s->group columns. */
weft_status wi_ranks_substitute(wi_ranks *s, bool turned);
/* Solves for s->group right-hand sides, from number k of all on, and reports how well. */
weft_status wi_ranks_solve_group(wi_ranks *s, size_t k);

#endif
