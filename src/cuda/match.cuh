/* SPDX-License-Identifier: Apache-2.0 */
/* Finds which lanes of a warp hold the same digit. */
#ifndef WI_MATCH_CUH
#define WI_MATCH_CUH

#include "cuda/warp.cuh"

/* The lanes whose bits 2 ... 9 of x equal this lane's, as a mask; all 32 lanes take part. This
 * takes eight ballots; the hardware's match instruction goes through the values one after another.
 *
 * minus_one must be -1, but as a value unknown to the compiler: m * -1 - 1 inverts the bits of m
 * with the multipliers, which are idle here, instead of the logic units, which are busy. */
#ifdef WEFT_EMU
inline unsigned wi_match_byte(unsigned x, int minus_one, EMU_SITE("wi_match_byte")) {
    (void)minus_one;
    return __match_any_sync(wi_all_lanes, x & 0x3fcu, at);
}
#else
__device__ inline unsigned wi_match_byte(unsigned x, int minus_one) {
    unsigned lanes;
    asm volatile("{\n\t.reg .pred p<8>;\n\t.reg .b32 t<8>, m<8>;\n\t"
                 "and.b32 t0, %1, 4;\n\tand.b32 t1, %1, 8;\n\t"
                 "and.b32 t2, %1, 16;\n\tand.b32 t3, %1, 32;\n\t"
                 "and.b32 t4, %1, 64;\n\tand.b32 t5, %1, 128;\n\t"
                 "and.b32 t6, %1, 256;\n\tand.b32 t7, %1, 512;\n\t"
                 "setp.ne.u32 p0, t0, 0;\n\tsetp.ne.u32 p1, t1, 0;\n\t"
                 "setp.ne.u32 p2, t2, 0;\n\tsetp.ne.u32 p3, t3, 0;\n\t"
                 "setp.ne.u32 p4, t4, 0;\n\tsetp.ne.u32 p5, t5, 0;\n\t"
                 "setp.ne.u32 p6, t6, 0;\n\tsetp.ne.u32 p7, t7, 0;\n\t"
                 "vote.sync.ballot.b32 m0, p0, -1;\n\tvote.sync.ballot.b32 m1, p1, -1;\n\t"
                 "vote.sync.ballot.b32 m2, p2, -1;\n\tvote.sync.ballot.b32 m3, p3, -1;\n\t"
                 "vote.sync.ballot.b32 m4, p4, -1;\n\tvote.sync.ballot.b32 m5, p5, -1;\n\t"
                 "vote.sync.ballot.b32 m6, p6, -1;\n\tvote.sync.ballot.b32 m7, p7, -1;\n\t"
                 "@!p0 mad.lo.s32 m0, m0, %2, %2;\n\t@!p1 mad.lo.s32 m1, m1, %2, %2;\n\t"
                 "@!p2 mad.lo.s32 m2, m2, %2, %2;\n\t@!p3 mad.lo.s32 m3, m3, %2, %2;\n\t"
                 "@!p4 mad.lo.s32 m4, m4, %2, %2;\n\t@!p5 mad.lo.s32 m5, m5, %2, %2;\n\t"
                 "@!p6 mad.lo.s32 m6, m6, %2, %2;\n\t@!p7 mad.lo.s32 m7, m7, %2, %2;\n\t"
                 "lop3.b32 m0, m0, m1, m2, 0x80;\n\tlop3.b32 m3, m3, m4, m5, 0x80;\n\t"
                 "lop3.b32 m6, m6, m7, m0, 0x80;\n\tand.b32 %0, m3, m6;\n\t}"
                 : "=r"(lanes)
                 : "r"(x), "r"(minus_one));
    return lanes;
}
#endif

#endif
