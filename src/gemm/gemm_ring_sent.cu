/* SPDX-License-Identifier: Apache-2.0 */
/* f16 and bf16 by a ring of boxes: tiles that are sent, where k is short, with middle ones for what
 * others would leave multiprocessors idle with; and tiles of two blocks. They are apart from
 * gemm_ring_half.cu, as one file with all of these shapes took as long to compile as the whole
 * library on sixteen cores; both types are in each, for they are compressed together. */
#include "gemm/gemm_groups.cuh"
#include "gemm/gemm_ring_sent.cuh"

template <class In>
void wi_gemm_consider_sent(const weft_context *ctx, const wi_gemm_args *g, wi_gemm_choice *best) {
    using sent = wi_gemm_sent_groups_shape<In, 256, 3, 1120, 4>;
    using middle = wi_gemm_sent_groups_shape<In, 192, 4, 1300, 12>;
    wi_gemm_consider<sent>(ctx, g, wi_gemm_boxed_by_layout<sent>, best);
    wi_gemm_consider<middle>(ctx, g, wi_gemm_boxed_by_layout<middle>, best);
}
template void wi_gemm_consider_sent<__half>(const weft_context *, const wi_gemm_args *,
                                            wi_gemm_choice *);
template void wi_gemm_consider_sent<__nv_bfloat16>(const weft_context *, const wi_gemm_args *,
                                                   wi_gemm_choice *);

template <class In>
void wi_gemm_consider_pairs(const weft_context *ctx, const wi_gemm_args *g, wi_gemm_choice *best) {
    using two_large = wi_gemm_pair_groups_shape<In, 256, 4, 1200>;
    using two_middle = wi_gemm_pair_groups_shape<In, 192, 4, 1300>;
    using two_tall = wi_gemm_pair_one_group_shape<In, 6, 1000>;
    wi_gemm_consider_pair<two_large>(ctx, g, true, best);
    wi_gemm_consider_pair<two_middle>(ctx, g, false, best);
    wi_gemm_consider_pair<two_tall>(ctx, g, false, best);
}
template void wi_gemm_consider_pairs<__half>(const weft_context *, const wi_gemm_args *,
                                             wi_gemm_choice *);
template void wi_gemm_consider_pairs<__nv_bfloat16>(const weft_context *, const wi_gemm_args *,
                                                    wi_gemm_choice *);
