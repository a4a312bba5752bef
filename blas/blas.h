/* SPDX-License-Identifier: Apache-2.0 */
/* What the files of libweft_blas share. Its routines are written once for f64 and f32, in .inc
 * files that use these macros: REAL, TYPE       the type of elements, in C and as weft has it
 *     LOCAL(name)      a function's name inside this library
 *     FORTRAN(name)    what Fortran calls a routine, as dgemv_
 *     CBLAS(name)      what C calls it, as cblas_dgemv
 *     NAMED(text)      its name in messages, "D" text; CNAMED(text) that of the one for C */
#ifndef WB_BLAS_H
#define WB_BLAS_H

#include <stdbool.h>
#include <stddef.h>

#include "weft/core.h"

#define WB_EXPORT __attribute__((visibility("default")))

/* ---- errors ---- */

/* Who was called: by which name, and from C or Fortran. */
typedef struct wb_caller {
    const char *name; /* "DGEMV ", padded to six letters, or "cblas_dgemv" */
    int layout;       /* of a call from C; 0: from Fortran */
} wb_caller;

/* Reports that argument number `info` of the Fortran routine is wrong. A caller from C gives the
 * order of elements first, so there it is the next one. */
void wb_wrong(wb_caller who, int info);

/* cblas.h's, of arguments that only C has. */
void wb_wrong_layout(const char *name, int layout);
void wb_wrong_option(const char *name, int position, const char *which, int value);

/* Was the latest wrong call one with matrices by rows? The reference library has this variable, and
 * its testers look at it: they expect the numbers of arguments that such a call has by columns. */
extern WB_EXPORT int RowMajorStrg;

/* They may be replaced by the program's own. */
WB_EXPORT void xerbla_(const char *name, const int *info, size_t length);
WB_EXPORT void cblas_xerbla(int position, const char *name, const char *format, ...);

/* ---- options ---- */

enum {
    WB_ROW_MAJOR = 101,
    WB_COLUMN_MAJOR = 102,
    WB_NO_TRANSPOSE = 111,
    WB_TRANSPOSE = 112,
    WB_CONJUGATE = 113,
    WB_UPPER = 121,
    WB_LOWER = 122,
    WB_NON_UNIT = 131,
    WB_UNIT = 132,
    WB_LEFT = 141,
    WB_RIGHT = 142
};

/* A letter as a capital one. */
static inline char wb_letter(char c) {
    return c >= 'a' && c <= 'z' ? (char)(c - 'a' + 'A') : c;
}
static inline bool wb_is_transpose(char c) {
    return c == 'N' || c == 'T' || c == 'C';
}

/* A letter for a constant of cblas.h, and what it is of the transposed matrix; 0 if it is none. */
static inline char wb_transpose_of(int trans, bool flipped) {
    if (trans == WB_NO_TRANSPOSE)
        return flipped ? 'T' : 'N';
    return trans != WB_TRANSPOSE && trans != WB_CONJUGATE ? 0 : flipped ? 'N' : 'T';
}
static inline char wb_triangle_of(int uplo, bool flipped) {
    return uplo != WB_UPPER && uplo != WB_LOWER ? 0 : (uplo == WB_UPPER) != flipped ? 'U' : 'L';
}
static inline char wb_side_of(int side, bool flipped) {
    return side != WB_LEFT && side != WB_RIGHT ? 0 : (side == WB_LEFT) != flipped ? 'L' : 'R';
}
static inline char wb_diagonal_of(int diag) {
    return diag == WB_UNIT ? 'U' : diag == WB_NON_UNIT ? 'N' : 0;
}

/* ---- places ---- */

/* A call of libweft, which returns its status. */
typedef weft_status wb_call(weft_context *ctx, const void *args);

/* Does a call of so much work pay the way into libweft? */
bool wb_is_large(double flops);

/* Makes the call where its work and the bytes it would copy to a GPU say; false: nothing was done,
 * as the call refuses its arguments or there is no memory. */
bool wb_run(double flops, double bytes, wb_call *call, const void *args);

/* ---- arrays ---- */

static inline int wb_most(int a, int b) {
    return a > b ? a : b;
}
static inline int wb_least(int a, int b) {
    return a < b ? a : b;
}

/* Elements from the pointer that BLAS is given to element 0 of a vector. */
static inline ptrdiff_t wb_start(int n, int inc) {
    return inc < 0 ? (ptrdiff_t)(1 - n) * inc : 0;
}

#endif
