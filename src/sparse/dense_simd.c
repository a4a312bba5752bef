/* SPDX-License-Identifier: Apache-2.0 */
/* Products, factorizations and solves from the right, for one instruction set.
 *
 * All of them are made of tiles of C, TILE_VECTORS vectors of rows by WI_WIDE columns, that stay in
 * registers from the first product to the last. A tile takes its rows of A and B from where they
 * are, `step` doubles from one column to the next; so it does not see whether they were packed. */
#include "sparse/dense_simd.h"

#include <math.h>
#include <stdbool.h>

#include "cpu/lanes.h"

enum {
    TILE_VECTORS = 3,
    TILE_ROWS = TILE_VECTORS * WI_WIDE,
    TILE_COLUMNS = WI_WIDE, /* as many as lanes: a tile on the diagonal is one vector high */
    NARROW = 64,            /* columns of a panel that is factored strip by strip */
    SHORT = 96,             /* rows below it that are solved strip by strip with it */
    TRIANGLE = 96,          /* columns solved with at a time */
    PREFETCH_FROM = 32,     /* products, from which on it pays to fetch the next tile of C */
    /* From when on packing pays: rows, columns, depth, and depth times the lesser of the others. */
    PACK_ROWS = 48,
    PACK_COLUMNS = 40,
    PACK_DEPTH = 48,
    PACK_AREA = 8192
};

/* What becomes of a tile after the products were taken from it. */
typedef enum finish {
    KEEP,
    SOLVE, /* tile = tile T^-T, where the triangle T follows in B */
    FACTOR /* a tile on the diagonal: tile = L, where L Lt is the tile */
} finish;

/* Some rows of a matrix: the first of them, and doubles from one column to the next. */
typedef struct rows {
    const double *at;
    int64_t step;
} rows;

/* C -= A Bt on a strip, TILE_COLUMNS columns of C or fewer. */
typedef struct strip {
    int64_t k;
    rows a, b;
    int64_t a_next; /* doubles from the rows of A for one tile to those for the next one below */
    double *c;
    int64_t ldc;
    double *reciprocals; /* of T's diagonal */
} strip;

static int64_t least(int64_t a, int64_t b) {
    return a < b ? a : b;
}

/* ---- tiles ---- */

WI_INLINE wi_doubles load(const double *p, bool whole, wi_lanes lanes) {
    return whole ? wi_load(p) : wi_load_lanes(p, lanes);
}

/* V vectors of rows by N columns; of the last vector only the lanes given, unless `whole`. */
WI_INLINE void tile(const int V, const int N, const finish f, const bool whole, wi_lanes lanes,
                    const strip *s, const double *a, double *c) {
    const int64_t step_a = s->a.step, step_b = s->b.step, ldc = s->ldc;
    const double *b = s->b.at;
    wi_doubles sum[TILE_VECTORS][TILE_COLUMNS];
#pragma GCC unroll 8
    for (int j = 0; j < N; j++)
#pragma GCC unroll 3
        for (int v = 0; v < V; v++)
            sum[v][j] = load(c + j * ldc + v * WI_WIDE, whole || v < V - 1, lanes);
    for (int64_t p = 0; p < s->k; p++, a += step_a, b += step_b) {
        wi_doubles x[TILE_VECTORS];
#pragma GCC unroll 3
        for (int v = 0; v < V; v++)
            x[v] = load(a + v * WI_WIDE, whole || v < V - 1, lanes);
#pragma GCC unroll 8
        for (int j = 0; j < N; j++) {
            const wi_doubles y = wi_splat(b[j]);
#pragma GCC unroll 3
            for (int v = 0; v < V; v++)
                sum[v][j] = wi_minus_product(x[v], y, sum[v][j]);
        }
    }
#pragma GCC unroll 8
    for (int j = 0; j < N && f == SOLVE; j++, b += step_b) {
        const wi_doubles r = wi_splat(s->reciprocals[j]);
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
            double *const p = c + j * ldc + v * WI_WIDE;
            if (whole || v < V - 1)
                wi_store(p, sum[v][j]);
            else
                wi_store_lanes(p, lanes, sum[v][j]);
        }
}

/* m rows of N columns of C. */
WI_INLINE void strip_of(const int N, const finish f, int64_t m, const strip *s) {
    const wi_lanes all = wi_lanes_between(0, WI_WIDE);
    const double *a = s->a.at;
    double *c = s->c;
    for (; m >= TILE_ROWS; m -= TILE_ROWS, a += s->a_next, c += TILE_ROWS) {
        if (s->k >= PREFETCH_FROM && m > TILE_ROWS)
            for (int j = 0; j < N; j++)
                for (int v = 0; v < TILE_VECTORS; v++)
                    __builtin_prefetch(c + TILE_ROWS + j * s->ldc + v * WI_WIDE, 1);
        tile(TILE_VECTORS, N, f, true, all, s, a, c);
    }
    if (m > 2 * WI_WIDE)
        tile(3, N, f, false, wi_lanes_between(0, m - 2 * WI_WIDE), s, a, c);
    else if (m > WI_WIDE)
        tile(2, N, f, false, wi_lanes_between(0, m - WI_WIDE), s, a, c);
    else if (m > 0)
        tile(1, N, f, false, wi_lanes_between(0, m), s, a, c);
}

/* The same with n columns, 1 <= n <= TILE_COLUMNS. */
WI_INLINE void strip_any(const finish f, int64_t m, int64_t n, const strip *s) {
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
    strip_any(KEEP, m, n, s);
}

static void solve_strip(int64_t m, int64_t n, const strip *s) {
    strip_any(SOLVE, m, n, s);
}

/* The columns factored, N unless a pivot is not above 0 or not finite. */
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

/* The tile of N columns that begins on the diagonal, one vector high, of which m rows exist. */
WI_INLINE int corner_of(const int N, const finish f, int64_t m, const strip *s) {
    const wi_lanes exist = wi_lanes_between(0, m);
    const double *a = s->a.at, *b = s->b.at;
    wi_doubles sum[TILE_COLUMNS];
    int done = N;
#pragma GCC unroll 8
    for (int j = 0; j < N; j++)
        sum[j] = wi_load_lanes(s->c + j * s->ldc, wi_lanes_between(j, m));
    for (int64_t p = 0; p < s->k; p++, a += s->a.step, b += s->b.step) {
        const wi_doubles x = wi_load_lanes(a, exist);
#pragma GCC unroll 8
        for (int j = 0; j < N; j++)
            sum[j] = wi_minus_product(x, wi_splat(b[j]), sum[j]);
    }
    if (f == FACTOR)
        done = factor(N, sum, s->reciprocals);
#pragma GCC unroll 8
    for (int j = 0; j < N; j++)
        wi_store_lanes(s->c + j * s->ldc, wi_lanes_between(j, m), sum[j]);
    return done;
}

WI_INLINE int64_t corner_any(const finish f, int64_t m, int64_t n, const strip *s) {
    enum {
        N = TILE_COLUMNS
    };
    m = least(m, WI_WIDE);
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
    corner_any(KEEP, m, n, s);
}

static int64_t factor_corner(int64_t m, int64_t n, const strip *s) {
    return corner_any(FACTOR, m, n, s);
}

/* ---- products ---- */

/* C -= A Bt on m x n, or, if `lower`, where C begins on the diagonal, on what lies not above it. */
typedef struct product {
    bool lower;
    int64_t m, n, k;
    const double *a;
    int64_t lda;
    const double *b;
    int64_t ldb;
    double *c;
    int64_t ldc;
    double *room;
} product;

/* m rows of k columns, `width` rows together: element (i, p) goes to i / width * width * k +
 * p * width + i % width. */
WI_INLINE void pack(const int64_t width, int64_t m, int64_t k, const double *from, int64_t ld,
                    double *to) {
    for (int64_t p = 0; p < k; p++, from += ld, to += width) {
        int64_t i = 0;
        double *out = to;
        for (; i + width <= m; i += width, out += width * k)
            memcpy(out, from + i, (size_t)width * sizeof *to);
        if (i < m)
            memcpy(out, from + i, (size_t)(m - i) * sizeof *to);
    }
}

/* Strips are changed and restored, not copied: wide loads of what was just stored in parts would
 * wait for the stores, longer than a small product takes. */

/* Rows `first` .. m - 1 of a strip, first being a multiple of WI_WIDE; A and C are given by row 0.
 */
static void subtract_from(int64_t first, int64_t m, int64_t n, strip *s) {
    const double *const a = s->a.at;
    double *const c = s->c;
    const int64_t inside = first % TILE_ROWS;
    s->a.at += first / TILE_ROWS * s->a_next + inside;
    s->c += first;
    if (inside > 0) {
        const int64_t count = least(TILE_ROWS - inside, m - first);
        subtract_strip(count, n, s);
        first += count;
        s->a.at += s->a_next - inside;
        s->c += count;
    }
    subtract_strip(m - first, n, s);
    s->a.at = a;
    s->c = c;
}

/* Row `first` .. of the same, where it meets the diagonal. */
static void subtract_corner_at(int64_t first, int64_t m, int64_t n, strip *s) {
    const double *const a = s->a.at;
    s->a.at += first / TILE_ROWS * s->a_next + first % TILE_ROWS;
    s->c += first;
    subtract_corner(m - first, n, s);
    s->a.at = a;
    s->c -= first;
}

/* Rows i .. i + m - 1 and columns j .. j + n - 1 of C, by strips; `s` has the first strip, and
 * strip_next is what its rows of B are away from the next one's. */
static void subtract_block(const product *p, int64_t i, int64_t m, int64_t j, int64_t n, strip *s,
                           int64_t strip_next) {
    const int64_t end = j + n;
    const double *const b = s->b.at;
    s->c = p->c + i + j * p->ldc;
    s->ldc = p->ldc;
    for (; j < end; j += TILE_COLUMNS, s->b.at += strip_next, s->c += TILE_COLUMNS * p->ldc) {
        const int64_t count = least(TILE_COLUMNS, end - j);
        if (!p->lower || j < i) {
            subtract_strip(m, count, s);
            continue;
        }
        const int64_t first = j - i;
        if (first >= m)
            break;
        subtract_corner_at(first, m, count, s);
        if (first + WI_WIDE < m)
            subtract_from(first + WI_WIDE, m, count, s);
    }
    s->b.at = b;
}

/* From where everything is. */
static void subtract_small(const product *p) {
    strip s = {.k = p->k, .a = {p->a, p->lda}, .a_next = TILE_ROWS, .b = {p->b, p->ldb}};
    subtract_block(p, 0, p->m, 0, p->n, &s, TILE_COLUMNS);
}

static void subtract_large(const product *p) {
    double *const packed_a = p->room;
    double *const packed_b = packed_a + wi_dense_packed_a(p->m, least(p->k, WI_DENSE_DEEP));
    for (int64_t d = 0; d < p->k; d += WI_DENSE_DEEP) {
        const int64_t k = least(WI_DENSE_DEEP, p->k - d);
        strip s = {.k = k,
                   .a = {packed_a, TILE_ROWS},
                   .a_next = TILE_ROWS * k,
                   .b = {packed_b, TILE_COLUMNS}};
        for (int64_t j = 0; j < p->n; j += WI_DENSE_WIDE) {
            const int64_t n = least(WI_DENSE_WIDE, p->n - j);
            pack(TILE_COLUMNS, n, k, p->b + j + d * p->ldb, p->ldb, packed_b);
            for (int64_t i = p->lower ? j : 0; i < p->m; i += WI_DENSE_TALL) {
                const int64_t m = least(WI_DENSE_TALL, p->m - i);
                pack(TILE_ROWS, m, k, p->a + i + d * p->lda, p->lda, packed_a);
                subtract_block(p, i, m, j, n, &s, TILE_COLUMNS * k);
            }
        }
    }
}

static void subtract(const product *p) {
    /* Of a whole triangle the columns are half as long. */
    const int64_t wide = p->lower && p->n > p->m / 2 ? p->n / 2 : p->n;
    if (p->m >= PACK_ROWS && wide >= PACK_COLUMNS && p->k >= PACK_DEPTH &&
        least(p->m, wide) * p->k >= PACK_AREA)
        subtract_large(p);
    else
        subtract_small(p);
}

static void multiply(int64_t m, int64_t n, int64_t k, const double *a, int64_t lda, const double *b,
                     int64_t ldb, double *c, int64_t ldc, double *room) {
    subtract(&(product){.m = m,
                        .n = n,
                        .k = k,
                        .a = a,
                        .lda = lda,
                        .b = b,
                        .ldb = ldb,
                        .c = c,
                        .ldc = ldc,
                        .room = room});
}

static void update(int64_t m, int64_t k, const double *a, int64_t lda, int64_t begin, int64_t end,
                   double *c, int64_t ldc, double *room) {
    subtract(&(product){.lower = true,
                        .m = m - begin,
                        .n = end - begin,
                        .k = k,
                        .a = a + begin,
                        .lda = lda,
                        .b = a + begin,
                        .ldb = lda,
                        .c = c + begin + begin * ldc,
                        .ldc = ldc,
                        .room = room});
}

/* ---- solves ---- */

/* B = B L^-T for up to TRIANGLE columns: one tile's rows of B at a time, from the first column to
 * the last, so that they stay in the first-level cache. */
static void solve_small(int64_t m, int64_t n, const double *l, int64_t ldl, double *b,
                        int64_t ldb) {
    double reciprocals[TRIANGLE];
    for (int64_t j = 0; j < n; j++)
        reciprocals[j] = 1 / l[j + j * ldl];
    for (int64_t i = 0; i < m; i += TILE_ROWS)
        for (int64_t j = 0; j < n; j += TILE_COLUMNS) {
            const strip s = {.k = j,
                             .a = {b + i, ldb},
                             .b = {l + j, ldl},
                             .c = b + i + j * ldb,
                             .ldc = ldb,
                             .reciprocals = reciprocals + j};
            solve_strip(least(TILE_ROWS, m - i), least(TILE_COLUMNS, n - j), &s);
        }
}

/* About half of n columns, in whole strips. */
static int64_t half_of(int64_t n) {
    return (n / 2 + TILE_COLUMNS - 1) / TILE_COLUMNS * TILE_COLUMNS;
}

static void solve_right(int64_t m, int64_t n, const double *l, int64_t ldl, double *b, int64_t ldb,
                        double *room) {
    if (n > TRIANGLE) {
        const int64_t left = half_of(n);
        solve_right(m, left, l, ldl, b, ldb, room);
        multiply(m, n - left, left, b, ldb, l + left, ldl, b + left * ldb, ldb, room);
        solve_right(m, n - left, l + left + left * ldl, ldl, b + left * ldb, ldb, room);
    } else {
        solve_small(m, n, l, ldl, b, ldb);
    }
}

/* ---- factorization ---- */

/* Strip by strip from the left, with all that lies to its left. */
static int64_t factor_narrow(int64_t m, int64_t n, double *a, int64_t lda) {
    double reciprocals[TILE_COLUMNS] = {0};
    for (int64_t j = 0; j < n; j += TILE_COLUMNS) {
        const int64_t count = least(TILE_COLUMNS, n - j);
        strip s = {.k = j,
                   .a = {a + j, lda},
                   .a_next = TILE_ROWS,
                   .b = {a + j, lda},
                   .c = a + j + j * lda,
                   .ldc = lda,
                   .reciprocals = reciprocals};
        const int64_t done = factor_corner(m - j, count, &s);
        s.a.at += WI_WIDE;
        s.c += WI_WIDE;
        solve_strip(m - j - WI_WIDE, done, &s);
        if (done < count)
            return j + done;
    }
    return n;
}

static int64_t panel(int64_t m, int64_t n, double *a, int64_t lda, double *room) {
    int64_t done;
    if (n > NARROW) {
        const int64_t left = half_of(n);
        double *const corner = a + left + left * lda;
        done = panel(m, left, a, lda, room);
        if (done < left)
            return done;
        update(m - left, left, a + left, lda, 0, n - left, corner, lda, room);
        return left + panel(m - left, n - left, corner, lda, room);
    }
    if (m - n <= SHORT)
        return factor_narrow(m, n, a, lda);
    done = factor_narrow(n, n, a, lda);
    solve_right(m - n, done, a, lda, a + n, lda, room);
    return done;
}

const wi_dense_simd WI_FOR_ISA(wi_dense_simd) = {
    .multiply = multiply, .update = update, .panel = panel, .solve_right = solve_right};
