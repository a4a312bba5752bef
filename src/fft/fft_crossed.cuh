/* SPDX-License-Identifier: Apache-2.0 */
/* Transforms of which the first stage goes over the B blocks of a cluster: each block loads its
 * share of all sets, and hands group k of the results to block k, which does the rest alone. There
 * are three stages, and two exchanges. Either
 *
 *     lines: of B R1 R2 R3 numbers, of which the first stage has radix B R1, or
 *     rows:  B = 4 of R1 R2 R3 numbers, n / 4 apart in a plane of n rows. The first stage has radix
 *            4 from row to row, the first one of their columns, and R1 in each; so columns of n / 4
 *            numbers are left. Rows of result k are turned by w(n)^(k r).
 *
 * A thread has B R1 numbers of the first stage. What it hands over lies set by set, result by
 * result of a group, so that a warp's messages are one piece, and a warp of the second stage reads
 * such pieces. */
#ifndef WI_FFT_CROSSED_CUH
#define WI_FFT_CROSSED_CUH

#include "cuda/bulk.cuh"
#include "cuda/cluster.cuh"
#include "cuda/prefetch.cuh"
#include "fft/fft_butterfly_64.cuh"
#include "fft/fft_cut.cuh"

template <bool is_line_, unsigned blocks_, unsigned resident_, int R1_, int R2_, int R3_>
struct wi_fft_crossed_shape {
    using number = wi_fft_number<float>;
    static constexpr bool is_line = is_line_;
    static constexpr unsigned blocks = blocks_, resident = resident_;
    static constexpr int R1 = R1_, R2 = R2_, R3 = R3_;
    static constexpr unsigned own = R1 * R2 * R3, width = own / R1; /* sets of stage 1 */
    static constexpr unsigned threads = width / blocks;
    static constexpr unsigned before = is_line ? blocks * R1 : R1, n = before * R2 * R3;
    static constexpr unsigned radix[] = {before, (unsigned)R2, (unsigned)R3};
    static constexpr unsigned pitch = R1 * R2 + 1; /* of what stage 3 takes at once */
    static constexpr size_t bytes = R3 * pitch * sizeof(number);
    template <int R>
    static constexpr int sets = (int)(own / R / threads);
    static_assert(sets<R2> * R2 * threads == own && sets<R3> * R3 * threads == own, "equal sets");
};

struct wi_fft_crossed_rows {
    size_t in, out; /* numbers from one of four rows to the next */
};

template <class Shape>
struct wi_fft_crossed_block {
    using number = wi_fft_number<float>;
    static constexpr int R1 = Shape::R1, R2 = Shape::R2, R3 = Shape::R3;
    static constexpr int all = (int)Shape::blocks * R1;
    const wi_fft_pass<float> &p;
    const wi_fft_place &at;
    const wi_fft_crossed_rows &rows;
    number *numbers; /* shared */
    wi_barrier *arrived;
    unsigned rank;

    __device__ __forceinline__ void first_stage() const {
        const unsigned j = rank * Shape::threads + threadIdx.x;
        const number *const x = p.x + at.in + j;
        float re[all], im[all];
        number v[all];
#pragma unroll
        for (unsigned k = 0; k < Shape::blocks; k++)
#pragma unroll
            for (unsigned i = 0; i < (unsigned)R1; i++)
                v[k * R1 + i] = Shape::is_line ? x[(k * R1 + i) * Shape::width]
                                               : x[k * rows.in + i * Shape::width];
#pragma unroll
        for (int k = 0; k < all; k++) {
            re[k] = v[k].re;
            im[k] = v[k].im * p.sign_in;
        }
        if constexpr (Shape::is_line) {
            wi_fft_butterfly_of<all>(re, im);
        } else {
#pragma unroll
            for (int i = 0; i < R1; i++) {
                float r[4] = {re[i], re[R1 + i], re[2 * R1 + i], re[3 * R1 + i]};
                float m[4] = {im[i], im[R1 + i], im[2 * R1 + i], im[3 * R1 + i]};
                wi_fft_butterfly<4>(r, m);
#pragma unroll
                for (int k = 0; k < 4; k++) {
                    re[k * R1 + i] = r[k];
                    im[k * R1 + i] = m[k];
                }
            }
#pragma unroll
            for (int k = 0; k < 4; k++)
                wi_fft_butterfly<R1>(re + k * R1, im + k * R1);
        }
        wi_cluster_wait();
#pragma unroll
        for (unsigned k = 0; k < (unsigned)all; k++)
            wi_fft_send(numbers + k % R1 * Shape::width + j, number{re[k], im[k]}, arrived, k / R1);
    }

    template <int R>
    __device__ __forceinline__ void turn(const number *table, unsigned apart, float *re,
                                         float *im) const {
        wi_fft_few<R, float> few;
        few.load(table, apart);
#pragma unroll
        for (int k = 1; k < R; k++) {
            const number v = wi_fft_product(number{re[k], im[k]}, few.at(k));
            re[k] = v.re;
            im[k] = v.im;
        }
    }
    template <int R>
    __device__ __forceinline__ void fetch(const number *from, unsigned step, float *re,
                                          float *im) const {
#pragma unroll
        for (int k = 0; k < R; k++) {
            const number v = from[(unsigned)k * step];
            re[k] = v.re;
            im[k] = v.im;
        }
    }

    /* Result i of the first stage's, of all blocks'. */
    __device__ __forceinline__ unsigned whole(unsigned i) const {
        return Shape::is_line ? rank * R1 + i : i;
    }

    __device__ __forceinline__ void second_stage() const {
        constexpr int sets = Shape::template sets<R2>;
        float re[sets][R2], im[sets][R2];
#pragma unroll
        for (int s = 0; s < sets; s++) {
            const unsigned b = threadIdx.x + (unsigned)s * Shape::threads, i = b / R3, j = b % R3;
            fetch<R2>(numbers + i * Shape::width + j, R3, re[s], im[s]);
            turn<R2>(p.twiddles + whole(i), Shape::before, re[s], im[s]);
            wi_fft_butterfly_of<R2>(re[s], im[s]);
        }
        __syncthreads();
#pragma unroll
        for (int s = 0; s < sets; s++) {
            const unsigned b = threadIdx.x + (unsigned)s * Shape::threads, i = b / R3, j = b % R3;
#pragma unroll
            for (int k = 0; k < R2; k++)
                numbers[j * Shape::pitch + i + (unsigned)(k * R1)] = {re[s][k], im[s][k]};
        }
        __syncthreads();
    }

    __device__ __forceinline__ void last_stage() const {
#pragma unroll
        for (int s = 0; s < Shape::template sets<R3>; s++) {
            const unsigned b = threadIdx.x + (unsigned)s * Shape::threads;
            const unsigned j = b / R1 * Shape::before + whole(b % R1);
            float re[R3], im[R3];
            fetch<R3>(numbers + b, Shape::pitch, re, im);
            turn<R3>(p.twiddles + (R2 - 1) * Shape::before + j, Shape::before * R2, re, im);
            wi_fft_butterfly_of<R3>(re, im);
            store(j, re, im);
        }
    }
    __device__ __forceinline__ void store(unsigned j, const float *re, const float *im) const {
        constexpr unsigned step = Shape::before * R2;
        if constexpr (Shape::is_line) {
            number *const y = p.y + at.out + j;
#pragma unroll
            for (unsigned k = 0; k < (unsigned)R3; k++)
                y[k * step] = {re[k] * p.scale_re, im[k] * p.scale_im};
        } else {
            number *const y = p.y + at.out + rank * rows.out + j;
            const number w = p.circle.template at<float>((size_t)at.first * rank);
#pragma unroll
            for (unsigned k = 0; k < (unsigned)R3; k++)
                y[k * step] = wi_fft_product(number{re[k], im[k]}, w);
        }
    }
};

/* A quarter of what the cluster `ahead` blocks on reads. */
template <class Shape>
static __device__ __forceinline__ void
wi_fft_crossed_ahead(const wi_fft_pass<float> &p, const wi_fft_crossed_rows &rows, unsigned rank) {
    const unsigned block = blockIdx.x + p.ahead;
    if (p.ahead == 0 || block >= gridDim.x)
        return;
    const wi_fft_place at = wi_fft_place_of(p.grid, block / Shape::blocks, -1);
    wi_bulk_prefetch(p.x + at.in + rank * (Shape::is_line ? Shape::own : rows.in),
                     Shape::own * (uint32_t)sizeof(wi_fft_number<float>));
}

template <class Shape>
static __global__ void __launch_bounds__(Shape::threads, Shape::resident)
    wi_fft_crossed(const __grid_constant__ wi_fft_pass<float> p, wi_fft_crossed_rows rows) {
#if !defined(__CUDA_ARCH__) || __CUDA_ARCH__ >= 900
    WEFT_DYNAMIC_SHARED(shared);
    WEFT_SHARED(wi_barrier, arrived, );
    const unsigned rank = wi_cluster_rank();
    wi_fft_expect<float>(&arrived, Shape::own);
    wi_cluster_arrive_read();
    const wi_fft_place at = wi_fft_place_of(p.grid, blockIdx.x / Shape::blocks, -1);
    if (threadIdx.x == Shape::threads - 1)
        wi_fft_crossed_ahead<Shape>(p, rows, rank);
    const wi_fft_crossed_block<Shape> block = {p,        at,  rows, (wi_fft_number<float> *)shared,
                                               &arrived, rank};
    block.first_stage();
    wi_receive(&arrived, 0);
    block.second_stage();
    block.last_stage();
#endif
}

#endif
