/* SPDX-License-Identifier: Apache-2.0 */
/* The teaching rung `levels`: one launch for a level of the tree, one block for a front, which
 * stays in the device's memory. */
#include "sparse/chol_cuda.cuh"

constexpr int side = WI_PANEL;
constexpr int step_threads = wi_front_block<side>::threads;

/* One front, by one block of threads. */
struct wi_front_alone {
    const wi_device_chol &d;
    const wi_front_record &r;

    __device__ double *at(int i, int j) const {
        return wi_front_element<double>(d, r, i, j);
    }
    /* Calls work(i, j) for all elements with i >= j >= first. */
    template <class Work>
    __device__ void each(int height, int first, Work work) const {
        const int64_t rows = height - first;
        for (int64_t e = threadIdx.x; e < rows * rows; e += step_threads) {
            const int i = first + (int)(e % rows), j = first + (int)(e / rows);
            if (i >= j)
                work(i, j);
        }
        __syncthreads();
    }
    __device__ void assemble() const {
        each(r.height, r.columns, [&](int i, int j) { *at(i, j) = 0; });
        for (int k = 0; k < r.children; k++) {
            const wi_front_record c = d.front[d.child[r.child + k]];
            const int32_t *const to = d.relative + c.relative;
            each(c.height - c.columns, 0, [&](int i, int j) {
                *at(to[i], to[j]) += wi_front_update<double>(d, c)[i + (int64_t)j * c.ld_update];
            });
        }
    }
    /* Below the square of columns begin ... end - 1: a row for each thread. */
    __device__ void solve_below(int begin, int end) const {
        for (int i = end + (int)threadIdx.x; i < r.height; i += step_threads)
            for (int j = begin; j < end; j++) {
                double x = *at(i, j);
                for (int k = begin; k < j; k++)
                    x = wi_fma(-*at(i, k), *at(j, k), x);
                *at(i, j) = x / *at(j, j);
            }
        __syncthreads();
    }
    __device__ void subtract(int begin, int end) const {
        each(r.height, end, [&](int i, int j) {
            double x = *at(i, j);
            for (int k = begin; k < end; k++)
                x = wi_fma(-*at(i, k), *at(j, k), x);
            *at(i, j) = x;
        });
    }
};

__global__ void __launch_bounds__(step_threads) wi_factor_alone(wi_device_chol d, int first) {
    WEFT_SHARED(double, f, [side][side + 1]);
    WEFT_SHARED(double, line, [side]);
    WEFT_SHARED(double, corner, [2]);
    WEFT_SHARED(double, product, [side * side / 4]);
    const wi_front_record r = d.front[first + (int)blockIdx.x];
    const wi_front_alone front = {d, r};
    front.assemble();
    for (int begin = 0; begin < r.columns; begin += side) {
        const int width = r.columns - begin < side ? r.columns - begin : side;
        double *const l = wi_front_panel<double>(d, r) + (int64_t)begin * (r.ld + 1);
        for (int e = (int)threadIdx.x; e < side * side; e += step_threads) {
            const int i = e % side, j = e / side;
            f[j][i] = i >= j && i < width ? l[i + (int64_t)j * r.ld] : 0;
        }
        __syncthreads();
        const wi_front_block<side> block = {f, line, corner, width, width};
        const int done = block.run([&](int i, int j, double x) { l[i + (int64_t)j * r.ld] = x; });
        block.invert(product, done, [&](int i, int j, double x) { l[j + (int64_t)i * r.ld] = x; });
        if (done < width && threadIdx.x == 0)
            wi_chol_tell_failed(d, r.first + begin + done);
        __syncthreads();
        front.solve_below(begin, begin + width);
        front.subtract(begin, begin + width);
    }
}

weft_status wi_chol_alone_fronts(weft_context *ctx, const weft_chol *plan,
                                 const wi_chol_level *level) {
    const int fronts = wi_small_fronts(level) + level->large;
    return WEFT_LAUNCH(wi_factor_alone, ctx, (unsigned)fronts, step_threads, 0,
                       wi_chol_device_view(plan), level->first);
}
