/* SPDX-License-Identifier: Apache-2.0 */
/* Tables of roots of unity and the like, made when first needed and kept in the context: computed
 * in long double and rounded once. On a GPU they are in device memory. */
#ifndef WI_FFT_TABLES_H
#define WI_FFT_TABLES_H

#include "core/core.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef enum wi_fft_table_kind {
    WI_FFT_STAGES_OF, /* of each stage but the first, w^(j k) with w = exp(-2 pi i / (R before)):
                         rows k = 1 ... R - 1 of `before` numbers, where `before` is the product of
                         the radices before R */
    WI_FFT_ROOTS,     /* w^k for k up to n / 2, w = exp(-2 pi i / n) */
    WI_FFT_POWERS,    /* w^k for k < part, then w^(part k): two factors give each power */
    WI_FFT_LANES, /* w^(k lane) in rows of `part` lanes for k < rows: real parts, imaginary parts */
    WI_FFT_TURNS, /* w^(k line) for all lines, n / rows of them, in groups of `part` lanes: of each
                     group, for k < rows, real parts, imaginary parts */
    WI_FFT_SUMS,  /* cos + i sin of 2 pi m k / n, n odd: in groups of `part` m from 0 to n / 2, of
                     each group, for 0 < k <= n / 2, rows of `rows` numbers, its m and zeros */
    WI_FFT_CHIRP, /* exp(-pi i k^2 / n) */
    WI_FFT_ORDER, /* n prime, of f32: n 32-bit numbers g^-k mod n, g a primitive root, and as many
                     g^k, each for k < n - 1 and one more */
    WI_FFT_CYCLIC,  /* n prime: the transform of exp(-2 pi i g^k / n), over n - 1, in place by
                       radices as below; `part` is n - 1 */
    WI_FFT_SPECTRUM /* the transform of length `part` of the conjugate chirp, over `part`; with
                       radices as a transform in place by these leaves it to sets of the last one */
} wi_fft_table_kind;

typedef struct wi_fft_table_key {
    wi_fft_table_kind kind;
    weft_type type;
    size_t n, part, rows;
    unsigned char radix[24]; /* of WI_FFT_STAGES_OF and WI_FFT_SPECTRUM; 0 after the last */
} wi_fft_table_key;

/* Groups of WI_FFT_SUMS, of so many m each. */
static inline size_t wi_fft_sums_groups(size_t n, size_t each) {
    return (n / 2 + each) / each;
}

/* Finds or makes a table. */
weft_status wi_fft_table(weft_context *ctx, const wi_fft_table_key *key, const void **table);

/* Numbers of the first part of WI_FFT_POWERS: a power of 2. */
size_t wi_fft_powers_part(size_t period);

#ifdef __cplusplus
}
#endif
#endif
