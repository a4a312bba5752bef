/* SPDX-License-Identifier: Apache-2.0 */
/* The sizes of transforms of planes. */
#include "nn/conv_fft.h"

static bool is_smooth(size_t n) {
    static const size_t primes[] = {2, 3, 5, 7};
    for (size_t k = 0; k < sizeof primes / sizeof *primes; k++)
        while (n % primes[k] == 0)
            n /= primes[k];
    return n == 1;
}

static size_t length_of(size_t extent, size_t pad, size_t kernel, size_t dilation, size_t out) {
    const size_t reach = dilation * (kernel - 1) + 1, least = extent + pad;
    size_t n = least > reach ? least : reach;
    n = n > out ? n : out;
    n += n % 2;
    while (!is_smooth(n))
        n += 2;
    return n;
}

wi_conv_plane wi_conv_plane_of(const wi_conv_args *a) {
    wi_conv_plane p = {length_of(a->in.h, a->pad_h, a->kernel_h, a->dilation_h, a->out.h),
                       length_of(a->in.w, a->pad_w, a->kernel_w, a->dilation_w, a->out.w), 0};
    p.half = p.width / 2 + 1;
    return p;
}
