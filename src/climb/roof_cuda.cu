/* SPDX-License-Identifier: Apache-2.0 */
/* The roofs of a GPU, and its memory roofs: how fast it is read, written and copied. */
#include "climb/roof_cuda.h"
#include "core/gpu.h"
#include "cuda/launch.cuh"

enum {
    THREADS = 256
};

/* Reads tiles of THREADS * DEPTH vectors of 16 bytes; each thread has DEPTH of them in flight. The
 * words are combined into one that is stored only if it equals `never`, so the reads cannot be
 * optimized away and nothing is written. */
template <int DEPTH>
static __global__ void __launch_bounds__(THREADS)
    read_kernel(const uint4 *memory, size_t tiles, unsigned never, unsigned *out) {
    unsigned folded = 0;
    for (size_t tile = blockIdx.x; tile < tiles; tile += gridDim.x) {
        const uint4 *const own = memory + tile * THREADS * DEPTH + threadIdx.x;
        uint4 read[DEPTH];
#pragma unroll
        for (int k = 0; k < DEPTH; k++)
            read[k] = own[k * THREADS];
#pragma unroll
        for (int k = 0; k < DEPTH; k++)
            folded ^= read[k].x ^ read[k].y ^ read[k].z ^ read[k].w;
    }
    if (folded == never)
        *out = folded;
}

/* Writes tiles of the same shape. */
template <int DEPTH>
static __global__ void __launch_bounds__(THREADS)
    write_kernel(uint4 *memory, size_t tiles, unsigned word) {
    for (size_t tile = blockIdx.x; tile < tiles; tile += gridDim.x) {
        uint4 *const own = memory + tile * THREADS * DEPTH + threadIdx.x;
#pragma unroll
        for (int k = 0; k < DEPTH; k++)
            own[k * THREADS] = uint4{word, word, word, word};
    }
}

namespace {

/* One way to launch the read or the write. */
struct tile_plan {
    const wi_meter *meter;
    bool resident; /* as many blocks as fit at once, each with many tiles; else one block for each
                      tile */
};

} // namespace

/* An arena filled with one repeated byte never combines to this word. */
static const unsigned impossible = 0x12345678;

/* How many tiles the arena has, and how many blocks process them. */
template <int DEPTH, class... Parameters>
static weft_status share_out(const tile_plan *plan, void (*kernel)(Parameters...), size_t *tiles,
                             size_t *blocks) {
    *tiles = *blocks = plan->meter->arena_bytes / (sizeof(uint4) * THREADS * DEPTH);
    return plan->resident ? wi_resident_blocks(plan->meter->ctx, kernel, THREADS, 0, blocks)
                          : WEFT_OK;
}

template <int DEPTH>
static weft_status run_read(void *user) {
    const tile_plan *const plan = (const tile_plan *)user;
    size_t tiles, blocks;
    const weft_status status = share_out<DEPTH>(plan, read_kernel<DEPTH>, &tiles, &blocks);
    if (status != WEFT_OK)
        return status;
    return WEFT_LAUNCH(read_kernel<DEPTH>, plan->meter->ctx, dim3((unsigned)blocks), dim3(THREADS),
                       0, plan->meter->arena, tiles, impossible, plan->meter->arena);
}

template <int DEPTH>
static weft_status run_write(void *user) {
    const tile_plan *const plan = (const tile_plan *)user;
    size_t tiles, blocks;
    const weft_status status = share_out<DEPTH>(plan, write_kernel<DEPTH>, &tiles, &blocks);
    if (status != WEFT_OK)
        return status;
    return WEFT_LAUNCH(write_kernel<DEPTH>, plan->meter->ctx, dim3((unsigned)blocks), dim3(THREADS),
                       0, plan->meter->arena, tiles, 0x01010101u);
}

/* The best of a few shapes of the same simple kernel. */
static weft_status best_of(const wi_meter *meter, weft_status (*const shapes[2])(void *),
                           double *rate) {
    for (int shape = 0; shape < 2; shape++) {
        for (int resident = 0; resident < 2; resident++) {
            tile_plan plan = {meter, resident != 0};
            const wi_timed timed = {shapes[shape], &plan, (double)meter->arena_bytes, false};
            double seconds;
            const weft_status status = wi_gpu_time(meter, &timed, &seconds);
            if (status != WEFT_OK)
                return status;
            if (timed.bytes / seconds > *rate)
                *rate = timed.bytes / seconds;
        }
    }
    return WEFT_OK;
}

static weft_status read_roof(const wi_meter *meter, double *rate) {
    weft_status (*const shapes[])(void *) = {run_read<4>, run_read<8>};
    return best_of(meter, shapes, rate);
}

static weft_status write_roof(const wi_meter *meter, double *rate) {
    weft_status (*const shapes[])(void *) = {run_write<1>, run_write<4>};
    return best_of(meter, shapes, rate);
}

static weft_status run_copy(void *user) {
    const wi_meter *const meter = (const wi_meter *)user;
    const size_t half = meter->arena_bytes / 2;
    return wi_cuda(meter->ctx,
                   cudaMemcpyAsync((char *)meter->arena + half, meter->arena, half,
                                   cudaMemcpyDeviceToDevice, meter->ctx->gpu->stream),
                   "cudaMemcpyAsync: measuring the copy rate");
}

static weft_status copy_roof(const wi_meter *meter, double *rate) {
    const wi_timed timed = {run_copy, (void *)meter, (double)(meter->arena_bytes / 2 * 2), false};
    double seconds;
    const weft_status status = wi_gpu_time(meter, &timed, &seconds);
    if (status == WEFT_OK)
        *rate = timed.bytes / seconds;
    return status;
}

static weft_status measure_roof(const wi_meter *meter, wi_roof roof, double *value) {
    switch (roof) {
    case WI_ROOF_READ:
        return read_roof(meter, value);
    case WI_ROOF_WRITE:
        return write_roof(meter, value);
    case WI_ROOF_COPY:
        return copy_roof(meter, value);
    case WI_ROOF_LINK:
    case WI_ROOF_LINK_BACK:
        return wi_gpu_link_roof(meter, roof == WI_ROOF_LINK_BACK, value);
    case WI_ROOF_PEER:
        return wi_gpu_peer_roof(meter, value);
    case WI_ROOF_FMA_F32:
    case WI_ROOF_FMA_F64:
        return wi_gpu_fma_roof(meter, roof, value);
    case WI_ROOF_TENSOR_F64:
    case WI_ROOF_TENSOR_TF32:
    case WI_ROOF_TENSOR_BF16:
    case WI_ROOF_TENSOR_INT8:
        return wi_gpu_tensor_roof(meter, roof, value);
    case WI_ROOF_LAUNCH:
        return wi_gpu_launch_roof(meter, value);
    case WI_ROOFS:
        break;
    }
    return WEFT_OK;
}

weft_status wi_gpu_roof(const wi_meter *meter, wi_roof roof, double *value) {
    int before;
    weft_status status = wi_gpu_enter(meter->ctx, &before);
    if (status != WEFT_OK)
        return status;
    status = measure_roof(meter, roof, value);
    wi_gpu_leave(meter->ctx, before);
    return status;
}
