/* SPDX-License-Identifier: Apache-2.0 */
/* Tables of twiddle factors. */
#include "fft/fft_tables.h"

#include <math.h>
#include <string.h>

#include "core/gpu.h"

typedef struct complex_long {
    long double re, im;
} complex_long;

/* A table of the context. */
typedef struct kept_table {
    wi_kept head;
    wi_fft_table_key key;
    void *table; /* in memory of the place */
    bool is_host;
} kept_table;

static const long double pi = 3.14159265358979323846264338327950288L;

/* exp(-2 pi i k / n), k < n: the angle is brought to an eighth of the circle first, which is exact.
 */
static complex_long root(size_t k, size_t n) {
    const bool is_below = k > n - k;
    const size_t up = is_below ? n - k : k; /* up to n / 2 */
    const bool is_left = up > n / 4 && 4 * up > n;
    const size_t twice = is_left ? n - 2 * up : 2 * up; /* angle pi twice / n, up to pi / 2 */
    const bool is_high = 2 * twice > n / 2 && 4 * twice > n;
    const long double angle = is_high ? pi * (long double)(n - 2 * twice) / (2 * (long double)n)
                                      : pi * (long double)twice / (long double)n;
    long double c = cosl(angle), s = sinl(angle);
    if (is_high) {
        const long double swap = c;
        c = s;
        s = swap;
    }
    return (complex_long){is_left ? -c : c, is_below ? s : -s};
}

static void put(weft_type type, void *to, size_t i, complex_long v) {
    if (type == WEFT_F64) {
        ((double *)to)[2 * i] = (double)v.re;
        ((double *)to)[2 * i + 1] = (double)v.im;
    } else {
        ((float *)to)[2 * i] = (float)v.re;
        ((float *)to)[2 * i + 1] = (float)v.im;
    }
}

static void put_part(weft_type type, void *to, size_t i, long double v) {
    if (type == WEFT_F64)
        ((double *)to)[i] = (double)v;
    else
        ((float *)to)[i] = (float)v;
}

/* ---- contents ---- */

static size_t count_stages(const wi_fft_table_key *key) {
    size_t before = 1, count = 0;
    for (const unsigned char *r = key->radix; *r; r++) {
        count += before > 1 ? (*r - 1) * before : 0;
        before *= *r;
    }
    return count;
}

static void fill_stages(const wi_fft_table_key *key, void *to) {
    size_t before = 1, at = 0;
    for (const unsigned char *r = key->radix; *r; r++) {
        for (size_t k = 1; before > 1 && k < *r; k++)
            for (size_t j = 0; j < before; j++)
                put(key->type, to, at++, root(j * k, before * *r));
        before *= *r;
    }
}

size_t wi_fft_powers_part(size_t period) {
    size_t part = 1;
    while (part * part < period)
        part *= 2;
    return part;
}

static size_t powers_rows(const wi_fft_table_key *key) {
    return (key->n + key->part - 1) / key->part;
}

static void fill_powers(const wi_fft_table_key *key, void *to) {
    for (size_t k = 0; k < key->part; k++)
        put(key->type, to, k, root(k % key->n, key->n));
    for (size_t k = 0; k < powers_rows(key); k++)
        put(key->type, to, key->part + k, root(k * key->part % key->n, key->n));
}

static void fill_lanes(const wi_fft_table_key *key, void *to) {
    for (size_t k = 0; k < key->rows; k++)
        for (size_t lane = 0; lane < key->part; lane++) {
            const complex_long v = root(k * lane % key->n, key->n);
            put_part(key->type, to, 2 * k * key->part + lane, v.re);
            put_part(key->type, to, (2 * k + 1) * key->part + lane, v.im);
        }
}

/* Groups of lanes that a period's lines make. */
static size_t groups_of(const wi_fft_table_key *key) {
    return (key->n / key->rows + key->part - 1) / key->part;
}

static void fill_turns(const wi_fft_table_key *key, void *to) {
    for (size_t line = 0; line < groups_of(key) * key->part; line++)
        for (size_t k = 0; k < key->rows; k++) {
            const complex_long v = root(k * line % key->n, key->n);
            const size_t at = 2 * (line / key->part * key->rows + k) * key->part + line % key->part;
            put_part(key->type, to, at, v.re);
            put_part(key->type, to, at + key->part, v.im);
        }
}

/* Of WI_FFT_SUMS. */
static void fill_sums(const wi_fft_table_key *key, void *to) {
    const size_t half = key->n / 2;
    for (size_t m = 0; m <= half; m++)
        for (size_t k = 1; k <= half; k++) {
            const complex_long v = root(m * k % key->n, key->n);
            const size_t at = (m / key->part * half + k - 1) * key->rows + m % key->part;
            put(key->type, to, at, (complex_long){v.re, -v.im});
        }
}

/* exp(-pi i k^2 / n). */
static complex_long chirp(size_t k, size_t n) {
    const unsigned __int128 square = (unsigned __int128)k * k;
    return root((size_t)(square % (2 * n)), 2 * n);
}

/* Radix 2, in place: `n` is a power of 2. */
static void transform_power(complex_long *x, size_t n) {
    for (size_t i = 1, j = 0; i < n; i++) {
        size_t bit = n / 2;
        for (; j & bit; bit /= 2)
            j ^= bit;
        j |= bit;
        if (i < j) {
            const complex_long swap = x[i];
            x[i] = x[j];
            x[j] = swap;
        }
    }
    for (size_t half = 1; half < n; half *= 2)
        for (size_t k = 0; k < half; k++) {
            const complex_long w = root(k, 2 * half);
            for (size_t i = k; i < n; i += 2 * half) {
                complex_long *const a = x + i, *const b = x + i + half;
                const complex_long t = {b->re * w.re - b->im * w.im, b->re * w.im + b->im * w.re};
                *b = (complex_long){a->re - t.re, a->im - t.im};
                *a = (complex_long){a->re + t.re, a->im + t.im};
            }
        }
}

/* Of n numbers, an odd number of powers of 2 that need not be small, for which `room` has twice as
 * many. */
static void transform(complex_long *x, complex_long *room, size_t n) {
    complex_long *const part = room, *const w = room + n;
    size_t m = 1;
    while (n / m % 2 == 0)
        m *= 2;
    if (m == n) {
        transform_power(x, n);
        return;
    }
    for (size_t r = 0; r < n / m; r++) {
        for (size_t i = 0; i < m; i++)
            part[r * m + i] = x[n / m * i + r];
        transform_power(part + r * m, m);
    }
    for (size_t k = 0; k < n; k++)
        w[k] = root(k, n);
    for (size_t k = 0; k < n; k++) {
        x[k] = (complex_long){0, 0};
        for (size_t r = 0; r < n / m; r++) {
            const complex_long turn = w[r * k % n], v = part[r * m + k % m];
            x[k].re += v.re * turn.re - v.im * turn.im;
            x[k].im += v.re * turn.im + v.im * turn.re;
        }
    }
}

/* Where result k of a transform in place lies, and from there the place in a table that has all
 * first results of sets of the last radix, then all second ones, and so on. Without radices: k. */
static size_t spectrum_place(const wi_fft_table_key *key, size_t k) {
    size_t m = key->part, set = 0;
    if (key->radix[0] == 0)
        return k;
    for (const unsigned char *r = key->radix; r[1]; r++) {
        m /= *r;
        set += k % *r * m;
        k /= *r;
    }
    return set / m + k * (key->part / m);
}

static weft_status fill_spectrum(weft_context *ctx, const wi_fft_table_key *key, void *to) {
    const size_t n = key->n, m = key->part;
    complex_long *const x = wi_host_alloc(3 * m * sizeof *x);
    if (!x)
        return wi_fail(ctx, WEFT_ENOMEM, "weft_fft: no memory for %zu numbers of a table", m);
    for (size_t k = 0; k < m; k++)
        x[k] = (complex_long){0, 0};
    for (size_t k = 0; k < n; k++) {
        const complex_long c = chirp(k, n);
        x[k] = x[(m - k) % m] = (complex_long){c.re / (long double)m, -c.im / (long double)m};
    }
    transform(x, x + m, m);
    for (size_t k = 0; k < m; k++)
        put(key->type, to, spectrum_place(key, k), x[k]);
    wi_host_free(x);
    return WEFT_OK;
}

static size_t power_mod(size_t base, size_t power, size_t n) {
    size_t result = 1;
    for (; power > 0; power /= 2) {
        result = power % 2 ? result * base % n : result;
        base = base * base % n;
    }
    return result;
}

/* The least number whose powers are all from 1 to n - 1; n is a prime. */
static size_t primitive_root(size_t n) {
    for (size_t g = 2;; g++) {
        bool is_root = true;
        for (size_t d = 2; d < n; d++)
            is_root = is_root && ((n - 1) % d != 0 || power_mod(g, (n - 1) / d, n) != 1);
        if (is_root)
            return g;
    }
}

static void fill_order(const wi_fft_table_key *key, void *to) {
    const size_t g = primitive_root(key->n), last = key->n - 1;
    uint32_t *const places = to;
    for (size_t k = 0; k < last; k++) {
        places[k] = (uint32_t)power_mod(g, last - k, key->n);
        places[key->n + k] = (uint32_t)power_mod(g, k, key->n);
    }
}

static weft_status fill_cyclic(weft_context *ctx, const wi_fft_table_key *key, void *to) {
    const size_t n = key->n, m = key->part, g = primitive_root(n);
    complex_long *const x = wi_host_alloc(3 * m * sizeof *x);
    if (!x)
        return wi_fail(ctx, WEFT_ENOMEM, "weft_fft: no memory for %zu numbers of a table", m);
    for (size_t k = 0, power = 1; k < m; k++, power = power * g % n)
        x[k] = root(power, n);
    transform(x, x + m, m);
    for (size_t k = 0; k < m; k++)
        put(key->type, to, spectrum_place(key, k),
            (complex_long){x[k].re / (long double)m, x[k].im / (long double)m});
    wi_host_free(x);
    return WEFT_OK;
}

static size_t count_of(const wi_fft_table_key *key) {
    switch (key->kind) {
    case WI_FFT_STAGES_OF:
        return count_stages(key);
    case WI_FFT_ROOTS:
        return key->n / 2 + 1;
    case WI_FFT_POWERS:
        return key->part + powers_rows(key);
    case WI_FFT_LANES:
        return key->rows * key->part;
    case WI_FFT_TURNS:
        return groups_of(key) * key->rows * key->part;
    case WI_FFT_SUMS:
        return wi_fft_sums_groups(key->n, key->part) * (key->n / 2) * key->rows;
    case WI_FFT_CHIRP:
    case WI_FFT_ORDER:
        return key->n;
    default:
        return key->part;
    }
}

static weft_status fill(weft_context *ctx, const wi_fft_table_key *key, void *to) {
    switch (key->kind) {
    case WI_FFT_STAGES_OF:
        fill_stages(key, to);
        break;
    case WI_FFT_ROOTS:
        for (size_t k = 0; k <= key->n / 2; k++)
            put(key->type, to, k, root(k, key->n));
        break;
    case WI_FFT_POWERS:
        fill_powers(key, to);
        break;
    case WI_FFT_LANES:
        fill_lanes(key, to);
        break;
    case WI_FFT_TURNS:
        fill_turns(key, to);
        break;
    case WI_FFT_SUMS:
        fill_sums(key, to);
        break;
    case WI_FFT_CHIRP:
        for (size_t k = 0; k < key->n; k++)
            put(key->type, to, k, chirp(k, key->n));
        break;
    case WI_FFT_ORDER:
        fill_order(key, to);
        break;
    case WI_FFT_CYCLIC:
        return fill_cyclic(ctx, key, to);
    default:
        return fill_spectrum(ctx, key, to);
    }
    return WEFT_OK;
}

/* ---- keeping ---- */

static bool is_same(const wi_fft_table_key *a, const wi_fft_table_key *b) {
    return a->kind == b->kind && a->type == b->type && a->n == b->n && a->part == b->part &&
           a->rows == b->rows && memcmp(a->radix, b->radix, sizeof a->radix) == 0;
}

static weft_status no_memory(weft_context *ctx, size_t bytes) {
    return wi_fail(ctx, WEFT_ENOMEM, "weft_fft: no memory for a table of %zu bytes", bytes);
}

static weft_status make(weft_context *ctx, kept_table *kept) {
    const size_t bytes = (count_of(&kept->key) + 1) * 2 * weft_type_size(kept->key.type);
    void *const host = wi_host_alloc(bytes);
    if (!host)
        return no_memory(ctx, bytes);
    memset(host, 0, bytes);
    weft_status status = fill(ctx, &kept->key, host);
    kept->table = host;
    kept->is_host = true;
    if (status == WEFT_OK && ctx->kind != WI_CPU) {
        kept->is_host = false;
        status = wi_gpu_keep_table(ctx, &kept->table, host, bytes);
        wi_host_free(host);
    } else if (status != WEFT_OK) {
        wi_host_free(host);
    }
    return status;
}

static void drop(weft_context *ctx, wi_kept *kept) {
    kept_table *const t = (kept_table *)kept;
    if (t->is_host)
        wi_host_free(t->table);
    else
        wi_gpu_drop_table(ctx, t->table);
    wi_host_free(t);
}

weft_status wi_fft_table(weft_context *ctx, const wi_fft_table_key *key, const void **table) {
    for (wi_kept *k = ctx->kept; k; k = k->next)
        if (k->drop == drop && is_same(&((kept_table *)k)->key, key)) {
            *table = ((kept_table *)k)->table;
            return WEFT_OK;
        }
    kept_table *const kept = wi_host_alloc(sizeof *kept);
    if (!kept)
        return no_memory(ctx, sizeof *kept);
    *kept = (kept_table){.head = {ctx->kept, drop}, .key = *key};
    const weft_status status = make(ctx, kept);
    if (status != WEFT_OK) {
        wi_host_free(kept);
        return status;
    }
    ctx->kept = &kept->head;
    *table = kept->table;
    return WEFT_OK;
}
