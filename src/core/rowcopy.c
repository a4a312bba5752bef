/* SPDX-License-Identifier: Apache-2.0 */
/* Copies between host arrays of rows. */
#include "core/rowcopy.h"

#include <string.h>

enum {
    PIECE_BYTES = 1 << 20 /* per thread and turn: large enough that sharing out costs nothing */
};

void wi_rows_copy(wi_rows to, wi_rows from, size_t row_bytes, size_t begin, size_t end) {
    size_t row = begin / row_bytes, column = begin % row_bytes;
    for (size_t left = end - begin; left > 0; row++, column = 0) {
        const size_t rest = row_bytes - column;
        const size_t bytes = left < rest ? left : rest;
        memcpy(to.p + row * to.pitch_bytes + column, from.p + row * from.pitch_bytes + column,
               bytes);
        left -= bytes;
    }
}

void wi_rows_copy_all(int threads, wi_rows to, wi_rows from, size_t rows, size_t row_bytes) {
    const size_t bytes = rows * row_bytes;
    const size_t pieces = (bytes + PIECE_BYTES - 1) / PIECE_BYTES;
    const int team = pieces < (size_t)threads ? (int)pieces : threads;
#pragma omp parallel for num_threads(team) schedule(static) if (team > 1)
    for (size_t piece = 0; piece < pieces; piece++) {
        const size_t begin = piece * PIECE_BYTES;
        const size_t end = bytes - begin > PIECE_BYTES ? begin + PIECE_BYTES : bytes;
        wi_rows_copy(to, from, row_bytes, begin, end);
    }
}
