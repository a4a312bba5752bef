/* SPDX-License-Identifier: Apache-2.0 */
/* Plain C++ versions of tensor.cuh for emu, with the same names; tensor.cuh, the only file that
 * includes this, documents them. */
#ifndef WI_TENSOR_EMU_CUH
#define WI_TENSOR_EMU_CUH

/* Each lane gets its rows of A and columns of B from the lanes that hold them; `add(d, a, b)` adds
 * to d the products of the registers a and b. */
template <class D, class Add>
inline void wi_multiply_twin(D (&d)[4], const uint32_t (&a)[4], const uint32_t (&b)[2], Add add) {
    const int g = wi_lane() / 4, t = wi_lane() % 4;
    for (int q = 0; q < 4; q++) {
        for (int half = 0; half < 2; half++) {
            const uint32_t upper = wi_shuffle(a[2 * half], 4 * g + q);
            const uint32_t lower = wi_shuffle(a[2 * half + 1], 4 * g + q);
            for (int column = 0; column < 2; column++) {
                const uint32_t theirs = wi_shuffle(b[half], 4 * (2 * t + column) + q);
                d[column] = add(d[column], upper, theirs);
                d[2 + column] = add(d[2 + column], lower, theirs);
            }
        }
    }
}
template <class T>
inline float wi_add_pair(float d, uint32_t a, uint32_t b) {
    for (int k = 0; k < 32; k += 16)
        d += (float)wi_bit_cast<T>((uint16_t)(a >> k)) * (float)wi_bit_cast<T>((uint16_t)(b >> k));
    return d;
}
inline float wi_add_tf32(float d, uint32_t a, uint32_t b) {
    constexpr uint32_t counts = ~(uint32_t)0x1fff;
    return d + wi_bit_cast<float>(a & counts) * wi_bit_cast<float>(b & counts);
}
inline int32_t wi_add_bytes(int32_t d, uint32_t a, uint32_t b) {
    uint32_t sum = (uint32_t)d;
    for (int k = 0; k < 32; k += 8)
        sum += (uint32_t)((int8_t)(a >> k) * (int8_t)(b >> k));
    return (int32_t)sum;
}

inline void wi_multiply_f16(float (&d)[4], const uint32_t (&a)[4], const uint32_t (&b)[2]) {
    wi_multiply_twin(d, a, b, wi_add_pair<__half>);
}
inline void wi_multiply_bf16(float (&d)[4], const uint32_t (&a)[4], const uint32_t (&b)[2]) {
    wi_multiply_twin(d, a, b, wi_add_pair<__nv_bfloat16>);
}
inline void wi_multiply_tf32(float (&d)[4], const uint32_t (&a)[4], const uint32_t (&b)[2]) {
    wi_multiply_twin(d, a, b, wi_add_tf32);
}
inline void wi_multiply_int8(int32_t (&d)[4], const uint32_t (&a)[4], const uint32_t (&b)[2]) {
    wi_multiply_twin(d, a, b, wi_add_bytes);
}
inline void wi_multiply_f64(double (&d)[2], double a, double b) {
    const int g = wi_lane() / 4, t = wi_lane() % 4;
    for (int q = 0; q < 4; q++) {
        const double mine = wi_shuffle(a, 4 * g + q);
        for (int column = 0; column < 2; column++)
            d[column] = fma(mine, wi_shuffle(b, 4 * (2 * t + column) + q), d[column]);
    }
}

inline const uint16_t *wi_row_of(const void *row, int lane) {
    return (const uint16_t *)wi_shuffle((uintptr_t)row, lane);
}
inline void wi_load_matrices(uint32_t (&part)[4], const void *row) {
    const int g = wi_lane() / 4, t = wi_lane() % 4;
    for (int i = 0; i < 4; i++)
        part[i] = *(const uint32_t *)(wi_row_of(row, 8 * i + g) + 2 * t);
}
inline void wi_load_matrices_transposed(uint32_t (&part)[4], const void *row) {
    const int g = wi_lane() / 4, t = wi_lane() % 4;
    for (int i = 0; i < 4; i++) {
        const uint16_t *const first = wi_row_of(row, 8 * i + 2 * t);
        const uint16_t *const second = wi_row_of(row, 8 * i + 2 * t + 1);
        part[i] = first[g] | (uint32_t)second[g] << 16;
    }
}

#endif
