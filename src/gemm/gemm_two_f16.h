/* SPDX-License-Identifier: Apache-2.0 */
/* Products of f32 that are sums of two f16: for those who know how large their numbers are. */
#ifndef WI_GEMM_TWO_F16_H
#define WI_GEMM_TWO_F16_H

#include "gemm/gemm.h"

#ifdef __cplusplus
extern "C" {
#endif

/* A call that fits the rung `parts`, by half of its products: about as accurate where A times
 * 2^power_a and B times 2^power_b have numbers from some 2^-10 to 2^15. Smaller ones lose bits, and
 * larger ones leave infinity or NaN in C. */
weft_status wi_gemm_two_f16(weft_context *ctx, const wi_gemm_args *g, int power_a, int power_b);

#ifdef __cplusplus
}
#endif
#endif
