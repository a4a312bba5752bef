/* SPDX-License-Identifier: Apache-2.0 */
/* Messages between the blocks of a cluster: 16 or 8 bytes straight into the shared memory of a
 * block, and counted by a barrier there (compute capability 9.0). The receiver announces the bytes
 * (wi_barrier_arrive_expect) before or after they arrive. The cluster has two blocks or more: in
 * one of a single block compute-sanitizer calls a message an invalid write. */
#ifndef WI_MESSAGE_CUH
#define WI_MESSAGE_CUH

#include "cuda/bulk.cuh"
#include "cuda/cluster.cuh"

struct alignas(16) wi_message {
    uint32_t word[4];
};
struct alignas(8) wi_short_message {
    uint32_t word[2];
};

#ifdef WEFT_EMU
inline void wi_send(wi_message *to, const wi_message &m, wi_barrier *b, unsigned rank,
                    EMU_SITE("wi_send")) {
    emu_send(to, &m, sizeof m, b, rank, at);
}
template <class Message>
inline void wi_send_late(Message *to, const Message &m, wi_barrier *b, unsigned rank,
                         EMU_SITE("wi_send_late")) {
    emu_send(to, &m, sizeof m, b, rank, at);
}
inline void wi_receive(wi_barrier *b, uint32_t parity, EMU_SITE("wi_receive")) {
    emu_barrier_wait(b, parity, at);
}
#else
/* The address, in the block with that rank, of what corresponds to this block's. */
__device__ inline uint32_t wi_there(const void *mine, unsigned rank) {
    uint32_t there;
    asm("mapa.shared::cluster.u32 %0, %1, %2;"
        : "=r"(there)
        : "r"(wi_shared_address(mine)), "r"(rank));
    return there;
}

/* Writes m to the place in block `rank` that corresponds to `to`, and counts 16 bytes at that
 * block's b. Both addresses are this block's. */
__device__ inline void wi_send(wi_message *to, const wi_message &m, wi_barrier *b, unsigned rank) {
    asm volatile("st.async.weak.shared::cluster.mbarrier::complete_tx::bytes.v4.b32 "
                 "[%0], {%1, %2, %3, %4}, [%5];" ::"r"(wi_there(to, rank)),
                 "r"(m.word[0]), "r"(m.word[1]), "r"(m.word[2]), "r"(m.word[3]),
                 "r"(wi_there(b, rank))
                 : "memory");
}

/* The same, for messages to one block after another: addresses there are computed when they are
 * wanted, where the compiler would keep those of all blocks in registers. */
__device__ inline void wi_send_late(wi_message *to, const wi_message &m, wi_barrier *b,
                                    unsigned rank) {
    asm volatile("{\n\t.reg .b32 there, count;\n\t"
                 "mapa.shared::cluster.u32 there, %0, %6;\n\t"
                 "mapa.shared::cluster.u32 count, %5, %6;\n\t"
                 "st.async.weak.shared::cluster.mbarrier::complete_tx::bytes.v4.b32 "
                 "[there], {%1, %2, %3, %4}, [count];\n\t}" ::"r"(wi_shared_address(to)),
                 "r"(m.word[0]), "r"(m.word[1]), "r"(m.word[2]), "r"(m.word[3]),
                 "r"(wi_shared_address(b)), "r"(rank)
                 : "memory");
}
__device__ inline void wi_send_late(wi_short_message *to, const wi_short_message &m, wi_barrier *b,
                                    unsigned rank) {
    asm volatile("{\n\t.reg .b32 there, count;\n\t"
                 "mapa.shared::cluster.u32 there, %0, %4;\n\t"
                 "mapa.shared::cluster.u32 count, %3, %4;\n\t"
                 "st.async.weak.shared::cluster.mbarrier::complete_tx::bytes.v2.b32 "
                 "[there], {%1, %2}, [count];\n\t}" ::"r"(wi_shared_address(to)),
                 "r"(m.word[0]), "r"(m.word[1]), "r"(wi_shared_address(b)), "r"(rank)
                 : "memory");
}

/* To acquire shared memory alone takes PTX of CUDA 13; all of it would discard the first-level
 * cache. */
#    if defined(__CUDACC_VER_MAJOR__) && __CUDACC_VER_MAJOR__ >= 13
#        define WI_RECEIVE_ORDER "relaxed"
#        define WI_RECEIVE_FENCE "fence.acquire.sync_restrict::shared::cluster.cluster;"
#    else
#        define WI_RECEIVE_ORDER "acquire"
#        define WI_RECEIVE_FENCE ""
#    endif

/* Waits until the phase of that parity of this block's barrier has ended: then the messages that it
 * counted are there. */
__device__ inline void wi_receive(wi_barrier *b, uint32_t parity) {
    uint32_t done = 0;
    while (!done)
        asm volatile("{\n\t.reg .pred p;\n\t"
                     "mbarrier.try_wait.parity." WI_RECEIVE_ORDER
                     ".cluster.shared::cta.b64 p, [%1], %2;\n\t"
                     "selp.u32 %0, 1, 0, p;\n\t}"
                     : "=r"(done)
                     : "r"(wi_shared_address(b)), "r"(parity)
                     : "memory");
    asm volatile(WI_RECEIVE_FENCE ::: "memory");
}
#endif

#endif
