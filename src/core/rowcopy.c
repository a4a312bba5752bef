/* SPDX-License-Identifier: Apache-2.0 */
/* Copies between host arrays of rows. */
#include "core/rowcopy.h"

#include <string.h>

#include "cpu/team.h"

enum {
    PIECE_BYTES = 1 << 20 /* that a thread takes at a time: many, so that taking costs nothing */
};

void wi_pitched_copy(wi_pitched to, wi_pitched from, size_t row_bytes, size_t begin, size_t end) {
    size_t row = begin / row_bytes, column = begin % row_bytes;
    for (size_t left = end - begin; left > 0; row++, column = 0) {
        const size_t rest = row_bytes - column;
        const size_t bytes = left < rest ? left : rest;
        memcpy(to.p + row * to.pitch_bytes + column, from.p + row * from.pitch_bytes + column,
               bytes);
        left -= bytes;
    }
}

typedef struct copying {
    wi_pitched to, from;
    size_t row_bytes, bytes, pieces;
} copying;

static void copy_part(void *user, int rank, int size) {
    const copying *const c = user;
    const size_t begin = wi_team_share(c->pieces, rank, size) * PIECE_BYTES;
    const size_t end = wi_team_share(c->pieces, rank + 1, size) * PIECE_BYTES;
    if (begin < end)
        wi_pitched_copy(c->to, c->from, c->row_bytes, begin, end < c->bytes ? end : c->bytes);
}

void wi_pitched_copy_all(const weft_context *ctx, int threads, wi_pitched to, wi_pitched from,
                         size_t rows, size_t row_bytes) {
    const size_t bytes = rows * row_bytes;
    const size_t pieces = (bytes + PIECE_BYTES - 1) / PIECE_BYTES;
    const int team = pieces < (size_t)threads ? (int)pieces : threads;
    wi_team_run(ctx, team, copy_part, &(copying){to, from, row_bytes, bytes, pieces});
}
