/* SPDX-License-Identifier: Apache-2.0 */
/* What the CUDA rungs of cholesky share: temporary memory, and the words that tell of a failure. */
#include "cholesky/cholesky_cuda.cuh"

__global__ void clear_cholesky_words(int64_t *first) {
    for (int word = 0; word < WI_CHOLESKY_WORDS; word++)
        first[word] = WI_CHOLESKY_NONE;
}

weft_status wi_cholesky_memory(weft_context *ctx, size_t bytes, void **p) {
    static const char key = 0;
    return wi_gpu_scratch(ctx, &key, bytes, p);
}

weft_status wi_cholesky_clear_words(weft_context *ctx, const wi_cholesky_args *args) {
    return WEFT_LAUNCH(clear_cholesky_words, ctx, 1, 1, 0, args->first);
}
