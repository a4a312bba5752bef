/* SPDX-License-Identifier: Apache-2.0 */
/* random, the teaching rung: each thread makes a whole block for the one element it stores. */
#include "random/random_cuda.cuh"

__global__ void each_element(const __grid_constant__ wi_random_args args, unsigned size) {
    const size_t stride = (size_t)gridDim.x * blockDim.x;
    for (size_t i = (size_t)blockIdx.x * blockDim.x + threadIdx.x; i < args.n; i += stride)
        wi_random_put(args.x, i, size, wi_random_element(&args, size, i));
}

weft_status wi_random_one_each(weft_context *ctx, const void *arguments) {
    const wi_random_args *args = (const wi_random_args *)arguments;
    if (args->op == WI_RANDOM_SMALL_PERMUTATION)
        return wi_random_order_few(ctx, args);
    return WEFT_LAUNCH(each_element, ctx, wi_random_grid(args->n), wi_random_threads_each, 0, *args,
                       (unsigned)weft_type_size(args->type));
}
