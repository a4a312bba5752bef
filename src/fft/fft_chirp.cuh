/* SPDX-License-Identifier: Apache-2.0 */
/* Convolutions of lines of M numbers with the same spectrum in shared memory: a transform F, the
 * product with the spectrum S, and the inverse F' without its factor 1 / M. F'(v) is computed as
 * conj(F(conj(v))), but for the last conjugates. As nobody asks in which order S F(x) lies, both
 * transforms are in place. With radices R1, R2, ... and m1 = M / R1, m2 = m1 / R2, ... stage t of
 * the first one does for j < mt, k < Rt and i a multiple of Rt mt
 *
 *     x(i + j + k mt) = w(Rt mt)^(j k) sum over q < Rt of x(i + j + q mt) w(Rt)^(q k),
 *
 * and those of the second one do the same backwards: the product first, then the sum. The last
 * stage of the first, the product with S and the first stage of the second have the same sets of
 * numbers, so that nothing is exchanged between them. A stage ends with one barrier. */
#ifndef WI_FFT_CHIRP_CUH
#define WI_FFT_CHIRP_CUH

#include "fft/fft_cuda.h"
#include "fft/fft_shape.cuh"

/* Of R numbers of which the second half is zeros. */
template <int R, class T>
__device__ __forceinline__ void wi_fft_half_butterfly(T *re, T *im) {
    if constexpr (R == 8)
        wi_fft_butterfly_half_8(re, im);
    if constexpr (R == 16)
        wi_fft_butterfly_half_16(re, im);
    if constexpr (R == 32)
        wi_fft_butterfly_half_32(re, im);
}

/* M, the product of the radices; so many numbers, threads, and blocks of a multiprocessor. */
template <class T, int points, int threads_, int blocks_, int... radices>
struct wi_fft_chirp_shape {
    using Type = T;
    using number = wi_fft_number<T>;
    static constexpr unsigned threads = threads_, blocks = blocks_, n = (1 * ... * radices),
                              stages = sizeof...(radices), lines = points / n;
    using Lines = wi_fft_fixed<(int)lines>;
    static constexpr unsigned radix[] = {radices...};
    static constexpr unsigned last = radix[stages - 1];
    static constexpr unsigned gap = last % 2 == 1               ? 0
                                    : wi_fft_gap<T> % last == 0 ? wi_fft_gap<T>
                                                                : last;
    static constexpr unsigned pitch = wi_fft_pitch_of<T, gap>(n, lines);
    static constexpr size_t bytes = (size_t)lines * pitch * sizeof(number);

    /* The distance of stage k's numbers, and where its twiddles begin: the last stage has none, and
     * those before follow, as in tables for the same radices backwards. */
    static __host__ __device__ constexpr unsigned distance(unsigned k) {
        unsigned m = 1;
        for (unsigned i = k + 1; i < stages; i++)
            m *= radix[i];
        return m;
    }
    static __host__ __device__ constexpr unsigned twiddles(unsigned k) {
        unsigned at = 0;
        for (unsigned i = k + 1; i + 1 < stages; i++)
            at += (radix[i] - 1) * distance(i);
        return at;
    }
};

/* `Ends` loads the sets of the first stage, and transforms them, and stores those of the last one;
 * it knows the spectrum of a line, in the order of sets of the last radix, and how far apart
 * numbers of a set are there. If it `adds`, it sees the first number of each set before the
 * product, and tells what is added after it. */
template <class Shape, class Ends>
struct wi_fft_chirper {
    using T = typename Shape::Type;
    using number = wi_fft_number<T>;
    const Ends &ends;
    number *numbers; /* shared */
    const number *twiddles;

    /* Where a set of stage k begins: its number r in a line. Number q is wi_fft_spread(q m) on. */
    template <unsigned k>
    __device__ __forceinline__ number *set_at(unsigned line, unsigned r) const {
        constexpr unsigned R = Shape::radix[k], m = Shape::distance(k);
        static_assert(wi_fft_writes_apart(Shape::gap, m, R), "places of a set are sums");
        const unsigned j = r % m, first = (r - j) * R + j;
        return numbers + line * Shape::pitch + wi_fft_spread<Shape::gap>(first);
    }
    template <unsigned k>
    __device__ __forceinline__ void fetch(const number *set, T *re, T *im) const {
        constexpr unsigned R = Shape::radix[k], m = Shape::distance(k);
#pragma unroll
        for (unsigned q = 0; q < R; q++) {
            const number v = set[wi_fft_spread<Shape::gap>(q * m)];
            re[q] = v.re;
            im[q] = v.im;
        }
    }
    template <unsigned k>
    __device__ __forceinline__ void keep(number *set, const T *re, const T *im) const {
        constexpr unsigned R = Shape::radix[k], m = Shape::distance(k);
#pragma unroll
        for (unsigned q = 0; q < R; q++)
            set[wi_fft_spread<Shape::gap>(q * m)] = {re[q], im[q]};
    }

    /* Multiplies by w^q, w = w(R m)^j. Not all powers are read if there are many, for which tables
     * of 60 KB would come from the second-level cache for each line: they are products of up to
     * three of w, w^4, w^8, w^16. */
    template <unsigned k>
    __device__ __forceinline__ void turn(unsigned j, T *re, T *im) const {
        constexpr unsigned R = Shape::radix[k], m = Shape::distance(k);
        constexpr bool by_powers = R >= 16 && R * m >= 3072;
        const number *const w = twiddles + Shape::twiddles(k) + j;
        number low[4], high[R / 4 > 0 ? R / 4 : 1];
        if constexpr (by_powers) {
            low[1] = w[0];
            low[2] = wi_fft_product(low[1], low[1]);
            low[3] = wi_fft_product(low[2], low[1]);
#pragma unroll
            for (unsigned a = 1; a < R / 4; a++) {
                const unsigned part = a >= 4 ? 4 : a >= 2 ? 2 : 1; /* a power of 2 */
                high[a] =
                    a == part ? w[(4 * a - 1) * m] : wi_fft_product(high[part], high[a - part]);
            }
        }
#pragma unroll
        for (unsigned q = 1; q < R; q++) {
            number by;
            if constexpr (by_powers)
                by = q < 4        ? low[q]
                     : q % 4 == 0 ? high[q / 4]
                                  : wi_fft_product(high[q / 4], low[q % 4]);
            else
                by = w[(q - 1) * m];
            const number v = wi_fft_product(number{re[q], im[q]}, by);
            re[q] = v.re;
            im[q] = v.im;
        }
    }

    /* Calls work(line, r) for each set of R numbers, r < M / R, that is this thread's. */
    template <int R, class Work>
    __device__ __forceinline__ void each(bool by_lines, const Work &work) const {
        constexpr unsigned m = Shape::n / R, count = Shape::lines * m;
        constexpr unsigned turns = (count + Shape::threads - 1) / Shape::threads;
        /* twice the code of large radices takes longer to fetch than it saves */
#pragma unroll(R >= 14 ? 1 : turns)
        for (unsigned i = 0; i < turns; i++) {
            unsigned line, r;
            const unsigned b = threadIdx.x + i * Shape::threads;
            line = by_lines ? b % Shape::lines : b / m;
            r = by_lines ? b / Shape::lines : b % m;
            if ((i + 1) * Shape::threads <= count || b < count)
                work(line, r);
        }
    }

    /* Stages k, k + 1, ... of F, and then those of F' back to stage k. */
    template <unsigned k>
    __device__ __forceinline__ void run() const {
        constexpr int R = Shape::radix[k];
        constexpr unsigned m = Shape::distance(k);
        each<R>(k == 0 && ends.lines_in(), [&](unsigned line, unsigned r) {
            T re[R], im[R];
            number *const set = set_at<k>(line, r);
            if constexpr (k == 0) {
                ends.template load<R>(line, r, re, im);
            } else {
                fetch<k>(set, re, im);
                wi_fft_butterfly<R>(re, im);
            }
            if constexpr (k + 1 < Shape::stages)
                turn<k>(r % m, re, im);
            else
                turn_round<R>(line, r, re, im);
            keep<k>(set, re, im);
        });
        __syncthreads();
        if constexpr (k + 1 < Shape::stages) {
            run<k + 1>();
            each<R>(k == 0 && ends.lines_out(), [&](unsigned line, unsigned r) {
                T re[R], im[R];
                number *const set = set_at<k>(line, r);
                fetch<k>(set, re, im);
                turn<k>(r % m, re, im);
                wi_fft_butterfly<R>(re, im);
                if constexpr (k == 0)
                    ends.template store<R>(line, r, re, im);
                else
                    keep<k>(set, re, im);
            });
            if constexpr (k > 0)
                __syncthreads();
        }
    }

    /* The product with S, which is told in the order of these sets, and the first sums of F', of
     * conjugates. */
    template <int R>
    __device__ __forceinline__ void turn_round(unsigned line, unsigned r, T *re, T *im) const {
        const number *const spectrum = ends.spectrum_of(line) + r;
        number more = {0, 0};
        if constexpr (Ends::adds)
            more = ends.meet(line, r, {re[0], im[0]});
#pragma unroll
        for (int q = 0; q < R; q++) {
            number v = wi_fft_product(number{re[q], im[q]}, spectrum[(unsigned)q * ends.apart()]);
            if (Ends::adds && q == 0)
                v = {v.re + more.re, v.im + more.im};
            re[q] = v.re;
            im[q] = -v.im;
        }
        wi_fft_butterfly<R>(re, im);
    }
};

/* The chirp, and its spectrum of m numbers in the order in which sets of the last stage want it. */
weft_status wi_fft_chirp_tables(weft_context *ctx, const wi_fft_lines *l, size_t m,
                                const unsigned *radix, unsigned stages, const void **chirp,
                                const void **spectrum);

#endif
