/* SPDX-License-Identifier: Apache-2.0 */
/* Plain C++ versions of bulk.cuh for emu, with the same names; bulk.cuh, the only file that
 * includes this, documents them. */
#ifndef WI_BULK_EMU_CUH
#define WI_BULK_EMU_CUH

inline void wi_barrier_init(wi_barrier *b, uint32_t count) {
    emu_barrier_init(b, count);
}
inline void wi_barrier_publish() {}
inline void wi_barrier_arrive(wi_barrier *b) {
    emu_barrier_arrive(b, 0);
}
inline void wi_barrier_arrive_at(wi_barrier *b, unsigned rank, EMU_SITE("wi_barrier_arrive_at")) {
    emu_barrier_arrive_at(b, rank, at);
}
inline void wi_barrier_arrive_expect(wi_barrier *b, uint32_t bytes) {
    emu_barrier_arrive(b, bytes);
}
inline void wi_barrier_wait(wi_barrier *b, uint32_t parity, EMU_SITE("wi_barrier_wait")) {
    emu_barrier_wait(b, parity, at);
}
inline void wi_bulk_load(void *shared, const void *global, uint32_t bytes, wi_barrier *b) {
    emu_bulk_load(shared, global, bytes, b);
}
inline void wi_bulk_store(void *global, const void *shared, uint32_t bytes) {
    emu_bulk_store(global, shared, bytes);
}
inline void wi_bulk_commit() {}
template <int pending>
inline void wi_bulk_wait_read() {
    emu_bulk_wait();
}
inline void wi_bulk_wait_all() {
    emu_bulk_wait();
}
inline void wi_bulk_fence() {
    emu_bulk_fence();
}
inline void wi_bulk_fence_memory() {}

#endif
