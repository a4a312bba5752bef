/* SPDX-License-Identifier: Apache-2.0 */
/* The kernel of rung quads: images of bytes with one or three channels on tensor cores, in whole
 * numbers.
 *
 * A quad is four pixels of a channel in each of four rows, 16 bytes one after the other. A block
 * has a strip of the image and goes down it, four rows at a time, which it turns to quads in shared
 * memory, each channel by itself. The 16 outputs of a place need two quads by two, or three by
 * three. A warp group multiplies at once:
 *
 *   A  64 places x k: two neighbouring quads, 32 bytes. A place's second quad is the next one's
 *      first, and tensor cores read both where they are
 *   B  k x 16: weights; the columns are a place's outputs, once for each byte that weights have:
 *      two pixels in four rows, then the other two
 *
 * Sums are exact, but not those of the promised order. Where one of a lane's eight may round to
 * another byte, the lane is noted, and while the next rows are multiplied, a fifth warp makes its
 * sums again in that order. Then it has the copy engine write the rows. */
#ifndef WI_CONVOLVE_QUADS_CUH
#define WI_CONVOLVE_QUADS_CUH

#include "convolve/convolve_quads_load.cuh"
#include "cuda/group_units.cuh"
#include "cuda/halves.cuh"

/* `drop`: as many bits of a sum are beyond 2^-16. */
template <int channels, int parts, int frame, int drop>
struct wi_quads_block {
    using Shape = wi_quads_shape<channels, frame>;
    using Params = wi_quads_params<frame>;
    using Shared = wi_quads_shared<Shape, parts>;
    using Sums = int32_t[8 * parts];
    using Places = int32_t[2][4]; /* a lane's outputs of a tile: four pixels of two places */
    static constexpr int channel_bytes = Shape::channel_bytes;
    static constexpr int tiles = wi_quads_tiles; /* of whose 64 places a warp has 16 */

    const Params &p;
    Shared &shared;
    wi_quads_loader<Shape, frame> from;
    uint8_t *const y;     /* the image */
    const int first;      /* byte of a row where the strip begins */
    const int top, quads; /* first output row, and how many times four */

    __device__ wi_quads_block(const Params &params, Shared &memory, const wi_convolve_tile_at &at)
        : p(params), shared(memory),
          from(params, (const uint8_t *)params.m.x + at.plane * params.m.apart_x,
               (int)at.across * wi_quads_width, (int)at.down * params.band * wi_quads_rows),
          y((uint8_t *)p.m.y + at.plane * p.m.apart_y), first((int)at.across * wi_quads_width),
          top((int)at.down * p.band * wi_quads_rows), quads(quads_of(p, top)) {}

    __device__ static int quads_of(const Params &p, int top) {
        const int left = (p.m.out_height - top + wi_quads_rows - 1) / wi_quads_rows;
        return left < p.band ? left : p.band;
    }
    __device__ static int warp() {
        return (int)threadIdx.x / 32;
    }

    /* ---- weights ---- */

    /* The weight that byte `byte` of quad (row, column) of a place's has for output n of a pair. */
    __device__ int weight_at(int pair, int row, int column, int byte, int n) const {
        const int j = wi_quads_rows * row + byte / 4 - n / 2;
        const int i = 4 * column + byte % 4 - 2 * pair - n % 2;
        return j < 0 || j >= frame || i < 0 || i >= frame ? 0 : p.units[j * frame + i];
    }

    /* B: for each step, eight columns at a time, two units of eight. Of a weight's bytes, each from
     * -128 to 127, the highest comes first. */
    __device__ void take_weights() const {
        constexpr int eight = 256; /* bytes of as many columns */
        for (int k = (int)threadIdx.x; k < Shape::steps * 2 * eight; k += wi_quads_threads) {
            const int byte = k % 16, n = k / 16 % 8, half = k / 128 % 2, pair = k / eight % 2;
            const int step = k / (2 * eight);
            const int row = step / Shape::pairs, column = step % Shape::pairs * 2 + half;
            int weight = weight_at(pair, row, column, byte, n);
#pragma unroll
            for (int part = parts - 1; part >= 0; part--) {
                const int8_t low = (int8_t)weight;
                shared.table[step][(2 * part + pair) * eight + k % eight] = (unsigned char)low;
                weight = (weight - low) / 256;
            }
        }
    }

    /* ---- sums ---- */

    __device__ unsigned char *slot(int k) const {
        return shared.quads[k % Shape::slots];
    }

    /* Quads that weights of 0 meet. */
    __device__ void clear_spare() const {
        constexpr int words = Shape::spare * wi_quads_bytes / 4;
        for (int i = (int)threadIdx.x; i < words * channels * Shape::slots; i += wi_quads_threads) {
            unsigned char *const end =
                slot(i / words / channels) + (i / words % channels + 1) * channel_bytes;
            *(uint32_t *)(end - 4 * (i % words + 1)) = 0;
        }
    }

    /* A tile's channel, and its first place. */
    __device__ static constexpr int channel_of(int tile) {
        return tile % channels;
    }
    __device__ static constexpr int place_of(int tile) {
        return tile / channels * 64;
    }

    /* What a warp group multiplies: the rows of quads k and those below, and the weights. */
    struct operands {
        wi_group_start quads[Shape::rows], table;
    };
    __device__ operands operands_of(int k) const {
        operands o;
#pragma unroll
        for (int row = 0; row < Shape::rows; row++)
            o.quads[row] = wi_group_start_at(slot(k + row));
        o.table = wi_group_start_at(shared.table);
        return o;
    }

    template <int step = 0>
    __device__ void multiply(const operands &o, int at, Sums &sum) const {
        constexpr int row = step / Shape::pairs, pair = step % Shape::pairs;
        constexpr int table_units = (int)sizeof shared.table[0] / 16;
        const wi_group_units<16, 128> a = {wi_group_start_behind(o.quads[row], at + 2 * pair)};
        const wi_group_units<128, 256> b = {wi_group_start_behind(o.table, step * table_units)};
        wi_group_multiply_units(sum, a, b, step > 0 ? 1 : p.adds);
        if constexpr (step + 1 < Shape::steps)
            multiply<step + 1>(o, at, sum);
    }
    __device__ void begin(const operands &o, int tile, Sums &sum) const {
        wi_group_begin();
        multiply(o, channel_of(tile) * (channel_bytes / wi_quads_bytes) + place_of(tile), sum);
        wi_group_commit();
    }

    /* ---- outputs of sums ---- */

    /* The whole number that an exact sum rounds to: to nearest, ties to even. */
    __device__ int rounded(const wi_quads_join &join, int total) const {
        const int sum = total * join.low;
        if (p.shift == 0)
            return sum;
        return (sum + (1 << (p.shift - 1)) - 1 + (sum >> p.shift & 1)) >> p.shift;
    }

    /* A sum of the bytes of weights, rounded in its upper half: the most that it may be in the
     * promised order. The lower half says how near it is to the next smaller output. */
    __device__ static int joined(const wi_quads_join &join, int high, int middle, int low) {
        const int lower = (middle * join.low + low) >> drop;
        return (int)((uint32_t)high * join.high + join.begin + (uint32_t)lower);
    }

    /* All of a lane's outputs of a tile. */
    __device__ void round(int tile, const Sums &sum, Places &out) const {
#pragma unroll
        for (int e = 0; e < 8; e++) {
            const int at = e / 2 % 2 * 4 + e / 4 * 2 + e % 2;
            if constexpr (parts == 1)
                out[e / 4][e % 4] = rounded(p.join[tile], sum[at]);
            else
                out[e / 4][e % 4] = joined(p.join[tile], sum[at], sum[8 + at], sum[16 + at]);
        }
        wi_group_hold(out[0]);
        wi_group_hold(out[1]);
    }

    __device__ static uint32_t upper_halves(int a, int b) {
        return wi_clamp_halves(wi_pick_bytes((uint32_t)a, (uint32_t)b, 0x7632));
    }
    __device__ static uint32_t pack(int a, int b, int c, int d) {
        return parts == 1 ? wi_pack_bytes(a, b, c, d)
                          : wi_pick_bytes(upper_halves(a, b), upper_halves(c, d), 0x6420);
    }

    /* Puts a lane's places where they go: four pixels of each, whose channels lie side by side. */
    __device__ void put(int k, int tile, const Places (&out)[channels]) const {
        constexpr int bytes = 4 * channels; /* of a place */
        unsigned char *const to = shared.out[k % wi_quads_turns] + wi_lane() % 4 * wi_quads_pitch +
                                  (place_of(tile) + warp() * 16 + wi_lane() / 4) * bytes;
        const auto at = [&](int place, int byte) {
            return out[byte % channels][place][byte / channels];
        };
#pragma unroll
        for (int place = 0; place < 2; place++)
#pragma unroll
            for (int b = 0; b < bytes; b += 4)
                *(uint32_t *)(to + place * 8 * bytes + b) =
                    pack(at(place, b), at(place, b + 1), at(place, b + 2), at(place, b + 3));
    }

    /* A warp's outputs of four rows. As soon as a tile's sums are joined, tensor cores get the next
     * tile. */
    __device__ void work(int k) const {
        Sums sum = {};
        Places out[channels];
        unsigned doubts = 0;
        const operands o = operands_of(k);
        begin(o, 0, sum);
#pragma unroll
        for (int tile = 0; tile < tiles; tile++) {
            Places &mine = out[channel_of(tile)];
            wi_group_wait<0>();
            wi_group_hold(sum);
            round(tile, sum, mine);
            if (tile + 1 < tiles)
                begin(o, tile + 1, sum);
            if (has_doubt(mine))
                doubts |= 1u << tile;
            if (channel_of(tile) == channels - 1)
                put(k, tile, out);
        }
        if (parts > 1)
            note(k, doubts);
    }

    /* ---- what is in doubt ---- */

    /* Is one of a lane's outputs of a tile? */
    __device__ bool has_doubt(const Places &out) const {
        uint32_t least = 0xffffffffu; /* of their lower halves, above as many zeros */
#pragma unroll
        for (int e = 0; e < 8 && parts > 1; e++) {
            const uint32_t lower = (uint32_t)out[e / 4][e % 4] << 16;
            least = lower < least ? lower : least;
        }
        return parts > 1 && least < (uint32_t)p.in_doubt << 16;
    }

    /* Notes which of a lane's tiles have doubts. Where many lanes have some, the warp makes all its
     * sums again itself. */
    __device__ void note(int k, unsigned doubts) const {
        const unsigned who = __ballot_sync(wi_all_lanes, doubts != 0);
        const bool are_many = __popc(who) > wi_quads_most;
        shared.doubts[k % wi_quads_turns][threadIdx.x] = (uint8_t)(are_many ? 0 : doubts);
        if (are_many)
            make_all_again(p, shared, k);
    }

    /* All outputs of the warp again, in the order of its lanes. Not inlined, for its registers. */
    [[gnu::noinline]] static __device__ void make_all_again(const Params &p, Shared &shared,
                                                            int k) {
        __syncwarp();
#pragma unroll 1
        for (int i = wi_lane(); i < tiles * 32 * 8; i += 32)
            make_again(p, shared, k, i / 8 % 32 + warp() * 32, i / (32 * 8), i % 8);
    }

    /* By a warp: all sums of lanes and tiles that were noted. A lane lists those of four. */
    __device__ void settle(int k) const {
        uint32_t mine = *(const uint32_t *)(shared.doubts[k % wi_quads_turns] + 4 * wi_lane());
        if (!__any_sync(wi_all_lanes, mine != 0))
            return;
        const uint32_t end = wi_warp_sum_scan((uint32_t)__popc(mine));
        for (unsigned at = end - (unsigned)__popc(mine); mine; mine &= mine - 1)
            shared.queue[at++] = (uint16_t)(wi_lane() * 32 + __ffs((int)mine) - 1);
        const unsigned all = 8 * wi_shuffle(end, 31);
        __syncwarp();
#pragma unroll 1
        for (unsigned i = (unsigned)wi_lane(); i < all; i += 32) {
            const int entry = shared.queue[i / 8];
            make_again(p, shared, k, entry / 8, entry % 8, (int)(i % 8));
        }
    }

    /* Output e of eight of a worker's tile. */
    static __device__ void make_again(const Params &p, Shared &shared, int k, int worker, int tile,
                                      int e) {
        const int place = place_of(tile) + worker / 32 * 16 + worker % 32 / 4 + e / 4 * 8;
        make_pixel_again(p, shared, k, channel_of(tile), worker % 4, place * 4 + e % 4);
    }

    /* The same of one output, by the sum of the promised order. */
    static __device__ void make_pixel_again(const Params &p, Shared &shared, int k, int channel,
                                            int line, int pixel) {
        const int at = channel * channel_bytes + pixel / 4 * wi_quads_bytes;
        float sum = 0;
#pragma unroll(frame > WI_CONVOLVE_QUADS_FRAME ? 1 : frame)
        for (int j = 0; j < frame; j++) {
            const int r = line + j;
            const unsigned char *const row =
                shared.quads[(k + r / 4) % Shape::slots] + at + r % 4 * 4;
            uint32_t word[Shape::rows + 1] = {};
#pragma unroll
            for (int q = 0; q < Shape::rows; q++)
                word[q] = *(const uint32_t *)(row + q * wi_quads_bytes);
#pragma unroll
            for (int q = 0; q < Shape::rows; q++)
                word[q] = __funnelshift_r(word[q], word[q + 1], 8 * (pixel % 4));
#pragma unroll
            for (int i = 0; i < frame; i++)
                sum =
                    fmaf(p.weight[j * frame + i], (float)(word[i / 4] >> 8 * (i % 4) & 0xff), sum);
        }
        shared.out[k % wi_quads_turns][line * wi_quads_pitch + pixel * channels + channel] =
            (unsigned char)wi_convolve_whole(sum, 255, false);
    }

    /* ---- outputs ---- */

    /* By a warp: a row a lane; bytes behind the last 16, a byte a lane. */
    __device__ void write(int k) const {
        const int lane = wi_lane(), row = top + k * wi_quads_rows;
        const int left = p.m.out_width * channels - first;
        const int bytes = left < wi_quads_width ? left : wi_quads_width, whole = bytes / 16 * 16;
        const int rows =
            p.m.out_height - row < wi_quads_rows ? p.m.out_height - row : wi_quads_rows;
        const unsigned char *const out = shared.out[k % wi_quads_turns];
        uint8_t *const to = y + (size_t)row * p.m.ldy + first;
        if (lane < rows && whole > 0)
            wi_bulk_store(to + (size_t)lane * p.m.ldy, out + lane * wi_quads_pitch,
                          (uint32_t)whole);
        wi_bulk_commit();
        if (whole + lane < bytes)
            for (int r = 0; r < rows; r++)
                to[(size_t)r * p.m.ldy + whole + lane] = out[r * wi_quads_pitch + whole + lane];
        wi_bulk_wait_read<0>();
    }

    /* ---- all rows of a block ---- */

    /* Lets tensor cores read what this thread wrote. */
    __device__ static void meet() {
        wi_bulk_fence();
        __syncthreads();
    }

    /* Rows k are multiplied while those before are settled and written, and the quads that the next
     * ones need are made. */
    __device__ void run() {
        const bool works = warp() < wi_quads_warps;
        take_weights();
        if constexpr (Shape::spare > 0)
            clear_spare();
        if (works)
            prepare();
        meet();
#pragma unroll 1
        for (int k = 0; k <= quads; k++) {
            if (!works && k > 0)
                finish(k - 1);
            if (works && k < quads)
                advance(k);
            meet();
        }
    }

    __device__ void prepare() {
#pragma unroll 1
        for (int k = 0; k < Shape::rows; k++) {
            from.load();
            from.store(slot(k));
        }
        if (quads > 1)
            from.load();
    }
    __device__ void advance(int k) {
        if (k + 1 < quads)
            from.store(slot(k + Shape::rows));
        if (k + 2 < quads)
            from.load();
        work(k);
    }
    __device__ void finish(int k) const {
        if (parts > 1)
            settle(k);
        wi_bulk_fence();
        __syncwarp();
        write(k);
    }
};

template <int channels, int parts, int frame, int drop>
static __global__ void __launch_bounds__(wi_quads_threads, wi_quads_shape<channels, frame>::blocks)
    wi_quads(const __grid_constant__ wi_quads_params<frame> p) {
    using Block = wi_quads_block<channels, parts, frame, drop>;
    WEFT_DYNAMIC_SHARED(memory);
    Block block(p, *(typename Block::Shared *)memory,
                wi_convolve_tile_of(blockIdx.x, p.strips, p.bands));
    block.run();
}

#endif
