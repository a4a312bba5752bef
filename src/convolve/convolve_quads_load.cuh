/* SPDX-License-Identifier: Apache-2.0 */
/* What the kernel of quads (convolve_quads.cuh) is told, and what a block has in shared memory; how
 * pixels come there. */
#ifndef WI_CONVOLVE_QUADS_LOAD_CUH
#define WI_CONVOLVE_QUADS_LOAD_CUH

#include "convolve/convolve_cuda.cuh"
#include "convolve/convolve_units.h"
#include "cuda/bytes.cuh"
#include "cuda/warp.cuh"

constexpr int wi_quads_warps = 4; /* that multiply; one more settles and writes */
constexpr int wi_quads_workers = 32 * wi_quads_warps;
constexpr int wi_quads_threads = wi_quads_workers + 32;
constexpr int wi_quads_rows = 4;   /* of a quad, and its pixels in a row */
constexpr int wi_quads_bytes = 16; /* of a quad */
constexpr int wi_quads_dozen = 12; /* bytes of a row that a thread turns to quads */
constexpr int wi_quads_width = wi_quads_dozen * wi_quads_workers; /* bytes of a strip */
constexpr int wi_quads_turns = 2;                                 /* of outputs */
constexpr int wi_quads_pitch = wi_quads_width + 32; /* of outputs: the words of 8 places in four
                                                       rows are in all banks */
constexpr int wi_quads_tiles = 6;                   /* of 64 places, that a strip has */
constexpr int wi_quads_most = 16; /* lanes with doubts, of a warp, that are left to others */

/* How sums of weights' bytes become one: what the highest and the middle byte count, and what is
 * added. It is the same for all tiles. But CUDA 13.0's compiler takes what the same arithmetic
 * makes of the same registers for the same number, though tensor cores have put other sums there;
 * so each tile has factors of its own, which the compiler cannot know to be alike. */
struct wi_quads_join {
    uint32_t high;
    int low;
    uint32_t begin;
};

/* `frame` is the side of what filters lie in. */
template <int frame>
struct wi_quads_params {
    wi_convolve_images m;
    int above; /* rows of the filter before the output */
    int shift, in_doubt;
    wi_quads_join join[wi_quads_tiles];
    uint32_t adds; /* 0: sums begin with it, which the compiler does not know */
    unsigned strips, bands;
    int band; /* rows of quads that a block puts out */
    int units[frame * frame];
    float weight[frame * frame];
};

template <int channel_count, int frame>
struct wi_quads_shape {
    static constexpr int channels = channel_count;
    static constexpr int before = frame / 2;          /* pixels of the frame before the output */
    static constexpr int skipped = before * channels; /* bytes before the strip's first */
    static constexpr int words_before = (skipped + 3) / 4 * 4; /* in whole words */
    static constexpr int ahead = words_before - skipped;
    static constexpr int words = (ahead + wi_quads_dozen + 3) / 4; /* that a dozen lies in */
    static constexpr int rows = (frame + 6) / 4; /* of quads that a place needs, and columns */
    static constexpr int slots = rows + 2;       /* for rows of quads */
    static constexpr int pairs = (rows + 1) / 2; /* of columns; a last one may count for nothing */
    static constexpr int steps = rows * pairs;   /* of 32 bytes along k */
    static constexpr int places = wi_quads_width / wi_quads_rows / channels; /* of a channel */
    static constexpr int beyond = rows - 1;        /* quads of a channel beyond the strip */
    static constexpr int spare = 2 * pairs - rows; /* and those that count for nothing */
    static constexpr int channel_bytes = (places + beyond + spare) * wi_quads_bytes;
    static constexpr int blocks = 4;
    static_assert(ahead == 0 || ahead == 2, "how a thread turns its words");
    static_assert(skipped <= 16 && 4 * channels <= 16 && skipped + 3 <= 16,
                  "half a warp takes what comes by itself");
    static_assert(beyond < wi_quads_warps, "the first warp takes what lies before the image");
};

template <class Shape, int parts>
struct wi_quads_shared {
    alignas(16) unsigned char table[Shape::steps][16 * parts * 32];
    alignas(16) unsigned char quads[Shape::slots][Shape::channel_bytes * Shape::channels];
    alignas(16) unsigned char out[wi_quads_turns][wi_quads_rows * wi_quads_pitch];
    uint8_t doubts[wi_quads_turns][wi_quads_workers]; /* a bit for each tile */
    uint16_t queue[wi_quads_warps * wi_quads_most * wi_quads_tiles];
};

/* What a thread has of the next four rows: the aligned words that its dozen lies in; and a byte of
 * each row that is not in a whole word of the image, or beyond the strip. */
template <class Shape>
struct wi_quads_raw {
    uint32_t word[wi_quads_rows][Shape::words];
    uint32_t late[wi_quads_rows];
};

/* How a thread brings its dozen of four rows after the other, and turns it to quads. */
template <class Shape, int frame>
struct wi_quads_loader {
    using Params = wi_quads_params<frame>;
    static constexpr int channels = Shape::channels, channel_bytes = Shape::channel_bytes;
    static constexpr int skipped = Shape::skipped;

    const Params &p;
    const uint8_t *const x; /* the image */
    const int first;        /* byte of a row where the strip begins */
    const int first_word;   /* where this thread's words begin */
    int row;                /* of x, the next */
    const uint8_t *next;    /* those words of it */
    unsigned has_word;      /* bit k: word k is a whole one of the image */
    bool is_inside;         /* all words of the warp are */
    bool has_late;          /* a lane of the warp has a byte that comes by itself */
    bool late_there;        /* it is not 0 */
    int late_from, late_to; /* where it is, from the thread's words on; and the quad, < 0: none */
    wi_quads_raw<Shape> raw;

    __device__ wi_quads_loader(const Params &params, const uint8_t *image, int begin, int top)
        : p(params), x(image), first(begin),
          first_word(begin + (int)threadIdx.x * wi_quads_dozen - Shape::words_before),
          row(top - p.above), next(line_of(row)), has_word(0), raw{} {
        find_words();
        find_late();
    }

    __device__ const uint8_t *line_of(int r) const {
        return x + (ptrdiff_t)r * (ptrdiff_t)p.m.ldx + first_word;
    }

    __device__ int row_bytes() const {
        return p.m.width * channels;
    }
    __device__ void find_words() {
        const int whole = (1 << Shape::words) - 1;
        for (int k = 0; k < Shape::words; k++) {
            const int byte = first_word + 4 * k;
            if (byte >= 0 && byte + 4 <= row_bytes())
                has_word |= 1u << k;
        }
        is_inside = __all_sync(wi_all_lanes, (int)has_word == whole);
    }

    /* Which byte, from the strip's first dozen on, this lane takes by itself; -1: none. The first
     * half of a warp has those before the image, or those of a unit behind the strip, the other
     * half those that begin in the image's last word, or beyond. */
    __device__ int late_byte() const {
        const int warp = (int)threadIdx.x / 32, lane = wi_lane(), half = lane % 16;
        const int begin = warp * 32 * wi_quads_dozen, unit = wi_quads_warps - 1 - warp;
        if (lane < 16 && unit < Shape::beyond)
            return half < 4 * channels ? wi_quads_width + unit * 4 * channels + half : -1;
        if (lane < 16)
            return begin == 0 && first == 0 && half < skipped ? half : -1;
        const int end = row_bytes() / 4 * 4 - first + skipped;
        const int byte = (end > begin ? end : begin) + half;
        const int beyond = row_bytes() - first + 2 * skipped;
        return byte < begin + 32 * wi_quads_dozen && byte < beyond ? byte : -1;
    }
    __device__ void find_late() {
        const int byte = late_byte();
        const int pixel = (first + byte) / channels - Shape::before, channel = byte % channels;
        const int from = byte < 0 ? -1 : wi_convolve_pixel(p.m.border, pixel, p.m.width);
        late_there = from >= 0;
        late_from = from * channels + channel - first_word;
        late_to = byte < 0 ? -1
                           : channel * channel_bytes + byte / (4 * channels) * wi_quads_bytes +
                                 byte / channels % 4;
        has_late = __any_sync(wi_all_lanes, byte >= 0);
    }

    /* What this thread has of a row. */
    template <bool are_all>
    __device__ void load_words(int r, const uint8_t *line) {
#pragma unroll
        for (int k = 0; k < Shape::words; k++)
            raw.word[r][k] = are_all || (has_word >> k & 1) ? *(const uint32_t *)(line + 4 * k) : 0;
    }
    __device__ void load_late(int r, const uint8_t *line) {
        raw.late[r] = late_there ? line[late_from] : 0;
    }
    template <bool are_all>
    __device__ void load_rows() {
        const uint8_t *line = next;
#pragma unroll
        for (int r = 0; r < wi_quads_rows; r++, line += p.m.ldx)
            load_words<are_all>(r, line);
    }
    __device__ void move_up() {
#pragma unroll
        for (int r = 0; r + 1 < wi_quads_rows; r++) {
            raw.late[r] = raw.late[r + 1];
#pragma unroll
            for (int k = 0; k < Shape::words; k++)
                raw.word[r][k] = raw.word[r + 1][k];
        }
    }
    __device__ void clear(int r) {
        raw.late[r] = 0;
#pragma unroll
        for (int k = 0; k < Shape::words; k++)
            raw.word[r][k] = 0;
    }

    /* The next row of quads. */
    __device__ void load() {
        const int last = wi_quads_rows - 1;
        if (row >= 0 && row + wi_quads_rows <= p.m.height) {
            if (is_inside)
                load_rows<true>();
            else
                load_rows<false>();
            if (has_late)
#pragma unroll
                for (int r = 0; r < wi_quads_rows; r++)
                    load_late(r, next + (size_t)r * p.m.ldx);
        } else {
#pragma unroll 1
            for (int r = 0; r < wi_quads_rows; r++) {
                const int there = wi_convolve_pixel(p.m.border, row + r, p.m.height);
                move_up();
                clear(last);
                if (there >= 0) {
                    load_words<false>(last, line_of(there));
                    load_late(last, line_of(there));
                }
            }
        }
        row += wi_quads_rows;
        next += wi_quads_rows * p.m.ldx;
    }

    /* A thread's dozen of a row: four pixels of each channel; of a single one, three times four. */
    __device__ static void pick(const uint32_t (&w)[Shape::words], uint32_t (&four)[3]) {
        if constexpr (channels == 1) {
#pragma unroll
            for (int i = 0; i < 3; i++)
                four[i] =
                    Shape::ahead ? wi_pick_bytes(w[i], w[(i + 1) % Shape::words], 0x5432) : w[i];
        } else if constexpr (Shape::ahead) {
            const uint32_t low = wi_pick_bytes(w[0], w[1], 0x6352);
            const uint32_t high = wi_pick_bytes(w[2], w[Shape::words - 1], 0x5241);
            four[0] = wi_pick_bytes(low, w[2], 0x7410);
            four[1] = wi_pick_bytes(low, high, 0x5432);
            four[2] = wi_pick_bytes(w[1], high, 0x7630);
        } else {
            const uint32_t low = wi_pick_bytes(w[0], w[1], 0x5241);
            const uint32_t high = wi_pick_bytes(w[1], w[2], 0x6352);
            four[0] = wi_pick_bytes(w[0], high, 0x5430);
            four[1] = wi_pick_bytes(low, high, 0x7610);
            four[2] = wi_pick_bytes(low, w[2], 0x7432);
        }
    }

    /* Turns them to quads, in a slot. */
    __device__ void store(unsigned char *slot) const {
        constexpr int apart = channels == 1 ? wi_quads_bytes : channel_bytes;
        uint32_t quad[3][wi_quads_rows];
#pragma unroll
        for (int r = 0; r < wi_quads_rows; r++) {
            uint32_t four[3];
            pick(raw.word[r], four);
#pragma unroll
            for (int i = 0; i < 3; i++)
                quad[i][r] = four[i];
        }
        unsigned char *const to = slot + (int)threadIdx.x * wi_quads_bytes * 3 / channels;
#pragma unroll
        for (int i = 0; i < 3; i++)
            *(uint4 *)(to + i * apart) = {quad[i][0], quad[i][1], quad[i][2], quad[i][3]};
        if (!has_late)
            return;
        __syncwarp();
        if (late_to >= 0)
#pragma unroll
            for (int r = 0; r < wi_quads_rows; r++)
                slot[late_to + 4 * r] = (unsigned char)raw.late[r];
    }
};

#endif
