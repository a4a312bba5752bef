/* SPDX-License-Identifier: Apache-2.0 */
/* fft: discrete Fourier transforms. */
#ifndef WEFT_FFT_H
#define WEFT_FFT_H

#include "weft/core.h"

#ifdef __cplusplus
extern "C" {
#endif

enum {
    WEFT_FFT_DIMENSIONS = 3 /* of a transform, at most */
};

/* What is transformed into what. */
typedef enum weft_fft_kind {
    WEFT_FFT_COMPLEX = 0,     /* complex to complex, of the same lengths */
    WEFT_FFT_REAL_TO_COMPLEX, /* forward; only elements 0 to n / 2 of the last dimension are kept */
    WEFT_FFT_COMPLEX_TO_REAL  /* inverse, of what the former gives */
} weft_fft_kind;

typedef enum weft_fft_direction {
    WEFT_FFT_FORWARD = 0, /* exp(-2 pi i j k / n) */
    WEFT_FFT_INVERSE      /* exp(+2 pi i j k / n) */
} weft_fft_direction;

/* How the arrays of a transform are divided over the ranks of place mpi; elsewhere there is one
 * rank, which has everything. 0: along dimension 0. */
enum {
    WEFT_FFT_TRANSPOSED_X = 1, /* x is divided along dimension 1 */
    WEFT_FFT_TRANSPOSED_Y = 2, /* y is divided along dimension 1: an exchange less */
    WEFT_FFT_OWN = 4           /* nothing is divided: each rank has whole transforms, any number */
};

/* A transform. All members that are 0 have a meaning, so that an initializer can leave them out.
 * Distances are in elements of the array, which are real or complex numbers. */
typedef struct weft_fft_description {
    weft_type type; /* f64, f32 or f16: of real numbers, and of each part of complex ones */
    weft_fft_kind kind;
    weft_fft_direction direction; /* of WEFT_FFT_COMPLEX; the other kinds have theirs */
    unsigned rank;                /* dimensions: 1 to 3 */
    size_t
        n[WEFT_FFT_DIMENSIONS]; /* lengths, of real numbers if one side is real; those of the last
                                   dimension are next to each other unless strides are given */
    size_t batch;               /* how many transforms: 1 for one; with 0 nothing is done */
    double scale;               /* what results are multiplied by; 0 means 1 */
    size_t stride_x[WEFT_FFT_DIMENSIONS]; /* from an index of a dimension to the next; all 0: no
                                             gaps, last dimension fastest */
    size_t stride_y[WEFT_FFT_DIMENSIONS];
    size_t apart_x; /* from one transform of the batch to the next; 0: no gaps */
    size_t apart_y;
    unsigned layout; /* WEFT_FFT_TRANSPOSED_X ...; see weft_fft */
    size_t part_x;   /* how many indices of the divided dimension this rank has; 0 on all ranks:
                        equal parts */
    size_t part_y;
} weft_fft_description;

/* Transforms x into y: with n the product of the lengths and s the scale, in one dimension
 *
 *     forward: y(k) = s sum over j of x(j) exp(-2 pi i j k / n)
 *     inverse: y(k) = s sum over j of x(j) exp(+2 pi i j k / n)
 *
 * and in more dimensions the same along each. An inverse after a forward transform gives n x; pass
 * scale = 1 / n to one of them to get x.
 *
 * A complex number is its real and then its imaginary part, as in C and in C++; arrays of them
 * begin at a multiple of its size. Real input has a transform with y(n - k) = conj(y(k)) (in each
 * dimension at once), so WEFT_FFT_REAL_TO_COMPLEX writes only elements 0 to n / 2 of the last
 * dimension, and WEFT_FFT_COMPLEX_TO_REAL reads only these; it ignores the imaginary parts of
 * element 0 and, if the last length is even, of element n / 2 of one-dimensional transforms.
 *
 * Lengths may be any numbers of at least 1: those with prime factors up to 13, on a GPU 31,
 * take about n log n operations, and others are computed by a convolution (Bluestein's algorithm)
 * of two to four times their length. The rms error of a result, relative to its rms size, is about
 * eps sqrt(log2 n), where eps is 2^-24 or 2^-53: twiddle factors are rounded from long double. A
 * call gives the same bits each time on the same place with the same variant.
 *
 * y may be x. Then complex transforms have the same strides and distances in both; of real ones
 * rows begin at the same addresses: strides of real numbers are twice those of complex ones, and
 * those of the last dimension are 1. Without strides the row of real numbers is then taken to have
 * 2 (n / 2 + 1) elements, as it must. Else x and y share no memory, and x is left as it was.
 * Elements of y must not share addresses; what lies between them is left as it was.
 *
 * f16 is how numbers are stored: all arithmetic is that of f32, also between dimensions, and each
 * result is rounded to f16 once. A result of more than 65504 becomes infinite and one of less than
 * 2^-14 loses bits; `scale` is applied before that, so 1 / n or 1 / sqrt(n) in the forward
 * transform keeps results in range. Arrays of f16 begin at a multiple of 4 bytes.
 *
 * Over ranks (place mpi) every rank passes the same lengths n, those of the whole, and its own part
 * of x and y: consecutive indices of dimension 0, in the order of the ranks, and all of the other
 * dimensions. part_x and part_y say how many; they may differ from rank to rank, and be 0. If all
 * ranks pass 0 the parts are as equal as can be: rank r of p begins at index n r / p, rounded down.
 * With WEFT_FFT_TRANSPOSED_X or _Y in `layout` that array is divided along dimension 1 instead (of
 * the complex side: n / 2 + 1 indices if that is the last one). Leaving y so, and giving it to the
 * inverse transform as x, spares each an exchange; real arrays are always divided along dimension
 * 0. Strides are those of the rank's part; those left out mean a part without gaps. One line is not
 * divided: a description of one dimension needs WEFT_FFT_OWN, with which each rank transforms
 * lines, planes or boxes of its own, `batch` of them, and nothing is exchanged. Results have the
 * bits that one place of the same kind gives, but for two cases: x is divided along dimension 1,
 * and so its dimensions are transformed in another order; or strides of real numbers are odd in the
 * parts and even in the whole, or the reverse.
 *
 * Arrays may be host or device memory, mixed freely; with both on the device the call is queued on
 * the context's stream. Tables of twiddle factors are made at the first call for a length and kept
 * in the context; on a cpu so is scratch memory, up to 256 MiB. */
WEFT_API weft_status weft_fft(weft_context *ctx, const weft_fft_description *d, const void *x,
                              void *y);

/* Makes the tables that a call with this description needs, so that weft_fft does not have to. Over
 * ranks all of them call it, each with the description that it will pass to weft_fft. On a place of
 * several GPUs tables are made for calls that go to all of them and for those that go to the first.
 */
WEFT_API weft_status weft_fft_prepare(weft_context *ctx, const weft_fft_description *d);

/* Sets *x_bytes and *y_bytes to the sizes of the arrays that a call with x != y needs, and
 * *scratch_bytes to the temporary memory of the place that it takes besides, tables excluded. Each
 * pointer may be NULL. Over ranks all of them call it, and each learns what it needs itself, blocks
 * that are exchanged included; on a place of several GPUs *scratch_bytes is the most that one of
 * them takes. */
WEFT_API weft_status weft_fft_bytes(weft_context *ctx, const weft_fft_description *d,
                                    size_t *x_bytes, size_t *y_bytes, size_t *scratch_bytes);

#ifdef __cplusplus
}
#endif
#endif
