/* SPDX-License-Identifier: Apache-2.0 */
/* Plain C++ versions of tensor.cuh for emu, with the same names; tensor.cuh, the only file that
 * includes this, documents them. */
#ifndef WI_TENSOR_EMU_CUH
#define WI_TENSOR_EMU_CUH

/* The registers of a lane for one product. */
template <class T, int m, int n>
struct wi_multiply_operands {
    T a[m], b[n];
};
template <class T, int m, int n>
inline const unsigned char *wi_gather_operands(const T (&a)[m], const T (&b)[n]) {
    wi_multiply_operands<T, m, n> mine;
    static_assert(sizeof mine <= emu_gather_bytes, "all registers at once");
    memcpy(mine.a, a, sizeof a);
    memcpy(mine.b, b, sizeof b);
    return emu_gather(&mine, sizeof mine, EMU_HERE("mma"));
}

/* Each lane gets its rows of A and columns of B from the lanes that hold them; `add(d, a, b)` adds
 * to d the products of the registers a and b. */
template <class D, class Add>
inline void wi_multiply_twin(D (&d)[4], const uint32_t (&a)[4], const uint32_t (&b)[2], Add add) {
    const int g = wi_lane() / 4, t = wi_lane() % 4;
    const unsigned char *const all = wi_gather_operands(a, b);
    for (int q = 0; q < 4; q++) {
        for (int half = 0; half < 2; half++) {
            const uint32_t upper = emu_gathered<uint32_t>(all, 4 * g + q, 2 * half);
            const uint32_t lower = emu_gathered<uint32_t>(all, 4 * g + q, 2 * half + 1);
            for (int column = 0; column < 2; column++) {
                const int holder = 4 * (2 * t + column) + q;
                const uint32_t theirs = emu_gathered<uint32_t>(all, holder, 4 + half);
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
inline void wi_multiply_bytes(int32_t (&d)[4], const uint32_t (&a)[4], const uint32_t (&b)[2],
                              const int32_t (&c)[4]) {
    int32_t sum[4] = {c[0], c[1], c[2], c[3]};
    wi_multiply_twin(sum, a, b, [](int32_t more, uint32_t x, uint32_t y) {
        for (int k = 0; k < 32; k += 8)
            more += (int32_t)(uint8_t)(x >> k) * (int8_t)(y >> k);
        return more;
    });
    memcpy(d, sum, sizeof sum);
}
inline void wi_multiply_f64(double (&d)[2], double a, double b) {
    const int g = wi_lane() / 4, t = wi_lane() % 4;
    const double mine[] = {a}, theirs[] = {b};
    const unsigned char *const all = wi_gather_operands(mine, theirs);
    for (int q = 0; q < 4; q++)
        for (int column = 0; column < 2; column++)
            d[column] = fma(emu_gathered<double>(all, 4 * g + q, 0),
                            emu_gathered<double>(all, 4 * (2 * t + column) + q, 1), d[column]);
}
/* tensor_f64.cuh's: k4 such products for the upper eight rows, and as many for the lower. */
template <int k4>
inline void wi_multiply_f64(double (&d)[4], const double (&a)[2 * k4], const double (&b)[k4]) {
    const int g = wi_lane() / 4, t = wi_lane() % 4;
    const unsigned char *const all = wi_gather_operands(a, b);
    for (int k = 0; k < 4 * k4; k++)
        for (int column = 0; column < 2; column++) {
            const int q = k % 4, i = k / 4, holder = 4 * (2 * t + column) + q;
            const double y = emu_gathered<double>(all, holder, 2 * k4 + i);
            d[column] = fma(emu_gathered<double>(all, 4 * g + q, 2 * i), y, d[column]);
            d[2 + column] = fma(emu_gathered<double>(all, 4 * g + q, 2 * i + 1), y, d[2 + column]);
        }
}

/* The rows that the lanes name. */
struct wi_rows {
    const unsigned char *all;
    uint16_t *of(int lane) const {
        return emu_gathered<uint16_t *>(all, lane, 0);
    }
};
inline wi_rows wi_gather_rows(const void *row) {
    return {emu_gather(&row, sizeof row, EMU_HERE("ldmatrix"))};
}
inline void wi_load_matrices(uint32_t (&part)[4], const void *row) {
    const int g = wi_lane() / 4, t = wi_lane() % 4;
    const wi_rows rows = wi_gather_rows(row);
    for (int i = 0; i < 4; i++)
        part[i] = *(const uint32_t *)(rows.of(8 * i + g) + 2 * t);
}
inline void wi_load_matrices_transposed(uint32_t (&part)[4], const void *row) {
    const int g = wi_lane() / 4, t = wi_lane() % 4;
    const wi_rows rows = wi_gather_rows(row);
    for (int i = 0; i < 4; i++) {
        const uint16_t *const first = rows.of(8 * i + 2 * t);
        const uint16_t *const second = rows.of(8 * i + 2 * t + 1);
        part[i] = first[g] | (uint32_t)second[g] << 16;
    }
}
inline void wi_store_matrices(const uint32_t (&part)[4], void *row) {
    const int g = wi_lane() / 4, t = wi_lane() % 4;
    const wi_rows rows = wi_gather_rows(row);
    for (int i = 0; i < 4; i++)
        *(uint32_t *)(rows.of(8 * i + g) + 2 * t) = part[i];
}
inline uint32_t wi_pack_bf16(float low, float high) {
    return wi_bit_cast<uint16_t>((__nv_bfloat16)low) |
           (uint32_t)wi_bit_cast<uint16_t>((__nv_bfloat16)high) << 16;
}

#endif
