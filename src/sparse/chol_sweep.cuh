/* SPDX-License-Identifier: Apache-2.0 */
/* The kernels of a substitution. Blocks of threads take the items of the schedule by tickets, in
 * their order, so that what an item waits for is done or under way.
 *
 * A panel of a large front is a block's. It takes the products of its rows (backward: columns) and
 * the unknowns of the panels before from its right-hand sides, 64 unknowns at a time as they become
 * known, multiplies by the inverse of its square, and publishes its unknowns. The next part of L is
 * on its way while unknowns are waited for. Products are those of tensor cores of f64, whose eight
 * columns are right-hand sides; those that are not there are zeros, and cost no memory. A warp has
 * 16 rows (or columns) of the result. */
#ifndef WI_CHOL_SWEEP_CUH
#define WI_CHOL_SWEEP_CUH

#include "cuda/tensor.cuh"
#include "sparse/chol_substitute.cuh"

constexpr int up_threads = 32 * WI_UP_WARPS, down_threads = 32 * WI_DOWN_WARPS;
constexpr int deep = 32, steps = deep / 4;       /* of a run of products */
constexpr int share = 16, groups = side / share; /* rows of a warp, and warps for a panel */
constexpr int inverse_stride = side + 4;         /* no two rows of a fragment in one bank */
constexpr int urgent = 4 * side; /* rows beyond the last known ones that wait without a rest */

/* A launch: the items from number `at` of the substitution on, which begin at `item`. */
struct wi_side_sweep {
    const wi_sweep_item *item;
    int at;
    uint32_t *progress;
};

/* The rows of a child's update that meet rows of an item: low ... high - 1. */
struct wi_sweep_child {
    int64_t part, relative;
    int low, high;
};

struct wi_sweep_room {
    double inverse[side][inverse_stride]; /* or, of small fronts, right-hand sides of the warps */
    double x[2][side][most];              /* unknowns, for even and odd panels; */
    double v[side][most];                 /* what is left of right-hand sides */
    wi_sweep_child child[WI_UP_WARPS];
};
static_assert(WI_DOWN_WARPS * WI_FRONT_SMALL * most <= side * inverse_stride, "small fronts fit");

/* Lane = 4 g + t, as in tensor.cuh. */
__device__ static int fragment_g() {
    return wi_lane() / 4;
}
__device__ static int fragment_t() {
    return wi_lane() % 4;
}

/* Products of a warp: element (8 i + g, 2 t + j) is at[i][j]. */
struct warp_products {
    double at[2][2];

    /* a[2 k + i] = A(8 i + g, 4 k + t), and x its right factor */
    template <class real>
    __device__ void add(const real (&a)[2 * steps], const double (*x)[most]) {
#pragma unroll
        for (int k = 0; k < steps; k++)
#pragma unroll
            for (int i = 0; i < 2; i++)
                wi_multiply_f64(at[i], (double)a[2 * k + i], x[4 * k + fragment_t()][fragment_g()]);
    }
};

/* An item that is panel or block `part` of a large front. */
template <class real, int threads>
struct sweep_block {
    static constexpr int each = side * most / threads; /* unknowns of a thread */

    const wi_device_chol &d;
    const wi_sides &s;
    wi_sweep_room &room;
    wi_front_record r;
    const real *l;
    int first;        /* right-hand side */
    int begin, count; /* rows of the front */

    /* Element i of this thread: unknown element_of(i) / most of a panel, of side first + % most. */
    __device__ static int element_of(int i) {
        return (int)threadIdx.x + i * threads;
    }
    /* x = the unknowns that are at places at[] of s.x, of a place < 0 zeros; once they are known.
     */
    __device__ void receive(const int (&at)[each], bool is_urgent, double (&x)[side][most]) const {
        double seen[each];
#pragma unroll
        for (int i = 0; i < each; i++)
            seen[i] = has(at, i) ? wi_read_number(source(at, i)) : 0;
        while (is_waiting(seen)) {
            if (is_urgent)
                wi_spin();
            else
                wi_rest();
#pragma unroll
            for (int i = 0; i < each; i++)
                if (wi_is_awaited(seen[i]))
                    seen[i] = wi_read_number(source(at, i));
        }
#pragma unroll
        for (int i = 0; i < each; i++)
            x[element_of(i) / most][element_of(i) % most] = seen[i];
        __syncthreads();
    }
    __device__ bool has(const int (&at)[each], int i) const {
        return at[i] >= 0 && first + element_of(i) % most < s.rhs;
    }
    __device__ const double *source(const int (&at)[each], int i) const {
        return s.x + (int64_t)at[i] * s.rhs + first + element_of(i) % most;
    }
    __device__ static bool is_waiting(const double (&seen)[each]) {
        bool waits = false;
#pragma unroll
        for (int i = 0; i < each; i++)
            waits = waits || wi_is_awaited(seen[i]);
        return waits;
    }

    /* The inverse of the panel's square, with zeros above its diagonal, which is that of L until
     * its reciprocals are taken, each by the thread that has it. */
    __device__ void load_inverse() const {
        constexpr int together = threads / side;
        const int j = (int)threadIdx.x % side, own = (int)threadIdx.x / side;
#pragma unroll 16
        for (int i = own; i < side; i += together)
            room.inverse[i][j] =
                j <= i && i < count ? (double)l[begin + j + (int64_t)(begin + i) * r.ld] : 0;
        if (j % together == own && j < count)
            room.inverse[j][j] = wi_reciprocal(room.inverse[j][j]);
    }

    /* x(panel) = the inverse (or its transpose) times v, 8 rows for a call. */
    template <class Factor, class Right>
    __device__ void publish(int from, int k_begin, int k_end, Factor factor, Right right) const {
        double sum[2][2] = {};
#pragma unroll 2
        for (int k = k_begin; k < k_end; k += 8)
#pragma unroll
            for (int half = 0; half < 2; half++) {
                const int at = k + 4 * half + fragment_t();
                wi_multiply_f64(sum[half], factor(from + fragment_g(), at), right(at));
            }
        const int row = from + fragment_g();
#pragma unroll
        for (int j = 0; j < 2; j++) {
            const int q = first + 2 * fragment_t() + j;
            if (row < count && q < s.rhs)
                wi_write_number(s.x + (int64_t)(r.first + begin + row) * s.rhs + q,
                                sum[0][j] + sum[1][j]);
        }
    }
};

/* ---- forward ---- */

template <class real>
struct up_block : sweep_block<real, up_threads> {
    using base = sweep_block<real, up_threads>;
    using base::d, base::s, base::room, base::r, base::l, base::first, base::begin, base::count;

    /* Where in its child's update the warp's child meets the block. Rows whose places were
     * interchanged may be anywhere in the front's columns. */
    __device__ wi_sweep_child find_child(int k) const {
        const wi_front_record c = d.front[d.child[r.child + k]];
        const int32_t *const relative = d.relative + c.relative;
        const bool moved = d.pivots.place && begin < r.columns;
        const int from = moved ? 0 : begin, to = moved ? r.columns : begin + count;
        const int rows = c.height - c.columns, low = wi_count_up_to(relative, rows, from - 1);
        const int left = rows - low < to - from ? rows - low : to - from;
        return {c.part, c.relative, low, low + wi_count_up_to(relative + low, left, to - 1)};
    }
    /* What a thread adds is read at once, so that it arrives together. */
    __device__ void add_child(const wi_sweep_child &c) const {
        constexpr int batch = side * most / up_threads;
        static_assert(up_threads % most == 0 && batch * up_threads == side * most,
                      "a thread's numbers are of one side, and all of a part go at once");
        const int end = c.high * most;
        for (int e = c.low * most + (int)threadIdx.x; e < end; e += batch * up_threads) {
            const int q = e % most; /* also of the numbers after e */
            int to[batch];
            double part[batch];
#pragma unroll
            for (int b = 0; b < batch; b++) {
                const int i = (e + b * up_threads) / most;
                const bool is_there = i < c.high && first + q < s.rhs;
                to[b] = is_there ? place_of(d, r, d.relative[c.relative + i]) - begin : -1;
                part[b] = is_there ? s.parts[(c.part + i) * s.rhs + first + q] : 0;
            }
#pragma unroll
            for (int b = 0; b < batch; b++)
                if (to[b] >= 0 && to[b] < count)
                    room.v[to[b]][q] += part[b];
        }
    }
    /* A batch of children from k on, one for each warp, to shared memory; how many. */
    __device__ int find_children(int k) const {
        const int here = r.children - k < WI_UP_WARPS ? r.children - k : WI_UP_WARPS;
        const int mine = (int)threadIdx.x / 32;
        if (mine < here) {
            const wi_sweep_child c = find_child(k + mine);
            if (wi_lane() == 0)
                room.child[mine] = c;
        }
        return here;
    }
    /* v = the right-hand sides of the block's rows: its columns' or zeros, and the children's
     * parts in their order, once the levels before are done. */
    template <class Wait>
    __device__ void gather(Wait wait) const {
        for (int e = (int)threadIdx.x; e < side * most; e += up_threads) {
            const int row = e / most, q = e % most;
            const bool there = row < count && begin + row < r.columns && first + q < s.rhs;
            room.v[row][q] = there ? s.y[(int64_t)(r.first + begin + row) * s.rhs + first + q] : 0;
        }
        int here = find_children(0);
        wait();
        for (int k = 0; k < r.children; k += WI_UP_WARPS) {
            if (k > 0) {
                here = find_children(k);
                __syncthreads();
            }
            for (int j = 0; j < here; j++)
                if (room.child[j].low < room.child[j].high) {
                    add_child(room.child[j]);
                    __syncthreads();
                }
            __syncthreads();
        }
    }

    /* The first row of the block that is the warp's. */
    __device__ int own() const {
        return (int)threadIdx.x / 32 * share;
    }
    /* Columns 32 h ... of the warp's rows. */
    __device__ void load(int h, int columns, real (&a)[2 * steps]) const {
        const int row = own() + fragment_g(), column = h * deep + fragment_t();
        const real *const from = l + begin + row + (int64_t)column * r.ld;
#pragma unroll
        for (int k = 0; k < steps; k++)
#pragma unroll
            for (int i = 0; i < 2; i++)
                a[2 * k + i] = column + 4 * k < columns && row + 8 * i < count
                                   ? from[8 * i + 4 * k * (int64_t)r.ld]
                                   : (real)0;
    }
    /* Is done when the levels before are. */
    template <class Wait>
    __device__ void run(Wait wait) const {
        const bool is_panel = begin < r.columns;
        const int columns = is_panel ? begin : r.columns;
        warp_products sum = {};
        real now[2 * steps], next[2 * steps];
        load(0, columns, now);
        if (is_panel)
            this->load_inverse();
        gather(wait);
        for (int p = 0; p * side < columns; p++) {
            double(&x)[side][most] = room.x[p % 2];
            int at[base::each];
#pragma unroll
            for (int i = 0; i < base::each; i++) {
                const int column = p * side + base::element_of(i) / most;
                at[i] = column < columns ? r.first + column : -1;
            }
            load(2 * p + 1, columns, next);
            this->receive(at, columns - p * side <= urgent, x);
            sum.add(now, x);
            load(2 * p + 2, columns, now);
            sum.add(next, x + deep);
        }
        if (is_panel)
            finish_panel(sum);
        else
            finish_below(sum);
    }
    __device__ void finish_panel(const warp_products &sum) const {
        double(&v)[side][most] = room.v;
#pragma unroll
        for (int i = 0; i < 2; i++)
#pragma unroll
            for (int j = 0; j < 2; j++)
                v[own() + 8 * i + fragment_g()][2 * fragment_t() + j] -= sum.at[i][j];
        __syncthreads();
        for (int i = own(); i < own() + share; i += 8)
            this->publish(
                i, 0, i + 8, [&](int row, int k) { return room.inverse[row][k]; },
                [&](int k) { return v[k][fragment_g()]; });
    }
    __device__ void finish_below(const warp_products &sum) const {
#pragma unroll
        for (int i = 0; i < 2; i++)
#pragma unroll
            for (int j = 0; j < 2; j++) {
                const int row = own() + 8 * i + fragment_g(), q = 2 * fragment_t() + j;
                if (row < count && first + q < s.rhs)
                    s.parts[(r.part + begin + row - r.columns) * s.rhs + first + q] =
                        room.v[row][q] - sum.at[i][j];
            }
    }
};

template <class real, int R>
__global__ void __launch_bounds__(up_threads, 4)
    wi_sweep_up(wi_device_chol d, wi_sides s, wi_side_sweep w) {
    WEFT_SHARED(uint32_t, ticket, );
    WEFT_SHARED(wi_sweep_room, room, );
    uint32_t *const done = w.progress + WI_PROGRESS_APART;
    if (threadIdx.x == 0)
        ticket = atomicAdd(w.progress, 1u);
    __syncthreads();
    const int chunks = wi_pieces(s.rhs, R), first = (int)ticket % chunks * R;
    const wi_sweep_item item = w.item[(int)ticket / chunks];
    /* Waits for the levels before. */
    const auto wait = [&] {
        if (threadIdx.x == 0) {
            while ((int)wi_read_word(done) < (item.after - w.at) * chunks)
                wi_spin();
            __threadfence();
        }
        __syncthreads();
    };
    if (item.fronts > 0) {
        const int mine = (int)threadIdx.x / 32;
        const wi_front_record r =
            mine < item.fronts ? d.front[item.front + mine] : wi_front_record{};
        double(*const v)[R] = (double(*)[R])room.inverse + mine * WI_FRONT_SMALL;
        small_front<real, R>{d, s, r, wi_front_panel<real>(d, r), v, first}.up(wait);
    } else {
        const wi_front_record r = d.front[item.front];
        const int panels = wi_pieces(r.columns, side);
        const int end = item.part < panels ? r.columns : r.height;
        const int begin =
            item.part < panels ? item.part * side : r.columns + (item.part - panels) * side;
        const int count = end - begin < side ? end - begin : side;
        up_block<real>{{d, s, room, r, wi_front_panel<real>(d, r), first, begin, count}}.run(wait);
    }
    __syncthreads();
    if (threadIdx.x == 0) {
        __threadfence();
        atomicAdd(done, 1u);
    }
}

/* ---- backward ---- */

/* Warps are in two halves, which take turns at the rows below. */
template <class real>
struct down_block : sweep_block<real, down_threads> {
    using base = sweep_block<real, down_threads>;
    using base::d, base::s, base::room, base::r, base::l, base::first, base::begin, base::count;
    static constexpr int halves = WI_DOWN_WARPS / groups;

    __device__ int own() const {
        return (int)threadIdx.x / 32 % groups * share;
    }
    __device__ int half() const {
        return (int)threadIdx.x / 32 / groups;
    }
    /* Row k of panel p below this one. */
    __device__ int row(int p, int k) const {
        return begin + count + p * side + k;
    }
    /* The warp's half of panel p in its columns, and where the panel's unknowns are. */
    __device__ void load(int p, real (&a)[2 * steps], int (&at)[base::each]) const {
#pragma unroll
        for (int i = 0; i < base::each; i++) {
            const int k = row(p, base::element_of(i) / most);
            at[i] = p >= 0 && k < r.height ? row_of(d, s, r, k) : -1;
        }
        const int column = own() + fragment_g(), top = row(p, half() * deep + fragment_t());
        const real *const from = l + top + (int64_t)(begin + column) * r.ld;
#pragma unroll
        for (int k = 0; k < steps; k++)
#pragma unroll
            for (int i = 0; i < 2; i++)
                a[2 * k + i] = p >= 0 && top + 4 * k < r.height && column + 8 * i < count
                                   ? from[4 * k + 8 * i * (int64_t)r.ld]
                                   : (real)0;
    }
    /* The last rows first: they are known first. */
    __device__ warp_products multiply() const {
        warp_products sum = {};
        real now[2 * steps], next[2 * steps];
        int at[base::each], next_at[base::each];
        int p = wi_pieces(r.height - begin - count, side) - 1;
        load(p, now, at);
        for (; p >= 0; p--) {
            double(&x)[side][most] = room.x[p % 2];
            load(p - 1, next, next_at);
            this->receive(at, row(p, 0) < r.columns && p * side < urgent, x);
            sum.add(now, x + half() * deep);
#pragma unroll
            for (int i = 0; i < 2 * steps; i++)
                now[i] = next[i];
#pragma unroll
            for (int i = 0; i < base::each; i++)
                at[i] = next_at[i];
        }
        return sum;
    }
    __device__ void run() const {
        double right[2][2] = {};
#pragma unroll
        for (int i = 0; i < 2; i++)
#pragma unroll
            for (int j = 0; j < 2; j++) {
                const int column = own() + 8 * i + fragment_g(), q = first + 2 * fragment_t() + j;
                if (half() == 0 && column < count && q < s.rhs)
                    right[i][j] = s.y[(int64_t)(r.first + begin + column) * s.rhs + q];
            }
        this->load_inverse();
        const warp_products sum = multiply(); /* which ends with the unknowns in x[0] */
        double(&rest)[side][most] = half() == 0 ? room.v : room.x[1];
#pragma unroll
        for (int i = 0; i < 2; i++)
#pragma unroll
            for (int j = 0; j < 2; j++)
                rest[own() + 8 * i + fragment_g()][2 * fragment_t() + j] =
                    right[i][j] - sum.at[i][j];
        __syncthreads();
        const int from = (int)threadIdx.x / 32 * 8;
        this->publish(
            from, from, side, [&](int row, int k) { return room.inverse[k][row]; },
            [&](int k) { return room.v[k][fragment_g()] + room.x[1][k][fragment_g()]; });
    }
};

template <class real, int R>
__global__ void __launch_bounds__(down_threads, 2)
    wi_sweep_down(wi_device_chol d, wi_sides s, wi_side_sweep w) {
    WEFT_SHARED(uint32_t, ticket, );
    WEFT_SHARED(wi_sweep_room, room, );
    if (threadIdx.x == 0)
        ticket = atomicAdd(w.progress, 1u);
    __syncthreads();
    const int chunks = wi_pieces(s.rhs, R), first = (int)ticket % chunks * R;
    const wi_sweep_item item = w.item[(int)ticket / chunks];
    const int mine = (int)threadIdx.x / 32;
    if (item.fronts > 0) {
        if (mine < item.fronts) {
            const wi_front_record own = front_of(d, s, item.front + mine);
            double(*const v)[R] = (double(*)[R])room.inverse + mine * WI_FRONT_SMALL;
            small_front<real, R>{d, s, own, wi_front_panel<real>(d, own), v, first}.down();
        }
        return;
    }
    const wi_front_record r = front_of(d, s, item.front);
    const int begin = item.part * side;
    const int count = r.columns - begin < side ? r.columns - begin : side;
    if (count > 0)
        down_block<real>{{d, s, room, r, wi_front_panel<real>(d, r), first, begin, count}}.run();
}

#endif
