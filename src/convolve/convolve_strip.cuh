/* SPDX-License-Identifier: Apache-2.0 */
/* Strips of an image, for the kernel of rows and fused (convolve_rows.cuh): their shapes, and how a
 * warp brings rows of x to its ring in shared memory. */
#ifndef WI_CONVOLVE_STRIP_CUH
#define WI_CONVOLVE_STRIP_CUH

#include "convolve/convolve_cuda.cuh"
#include "cuda/async.cuh"

constexpr int wi_strip_lanes = 32, wi_strip_warps = 4, wi_strip_chunk = 16; /* bytes of a copy */

__host__ __device__ constexpr int wi_strip_round_up(int n, int to) {
    return (n + to - 1) / to * to;
}

/* Elements of a group: 16 bytes of f32. Of u8 it has more as long as registers are few, since the
 * pixels beside a group have to be converted, too. Images that are large enough for many warps have
 * a kernel (is_wide) with as many elements as there are registers for: a row costs something beside
 * its products, which weighs more with bytes, that are read faster and need as many products as
 * floats. */
template <class In>
constexpr int wi_strip_across(int side, int channels, int most_terms, bool is_wide) {
    const int usual = sizeof(In) == 4 ? 4 : side <= 5 ? 16 : 8;
    if (!is_wide || sizeof(In) == 4 || channels == 4)
        return usual;
    if (most_terms > 0)
        return side == 5 ? 32 : side <= 7 ? 16 : usual;
    return side == 5 || (side == 3 && channels > 1) ? 32 : 16;
}

/* Groups of a lane. Two halve what a row costs beside its products, and the columns that are read
 * twice, where their sums leave registers for enough warps. With terms those are needed for
 * filtered rows. */
template <class In>
constexpr int wi_strip_groups(int side, int most_terms) {
    return sizeof(In) == 4 && side <= 9 && most_terms == 0 ? 2 : 1;
}

/* Rows that are being copied ahead; few where rows are wide, so that their ring leaves room for as
 * many blocks as can work at a time. */
template <class In>
constexpr int wi_strip_ahead(int side, int most_terms, int across, int groups) {
    if (across > 8)
        return 4;
    if (groups > 1)
        return side == 5 ? 6 : 4;
    if (sizeof(In) < 4 || most_terms != 1)
        return 8;
    return side <= 5 ? 12 : side <= 17 ? 4 : 8;
}

/* Blocks that a multiprocessor works on at a time; 0: as many as it can. Few where memory is the
 * limit: some 30 KiB of rows on their way are enough, and with fewer blocks the addresses that all
 * multiprocessors read at a time lie closer together. */
template <class In>
constexpr int wi_strip_at_once(int side, int most_terms) {
    if (sizeof(In) < 4 || most_terms > 1)
        return 0;
    if (most_terms == 1)
        return side <= 5 ? 3 : 0;
    return side == 5 ? 1 : side <= 7 ? 2 : 0;
}

/* Filters of `side` x `side` over images of In with `channels` in a pixel, all with one filter. A
 * lane has `groups` of `across` neighbouring elements, a warp's width of them apart, so that
 * neighbouring lanes access neighbouring addresses; `ahead` rows are on their way. With
 * `most_terms` filters are sums of up to so many products of a row and a column; without, all their
 * weights are used. */
template <class In_, int side_, int channels_, int most_terms_, bool is_wide_>
struct wi_strip_shape {
    using In = In_;
    static constexpr int side = side_, channels = channels_;
    static constexpr int most_terms = most_terms_;
    static constexpr bool is_fused = most_terms > 0, is_wide = is_wide_;
    static constexpr int across = wi_strip_across<In>(side, channels, most_terms, is_wide);
    static constexpr int groups = wi_strip_groups<In>(side, most_terms);
    static constexpr int ahead = wi_strip_ahead<In>(side, most_terms, across, groups);
    static constexpr int at_once = wi_strip_at_once<In>(side, most_terms);
    static constexpr int group_width = wi_strip_lanes * across;
    static constexpr int reach = side / 2 * channels; /* elements on either side of one */
    static constexpr int chunk = wi_strip_chunk / (int)sizeof(In);
    static constexpr int margin = wi_strip_round_up(reach, chunk); /* of a row in the ring */
    static constexpr int width = group_width * groups;
    static constexpr int length = width + 2 * margin;
    static constexpr int pack = across * (int)sizeof(In) > 16 ? 16 / (int)sizeof(In) : across;
    static constexpr int beside = wi_strip_round_up(reach, pack); /* read by a lane */
    static constexpr int weights = is_fused ? 2 * side * most_terms : side * side;
    static constexpr int threads = wi_strip_lanes * wi_strip_warps;
    static constexpr size_t ring = (size_t)ahead * length; /* elements of a warp's */
    static constexpr size_t ring_bytes = ring * sizeof(In);
    /* Registers of a lane, about, and how many blocks of a multiprocessor that leaves room for. */
    static constexpr int late_sums = sizeof(In) == 1 && most_terms == 1 ? across : 0;
    static constexpr int registers =
        ((side - 1) * across + across + 2 * reach) * groups + late_sums + 36;
    static constexpr int blocks = registers <= 64    ? 8
                                  : registers <= 80  ? 6
                                  : registers <= 128 ? 4
                                  : registers <= 168 ? 3
                                                     : 2;
};

template <class Shape>
struct wi_strip_params {
    wi_convolve_images m;
    size_t strips, bands;       /* groups of `warps` strips across, bands down */
    int warps;                  /* of a block */
    int band;                   /* rows of a band */
    int elements, out_elements; /* of a row of x and of y */
    int shift, down;            /* columns and rows of pixels that y lacks on the left and above */
    bool aligned_x, aligned_y;
    int last_plain;        /* a lane whose first element is no later writes them as they are, whole;
                              INT_MIN: y is not aligned, not of x's type, or its sums are cut */
    int out_bytes;         /* of an element of y */
    size_t step_x, step_y; /* bytes from a row to the next */
    int terms;
    float weight[Shape::weights]; /* or of each term's row, and then of its column */
};

/* How a warp brings rows of its strip to its ring. Inside the image a row is whole chunks. Where a
 * strip reaches beyond the image, each lane has one of the elements that no whole chunk brings, if
 * there are no more than lanes: it finds out once what stands for it, so that such strips are as
 * fast as others. Rows that are not aligned come element by element. */
template <class Shape>
struct wi_strip_loader {
    using In = typename Shape::In;
    static constexpr int copies = Shape::length / Shape::chunk; /* of a row */
    static constexpr int chunks_width = wi_strip_lanes * Shape::chunk;
    const wi_strip_params<Shape> &p;
    const In *x;         /* the image */
    int first;           /* element of a row where the strip begins */
    bool is_inside;      /* all chunks of the strip are */
    bool is_general;     /* element by element */
    int from, to;        /* of this lane's element, in x and in the ring; `to` < 0: it has none */
    In late;             /* an element on its way that no asynchronous copy brings */
    int late_to;         /* where it goes in the warp's ring; < 0: there is none */
    int row, last;       /* the next row, and the first that the band does not need */
    unsigned plain_end;  /* rows from 0 to it are there, and come in chunks */
    const char *next;    /* in the next row, if that is so: this lane's first chunk */
    ptrdiff_t beside;    /* from there to this lane's element */
    unsigned has_chunks; /* bit k: chunk k of this lane is a whole one of the image */

    __device__ wi_strip_loader(const wi_strip_params<Shape> &params, const In *image, int begin,
                               int top, int rows)
        : p(params), x(image), first(begin), from(-1), to(-1), late(0), late_to(-1), row(top),
          last(top + rows), has_chunks(0) {
        const int lane = (int)threadIdx.x % wi_strip_lanes;
        const int e = first - Shape::margin + lane * Shape::chunk;
        is_inside = p.aligned_x && first >= Shape::margin &&
                    first + Shape::width + Shape::margin <= p.elements;
        is_general = !p.aligned_x;
        if (!is_inside && !is_general)
            find_element();
        const int end = last < p.m.height ? last : p.m.height;
        plain_end = !is_general && end > 0 ? (unsigned)end : 0;
        next = (const char *)(x + (ptrdiff_t)row * (ptrdiff_t)p.m.ldx + e);
        beside = (ptrdiff_t)(from - e) * (ptrdiff_t)sizeof(In);
        for (int k = 0; k * wi_strip_lanes < copies; k++)
            if (k * wi_strip_lanes + lane < copies && has_chunk(e + k * chunks_width))
                has_chunks |= 1u << k;
    }

    /* Is the chunk that begins at element e a whole one of the image? */
    __device__ bool has_chunk(int e) const {
        return e >= 0 && e + Shape::chunk <= p.elements;
    }

    /* The element of x that stands for element e; -1: it is 0. */
    __device__ int stands_for(int e) const {
        const int pixel = (e + Shape::margin * Shape::channels) / Shape::channels -
                          Shape::margin; /* rounded down also where it is negative */
        const int there = wi_convolve_pixel(p.m.border, pixel, p.m.width);
        return there < 0 ? -1 : there * Shape::channels + (e - pixel * Shape::channels);
    }

    /* All lanes go the same way: warps stay together. */
    __device__ void find_element() {
        const int lane = (int)threadIdx.x % wi_strip_lanes;
        const int before = first == 0 ? Shape::reach : 0;
        const int begin = p.elements / Shape::chunk * Shape::chunk;
        const int strip_end = first + Shape::width + Shape::margin;
        const int end =
            p.elements + Shape::reach < strip_end ? p.elements + Shape::reach : strip_end;
        const int count = before + (end > begin ? end - begin : 0);
        const int e = lane < before ? lane - before : begin + lane - before;
        is_general = count > wi_strip_lanes;
        from = stands_for(e);
        to = lane < count ? e - first + Shape::margin : -1;
    }

    /* Zeros in the ring, for elements beyond the image that nothing is copied to. */
    __device__ void clear(In *ring) const {
        if (!is_inside && !is_general)
            for (int k = (int)threadIdx.x % wi_strip_lanes; k < Shape::ahead * Shape::length;
                 k += wi_strip_lanes)
                ring[k] = 0;
        __syncwarp();
    }

    /* An element that was loaded a row ago goes to the ring; nobody waits for it. */
    __device__ void flush(In *ring) {
        if (sizeof(In) < 4 && late_to >= 0) {
            ring[late_to] = late;
            late_to = -1;
        }
    }

    __device__ void copy_elements(const In *line, bool is_there, In *ring) const {
#pragma unroll 1
        for (int at = (int)threadIdx.x % wi_strip_lanes; at < Shape::length; at += wi_strip_lanes) {
            const int source = is_there ? stands_for(first - Shape::margin + at) : -1;
            if constexpr (sizeof(In) == 4)
                wi_async_copy<4>(ring + at, source < 0 ? line : line + source, source >= 0);
            else
                ring[at] = source < 0 ? (In)0 : line[source];
        }
    }

    /* This lane's element of a row, which lies `from` there. */
    __device__ void copy_beyond(const In *there, In *ring, int slot) {
        if constexpr (sizeof(In) == 4) {
            wi_async_copy<4>(ring + slot + to, from < 0 ? x : there, from >= 0);
        } else {
            flush(ring);
            late = from < 0 ? (In)0 : *there;
            late_to = slot + to;
        }
    }

    /* The whole chunks of a row, of which a strip beyond the border lacks some. */
    __device__ void copy_chunks(const In *line, bool there, In *ring) const {
#pragma unroll 1
        for (int k = (int)threadIdx.x % wi_strip_lanes; k < copies; k += wi_strip_lanes) {
            const int at = k * Shape::chunk, e = first - Shape::margin + at;
            if (!there || has_chunk(e))
                wi_async_copy<wi_strip_chunk>(ring + at, there ? line + e : x, there);
        }
    }

    /* The whole chunks of a row that is there, from this lane's chunk k on. */
    template <int k = 0>
    __device__ void copy_plain(In *to_row) const {
        if constexpr (k * wi_strip_lanes < copies) {
            constexpr unsigned behind = k * wi_strip_lanes * wi_strip_chunk;
            wi_async_copy_if<wi_strip_chunk, behind, behind>(has_chunks >> k & 1, to_row, next);
            copy_plain<k + 1>(to_row);
        }
    }

    /* A row above or below the image, or one that comes element by element. */
    __device__ void copy_edge(In *ring, int slot) {
        const int there = wi_convolve_pixel(p.m.border, row, p.m.height);
        const In *const line = x + (size_t)(there < 0 ? 0 : there) * p.m.ldx;
        if (is_general) {
            copy_elements(line, there >= 0, ring + slot);
            return;
        }
        copy_chunks(line, there >= 0, ring + slot);
        if (to >= 0 && there >= 0)
            copy_beyond(line + from, ring, slot);
    }

    /* The next row of the strip, if the band needs one more, on its way to a slot of the ring. */
    __device__ void copy_next(In *ring, int slot) {
        if ((unsigned)row < plain_end) {
            copy_plain(ring + slot + (int)threadIdx.x % wi_strip_lanes * Shape::chunk);
            if (to >= 0)
                copy_beyond((const In *)(next + beside), ring, slot);
        } else if (row < last) {
            copy_edge(ring, slot);
        }
        row++;
        next += p.step_x;
    }
};

#endif
