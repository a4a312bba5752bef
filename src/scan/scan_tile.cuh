/* SPDX-License-Identifier: Apache-2.0 */
/* A tile of 32 KiB and how eight warps scan it, for the rungs that take the array in one pass. They
 * all combine elements in the same order, so they give the same bits at any alignment.
 *
 * Each warp scans one part of the tile, row by row; a row is one 16-byte vector for each lane.
 *
 * Some operators are others on elements of which bits are flipped, so that they share kernels:
 * a AND b = ~(~a OR ~b), MAX(a, b) = ~MIN(~a, ~b), and signed integers have the order of unsigned
 * ones with the sign bit flipped; MAX of floats is -MIN(-a, -b). */
#ifndef WI_SCAN_TILE_CUH
#define WI_SCAN_TILE_CUH

#include "cuda/memory.cuh"
#include "cuda/warp.cuh"
#include "scan/scan_cuda.cuh"

constexpr size_t wi_tile_bytes = 32 * 1024;
constexpr int wi_tile_warps = 8;
constexpr size_t wi_row_bytes = 32 * 16;
constexpr size_t wi_part_bytes = wi_tile_bytes / wi_tile_warps;
constexpr int wi_part_rows = wi_part_bytes / wi_row_bytes;

template <class T>
constexpr size_t wi_tile_elements = wi_tile_bytes / sizeof(T);

/* The place in the array of this lane's vector of a row. */
template <class T>
__device__ inline size_t wi_place_in(uint64_t tile, int part, int row) {
    return tile * wi_tile_elements<T> + ((size_t)part * wi_part_bytes + (size_t)row * wi_row_bytes +
                                         (size_t)wi_lane() * sizeof(wi_vector<T>)) /
                                            sizeof(T);
}

/* The operators whose kernels others share. */
template <class Op>
constexpr bool wi_flips = false;
template <>
constexpr bool wi_flips<wi_scan_op<WEFT_MIN>> = true;
template <>
constexpr bool wi_flips<wi_scan_op<WEFT_OR>> = true;

/* What to flip in every element so that the kernel of MIN or OR does `op`: for MIN and MAX,
 * unsigned integers become their order's; of floats the sign is flipped. */
template <class T>
wi_bits<T> wi_flip_of(weft_op op, bool is_signed) {
    constexpr wi_bits<T> sign = (wi_bits<T>)((wi_bits<T>)1 << (8 * sizeof(T) - 1));
    if (op == WEFT_AND)
        return (wi_bits<T>)~(wi_bits<T>)0;
    if (op != WEFT_MIN && op != WEFT_MAX)
        return 0;
    if (wi_traits<T>::is_float)
        return op == WEFT_MAX ? sign : 0;
    const wi_bits<T> order = is_signed ? sign : 0;
    return op == WEFT_MAX ? (wi_bits<T>)~order : order;
}

/* One element, a vector of them, or a carry flipped; twice gives what was. */
template <class Op, class T>
__device__ inline T wi_flipped(const wi_scan_params<T> &p, T x) {
    if constexpr (wi_flips<Op>)
        return wi_bit_cast<T>((wi_bits<T>)(wi_bit_cast<wi_bits<T>>(x) ^ (wi_bits<T>)p.flip));
    else
        return x;
}
template <class Op, class T>
__device__ inline wi_vector<T> wi_flipped(const wi_scan_params<T> &p, const wi_vector<T> &x) {
    struct words {
        uint64_t at[2];
    };
    if constexpr (wi_flips<Op>) {
        words w = wi_bit_cast<words>(x);
        w.at[0] ^= p.flip;
        w.at[1] ^= p.flip;
        return wi_bit_cast<wi_vector<T>>(w);
    } else {
        return x;
    }
}

/* The carry at the start of the array, as the kernel's operator has it; and back, for carry_out. */
template <class Op, class T>
__device__ inline wi_scan_carry<T> wi_scan_start(const wi_scan_params<T> &p) {
    const wi_scan_carry<T> start = p.start();
    if constexpr (!wi_flips<Op>)
        return start;
    else if constexpr (wi_traits<T>::is_float)
        return p.flip ? -start : start;
    else
        return wi_flipped<Op>(p, (T)start);
}
template <class Op, class T>
__device__ inline void wi_scan_hand_on(const wi_scan_params<T> &p, wi_scan_carry<T> carry) {
    if constexpr (!wi_flips<Op>)
        *p.carry_out = wi_carry_bits(carry);
    else if constexpr (wi_traits<T>::is_float)
        *p.carry_out = wi_carry_bits(p.flip ? -carry : carry);
    else
        *p.carry_out = (wi_flipped<Op>(p, (T)carry) ^ p.sign) - p.sign;
}

/* The vector at x[at]; elements from n on are replaced by what is the identity when flipped. */
template <class Op, class T>
__device__ inline wi_vector<T> wi_read_vector(const wi_scan_params<T> &p, size_t at, bool aligned) {
    if (aligned && at + wi_vector<T>::count <= p.n)
        return *(const wi_vector<T> *)(p.x + at);
    T pad;
    if constexpr (wi_traits<T>::is_float)
        pad = (T)Op::template identity<wi_scan_value<T>>();
    else
        pad = Op::template identity<T>();
    pad = wi_flipped<Op>(p, pad);
    wi_vector<T> vector;
#pragma unroll
    for (int e = 0; e < wi_vector<T>::count; e++)
        vector.at[e] = at + (size_t)e < p.n ? p.x[at + (size_t)e] : pad;
    return vector;
}

template <class T>
__device__ inline void wi_write_vector(T *y, size_t at, size_t n, bool aligned,
                                       const wi_vector<T> &vector) {
    if (aligned && at + wi_vector<T>::count <= n) {
        *(wi_vector<T> *)(y + at) = vector;
        return;
    }
#pragma unroll
    for (int e = 0; e < wi_vector<T>::count; e++)
        if (at + (size_t)e < n)
            y[at + (size_t)e] = vector.at[e];
}

/* A vector's elements combined. */
template <class Op, class T>
__device__ inline wi_scan_value<T> wi_vector_total(const wi_vector<T> &x) {
    using V = wi_scan_value<T>;
    V total = (V)wi_load(x.at[0]);
#pragma unroll
    for (int e = 1; e < wi_vector<T>::count; e++)
        total = Op::combine(total, (V)wi_load(x.at[e]));
    return total;
}

/* A part's elements combined, in every lane; row(k) is this lane's vector of row k. */
template <class Op, class T, class Row>
__device__ inline wi_scan_carry<T> wi_part_total(Row row) {
    using C = wi_scan_carry<T>;
    C of_lane = Op::template identity<C>();
#pragma unroll
    for (int k = 0; k < wi_part_rows; k++)
        of_lane = Op::combine(of_lane, (C)wi_vector_total<Op, T>(row(k)));
    return wi_warp_reduce(of_lane, [](C a, C b) { return Op::combine(a, b); });
}

/* Scans one row: this lane's vector of the result. *carry goes from the row's start to its end. */
template <class Op, class T>
__device__ inline wi_vector<T> wi_scan_row(const wi_vector<T> &x, bool exclusive,
                                           wi_scan_carry<T> *carry) {
    using V = wi_scan_value<T>;
    using C = wi_scan_carry<T>;
    const V scanned =
        wi_warp_scan(wi_vector_total<Op, T>(x), [](V a, V b) { return Op::combine(a, b); });
    const V before = wi_shuffle_up(scanned, 1);
    V running = wi_lane() == 0 ? (V)*carry : Op::combine((V)*carry, before);
    wi_vector<T> out;
#pragma unroll
    for (int e = 0; e < wi_vector<T>::count; e++) {
        const V with = Op::combine(running, (V)wi_load(x.at[e]));
        out.at[e] = (T)(exclusive ? running : with);
        running = with;
    }
    *carry = Op::combine(*carry, (C)wi_shuffle(scanned, 31));
    return out;
}

/* Turns the parts' totals, one in each lane, into the total up to the end of each part within the
 * tile. */
template <class Op, class Carry>
__device__ inline Carry wi_scan_parts(Carry total) {
    return wi_warp_scan(total, [](Carry a, Carry b) { return Op::combine(a, b); });
}

/* The carry at the start of this lane's part, from the carry at the start of the tile. */
template <class Op, class Carry>
__device__ inline Carry wi_part_carry(Carry tile_carry, Carry scanned_parts) {
    const Carry before = wi_shuffle_up(scanned_parts, 1);
    return wi_lane() == 0 ? tile_carry : Op::combine(tile_carry, before);
}

/* Calls f(parameters, wi_scan_op) with the operator of the kernel that does this one. */
template <class F>
weft_status wi_with_scan(const wi_scan_args *args, F f) {
    const weft_op op = args->op == WEFT_MAX ? WEFT_MIN : args->op == WEFT_AND ? WEFT_OR : args->op;
    return wi_with_unsigned_type(args->type, [=](auto tag) {
        using T = typename decltype(tag)::type;
        const auto run = [=](auto kernel_op) {
            wi_scan_params<T> p = wi_scan_typed<T>(args);
            const bool is_signed = wi_type_is_signed(args->type);
            p.flip =
                wi_flip_of<T>(args->op, is_signed) * (~(uint64_t)0 / (wi_bits<T>)~(wi_bits<T>)0);
            p.sign = is_signed ? (uint64_t)1 << (8 * sizeof(T) - 1) : 0;
            return f(p, kernel_op);
        };
        switch (op) {
        case WEFT_SUM:
            return run(wi_scan_op<WEFT_SUM>{});
        case WEFT_PRODUCT:
            return run(wi_scan_op<WEFT_PRODUCT>{});
        case WEFT_MIN:
            return run(wi_scan_op<WEFT_MIN>{});
        default:
            break;
        }
        if constexpr (!wi_traits<T>::is_float)
            return op == WEFT_OR ? run(wi_scan_op<WEFT_OR>{}) : run(wi_scan_op<WEFT_XOR>{});
        return WEFT_EUNSUPPORTED;
    });
}

#endif
