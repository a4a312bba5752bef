/* SPDX-License-Identifier: Apache-2.0 */
/* Lines of one length in a block: radices, and so all distances in shared memory, are constants. */
#ifndef WI_FFT_SHAPE_CUH
#define WI_FFT_SHAPE_CUH

#include "fft/fft_block.cuh"

/* The distance of lines. Where threads next to each other have lines next to each other, those that
 * share an access of 128 bytes have so many lines and 16 (f64: 8) over that of neighbours. */
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

/* So many numbers and threads in a block; n is the product of the radices. */
template <class T, int points, int threads_, int... radices>
struct wi_fft_shape {
    using Type = T;
    using number = wi_fft_number<T>;
    static constexpr unsigned threads = threads_, n = (1 * ... * radices),
                              stages = sizeof...(radices);
    static constexpr unsigned lines = points / n;
    using Lines = wi_fft_fixed<(int)lines>;
    static constexpr unsigned first = wi_fft_first<radices...>;
    /* Writes of the first stage are as far apart as its radix, whole rows of banks are wi_fft_gap.
     */
    static constexpr unsigned gap = (n & (n - 1)) != 0      ? n % 10 == 0 ? 100 : 0
                                    : first > wi_fft_gap<T> ? first
                                                            : wi_fft_gap<T>;
    static constexpr unsigned pitch = wi_fft_pitch_of<T, gap>(n, lines);
    /* Blocks of a multiprocessor: a register for each number's parts, and as many again. */
    static constexpr unsigned wanted = (unsigned)points / threads * (unsigned)sizeof(T);
    static constexpr unsigned blocks = 65536 / (threads * (wanted < 48 ? 48 : wanted));
    static constexpr unsigned radix[] = {radices...};
    static constexpr unsigned last = radix[stages - 1];
    static_assert((lines & (lines - 1)) == 0, "blocks have a power of 2 of lines");

    static constexpr unsigned count_twiddles() {
        unsigned before = 1, count = 0;
        for (const unsigned r : radix) {
            count += before > 1 ? (r - 1) * before : 0;
            before *= r;
        }
        return count;
    }
    /* Would twiddles leave little of the first-level cache? Then those of the last stage are
     * products of two; the first of these tables has a step of about the root of its length. */
    static constexpr unsigned twiddles = count_twiddles(), last_twiddles = (last - 1) * (n / last);
    static constexpr bool is_crowded = twiddles * sizeof(number) > (48 << 10) ||
                                       (twiddles + points) * sizeof(number) > (144 << 10);
    static constexpr unsigned step_of_last() {
        unsigned step = 1;
        for (unsigned k = 0; k + 1 < stages && step * step < n / last; k++)
            step *= radix[k];
        return step;
    }
    using Last = wi_fft_two_tables<T, last, n / last, step_of_last()>;
    static constexpr size_t bytes = wi_fft_shared_bytes<T>(lines, pitch, last) +
                                    (is_crowded ? Last::count * sizeof(number) : 0);

    template <int before, int R, int... rest, class Block, class Work>
    static __device__ __forceinline__ void run(const Block &block, const number *factors,
                                               const Last &of_last, const Work &meanwhile) {
        constexpr int m = (int)n / R, sets = (int)lines * m;
        constexpr int most = (sets + (int)threads - 1) / (int)threads;
        constexpr bool is_even = sets == most * (int)threads, is_last = sizeof...(rest) == 0;
        if constexpr (is_crowded && is_last)
            block.template stage<R, most, is_even>(wi_fft_fixed<before>(), wi_fft_fixed<m>(), false,
                                                   true, of_last, meanwhile);
        else
            block.template stage<R, most, is_even>(wi_fft_fixed<before>(), wi_fft_fixed<m>(),
                                                   before == 1, is_last, factors, meanwhile);
        if constexpr (!is_last)
            run<before * R, rest...>(block, factors + (before > 1 ? (R - 1) * before : 0), of_last,
                                     meanwhile);
    }

    /* The lines of a block at a place; `shared` has room for `bytes`. `meanwhile` is done before
     * anything is stored. */
    template <bool passes_in, bool passes_out, class Work>
    static __device__ __forceinline__ void run_all(const wi_fft_pass<T> &p, const wi_fft_place &at,
                                                   number *shared, const number *factors,
                                                   const Work &meanwhile) {
        /* What does not pass through lies between two passes, in f32. */
        constexpr bool halves_in = sizeof(T) == 4 && !passes_out;
        constexpr bool halves_out = sizeof(T) == 4 && !passes_in;
        const wi_fft_block<T, Lines, gap, passes_in, passes_out, halves_in, halves_out> block = {
            p, at, shared, shared + lines * pitch, n, pitch, threads, {}};
        const Last of_last = {shared + lines * (pitch + last)};
        if (sizeof(T) == 8) /* a call, for which all registers would be saved */
            block.fill_turns(last);
        run<1, radices...>(block, factors, of_last, [&] {
            if (sizeof(T) == 4)
                block.fill_turns(last);
            if constexpr (is_crowded)
                of_last.fill(p.twiddles + (twiddles - last_twiddles));
            meanwhile();
        });
    }
};

#endif
