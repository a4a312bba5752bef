/* SPDX-License-Identifier: Apache-2.0 */
/* Making keys, distributing them to buckets, and sorting them in cache, for one instruction set. */
#include "sort/sort_simd.h"

#include <string.h>

#include "cpu/stream.h"

enum {
    DIGIT_BITS = 8,
    RADIX = 1 << DIGIT_BITS,
    FEW = 24,               /* so few are sorted by insertion */
    BLOCK = WI_SORT_PICKED, /* elements distributed to buckets at a time, too */
    AHEAD = 1 << 12,        /* what is read once is asked for so many bytes ahead */
    NEAR_AHEAD = 512,       /* and so many where reading goes on at several places in turn */
    COUNTED = 1 << 30,      /* elements counted with 32 bits before adding to 64 */
    FEW_KEYS = 32,          /* looked at together before they are picked */
    APART = 4,              /* counters in turn: neighbours often share a bucket */
    LINES_AT_ONCE = 8,      /* asked for at a leaf of vectors: about as many as it has, or more */
    PIECE = 128,            /* elements of a long block whose least key is found at a time */
/* Places, far from each other, at which `least` reads in turn. Hardware follows each of them, which
 * brings more from memory than asking for what lies ahead of one place. */
#ifdef __AVX512F__
    PLACES = 1 /* not tried */
#else
    PLACES = 4
#endif
};

/* Element i of an array whose elements have `bytes` bytes; 0 bytes: there is no array. */
WI_INLINE uint64_t load(const void *p, size_t i, unsigned bytes) {
    switch (bytes) {
    case 0:
        return 0;
    case 1:
        return ((const uint8_t *)p)[i];
    case 2:
        return ((const uint16_t *)p)[i];
    case 4:
        return ((const uint32_t *)p)[i];
    default:
        return ((const uint64_t *)p)[i];
    }
}

WI_INLINE void store(void *p, size_t i, unsigned bytes, uint64_t value) {
    switch (bytes) {
    case 0:
        break;
    case 1:
        ((uint8_t *)p)[i] = (uint8_t)value;
        break;
    case 2:
        ((uint16_t *)p)[i] = (uint16_t)value;
        break;
    case 4:
        ((uint32_t *)p)[i] = (uint32_t)value;
        break;
    default:
        ((uint64_t *)p)[i] = value;
    }
}

/* Turns counts into the places where each digit's keys begin. False if all keys have the same
 * digit. */
static bool sum_before(size_t *counts, size_t last, size_t n) {
    size_t sum = 0;
    for (size_t k = 0; k <= last; k++) {
        const size_t own = counts[k];
        if (own == n)
            return false;
        counts[k] = sum;
        sum += own;
    }
    return true;
}

/* How many blocks `least` takes from each of its places. The places are no power of two apart, for
 * then they would share lines of caches and banks of memory. */
WI_INLINE size_t each_place(size_t blocks) {
    const size_t each = blocks / PLACES;
    return PLACES > 1 ? each - each / 64 * 3 : each;
}

/* Asks for what lies ahead of `bytes` bytes that are read now. */
WI_INLINE void ask_ahead(const void *p, size_t bytes) {
    if (PLACES == 1)
        wi_fetch((const char *)p + AHEAD, bytes);
    else if (bytes >= WI_LINE_BYTES)
        wi_prefetch((const char *)p + NEAR_AHEAD, bytes);
}

static void swap_spare(wi_sort_range *range) {
    void *const keys = range->keys, *const values = range->values;
    range->keys = range->spare_keys;
    range->values = range->spare_values;
    range->spare_keys = keys;
    range->spare_values = values;
}

/* Writing to many places of an array in alternation. Each bucket has a small buffer (a parcel),
 * which is written when it is full. Places are counted from `ahead` elements before the array, so
 * that parcels are whole cache lines. */
typedef struct mail {
    char *out;
    unsigned char (*parcels)[WI_SORT_PARCEL_BYTES];
    size_t ahead;
    bool stream; /* with streaming stores */
} mail;

WI_INLINE mail mail_to(void *out, unsigned bytes, unsigned char (*parcels)[WI_SORT_PARCEL_BYTES],
                       bool stream) {
    return (mail){out, parcels, bytes > 0 ? (uintptr_t)out % WI_SORT_PARCEL_BYTES / bytes : 0,
                  stream};
}

/* Writes the parcel that ends before place `end`, without what is before `start`, which belongs to
 * another thread. */
WI_INLINE void send_parcel(const mail *m, unsigned bytes, size_t bucket, size_t start, size_t end,
                           bool stream) {
    const unsigned char *const parcel = m->parcels[bucket];
    const size_t in_all = WI_SORT_PARCEL_BYTES / bytes, first = (end - 1) / in_all * in_all;
    const size_t from = start > first ? start : first;
    char *const to = m->out + (from - m->ahead) * bytes;
    if (stream && end - from == in_all)
        wi_stream_lines(to, parcel, WI_SORT_PARCEL_BYTES);
    else
        memcpy(to, parcel + (from - first) * bytes, (end - from) * bytes);
}

/* Puts an element at place `to` of a bucket, of which this thread fills the part from start[bucket]
 * + apart on. */
WI_INLINE void send(const mail *m, unsigned bytes, size_t bucket, const size_t *start, size_t apart,
                    size_t to, uint64_t element) {
    const size_t in_all = WI_SORT_PARCEL_BYTES / bytes;
    store(m->parcels[bucket], to % in_all, bytes, element);
    if (__builtin_expect(to % in_all == in_all - 1, 0))
        send_parcel(m, bytes, bucket, start[bucket] + apart, to + 1, m->stream);
}

/* Writes what is left in the parcel when the bucket is filled up to `end`. */
WI_INLINE void send_rest(const mail *m, unsigned bytes, size_t bucket, size_t start, size_t end) {
    if (end > start && end % (WI_SORT_PARCEL_BYTES / bytes) != 0)
        send_parcel(m, bytes, bucket, start, end, false);
}

/* Buckets by value, of keys of 4 and 8 bytes. Rounding changes no order: subtraction of a number
 * and multiplication by a positive one never exchange two results. */
WI_INLINE void tell_values(const wi_sort_deal *deal, unsigned bytes, size_t n, const void *x,
                           uint16_t *buckets) {
    const unsigned last = deal->split.last, flip = deal->key.flip ? last : 0;
    if (bytes == 4) {
        const float origin = (float)deal->split.origin, scale = (float)deal->split.scale;
#pragma omp simd
        for (size_t i = 0; i < n; i++) {
            const float above = (((const float *)x)[i] - origin) * scale;
            const float most = above < (float)last ? above : (float)last;
            buckets[i] = (uint16_t)((unsigned)(int)(most > 0 ? most : 0) ^ flip);
        }
    } else {
        const double origin = deal->split.origin, scale = deal->split.scale;
#pragma omp simd
        for (size_t i = 0; i < n; i++) {
            const double above = (((const double *)x)[i] - origin) * scale;
            const double most = above < last ? above : last;
            buckets[i] = (uint16_t)((unsigned)(int)(most > 0 ? most : 0) ^ flip);
        }
    }
}

#define NAME(f) f##_u8
#define T uint8_t
#include "sort/sort_simd_key.inc"

#define NAME(f) f##_u16
#define T uint16_t
#include "sort/sort_simd_key.inc"

#define NAME(f) f##_u32
#define T uint32_t
#include "sort/sort_simd_key.inc"

#define NAME(f) f##_u64
#define T uint64_t
#include "sort/sort_simd_key.inc"

#ifdef __AVX2__
/* Memory that has not been asked for yet. */
typedef struct next_lines {
    const char *at, *end;
} next_lines;

/* Asks for some lines of it, as many as a processor can wait for while it does other work. */
WI_INLINE void bring_some(next_lines *next) {
    for (int k = 0; k < LINES_AT_ONCE && next->at < next->end; k++, next->at += 64)
        _mm_prefetch(next->at, _MM_HINT_T1);
}
#endif

#if defined(__AVX512F__)
#    include "sort/sort_vector_simd.h"
#elif defined(__AVX2__)
#    include "sort/sort_avx2_simd.h"
#endif

#ifdef __AVX2__
/* Is the range for vectors: whole keys of 4 or 8 bytes, without values? */
static bool is_for_vectors(const wi_sort_range *range) {
    return range->value_bytes == 0 && range->first_bit == 0 && range->key_bytes >= 4 &&
           range->end_bit == 8 * range->key_bytes;
}

static void vector_sort(const wi_sort_range *range) {
    if (range->key_bytes == 4)
        vector_sort_u32(range);
    else
        vector_sort_u64(range);
}
#else
static bool is_for_vectors(const wi_sort_range *range) {
    (void)range;
    return false;
}

static void vector_sort(const wi_sort_range *range) {
    (void)range;
}
#endif

static void to_keys(const wi_sort_key *key, unsigned key_bytes, size_t n, const void *from,
                    void *to) {
    switch (key_bytes) {
    case 1:
        to_keys_u8(key, n, from, to);
        break;
    case 2:
        to_keys_u16(key, n, from, to);
        break;
    case 4:
        to_keys_u32(key, n, from, to);
        break;
    default:
        to_keys_u64(key, n, from, to);
    }
}

static void of_keys(const wi_sort_key *key, unsigned key_bytes, size_t n, const void *from,
                    void *to) {
    switch (key_bytes) {
    case 1:
        of_keys_u8(key, n, from, to);
        break;
    case 2:
        of_keys_u16(key, n, from, to);
        break;
    case 4:
        of_keys_u32(key, n, from, to);
        break;
    default:
        of_keys_u64(key, n, from, to);
    }
}

static void least(const wi_sort_key *key, unsigned key_bytes, size_t block, size_t n, const void *x,
                  void *out) {
    switch (key_bytes) {
    case 1:
        least_u8(key, block, n, x, out);
        break;
    case 2:
        least_u16(key, block, n, x, out);
        break;
    case 4:
        least_u32(key, block, n, x, out);
        break;
    default:
        least_u64(key, block, n, x, out);
    }
}

static void count(const wi_sort_deal *deal, size_t *counts) {
    switch (deal->key_bytes) {
    case 1:
        count_u8(deal, counts);
        break;
    case 2:
        count_u16(deal, counts);
        break;
    case 4:
        count_u32(deal, counts);
        break;
    default:
        count_u64(deal, counts);
    }
}

static void deal(const wi_sort_deal *share) {
    switch (share->key_bytes) {
    case 1:
        deal_u8(share);
        break;
    case 2:
        deal_u16(share);
        break;
    case 4:
        deal_u32(share);
        break;
    default:
        deal_u64(share);
    }
}

static void tally(wi_sort_pick *share) {
    switch (share->key_bytes) {
    case 1:
        tally_u8(share);
        break;
    case 2:
        tally_u16(share);
        break;
    case 4:
        tally_u32(share);
        break;
    default:
        tally_u64(share);
    }
}

static void pick(wi_sort_pick *share) {
    switch (share->key_bytes) {
    case 1:
        pick_u8(share);
        break;
    case 2:
        pick_u16(share);
        break;
    case 4:
        pick_u32(share);
        break;
    default:
        pick_u64(share);
    }
}

static size_t first_fall(const wi_sort_range *range) {
    switch (range->key_bytes) {
    case 1:
        return first_fall_u8(range->n, range->keys, UINT8_MAX);
    case 2:
        return first_fall_u16(range->n, range->keys, UINT16_MAX);
    case 4:
        return first_fall_u32(range->n, range->keys, UINT32_MAX);
    default:
        return first_fall_u64(range->n, range->keys, UINT64_MAX);
    }
}

static void radix(const wi_sort_range *range) {
    switch (range->key_bytes) {
    case 1:
        radix_u8(range);
        break;
    case 2:
        radix_u16(range);
        break;
    case 4:
        radix_u32(range);
        break;
    default:
        radix_u64(range);
    }
}

static void sort(const wi_sort_range *range) {
    if (is_for_vectors(range)) {
        vector_sort(range);
        return;
    }
    switch (range->key_bytes) {
    case 1:
        sort_u8(range);
        break;
    case 2:
        sort_u16(range);
        break;
    case 4:
        sort_u32(range);
        break;
    default:
        sort_u64(range);
    }
}

const wi_sort_simd WI_FOR_ISA(wi_sort_simd) = {
    .to_keys = to_keys,
    .of_keys = of_keys,
    .least = least,
    .count = count,
    .deal = deal,
    .tally = tally,
    .pick = pick,
    .first_fall = first_fall,
    .radix = radix,
    .sort = sort,
};
