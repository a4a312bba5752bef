/* SPDX-License-Identifier: Apache-2.0 */
/* Tiles become tiles of L by the factor of the tile on their column's diagonal, whose strips of 16
 * columns another block sends. */
#ifndef WI_CHOLESKY_FLOW_STRIPS_CUH
#define WI_CHOLESKY_FLOW_STRIPS_CUH

#include "cholesky/cholesky_flow_bulk.cuh"

/* The arithmetic of squares of 16 x 16. */
template <class T>
struct wi_flow_number {
    using type = double;

    __device__ static double round(double x) {
        return x;
    }
};
/* What f32 keeps of a number is found without a conversion, of which few are made at once. */
template <>
struct wi_flow_number<float> {
    using type = float;

    __device__ static double round(double x) {
#ifdef WEFT_EMU
        return (double)(float)x;
#else
        const double more = __dmul_rn(x, 0x1p29 + 1);
        return __dsub_rn(more, __dsub_rn(more, x));
#endif
    }
};

template <class T, bool by_columns, int kind>
struct wi_flow_strips : wi_flow_bulk<T, by_columns, kind> {
    using Base = wi_flow_bulk<T, by_columns, kind>;
    using Base::group;
    using Base::has_x;
    using Base::m;
    using Base::p;
    using Base::part;
    using Base::pieces;
    using Base::row;
    using Base::shared;
    using Base::strip_row;
    using Base::sums;
    using Base::task;
    using typename Base::Strip;

    /* f64: an element of f32 is exact to many more bits than it keeps. */
    static constexpr bool is_corrected = sizeof(T) == sizeof(double);
    using number = typename wi_flow_number<T>::type;

    /* Numbers that a thread has of a letter. */
    static constexpr int letter_parts =
        (is_corrected ? flow_letter : flow_letter / 2) / flow_threads;

    int have; /* strips of the column's factor in shared memory, or begun by the warp */
    bool has_all;

    /* Where -1 / L of a strip's square is, above the diagonal of the tile. */
    __device__ double *inverse(int b) const {
        return m.factor.tile + (b == 0 ? wi_strip + (wi_strips - 1) * wi_strip * wi_tile_pitch
                                       : b * wi_strip * wi_tile_pitch);
    }
    __device__ double *square(int b) const {
        return m.factor.tile + b * (wi_strip + wi_strip * wi_tile_pitch);
    }
    /* f(in shared memory, in the record) of each pack of 16 bytes of a strip of a factor, dealt out
     * to `count` threads: the square and rows below it, and the square's inverse. */
    template <class F>
    __device__ void each_pack(unsigned i, int b, int thread, int count, F f) const {
        constexpr int width = wi_vector<double>::count, packs = flow_side / width;
        constexpr int short_packs = wi_strip / width;
        double *const record = p.record(i, b), *const more = record + wi_strip * flow_side;
        for (int e = thread; e < packs * wi_strip; e += count) {
            const int u = e % packs * width, v = b * wi_strip + e / packs;
            if (u >= (is_corrected ? b : b + 1) * wi_strip)
                f(m.factor.tile + u + v * wi_tile_pitch, record + e * width);
        }
        for (int e = thread; e < short_packs * wi_strip; e += count)
            f(inverse(b) + e % short_packs * width + e / short_packs * wi_tile_pitch,
              more + e * width);
    }
    __device__ void fetch_strip(int b, int thread, int count) const {
        each_pack(task.column, b, thread, count,
                  [](double *to, const double *from) { wi_async_copy<16>(to, from); });
    }
    /* What L has of them. */
    __device__ static void keep(double (&x)[4]) {
#pragma unroll
        for (int e = 0; e < 4; e++)
            x[e] = wi_flow_number<T>::round(x[e]);
    }
    /* A tile in registers whose strip b comes first: becomes x / L' there, which is taken from the
     * strips behind. */
    __device__ void divide(int b) {
        Strip &x = sums;
        using piece = wi_piece<double>;
        const double *const l = square(b);
        piece::divide<is_corrected>(x.at[0], x.at[1], l, inverse(b));
        keep(x.at[0]);
        keep(x.at[1]);
#pragma unroll
        for (int next = 1; next < wi_strips; next++)
            if (b + next < wi_strips)
#pragma unroll
                for (int c = 0; c < 2; c++)
#pragma unroll
                    for (int q = 0; q < 2; q++)
                        piece::subtract(x.at[2 * next + c], x.at[q],
                                        l + next * wi_strip + 8 * c + 8 * q * wi_tile_pitch);
    }
    __device__ void rotate() {
        const Strip was = sums;
#pragma unroll
        for (int c = 0; c < pieces; c++)
#pragma unroll
            for (int e = 0; e < 4; e++)
                sums.at[c][e] = was.at[(c + 2) % pieces][e];
    }
    /* The first strip in registers to memory. */
    __device__ void store_first(int b) const {
        const int rows = p.rows(row()), first = strip_row() + Strip::row(0);
        T *const to = p.tile(row(), task.column) + first * p.down() +
                      (size_t)(b * wi_strip + Strip::column(0, 0)) * p.across();
#pragma unroll
        for (int c = 0; c < 2; c++)
#pragma unroll
            for (int e = 0; e < 4; e++)
                if (first + e / 2 * 8 < rows)
                    to[(e / 2 * 8) * p.down() + (c * 8 + e % 2) * p.across()] = (T)sums.at[c][e];
    }
    /* How many strips of the column's factor are known, once it is more than b; 0 if the matrix has
     * failed. */
    __device__ int await_strips(int b) const {
        if (threadIdx.x == 0) {
            const uint32_t *const count = this->factored(task.column);
            uint32_t now = wi_progress(count);
            unsigned turns = 0;
            while (now < flow_publishers * (unsigned)(b + 1) && this->goes_on(turns)) {
                wi_spin();
                now = wi_progress(count);
            }
            shared.strips =
                now < flow_publishers * (unsigned)(b + 1) ? 0 : (int)(now / flow_publishers);
        }
        __syncthreads();
        return shared.strips;
    }
    /* Begins the copies of those up to so many to shared memory. */
    __device__ void fetch_strips(int count) {
        for (; have < count; have++)
            fetch_strip(have, (int)threadIdx.x, flow_threads);
        wi_async_commit();
    }
    /* Waits until strip b is there; false if the matrix has failed. */
    __device__ bool receive(int b) {
        if (have > b)
            return true;
        fetch_strips(await_strips(b));
        wi_async_wait<0>();
        __syncthreads();
        return have > b;
    }
    /* Number e of the last strip's letter: of the inverse, and of what corrects by it. */
    __device__ double *letter_place(int e) const {
        constexpr int numbers = wi_strip * wi_strip;
        double *const from = e < numbers ? inverse(wi_strips - 1) : square(wi_strips - 1);
        return from + e % wi_strip + e / wi_strip % wi_strip * wi_tile_pitch;
    }
    /* The last one, by who has the next tile on the diagonal: begins to read it, */
    __device__ void look_at_letter(wi_pair (&seen)[letter_parts]) const {
        const wi_pair *const letter = this->letter(task.column) + threadIdx.x;
#pragma unroll
        for (int k = 0; k < letter_parts; k++)
            seen[k] = wi_read_pair(letter + k * flow_threads);
    }
    /* ... and waits for what was not there yet. False if the matrix has failed. */
    __device__ bool receive_letter(wi_pair (&seen)[letter_parts]) const {
        const wi_pair *const letter = this->letter(task.column) + threadIdx.x;
        const uint64_t stamp = this->stamp(task.column);
        bool goes_on = true;
        unsigned turns = 0;
#pragma unroll
        for (int k = 0; k < letter_parts; k++) {
            while (seen[k].flag != stamp && goes_on) {
                wi_spin();
                seen[k] = wi_read_pair(letter + k * flow_threads);
                goes_on = this->goes_on(turns);
            }
            *letter_place((int)threadIdx.x + k * flow_threads) = wi_bit_cast<double>(seen[k].value);
        }
        return goes_on;
    }
    /* A warp of the second group looks at the factor once, or until strip b is known (false: the
     * matrix has failed), and begins its part of the copies of those it had not seen. The last
     * strip comes as a letter. */
    __device__ void look_at_factor() {
        constexpr int most = wi_strips - 1, count = flow_threads / flow_groups;
        const int now = (int)(wi_progress(this->factored(task.column)) / flow_publishers);
        const int known_strips = wi_shuffle(now < most ? now : most, 0);
        __syncwarp();
        for (; have < known_strips; have++)
            fetch_strip(have, (int)threadIdx.x - count, count);
        wi_async_commit();
    }
    __device__ bool await_strip(int b) {
        unsigned turns = 0;
        while (have <= b) {
            look_at_factor();
            if (have <= b && !wi_shuffle(this->goes_on(turns), 0))
                return false;
            if (have <= b)
                wi_spin();
        }
        wi_async_wait<0>();
        return true;
    }
    /* The first tile becomes one of L, strip by strip as these become known: the second group
     * brings the next ones meanwhile, and calls behind(b) once others may read what the first has
     * put to memory by put(b). False if the matrix has failed. */
    template <class F, class G>
    __device__ bool solve_first(F put, G behind) {
        if (!receive(0))
            return false;
        has_all = have == wi_strips;
#pragma unroll 1
        for (int b = 0; b < wi_strips; b++) {
            if (group == 0) {
                divide(b);
                put(b);
            } else if (have == b + 1 && have < wi_strips - 1) {
                look_at_factor();
            }
            __syncthreads();
            const bool by_letter = b == wi_strips - 2 && !has_all;
            wi_pair seen[letter_parts];
            if (by_letter)
                look_at_letter(seen);
            if (group == 0) {
                store_first(b);
                rotate();
                if (b == wi_strips / 2 - 1)
                    tell_of_half(wi_flow_count::first);
            } else {
                behind(b);
            }
            bool goes_on = true;
            if (by_letter)
                goes_on = receive_letter(seen);
            else if (group > 0 && b < wi_strips - 2)
                goes_on = await_strip(b + 1);
            if (b + 1 < wi_strips && __syncthreads_or(!goes_on))
                return false;
        }
        return true;
    }
    /* ---- from block to block of a chain ---- */

    /* What is sent of strip b, and a message behind it. */
    __device__ static constexpr uint32_t passed_bytes(int b) {
        const int rows = flow_side - (is_corrected ? b : b + 1) * wi_strip + wi_strip;
        return (uint32_t)(rows * wi_strip * (int)sizeof(double)) + (uint32_t)sizeof(wi_message);
    }
    __device__ bool has_next() const {
        return task.row + 1 < p.begin + p.chain;
    }
    /* `count` threads pass strip b of the block's own factor to the next block. */
    __device__ void pass_on(int b, int thread, int count, bool has_failed) const {
        const unsigned next = wi_cluster_rank() + 1;
        wi_barrier *const there = &shared.passed.there[b];
        if (!has_next())
            return;
        each_pack(task.row, b, thread, count, [&](double *from, double *) {
            wi_send((wi_message *)from, *(const wi_message *)from, there, next);
        });
        if (thread == 0)
            wi_send(&shared.passed.failed[b], {{has_failed ? 1u : 0u, 0, 0, 0}}, there, next);
    }
    /* Waits for strip b of the column's factor; false if the matrix has failed. */
    __device__ bool receive_passed(int b) const {
        wi_receive(&shared.passed.there[b], 0);
        return shared.passed.failed[b].word[0] == 0;
    }
    __device__ void expect_passed() const {
        for (int b = 0; b < wi_strips; b++) {
            wi_barrier_init(&shared.passed.there[b], 1);
            wi_barrier_arrive_expect(&shared.passed.there[b], passed_bytes(b));
        }
    }
    /* solve_first of a block of the chain. */
    template <class F, class G>
    __device__ bool solve_passed(F put, G behind) {
#pragma unroll 1
        for (int b = 0; b < wi_strips; b++) {
            if (!receive_passed(b))
                return false;
            if (group == 0) {
                divide(b);
                put(b);
            }
            __syncthreads();
            if (group == 0) {
                store_first(b);
                rotate();
                if (b == wi_strips / 2 - 1)
                    tell_of_half(wi_flow_count::first);
            } else {
                behind(b);
            }
        }
        return true;
    }
    __device__ void tell_of_half(uint32_t half) const {
        __syncwarp();
        if (has_x() && wi_lane() == 0)
            wi_advance(this->ready(row()), half);
    }
    /* Of two columns together the last row of tiles may be alone: all wait, those that have a tile
     * work. False if the matrix has failed. */
    __device__ bool solve_pair() {
#pragma unroll 1
        for (int b = 0; b < wi_strips; b++) {
            if (!receive(b))
                return false;
            if (!has_x())
                continue;
            divide(b);
            store_first(b);
            rotate();
            if (b == wi_strips / 2 - 1)
                tell_of_half(wi_flow_count::first);
        }
        tell_of_half(wi_flow_count::second);
        return true;
    }
    __device__ void solve() {
        if (task.has_second) {
            (void)solve_pair();
        } else if (solve_first([](int) {}, [](int) {})) {
            tell_of_half(wi_flow_count::second);
        }
    }
};

#endif
