/* SPDX-License-Identifier: Apache-2.0 */
/* Which calls conv's rung ring makes by conv_boxes.cuh, in which tiles, and what they cost. */
#ifndef WI_CONV_BOXES_PLAN_CUH
#define WI_CONV_BOXES_PLAN_CUH

#include <string.h>

#include <algorithm>

#include "nn/conv_boxes.cuh"
#include "nn/conv_narrow.cuh"
#include "nn/conv_tensor_plan.cuh"

/* The walk of a product over `images` images of so many channels, and how the driver is told of it.
 * Is it one that the copy engine can do? */
template <class T>
inline bool wi_conv_walk_of(const wi_conv_tensor_job<T> &p, const weft_images *images,
                            weft_type type, size_t channels, int window_h, wi_conv_walk *walk,
                            wi_walk_source *from) {
    const wi_conv_view &v = p.view;
    const int window[2] = {(int)v.window_w.by, window_h}, unit[2] = {v.unit_w, v.unit_h};
    const int step[2] = {v.step_w, v.step_h}, begin[2] = {v.first_w, v.first_h};
    const int pixels[2] = {(int)v.width.by, (int)(v.plane.by / v.width.by)};
    const size_t width = sizeof(T);
    int tap[2], first[2];
    bool can = true;
    *from = {type,
             p.gathered,
             {channels, images->w, images->h, images->n},
             {v.column * width, v.row * width, v.image * width},
             {},
             {},
             {}};
    for (int d = 0; d < 2; d++) {
        const long long reach = (long long)(window[d] - 1) * unit[d];
        const long long low = begin[d] + (reach < 0 ? reach : 0);
        const long long end = low + (long long)(pixels[d] - 1) * step[d] + 1;
        const long long past = end - (long long)from->extent[1 + d];
        can = can && reach >= -255 && reach <= 255 && step[d] <= 8 && low >= -128 && low <= 127 &&
              past >= -128 && past <= 127;
        tap[d] = reach < 0 ? (int)-reach : 0;
        first[d] = (int)low;
        from->first[d] = (int)low;
        from->past[d] = (int)past;
        from->step[d] = (unsigned)step[d];
    }
    *walk = {step[1], step[0], first[1], first[0], tap[1], tap[0], (int)channels};
    return can;
}

/* How tiles may be cut. */
struct wi_conv_box_tile {
    int rows, columns;
};
constexpr wi_conv_box_tile wi_conv_pixel_tiles[] = {{128, 128}, {192, 128}, {128, 64}, {192, 64}};
constexpr wi_conv_box_tile wi_conv_tap_tiles[] = {{128, 128}, {64, 128}};

/* Seconds of a step on one multiprocessor, as an H200 showed them: of its products, or of its bytes
 * from the second-level cache, which come more slowly where lines of both factors are pixels. */
inline double wi_conv_step_seconds(const wi_conv_box_tile &t, bool taps) {
    constexpr double products_per_s = 3.3e12, bytes_per_s = 96e9, across_bytes_per_s = 72e9;
    const double multiplying = (double)t.rows * t.columns * 64 / products_per_s;
    const double copying =
        (double)(t.rows + t.columns) * wi_box_line / (taps ? across_bytes_per_s : bytes_per_s);
    return multiplying > copying ? multiplying : copying;
}
/* Of beginning a tile and storing its sums. */
inline double wi_conv_tile_seconds(const wi_conv_box_tile &t) {
    return 0.21e-9 * t.rows * t.columns;
}

template <class T>
struct wi_conv_box_engine {
    static constexpr int depth = wi_box_line / (int)sizeof(T), together = wi_conv_classes;
    static constexpr bool across = sizeof(T) == 2; /* does it take operands that lie across? */

    /* Chooses one tile for all products, and slices if there is one alone: those that are predicted
     * to take least. Products with most terms come first, so that short ones end last. */
    static double cut(const weft_context *ctx, wi_conv_tensor_launch<T> *l, int count) {
        std::sort(l, l + count,
                  [](const auto &a, const auto &b) { return a.job.terms > b.job.terms; });
        const int kinds = l->taps ? 2 : 4;
        double least = 0;
        int best = 0;
        for (int tile = 0; tile < kinds; tile++) {
            const double seconds = cut_to(ctx, l, count, tile);
            if (least == 0 || seconds < least) {
                least = seconds;
                best = tile;
            }
        }
        return cut_to(ctx, l, count, best);
    }
    static double cut_to(const weft_context *ctx, wi_conv_tensor_launch<T> *l, int count,
                         int tile) {
        const wi_conv_box_tile &t = (l->taps ? wi_conv_tap_tiles : wi_conv_pixel_tiles)[tile];
        double seconds = 0, longest = 0; /* of all multiprocessors; of a tile */
        for (int k = 0; k < count; k++) {
            wi_conv_tensor_job<T> &p = l[k].job;
            l[k].tile = tile;
            l[k].shares = 1;
            p.row_tiles = (p.rows + t.rows - 1) / t.rows;
            p.column_tiles = (p.columns + t.columns - 1) / t.columns;
            p.slices = 1;
            p.slice_terms = (int)wi_conv_round((size_t)p.terms, depth);
            const double each =
                p.slice_terms / depth * wi_conv_step_seconds(t, l->taps) + wi_conv_tile_seconds(t);
            seconds += (double)p.tiles() * each;
            longest = each > longest ? each : longest;
        }
        if (count == 1)
            return cut_to_slices(ctx, l, t);
        return seconds / ctx->gpu->multiprocessors + longest / 2;
    }
    /* The terms of a tile go to the blocks of `shares` x `slices`: a cluster adds up its own,
     * another kernel the slices. Of clusters of four or more too few find room at once. */
    static double cut_to_slices(const weft_context *ctx, wi_conv_tensor_launch<T> *l,
                                const wi_conv_box_tile &t) {
        constexpr int most_slices = 64, most_shares = 3, least_steps = 4;
        const int steps = l->job.slice_terms / depth;
        wi_conv_tensor_launch<T> best = *l;
        double least = 0;
        for (int shares = 1; shares <= most_shares; shares++)
            for (int slices = 1; slices * shares <= most_slices; slices++) {
                const int parts = slices * shares, each = (steps + parts - 1) / parts;
                if (parts > 1 && each < least_steps)
                    break;
                l->shares = shares;
                l->job.slices = slices;
                l->job.slice_terms = each * depth;
                const double seconds = seconds_of(ctx, *l, t);
                if (least == 0 || seconds < 0.98 * least) {
                    least = seconds;
                    best = *l;
                }
            }
        *l = best;
        return least;
    }
    static double seconds_of(const weft_context *ctx, const wi_conv_tensor_launch<T> &l,
                             const wi_conv_box_tile &t) {
        constexpr double cached_bytes_per_s = 3e12, sharing_s = 3e-6;
        const wi_conv_tensor_job<T> &p = l.job;
        const double sums = (double)p.rows * p.columns * p.groups * sizeof(float);
        const size_t blocks = p.tiles() * (size_t)(p.slices * l.shares);
        const size_t all = (size_t)ctx->gpu->multiprocessors;
        const size_t reached = l.shares < 3 ? all : all - all / 8; /* by clusters */
        const double of_unit = (double)wi_conv_pieces(blocks, reached);
        const double tile = wi_conv_tile_seconds(t) + (l.shares > 1 ? sharing_s : 0);
        const double joining =
            p.slices > 1 ? wi_machine_of(ctx)->launch_s + 2 * p.slices * sums / cached_bytes_per_s
                         : 0;
        return of_unit * (p.slice_terms / depth * wi_conv_step_seconds(t, l.taps) + tile) + joining;
    }

    template <class Shape>
    static weft_status launch_shape(weft_context *ctx, const wi_conv_args *a,
                                    const wi_conv_tensor_launch<T> *l, int count) {
        const weft_images *const images = a->pass == WI_CONV_DATA ? &a->out : &a->in;
        const wi_box_source from = wi_conv_plain_source<Shape>(l->job, a->in.type);
        wi_conv_box_work<T> work;
        memset((void *)&work, 0, sizeof work);
        weft_status status =
            wi_gpu_describe_boxes(ctx, &from, Shape::Plain::box_lines, &work.plain);
        unsigned blocks = 0;
        int steps = 1;
        for (int k = 0; k < count && status == WEFT_OK; k++) {
            const wi_conv_tensor_job<T> &p = l[k].job;
            wi_walk_source walk;
            work.job[k] = p;
            work.begin[k] = blocks;
            blocks += p.blocks() * (unsigned)l[k].shares;
            steps = p.slice_terms / depth > steps ? p.slice_terms / depth : steps;
            if (p.terms == 0)
                continue;
            wi_conv_walk_of(p, images, a->in.type, (size_t)p.view.column, l[k].window_h,
                            &work.walk[k], &walk);
            status = wi_gpu_describe_walk(ctx, &walk, Shape::Walked::lines, &work.walked[k]);
        }
        for (int k = count; k <= wi_conv_classes; k++)
            work.begin[k] = k == count ? blocks : UINT32_MAX;
        const bool sharing = blocks > (unsigned)ctx->gpu->multiprocessors && Shape::blocks > 1;
        work.slots = Shape::slots_of(sharing ? Shape::blocks : 1);
        if (steps < work.slots)
            work.slots = steps; /* less shared memory: room for more blocks */
        if (status != WEFT_OK)
            return status;
        const size_t shared = Shape::besides + Shape::room_bytes(work.slots);
        if (l->shares == 1)
            return WEFT_LAUNCH(wi_conv_box_tiles<Shape>, ctx, blocks, Shape::threads, shared, work);
        return WEFT_LAUNCH_CLUSTER(wi_conv_box_tiles<Shape>, ctx, blocks, Shape::threads,
                                   (unsigned)l->shares, shared, work);
    }

    /* Tiles of the first are those of all. */
    template <bool Across>
    static weft_status launch_pixels(weft_context *ctx, const wi_conv_args *a,
                                     const wi_conv_tensor_launch<T> *l, int count) {
        switch (l->tile) {
        case 0:
            return launch_shape<wi_conv_box_shape<T, 128, 128, 2, false, Across>>(ctx, a, l, count);
        case 1:
            return launch_shape<wi_conv_box_shape<T, 192, 128, 1, false, Across>>(ctx, a, l, count);
        case 2:
            return launch_shape<wi_conv_box_shape<T, 128, 64, 2, false, Across>>(ctx, a, l, count);
        default:
            return launch_shape<wi_conv_box_shape<T, 192, 64, 2, false, Across>>(ctx, a, l, count);
        }
    }
    static weft_status launch(weft_context *ctx, const wi_conv_args *a,
                              const wi_conv_tensor_launch<T> *l, int count) {
        if constexpr (across) {
            if (l->taps && l->tile == 0)
                return launch_shape<wi_conv_box_shape<T, 128, 128, 2, true>>(ctx, a, l, count);
            if (l->taps)
                return launch_shape<wi_conv_box_shape<T, 64, 128, 2, true>>(ctx, a, l, count);
            if (l->job.across)
                return launch_pixels<true>(ctx, a, l, count);
        }
        return launch_pixels<false>(ctx, a, l, count);
    }
};

/* Can the copy engine gather the images of this call? Steps have channels of one tap alone. */
template <class T>
inline bool wi_conv_fits_boxes(const wi_conv_args *a) {
    using Engine = wi_conv_box_engine<T>;
    const bool data = a->pass == WI_CONV_DATA;
    const weft_images *const images = data ? &a->out : &a->in;
    const wi_conv_form x = wi_conv_form_of(&a->in, a->groups, a->x);
    const wi_conv_form y = wi_conv_form_of(&a->out, a->groups, a->y);
    const wi_conv_form &walked = data ? y : x;
    if (walked.channels % Engine::depth != 0 || wi_conv_flops(a) == 0 ||
        (data && !wi_conv_takes_weights<Engine>(a)))
        return false;
    bool fits = true;
    wi_conv_tensor_plan<T> plan;
    wi_conv_tensor_plan_of<Engine, T>(a, x, y, &plan);
    for (int k = 0; k < plan.count; k++) {
        const wi_conv_tensor_launch<T> &l = plan.launch[k];
        wi_conv_walk walk;
        wi_walk_source from;
        fits =
            fits && (l.job.terms == 0 || wi_conv_walk_of(l.job, images, a->in.type, walked.column,
                                                         l.window_h, &walk, &from));
    }
    return fits;
}

/* What such a call is predicted to take. */
template <class T>
inline double wi_conv_box_seconds(const weft_context *ctx, const wi_conv_args *a) {
    const wi_machine *const m = wi_machine_of(ctx);
    wi_conv_tensor_plan<T> plan;
    wi_conv_tensor_plan_of<wi_conv_box_engine<T>, T>(a, wi_conv_form_of(&a->in, a->groups, a->x),
                                                     wi_conv_form_of(&a->out, a->groups, a->y),
                                                     &plan);
    const double working = wi_conv_box_engine<T>::cut(ctx, plan.launch, plan.count);
    const double bytes = (double)sizeof(T) *
                         ((double)wi_image_elements(&a->in) + (double)wi_image_elements(&a->out) +
                          (double)a->out.c * (double)wi_conv_weights(a));
    const double moving = wi_seconds_moving(m, bytes);
    return m->launch_s + (working > moving ? working : moving);
}

/* The rung: the copy engine gathers if it can, else threads do. */
template <class Threads, class T>
weft_status wi_conv_by_ring(weft_context *ctx, const wi_conv_args *a) {
    wi_conv_runner *const by_boxes = wi_conv_on_tensor_cores<wi_conv_box_engine<T>, T>;
    wi_conv_args wide;
    if (wi_conv_widen_lines(a, &wide) && wi_conv_fits_boxes<T>(&wide))
        return wi_conv_narrow(ctx, a, wide, by_boxes);
    return wi_conv_fits_boxes<T>(a) ? by_boxes(ctx, a)
                                    : wi_conv_on_tensor_cores<Threads, T>(ctx, a);
}

/* Seconds, or 0 if threads gather. */
template <class T>
double wi_conv_by_ring_seconds(const weft_context *ctx, const wi_conv_args *a) {
    wi_conv_args wide;
    if (wi_conv_widen_lines(a, &wide) && wi_conv_fits_boxes<T>(&wide)) {
        const wi_machine *const m = wi_machine_of(ctx);
        const size_t moved = wi_image_elements(&a->in) +
                             wi_image_elements(a->pass == WI_CONV_DATA ? &wide.out : &wide.in);
        return 2 * m->launch_s + wi_seconds_moving(m, (double)moved * sizeof(T)) +
               wi_conv_box_seconds<T>(ctx, &wide);
    }
    return wi_conv_fits_boxes<T>(a) ? wi_conv_box_seconds<T>(ctx, a) : 0;
}

#endif
