/* SPDX-License-Identifier: Apache-2.0 */
/* The kernel of rung quads: images of bytes on tensor cores, in whole numbers.
 *
 * A quad is four bytes under one another, in one word. A block has a strip of the image and goes
 * down it, four rows at a time. It takes them to registers, turns them to quads, and puts these
 * into shared memory, each channel by itself. Four pixels of a channel in four rows are 16 outputs,
 * a place. Their filters lie on two quads of eight pixels. A warp multiplies at once:
 *
 *   A  16 places x k: eight quads of neighbouring pixels, 32 bytes
 *   B  k x 8: weights; the columns are two of a place's pixels in its four rows
 *
 * for both quads, both pairs of pixels, and each byte that weights have.
 *
 * Sums are exact, but not those of the promised order. Where these may round to another byte, the
 * output is in doubt (convolve_units.h): it goes to a queue, and while the next rows are
 * multiplied, a warp makes its sum again in that order. Then it is written. */
#ifndef WI_CONVOLVE_QUADS_CUH
#define WI_CONVOLVE_QUADS_CUH

#include "convolve/convolve_quads_load.cuh"
#include "cuda/tensor.cuh"

template <int parts, int frame>
struct wi_quads_block {
    using Shape = wi_quads_shape<frame>;
    using Params = wi_quads_params<frame>;
    using Shared = wi_quads_shared<Shape>;
    using Sums = int32_t[parts][2][4]; /* of two pairs of pixels */
    using Whole = int32_t[8];          /* four pixels of two places */
    static constexpr int channel_bytes = Shape::channel_bytes;

    const Params &p;
    Shared &shared;
    wi_quads_loader<frame> from;
    uint8_t *const y;       /* the image */
    const int first;        /* byte of a row where the strip begins */
    const bool is_plain;    /* the strip's outputs are all there, and aligned */
    const int top, quads;   /* first output row, and how many times four */
    const uint32_t cut_off; /* bits of a sum that are */
    int32_t begin[4];       /* what sums begin with */
    uint32_t weights[Shape::rows][Shape::octets][parts][2][2]; /* B: of a pair of pixels, half of
                                                                  k */

    __device__ wi_quads_block(const Params &params, Shared &memory, const wi_convolve_tile_at &at)
        : p(params), shared(memory),
          from(params, (const uint8_t *)params.m.x + at.plane * params.m.apart_x,
               (int)at.across * wi_quads_width, (int)at.down * params.band * wi_quads_rows),
          y((uint8_t *)p.m.y + at.plane * p.m.apart_y), first((int)at.across * wi_quads_width),
          is_plain(p.aligned_y && first + wi_quads_width <= p.m.out_width * wi_quads_channels),
          top((int)at.down * p.band * wi_quads_rows), quads(quads_of(p, top)),
          cut_off((1u << p.shift) - 1) {
        take_weights();
    }

    __device__ static int quads_of(const Params &p, int top) {
        const int left = (p.m.out_height - top + wi_quads_rows - 1) / wi_quads_rows;
        return left < p.band ? left : p.band;
    }

    /* ---- weights ---- */

    /* Byte `part` of a weight, the highest first, each from -128 to 127. */
    __device__ static int part_of(int weight, int part) {
        for (int k = parts - 1; k > part; k--)
            weight = (weight - (int8_t)weight) / 256;
        return part == 0 ? weight : (int8_t)weight;
    }

    /* Of four rows of quads' row q, at a pixel of those of a place, for output n of a pair. */
    __device__ uint32_t weights_at(int part, int pair, int q, int pixel, int n) const {
        const int i = pixel - 2 * pair - n % 2;
        uint32_t word = 0;
        for (int r = 0; r < wi_quads_rows; r++) {
            const int j = wi_quads_rows * q + r - n / 2;
            if (j >= 0 && j < frame && i >= 0 && i < frame)
                word |= (uint32_t)(part_of(p.units[j * frame + i], part) & 0xff) << 8 * r;
        }
        return word;
    }

    __device__ void take_weights() {
        const int n = wi_lane() / 4, t = wi_lane() % 4;
#pragma unroll
        for (int q = 0; q < Shape::rows; q++)
#pragma unroll
            for (int o = 0; o < Shape::octets; o++)
#pragma unroll
                for (int k = 0; k < 4 * parts; k++)
                    weights[q][o][k / 4][k / 2 % 2][k % 2] =
                        weights_at(k / 4, k / 2 % 2, q, 8 * o + t + 4 * (k % 2), n);
    }

    /* ---- sums ---- */

    __device__ unsigned char *slot(int k) const {
        return shared.quads[k % Shape::slots];
    }

    /* Quads behind those of a channel, which weights of 0 meet. */
    __device__ void clear_spare() const {
        constexpr int spare =
            Shape::channel_bytes / 4 - wi_quads_width / wi_quads_channels - 2 * Shape::before;
        const int n = spare * wi_quads_channels * Shape::slots;
        for (int i = (int)threadIdx.x; i < n; i += wi_quads_threads) {
            const int channel = i / spare % wi_quads_channels, end = (channel + 1) * channel_bytes;
            *(uint32_t *)(slot(i / spare / wi_quads_channels) + end - 4 * (i % spare + 1)) = 0;
        }
    }

    /* The 16 places that begin at a dozen: this lane's row of the matrices of eight quads. */
    __device__ static int places_at(int dozen, int j) {
        const int lane = wi_lane(), place = dozen + lane % 16;
        return j * channel_bytes + (place + lane / 16) * 16;
    }

    /* What is added up begins with 0, but for the last part. */
    __device__ void multiply(int k, int at, Sums &sum) const {
        constexpr int32_t zeros[4] = {};
#pragma unroll
        for (int q = 0; q < Shape::rows; q++)
#pragma unroll
            for (int o = 0; o < Shape::octets; o++) {
                uint32_t a[4];
                wi_load_matrices(a, slot(k + q) + at + 32 * o);
#pragma unroll
                for (int e = 0; e < 2 * parts; e++) {
                    int32_t(&to)[4] = sum[e / 2][e % 2];
                    const int32_t(&so_far)[4] = to, (&none)[4] = e / 2 < parts - 1 ? zeros : begin;
                    wi_multiply_bytes(to, a, weights[q][o][e / 2][e % 2],
                                      q + o == 0 ? none : so_far);
                }
            }
    }

    /* A lane's sums in the order of its outputs, all parts added up. */
    __device__ void join(const Sums &sum, Whole &whole) const {
#pragma unroll
        for (int e = 0; e < 8; e++) {
            const int pair = e / 2 % 2, at = e / 4 * 2 + e % 2;
            whole[e] = sum[0][pair][at];
#pragma unroll
            for (int part = 1; part < parts; part++)
                whole[e] = whole[e] * 256 + sum[part][pair][at];
        }
    }

    /* The whole number that an exact sum rounds to: to nearest, ties to even. */
    __device__ int rounded(int sum) const {
        if (p.shift == 0)
            return sum;
        return (sum + (1 << (p.shift - 1)) - 1 + (sum >> p.shift & 1)) >> p.shift;
    }

    __device__ static uint32_t pack(const Whole &v, int place) {
        return wi_pack_bytes(v[4 * place], v[4 * place + 1], v[4 * place + 2], v[4 * place + 3]);
    }

    __device__ void round_exact(const Whole &whole, uint32_t (&out)[2]) const {
        Whole v;
#pragma unroll
        for (int e = 0; e < 8; e++)
            v[e] = rounded(whole[e]);
        out[0] = pack(v, 0);
        out[1] = pack(v, 1);
    }

    /* Rounds sums that are not exact; those in doubt are put in the warp's queue, which has
     * `queued`. */
    __device__ void round(int k, int n, const Whole &whole, uint32_t (&out)[2],
                          unsigned &queued) const {
        uint32_t least = cut_off; /* of what is cut off */
        Whole v;
#pragma unroll
        for (int e = 0; e < 8; e++) {
            const uint32_t rest = (uint32_t)whole[e] & cut_off;
            v[e] = whole[e] >> p.shift;
            least = rest < least ? rest : least;
        }
        out[0] = pack(v, 0);
        out[1] = pack(v, 1);
        if (__any_sync(wi_all_lanes, least < (uint32_t)p.in_doubt))
            put_in_queue(k, n, whole, queued);
    }

    __device__ void put_in_queue(int k, int n, const Whole &whole, unsigned &queued) const {
        const unsigned lower = (1u << wi_lane()) - 1;
        uint32_t *const queue = shared.queue[k % 2][threadIdx.x / 32];
        unsigned doubts = 0, who;
#pragma unroll
        for (int e = 0; e < 8; e++)
            doubts |= ((uint32_t)whole[e] & cut_off) < (uint32_t)p.in_doubt ? 1u << e : 0;
        while ((who = __ballot_sync(wi_all_lanes, doubts != 0)) != 0) {
            const unsigned at = queued + (unsigned)__popc(who & lower);
            if (doubts && at < wi_quads_entries)
                queue[at] = (unsigned)((n * 32 + wi_lane()) * 32 + __ffs((int)doubts) - 1);
            queued += (unsigned)__popc(who);
            doubts &= doubts - 1;
        }
    }

    /* Four pixels of three channels as they lie in the image. */
    __device__ static void interleave(uint32_t (&word)[3]) {
        const uint32_t a = word[0], b = word[1], c = word[2];
        const uint32_t low = wi_pick_bytes(a, b, 0x5140), high = wi_pick_bytes(a, b, 0x7362);
        word[0] = wi_pick_bytes(low, c, 0x2410);
        word[1] = wi_pick_bytes(wi_pick_bytes(low, c, 0x0053), high, 0x5410);
        word[2] = wi_pick_bytes(high, c, 0x7326);
    }

    /* A warp's outputs: of 32 dozens in four rows, 16 of a channel at a time. */
    __device__ void work(int k) const {
        uint32_t out[2][wi_quads_channels];
        unsigned queued = 0;
#pragma unroll
        for (int n = 0; n < 2 * wi_quads_channels; n++) {
            const int dozen = (int)threadIdx.x / 32 * 32 + n / wi_quads_channels * 16;
            const int channel = n % wi_quads_channels;
            Sums sum;
            Whole whole;
            uint32_t word[2];
            multiply(k, places_at(dozen, channel), sum);
            join(sum, whole);
            if (parts == 1)
                round_exact(whole, word);
            else
                round(k, n, whole, word, queued);
            out[0][channel] = word[0];
            out[1][channel] = word[1];
            if (channel == wi_quads_channels - 1)
                put(k, dozen, out);
        }
        if (wi_lane() == 0)
            shared.queued[k % 2][threadIdx.x / 32] = queued;
    }

    __device__ void put(int k, int dozen, uint32_t (&out)[2][3]) const {
        unsigned char *const to = shared.out[k % wi_quads_turns] + wi_lane() % 4 * wi_quads_pitch +
                                  (dozen + wi_lane() / 4) * wi_quads_dozen;
#pragma unroll
        for (int place = 0; place < 2; place++) {
            interleave(out[place]);
#pragma unroll
            for (int word = 0; word < 3; word++)
                *(uint32_t *)(to + place * 8 * wi_quads_dozen + 4 * word) = out[place][word];
        }
    }

    /* ---- what is in doubt ---- */

    /* An output as a warp's queue has it: 32 times 32 times the piece, and the lane, and which. */
    __device__ void make_entry_again(int k, int warp, int entry) const {
        const int n = entry / 1024, lane = entry / 32 % 32, e = entry % 8, j = n % 3;
        const int dozen = warp * 32 + n / 3 * 16 + lane / 4 + e / 4 * 8;
        const int byte = e % 4 * wi_quads_channels + j;
        make_again(k, lane % 4, dozen * wi_quads_dozen + byte);
    }

    /* Makes an output again, by the sum of the promised order. */
    __device__ void make_again(int k, int line, int byte) const {
        const int at = byte % wi_quads_channels * channel_bytes + byte / wi_quads_channels * 4;
        float sum = 0;
#pragma unroll(frame > WI_CONVOLVE_QUADS_FRAME ? 1 : frame)
        for (int j = 0; j < frame; j++) {
            const int r = line + j;
            const unsigned char *const from = slot(k + r / wi_quads_rows) + at + r % wi_quads_rows;
#pragma unroll
            for (int i = 0; i < frame; i++)
                sum = fmaf(p.weight[j * frame + i], (float)from[4 * i], sum);
        }
        shared.out[k % wi_quads_turns][line * wi_quads_pitch + byte] =
            (unsigned char)wi_convolve_whole(sum, 255, false);
    }

    /* All outputs again. */
    __device__ void make_all_again(int k) const {
#pragma unroll 1
        for (unsigned i = threadIdx.x; i < wi_quads_rows * wi_quads_width; i += wi_quads_threads)
            make_again(k, (int)i / wi_quads_width, (int)i % wi_quads_width);
    }

    /* Warps take turns; if there were too many for a queue, all make all outputs again. */
    __device__ void settle(int k) const {
        unsigned ends[wi_quads_warps], end = 0;
        bool is_full = false;
#pragma unroll
        for (int w = 0; w < wi_quads_warps; w++) {
            const unsigned queued = shared.queued[k % 2][w];
            is_full |= queued > wi_quads_entries;
            ends[w] = end += queued;
        }
        if (is_full)
            make_all_again(k);
        else if (k % wi_quads_warps == (int)threadIdx.x / 32)
#pragma unroll 1
            for (unsigned i = (unsigned)wi_lane(); i < end; i += 32) {
                unsigned w = 0, before = 0;
#pragma unroll
                for (int other = 0; other + 1 < wi_quads_warps; other++)
                    if (i >= ends[other]) {
                        w = (unsigned)other + 1;
                        before = ends[other];
                    }
                make_entry_again(k, (int)w, (int)shared.queue[k % 2][w][i - before]);
            }
    }

    /* ---- outputs ---- */

    /* A warp writes a row, 16 bytes a lane at a time. */
    __device__ void write(int k) const {
        static_assert(wi_quads_warps == wi_quads_rows, "a row for each warp");
        constexpr int step = 32 * 16;
        const int line = (int)threadIdx.x / 32, byte = 16 * wi_lane();
        const int row = top + k * wi_quads_rows + line;
        if (row >= p.m.out_height)
            return;
        const unsigned char *const out =
            shared.out[k % wi_quads_turns] + line * wi_quads_pitch + byte;
        uint8_t *const to = y + (size_t)row * p.m.ldy + first + byte;
        if (is_plain) {
#pragma unroll
            for (int at = 0; at < wi_quads_width; at += step)
                *(uint4 *)(to + at) = *(const uint4 *)(out + at);
            return;
        }
        const int there = p.m.out_width * wi_quads_channels - first - byte;
#pragma unroll 1
        for (int at = 0; at < wi_quads_width; at += step)
            write_some(to + at, out + at, there - at);
    }

    /* `count` bytes, but at most 16. */
    __device__ void write_some(uint8_t *to, const unsigned char *out, int count) const {
        if (p.aligned_y && count >= 16)
            *(uint4 *)to = *(const uint4 *)out;
        else
#pragma unroll 1
            for (int b = 0; b < 16 && b < count; b++)
                to[b] = out[b];
    }

    /* ---- all rows of a block ---- */

    /* Rows k are multiplied while those before are settled and those before them written, and the
     * quads that the next ones need are made. */
    __device__ void run() {
#pragma unroll 1
        for (int k = 0; k < Shape::rows; k++) {
            from.load();
            from.store(slot(k));
        }
        if (threadIdx.x < 4)
            shared.begin[threadIdx.x] = p.begin;
        if constexpr (frame > WI_CONVOLVE_QUADS_FRAME)
            clear_spare();
        if (quads > 1)
            from.load();
        __syncthreads();
#pragma unroll
        for (int e = 0; e < 4; e++)
            begin[e] = shared.begin[e];
#pragma unroll 1
        for (int k = 0; k < quads + 2; k++) {
            if (k + 1 < quads)
                from.store(slot(k + Shape::rows));
            if (parts > 1 && k > 0 && k <= quads)
                settle(k - 1);
            if (k > 1)
                write(k - 2);
            if (k + 2 < quads)
                from.load();
            if (k < quads)
                work(k);
            __syncthreads();
        }
    }
};

template <int parts, int frame>
static __global__ void __launch_bounds__(wi_quads_threads, wi_quads_shape<frame>::blocks)
    wi_quads(const __grid_constant__ wi_quads_params<frame> p) {
    using Block = wi_quads_block<parts, frame>;
    WEFT_DYNAMIC_SHARED(memory);
    Block block(p, *(typename Block::Shared *)memory,
                wi_convolve_tile_of(blockIdx.x, p.strips, p.bands));
    block.run();
}

#endif
