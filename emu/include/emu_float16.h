/* SPDX-License-Identifier: Apache-2.0 */
/* The 16-bit floats of cuda_fp16.h and cuda_bf16.h: storage and conversions, each rounded once. */
#ifndef EMU_FLOAT16_H
#define EMU_FLOAT16_H

#include <cmath>
#include <cstdint>
#include <type_traits>

/* A float of 1 sign bit, `exponent_bits` and `fraction_bits`. */
template <int exponent_bits, int fraction_bits>
struct emu_float16 {
    uint16_t bits;

    emu_float16() = default;
    template <class V, class = std::enable_if_t<std::is_arithmetic_v<V>>>
    emu_float16(V value) : bits(narrow((double)value)) {}
    operator float() const {
        const unsigned exponent = bits >> fraction_bits & infinity >> fraction_bits;
        const int fraction = bits & ((1 << fraction_bits) - 1);
        float magnitude;
        if (exponent == (unsigned)infinity >> fraction_bits)
            magnitude = fraction ? NAN : INFINITY;
        else if (exponent == 0)
            magnitude = std::ldexp((float)fraction, least);
        else
            magnitude =
                std::ldexp((float)(fraction + (1 << fraction_bits)), least + (int)exponent - 1);
        return bits >> 15 ? -magnitude : magnitude;
    }

  private:
    static constexpr int bias = (1 << (exponent_bits - 1)) - 1;
    static constexpr int least = 1 - bias - fraction_bits; /* exponent of the smallest number */
    static constexpr uint16_t infinity = (uint16_t)(((1 << exponent_bits) - 1) << fraction_bits);

    static uint16_t narrow(double value) {
        const uint16_t sign = std::signbit(value) ? 0x8000 : 0;
        value = std::fabs(value);
        if (std::isnan(value))
            return 0x7fff;
        if (std::isinf(value))
            return sign | infinity;
        int exponent = value > 0 ? std::ilogb(value) : -bias;
        if (exponent < 1 - bias)
            exponent = 1 - bias;
        if (exponent > bias)
            return sign | infinity;
        /* The fraction, rounded to nearest even; a carry out of it rightly steps the exponent. */
        const double fraction = std::nearbyint(std::ldexp(value, fraction_bits - exponent));
        return (uint16_t)(sign | (((exponent + bias - 1) << fraction_bits) + (int)fraction));
    }
};

#endif
