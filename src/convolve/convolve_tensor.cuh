/* SPDX-License-Identifier: Apache-2.0 */
/* The kernel of rung tensor: images of bytes on tensor cores, in whole numbers.
 *
 * A block takes tiles of the output, wi_tensor_width bytes wide. The copy engine brings the bytes
 * that a tile's filters lie on, with those beyond the image as 0. A warp multiplies a piece of 64
 * bytes of four output rows, four warps at once:
 *
 *   A  16 places x k: the words (four bytes) of x that an output word needs, from its first on, for
 *      the 16 output words of a piece
 *   B  k x 16: weights. An output word and the three below it are 16 bytes, the columns of B; so a
 *      weight stands in B as often as these need it at another place
 *
 * Along k lie groups: four rows of x, `slots` words of each. As many groups as are as high as the
 * filter and three rows. Weights have three bytes, each with its own columns of B, or one.
 *
 * Sums are exact, but not those of the promised order. Where these may round to another byte, the
 * output is in doubt (convolve_units.h): it goes to a queue, and when the tile is done, its sum is
 * made again in that order. */
#ifndef WI_CONVOLVE_TENSOR_CUH
#define WI_CONVOLVE_TENSOR_CUH

#include "convolve/convolve_tensor_room.cuh"
#include "cuda/bytes.cuh"
#include "cuda/group.cuh"

/* Bit e: byte e of the word is not 0. */
__device__ inline unsigned wi_tensor_bytes_set(uint32_t word) {
    const uint32_t high = (((word & 0x7f7f7f7fu) + 0x7f7f7f7fu) | word) >> 7 & 0x01010101u;
    return high * 0x01020408u >> 24;
}

/* is_low: there are two groups. */
template <int slots, int parts, bool is_low>
struct wi_tensor_block {
    using Table = wi_tensor_table<slots, parts>;
    static constexpr int settlers = wi_tensor_settlers<is_low>;
    static constexpr int threads = wi_tensor_threads<is_low>;
    using Sums = int32_t[8 * parts];
    using Whole = int32_t[wi_tensor_bytes];

    const wi_tensor_params &p;
    wi_tensor_signals &signals;
    unsigned char *const shared; /* B first */
    const wi_tensor_room room;

    __device__ unsigned char *slot(int k) const {
        return shared + room.table + (unsigned)(k % wi_tensor_turns) * room.slot_bytes;
    }
    __device__ uint32_t *queue(int k) const {
        return (uint32_t *)(shared + room.queue) +
               (unsigned)(k % wi_tensor_turns) * wi_tensor_entries;
    }
    __device__ float *weights() const {
        return (float *)(shared + room.weights);
    }
    __device__ int *units() const {
        return (int *)(shared + room.units);
    }

    __device__ wi_tensor_tile tile_of(unsigned index) const {
        const wi_convolve_tile_at at = wi_convolve_tile_of(index, p.across, p.down);
        const int column = (int)at.across * wi_tensor_width, row = (int)at.down * p.tile_rows;
        const int columns = p.m.out_width * p.m.channels - column, rows = p.m.out_height - row;
        return {at.plane,
                column,
                row,
                wi_tensor_lesser(columns, wi_tensor_width),
                wi_tensor_lesser(rows, p.tile_rows),
                p.aligned_y && columns >= wi_tensor_width && rows >= p.tile_rows};
    }

    /* Of x: the byte of a row, and the row, where what a tile needs begins. */
    __device__ int first_byte(const wi_tensor_tile &t) const {
        return t.column - p.left * p.m.channels;
    }
    __device__ int first_row(const wi_tensor_tile &t) const {
        return t.row - p.above;
    }

    /* ---- the weights ---- */

    /* Weight k of the filter in units. */
    __device__ int units_of(int k) const {
        const float *const w = weights();
        const int i = k % p.filter_width, j = k / p.filter_width;
        const double weight =
            p.by_factors ? (double)w[p.filter_width + j] * (double)w[i] : (double)w[k];
        return (int)rint(weight * (double)(1 << p.shift));
    }

    /* The weight in units that byte k of a step of two groups has in column n: an output's place in
     * its word, and its row, are n's. */
    __device__ int units_at(int pair, int step, int k, int n) const {
        const int half = 2 * step + k / 16, group = 2 * pair + half / slots;
        const int row = group * wi_tensor_rows + k % 16 / 4 - n % 8 / 2;
        const int byte = half % slots * 4 + k % 4 - p.skipped % 4 - (n / 8 * 2 + n % 2);
        const int pixel = byte / p.m.channels;
        if (row < 0 || row >= p.filter_height || byte < 0 || byte % p.m.channels != 0 ||
            pixel >= p.filter_width)
            return 0;
        return units()[row * p.filter_width + pixel];
    }

    /* Byte `part` of three of a weight, the highest first, each from -128 to 127. */
    __device__ static int part_of(int weight, int part) {
        const int low = (int8_t)weight, rest = (weight - low) / 256;
        const int middle = (int8_t)rest;
        return part == 2 ? low : part == 1 ? middle : (rest - middle) / 256;
    }

    /* Four bytes of B, from byte 4 word of k of a step on. */
    __device__ void put_words(int pair, int step, int word, int n) const {
        uint32_t to[parts] = {};
        for (int e = 0; e < 4; e++) {
            const int weight = units_at(pair, step, 4 * word + e, n);
            for (int part = 0; part < parts; part++)
                to[part] |= (uint32_t)(part_of(weight, parts == 1 ? 2 : part) & 0xff) << 8 * e;
        }
        const uint32_t at = (uint32_t)pair * Table::pair_bytes + Table::step_at(step);
        for (int part = 0; part < parts; part++) {
            const uint32_t line = (uint32_t)(16 * part + n) * wi_box_line;
            *(uint32_t *)(shared + wi_box_place(at + line + (uint32_t)(4 * word))) = to[part];
        }
    }

    __device__ void take_weights() const {
        const int n = p.filter_width * p.filter_height, me = (int)threadIdx.x;
        const int given = p.by_factors ? p.filter_width + p.filter_height : n;
        for (int k = me; k < given; k += threads)
            weights()[k] = p.weight[k];
        __syncthreads();
        for (int k = me; k < n; k += threads)
            units()[k] = units_of(k);
        __syncthreads();
        const int steps = (p.groups + 1) / 2 * slots;
        for (int k = me; k < steps * 16 * 8; k += threads)
            put_words(k / 128 / slots, k / 128 % slots, k % 8, k / 8 % 16);
        wi_bulk_fence();
        __syncthreads();
    }

    /* ---- a tile's pixels ---- */

    __device__ void load(int k, const wi_tensor_tile &t, const wi_boxes *from) const {
        wi_barrier *const arrived = &signals.arrived[k % wi_tensor_turns];
        wi_barrier_arrive_expect(arrived, room.slot_bytes);
        wi_box_load(slot(k), from, first_byte(t) - p.skipped, first_row(t), (int)t.image, arrived);
    }

    /* Do others stand for pixels beyond the image that this tile needs? */
    __device__ bool wants_border(const wi_tensor_tile &t) const {
        if (p.m.border == WEFT_BORDER_ZERO || p.m.border == WEFT_BORDER_VALID)
            return false;
        const int last_byte = first_byte(t) + t.columns + (p.filter_width - 1) * p.m.channels;
        return first_byte(t) < 0 || first_row(t) < 0 || last_byte > p.m.width * p.m.channels ||
               first_row(t) + t.rows + p.filter_height - 1 > p.m.height;
    }

    /* Puts them there. */
    __device__ void fill_border(int k, const wi_tensor_tile &t) const {
        const uint8_t *const x = (const uint8_t *)p.m.x + t.image * p.m.apart_x;
        const int channels = p.m.channels;
        const int columns = t.columns + (p.filter_width - 1) * channels;
        const int rows = t.rows + p.filter_height - 1;
        for (int at = (int)threadIdx.x; at < rows * columns; at += wi_tensor_multipliers) {
            const int row = at / columns + first_row(t), byte = at % columns + first_byte(t);
            if (row >= 0 && row < p.m.height && byte >= 0 && byte < p.m.width * channels)
                continue;
            const int shifted = byte + p.left * channels; /* not negative */
            const int pixel = wi_convolve_pixel(p.m.border, shifted / channels - p.left, p.m.width);
            const int line = wi_convolve_pixel(p.m.border, row, p.m.height);
            slot(k)[at / columns * wi_tensor_pitch + p.skipped + at % columns] =
                x[(size_t)line * p.m.ldx + (size_t)(pixel * channels + shifted % channels)];
        }
    }

    /* ---- sums ---- */

    /* Two words of A: of slot `half` of the groups that begin at x. */
    __device__ static void take(const unsigned char *x, int half, uint32_t &upper,
                                uint32_t &lower) {
        const unsigned char *const at =
            x + half / slots * wi_tensor_rows * wi_tensor_pitch + half % slots * 4;
        upper = *(const uint32_t *)at;
        lower = *(const uint32_t *)(at + wi_tensor_apart);
    }

    template <int halves, int step = 0>
    __device__ static void multiply(Sums &sum, const uint32_t (&a)[(halves + 1) / 2][4],
                                    const wi_group_operand &b, bool adds) {
        wi_group_multiply_bytes<(int)Table::step_at(step)>(sum, a[step], b, adds);
        if constexpr (step + 1 < (halves + 1) / 2)
            multiply<halves, step + 1>(sum, a, b, true);
    }

    /* The products of the first `halves` slots of two groups, whose weights begin at b; are they
     * added to the sums? */
    template <int halves>
    __device__ static void multiply_groups(Sums &sum, const unsigned char *x,
                                           const unsigned char *b, bool adds) {
        uint32_t a[(halves + 1) / 2][4];
#pragma unroll
        for (int i = 0; i < (halves + 1) / 2; i++) {
            take(x, 2 * i, a[i][0], a[i][1]);
            take(x, wi_tensor_lesser(2 * i + 1, halves - 1), a[i][2], a[i][3]);
        }
        wi_group_begin();
        multiply<halves>(sum, a, {(const char *)b, 0}, adds);
        wi_group_commit();
        wi_group_wait<0>();
    }

    /* All products of a piece. */
    __device__ void multiply_all(Sums &sum, const unsigned char *x) const {
        if constexpr (is_low) {
            multiply_groups<2 * slots>(sum, x, shared, false);
            return;
        }
        const unsigned char *b = shared;
        int group = 0;
#pragma unroll 1
        for (; group + 1 < p.groups; group += 2) {
            multiply_groups<2 * slots>(sum, x, b, group > 0);
            b += Table::pair_bytes;
            x += 2 * wi_tensor_rows * wi_tensor_pitch;
        }
        if (group < p.groups)
            multiply_groups<slots>(sum, x, b, group > 0);
    }

    /* A lane's sums in the order of its outputs, all parts added up. */
    __device__ void join(const Sums &sum, Whole &whole) const {
#pragma unroll
        for (int e = 0; e < wi_tensor_bytes; e++) {
            const int at = e / 2 % 2 * 4 + e / 4 * 2 + e % 2;
            whole[e] = sum[at];
#pragma unroll
            for (int part = 1; part < parts; part++)
                whole[e] = whole[e] * 256 + sum[8 * part + at];
            if (parts > 1)
                whole[e] += p.begin;
        }
    }

    /* The whole number that an exact sum rounds to: to nearest, ties to even, or down. */
    __device__ int rounded(int sum) const {
        if (p.m.truncates || p.shift == 0)
            return sum >> p.shift;
        return (sum + (1 << (p.shift - 1)) - 1 + (sum >> p.shift & 1)) >> p.shift;
    }

    __device__ static uint32_t pack(const Whole &v, int word) {
        return wi_pack_bytes(v[4 * word], v[4 * word + 1], v[4 * word + 2], v[4 * word + 3]);
    }

    /* Bit e: sums less what they may be less round to another byte. */
    __device__ unsigned doubts_of(const Whole &whole, const uint32_t (&out)[2]) const {
        Whole least;
#pragma unroll
        for (int e = 0; e < wi_tensor_bytes; e++)
            least[e] = (whole[e] - p.in_doubt) >> p.shift;
        return wi_tensor_bytes_set(pack(least, 0) ^ out[0]) |
               wi_tensor_bytes_set(pack(least, 1) ^ out[1]) << 4;
    }

    __device__ uint8_t *output(const wi_tensor_tile &t, int row, int column) const {
        return (uint8_t *)p.m.y + t.image * p.m.apart_y + (size_t)(t.row + row) * p.m.ldy +
               t.column + column;
    }

    /* Stores the first `count` bytes of an output word, if it has more; as many bits are set. */
    __device__ static unsigned store_bytes(uint8_t *y, int count, uint32_t out) {
        const int bytes = count < 0 ? 0 : wi_tensor_lesser(count, 4);
#pragma unroll 1
        for (int e = 0; e < bytes; e++)
            y[e] = (uint8_t)(out >> 8 * e);
        return (1u << bytes) - 1;
    }

    /* A lane's place in a tile, and its two words in memory. */
    struct place {
        int row, column;
        uint8_t *y;
    };

    /* Stores what there is of a lane's two words; as many bits are set. */
    __device__ unsigned store(const wi_tensor_tile &t, const place &at,
                              const uint32_t (&out)[2]) const {
        if (t.is_whole) {
            *(uint32_t *)at.y = out[0];
            *(uint32_t *)(at.y + wi_tensor_apart) = out[1];
            return 0xff;
        }
        const int count = at.row < t.rows ? t.columns - at.column : 0;
        return store_bytes(at.y, count, out[0]) |
               store_bytes(at.y + wi_tensor_apart, count - wi_tensor_apart, out[1]) << 4;
    }

    /* Puts the outputs of lanes that are in doubt, a bit for each, into the queue, or where that is
     * full, makes them again. All lanes together. */
    __device__ void put_in_queue(int k, const wi_tensor_tile &t, const place &at,
                                 unsigned doubts) const {
        unsigned who;
        while ((who = __ballot_sync(wi_all_lanes, doubts != 0)) != 0) {
            unsigned first = 0;
            if (wi_lane() == 0)
                first = atomicAdd(&signals.queued[k % wi_tensor_turns], (unsigned)__popc(who));
            first = wi_shuffle(first, 0) + (unsigned)__popc(who & ((1u << wi_lane()) - 1));
            const int e = __ffs((int)doubts) - 1;
            const int column = at.column + e / 4 * wi_tensor_apart + e % 4;
            const uint32_t entry = (unsigned)at.row << 8 | (unsigned)column;
            if (doubts && first < wi_tensor_entries)
                queue(k)[first] = entry;
            else if (doubts)
                make_again(k, t, entry);
            doubts &= doubts - 1;
        }
    }

    /* Round and store a piece. */
    __device__ void finish_exact(const wi_tensor_tile &t, const place &at,
                                 const Whole &whole) const {
        Whole v;
#pragma unroll
        for (int e = 0; e < wi_tensor_bytes; e++)
            v[e] = rounded(whole[e]);
        store(t, at, {pack(v, 0), pack(v, 1)});
    }
    __device__ void finish(int k, const wi_tensor_tile &t, const place &at,
                           const Whole &whole) const {
        const uint32_t cut_off = (1u << p.shift) - 1;
        uint32_t least = cut_off; /* of what is cut off */
        Whole v;
#pragma unroll
        for (int e = 0; e < wi_tensor_bytes; e++) {
            const uint32_t rest = (uint32_t)whole[e] & cut_off;
            v[e] = whole[e] >> p.shift;
            least = rest < least ? rest : least;
        }
        const uint32_t out[2] = {pack(v, 0), pack(v, 1)};
        const unsigned there = store(t, at, out);
        if (__any_sync(wi_all_lanes, least < (uint32_t)p.in_doubt))
            put_in_queue(k, t, at, doubts_of(whole, out) & there);
    }

    /* All outputs of a tile. */
    __device__ void work(int k, const wi_tensor_tile &t) const {
        const int words = wi_lane() / 4 * 4;
        Sums sum = {};
        for (int strip = (int)threadIdx.x / 32; strip < p.tile_rows / wi_tensor_rows;
             strip += wi_tensor_warps) {
            const int row = strip * wi_tensor_rows + wi_lane() % 4;
            const unsigned char *x = slot(k) + row * wi_tensor_pitch + words + p.skipped / 4 * 4;
            place at = {row, words, output(t, row, words)};
#pragma unroll 1
            for (int piece = 0; piece < wi_tensor_pieces; piece++) {
                Whole whole;
                multiply_all(sum, x);
                join(sum, whole);
                if (parts == 1 || p.is_exact)
                    finish_exact(t, at, whole);
                else
                    finish(k, t, at, whole);
                x += wi_tensor_piece;
                at.column += wi_tensor_piece;
                at.y += wi_tensor_piece;
            }
        }
    }

    /* ---- what is in doubt ---- */

    /* Adds the products of a row of the filter, or of its row, in order. */
    __device__ float add_row(const float *w, const unsigned char *x, float sum) const {
#pragma unroll 8
        for (int i = 0; i < p.filter_width; i++)
            sum = fmaf(w[i], (float)x[i * p.m.channels], sum);
        return sum;
    }

    /* The sum of the promised order, for the output whose filter begins at x. */
    __device__ float sum_in_order(const unsigned char *x) const {
        const float *const w = weights();
        float sum = 0;
        if (p.by_factors)
            for (int j = 0; j < p.filter_height; j++)
                sum = fmaf(w[p.filter_width + j], add_row(w, x + j * wi_tensor_pitch, 0), sum);
        else
            for (int j = 0; j < p.filter_height; j++)
                sum = add_row(w + j * p.filter_width, x + j * wi_tensor_pitch, sum);
        return sum;
    }

    /* Makes an output of the queue again. */
    __device__ void make_again(int k, const wi_tensor_tile &t, uint32_t entry) const {
        const int column = (int)(entry & 0xff), row = (int)(entry >> 8);
        const float sum = sum_in_order(slot(k) + row * wi_tensor_pitch + p.skipped + column);
        *output(t, row, column) = (uint8_t)wi_convolve_whole(sum, 255, p.m.truncates);
    }

    /* ---- all tiles of a block ---- */

    __device__ unsigned index_of(int k) const {
        return blockIdx.x + (unsigned)k * gridDim.x;
    }
    __device__ void ask(int k, const wi_boxes *from) const {
        if (index_of(k) < p.tiles)
            load(k, tile_of(index_of(k)), from);
    }

    __device__ void begin(const wi_boxes *from) const {
        if (threadIdx.x == 0) {
            for (int k = 0; k < wi_tensor_turns; k++) {
                wi_barrier_init(&signals.arrived[k], 1);
                wi_barrier_init(&signals.done[k], wi_tensor_multipliers);
                wi_barrier_init(&signals.settled[k], 32 * settlers);
                signals.queued[k] = 0;
            }
            wi_barrier_init(&signals.bordered, wi_tensor_multipliers);
            wi_barrier_publish();
            for (int k = 0; k < wi_tensor_turns; k++)
                ask(k, from);
        }
        take_weights();
    }

    __device__ static void wait(wi_barrier *barriers, int k) {
        wi_barrier_wait(&barriers[k % wi_tensor_turns], (uint32_t)(k / wi_tensor_turns) & 1);
    }

    __device__ void multiply_tiles() const {
        uint32_t filled = 0; /* tiles with a border */
        for (int k = 0; index_of(k) < p.tiles; k++) {
            const wi_tensor_tile t = tile_of(index_of(k));
            wait(signals.arrived, k);
            if (wants_border(t)) {
                fill_border(k, t);
                wi_barrier_arrive(&signals.bordered);
                wi_barrier_wait(&signals.bordered, filled++ & 1);
            }
            work(k, t);
            wi_bulk_fence();
            wi_barrier_arrive(&signals.done[k % wi_tensor_turns]);
        }
    }

    /* Makes again what is in doubt, and asks for the tile that comes in the slot. */
    __device__ void settle_tiles(const wi_boxes *from) const {
        const unsigned me = threadIdx.x - wi_tensor_multipliers;
        for (int k = 0; index_of(k) < p.tiles; k++) {
            const wi_tensor_tile t = tile_of(index_of(k));
            wait(signals.done, k);
            const unsigned queued = signals.queued[k % wi_tensor_turns];
            const unsigned count = queued < wi_tensor_entries ? queued : wi_tensor_entries;
            for (unsigned at = me; at < count; at += 32 * settlers)
                make_again(k, t, queue(k)[at]);
            wi_bulk_fence();
            wi_barrier_arrive(&signals.settled[k % wi_tensor_turns]);
            if (me == 0) {
                wait(signals.settled, k);
                signals.queued[k % wi_tensor_turns] = 0;
                ask(k + wi_tensor_turns, from);
            }
        }
    }

    __device__ void run(const wi_boxes *from) const {
        begin(from);
        if (threadIdx.x < wi_tensor_multipliers)
            multiply_tiles();
        else
            settle_tiles(from);
    }
};

template <int slots, int parts, bool is_low>
static __global__ void __launch_bounds__(wi_tensor_threads<is_low>, is_low ? 3 : 2)
    wi_tensor_tiles(const __grid_constant__ wi_tensor_params p,
                    const __grid_constant__ wi_boxes from) {
    WEFT_DYNAMIC_SHARED(memory);
    WEFT_SHARED(wi_tensor_signals, signals, );
    const uintptr_t past = (uintptr_t)memory % wi_box_align;
    const wi_tensor_block<slots, parts, is_low> block = {
        p, signals, memory + (past ? wi_box_align - past : 0),
        wi_tensor_room(p, wi_tensor_table<slots, parts>::pair_bytes, p.tile_rows)};
    block.run(&from);
}

#endif
