/* SPDX-License-Identifier: Apache-2.0 */
/* A part of a tile in shared memory: four rows in which each lane has up to four neighbouring
 * elements. One warp ranks and packs it, another copies the packed elements to their place.
 *
 * Ranks: a lane's marks of the four rows are in the four bytes of a word, and so are their counts.
 * One scan of such words over the warp ranks the elements of all rows: a row has at most 32 * 4 =
 * 128 elements, which fits a byte. */
#ifndef WI_SELECT_PART_CUH
#define WI_SELECT_PART_CUH

#include "select/select_cuda.cuh"

constexpr int wi_part_rows = 4;
constexpr unsigned wi_select_lead = 16; /* bytes of a slot before the tested elements */

/* How many neighbouring elements a lane has in a row: as many as fit 16 bytes, but at most 4. */
__host__ __device__ constexpr int wi_part_width(size_t tested_bytes, size_t moved_bytes) {
    const size_t widest = tested_bytes > moved_bytes ? tested_bytes : moved_bytes;
    return widest <= 4 ? 4 : (int)(16 / widest);
}

/* The layout of a tile in its slot: the element before it at the end of the lead, the tested
 * elements, the moved ones unless they are the same, and the positions of the wanted ones within
 * their part. */
struct wi_select_layout {
    int parts;
    unsigned part_elements;
    int moved_bytes;                 /* 0: nothing is moved */
    unsigned moved_at, positions_at; /* offsets in the slot */

    /* Are the moved elements the tested ones? */
    __device__ bool same() const {
        return moved_at == wi_select_lead;
    }
    __host__ __device__ unsigned tile_elements() const {
        return (unsigned)parts * part_elements;
    }
};

using wi_part_position = uint16_t;

inline wi_select_layout wi_select_layout_of(const wi_select_args *args, size_t unit,
                                            size_t slot_bytes, int most_parts) {
    const bool same = args->x == args->tested && args->unit == args->tested_bytes;
    const size_t moved = args->moves ? unit : 0;
    const unsigned elements =
        32 * wi_part_rows * (unsigned)wi_part_width(args->tested_bytes, args->moves ? unit : 4);
    const size_t bytes = args->tested_bytes + (same ? 0 : moved) +
                         (args->position_bytes ? sizeof(wi_part_position) : 0);
    const size_t fit = (slot_bytes - wi_select_lead) / (bytes * elements);
    wi_select_layout form;
    form.parts = fit < (size_t)most_parts ? (int)fit : most_parts;
    form.part_elements = elements;
    form.moved_bytes = (int)moved;
    const unsigned behind = wi_select_lead + form.tile_elements() * (unsigned)args->tested_bytes;
    form.moved_at = same ? wi_select_lead : behind;
    form.positions_at = behind + (same ? 0 : form.tile_elements() * (unsigned)moved);
    return form;
}

/* A lane's elements of a row, in one access. */
template <class T, int width>
struct alignas(width * sizeof(T)) wi_neighbours {
    T at[width];
};

/* x[width * row + j] = element j of this lane in a row. */
template <int width, class T>
__device__ inline void wi_load_rows(const T *from, T *x) {
#pragma unroll
    for (int row = 0; row < wi_part_rows; row++) {
        const wi_neighbours<T, width> v =
            ((const wi_neighbours<T, width> *)from)[32 * row + wi_lane()];
#pragma unroll
        for (int j = 0; j < width; j++)
            x[width * row + j] = v.at[j];
    }
}

/* Marks of a lane: bit 8 row + j is its element j of a row. */
template <int width>
constexpr unsigned wi_all_marks = ((1u << width) - 1) * 0x01010101;

template <bool folds, int width, class S>
__device__ inline unsigned wi_mark_inside(const wi_in_range<S> &in_range, const S *x) {
    unsigned marks = 0;
#pragma unroll
    for (int row = 0; row < wi_part_rows; row++)
#pragma unroll
        for (int j = 0; j < width; j++)
            if (in_range.template inside<folds>(x[width * row + j]))
                marks |= 1u << (8 * row + j);
    return marks;
}

template <int width, class S>
__device__ inline unsigned wi_mark_wanted(const wi_in_range<S> &in_range, const S *x) {
    const unsigned inside = in_range.fold == 0 ? wi_mark_inside<false, width>(in_range, x)
                                               : wi_mark_inside<true, width>(in_range, x);
    return in_range.negate ? inside ^ wi_all_marks<width> : inside;
}

/* Marks elements that differ from the one before; `before` is the one before the first of all. */
template <int width, class S>
__device__ inline unsigned wi_mark_changes(const S *x, S before) {
    unsigned marks = 0;
#pragma unroll
    for (int row = 0; row < wi_part_rows; row++) {
        const S *const here = x + width * row;
        const S last = here[width - 1];
        S up = wi_shuffle_up(last, 1);
        if (wi_lane() == 0)
            up = before;
        before = wi_shuffle(last, 31);
#pragma unroll
        for (int j = 0; j < width; j++) {
            if (here[j] != up)
                marks |= 1u << (8 * row + j);
            up = here[j];
        }
    }
    return marks;
}

/* For each byte, how many of its lower four bits are set. */
__device__ inline unsigned wi_nibble_counts(unsigned bits) {
    const unsigned pairs = bits - (bits >> 1 & 0x05050505);
    return (pairs & 0x03030303) + (pairs >> 2 & 0x03030303);
}

/* to[i] = at(i) for i < count, in rows that begin at multiples of 32 elements. Called by a whole
 * warp. */
template <class T, class At>
__device__ inline void wi_copy_out(T *to, unsigned count, At at) {
    constexpr int batch = 4; /* rows whose loads are in flight together */
    const int past = (int)((uintptr_t)to / sizeof(T) % 32);
    for (int start = -past; start < (int)count; start += 32 * batch) {
        T x[batch];
        bool within[batch];
#pragma unroll
        for (int b = 0; b < batch; b++) {
            const int i = start + 32 * b + wi_lane();
            within[b] = (unsigned)i < count;
            if (within[b])
                x[b] = at((unsigned)i);
        }
#pragma unroll
        for (int b = 0; b < batch; b++)
            wi_store_if(within[b], to + (start + 32 * b + wi_lane()), x[b]);
    }
}

template <class P, wi_select_output output>
struct wi_select_part {
    const wi_select_params &p;
    const wi_select_layout &form;
    unsigned char *slot;
    int part;
    uint64_t first; /* element of the array */
    bool broken;    /* is the tile incomplete? */

    /* Loads a part of the incomplete tile, with zeros after the end of the array. */
    __device__ void fetch() const {
        wi_with_tested(p.tested_bytes, [&](auto zero) {
            using S = decltype(zero);
            fetch_array(array<S>(wi_select_lead), (const S *)p.tested + first);
        });
        if (!form.same() && form.moved_bytes)
            fetch_array(moved(), (const P *)p.x + first);
        __syncwarp();
    }

    /* Packs the part; returns how many elements are wanted. */
    __device__ unsigned pack() const {
        return wi_with_tested(p.tested_bytes, [&](auto zero) {
            using S = decltype(zero);
            constexpr int width = wi_part_width(sizeof(S), sizeof(P));
            if (sizeof(S) == sizeof(P) && form.same())
                return this->template pack_tested<S, width, true>();
            return this->template pack_tested<S, width, false>();
        });
    }

    /* Writes the packed elements; `carry` elements are kept before the part. `counts` has the
     * number of wanted elements of each part. */
    __device__ void write(const unsigned *counts, uint64_t carry) const {
        const unsigned count = counts[part];
        const P *const packed = moved();
        /* Elements already at their place are not written: another block may be reading the last
         * one, to compare its own first element with it. */
        const bool stays = p.kept == p.x && carry == first && count == form.part_elements;
        if ((output != WI_OUTPUT_POSITIONS || p.kept) && !stays)
            wi_copy_out((P *)p.kept + carry, count, [=](unsigned i) { return packed[i]; });
        if (output == WI_OUTPUT_REST)
            wi_copy_out((P *)p.rest + (first - carry), left() - count,
                        [=](unsigned i) { return packed[count + i]; });
        if (output == WI_OUTPUT_POSITIONS && p.position_bytes == 4)
            write_positions((uint32_t *)p.positions + carry, counts);
        if (output == WI_OUTPUT_POSITIONS && p.position_bytes == 8)
            write_positions((uint64_t *)p.positions + carry, counts);
    }

    /* The position of the first wanted element from this part on; `none` if there is none. */
    __device__ uint64_t next_position(const unsigned *counts, uint64_t none) const {
        for (int ahead = 0; part + ahead < form.parts; ahead++) {
            const unsigned elements = (unsigned)ahead * form.part_elements;
            if (counts[part + ahead] > 0)
                return first + elements + positions()[elements];
        }
        return none;
    }

  private:
    /* The positions of the wanted elements; if lengths are asked for, the distance from each to the
     * next. The last one in the tile leaves its position to the tile that finds the next. */
    template <class I>
    __device__ void write_positions(I *to, const unsigned *counts) const {
        const unsigned count = counts[part];
        const I start = (I)first;
        const wi_part_position *const at = positions();
        if (!p.lengths) {
            wi_copy_out(to, count, [=](unsigned i) { return (I)(start + at[i]); });
            return;
        }
        if (count == 0)
            return;
        const I last = (I)(start + at[count - 1]);
        wi_select_part next = *this;
        next.part++;
        next.first += form.part_elements;
        const I length = (I)((I)next.next_position(counts, 2 * (uint64_t)last) - last);
        wi_copy_out(to, count,
                    [=](unsigned i) { return i + 1 < count ? (I)(at[i + 1] - at[i]) : length; });
    }

    template <class T>
    __device__ T *array(unsigned at) const {
        return (T *)(slot + at) + (unsigned)part * form.part_elements;
    }
    __device__ P *moved() const {
        return array<P>(form.moved_at);
    }
    __device__ wi_part_position *positions() const {
        return array<wi_part_position>(form.positions_at);
    }
    __device__ unsigned left() const {
        return wi_left(p, first, form.part_elements);
    }

    template <class T>
    __device__ void fetch_array(T *to, const T *from) const {
        const unsigned valid = left();
        for (unsigned e = (unsigned)wi_lane(); e < form.part_elements; e += 32)
            to[e] = e < valid ? from[e] : T{};
    }

    template <class S, int width>
    __device__ unsigned marks_of(const S *x) const {
        unsigned marks;
        if (p.unique) {
            S before = 0;
            if (first > 0 && left() > 0)
                before = broken ? ((const S *)p.tested)[first - 1] : array<S>(wi_select_lead)[-1];
            marks = wi_mark_changes<width>(x, before);
            if (first == 0 && wi_lane() == 0)
                marks |= 1;
        } else {
            marks = wi_mark_wanted<width>(wi_in_range<S>(p.range), x);
        }
        if (left() < form.part_elements)
            marks &= valid_marks<width>();
        return marks;
    }

    /* Marks all existing elements of an incomplete part. */
    template <int width>
    __device__ unsigned valid_marks() const {
        unsigned marks = 0;
        for (int row = 0; row < wi_part_rows; row++) {
            const int valid = (int)left() - width * (32 * row + wi_lane());
            if (valid > 0)
                marks |= ((1u << (valid < width ? valid : width)) - 1) << 8 * row;
        }
        return marks;
    }

    template <class S, int width, bool same>
    __device__ unsigned pack_tested() const {
        S x[wi_part_rows * width];
        P item[wi_part_rows * width];
        wi_load_rows<width>(array<S>(wi_select_lead), x);
        if (same)
            memcpy(item, x, sizeof item);
        else if (output != WI_OUTPUT_POSITIONS || form.moved_bytes)
            wi_load_rows<width>(moved(), item);
        const unsigned marks = marks_of<S, width>(x);
        const unsigned counts = wi_nibble_counts(marks);
        const unsigned so_far = wi_warp_sum_scan(counts);
        const unsigned totals = wi_shuffle(so_far, 31); /* one byte for each row */
        const unsigned pairs = (totals & 0x00ff00ff) + (totals >> 8 & 0x00ff00ff);
        const unsigned count = (pairs & 0xffff) + (pairs >> 16);
        __syncwarp();
        unsigned before = 0;
#pragma unroll
        for (int row = 0; row < wi_part_rows; row++) {
            store_row<width>(row, marks >> 8 * row, before + ((so_far - counts) >> 8 * row & 255),
                             count, item + width * row);
            before += totals >> 8 * row & 255;
        }
        return count;
    }

    /* Stores this lane's elements of a row; `rank` elements of the part are wanted before them. If
     * the part's last element is wanted and already at its place, it is not written: the next part
     * may be reading it, to compare its own first element with it. */
    template <int width>
    __device__ void store_row(int row, unsigned marks, unsigned rank, unsigned count,
                              const P *item) const {
        const unsigned last = form.part_elements - 1;
        P *const packed = moved();
        P *next = packed + rank;
#pragma unroll
        for (int j = 0; j < width; j++) {
            const bool is_last = row == wi_part_rows - 1 && j == width - 1; /* true in one lane */
            const unsigned e = (unsigned)(width * (32 * row + wi_lane()) + j);
            const bool wanted = marks >> j & 1;
            if (output == WI_OUTPUT_KEPT) {
                if (wanted && !(is_last && next == packed + last))
                    *next = item[j];
                if (wanted)
                    next++;
                continue;
            }
            const unsigned to = output == WI_OUTPUT_POSITIONS || wanted ? rank : count + (e - rank);
            if (output == WI_OUTPUT_REST ||
                (wanted && form.moved_bytes && !(is_last && to == last)))
                packed[to] = item[j];
            if (output == WI_OUTPUT_POSITIONS && wanted)
                positions()[to] = (wi_part_position)e;
            rank += wanted;
        }
    }
};

#endif
