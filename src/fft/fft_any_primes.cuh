/* SPDX-License-Identifier: Apache-2.0 */
/* A stage of fft_any_kernel.cuh whose radix is a prime P that is large for the registers of a
 * thread. Two threads next to each other have a set, one its real parts and one its imaginary ones.
 * With sums and differences of numbers k and P - k,
 *
 *     X(m), X(P - m) = x(0) + sum over k <= P / 2 of sum(k) cos -+ i less(k) sin,  2 pi m k / P,
 *
 * a thread needs its own sums and the other's differences, and makes P real numbers of P others.
 * Numbers are in classes {k, w k, w^2 k} with w^3 = 1 modulo P, {k, w k} with w^2 = -1, or alone:
 * results m, w m and w^2 m take the same few cosines in other places, so that a matrix of 3 x 3
 * for each pair of classes takes 5 products, and one of 2 x 2 takes 2. */
#ifndef WI_FFT_ANY_PRIMES_CUH
#define WI_FFT_ANY_PRIMES_CUH

#include <utility>

#include "cuda/anew.cuh"
#include "cuda/beyond.cuh"
#include "cuda/warp.cuh"
#include "fft/fft_any_sums.cuh"

/* Numbers of a class. */
constexpr int any_class_size(int prime) {
    return prime % 3 == 1 ? 3 : prime % 4 == 1 ? 2 : 1;
}
/* Primes for which whole sets in registers are better by classes, too. */
template <int R>
constexpr bool any_is_split = R == 17 || R == 19 || R == 29 || R == 31;

/* For -pi <= x <= pi. */
constexpr double any_cosine(double x) {
    double sum = 1, term = 1;
    for (int k = 1; k < 36; k += 2) {
        term *= -x * x / (k * (k + 1));
        sum += term;
    }
    return sum;
}
constexpr double any_sine(double x) {
    double sum = x, term = x;
    for (int k = 2; k < 36; k += 2) {
        term *= -x * x / (k * (k + 1));
        sum += term;
    }
    return sum;
}

/* Numbers from 1 to P / 2, or P less them, by classes. */
template <int P>
struct any_classes {
    static constexpr int half = P / 2, size = any_class_size(P), count = half / size;
    int at[half] = {};

    constexpr any_classes() {
        bool is_taken[P] = {};
        int w = 1, found = 0;
        for (int k = 2; k < P && size > 1 && w == 1; k++)
            if ((size == 3 ? k * k % P * k % P : P - k * k % P) == 1)
                w = k;
        for (int k = 1; k <= half; k++)
            for (int i = 0, member = k; i < size && !is_taken[member];
                 i++, member = member * w % P) {
                at[found++] = member;
                is_taken[member] = is_taken[P - member] = true;
            }
    }
};
template <int P, int i>
struct any_member {
    static constexpr any_classes<P> classes = {};
    static constexpr int at = classes.at[i];
};
template <int P, int k>
struct any_root {
    static constexpr double pi = 3.14159265358979323846, turned = k > P / 2 ? k - P : k;
    static constexpr double cosine = any_cosine(2 * pi * turned / P),
                            sine = any_sine(2 * pi * turned / P);
};
/* The compiler knows what these are where it unrolls loops. */
template <int P, int... k>
__device__ __forceinline__ int any_member_at(int i, std::integer_sequence<int, k...>) {
    const int at[] = {any_member<P, k>::at...};
    return at[i];
}
template <int P, int... k>
__device__ __forceinline__ double any_cosine_at(int i, std::integer_sequence<int, k...>) {
    const double at[] = {any_root<P, k>::cosine...};
    return at[i];
}
template <int P, int... k>
__device__ __forceinline__ double any_sine_at(int i, std::integer_sequence<int, k...>) {
    const double at[] = {any_root<P, k>::sine...};
    return at[i];
}

/* Real numbers: first, sums of pairs, and differences of the other parts. */
template <int P, class T>
struct any_prime_set {
    static constexpr int half = P / 2, size = any_classes<P>::size, count = half / size;
    T first, sum[count][size], less[count][size];

    static __device__ __forceinline__ int at(int i) {
        return any_member_at<P>(i, std::make_integer_sequence<int, half>());
    }
    static __device__ __forceinline__ int at(int b, int i) {
        return at(b * size + i);
    }
    static __device__ __forceinline__ double cosine(int m, int k) {
        return any_cosine_at<P>(m * k % P, std::make_integer_sequence<int, P>());
    }
    static __device__ __forceinline__ double sine(int m, int k) {
        return any_sine_at<P>(m * k % P, std::make_integer_sequence<int, P>());
    }

    /* Numbers of a class are replaced by what products are made of. */
    __device__ __forceinline__ static void mix(T *v) {
        if constexpr (size == 2) {
            const T all = v[0] + v[1];
            v[1] = v[0] - v[1];
            v[0] = all;
        }
        if constexpr (size == 3) {
            const T all = v[0] + v[1] + v[2];
            v[1] = v[1] - v[2];
            v[2] = v[0] - v[2];
            v[0] = all;
        }
    }
    /* X(0). */
    __device__ __forceinline__ T all() const {
        T v = first;
#pragma unroll
        for (int b = 0; b < count; b++) {
#pragma unroll
            for (int i = 0; i < size; i++)
                v += sum[b][i];
        }
        return v;
    }

    /* Calls put(m, even, odd) for each m of at[][]: X(m) = even + odd and X(P - m) = even - odd. */
    template <class Put>
    __device__ __forceinline__ void transform(const Put &put) {
        put(0, all(), 0);
        if constexpr (size == 3) {
#pragma unroll
            for (int b = 0; b < count; b++) {
                mix(sum[b]);
                mix(less[b]);
            }
        }
        if constexpr (size == 2) {
#pragma unroll
            for (int b = 0; b < count; b++)
                mix(sum[b]);
        }
#pragma unroll
        for (int a = 0; a < count; a++) {
            T even[size], odd[size];
#pragma unroll
            for (int i = 0; i < size; i++)
                even[i] = odd[i] = 0;
            even[0] = first;
#pragma unroll
            for (int b = 0; b < count; b++) {
                if constexpr (size == 3) {
                    double u[3], v[3];
#pragma unroll
                    for (int i = 0; i < 3; i++) {
                        u[i] = cosine(at(a, 0), at(b, i));
                        v[i] = sine(at(a, 0), at(b, i));
                    }
                    add_three(u, sum[b], even);
                    add_three(v, less[b], odd);
                } else if constexpr (size == 2) {
                    const double u = cosine(at(a, 0), at(b, 0)) / 2;
                    const double v = cosine(at(a, 0), at(b, 1)) / 2;
                    even[0] = wi_fma((T)(u + v), sum[b][0], even[0]);
                    even[1] = wi_fma((T)(u - v), sum[b][1], even[1]);
#pragma unroll
                    for (int i = 0; i < 4; i++)
                        odd[i / 2] =
                            wi_fma((T)sine(at(a, i / 2), at(b, i % 2)), less[b][i % 2], odd[i / 2]);
                } else {
                    even[0] = wi_fma((T)cosine(at(a, 0), at(b, 0)), sum[b][0], even[0]);
                    odd[0] = wi_fma((T)sine(at(a, 0), at(b, 0)), less[b][0], odd[0]);
                }
            }
            if constexpr (size == 3) {
                end_three(even);
                end_three(odd);
            }
            if constexpr (size == 2) {
                const T more = even[1];
                even[1] = even[0] - more;
                even[0] = even[0] + more;
            }
#pragma unroll
            for (int i = 0; i < size; i++)
                put(at(a, i), even[i], odd[i]);
        }
    }

    /* Result i of a class takes number k times u[(i + k) % 3]: the mean of these times the sum of
     * the numbers, and what they are more than it. */
    __device__ __forceinline__ static void add_three(const double *u, const T *v, T *result) {
        const double mean = (u[0] + u[1] + u[2]) / 3;
        result[0] = wi_fma((T)mean, v[0], result[0]);
        result[1] = wi_fma((T)(u[0] - mean), v[2], result[1]);
        result[1] = wi_fma((T)(u[1] - mean), v[1], result[1]);
        result[2] = wi_fma((T)(u[1] - mean), v[2], result[2]);
        result[2] = wi_fma((T)(u[2] - mean), v[1], result[2]);
    }
    __device__ __forceinline__ static void end_three(T *v) {
        const T all = v[0], a = v[1], b = v[2];
        v[0] = all + a;
        v[1] = all + b;
        v[2] = all - (a + b);
    }
};

/* Whole sets by classes of any_prime_set: its real parts, and its imaginary ones. */
template <int P, class T>
static __device__ __forceinline__ void split_butterfly(T *re, T *im) {
    any_prime_set<P, T> a, b;
    a.first = re[0];
    b.first = im[0];
#pragma unroll
    for (int i = 0; i < a.count; i++) {
#pragma unroll
        for (int q = 0; q < a.size; q++) {
            const int k = a.at(i, q);
            a.sum[i][q] = re[k] + re[P - k];
            b.less[i][q] = re[k] - re[P - k];
            b.sum[i][q] = im[k] + im[P - k];
            a.less[i][q] = im[k] - im[P - k];
        }
    }
    a.transform([&](int m, T even, T odd) {
        re[m] = even + odd;
        if (m > 0)
            re[P - m] = even - odd;
    });
    b.transform([&](int m, T even, T odd) {
        im[m] = even - odd;
        if (m > 0)
            im[P - m] = even + odd;
    });
}
/* ... where these are better. */
template <int R, class T>
static __device__ __forceinline__ void any_split_butterfly(T *re, T *im) {
    if constexpr (any_is_split<R>)
        split_butterfly<R>(re, im);
    else
        wi_fft_butterfly<R>(re, im);
}

/* Which part of which set a thread has, and where that is. */
struct any_part {
    unsigned part, line, j, turn, rest;
};

/* Own sums and differences of a set in global memory. */
template <int P, class T, class Block>
static __device__ __forceinline__ void any_parts_from(const Block &block, const any_stage &s,
                                                      const any_part &at,
                                                      any_prime_set<P, T> &set) {
    const auto &p = block.p;
    const T *const from = (const T *)(p.x + (block.at.in + at.line * p.near_in + at.j)) + at.part;
    const int apart = (int)(wi_anew(s.m.by) * sizeof *p.x);
    const T sign = at.part ? p.sign_in : 1;
    set.first = *from * sign;
#pragma unroll
    for (int i = 0; i < set.half; i++) {
        set.sum[i / set.size][i % set.size] = *wi_global_beyond(from, set.at(i), apart);
        set.less[i / set.size][i % set.size] = *wi_global_beyond(from, P - set.at(i), apart);
    }
#pragma unroll
    for (int i = 0; i < set.half; i++) {
        T &sum = set.sum[i / set.size][i % set.size], &less = set.less[i / set.size][i % set.size];
        const T v = sum * sign, other = less;
        sum = wi_fma(other, sign, v);
        less = wi_fma(-other, sign, v);
    }
}

/* ... in shared memory, turned by twiddles, for which both parts are read. */
template <int P, class T, class Block>
static __device__ __forceinline__ void
any_parts_inside(const Block &block, const any_stages &stages, const any_stage &s,
                 const any_part &at, any_prime_set<P, T> &set) {
    using number = wi_fft_number<T>;
    const T *const from =
        (const T *)(block.numbers + any_place(stages, s, at.line, at.j)) + at.part;
    const T *const beside = at.part ? from - 1 : from + 1;
    const number *const twiddles = block.p.twiddles + (s.twiddles + at.rest);
    const int step = (int)(wi_anew(s.step_in) * sizeof(number)), before = (int)wi_anew(s.before.by);
    const T sign = at.part ? 1 : -1;
    const auto load = [&](int k) {
        const T v = *wi_shared_beyond(from, k, step);
        if (before == 1)
            return v;
        const number w = *wi_global_beyond(twiddles, k - 1, before * (int)sizeof w);
        return wi_fma(*wi_shared_beyond(beside, k, step) * sign, w.im, v * w.re);
    };
    set.first = *from;
#pragma unroll
    for (int i = 0; i < set.half; i++) {
        const T v = load(set.at(i)), other = load(P - set.at(i));
        set.sum[i / set.size][i % set.size] = v + other;
        set.less[i / set.size][i % set.size] = v - other;
    }
}

/* Results, to shared or to global memory by the same code. Imaginary parts have the other sign of
 * odd ones: X(m) and X(P - m) change places. */
template <int P, class T, class Block>
static __device__ __forceinline__ void
any_put_parts(const Block &block, wi_fft_number<T> *to, const any_stages &stages,
              const any_stage &s, const any_part &at, bool is, any_prime_set<P, T> &set) {
    const auto &p = block.p;
    const bool ends = wi_anew(s.how) & TO_GLOBAL;
    wi_fft_number<T> *const set_at = ends ? p.y + (block.at.out + at.line * p.near_out + at.j)
                                          : to + any_place_out(stages, s, at.line, at.j, at.turn);
    const int apart = (int)((ends ? s.before.by : s.step_out) * sizeof *to);
    const T scale = !ends ? 1 : at.part ? p.scale_im : p.scale_re;
    T *const first = (T *)set_at + at.part, *const up = wi_beyond(first, at.part ? P : 0, apart);
    const int step = at.part ? -apart : apart;
    set.transform([&](int m, T even, T odd) {
        if (!is)
            return;
        even *= scale;
        if (m == 0) {
            *first = even;
            return;
        }
        *wi_beyond(up, m, step) = wi_fma(odd, scale, even);
        *wi_beyond(up, P - m, step) = wi_fma(-odd, scale, even);
    });
}

/* All threads go round so often: where some did not, the compiler would think that of a warp, too,
 * and exchange differences in another way. */
template <int P, class T, class Block>
static __device__ __forceinline__ void any_large_prime(const Block &block, wi_fft_number<T> *to,
                                                       const any_stages &stages,
                                                       const any_stage &s) {
    const unsigned sets = s.m.by * block.at.lines;
#pragma unroll 1
    for (unsigned start = 0; start < sets; start += block.threads / 2) {
        const unsigned b = start + threadIdx.x / 2, mine = b < sets ? b : 0;
        if (!__any_sync(wi_all_lanes, b < sets))
            continue;
        any_prime_set<P, T> set;
        any_part at;
        at.part = threadIdx.x % 2;
        at.line = s.m.of(mine);
        at.j = mine - at.line * s.m.by;
        at.turn = s.before.of(at.j);
        at.rest = at.j - at.turn * s.before.by;
        if (wi_anew(s.how) & FROM_GLOBAL)
            any_parts_from(block, s, at, set);
        else
            any_parts_inside(block, stages, s, at, set);
#pragma unroll
        for (int i = 0; i < set.half; i++)
            set.less[i / set.size][i % set.size] =
                wi_shuffle_xor(set.less[i / set.size][i % set.size], 1);
        any_put_parts(block, to, stages, s, at, b < sets, set);
    }
}

template <class T, class Block>
static __device__ __forceinline__ void any_large(const Block &block, wi_fft_number<T> *to,
                                                 const any_stages &stages, const any_stage &s) {
    switch (s.radix) {
    case 37:
        any_large_prime<37, T>(block, to, stages, s);
        break;
    case 41:
        any_large_prime<41, T>(block, to, stages, s);
        break;
    case 43:
        any_large_prime<43, T>(block, to, stages, s);
        break;
    case 47:
        any_large_prime<47, T>(block, to, stages, s);
        break;
    case 53:
        any_large_prime<53, T>(block, to, stages, s);
        break;
    case 59:
        any_large_prime<59, T>(block, to, stages, s);
        break;
    default:
        any_large_prime<61, T>(block, to, stages, s);
    }
}

#endif
