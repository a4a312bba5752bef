/* SPDX-License-Identifier: Apache-2.0 */
/* Products D += A B by a warp group, four warps whose first is a multiple of four, on tensor cores
 * that read A and B from shared memory themselves (compute capability 9.0 alone, sm_90a). A has 64
 * rows, B `columns` columns, 128 or 256 (with sums of floats also 64), and both 32 bytes along k:
 * 16 elements of 16 bits, 8 of tf32, 32 of int8.
 *
 * A and B lie as boxes do that the copy engine brings, cuda/boxes.cuh. Along k: each row of A, or
 * column of B, is a line. Across, for elements of 16 bits alone: lines of 64 rows or columns follow
 * each other along k; the next 64 are in the next box.
 *
 * A of tf32 may also come from registers: a lane has rows g and g + 8 (of its warp's 16) at t along
 * k, then the same rows at t + 4. They are its warp's own until the products are added up. So may
 * bf16, for 16, 40 or 64 columns: two at 2 t, then two at 2 t + 8; and bytes from 0 to 255, for 16
 * or 48 columns of int8: four at 4 t, then four at 4 t + 16.
 *
 * With w the warp in its group, g = lane / 4 and t = lane % 4, a lane has the sums of row
 * 16 w + g + 8 r and columns 8 j + 2 t + c: sum[4 j + 2 r + c]. The order in which the products of
 * an element are added is the hardware's. */
#ifndef WI_GROUP_CUH
#define WI_GROUP_CUH

#include "cuda/boxes.cuh"
#include "cuda/types.cuh"
#include "cuda/warp.cuh"

/* An operand of a product, from its first element on. */
struct wi_group_operand {
    const char *start;    /* in shared memory */
    uint32_t panel_bytes; /* across: from one box to the next */
};

#ifdef WEFT_EMU
#    include "cuda/group_emu.cuh"
#else
#    define WI_SUMS_FEW                                                                            \
        "%0, %1, %2, %3, %4, %5, %6, %7"                                                           \
        ", "                                                                                       \
        "%8, %9, %10, %11, %12, %13, %14, %15"                                                     \
        ", "                                                                                       \
        "%16, %17, %18, %19, %20, %21, %22, %23"                                                   \
        ", "                                                                                       \
        "%24, %25, %26, %27, %28, %29, %30, %31"
#    define WI_SUMS_LOW                                                                            \
        WI_SUMS_FEW                                                                                \
        ", "                                                                                       \
        "%32, %33, %34, %35, %36, %37, %38, %39"                                                   \
        ", "                                                                                       \
        "%40, %41, %42, %43, %44, %45, %46, %47"                                                   \
        ", "                                                                                       \
        "%48, %49, %50, %51, %52, %53, %54, %55"                                                   \
        ", "                                                                                       \
        "%56, %57, %58, %59, %60, %61, %62, %63"
#    define WI_SUMS_MIDDLE                                                                         \
        "%64, %65, %66, %67, %68, %69, %70, %71"                                                   \
        ", "                                                                                       \
        "%72, %73, %74, %75, %76, %77, %78, %79"                                                   \
        ", "                                                                                       \
        "%80, %81, %82, %83, %84, %85, %86, %87"                                                   \
        ", "                                                                                       \
        "%88, %89, %90, %91, %92, %93, %94, %95"
#    define WI_SUMS_HIGH                                                                           \
        WI_SUMS_MIDDLE                                                                             \
        ", "                                                                                       \
        "%96, %97, %98, %99, %100, %101, %102, %103"                                               \
        ", "                                                                                       \
        "%104, %105, %106, %107, %108, %109, %110, %111"                                           \
        ", "                                                                                       \
        "%112, %113, %114, %115, %116, %117, %118, %119"                                           \
        ", "                                                                                       \
        "%120, %121, %122, %123, %124, %125, %126, %127"
#    define WI_SUMS_8(kind, i)                                                                     \
        kind(sum[i]), kind(sum[i + 1]), kind(sum[i + 2]), kind(sum[i + 3]), kind(sum[i + 4]),      \
            kind(sum[i + 5]), kind(sum[i + 6]), kind(sum[i + 7])
#    define WI_SUMS_32(kind, i)                                                                    \
        WI_SUMS_8(kind, i), WI_SUMS_8(kind, i + 8), WI_SUMS_8(kind, i + 16), WI_SUMS_8(kind, i + 24)
#    define WI_SUMS_64(kind, i) WI_SUMS_32(kind, i), WI_SUMS_32(kind, i + 32)

/* What tells the hardware where an operand is: addresses and distances count in 16 bytes. Eight
 * lines are 1024 bytes; 1 in the highest bits says how lines are shuffled. */
__device__ inline uint64_t wi_group_descriptor(const wi_group_operand &x) {
    constexpr uint64_t shuffled = (uint64_t)1 << 62, eight_lines = (uint64_t)(1024 >> 4) << 32;
    return shuffled | eight_lines | (uint64_t)(x.panel_bytes >> 4) << 16 |
           (wi_shared_address(x.start) & 0x3ffff) >> 4;
}

#    define WI_FLOAT_SUM(x) "+f"(x)
#    define WI_WHOLE_SUM(x) "+r"(x)
#    define WI_GROUP_32(kind, opcode, how, ...)                                                    \
        asm volatile("{\n\t.reg .pred add;\n\tsetp.eq.u32 add, 0, 0;\n\t"                          \
                     "wgmma.mma_async.sync.aligned.m64n64" opcode " {" WI_SUMS_FEW                 \
                     "}, %32, %33, add" how ";\n\t}"                                               \
                     : WI_SUMS_32(kind, 0)                                                         \
                     : "l"(from_a), "l"(from_b)__VA_ARGS__)
#    define WI_GROUP_64(kind, opcode, how, ...)                                                    \
        asm volatile("{\n\t.reg .pred add;\n\tsetp.eq.u32 add, 0, 0;\n\t"                          \
                     "wgmma.mma_async.sync.aligned.m64n128" opcode " {" WI_SUMS_LOW                \
                     "}, %64, %65, add" how ";\n\t}"                                               \
                     : WI_SUMS_64(kind, 0)                                                         \
                     : "l"(from_a), "l"(from_b)__VA_ARGS__)
#    define WI_GROUP_96(kind, opcode, how, ...)                                                    \
        asm volatile("{\n\t.reg .pred add;\n\tsetp.eq.u32 add, 0, 0;\n\t"                          \
                     "wgmma.mma_async.sync.aligned.m64n192" opcode " {" WI_SUMS_LOW                \
                     ", " WI_SUMS_MIDDLE "}, %96, %97, add" how ";\n\t}"                           \
                     : WI_SUMS_64(kind, 0), WI_SUMS_32(kind, 64)                                   \
                     : "l"(from_a), "l"(from_b)__VA_ARGS__)
#    define WI_GROUP_128(kind, opcode, how, ...)                                                   \
        asm volatile("{\n\t.reg .pred add;\n\tsetp.eq.u32 add, 0, 0;\n\t"                          \
                     "wgmma.mma_async.sync.aligned.m64n256" opcode " {" WI_SUMS_LOW                \
                     ", " WI_SUMS_HIGH "}, %128, %129, add" how ";\n\t}"                           \
                     : WI_SUMS_64(kind, 0), WI_SUMS_64(kind, 64)                                   \
                     : "l"(from_a), "l"(from_b)__VA_ARGS__)
/* How operands of 16 bits lie: 1 for across. */
#    define WI_GROUP_ACROSS , "n"(a_by_k ? 0 : 1), "n"(b_by_k ? 0 : 1)

template <class T, bool a_by_k, bool b_by_k, class Sum, int sums>
__device__ inline void wi_group_multiply(Sum (&sum)[sums], const wi_group_operand &a,
                                         const wi_group_operand &b) {
    static_assert(sums == 64 || sums == 128 || (sums == 32 && std::is_same_v<Sum, float>) ||
                      (sums == 96 && sizeof(T) == 2),
                  "128 or 256 columns; 64 of floats, 192 of those of 16 bits");
    static_assert(sizeof(T) == 2 || (a_by_k && b_by_k), "elements of 16 bits alone lie across");
    const uint64_t from_a = wi_group_descriptor(a), from_b = wi_group_descriptor(b);
    if constexpr (std::is_same_v<T, __half> && sums == 32)
        WI_GROUP_32(WI_FLOAT_SUM, "k16.f32.f16.f16", ", 1, 1, %34, %35", WI_GROUP_ACROSS);
    else if constexpr (std::is_same_v<T, __nv_bfloat16> && sums == 32)
        WI_GROUP_32(WI_FLOAT_SUM, "k16.f32.bf16.bf16", ", 1, 1, %34, %35", WI_GROUP_ACROSS);
    else if constexpr (std::is_same_v<T, float> && sums == 32)
        WI_GROUP_32(WI_FLOAT_SUM, "k8.f32.tf32.tf32", ", 1, 1", );
    else if constexpr (std::is_same_v<T, __half> && sums == 64)
        WI_GROUP_64(WI_FLOAT_SUM, "k16.f32.f16.f16", ", 1, 1, %66, %67", WI_GROUP_ACROSS);
    else if constexpr (std::is_same_v<T, __half> && sums == 96)
        WI_GROUP_96(WI_FLOAT_SUM, "k16.f32.f16.f16", ", 1, 1, %98, %99", WI_GROUP_ACROSS);
    else if constexpr (std::is_same_v<T, __half>)
        WI_GROUP_128(WI_FLOAT_SUM, "k16.f32.f16.f16", ", 1, 1, %130, %131", WI_GROUP_ACROSS);
    else if constexpr (std::is_same_v<T, __nv_bfloat16> && sums == 64)
        WI_GROUP_64(WI_FLOAT_SUM, "k16.f32.bf16.bf16", ", 1, 1, %66, %67", WI_GROUP_ACROSS);
    else if constexpr (std::is_same_v<T, __nv_bfloat16> && sums == 96)
        WI_GROUP_96(WI_FLOAT_SUM, "k16.f32.bf16.bf16", ", 1, 1, %98, %99", WI_GROUP_ACROSS);
    else if constexpr (std::is_same_v<T, __nv_bfloat16>)
        WI_GROUP_128(WI_FLOAT_SUM, "k16.f32.bf16.bf16", ", 1, 1, %130, %131", WI_GROUP_ACROSS);
    else if constexpr (std::is_same_v<T, float> && sums == 64)
        WI_GROUP_64(WI_FLOAT_SUM, "k8.f32.tf32.tf32", ", 1, 1", );
    else if constexpr (std::is_same_v<T, float>)
        WI_GROUP_128(WI_FLOAT_SUM, "k8.f32.tf32.tf32", ", 1, 1", );
    else if constexpr (sums == 64)
        WI_GROUP_64(WI_WHOLE_SUM, "k32.s32.s8.s8", "", );
    else
        WI_GROUP_128(WI_WHOLE_SUM, "k32.s32.s8.s8", "", );
}

#    define WI_REGISTERS_OF_A "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "l"(from_b)

/* The same with A from registers. */
template <int sums>
__device__ inline void wi_group_multiply_tf32(float (&sum)[sums], const uint32_t (&a)[4],
                                              const wi_group_operand &b) {
    static_assert(sums == 32 || sums == 64 || sums == 128, "64, 128 or 256 columns");
    const uint64_t from_b = wi_group_descriptor(b);
    if constexpr (sums == 32)
        asm volatile("{\n\t.reg .pred add;\n\tsetp.eq.u32 add, 0, 0;\n\t"
                     "wgmma.mma_async.sync.aligned.m64n64k8.f32.tf32.tf32 {" WI_SUMS_FEW
                     "}, {%32, %33, %34, %35}, %36, add, 1, 1;\n\t}"
                     : WI_SUMS_32(WI_FLOAT_SUM, 0)
                     : WI_REGISTERS_OF_A);
    else if constexpr (sums == 64)
        asm volatile("{\n\t.reg .pred add;\n\tsetp.eq.u32 add, 0, 0;\n\t"
                     "wgmma.mma_async.sync.aligned.m64n128k8.f32.tf32.tf32 {" WI_SUMS_LOW
                     "}, {%64, %65, %66, %67}, %68, add, 1, 1;\n\t}"
                     : WI_SUMS_64(WI_FLOAT_SUM, 0)
                     : WI_REGISTERS_OF_A);
    else
        asm volatile("{\n\t.reg .pred add;\n\tsetp.eq.u32 add, 0, 0;\n\t"
                     "wgmma.mma_async.sync.aligned.m64n256k8.f32.tf32.tf32 {" WI_SUMS_LOW
                     ", " WI_SUMS_HIGH "}, {%128, %129, %130, %131}, %132, add, 1, 1;\n\t}"
                     : WI_SUMS_64(WI_FLOAT_SUM, 0), WI_SUMS_64(WI_FLOAT_SUM, 64)
                     : WI_REGISTERS_OF_A);
}

/* The same with bf16, two a register, and 16, 40 or 64 columns. Sums begin with 0 if not `adds`. */
template <int sums>
__device__ inline void wi_group_multiply_bf16(float (&sum)[sums], const uint32_t (&a)[4],
                                              const wi_group_operand &b, bool adds) {
    static_assert(sums == 8 || sums == 20 || sums == 32, "16, 40 or 64 columns");
    const uint64_t from_b = wi_group_descriptor(b);
    if constexpr (sums == 8)
        asm volatile("{\n\t.reg .pred add;\n\tsetp.ne.u32 add, %13, 0;\n\t"
                     "wgmma.mma_async.sync.aligned.m64n16k16.f32.bf16.bf16 "
                     "{%0, %1, %2, %3, %4, %5, %6, %7}, {%8, %9, %10, %11}, %12, "
                     "add, 1, 1, 0;\n\t}"
                     : WI_SUMS_8(WI_FLOAT_SUM, 0)
                     : WI_REGISTERS_OF_A, "r"((uint32_t)adds));
    else if constexpr (sums == 20)
        asm volatile("{\n\t.reg .pred add;\n\tsetp.ne.u32 add, %25, 0;\n\t"
                     "wgmma.mma_async.sync.aligned.m64n40k16.f32.bf16.bf16 "
                     "{%0, %1, %2, %3, %4, %5, %6, %7, %8, %9, %10, %11, "
                     "%12, %13, %14, %15, %16, %17, %18, %19}, "
                     "{%20, %21, %22, %23}, %24, add, 1, 1, 0;\n\t}"
                     : WI_SUMS_8(WI_FLOAT_SUM, 0), WI_SUMS_8(WI_FLOAT_SUM, 8),
                       WI_FLOAT_SUM(sum[16]), WI_FLOAT_SUM(sum[17]), WI_FLOAT_SUM(sum[18]),
                       WI_FLOAT_SUM(sum[19])
                     : WI_REGISTERS_OF_A, "r"((uint32_t)adds));
    else
        asm volatile("{\n\t.reg .pred add;\n\tsetp.ne.u32 add, %37, 0;\n\t"
                     "wgmma.mma_async.sync.aligned.m64n64k16.f32.bf16.bf16 {" WI_SUMS_FEW
                     "}, {%32, %33, %34, %35}, %36, add, 1, 1, 0;\n\t}"
                     : WI_SUMS_32(WI_FLOAT_SUM, 0)
                     : WI_REGISTERS_OF_A, "r"((uint32_t)adds));
}

/* The same with bytes, and 16 or 48 columns of what lies `further` bytes from b on. Without `adds`
 * the sums begin with 0. */
template <int further, int sums>
__device__ inline void wi_group_multiply_bytes(int32_t (&sum)[sums], const uint32_t (&a)[4],
                                               const wi_group_operand &b, bool adds = true) {
    static_assert(sums == 8 || sums == 24, "16 or 48 columns");
    const uint64_t first = wi_group_descriptor(b);
    const uint64_t from_b = (first & ~(uint64_t)UINT32_MAX) | ((uint32_t)first + further / 16);
    if constexpr (sums == 8)
        asm volatile("{\n\t.reg .pred add;\n\tsetp.ne.u32 add, %13, 0;\n\t"
                     "wgmma.mma_async.sync.aligned.m64n16k32.s32.u8.s8 "
                     "{%0, %1, %2, %3, %4, %5, %6, %7}, {%8, %9, %10, %11}, %12, add;\n\t}"
                     : WI_SUMS_8(WI_WHOLE_SUM, 0)
                     : WI_REGISTERS_OF_A, "r"((uint32_t)adds));
    else
        asm volatile("{\n\t.reg .pred add;\n\tsetp.ne.u32 add, %29, 0;\n\t"
                     "wgmma.mma_async.sync.aligned.m64n48k32.s32.u8.s8 "
                     "{%0, %1, %2, %3, %4, %5, %6, %7, %8, %9, %10, %11, "
                     "%12, %13, %14, %15, %16, %17, %18, %19, %20, %21, %22, %23}, "
                     "{%24, %25, %26, %27}, %28, add;\n\t}"
                     : WI_SUMS_8(WI_WHOLE_SUM, 0), WI_SUMS_8(WI_WHOLE_SUM, 8),
                       WI_SUMS_8(WI_WHOLE_SUM, 16)
                     : WI_REGISTERS_OF_A, "r"((uint32_t)adds));
}

/* Before a group of products: what threads did to the sums comes first. */
__device__ inline void wi_group_begin() {
    asm volatile("wgmma.fence.sync.aligned;" ::: "memory");
}
/* Closes a group of products. */
__device__ inline void wi_group_commit() {
    asm volatile("wgmma.commit_group.sync.aligned;" ::: "memory");
}
/* Waits until all but the latest `pending` groups have been added up, and have read A and B. */
template <int pending>
__device__ inline void wi_group_wait() {
    asm volatile("wgmma.wait_group.sync.aligned %0;" ::"n"(pending) : "memory");
}

/* Gives the threads of a warp group that many registers each, a multiple of 8: fewer than the
 * kernel was launched with, or more, when others have given enough away. */
template <int registers>
__device__ inline void wi_keep_registers() {
    asm volatile("setmaxnreg.dec.sync.aligned.u32 %0;" ::"n"(registers));
}
template <int registers>
__device__ inline void wi_take_registers() {
    asm volatile("setmaxnreg.inc.sync.aligned.u32 %0;" ::"n"(registers));
}
#endif

#endif
