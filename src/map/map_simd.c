/* SPDX-License-Identifier: Apache-2.0 */
/* The loops of map for one instruction set. All sets give the same bits: every element is computed
 * by the same scalar operations, only more of them at a time. */
#include "map/map_simd.h"

#include <string.h>

#include "cpu/half_simd.h"
#include "cpu/stream.h"

#define LOOP _Pragma("omp simd")
#include "map/map_types.inc"

enum {
    HALF_TILE = 512 /* 16-bit floats widened at a time */
};

#define NAME(op) op##_f16
#define WIDEN wi_f16_widen
#define WIDEN_RUN wi_f16_widen_run
#define NARROW_RUN wi_f16_narrow_run
#include "map/map_half.inc"

#define NAME(op) op##_bf16
#define WIDEN wi_bf16_widen
#define WIDEN_RUN wi_bf16_widen_run
#define NARROW_RUN wi_bf16_narrow_run
#include "map/map_half.inc"

/* Sets `part` to elements [from, from + n) of a run, member by member: copying a struct whose
 * members were just written would stall the processor. */
WI_INLINE void take_part(wi_map_run *part, const wi_map_run *run, size_t from, size_t n,
                         size_t size) {
    part->n = n;
    part->x = run->x ? (const char *)run->x + from * size : NULL;
    part->y = run->y ? (const char *)run->y + from * size : NULL;
    part->z = (char *)run->z + from * size;
    part->first = run->first + from;
}

WI_INLINE void prefetch_inputs(const wi_map_run *run, size_t from, size_t bytes, size_t size) {
    if (run->x)
        wi_prefetch((const char *)run->x + from * size, bytes);
    if (run->y)
        wi_prefetch((const char *)run->y + from * size, bytes);
}

/* Tiles are computed into a buffer in cache and streamed from there. */
static void stream(wi_map_loop loop, const wi_map_run *run, size_t size) {
    _Alignas(WI_LINE_BYTES) unsigned char tile[WI_STREAM_TILE_BYTES];
    const size_t tile_n = sizeof tile / size;
    const size_t group_n = WI_STREAM_GROUP_TILES * tile_n;
    const size_t to_line = -(uintptr_t)run->z % WI_LINE_BYTES / size;
    size_t at = to_line < run->n ? to_line : run->n;
    wi_map_run part = *run;
    part.n = at;
    loop(&part);
    for (; run->n - at >= group_n; at += group_n) {
        for (size_t k = 0; k < WI_STREAM_GROUP_TILES; k++) {
            size_t ahead = at + wi_stream_order(k + WI_STREAM_AHEAD) * tile_n;
            if (ahead + tile_n <= run->n)
                prefetch_inputs(run, ahead, sizeof tile, size);
            take_part(&part, run, at + wi_stream_order(k) * tile_n, tile_n, size);
            void *z = part.z;
            part.z = tile;
            loop(&part);
            wi_stream_lines(z, tile, sizeof tile);
        }
    }
    take_part(&part, run, at, run->n - at, size);
    loop(&part);
    wi_stream_done();
}

const wi_map_simd WI_FOR_ISA(wi_map_simd) = {
    .loops = {[WI_MAP_ADD] = OF_EVERY_TYPE(add),
              [WI_MAP_AXPY] = OF_EVERY_TYPE(axpy),
              [WI_MAP_FILL] = OF_EVERY_TYPE(fill),
              [WI_MAP_IOTA] = OF_EVERY_TYPE(iota)},
    .stream = stream,
};
