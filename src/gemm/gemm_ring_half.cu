/* SPDX-License-Identifier: Apache-2.0 */
/* f16 and bf16 by a ring of boxes: their machine code is almost the same, and compressed together
 * it takes little more than that of one. Narrow and square tiles are for a thin C or a small one,
 * even ones, which bring less for each product, for a large one. */
#include "gemm/gemm_boxes_launch.cuh"
#include "gemm/gemm_groups.cuh"
#include "gemm/gemm_ring_sent.cuh"

template <class In>
static wi_gemm_choice choose(const weft_context *ctx, const wi_gemm_args *g) {
    using large = wi_gemm_groups_shape<In, In, float, 256, 4, 1200>;
    using even = wi_gemm_three_groups_shape<In, In, float, 3, 1260>;
    using small = wi_gemm_groups_shape<In, In, float, 128, 6, 1200>;
    using narrow = wi_gemm_one_group_shape<In, In, float, 128, 8, 1050>;
    using square = wi_gemm_one_group_shape<In, In, float, 64, 12, 500>;
    wi_gemm_choice best = {};
    wi_gemm_consider<large>(ctx, g, wi_gemm_boxed_by_layout<large>, &best);
    wi_gemm_consider<even>(ctx, g, wi_gemm_boxed_by_layout<even>, &best);
    wi_gemm_consider_sent<In>(ctx, g, &best);
    wi_gemm_consider<small>(ctx, g, wi_gemm_boxed_by_layout<small>, &best);
    wi_gemm_consider<narrow>(ctx, g, wi_gemm_boxed_by_layout<narrow>, &best);
    wi_gemm_consider<square>(ctx, g, wi_gemm_boxed_by_layout<square>, &best);
    wi_gemm_consider_pairs<In>(ctx, g, &best);
    return best;
}

double wi_gemm_ring_f16_seconds(const weft_context *ctx, const wi_gemm_args *g) {
    return choose<__half>(ctx, g).seconds;
}
weft_status wi_gemm_ring_f16(weft_context *ctx, const wi_gemm_args *g) {
    return wi_gemm_run_choice(ctx, g, choose<__half>(ctx, g));
}

double wi_gemm_ring_bf16_seconds(const weft_context *ctx, const wi_gemm_args *g) {
    return choose<__nv_bfloat16>(ctx, g).seconds;
}
weft_status wi_gemm_ring_bf16(weft_context *ctx, const wi_gemm_args *g) {
    return wi_gemm_run_choice(ctx, g, choose<__nv_bfloat16>(ctx, g));
}
