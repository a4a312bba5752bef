/* SPDX-License-Identifier: Apache-2.0 */
/* Plain C++ versions of group.cuh for emu, with the same names; group.cuh, the only file that
 * includes this, documents them. */
#ifndef WI_GROUP_EMU_CUH
#define WI_GROUP_EMU_CUH

/* `count` adjacent elements; a struct, so that emu checks them as one access. */
template <class T, int count>
struct alignas(count * sizeof(T)) wi_group_elements {
    T at[count];
};

/* The elements `at` bytes after the start of an operand, before its chunks of 16 bytes were
 * swizzled (cuda/boxes.cuh). */
template <class T, int count>
inline wi_group_elements<T, count> wi_group_read(const wi_group_operand &x, size_t at) {
    const uintptr_t from = (uintptr_t)x.start + at;
    return *(const wi_group_elements<T, count> *)(from ^ (from >> 7 & 7) << 4);
}
/* The value that tensor cores use: of an f32 only the bits of tf32. */
template <class T>
inline float wi_group_value(T element) {
    if constexpr (std::is_same_v<T, float>)
        return wi_bit_cast<float>(wi_bit_cast<uint32_t>(element) & ~(uint32_t)0x1fff);
    else
        return (float)element;
}

/* Rows of A (or columns of B) i ... i + rows - 1, all 32 bytes along k. */
template <class T, bool by_k, int rows>
inline void wi_group_load(const wi_group_operand &x, int i,
                          float (&value)[rows][32 / (int)sizeof(T)]) {
    constexpr int across = 128 / (int)sizeof(T), chunk = 16 / (int)sizeof(T), depth = 2 * chunk;
    if constexpr (by_k) {
        for (int r = 0; r < rows; r++)
            for (int p = 0; p < depth; p += chunk) {
                const auto part =
                    wi_group_read<T, chunk>(x, (size_t)(i + r) * 128 + (size_t)p * sizeof(T));
                for (int e = 0; e < chunk; e++)
                    value[r][p + e] = wi_group_value(part.at[e]);
            }
    } else {
        for (int p = 0; p < depth; p++) {
            const auto part =
                wi_group_read<T, rows>(x, (size_t)p * 128 + (size_t)(i % across) * sizeof(T) +
                                              (size_t)(i / across) * x.panel_bytes);
            for (int r = 0; r < rows; r++)
                value[r][p] = wi_group_value(part.at[r]);
        }
    }
}

template <class T, bool a_by_k, bool b_by_k, class Sum, int sums>
inline void wi_group_multiply(Sum (&sum)[sums], const wi_group_operand &a,
                              const wi_group_operand &b) {
    constexpr int depth = 32 / (int)sizeof(T);
    const int first = (int)threadIdx.x / 32 % 4 * 16 + wi_lane() / 4;
    const int column = wi_lane() % 4 * 2;
    float x[2][1][depth], y[2][depth];
    for (int r = 0; r < 2; r++)
        wi_group_load<T, a_by_k>(a, first + 8 * r, x[r]);
    for (int j = 0; j < sums / 4; j++) {
        wi_group_load<T, b_by_k>(b, 8 * j + column, y);
        for (int c = 0; c < 2; c++)
            for (int p = 0; p < depth; p++)
                for (int r = 0; r < 2; r++) {
                    Sum &to = sum[4 * j + 2 * r + c];
                    to = wi_plus(to, (Sum)(x[r][0][p] * y[c][p]));
                }
    }
}

template <int sums>
inline void wi_group_multiply_tf32(float (&sum)[sums], const uint32_t (&a)[4],
                                   const wi_group_operand &b) {
    constexpr int depth = 8;
    const int first = wi_lane() / 4 * 4, column = wi_lane() % 4 * 2;
    float x[2][depth], y[2][depth];
    for (int p = 0; p < depth; p++)
        for (int r = 0; r < 2; r++)
            x[r][p] =
                wi_group_value(wi_bit_cast<float>(wi_shuffle(a[p / 4 * 2 + r], first + p % 4)));
    for (int j = 0; j < sums / 4; j++) {
        wi_group_load<float, true>(b, 8 * j + column, y);
        for (int c = 0; c < 2; c++)
            for (int p = 0; p < depth; p++)
                for (int r = 0; r < 2; r++) {
                    float &to = sum[4 * j + 2 * r + c];
                    to = wi_plus(to, x[r][p] * y[c][p]);
                }
    }
}

template <int sums>
inline void wi_group_multiply_bf16(float (&sum)[sums], const uint32_t (&a)[4],
                                   const wi_group_operand &b, bool adds) {
    constexpr int depth = 16;
    const int first = wi_lane() / 4 * 4, column = wi_lane() % 4 * 2;
    float x[2][depth], y[2][depth];
    for (int p = 0; p < depth; p++)
        for (int r = 0; r < 2; r++) {
            const uint32_t both = wi_shuffle(a[p / 8 * 2 + r], first + p / 2 % 4);
            x[r][p] = (float)wi_bit_cast<__nv_bfloat16>((uint16_t)(both >> 16 * (p % 2)));
        }
    for (int i = 0; i < sums && !adds; i++)
        sum[i] = 0;
    for (int j = 0; j < sums / 4; j++) {
        wi_group_load<__nv_bfloat16, true>(b, 8 * j + column, y);
        for (int c = 0; c < 2; c++)
            for (int p = 0; p < depth; p++)
                for (int r = 0; r < 2; r++) {
                    float &to = sum[4 * j + 2 * r + c];
                    to = wi_plus(to, x[r][p] * y[c][p]);
                }
    }
}

template <int further, int sums>
inline void wi_group_multiply_bytes(int32_t (&sum)[sums], const uint32_t (&a)[4],
                                    const wi_group_operand &operand, bool adds = true) {
    const wi_group_operand b = {operand.start + further, operand.panel_bytes};
    constexpr int depth = 32;
    const int first = wi_lane() / 4 * 4, column = wi_lane() % 4 * 2;
    uint32_t x[2][depth / 4];
    float y[2][depth];
    for (int p = 0; p < depth / 4; p++)
        for (int r = 0; r < 2; r++)
            x[r][p] = wi_shuffle(a[p / 4 * 2 + r], first + p % 4);
    for (int i = 0; i < sums && !adds; i++)
        sum[i] = 0;
    for (int j = 0; j < sums / 4; j++) {
        wi_group_load<int8_t, true>(b, 8 * j + column, y);
        for (int c = 0; c < 2; c++)
            for (int p = 0; p < depth; p++)
                for (int r = 0; r < 2; r++)
                    sum[4 * j + 2 * r + c] +=
                        (int)(x[r][p / 4] >> 8 * (p % 4) & 0xff) * (int)y[c][p];
    }
}

inline void wi_group_begin() {}
inline void wi_group_commit() {}
/* On the device tensor cores read shared memory through the async proxy, as the copy engine does.
 * Here threads have read it: a fence orders their reads before the copy engine's next writes. */
template <int pending>
inline void wi_group_wait() {
    emu_bulk_fence();
}
template <int registers>
inline void wi_keep_registers() {}
template <int registers>
inline void wi_take_registers() {}

#endif
