/* SPDX-License-Identifier: Apache-2.0 */
/* Which kernel of fft_any_kernel.cuh a line takes. */
#include "cuda/prefetch.cuh"
#include "fft/fft_any_kernel.cuh"

static bool is_dense(const wi_fft_lines *l) {
    return wi_fft_is_dense(l) && l->n <= WI_FFT_SHORT_LINE;
}

static any_radices radices_of(const wi_fft_lines *l) {
    double cost = 0;
    const any_radices r = radices_with_primes((unsigned)l->n, is_dense(l));
    if (r.count == 0)
        return radices_with_sums((unsigned)l->n, &cost);
    return r.kind == ANY_DENSE ? balanced_radices(r, (unsigned)l->n) : r;
}

double wi_fft_sums_cost(const wi_fft_lines *l) {
    double cost = 0;
    if (!is_dense(l))
        return 0;
    const any_radices r = radices_with_primes((unsigned)l->n, true);
    if (r.count > 0)
        return primes_cost(&r);
    return radices_with_sums((unsigned)l->n, &cost).count > 0 ? cost : 0;
}

weft_status wi_fft_any_line(weft_context *ctx, const wi_fft_lines *l, bool queues) {
    const any_radices r = radices_of(l);
    const bool is_prime = r.kind == ANY_PRIMES;
    if (l->type == WEFT_F64)
        return is_prime ? run_any<double, false, ANY_PRIMES>(ctx, l, r, queues)
                        : run_any<double, false, ANY_SHORT>(ctx, l, r, queues);
    if (r.kind == ANY_LARGE)
        return wi_fft_large_line(ctx, l, &r, queues);
    if (r.kind == ANY_DENSE)
        return run_any<float, false, ANY_DENSE>(ctx, l, r, queues);
    if (is_prime)
        return run_any<float, true, ANY_PRIMES>(ctx, l, r, queues);
    return l->half_in || l->half_out ? run_any<float, true, ANY_SHORT>(ctx, l, r, queues)
                                     : run_any<float, false, ANY_SHORT>(ctx, l, r, queues);
}
