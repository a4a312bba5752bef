/* SPDX-License-Identifier: Apache-2.0 */
/* Loops over lines. */
#include "core/smaller.h"
#include "fft/fft.h"

void wi_fft_loop_add(wi_fft_loops *loops, size_t count, size_t in, size_t out) {
    if (count == 1)
        return;
    loops->count[loops->used] = count;
    loops->in[loops->used] = in;
    loops->out[loops->used++] = out;
}

size_t wi_fft_loops_lines(const wi_fft_loops *loops) {
    size_t lines = 1;
    for (int k = 0; k < loops->used; k++)
        lines *= loops->count[k];
    return lines;
}

void wi_fft_loops_at(const wi_fft_loops *loops, size_t line, size_t *in, size_t *out) {
    *in = *out = 0;
    for (int k = 0; k < loops->used; k++) {
        const size_t turn = line % loops->count[k];
        line /= loops->count[k];
        *in += turn * loops->in[k];
        *out += turn * loops->out[k];
    }
}

static size_t shortest(const wi_fft_loops *loops, int k) {
    return wi_smaller(loops->in[k], loops->out[k]);
}

static void swap_sizes(size_t *a, size_t *b) {
    const size_t kept = *a;
    *a = *b;
    *b = kept;
}

static void swap_with_next(wi_fft_loops *loops, int k, int *turning) {
    swap_sizes(&loops->count[k], &loops->count[k + 1]);
    swap_sizes(&loops->in[k], &loops->in[k + 1]);
    swap_sizes(&loops->out[k], &loops->out[k + 1]);
    if (*turning == k || *turning == k + 1)
        *turning = 2 * k + 1 - *turning;
}

/* Loop k + 1 goes on where loop k ends: they become one. */
static void join_with_next(wi_fft_loops *loops, int k, int *turning) {
    loops->count[k] *= loops->count[k + 1];
    loops->used--;
    for (int i = k + 1; i < loops->used; i++) {
        loops->count[i] = loops->count[i + 1];
        loops->in[i] = loops->in[i + 1];
        loops->out[i] = loops->out[i + 1];
    }
    if (*turning > k)
        --*turning;
}

void wi_fft_loops_sort(wi_fft_loops *loops, int *turning) {
    for (int end = loops->used; end > 1; end--)
        for (int k = 0; k + 1 < end; k++)
            if (shortest(loops, k) > shortest(loops, k + 1))
                swap_with_next(loops, k, turning);
    for (int k = 0; k + 1 < loops->used;)
        if (k != *turning && k + 1 != *turning &&
            loops->in[k + 1] == loops->count[k] * loops->in[k] &&
            loops->out[k + 1] == loops->count[k] * loops->out[k])
            join_with_next(loops, k, turning);
        else
            k++;
}

void wi_fft_loops_pack(const wi_fft_loops *loops, int k, size_t n, size_t steps[WI_FFT_LOOPS]) {
    for (; k < loops->used; k++) {
        steps[k] = n;
        n *= loops->count[k];
    }
}
