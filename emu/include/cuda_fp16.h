/* SPDX-License-Identifier: Apache-2.0 */
/* emu's stand-in for 16-bit floats: storage and conversions, each rounded once. */
#ifndef EMU_CUDA_FP16_H
#define EMU_CUDA_FP16_H

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <type_traits>

/* A float with 1 sign bit, 15 - fraction_bits bits of exponent, and fraction_bits. `hidden` is the
 * leading bit that is not stored. */
template <int fraction_bits>
struct emu_float16 {
    static constexpr int bias = (1 << (14 - fraction_bits)) - 1, hidden = 1 << fraction_bits;
    static constexpr int infinity = (2 * bias + 1) << fraction_bits;
    uint16_t bits;

    emu_float16() = default;
    template <class V, class = std::enable_if_t<std::is_arithmetic_v<V>>>
    emu_float16(V wide) {
        const double value = std::fabs((double)wide);
        const int exponent = value > 0 ? std::max(std::ilogb(value), 1 - bias) : 1 - bias;
        int magnitude = infinity;
        if (std::isnan(value))
            magnitude = 0x7fff;
        else if (exponent <= bias) /* to nearest, ties to even; a carry out of the fraction
                                      correctly increments the exponent */
            magnitude = (exponent + bias - 1) * hidden +
                        (int)std::nearbyint(std::ldexp(value, fraction_bits - exponent));
        bits = (uint16_t)(magnitude | (std::signbit((double)wide) ? 0x8000 : 0));
    }
    operator float() const {
        const int exponent = (bits & infinity) / hidden, fraction = bits & (hidden - 1);
        if (exponent > 0 && exponent < infinity / hidden) { /* as most are */
            const uint32_t wide = (uint32_t)(bits >> 15) << 31 |
                                  (uint32_t)(exponent - bias + 127) << 23 |
                                  (uint32_t)fraction << (23 - fraction_bits);
            float value;
            memcpy(&value, &wide, sizeof value);
            return value;
        }
        float magnitude = std::ldexp((float)(exponent ? fraction + hidden : fraction),
                                     std::max(exponent, 1) - bias - fraction_bits);
        if (exponent == infinity / hidden)
            magnitude = fraction ? NAN : INFINITY;
        return bits >> 15 ? -magnitude : magnitude;
    }
};
using __half = emu_float16<10>;
using __nv_bfloat16 = emu_float16<7>;

#endif
