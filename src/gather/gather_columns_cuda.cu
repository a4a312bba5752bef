/* SPDX-License-Identifier: Apache-2.0 */
/* Columns of a table of records on a GPU. A thread has a record: what its first column brings into
 * the cache serves the others, and neighbouring threads write neighbouring elements. */
#include "cuda/launch.cuh"
#include "gather/gather_columns.h"

constexpr unsigned columns_threads = 256;

/* The arguments of the kernel: `unit` bytes are copied at a time, of each column. */
struct columns_moved {
    wi_columns_args a;
    unsigned unit[WEFT_TABLE_COLUMNS];
};

template <class Unit>
static __device__ void copy_units(unsigned char *to, const unsigned char *from, size_t bytes) {
    for (size_t b = 0; b < bytes; b += sizeof(Unit))
        *(Unit *)(to + b) = *(const Unit *)(from + b);
}

__global__ void __launch_bounds__(columns_threads)
    move_columns(const __grid_constant__ columns_moved m) {
    const size_t i = (size_t)blockIdx.x * columns_threads + threadIdx.x;
    if (i >= m.a.n)
        return;
    for (size_t c = 0; c < m.a.columns; c++) {
        const size_t width = m.a.column[c].width;
        unsigned char *const inside = m.a.records + i * m.a.record_bytes + m.a.column[c].offset;
        unsigned char *const outside = (unsigned char *)m.a.column[c].array + i * width;
        unsigned char *const to = m.a.puts ? inside : outside;
        const unsigned char *const from = m.a.puts ? outside : inside;
        switch (m.unit[c]) {
        case 8:
            copy_units<uint64_t>(to, from, width);
            break;
        case 4:
            copy_units<uint32_t>(to, from, width);
            break;
        case 2:
            copy_units<uint16_t>(to, from, width);
            break;
        default:
            copy_units<uint8_t>(to, from, width);
            break;
        }
    }
}

weft_status wi_columns_rows(weft_context *ctx, const void *args) {
    columns_moved m = {*(const wi_columns_args *)args, {}};
    for (size_t c = 0; c < m.a.columns; c++) {
        const weft_table_column *const column = &m.a.column[c];
        const uintptr_t all = (uintptr_t)m.a.records | (uintptr_t)column->array | column->offset |
                              column->width | m.a.record_bytes | 8;
        m.unit[c] = (unsigned)(all & -all);
    }
    const size_t blocks = (m.a.n + columns_threads - 1) / columns_threads;
    return WEFT_LAUNCH(move_columns, ctx, (unsigned)blocks, columns_threads, 0, m);
}
