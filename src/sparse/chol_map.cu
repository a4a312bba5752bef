/* SPDX-License-Identifier: Apache-2.0 */
/* What a GPU has to know before it can factor: the matrix, where each of its entries goes in L, and
 * where the rows of every front are in its parent. The host sends the lists that it has, and the
 * device finds the places, with a search in the rows of a front for each. */
#include "sparse/chol_cuda.cuh"

constexpr int map_threads = 128;

/* While the maps are made, in memory for right-hand sides, of which there are none yet: for each
 * column of L its place in the caller's order is inverse[], its front, or -1 if another GPU has it,
 * and where it begins in L. */
struct wi_map_room {
    int32_t *inverse, *front;
    int64_t *column;
    int64_t *wide; /* for indices of 64 bits, */
    size_t count;  /* so many at a time */
};

/* ---- kernels ---- */

__global__ void __launch_bounds__(map_threads)
    wi_narrow_indices(const int64_t *from, int32_t *to, size_t count) {
    const size_t k = (size_t)blockIdx.x * map_threads + threadIdx.x;
    if (k < count)
        to[k] = (int32_t)from[k];
}

__global__ void __launch_bounds__(map_threads)
    wi_invert_order(const int32_t *perm, int32_t *inverse, int n) {
    const int k = (int)(blockIdx.x * map_threads + threadIdx.x);
    if (k < n)
        inverse[perm[k]] = k;
}

/* The columns of a level's fronts, a front for each block. In L its panels begin `shift` numbers
 * after where they are on the device. */
__global__ void __launch_bounds__(map_threads)
    wi_find_columns(wi_device_chol d, int first, int64_t shift, wi_map_room room) {
    const int f = first + (int)blockIdx.x;
    const wi_front_record r = d.front[f];
    for (int j = (int)threadIdx.x; j < r.columns; j += map_threads) {
        room.front[r.first + j] = f;
        room.column[r.first + j] = r.panel + shift + (int64_t)j * r.ld;
    }
}

/* The first of the ascending list[0 ... count - 1] that is x or more. */
__device__ inline int wi_first_from(const int32_t *list, int count, int32_t x) {
    int low = 0;
    while (count > 0) {
        const int half = count / 2;
        const bool is_less = list[low + half] < x;
        low = is_less ? low + half + 1 : low;
        count = is_less ? count - half - 1 : half;
    }
    return low;
}

/* Where the rows of a front's children are in it, a front for each block. */
__global__ void __launch_bounds__(map_threads)
    wi_map_children(wi_device_chol d, int32_t *relative) {
    const wi_front_record r = d.front[blockIdx.x];
    for (int k = 0; k < r.children; k++) {
        const wi_front_record c = d.front[d.child[r.child + k]];
        const int below = c.height - c.columns;
        for (int i = (int)threadIdx.x; i < below; i += map_threads)
            relative[c.relative + i] =
                wi_first_from(d.rows + r.rows, r.height, d.rows[c.rows + c.columns + i]);
    }
}

/* Where the entries of A go, a column of it for each warp; -1: another GPU has them. */
__global__ void __launch_bounds__(map_threads)
    wi_place_entries(wi_device_chol d, wi_device_matrix a, int n, wi_map_room room,
                     int64_t *place) {
    const int j = (int)(blockIdx.x * (map_threads / 32) + threadIdx.x / 32);
    const int64_t end = j < n ? a.start[j + 1] : 0;
    for (int64_t e = j < n ? a.start[j] + wi_lane() : 0; e < end; e += 32) {
        const int from = room.inverse[j], to = room.inverse[a.row[e]];
        const int column = from < to ? from : to, row = from < to ? to : from;
        const int f = room.front[column];
        const wi_front_record r = d.front[f < 0 ? 0 : f];
        const int at = f < 0 ? 0 : wi_first_from(d.rows + r.rows, r.height, row);
        const bool is_lost = f >= 0 && (at == r.height || d.rows[r.rows + at] != row);
        place[e] = f < 0 ? -1 : room.column[column] + at;
        if (is_lost)
            wi_chol_tell_failed(d, j);
    }
}

/* ---- what the host sends ---- */

static unsigned blocks_of(size_t count, size_t each) {
    return (unsigned)((count + each - 1) / each);
}

/* Everything that lies in memory for other numbers; L is the largest as a rule. */
static wi_map_room room_of(const weft_chol *plan) {
    const wi_chol_device *const d = plan->device;
    const size_t n = plan->report.n;
    const size_t numbers = (size_t)wi_schedule_resident(&d->schedule) * wi_chol_number(plan);
    wi_map_room room;
    room.column = (int64_t *)d->sides; /* of 4 n numbers and more */
    room.inverse = (int32_t *)(room.column + n);
    room.front = room.inverse + n;
    room.wide = (int64_t *)(room.front + n);
    room.count = 2 * n;
    if (numbers / sizeof *room.wide > room.count) {
        room.wide = (int64_t *)d->l;
        room.count = numbers / sizeof *room.wide;
    }
    return room;
}

static weft_status send(weft_context *ctx, void *to, const void *from, size_t bytes) {
    return bytes > 0 ? wi_gpu_copy(ctx, to, from, bytes) : WEFT_OK;
}

/* Halving numbers on the device takes less time than writing them to other memory of the host. */
static weft_status send_narrow(weft_context *ctx, const wi_map_room *room, int32_t *to,
                               const int64_t *from, size_t count) {
    weft_status status = WEFT_OK;
    for (size_t k = 0; k < count && status == WEFT_OK; k += room->count) {
        const size_t now = count - k < room->count ? count - k : room->count;
        status = wi_gpu_copy(ctx, room->wide, from + k, now * sizeof *from);
        if (status == WEFT_OK)
            status = WEFT_LAUNCH(wi_narrow_indices, ctx, blocks_of(now, map_threads), map_threads,
                                 0, room->wide, to + k, now);
    }
    return status;
}

static weft_status send_matrix(weft_context *ctx, const weft_chol *plan, const weft_sparse *matrix,
                               const wi_map_room *room) {
    const wi_device_matrix to = wi_chol_device_matrix(plan);
    const size_t n = plan->report.n, by_rows = (size_t)matrix->row_start[n];
    weft_status status = send(ctx, to.row_start, matrix->row_start, (n + 1) * sizeof(int64_t));
    if (status == WEFT_OK)
        status = send(ctx, to.start, matrix->start, (n + 1) * sizeof(int64_t));
    if (status == WEFT_OK)
        status = send(ctx, to.at, matrix->at, by_rows * sizeof(int64_t));
    if (status == WEFT_OK)
        status = send_narrow(ctx, room, to.col, matrix->col, by_rows);
    if (status == WEFT_OK)
        status = send_narrow(ctx, room, to.row, matrix->row, plan->report.nnz_a);
    if (status == WEFT_OK)
        status = send_narrow(ctx, room, to.perm, plan->symbolic.perm, n);
    if (status == WEFT_OK && plan->kind == WEFT_CHOL_INDEFINITE)
        status = wi_gpu_copy_within(ctx, (int32_t *)wi_chol_device_view(plan).pivots.perm, to.perm,
                                    n * sizeof *to.perm);
    return status;
}

/* ---- what the device finds ---- */

static weft_status clear(weft_context *ctx, void *p, int value, size_t bytes) {
    return wi_cuda(ctx, cudaMemsetAsync(p, value, bytes, ctx->gpu->stream), "clearing maps");
}

/* If L lies in host memory, a level's panels begin elsewhere in L than in a window. */
static weft_status find_columns(weft_context *ctx, const weft_chol *plan, wi_map_room room) {
    const wi_schedule *const s = &plan->device->schedule;
    weft_status status = clear(ctx, room.front, 0xff, plan->report.n * sizeof *room.front);
    for (int64_t k = 0; k < s->levels && status == WEFT_OK; k++) {
        const wi_chol_level *const level = &s->level[k];
        const int fronts = wi_small_fronts(level) + level->large;
        const int64_t shift = level->l_at - wi_schedule_level_at(s, k);
        status = WEFT_LAUNCH(wi_find_columns, ctx, (unsigned)fronts, map_threads, 0,
                             wi_chol_device_view(plan), level->first, shift, room);
    }
    return status;
}

static weft_status find_places(weft_context *ctx, const weft_chol *plan, wi_map_room room) {
    const wi_device_chol d = wi_chol_device_view(plan);
    const wi_device_matrix a = wi_chol_device_matrix(plan);
    const size_t n = plan->report.n;
    weft_status status = WEFT_LAUNCH(wi_invert_order, ctx, blocks_of(n, map_threads), map_threads,
                                     0, a.perm, room.inverse, (int)n);
    if (status == WEFT_OK)
        status = find_columns(ctx, plan, room);
    if (status == WEFT_OK)
        status = WEFT_LAUNCH(wi_place_entries, ctx, blocks_of(n, map_threads / 32), map_threads, 0,
                             d, a, (int)n, room, (int64_t *)wi_chol_device_places(plan));
    return status;
}

/* Waits for the maps. */
static weft_status check(weft_context *ctx, const char *call, const weft_chol *plan) {
    unsigned long long lost;
    const weft_status status =
        wi_gpu_copy(ctx, &lost, wi_chol_device_view(plan).failed, sizeof lost);
    return status == WEFT_OK && lost != ~0ull ? wi_chol_tell_lost(ctx, call) : status;
}

static weft_status map(weft_context *ctx, const char *call, const weft_chol *plan,
                       const weft_sparse *matrix) {
    const wi_device_chol d = wi_chol_device_view(plan);
    const wi_symbolic *const symbolic = &plan->symbolic;
    const size_t rows = (size_t)symbolic->rows_at[symbolic->supernodes];
    const int64_t fronts = plan->device->schedule.fronts;
    const wi_map_room room = room_of(plan);
    weft_status status = clear(ctx, d.failed, 0xff, sizeof *d.failed);
    if (status == WEFT_OK)
        status = clear(ctx, d.arrived, 0,
                       (size_t)wi_schedule_records(&plan->device->schedule) * sizeof *d.arrived);
    if (status == WEFT_OK)
        status = send_narrow(ctx, &room, (int32_t *)d.rows, symbolic->rows, rows);
    if (status == WEFT_OK && fronts > 0)
        status = WEFT_LAUNCH(wi_map_children, ctx, (unsigned)fronts, map_threads, 0, d,
                             (int32_t *)d.relative);
    if (status == WEFT_OK)
        status = send_matrix(ctx, plan, matrix, &room);
    if (status == WEFT_OK)
        status = find_places(ctx, plan, room);
    return status == WEFT_OK ? check(ctx, call, plan) : status;
}

/* What all GPUs get. */
typedef struct map_sending {
    const char *call;
    const weft_sparse *matrix;
} map_sending;

static weft_status map_entered(weft_context *ctx, weft_chol *plan, void *user) {
    const map_sending *const s = (const map_sending *)user;
    int before;
    weft_status status = wi_gpu_enter(ctx, &before);
    if (status != WEFT_OK)
        return status;
    status = map(ctx, s->call, plan, s->matrix);
    wi_gpu_leave(ctx, before);
    plan->device->mapped = status == WEFT_OK;
    return status;
}

weft_status wi_chol_device_map(weft_context *ctx, const char *call, weft_chol *plan,
                               const weft_sparse *matrix) {
    map_sending sending = {call, matrix};
    return plan->device->mapped || plan->report.n == 0
               ? WEFT_OK
               : wi_chol_each_gpu(ctx, plan, map_entered, &sending);
}
