/* SPDX-License-Identifier: Apache-2.0 */
/* Products of bytes by a warp group, as in cuda/group.cuh, of operands that are not shuffled: rows
 * of A, and columns of B, have units of 16 bytes along k; those of eight rows, or columns, follow
 * each other. Units of A may overlap: those of one row may be the next row's. */
#ifndef WI_GROUP_UNITS_CUH
#define WI_GROUP_UNITS_CUH

#include "cuda/group.cuh"

/* Where units are in shared memory: how many units from its beginning on. */
#ifdef WEFT_EMU
using wi_group_start = const char *;
#else
using wi_group_start = uint32_t;
#endif
__device__ inline wi_group_start wi_group_start_at(const void *shared) {
#ifdef WEFT_EMU
    return (const char *)shared;
#else
    return wi_shared_address(shared) >> 4;
#endif
}
__device__ inline wi_group_start wi_group_start_behind(wi_group_start start, int units) {
#ifdef WEFT_EMU
    return start + 16 * units;
#else
    return start + (uint32_t)units;
#endif
}

/* An operand in units: how many bytes on the next along k are, and those of the next eight rows. */
template <uint32_t bytes_along, uint32_t bytes_across>
struct wi_group_units {
    static constexpr uint32_t along = bytes_along, across = bytes_across;
    wi_group_start start;
};

#ifdef WEFT_EMU
/* Of a row, or column, of an operand in units: unit `half` along k. */
template <class Units>
inline wi_group_elements<uint8_t, 16> wi_group_unit(const Units &x, int row, int half) {
    const char *const at =
        x.start + row / 8 * (int)Units::across + row % 8 * 16 + half * (int)Units::along;
    return *(const wi_group_elements<uint8_t, 16> *)at;
}
template <class A, class B, int sums>
inline void wi_group_multiply_units(int32_t (&sum)[sums], const A &a, const B &b, uint32_t adds) {
    const int first = (int)threadIdx.x / 32 % 4 * 16 + wi_lane() / 4, column = wi_lane() % 4 * 2;
    for (int i = 0; i < sums && !adds; i++)
        sum[i] = 0;
    for (int half = 0; half < 2; half++) {
        const wi_group_elements<uint8_t, 16> x[2] = {wi_group_unit(a, first, half),
                                                     wi_group_unit(a, first + 8, half)};
        for (int j = 0; j < sums / 4; j++)
            for (int c = 0; c < 2; c++) {
                const auto y = wi_group_unit(b, 8 * j + column + c, half);
                for (int r = 0; r < 2; r++)
                    for (int p = 0; p < 16; p++)
                        sum[4 * j + 2 * r + c] += x[r].at[p] * (int8_t)y.at[p];
            }
    }
}

template <int count>
inline void wi_group_hold(int32_t (&)[count]) {}
#else
/* Of an operand in units. */
template <uint32_t along, uint32_t across>
__device__ inline uint64_t wi_group_descriptor(const wi_group_units<along, across> &x) {
    return (uint64_t)(across >> 4) << 32 | (x.start + (along >> 4 << 16));
}

#    define WI_UNITS_8(a, b, adds)                                                                 \
        asm volatile("{\n\t.reg .pred add;\n\tsetp.ne.u32 add, %10, 0;\n\t"                        \
                     "wgmma.mma_async.sync.aligned.m64n16k32.s32.u8.s8 "                           \
                     "{%0, %1, %2, %3, %4, %5, %6, %7}, %8, %9, add;\n\t}"                         \
                     : WI_SUMS_8(WI_WHOLE_SUM, 0)                                                  \
                     : "l"(a), "l"(b), "r"(adds))
#    define WI_UNITS_24(a, b, adds)                                                                \
        asm volatile("{\n\t.reg .pred add;\n\tsetp.ne.u32 add, %26, 0;\n\t"                        \
                     "wgmma.mma_async.sync.aligned.m64n48k32.s32.u8.s8 "                           \
                     "{%0, %1, %2, %3, %4, %5, %6, %7, %8, %9, %10, %11, "                         \
                     "%12, %13, %14, %15, %16, %17, %18, %19, %20, %21, %22, %23}, "               \
                     "%24, %25, add;\n\t}"                                                         \
                     : WI_SUMS_8(WI_WHOLE_SUM, 0), WI_SUMS_8(WI_WHOLE_SUM, 8),                     \
                       WI_SUMS_8(WI_WHOLE_SUM, 16)                                                 \
                     : "l"(a), "l"(b), "r"(adds))

/* The product of operands in units, for 16 or 48 columns. If `adds` is 0 sums begin with 0. Where
 * the compiler knows that they do, it has new registers for them, and those before stay where they
 * are: twice as many. */
template <class A, class B, int sums>
__device__ inline void wi_group_multiply_units(int32_t (&sum)[sums], const A &a, const B &b,
                                               uint32_t adds) {
    static_assert(sums == 8 || sums == 24, "16 or 48 columns");
    const uint64_t from_a = wi_group_descriptor(a), from_b = wi_group_descriptor(b);
    if constexpr (sums == 8)
        WI_UNITS_8(from_a, from_b, adds);
    else
        WI_UNITS_24(from_a, from_b, adds);
}

/* Values that are there when this is called, neither computed later nor earlier: sums behind a
 * wait, and what is made of them before the next products. */
template <int count>
__device__ inline void wi_group_hold(int32_t (&value)[count]) {
#    pragma unroll
    for (int i = 0; i < count; i++)
        asm volatile("" : "+r"(value[i])::"memory");
}

#endif

#endif
