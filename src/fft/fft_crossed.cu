/* SPDX-License-Identifier: Apache-2.0 */
/* Lines of 2^15 and 2^17 numbers, and planes of rows of 8192: what a cluster of 4 or 16 blocks does
 * in three stages, with one exchange between blocks.
 *
 * Of a plane of n rows four that are n / 4 apart are loaded together, which is the first stage of
 * its columns. Result k of rows r, r + n / 4, ... becomes row 4 r + k; the columns that are left
 * have n / 4 numbers, four rows apart, and stay where they are: number q of result k is row
 * k + 4 q. So memory is passed through twice, and no column is longer than what fills a
 * multiprocessor. */
#include "cuda/bulk.cuh"
#include "cuda/cluster.cuh"
#include "cuda/limit.cuh"
#include "cuda/prefetch.cuh"
#include "fft/fft_crossed.cuh"
#include "fft/fft_crossed.h"
#include "fft/fft_tall.h"

/* On emu a plane may have rows of 512 numbers and columns of 256. */
WI_LIMIT(bool, wi_fft_planes_small, false)

using short_line = wi_fft_crossed_shape<true, 4, 3, 8, 32, 32>;
using long_line = wi_fft_crossed_shape<true, 16, 3, 4, 32, 64>;
using row_shape = wi_fft_crossed_shape<false, 4, 3, 8, 32, 32>;

/* How many blocks on are those for which a block brings numbers to L2: the next on as many
 * multiprocessors, 0 if some are not at multiples of 16 bytes. */
static unsigned ahead_of(const weft_context *ctx, const wi_fft_lines *l,
                         const wi_fft_crossed_rows &rows) {
    size_t odd = (uintptr_t)l->x / sizeof(wi_fft_number<float>) | rows.in;
    for (int k = 0; k < l->loops.used; k++)
        odd |= l->loops.in[k];
    return odd % 2 ? 0 : (unsigned)ctx->gpu->multiprocessors;
}

template <class Shape>
static weft_status run_shape(weft_context *ctx, const wi_fft_lines *l,
                             const wi_fft_crossed_rows &rows, bool queues) {
    wi_fft_pass<float> p;
    unsigned clusters = 0;
    const weft_status status =
        wi_fft_pass_of(ctx, l, Shape::radix, 3, 1, &p, queues ? &clusters : NULL);
    if (status != WEFT_OK || !queues)
        return status;
    p.ahead = ahead_of(ctx, l, rows);
    return WEFT_LAUNCH_CLUSTER(wi_fft_crossed<Shape>, ctx, clusters * Shape::blocks, Shape::threads,
                               Shape::blocks, Shape::bytes, p, rows);
}

static bool is_plain(const wi_fft_lines *l) {
    return l->type == WEFT_F32 && !l->half_in && !l->half_out && !l->period;
}

/* ---- lines ---- */

bool wi_fft_takes_crossed_line(const wi_fft_lines *l) {
    return (l->n == short_line::n || l->n == long_line::n) && is_plain(l) && l->stride_in == 1 &&
           l->stride_out == 1;
}

weft_status wi_fft_run_crossed_line(weft_context *ctx, const wi_fft_lines *l, bool queues) {
    return l->n == short_line::n ? run_shape<short_line>(ctx, l, {}, queues)
                                 : run_shape<long_line>(ctx, l, {}, queues);
}

/* ---- planes ---- */

static bool is_size(size_t rows, size_t columns) {
    if (wi_fft_planes_small)
        return columns == 512 && rows == 256;
    return columns == row_shape::n && rows == 8192;
}

bool wi_fft_takes_planes(const wi_fft_lines *rows, const wi_fft_lines *columns) {
    const wi_fft_loops *const down = &rows->loops, *const across = &columns->loops;
    return is_size(columns->n, rows->n) && is_plain(rows) && is_plain(columns) &&
           rows->x != rows->y && rows->y == columns->x && columns->y == columns->x &&
           rows->stride_in == 1 && rows->stride_out == 1 && down->count[0] == columns->n &&
           down->out[0] == columns->stride_in && columns->stride_out == columns->stride_in &&
           across->count[0] == rows->n && across->in[0] == 1 && across->out[0] == 1 &&
           across->used + 1 < WI_FFT_LOOPS;
}

weft_status wi_fft_run_planes(weft_context *ctx, const wi_fft_lines *rows,
                              const wi_fft_lines *columns, bool queues) {
    const size_t four = row_shape::blocks, n = columns->n / four, apart = columns->stride_in;
    const wi_fft_crossed_rows next = {n * rows->loops.in[0], apart};
    wi_fft_lines first = *rows, second = *columns;
    first.period = columns->n;
    first.turning = 0;
    first.swaps_out = false;
    first.loops.count[0] = n;
    first.loops.out[0] = four * apart;
    second.n = n;
    second.swaps_in = false;
    second.scale = rows->scale;
    second.stride_in = second.stride_out = four * apart;
    second.loops.used = 1;
    wi_fft_loop_add(&second.loops, four, apart, apart);
    for (int k = 1; k < columns->loops.used; k++)
        wi_fft_loop_add(&second.loops, columns->loops.count[k], columns->loops.in[k],
                        columns->loops.out[k]);
#ifdef WEFT_EMU
    if (wi_fft_planes_small) {
        const weft_status status =
            run_shape<wi_fft_crossed_shape<false, 4, 1, 4, 8, 16>>(ctx, &first, next, queues);
        return status == WEFT_OK ? wi_fft_run_tall_columns(ctx, &second, queues) : status;
    }
#endif
    const weft_status status = run_shape<row_shape>(ctx, &first, next, queues);
    return status == WEFT_OK ? wi_fft_run_tall_columns(ctx, &second, queues) : status;
}
