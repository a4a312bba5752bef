/* SPDX-License-Identifier: Apache-2.0 */
/* Lines of a prime n in one kernel (Rader's algorithm): with a primitive root g,
 *
 *     X(g^k) = x(0) + sum over q < n - 1 of x(g^-q) w(n)^(g^(k - q)),
 *
 * a cyclic convolution of n - 1 numbers, where a chirp needs one of 2 n - 1 or more. Its spectrum
 * at 0 is the sum of all x but x(0); what is added there after the product is added to all
 * results. Lines are copied to shared memory as they are, for what is read and written then is all
 * over. */
#include "cuda/prefetch.cuh"
#include "fft/fft_ahead.cuh"
#include "fft/fft_chirp.cuh"

template <class T>
struct wi_fft_cyclic_params {
    wi_fft_pass<T> p;
    const uint32_t *from, *to; /* where number k comes from, and where it goes */
    bool copies_in, copies_out;
    const wi_fft_number<T> *spectrum;
};

template <class Shape>
struct cyclic_ends {
    using T = typename Shape::Type;
    using number = wi_fft_number<T>;
    static constexpr bool adds = true, is_narrow = sizeof(T) == 4; /* arrays may be f16 */
    static constexpr unsigned n = Shape::n + 1, count = n * Shape::lines, threads = Shape::threads;
    const wi_fft_cyclic_params<T> &c;
    const wi_fft_place &at;
    number *lines; /* shared */

    static constexpr __device__ bool lines_in() {
        return false;
    }
    static constexpr __device__ bool lines_out() {
        return false;
    }
    __device__ __forceinline__ const number *spectrum_of(unsigned) const {
        return c.spectrum;
    }
    static constexpr __device__ unsigned apart() {
        return Shape::n / Shape::last;
    }

    /* Lines that lie one after the other are one piece, as in shared memory. */
    __device__ __forceinline__ void copy_in() const {
        constexpr unsigned each = (count + threads - 1) / threads;
        const unsigned there = at.lines * n;
        const number *const from = c.p.x + at.in;
        number v[each];
#pragma unroll
        for (unsigned q = 0; q < each; q++) {
            const unsigned b = threadIdx.x + q * threads;
            v[q] = from[b < there ? b : 0];
        }
#pragma unroll
        for (unsigned q = 0; q < each; q++) {
            const unsigned b = threadIdx.x + q * threads;
            if ((q + 1) * threads <= count || b < count)
                lines[b] = {v[q].re, v[q].im * c.p.sign_in};
        }
    }
    __device__ __forceinline__ void copy_out() const {
        const unsigned there = at.lines * n;
        number *const to = c.p.y + at.out;
#pragma unroll
        for (unsigned q = 0; q * threads < count; q++) {
            const unsigned b = threadIdx.x + q * threads;
            if (b < there) {
                const number v = lines[b];
                to[b] = {v.re * c.p.scale_re, v.im * c.p.scale_im};
            }
        }
    }

    /* Number b of other lines. */
    __device__ __forceinline__ void find(unsigned b, bool by_lines, unsigned *line,
                                         unsigned *i) const {
        *line = by_lines ? b % Shape::lines : b / n;
        *i = by_lines ? b / Shape::lines : b % n;
    }
    __device__ __forceinline__ void gather() const {
#pragma unroll 1
        for (unsigned b = threadIdx.x; b < count; b += threads) {
            unsigned line, i;
            find(b, c.p.lines_in, &line, &i);
            const number v = wi_fft_number_at<T>(
                c.p.x, is_narrow && c.p.half_in,
                at.in + (line < at.lines ? line * c.p.near_in + i * c.p.stride_in : 0));
            lines[line * n + i] = {v.re, v.im * c.p.sign_in};
        }
    }
    __device__ __forceinline__ void scatter() const {
#pragma unroll 1
        for (unsigned b = threadIdx.x; b < count; b += threads) {
            unsigned line, i;
            find(b, c.p.lines_out, &line, &i);
            const number v = lines[line * n + i];
            if (line < at.lines)
                wi_fft_set_number<T>(c.p.y, is_narrow && c.p.half_out,
                                     at.out + line * c.p.near_out + i * c.p.stride_out,
                                     {v.re * c.p.scale_re, v.im * c.p.scale_im});
        }
    }

    template <int R>
    __device__ __forceinline__ void load(unsigned line, unsigned j, T *re, T *im) const {
#pragma unroll
        for (int k = 0; k < R; k++) {
            const number v = lines[line * n + c.from[j + (unsigned)k * (Shape::n / R)]];
            re[k] = v.re;
            im[k] = v.im;
        }
        wi_fft_butterfly<R>(re, im);
    }
    /* Stores the sum of a line as its first result. */
    __device__ __forceinline__ number meet(unsigned line, unsigned r, number sum) const {
        if (r > 0)
            return {0, 0};
        const number first = lines[line * n];
        lines[line * n] = {first.re + sum.re, first.im + sum.im};
        return first;
    }
    template <int R>
    __device__ __forceinline__ void store(unsigned line, unsigned j, const T *re,
                                          const T *im) const {
#pragma unroll
        for (int k = 0; k < R; k++)
            lines[line * n + c.to[j + (unsigned)k * (Shape::n / R)]] = {re[k], -im[k]};
    }
};

template <class Shape>
static __global__ void __launch_bounds__(Shape::threads, Shape::blocks)
    cyclic_line(const __grid_constant__ wi_fft_cyclic_params<typename Shape::Type> c) {
    using number = typename Shape::number;
    using Ends = cyclic_ends<Shape>;
    WEFT_DYNAMIC_SHARED(shared);
    if (threadIdx.x == Shape::threads - 1)
        wi_fft_look_ahead(c.p, Shape::n + 1);
    const wi_fft_place at = wi_fft_place_of(c.p.grid, blockIdx.x, c.p.turning);
    const Ends ends = {c, at, (number *)(shared + Shape::bytes)};
    const wi_fft_chirper<Shape, Ends> worker = {ends, (number *)shared, c.p.twiddles};
    if (c.copies_in)
        ends.copy_in();
    else
        ends.gather();
    __syncthreads();
    worker.template run<0>();
    __syncthreads();
    if (c.copies_out)
        ends.copy_out();
    else
        ends.scatter();
}

/* ---- launches ---- */

template <class Shape>
static weft_status tell_tables(weft_context *ctx, wi_fft_cyclic_params<typename Shape::Type> *c,
                               weft_type type) {
    wi_fft_table_key order = {}, whole = {};
    const void *places = NULL, *spectrum = NULL;
    order.kind = WI_FFT_ORDER;
    order.type = WEFT_F32; /* as many bytes */
    whole.kind = WI_FFT_CYCLIC;
    whole.type = type;
    order.n = whole.n = Shape::n + 1;
    whole.part = Shape::n;
    for (unsigned k = 0; k < Shape::stages; k++)
        whole.radix[k] = (unsigned char)Shape::radix[k];
    weft_status status = wi_fft_table(ctx, &order, &places);
    if (status == WEFT_OK)
        status = wi_fft_table(ctx, &whole, &spectrum);
    c->from = (const uint32_t *)places;
    c->to = c->from + order.n;
    c->spectrum = (const wi_fft_number<typename Shape::Type> *)spectrum;
    return status;
}

/* Without `queues` only the tables are made. */
template <class Shape>
static weft_status run_cyclic(weft_context *ctx, const wi_fft_lines *l, bool queues) {
    using number = typename Shape::number;
    wi_fft_cyclic_params<typename Shape::Type> c = {};
    wi_fft_lines convolved = *l;
    unsigned blocks = 0, backwards[Shape::stages];
    convolved.n = Shape::n;
    for (unsigned k = 0; k < Shape::stages; k++)
        backwards[k] = Shape::radix[Shape::stages - 1 - k];
    weft_status status = wi_fft_pass_of(ctx, &convolved, backwards, Shape::stages, Shape::lines,
                                        &c.p, queues ? &blocks : NULL);
    if (status == WEFT_OK)
        status = tell_tables<Shape>(ctx, &c, l->type);
    if (status != WEFT_OK || !queues)
        return status;
    const bool has_next = l->loops.used > 0;
    c.copies_in = !l->half_in && l->stride_in == 1 && (!has_next || l->loops.in[0] == l->n);
    c.copies_out = !l->half_out && l->stride_out == 1 && (!has_next || l->loops.out[0] == l->n);
    c.p.ahead = wi_fft_ahead_of(ctx, l, Shape::lines);
    const size_t bytes = Shape::bytes + (Shape::n + 1) * Shape::lines * sizeof(number);
    return WEFT_LAUNCH(cyclic_line<Shape>, ctx, blocks, Shape::threads, bytes, c);
}

bool wi_fft_is_cyclic(const wi_fft_lines *l) {
    return l->n == 1021 && l->period == 0;
}

weft_status wi_fft_cyclic_line(weft_context *ctx, const wi_fft_lines *l, bool queues) {
    return l->type == WEFT_F64
               ? run_cyclic<wi_fft_chirp_shape<double, 1020, 64, 6, 6, 10, 17>>(ctx, l, queues)
               : run_cyclic<wi_fft_chirp_shape<float, 2040, 160, 5, 4, 15, 17>>(ctx, l, queues);
}
