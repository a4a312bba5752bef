/* SPDX-License-Identifier: Apache-2.0 */
/* BLAS level 1. */
#include <float.h>
#include <math.h>

#include "blas.h"

enum {
    LANES = 16 /* of a dot product: sums that a compiler can keep in vectors */
};

#define REAL double
#define TYPE WEFT_F64
#define LOCAL(name) name##_f64
#define FORTRAN(name) d##name##_
#define FORTRAN_I(name) id##name##_
#define CBLAS(name) cblas_d##name
#define CBLAS_I(name) cblas_id##name
#define ROOT sqrt
#define SIZE fabs
#define LEAST_SQUARE 1e-280
#define MOST_SQUARE 1e300
#define LEAST_NORMAL DBL_MIN
#include "level1.inc"

#define REAL float
#define TYPE WEFT_F32
#define LOCAL(name) name##_f32
#define FORTRAN(name) s##name##_
#define FORTRAN_I(name) is##name##_
#define CBLAS(name) cblas_s##name
#define CBLAS_I(name) cblas_is##name
#define ROOT sqrtf
#define SIZE fabsf
#define LEAST_SQUARE 1e-30f
#define MOST_SQUARE 1e36f
#define LEAST_NORMAL FLT_MIN
#include "level1.inc"

/* Products of f32, added up in f64. */
static double wide_dot(int n, const float *x, int incx, const float *y, int incy, double sum) {
    x += wb_start(n, incx);
    y += wb_start(n, incy);
    for (ptrdiff_t i = 0; i < n; i++)
        sum += (double)x[i * incx] * (double)y[i * incy];
    return sum;
}

WB_EXPORT double dsdot_(const int *n, const float *x, const int *incx, const float *y,
                        const int *incy) {
    return wide_dot(*n, x, *incx, y, *incy, 0);
}
WB_EXPORT double cblas_dsdot(int n, const float *x, int incx, const float *y, int incy) {
    return wide_dot(n, x, incx, y, incy, 0);
}
WB_EXPORT float sdsdot_(const int *n, const float *b, const float *x, const int *incx,
                        const float *y, const int *incy) {
    return (float)wide_dot(*n, x, *incx, y, *incy, *b);
}
WB_EXPORT float cblas_sdsdot(int n, float b, const float *x, int incx, const float *y, int incy) {
    return (float)wide_dot(n, x, incx, y, incy, b);
}
