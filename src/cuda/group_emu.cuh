/* SPDX-License-Identifier: Apache-2.0 */
/* Plain C++ versions of group.cuh for emu, with the same names; group.cuh, the only file that
 * includes this, documents them. */
#ifndef WI_GROUP_EMU_CUH
#define WI_GROUP_EMU_CUH

/* Element p along k of row (or column) i. */
template <class T, bool by_k>
inline float wi_group_element(const wi_group_operand &x, int i, int p) {
    const int across = 128 / (int)sizeof(T); /* elements of a line */
    const int line = by_k ? i : p, place = by_k ? p : i % across;
    const size_t at = (size_t)line * 128 + (size_t)place * sizeof(T) +
                      (by_k ? 0 : (size_t)(i / across) * x.panel_bytes);
    const uintptr_t from = (uintptr_t)x.start + at;
    const T *const element = (const T *)(from ^ (from >> 7 & 7) << 4);
    if constexpr (std::is_same_v<T, float>)
        return wi_bit_cast<float>(wi_bit_cast<uint32_t>(*element) & ~(uint32_t)0x1fff);
    else
        return (float)*element;
}

template <class T, bool a_by_k, bool b_by_k, class Sum, int sums>
inline void wi_group_multiply(Sum (&sum)[sums], const wi_group_operand &a,
                              const wi_group_operand &b) {
    constexpr int depth = 32 / (int)sizeof(T);
    const int first = (int)threadIdx.x / 32 % 4 * 16 + wi_lane() / 4;
    const int column = wi_lane() % 4 * 2;
    float x[2][depth];
    for (int r = 0; r < 2; r++)
        for (int p = 0; p < depth; p++)
            x[r][p] = wi_group_element<T, a_by_k>(a, first + 8 * r, p);
    for (int j = 0; j < sums / 4; j++)
        for (int c = 0; c < 2; c++)
            for (int p = 0; p < depth; p++) {
                const float y = wi_group_element<T, b_by_k>(b, 8 * j + column + c, p);
                for (int r = 0; r < 2; r++)
                    sum[4 * j + 2 * r + c] = wi_plus(sum[4 * j + 2 * r + c], (Sum)(x[r][p] * y));
            }
}

inline void wi_group_begin() {}
inline void wi_group_commit() {}
template <int pending>
inline void wi_group_wait() {}
template <int registers>
inline void wi_keep_registers() {}
template <int registers>
inline void wi_take_registers() {}

#endif
