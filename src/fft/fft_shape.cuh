/* SPDX-License-Identifier: Apache-2.0 */
/* Lines of one length in a block: radices, and so all distances in shared memory, are constants. */
#ifndef WI_FFT_SHAPE_CUH
#define WI_FFT_SHAPE_CUH

#include "fft/fft_block.cuh"

/* The distance of lines in shared memory. Where threads next to each other have lines next to each
 * other, the threads that share an access of 128 bytes have `lines` lines and, in each, 16 / lines
 * numbers (f64: 8 / lines) next to each other: these meet different banks. */
template <class T, unsigned gap>
constexpr unsigned wi_fft_pitch_of(unsigned n, unsigned lines) {
    constexpr unsigned banks = 128 / (2 * (unsigned)sizeof(T));
    const unsigned wanted = lines >= banks ? 1 : banks / lines % banks;
    unsigned pitch = wi_fft_spread<gap>(n);
    while (pitch % banks != wanted)
        pitch++;
    return pitch;
}

template <int R, int... rest>
constexpr unsigned wi_fft_first = R;

/* `points` numbers and `threads_` threads in a block; n is the product of the radices. */
template <class T, int points, int threads_, int... radices>
struct wi_fft_shape {
    using Type = T;
    using number = wi_fft_number<T>;
    static constexpr unsigned threads = threads_, n = (1 * ... * radices),
                              stages = sizeof...(radices);
    static constexpr unsigned lines = points / n;
    using Lines = wi_fft_fixed<(int)lines>;
    static constexpr unsigned first = wi_fft_first<radices...>;
    /* Neighbouring threads write as far apart as the first radix; wi_fft_gap numbers are a row of
     * all banks. */
    static constexpr unsigned gap = (n & (n - 1)) != 0      ? n % 10 == 0 ? 100 : 0
                                    : first > wi_fft_gap<T> ? first
                                                            : wi_fft_gap<T>;
    static constexpr unsigned pitch = wi_fft_pitch_of<T, gap>(n, lines);
    /* Blocks of a multiprocessor: a register for each number's parts, and as many again. */
    static constexpr unsigned wanted = (unsigned)points / threads * (unsigned)sizeof(T);
    static constexpr unsigned blocks = 65536 / (threads * (wanted < 48 ? 48 : wanted));
    static constexpr unsigned radix[] = {radices...};
    static constexpr unsigned last = radix[stages - 1];
    static constexpr size_t bytes = wi_fft_shared_bytes<T>(lines, pitch, last);
    static_assert((lines & (lines - 1)) == 0, "blocks have a power of 2 of lines");

    static constexpr unsigned count_twiddles() {
        unsigned before = 1, count = 0;
        for (const unsigned r : radix) {
            count += before > 1 ? (r - 1) * before : 0;
            before *= r;
        }
        return count;
    }
    /* Do twiddles leave little of the first-level cache? Such lines are slower by up to 14 % if all
     * loads of a first stage are waited for at once (an H200, 2026-11-23). */
    static constexpr bool is_crowded = count_twiddles() * sizeof(number) > (48 << 10);

    template <int before, int R, int... rest, class Block, class Work>
    static __device__ __forceinline__ void run(const Block &block, const number *twiddles,
                                               const Work &meanwhile) {
        constexpr int m = (int)n / R, sets = (int)lines * m;
        constexpr int most = (sets + (int)threads - 1) / (int)threads;
        block.template stage<R, most, sets == most *(int)threads>(
            wi_fft_fixed<before>(), wi_fft_fixed<m>(), before == 1, sizeof...(rest) == 0, twiddles,
            meanwhile);
        if constexpr (sizeof...(rest) > 0)
            run<before * R, rest...>(block, twiddles + (before > 1 ? (R - 1) * before : 0),
                                     meanwhile);
    }

    /* The lines of a block at a place; `shared` has room for `bytes`. `meanwhile` is done before
     * anything is stored. */
    template <bool passes_in, bool passes_out, class Work>
    static __device__ __forceinline__ void run_all(const wi_fft_pass<T> &p, const wi_fft_place &at,
                                                   number *shared, const number *twiddles,
                                                   const Work &meanwhile) {
        /* What does not pass through lies between two passes, in f32. */
        constexpr bool halves_in = sizeof(T) == 4 && !passes_out;
        constexpr bool halves_out = sizeof(T) == 4 && !passes_in;
        const wi_fft_block<T, Lines, gap, passes_in, passes_out, halves_in, halves_out, !is_crowded>
            block = {p, at, shared, shared + lines * pitch, n, pitch, threads, {}};
        /* fill_turns is a call for f64: in the middle of a stage it would save all registers */
        if constexpr (sizeof(T) == 8 || is_crowded) {
            block.fill_turns(last);
            run<1, radices...>(block, twiddles, meanwhile);
        } else {
            run<1, radices...>(block, twiddles, [&] {
                block.fill_turns(last);
                meanwhile();
            });
        }
    }
};

#endif
