/* SPDX-License-Identifier: Apache-2.0 */
/* expr on a GPU. A block brings its tile of every input to shared memory, all at once, and its
 * threads then go through the program. Each tile has a block of its own, so tiles are written in
 * order, near each other. */
#ifndef WI_EXPR_CUDA_CUH
#define WI_EXPR_CUDA_CUH

#include "cuda/launch.cuh"
#include "cuda/limit.cuh"
#include "expr/expr_worker.cuh"

/* Blocks of a launch, at most; tests set it lower. */
WI_LIMIT(size_t, wi_expr_most_blocks, 0x7fffffff)

constexpr unsigned wi_expr_threads = 128;

template <class Lane, int groups, int run>
__global__ void __launch_bounds__(wi_expr_threads)
    wi_expr_kernel(const __grid_constant__ wi_expr_job job) {
    WEFT_DYNAMIC_SHARED(shared);
    wi_expr_worker<Lane, groups, run> worker = {job, shared, {}, 0};
    for (size_t tile = blockIdx.x; tile < job.tiles; tile += gridDim.x)
        worker.work(tile);
}

/* Lays out shared memory for so many threads; returns its bytes. */
inline size_t wi_expr_lay_out(wi_expr_job *job, size_t lane_bytes, size_t count, size_t threads) {
    const wi_expr_program &p = job->program;
    const size_t column = lane_bytes * count * threads;
    size_t bytes = 0;
    for (uint32_t k = 0; k < p.inputs; k++) {
        job->at[k] = (uint32_t)bytes;
        bytes += (job->bytes[k] * count * threads + 15) / 16 * 16;
    }
    job->slots = (uint32_t)bytes;
    job->scratch = (uint32_t)(bytes + p.slots * column);
    return job->scratch + (p.heavy ? 2 * column : 0);
}

/* Threads of a block, and its shared memory. */
struct wi_expr_shape {
    unsigned threads;
    size_t shared_bytes;
};

/* The job of a call whose tiles begin `shift` elements before the first, and the blocks for it. */
template <class Lane, int groups, int run>
void wi_expr_prepare(const wi_expr_args *args, size_t shift, wi_expr_job *job,
                     wi_expr_shape *shape) {
    constexpr size_t most_shared = 96 * 1024, count = groups * run;
    job->program = *args->program;
    job->n = args->n;
    memcpy(job->x, args->x, sizeof job->x);
    job->z = args->z;
    job->shift = shift;
    job->out_bytes = (uint8_t)weft_type_size((weft_type)args->program->type);
    for (uint32_t k = 0; k < job->program.inputs; k++)
        job->bytes[k] = (uint8_t)weft_type_size((weft_type)job->program.from[k]);
    shape->threads = wi_expr_threads;
    shape->shared_bytes = wi_expr_lay_out(job, sizeof(Lane), count, shape->threads);
    while (shape->shared_bytes > most_shared) {
        shape->threads /= 2;
        shape->shared_bytes = wi_expr_lay_out(job, sizeof(Lane), count, shape->threads);
    }
    const size_t tile = count * shape->threads;
    job->tiles = (job->n + job->shift + tile - 1) / tile;
}

template <class Lane, int groups, int run>
weft_status wi_expr_start(weft_context *ctx, const wi_expr_args *args) {
    const size_t size = weft_type_size((weft_type)args->program->type);
    wi_expr_job job;
    wi_expr_shape shape;
    wi_expr_prepare<Lane, groups, run>(args, (uintptr_t)args->z % 16 / size, &job, &shape);
    const size_t blocks = job.tiles < wi_expr_most_blocks ? job.tiles : wi_expr_most_blocks;
    return WEFT_LAUNCH((wi_expr_kernel<Lane, groups, run>), ctx, (unsigned)blocks, shape.threads,
                       shape.shared_bytes, job);
}

#endif
