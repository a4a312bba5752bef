/* SPDX-License-Identifier: Apache-2.0 */
/* Middle fronts of L Lt, each by a cluster, which has all of the front in the shared memory of its
 * blocks: assembled there, factored a panel after the other, and updated by tensor cores, which
 * read the rows of other blocks where these have them. What it leaves has the bits of the launches
 * for large fronts, as every sum has their order.
 *
 * Rows are dealt out to blocks in strips of 16, in turn, so that blocks have about as many numbers
 * each. */
#include "cuda/cluster.cuh"
#include "cuda/tensor_f64.cuh"
#include "sparse/chol_columns.cuh"

constexpr int strip = WI_MIDDLE_STRIP, own_strips = WI_MIDDLE_ROWS / WI_MIDDLE_STRIP;
using cluster_rows = wi_panel_rows<double, true>;
constexpr int cluster_threads = cluster_rows::threads;

/* The shared memory of a block. */
struct wi_cluster_room {
    cluster_rows::shared panel;        /* the panel that is being factored */
    int32_t child_row[WI_MIDDLE_ROWS]; /* what row of a child goes to an own row; -1: none */
    double corner[2];
};

/* That, and then the block's strips: of each the columns up to its diagonal. */
static constexpr size_t room_bytes(unsigned blocks) {
    constexpr size_t columns = strip * own_strips * (own_strips + 1) / 2; /* if it were alone */
    return sizeof(wi_cluster_room) + blocks * columns * strip * sizeof(double);
}

static_assert(room_bytes(1 << WI_MIDDLE_CLASSES) <= WI_CLUSTER_SHARED, "what the misfit says");

#if !defined(__CUDA_ARCH__) || __CUDA_ARCH__ >= 900
constexpr int cluster_warps = cluster_threads / 32;
constexpr int column_of_tiles = 8, depth = 16; /* of a product of tensor cores */

/* A front, as a block of its cluster sees it. */
struct wi_cluster_front {
    const wi_device_chol &d;
    const wi_front_record &r;
    wi_cluster_room &room;
    double *strips;
    int rank, shift, blocks; /* 2^shift blocks */

    __device__ unsigned owner(int row) const {
        return (unsigned)(row / strip & (blocks - 1));
    }
    /* The front's row that is row `own` of this block. */
    __device__ int row_of(int own) const {
        return ((own / strip << shift) + rank) * strip + own % strip;
    }
    /* Where element (i, j), j <= i or a little more, is in the strips of the block that has row i.
     * Rows are mixed so that the lanes of a product meet different banks. */
    __device__ int place(int i, int j) const {
        const int own = i / strip >> shift, of = (int)owner(i);
        const int before = own * (of + 1) + (own * (own - 1) / 2 << shift); /* in strips' widths */
        return (before * strip + j) * strip + (i % strip ^ ((j ^ j >> 1) & 1) * (strip / 2));
    }

    /* The entries of A, and zeros. */
    __device__ void load() const {
        const double *const panel = wi_front_panel<double>(d, r);
        const int line = (int)threadIdx.x % strip;
        for (int first = rank * strip; first < r.height; first += blocks * strip) {
            const int i = first + line;
#    pragma unroll 8
            for (int j = (int)threadIdx.x / strip; j < first + strip; j += cluster_threads / strip)
                strips[place(i, j)] =
                    j <= i && j < r.columns && i < r.height ? panel[i + (int64_t)j * r.ld] : 0;
        }
    }
    /* Adds the children's updates, one child after the other. */
    __device__ void add_children() const {
        for (int k = 0; k < r.children; k++) {
            const wi_front_record c = d.front[d.child[r.child + k]];
            const int rows = c.height - c.columns;
            if ((int)threadIdx.x < WI_MIDDLE_ROWS)
                room.child_row[threadIdx.x] = -1;
            __syncthreads();
            for (int a = (int)threadIdx.x; a < rows; a += cluster_threads) {
                const int i = d.relative[c.relative + a];
                if ((int)owner(i) == rank)
                    room.child_row[(i / strip >> shift) * strip + i % strip] = a;
            }
            __syncthreads();
            add(c, rows);
            __syncthreads();
        }
    }
    /* A warp takes some columns of 32 own rows: all numbers are read before the first is added, so
     * that they arrive together. */
    __device__ void add(const wi_front_record &c, int rows) const {
        constexpr int batch = 16;
        const int32_t *const to = d.relative + c.relative;
        const int items = wi_pieces(rows, batch) * (WI_MIDDLE_ROWS / 32);
        for (int item = (int)threadIdx.x / 32; item < items; item += cluster_warps) {
            const int own = item % (WI_MIDDLE_ROWS / 32) * 32 + wi_lane(), i = row_of(own);
            const int a = room.child_row[own], from = item / (WI_MIDDLE_ROWS / 32) * batch;
            const double *const update = wi_front_update<double>(d, c) + a;
            double x[batch];
            int column[batch];
            if (a < from)
                continue;
#    pragma unroll
            for (int b = 0; b < batch; b++) { /* the last one again, if there is none */
                const int j = from + b < a ? from + b : a;
                column[b] = to[j];
                x[b] = update[(int64_t)j * c.ld_update];
            }
#    pragma unroll
            for (int b = 0; b < batch; b++)
                if (from + b <= a)
                    strips[place(i, column[b])] += x[b];
        }
    }
    /* Panel p, whose square every block fetches and factors for itself. */
    __device__ void factor(int p) const {
        const int begin = p * WI_PANEL, width = wi_panel_width(r, p);
        double *const l = wi_front_panel<double>(d, r) + (int64_t)begin * (r.ld + 1);
        const cluster_rows rows = {room.panel,       room.corner,          l,     r.ld, width,
                                   r.height - begin, rank * strip - begin, blocks};
        rows.load([&](int j) {
            const int i = begin + rows.row();
            const double *const own = &strips[place(i, begin + j)];
            return cluster_rows::is_of_square() ? *wi_cluster_map(own, owner(i)) : *own;
        });
        __syncthreads();
        const int done = rows.run();
        if (rank == 0)
            rows.store_square();
        if (rank == 0 && done < width && threadIdx.x == 0)
            wi_chol_tell_failed(d, r.first + begin + done);
        if (!cluster_rows::is_of_square())
            for (int j = 0; j < width; j++)
                if (rows.is_there(j))
                    strips[place(begin + rows.row(), begin + j)] =
                        room.panel[j][cluster_rows::shared_row()];
    }
    /* What panel p changes: a warp has eight columns at a time, in all strips of the block. */
    __device__ void update(int p) const {
        const wi_panel_scope scope = wi_panel_scope_of(r.height, r.columns, p, d.flow_from);
        for (int tiles = scope.begin / column_of_tiles + (int)threadIdx.x / 32;
             tiles * column_of_tiles < scope.end; tiles += cluster_warps) {
            double sums[own_strips][4] = {};
            multiply(scope, tiles * column_of_tiles, sums);
            subtract(scope, tiles * column_of_tiles, sums);
        }
    }

  private:
    /* The first row of own strip m, and has it rows in the tiles that begin in this column? */
    __device__ int strip_row(int m) const {
        return row_of(m * strip);
    }
    __device__ bool has_tile(int m, int column) const {
        return strip_row(m) < r.height && strip_row(m) + strip > column;
    }
    __device__ void multiply(wi_panel_scope scope, int column,
                             double (&sums)[own_strips][4]) const {
        const int g = wi_lane() / 4, t = wi_lane() % 4;
        const double *const other = wi_cluster_map(strips, owner(column));
#    pragma unroll 4
        for (int from = scope.from; from < scope.begin; from += depth) {
            double left[8], right[4];
#    pragma unroll
            for (int q = 0; q < 4; q++) {
                const int k = from + t + 4 * q;
                right[q] = k < scope.begin ? other[place(column + g, k)] : 0;
            }
#    pragma unroll
            for (int m = 0; m < own_strips; m++) {
                if (!has_tile(m, column))
                    continue;
#    pragma unroll
                for (int q = 0; q < 8; q++) {
                    const int k = from + t + 4 * (q / 2);
                    left[q] =
                        k < scope.begin ? strips[place(strip_row(m) + g + 8 * (q % 2), k)] : 0;
                }
                wi_multiply_f64(sums[m], left, right);
            }
        }
    }
    /* After the last panel, what is left is the update. */
    __device__ void subtract(wi_panel_scope scope, int column,
                             const double (&sums)[own_strips][4]) const {
        const int g = wi_lane() / 4, t = wi_lane() % 4;
        const bool is_last = scope.begin == r.columns;
#    pragma unroll
        for (int m = 0; m < own_strips; m++)
#    pragma unroll
            for (int q = 0; q < 4; q++) {
                const int i = strip_row(m) + g + 8 * (q / 2), j = column + 2 * t + q % 2;
                if (j < scope.begin || j >= scope.end || i < j || i >= r.height)
                    continue;
                double *const own = &strips[place(i, j)];
                *(is_last ? wi_front_element<double>(d, r, i, j) : own) = *own - sums[m][q];
            }
    }
};
#endif

/* The fronts of a list, a cluster for each. */
__global__ void __launch_bounds__(cluster_threads)
    wi_factor_middle(wi_device_chol d, const int32_t *list, int shift) {
#if !defined(__CUDA_ARCH__) || __CUDA_ARCH__ >= 900
    WEFT_DYNAMIC_SHARED(memory);
    const wi_front_record r = d.front[list[blockIdx.x >> shift]];
    const wi_cluster_front front = {d,
                                    r,
                                    *(wi_cluster_room *)memory,
                                    (double *)(memory + sizeof(wi_cluster_room)),
                                    (int)wi_cluster_rank(),
                                    shift,
                                    1 << shift};
    front.load();
    __syncthreads();
    front.add_children();
    for (int p = 0; p * WI_PANEL < r.columns; p++) {
        wi_cluster_sync();
        front.factor(p);
        wi_cluster_sync();
        front.update(p);
    }
    wi_cluster_sync(); /* others may still read what this block has */
#endif
}

/* Fronts for small clusters join those for larger ones as long as all of these run at once: so a
 * level of a few fronts is one launch. */
weft_status wi_chol_middle_fronts(weft_context *ctx, const weft_chol *plan,
                                  const wi_chol_level *level) {
    const wi_device_chol d = wi_chol_device_view(plan);
    const unsigned most = (unsigned)ctx->gpu->multiprocessors;
    const int32_t *list = d.list + level->middle_at;
    weft_status status = WEFT_OK;
    for (int k = WI_MIDDLE_CLASSES - 1, next; k >= 0 && status == WEFT_OK; k = next) {
        const unsigned blocks = 2u << k;
        unsigned fronts = (unsigned)level->middle[k];
        next = k - 1;
        while (fronts > 0 && next >= 0 && blocks * (fronts + (unsigned)level->middle[next]) <= most)
            fronts += (unsigned)level->middle[next--];
        if (fronts > 0)
            status = WEFT_LAUNCH_CLUSTER(wi_factor_middle, ctx, blocks * fronts, cluster_threads,
                                         blocks, room_bytes(blocks), d, list, k + 1);
        list += fronts;
    }
    return status;
}
