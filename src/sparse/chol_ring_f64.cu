/* SPDX-License-Identifier: Apache-2.0 */
/* What a block of columns changes in the large fronts of a level, in tiles of 96 x 128 whose
 * operands the copy engine brings. Blocks of threads stay, and take one tile after the other: a
 * warp of its own, the copier, keeps a ring of slots in shared memory full, also with what the next
 * tile needs; the other warps, the adders, multiply (src/gemm/gemm_boxes.cuh). An element is one
 * sum along k wherever its tile begins, taken from what was there: it has the bits of the kernel in
 * chol_tiles.cu. */
#include "gemm/gemm_doubles.cuh"
#include "sparse/chol_panels.cuh"

using ring_shape = wi_gemm_doubles_shape<WI_RING_ROWS, WI_RING_COLUMNS, 2, 4, 7, 180, false>;
using ring_rows = wi_gemm_panel<double, WI_RING_ROWS, false>;
using ring_columns = wi_gemm_panel<double, WI_RING_COLUMNS, false>;
using ring_adder = wi_gemm_doubles<ring_shape, ring_rows, ring_columns>;
constexpr int ring_band = 8; /* columns of tiles */
constexpr int ring_slots = ring_shape::slots, ring_adders = ring_shape::adders;
constexpr int ring_threads = 32 * ring_shape::warps, ring_depth = ring_rows::depth;
constexpr uint32_t ring_slot_bytes = ring_rows::bytes + ring_columns::bytes;

/* A tile: what the adders need to know of it. */
struct ring_tile {
    double *panel, *update; /* of the front; row 0 of column 0, and of the column after its columns
                               had the update whole columns */
    int ld, ld_update, columns, height;
    int row, column;      /* its first */
    int from, begin, end; /* its products, and the columns that change */
};
constexpr int ring_tiles = 2 * ring_slots; /* more than are begun and not ended */

struct ring_memory {
    wi_barrier full[ring_slots], empty[ring_slots];
    ring_tile tile[ring_tiles];
};
constexpr size_t ring_bytes =
    wi_box_align + (size_t)ring_slots * ring_slot_bytes + sizeof(ring_memory);

struct ring_block {
    using turn = wi_box_turn<ring_slots>;
    const wi_device_chol &d;
    const wi_front_batch &b;
    int tiles;
    const wi_front_stripes *stripes; /* of the batch's only front, or NULL */
    char *slot;
    ring_memory &m;

    __device__ const char *wait(const turn &t) const {
        wi_barrier_wait(&m.full[t.slot], t.parity);
        return slot + (uint32_t)t.slot * ring_slot_bytes;
    }
    __device__ void release_read(const turn &t) const {
        wi_bulk_fence();
        __syncwarp();
        if (wi_lane() == 0)
            wi_barrier_arrive(&m.empty[t.slot]);
    }

    /* Tiles of the column of tiles that has `above` rows less than the first. */
    __device__ static int tiles_below(int rows, int above) {
        return above < rows ? wi_pieces(rows - above, WI_RING_ROWS) : 0;
    }
    /* Tile `number` of a band of columns of tiles, row by row while all have one, so that tiles
     * which are done at a time share what they read. */
    __device__ static wi_stripe_tile place_in_band(int number, int rows, int column) {
        const int last = tiles_below(rows, (column + ring_band - 1) * WI_RING_COLUMNS);
        if (number < last * ring_band)
            return {number / ring_band, column + number % ring_band};
        number -= last * ring_band;
        for (;; column++) {
            const int left = tiles_below(rows, column * WI_RING_COLUMNS) - last;
            if (number < left)
                return {last + number, column};
            number -= left;
        }
    }
    /* Tile `number` of those of so many rows, from their diagonal down. */
    __device__ static wi_stripe_tile place_of(int number, int rows) {
        for (int first = 0;; first += 32 * ring_band) {
            const int column = first + wi_lane() * ring_band;
            int sum = 0;
            for (int k = 0; k < ring_band; k++)
                sum += tiles_below(rows, (column + k) * WI_RING_COLUMNS);
            const int own = sum;
            for (int apart = 1; apart < 32; apart *= 2) {
                const int before = wi_shuffle(sum, wi_lane() - apart);
                sum += wi_lane() >= apart ? before : 0;
            }
            const unsigned behind = __ballot_sync(wi_all_lanes, sum > number);
            if (behind) {
                const int lane = __ffs((int)behind) - 1;
                return place_in_band(number - wi_shuffle(sum - own, lane), rows,
                                     first + lane * ring_band);
            }
            number -= wi_shuffle(sum, 31);
        }
    }
    /* Tile `number` of a front's update. */
    __device__ ring_tile find(const wi_front_record &r, int number) const {
        const wi_panel_scope s = wi_panel_scope_of(r.height, r.columns, b.panel, d.flow_from);
        const int first = stripes ? 0 : wi_panel_tiles_from(s);
        const wi_stripe_tile at = stripes
                                      ? wi_tile_of_stripes(r.height, s.begin, *stripes,
                                                           {WI_RING_ROWS, WI_RING_COLUMNS}, number)
                                      : place_of(number, r.height - first);
        const int column = first + at.column * WI_RING_COLUMNS;
        return {(double *)d.l + r.panel,
                (double *)d.updates + r.update - r.columns - (int64_t)r.columns * r.ld_update,
                r.ld,
                r.ld_update,
                r.columns,
                r.height,
                column + at.row * WI_RING_ROWS,
                column,
                s.from,
                s.begin,
                s.end};
    }
    __device__ static double *column_of(const ring_tile &t, int j) {
        return j < t.columns ? t.panel + (int64_t)j * t.ld : t.update + (int64_t)j * t.ld_update;
    }
    /* Does all of it change, and do rows come in whole packs? */
    __device__ static bool is_whole(const ring_tile &t) {
        return t.row >= t.begin && t.column >= t.begin && t.row + WI_RING_ROWS <= t.height &&
               t.column + WI_RING_COLUMNS <= t.end && t.row + 1 >= t.column + WI_RING_COLUMNS &&
               (uintptr_t)(t.update + t.row) % 16 == 0 && t.ld_update % 2 == 0;
    }
    __device__ ring_tile tile_of(int i, int &front) const {
        const wi_front_share share =
            stripes ? wi_front_share{0, i} : wi_share_of(b.sums, b.fronts, i);
        front = share.front;
        return find(d.front[b.first + front], share.block);
    }
    __device__ void prefetch(const ring_tile &t) const {
        if (is_whole(t))
            for (int j = wi_lane(); j < WI_RING_COLUMNS; j += 32)
                wi_bulk_prefetch(column_of(t, t.column + j) + t.row,
                                 WI_RING_ROWS * (uint32_t)sizeof(double));
    }
    __device__ void copy() const {
        turn t = {0, 1};
        int n = 0;
        for (int i = (int)blockIdx.x; i < tiles; i += (int)gridDim.x, n++) {
            int front;
            const ring_tile tile = tile_of(i, front);
            const wi_boxes *const from = (const wi_boxes *)d.boxes + b.maps + front;
            prefetch(tile);
            if (wi_lane() == 0) {
                for (int k = tile.from; k < tile.begin; k += ring_depth, t.next()) {
                    wi_barrier *const full = &m.full[t.slot];
                    char *const to = slot + (uint32_t)t.slot * ring_slot_bytes;
                    wi_barrier_wait(&m.empty[t.slot], t.parity);
                    if (k == tile.from)
                        m.tile[n % ring_tiles] = tile;
                    wi_barrier_arrive_expect(full, ring_slot_bytes);
                    ring_rows::load(to, from, tile.row, k, 0, full);
                    ring_columns::load(to + ring_rows::bytes, from, tile.column, k, 0, full);
                }
            }
            __syncwarp();
        }
    }
    struct alignas(16) two {
        double at[2];
    };
    /* Takes the sums from the elements of the tile, several of which are read before any is
     * written: so they arrive together. */
    template <class Sums>
    __device__ void subtract(const ring_tile &t, const Sums &sums) const {
        constexpr int at_once = 8, runs = Sums::count / 2;
        const bool whole = is_whole(t);
#pragma unroll
        for (int first = 0; first < runs; first += at_once) {
            double *to[at_once];
            two old[at_once];
            int q = 0;
            sums.each([&](int i, int j, const wi_gemm_run<double, 2> &) {
                if (q >= first && q < first + at_once) {
                    const int row = t.row + i, column = t.column + j;
                    to[q - first] = column_of(t, column) + row;
                    two &x = old[q - first];
                    if (whole)
                        x = *(const two *)to[q - first];
                    else
                        for (int e = 0; e < 2; e++)
                            x.at[e] = changes(t, row + e, column) ? to[q - first][e] : 0;
                }
                q++;
            });
            q = 0;
            sums.each([&](int i, int j, const wi_gemm_run<double, 2> &x) {
                if (q >= first && q < first + at_once) {
                    const two &y = old[q - first];
                    const two left = {{y.at[0] - x.at[0], y.at[1] - x.at[1]}};
                    if (whole)
                        *(two *)to[q - first] = left;
                    else
                        for (int e = 0; e < 2; e++)
                            if (changes(t, t.row + i + e, t.column + j))
                                to[q - first][e] = left.at[e];
                }
                q++;
            });
        }
    }
    __device__ static bool changes(const ring_tile &t, int i, int j) {
        return j >= t.begin && i >= j && i < t.height && j < t.end;
    }
    __device__ void add(int adder) const {
        turn t = {0, 0};
        int n = 0;
        for (int i = (int)blockIdx.x; i < tiles; i += (int)gridDim.x, n++) {
            (void)wait(t);
            const ring_tile &tile = m.tile[n % ring_tiles];
            ring_adder sums(adder);
            sums.add_up(*this, (size_t)wi_pieces(tile.begin - tile.from, ring_depth), t);
            subtract(tile, sums);
        }
    }
};

__device__ static void update_by_ring(const wi_device_chol &d, const wi_front_batch &b, int tiles,
                                      const wi_front_stripes *stripes, unsigned char *memory) {
    const uintptr_t past = (uintptr_t)memory % wi_box_align;
    char *const slot = (char *)memory + (past ? wi_box_align - past : 0);
    ring_memory &m = *(ring_memory *)(slot + (size_t)ring_slots * ring_slot_bytes);
    const int warp = wi_shuffle((int)threadIdx.x / 32, 0);
    if (threadIdx.x == 0) {
        for (int s = 0; s < ring_slots; s++) {
            wi_barrier_init(&m.full[s], 1);
            wi_barrier_init(&m.empty[s], ring_adders);
        }
        wi_barrier_publish();
    }
    __syncthreads();
    const ring_block block = {d, b, tiles, stripes, slot, m};
    if (warp >= ring_adders) {
        wi_keep_registers<ring_shape::copier_registers>();
        if (warp == ring_adders)
            block.copy();
    } else {
        wi_take_registers<ring_shape::adder_registers>();
        block.add(warp);
    }
}

__global__ void __launch_bounds__(ring_threads, 1)
    wi_update_by_ring(wi_device_chol d, wi_front_batch b, int tiles) {
    WEFT_DYNAMIC_SHARED(memory);
    update_by_ring(d, b, tiles, NULL, memory);
}
/* The same in stripes of one front. */
__global__ void __launch_bounds__(ring_threads, 1)
    wi_stripes_by_ring(wi_device_chol d, wi_front_batch b, int tiles, wi_front_stripes stripes) {
    WEFT_DYNAMIC_SHARED(memory);
    update_by_ring(d, b, tiles, &stripes, memory);
}

/* ---- launches ---- */

static unsigned blocks_for(const weft_context *ctx, unsigned tiles) {
    const unsigned units = (unsigned)ctx->gpu->multiprocessors;
    return tiles < units ? tiles : units;
}

weft_status wi_chol_update_by_ring(weft_context *ctx, const wi_device_chol &d,
                                   const wi_front_batch &b, unsigned tiles) {
    return tiles == 0 ? WEFT_OK
                      : WEFT_LAUNCH(wi_update_by_ring, ctx, blocks_for(ctx, tiles), ring_threads,
                                    ring_bytes, d, b, (int)tiles);
}

weft_status wi_chol_stripes_by_ring(weft_context *ctx, const wi_device_chol &d,
                                    const wi_front_record &r, const wi_front_batch &b,
                                    wi_front_stripes stripes) {
    const wi_panel_scope scope = wi_panel_scope_of(r.height, r.columns, b.panel, d.flow_from);
    const int tiles =
        wi_tiles_of_stripes(r.height, scope.begin, stripes, {WI_RING_ROWS, WI_RING_COLUMNS});
    return tiles == 0 ? WEFT_OK
                      : WEFT_LAUNCH(wi_stripes_by_ring, ctx, blocks_for(ctx, (unsigned)tiles),
                                    ring_threads, ring_bytes, d, b, tiles, stripes);
}

/* ---- descriptions ---- */

/* The columns of a front, rows together. What is beyond them comes as 0. */
static weft_status describe_front(weft_context *ctx, const void *l, const wi_front_record *r,
                                  wi_boxes *boxes) {
    static_assert(sizeof *boxes == WI_BOXES_BYTES, "as the schedule counts them");
    const size_t pitch = (size_t)r->ld * sizeof(double), columns = (size_t)r->columns;
    const wi_box_source from = {
        WEFT_F64, (const double *)l + r->panel, (size_t)r->ld, columns, pitch, 1, columns * pitch,
        true};
    return wi_gpu_describe_boxes(ctx, &from, ring_rows::box_lines, boxes);
}

weft_status wi_chol_describe_fronts(weft_context *ctx, const wi_chol_device *d, void *there) {
    const wi_schedule *const s = &d->schedule;
    const size_t bytes = (size_t)s->maps * sizeof(wi_boxes);
    wi_boxes *const all = (wi_boxes *)wi_host_alloc(bytes), *to = all;
    weft_status status = WEFT_OK;
    if (!all)
        return wi_fail(ctx, WEFT_ENOMEM, "no memory for %zu bytes, descriptions of fronts", bytes);
    for (int64_t k = 0; k < s->levels; k++)
        for (int q = 0; q < s->level[k].mapped && status == WEFT_OK; q++)
            status = describe_front(ctx, d->l, &s->front[wi_first_large(&s->level[k]) + q], to++);
    for (int64_t k = s->fronts + s->guests; k < wi_schedule_records(s) && status == WEFT_OK; k++)
        status = describe_front(ctx, d->work, &s->front[k], to++);
    if (status == WEFT_OK)
        status = wi_gpu_copy(ctx, there, all, bytes);
    wi_host_free(all);
    return status;
}
