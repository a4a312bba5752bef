/* SPDX-License-Identifier: Apache-2.0 */
/* Decimal numbers: reading gives the nearest double, and writing gives text that reads back as the
 * same double, in any locale. */
#ifndef WI_DECIMAL_H
#define WI_DECIMAL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#ifdef __cplusplus
extern "C" {
#endif

enum {
    WI_DECIMAL_BYTES = 32 /* room for any double as text */
};

/* Eight characters, the first the lowest byte. */
static inline uint64_t wi_decimal_eight(const char *at) {
    uint64_t bytes;
    memcpy(&bytes, at, sizeof bytes);
#if __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__
    bytes = __builtin_bswap64(bytes);
#endif
    return bytes;
}

/* Reads the longest number that starts at `at`, before `end`: an optional sign, digits with at most
 * one point among or around them, and an optional exponent e+12 (e, E, or Fortran's d and D).
 * *value becomes the nearest double, ties to even; infinity if it is too large. Returns where the
 * number ends, or NULL if there is none. */
const char *wi_decimal_read(const char *at, const char *end, double *value);

/* Writes a finite value with the fewest digits, at least as %g would, that read back the same;
 * returns their length. */
size_t wi_decimal_write(double value, char out[WI_DECIMAL_BYTES]);

#ifdef __cplusplus
}
#endif
#endif
