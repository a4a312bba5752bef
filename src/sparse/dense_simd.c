/* SPDX-License-Identifier: Apache-2.0 */
/* Elimination of columns, and the products that follow, for one instruction set.
 *
 * Both work on tiles of TILE_VECTORS vectors of rows by WI_WIDE columns, which stay in registers
 * from the first product to the last. The rows of a tile are a group of packed rows, stored
 * together column by column: element (i, p) of k columns is at i / TILE_ROWS * TILE_ROWS * k + p *
 * TILE_ROWS + i % TILE_ROWS. Its columns are WI_WIDE rows of such a group, so one packed copy
 * serves both operands of a product. */
#include "sparse/dense_simd.h"

#include <math.h>
#include <stdbool.h>

#include "cpu/lanes.h"
#include "sparse/dense.h"

enum {
    TILE_VECTORS = 3,
    TILE_ROWS = TILE_VECTORS * WI_WIDE,
    TILE_COLUMNS = WI_WIDE, /* as many as vector lanes: a tile on the diagonal is one vector high */
    LINE = 8,               /* doubles in a cache line */
    A_AHEAD = 8, /* how many columns ahead rows are prefetched into the first-level cache */
    B_AHEAD = 16,
    PREFETCH_FROM = 32, /* with at least so many products, prefetching another tile of C pays */
    /* Does an elimination have products beyond those that are summed separately? */
    SOME_LEFT = (int)TILE_COLUMNS < (int)WI_DENSE_APART
};

/* The operation on a tile, in the terms of dense.h. */
typedef enum purpose {
    CHAIN,    /* tile - A Bt, product by product */
    SUBTRACT, /* tile + (-A Bt) */
    SOLVE,    /* the same, and then (tile) T^-T, where the triangle T follows in B, its diagonal
                 inverted */
    FACTOR    /* the same on the diagonal, and then L with L Lt = tile */
} purpose;

/* C -= A Bt on a strip of C, at most TILE_COLUMNS columns. */
typedef struct strip {
    int64_t k;
    const double *a, *b;    /* the first rows */
    int64_t a_step, b_step; /* doubles from one column to the next */
    int64_t a_next;         /* and from one group of A's rows, or of packed rows, to the next */
    double *c;
    int64_t ldc;
    double *packed; /* the tile is stored here too, in whole vectors, unless NULL */
} strip;

/* The address of packed row i of k columns. */
static const double *row_at(const double *packed, int64_t i, int64_t k) {
    return packed + i / TILE_ROWS * TILE_ROWS * k + i % TILE_ROWS;
}

/* ---- tiles ---- */

WI_INLINE wi_doubles load(const double *p, bool whole, wi_lanes lanes) {
    return whole ? wi_load(p) : wi_load_lanes(p, lanes);
}

WI_INLINE void store(double *p, bool whole, wi_lanes lanes, wi_doubles v) {
    if (whole)
        wi_store(p, v);
    else
        wi_store_lanes(p, lanes, v);
}

/* How many products are summed separately before they are added to C. */
WI_INLINE int64_t apart(const purpose f, int64_t k) {
    return f == CHAIN ? 0 : f == SUBTRACT ? k : k / WI_DENSE_APART * WI_DENSE_APART;
}

/* sum -= A Bt for the next k columns, and moves past them. `next` is the tile of C to prefetch
 * meanwhile, or NULL. It is prefetched one column at a time: many loads at once would delay those
 * of A. */
WI_INLINE void subtract_products(const int V, const int N, const bool whole, wi_lanes lanes,
                                 const strip *s, int64_t k, const double **a, const double **b,
                                 const double *next, wi_doubles sum[TILE_VECTORS][TILE_COLUMNS]) {
    const int64_t a_step = s->a_step, b_step = s->b_step, part = next ? (k + N - 1) / N : k;
    const double *at = *a, *bt = *b;
    for (int64_t p = 0; p < k;) {
        if (next) {
#pragma GCC unroll 3
            for (int v = 0; v < V; v += LINE / WI_WIDE)
                __builtin_prefetch(next + v * WI_WIDE, 1);
            next += s->ldc;
        }
        for (const int64_t end = wi_least(k, p + part); p < end; p++, at += a_step, bt += b_step) {
            wi_doubles x[TILE_VECTORS];
            __builtin_prefetch(bt + B_AHEAD * b_step);
#pragma GCC unroll 3
            for (int v = 0; v < V; v += LINE / WI_WIDE)
                __builtin_prefetch(at + A_AHEAD * a_step + v * WI_WIDE);
#pragma GCC unroll 3
            for (int v = 0; v < V; v++)
                x[v] = load(at + v * WI_WIDE, whole || v < V - 1, lanes);
#pragma GCC unroll 8
            for (int j = 0; j < N; j++) {
                const wi_doubles y = wi_splat(bt[j]);
#pragma GCC unroll 3
                for (int v = 0; v < V; v++)
                    sum[v][j] = wi_minus_product(x[v], y, sum[v][j]);
            }
        }
    }
    *a = at;
    *b = bt;
}

/* A tile of V vectors of rows by N columns; unless `whole`, only the lanes given exist in the last
 * vector. */
WI_INLINE void tile(const int V, const int N, const purpose f, const bool whole, wi_lanes lanes,
                    const strip *s, const double *a, double *c, double *packed,
                    const double *next) {
    const int64_t b_step = s->b_step, ldc = s->ldc, first = apart(f, s->k);
    const double *b = s->b;
    wi_doubles sum[TILE_VECTORS][TILE_COLUMNS];
#pragma GCC unroll 8
    for (int j = 0; j < N; j++)
#pragma GCC unroll 3
        for (int v = 0; v < V; v++)
            sum[v][j] = wi_splat(-0.0);
    if (f != CHAIN)
        subtract_products(V, N, whole, lanes, s, first, &a, &b, next, sum);
#pragma GCC unroll 8
    for (int j = 0; j < N; j++)
#pragma GCC unroll 3
        for (int v = 0; v < V; v++)
            sum[v][j] += load(c + j * ldc + v * WI_WIDE, whole || v < V - 1, lanes);
    if (f == CHAIN || (f == SOLVE && SOME_LEFT))
        subtract_products(V, N, whole, lanes, s, s->k - first, &a, &b, f == CHAIN ? next : NULL,
                          sum);
#pragma GCC unroll 8
    for (int j = 0; j < N && f == SOLVE; j++, b += b_step) {
        const wi_doubles r = wi_splat(b[j]);
#pragma GCC unroll 3
        for (int v = 0; v < V; v++)
            sum[v][j] *= r;
#pragma GCC unroll 8
        for (int i = j + 1; i < N; i++) {
            const wi_doubles y = wi_splat(b[i]);
#pragma GCC unroll 3
            for (int v = 0; v < V; v++)
                sum[v][i] = wi_minus_product(sum[v][j], y, sum[v][i]);
        }
    }
#pragma GCC unroll 8
    for (int j = 0; j < N; j++)
#pragma GCC unroll 3
        for (int v = 0; v < V; v++) {
            store(c + j * ldc + v * WI_WIDE, whole || v < V - 1, lanes, sum[v][j]);
            if (f == SOLVE)
                wi_store(packed + j * TILE_ROWS + v * WI_WIDE, sum[v][j]);
        }
}

/* m rows of N columns of C. While a tile is computed, the one below it is prefetched, or the top
 * one of the next strip. */
WI_INLINE void strip_of(const int N, const purpose f, int64_t m, const strip *s) {
    const wi_lanes all = wi_lanes_between(0, WI_WIDE);
    const double *a = s->a;
    double *c = s->c, *packed = s->packed;
    for (; m >= TILE_ROWS; m -= TILE_ROWS) {
        const double *const below =
            m > TILE_ROWS || f == SOLVE ? c + TILE_ROWS : s->c + TILE_COLUMNS * s->ldc;
        tile(TILE_VECTORS, N, f, true, all, s, a, c, packed, s->k >= PREFETCH_FROM ? below : NULL);
        a += s->a_next;
        c += TILE_ROWS;
        if (f == SOLVE)
            packed += s->a_next;
    }
    if (m > 2 * WI_WIDE)
        tile(3, N, f, false, wi_lanes_between(0, m - 2 * WI_WIDE), s, a, c, packed, NULL);
    else if (m > WI_WIDE)
        tile(2, N, f, false, wi_lanes_between(0, m - WI_WIDE), s, a, c, packed, NULL);
    else if (m > 0)
        tile(1, N, f, false, wi_lanes_between(0, m), s, a, c, packed, NULL);
}

/* The same with n columns, 1 <= n <= TILE_COLUMNS. */
WI_INLINE void strip_any(const purpose f, int64_t m, int64_t n, const strip *s) {
    enum {
        N = TILE_COLUMNS
    };
    switch (n) {
    case 1:
        strip_of(1, f, m, s);
        break;
    case N:
        strip_of(N, f, m, s);
        break;
#if WI_VECTOR_BYTES > 16
    case 2:
        strip_of(2, f, m, s);
        break;
    case 3:
        strip_of(3, f, m, s);
        break;
#endif
#if WI_VECTOR_BYTES > 32
    case 4:
        strip_of(4, f, m, s);
        break;
    case 5:
        strip_of(5, f, m, s);
        break;
    case 6:
        strip_of(6, f, m, s);
        break;
    case 7:
        strip_of(7, f, m, s);
        break;
#endif
    default:
        break;
    }
}

static void subtract_strip(int64_t m, int64_t n, const strip *s) {
    strip_any(SUBTRACT, m, n, s);
}

static void solve_strip(int64_t m, int64_t n, const strip *s) {
    strip_any(SOLVE, m, n, s);
}

/* Factors the tile; returns how many columns, N unless a pivot is not above 0 or not finite. */
WI_INLINE int factor(const int N, wi_doubles sum[TILE_COLUMNS], double *reciprocals) {
#pragma GCC unroll 8
    for (int j = 0; j < N; j++) {
        const double pivot = sum[j][j];
        if (!(pivot > 0 && pivot < INFINITY))
            return j;
        const double root = wi_sqrt(pivot);
        reciprocals[j] = 1 / root;
        sum[j] *= wi_splat(reciprocals[j]);
        sum[j][j] = root;
#pragma GCC unroll 8
        for (int i = j + 1; i < N; i++)
            sum[i] = wi_minus_product(sum[j], wi_splat(sum[j][i]), sum[i]);
    }
    return N;
}

/* The same as subtract_products for one vector of rows. */
WI_INLINE void subtract_from_corner(const int N, wi_lanes exist, const strip *s, int64_t k,
                                    const double **a, const double **b,
                                    wi_doubles sum[TILE_COLUMNS]) {
    for (int64_t p = 0; p < k; p++, *a += s->a_step, *b += s->b_step) {
        const wi_doubles x = wi_load_lanes(*a, exist);
#pragma GCC unroll 8
        for (int j = 0; j < N; j++)
            sum[j] = wi_minus_product(x, wi_splat((*b)[j]), sum[j]);
    }
}

/* The tile of N columns that begins on the diagonal. It is one vector high, and m of its rows
 * exist. */
WI_INLINE int corner_of(const int N, const purpose f, int64_t m, const strip *s) {
    const wi_lanes exist = wi_lanes_between(0, m);
    const int64_t first = apart(f, s->k);
    const double *a = s->a, *b = s->b;
    wi_doubles sum[TILE_COLUMNS];
    double reciprocals[TILE_COLUMNS] = {0};
    int done = N;
#pragma GCC unroll 8
    for (int j = 0; j < N; j++)
        sum[j] = wi_splat(-0.0);
    subtract_from_corner(N, exist, s, first, &a, &b, sum);
#pragma GCC unroll 8
    for (int j = 0; j < N; j++)
        sum[j] += wi_load_lanes(s->c + j * s->ldc, wi_lanes_between(j, m));
    if (f == FACTOR && SOME_LEFT)
        subtract_from_corner(N, exist, s, s->k - first, &a, &b, sum);
    if (f == FACTOR)
        done = factor(N, sum, reciprocals);
#pragma GCC unroll 8
    for (int j = 0; j < N; j++)
        wi_store_lanes(s->c + j * s->ldc, wi_lanes_between(j, m), sum[j]);
#pragma GCC unroll 8
    for (int j = 0; j < N && f == FACTOR; j++) {
        sum[j][j] = reciprocals[j];
        wi_store(s->packed + j * TILE_ROWS, sum[j]);
    }
    return done;
}

WI_INLINE int64_t corner_any(const purpose f, int64_t m, int64_t n, const strip *s) {
    enum {
        N = TILE_COLUMNS
    };
    switch (n) {
    case 1:
        return corner_of(1, f, m, s);
    case N:
        return corner_of(N, f, m, s);
#if WI_VECTOR_BYTES > 16
    case 2:
        return corner_of(2, f, m, s);
    case 3:
        return corner_of(3, f, m, s);
#endif
#if WI_VECTOR_BYTES > 32
    case 4:
        return corner_of(4, f, m, s);
    case 5:
        return corner_of(5, f, m, s);
    case 6:
        return corner_of(6, f, m, s);
    case 7:
        return corner_of(7, f, m, s);
#endif
    default:
        return 0;
    }
}

static void subtract_corner(int64_t m, int64_t n, const strip *s) {
    corner_any(SUBTRACT, m, n, s);
}

static int64_t factor_corner(int64_t m, int64_t n, const strip *s) {
    return corner_any(FACTOR, m, n, s);
}

/* ---- elimination ---- */

/* Rows begin .. end - 1 in the columns before them, strip by strip: each strip is solved with the
 * packed rows above, and then packed too. */
static void solve_rows(int64_t begin, int64_t end, int64_t columns, int64_t n, double *a,
                       int64_t lda, double *packed) {
    double *const own = packed + begin * n;
    for (int64_t j = 0; j < columns; j += TILE_COLUMNS) {
        const strip s = {.k = j,
                         .a = own,
                         .b = row_at(packed, j, n),
                         .a_step = TILE_ROWS,
                         .b_step = TILE_ROWS,
                         .a_next = TILE_ROWS * n,
                         .c = a + begin + j * lda,
                         .ldc = lda,
                         .packed = own + j * TILE_ROWS};
        solve_strip(end - begin, wi_least(TILE_COLUMNS, columns - j), &s);
    }
}

/* Rows begin .. end - 1, which are of one group, in their own columns; returns how many columns are
 * factored. */
static int64_t factor_group(int64_t begin, int64_t end, int64_t columns, int64_t n, double *a,
                            int64_t lda, double *packed) {
    double *const own = packed + begin * n;
    for (int64_t j = begin; j < columns; j += TILE_COLUMNS) {
        const int64_t count = wi_least(TILE_COLUMNS, columns - j);
        strip s = {.k = j,
                   .a = own + (j - begin),
                   .b = own + (j - begin),
                   .a_step = TILE_ROWS,
                   .b_step = TILE_ROWS,
                   .c = a + j + j * lda,
                   .ldc = lda,
                   .packed = own + j * TILE_ROWS + (j - begin)};
        const int64_t done = factor_corner(wi_least(WI_WIDE, end - j), count, &s);
        if (done < count)
            return j + done;
        s.a += WI_WIDE;
        s.c += WI_WIDE;
        s.packed += WI_WIDE;
        solve_strip(end - j - WI_WIDE, count, &s);
    }
    return columns;
}

static int64_t eliminate(int64_t begin, int64_t end, int64_t n, double *a, int64_t lda,
                         double *packed) {
    int64_t i = begin;
    for (; i < wi_least(n, end); i += TILE_ROWS) {
        const int64_t below = wi_least(i + TILE_ROWS, end), columns = wi_least(below, n);
        solve_rows(i, below, i, n, a, lda, packed);
        const int64_t done = factor_group(i, below, columns, n, a, lda, packed);
        if (done < columns)
            return done;
    }
    if (i < end)
        solve_rows(i, end, n, n, a, lda, packed);
    return n;
}

/* ---- products ---- */

/* Rows i .. end - 1 of a strip; c is its row 0. The strip is changed in place, not copied: a wide
 * load of what was just stored in parts would wait for the stores, longer than a small product
 * takes. */
static void subtract_rows(int64_t i, int64_t end, int64_t n, const double *packed, double *c,
                          strip *s) {
    const int64_t inside = i % TILE_ROWS, head = wi_least(TILE_ROWS - inside, end - i);
    s->a = row_at(packed, i, s->k);
    s->c = c + i;
    if (inside > 0 && head > 0) {
        subtract_strip(head, n, s);
        i += head;
        s->a += s->a_next - inside;
        s->c += head;
    }
    subtract_strip(end - i, n, s);
}

static void update(int64_t row, int64_t m, int64_t column, int64_t n, int64_t k,
                   const double *packed, const double *across, double *c, int64_t ldc) {
    const int64_t end = row + m;
    strip s = {
        .k = k, .a_step = TILE_ROWS, .b_step = TILE_ROWS, .a_next = TILE_ROWS * k, .ldc = ldc};
    c -= row;
    for (int64_t j = column, next; j < wi_least(column + n, end); c += (next - j) * ldc, j = next) {
        const int64_t below = (j / WI_WIDE + 1) * WI_WIDE;
        next = wi_least(below, column + n);
        s.b = row_at(across, j, k);
        if (j < row) {
            subtract_rows(row, end, next - j, packed, c, &s);
            continue;
        }
        s.a = row_at(packed, j, k);
        s.c = c + j;
        subtract_corner(wi_least(below, end) - j, next - j, &s);
        subtract_rows(below, end, next - j, packed, c, &s);
    }
}

static void multiply(int64_t m, int64_t n, int64_t k, const double *a, int64_t lda, const double *b,
                     int64_t ldb, double *c, int64_t ldc) {
    for (int64_t j = 0; j < n; j += TILE_COLUMNS) {
        const strip s = {.k = k,
                         .a = a,
                         .b = b + j,
                         .a_step = lda,
                         .b_step = ldb,
                         .a_next = TILE_ROWS,
                         .c = c + j * ldc,
                         .ldc = ldc};
        strip_any(CHAIN, m, wi_least(TILE_COLUMNS, n - j), &s);
    }
}

const wi_dense_simd WI_FOR_ISA(wi_dense_simd) = {
    .group = TILE_ROWS, .eliminate = eliminate, .update = update, .multiply = multiply};
