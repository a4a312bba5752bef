/* SPDX-License-Identifier: Apache-2.0 */
/* How a pass becomes products on tensor cores. Images whose channels do not lie side by side, in
 * whole chunks of 16 bytes, are turned first; results of NCHW are turned back. */
#ifndef WI_CONV_TENSOR_PLAN_CUH
#define WI_CONV_TENSOR_PLAN_CUH

#include "nn/conv_moves.cuh"
#include "nn/conv_tensor.cuh"

inline size_t wi_conv_round(size_t n, size_t unit) {
    return (n + unit - 1) / unit * unit;
}

/* Memory that a pass takes once: first all is counted, then it is dealt out. */
struct wi_conv_room {
    char *base = nullptr;
    size_t used = 0;
    void *take(size_t bytes) {
        void *const p = base ? base + used : nullptr;
        used += wi_conv_round(bytes, 1024);
        return p;
    }
};

/* Images as products want them: elements from each image, row and column to the next. */
struct wi_conv_form {
    bool turned;
    int channels; /* of a group, whole chunks */
    size_t image, row, column, group;
    size_t bytes; /* if turned */
};

inline wi_conv_form wi_conv_form_of(const weft_images *x, size_t groups, const void *p) {
    const size_t width = weft_type_size(x->type), own = x->c / groups, chunk = 16 / width;
    const size_t channels = wi_conv_round(own, chunk);
    const bool fits = x->layout == WEFT_NHWC && channels == own && wi_is_aligned(p);
    const size_t column = fits ? x->c : groups * channels;
    return {!fits,
            (int)channels,
            x->h * x->w * column,
            x->w * column,
            column,
            channels,
            fits ? 0 : x->n * x->h * x->w * column * width};
}

/* Brings images to their form. */
inline weft_status wi_conv_turn_images(weft_context *ctx, const weft_images *x, size_t groups,
                                       const wi_conv_form &form, const void *from, void *to) {
    const wi_image_steps s = wi_image_steps_of(x);
    const size_t own = x->c / groups;
    const wi_conv_turning t = {(int)(x->h * x->w),
                               (int)own,
                               form.channels,
                               s.w,
                               s.c,
                               form.column,
                               {(int)groups, (int)x->n, 1},
                               {own * s.c, s.n, 0},
                               {form.group, form.image, 0}};
    return wi_conv_turn(ctx, weft_type_size(x->type), t, from, to);
}

/* And results with channels side by side, without gaps, to planes. */
inline weft_status wi_conv_turn_back(weft_context *ctx, const weft_images *x, const void *from,
                                     void *to) {
    const size_t plane = x->h * x->w;
    const wi_conv_turning t = {
        (int)x->c,         (int)plane,           (int)plane,          1, x->c, plane,
        {(int)x->n, 1, 1}, {plane * x->c, 0, 0}, {plane * x->c, 0, 0}};
    return wi_conv_turn(ctx, weft_type_size(x->type), t, from, to);
}

/* Weights of a product over pixels, as [group][row][place in the window][channel]. */
struct wi_conv_packed {
    bool turned;
    wi_conv_turning turning;
    size_t first, bytes; /* elements before the first weight */
};

/* A product, with what it needs. */
template <class T>
struct wi_conv_tensor_launch {
    wi_conv_tensor_job<T> job;
    wi_conv_joining joining;
    wi_conv_packed packed;
    bool taps, narrow;
    int tile, shares; /* which tile an engine has chosen, and how many blocks make one */
    int window_h;     /* rows of the window */
    size_t first;     /* elements of the result before its first pixel */
    size_t partial_bytes() const {
        return job.slices == 1 && (!taps || job.to_row)
                   ? 0
                   : (size_t)job.slices * (size_t)job.groups * (size_t)job.rows *
                         (size_t)job.columns * sizeof(float);
    }
};

/* Cuts the terms so that blocks fill the device: of the numbers of slices the one that is predicted
 * to take least. A term of a tile of 128 x 128 is taken to last `term_s` on a full device. */
inline int wi_conv_tensor_slices(const weft_context *ctx, size_t blocks, size_t resident,
                                 size_t results, int terms, bool always_joins) {
    constexpr int least_terms = 128, most_slices = 64;
    constexpr double term_s = 20e-9;
    const wi_machine *const m = wi_machine_of(ctx);
    int best = 1;
    double least = 0;
    for (int slices = 1; slices <= most_slices && (slices == 1 || terms / slices >= least_terms);
         slices++) {
        const double rounds = (double)wi_conv_pieces(blocks * (size_t)slices, resident);
        const double sums = 2.0 * slices * (double)results * sizeof(float);
        const double joining =
            slices > 1 || always_joins ? m->launch_s + 0.7 * wi_seconds_moving(m, sums) : 0;
        const double seconds = rounds * terms / slices * term_s + joining;
        if (slices == 1 || seconds < 0.97 * least) {
            least = seconds;
            best = slices;
        }
    }
    return best;
}

/* Tiles of 128 x 128; narrow ones have 64 filters. */
template <class Engine, class T>
inline void wi_conv_tensor_cut(const weft_context *ctx, wi_conv_tensor_launch<T> *l) {
    wi_conv_tensor_job<T> &p = l->job;
    const int few = l->taps ? p.rows : p.columns;
    l->narrow = few % 128 != 0 && few % 128 <= 64;
    const int high = l->taps && l->narrow ? 64 : 128, wide = !l->taps && l->narrow ? 64 : 128;
    p.row_tiles = (p.rows + high - 1) / high;
    p.column_tiles = (p.columns + wide - 1) / wide;
    const size_t blocks = p.tiles();
    const size_t resident = (size_t)Engine::blocks * (size_t)ctx->gpu->multiprocessors;
    const size_t results = (size_t)p.rows * (size_t)p.columns * (size_t)p.groups;
    p.slices = blocks == 0 ? 1
                           : wi_conv_tensor_slices(ctx, blocks, resident, results, p.terms,
                                                   l->taps && !p.to_row);
    const int each = (p.terms + p.slices - 1) / p.slices;
    p.slice_terms = (int)wi_conv_round((size_t)(each > 0 ? each : 1), Engine::depth);
}

/* A window on images in their form. */
inline wi_conv_view wi_conv_view_of(const weft_images *x, const wi_conv_form &form) {
    wi_conv_view v = {};
    v.channels = wi_nn_divisor((unsigned)form.channels);
    v.height = (int)x->h;
    v.width_from = (int)x->w;
    v.image = form.image;
    v.row = form.row;
    v.column = form.column;
    return v;
}

inline wi_conv_packed wi_conv_packed_of(const wi_conv_args *a, int rows, int inner, int padded,
                                        size_t from_row, size_t from_inner, size_t first,
                                        int window_h, int window_w, size_t of_h, size_t of_w) {
    const size_t width = weft_type_size(a->in.type), f_n = wi_conv_filter_steps(a).n;
    const size_t line = (size_t)window_h * (size_t)window_w * (size_t)padded;
    wi_conv_packed p = {};
    p.first = first;
    p.turned = true;
    p.turning = {rows,
                 inner,
                 padded,
                 from_row,
                 from_inner,
                 line,
                 {window_w, window_h, (int)a->groups},
                 {of_w, of_h, wi_conv_filters(a) * f_n},
                 {(size_t)padded, (size_t)window_w * (size_t)padded, (size_t)rows * line}};
    p.bytes = a->groups * (size_t)rows * line * width;
    return p;
}

/* Forward, and the gradient for weights, gather x for the pixels of y. */
template <class T>
inline wi_conv_tensor_launch<T> wi_conv_tensor_over_x(const wi_conv_args *a, const wi_conv_form &x,
                                                      const wi_conv_form &y) {
    wi_conv_tensor_launch<T> l = {};
    wi_conv_tensor_job<T> &p = l.job;
    const wi_image_steps f = wi_conv_filter_steps(a);
    const int filters = (int)wi_conv_filters(a), channels = (int)wi_conv_channels(a);
    l.window_h = (int)a->kernel_h;
    const int taps = (int)(a->kernel_h * a->kernel_w) * x.channels;
    const int pixels = (int)(a->out.n * a->out.h * a->out.w);
    p.view = wi_conv_view_of(&a->in, x);
    p.view.plane = wi_nn_divisor((unsigned)(a->out.h * a->out.w));
    p.view.width = wi_nn_divisor((unsigned)a->out.w);
    p.view.window_w = wi_nn_divisor((unsigned)a->kernel_w);
    p.view.step_h = (int)a->stride_h;
    p.view.step_w = (int)a->stride_w;
    p.view.first_h = -(int)a->pad_h;
    p.view.first_w = -(int)a->pad_w;
    p.view.unit_h = (int)a->dilation_h;
    p.view.unit_w = (int)a->dilation_w;
    p.gathered_group = x.group;
    p.groups = (int)a->groups;
    l.taps = a->pass == WI_CONV_WEIGHTS;
    if (l.taps) {
        p.rows = filters;
        p.columns = taps;
        p.terms = pixels;
        p.plain_group = y.group;
        p.plain_pitch = y.column;
        p.plain_length = y.channels;
        l.joining.outer = p.view.channels;
        l.joining.inner = p.view.window_w;
        l.joining.channels = channels;
        l.joining.group = (size_t)filters * f.n;
        l.joining.row = f.h;
        l.joining.column = f.w;
        l.joining.other = f.c;
        l.joining.filter = f.n;
        if (a->in.layout == WEFT_NHWC && x.channels == channels) {
            p.to_row = f.n;
            p.to_group = (size_t)filters * f.n;
        }
        return l;
    }
    p.rows = pixels;
    p.columns = filters;
    p.terms = p.plain_length = taps;
    p.plain_pitch = (size_t)taps;
    p.plain_group = (size_t)filters * (size_t)taps;
    l.packed = wi_conv_packed_of(a, filters, channels, x.channels, f.n, f.c, 0, (int)a->kernel_h,
                                 (int)a->kernel_w, f.h, f.w);
    l.packed.turned = a->in.layout != WEFT_NHWC || x.channels != channels || !wi_is_aligned(a->f);
    p.to_group = (size_t)filters;
    p.to_steps = {a->out.h * a->out.w * a->out.c, 1, a->out.w * a->out.c, a->out.c};
    return l;
}

/* Can the gradient for data read weights as they are? A step then has filters of one tap alone. */
template <class Engine>
inline bool wi_conv_takes_weights(const wi_conv_args *a) {
    constexpr size_t depth = Engine::depth;
    const size_t chunk = 16 / weft_type_size(a->in.type);
    return Engine::across && a->in.layout == WEFT_NHWC && wi_conv_filters(a) % depth == 0 &&
           wi_conv_channels(a) % chunk == 0 && wi_is_aligned(a->f);
}

/* The gradient for the pixels of x at (down, across) and a stride on, and so on. */
template <class Engine, class T>
inline wi_conv_tensor_launch<T> wi_conv_tensor_over_y(const wi_conv_args *a, const wi_conv_form &y,
                                                      size_t down, size_t across) {
    wi_conv_tensor_launch<T> l = {};
    wi_conv_tensor_job<T> &p = l.job;
    const wi_image_steps f = wi_conv_filter_steps(a);
    const int filters = (int)wi_conv_filters(a), channels = (int)wi_conv_channels(a);
    const wi_conv_class h =
        wi_conv_class_of(down, a->in.h, a->stride_h, a->dilation_h, a->kernel_h, a->pad_h);
    const wi_conv_class w =
        wi_conv_class_of(across, a->in.w, a->stride_w, a->dilation_w, a->kernel_w, a->pad_w);
    l.window_h = h.weights;
    l.first = (down * a->in.w + across) * a->in.c;
    p.view = wi_conv_view_of(&a->out, y);
    p.view.plane = wi_nn_divisor((unsigned)(h.pixels * w.pixels));
    p.view.width = wi_nn_divisor((unsigned)w.pixels);
    p.view.window_w = wi_nn_divisor((unsigned)w.weights);
    p.view.step_h = p.view.step_w = 1;
    p.view.first_h = h.first;
    p.view.first_w = w.first;
    p.view.unit_h = -h.unit;
    p.view.unit_w = -w.unit;
    p.gathered_group = y.group;
    p.groups = (int)a->groups;
    p.rows = (int)a->in.n * h.pixels * w.pixels;
    p.columns = channels;
    p.terms = p.plain_length = h.weights * w.weights * y.channels;
    p.plain_pitch = (size_t)p.terms;
    p.plain_group = (size_t)channels * (size_t)p.terms;
    l.packed =
        wi_conv_packed_of(a, channels, filters, y.channels, f.c, f.n,
                          (size_t)h.first_weight * f.h + (size_t)w.first_weight * f.w, h.weights,
                          w.weights, (size_t)h.weight_step * f.h, (size_t)w.weight_step * f.w);
    if (wi_conv_takes_weights<Engine>(a)) {
        p.across = true;
        p.place = h.first_weight * (int)a->kernel_w + w.first_weight;
        p.place_h = h.weight_step * (int)a->kernel_w;
        p.place_w = w.weight_step;
        p.places = (int)(a->kernel_h * a->kernel_w);
        p.plain_lines = (int)a->out.c;
        p.plain_length = channels;
        p.plain_pitch = f.n;
        p.plain_group = (size_t)filters;
        l.packed.turned = false;
    }
    p.to_group = (size_t)channels;
    p.to_steps = {a->in.h * a->in.w * a->in.c, 1, a->stride_h * a->in.w * a->in.c,
                  a->stride_w * a->in.c};
    return l;
}

/* At most so many classes of pixels. */
constexpr size_t wi_conv_most_classes = 64;

/* The products of the pass: one or, of the gradient for data, one for each class of pixels. */
template <class T>
struct wi_conv_tensor_plan {
    wi_conv_tensor_launch<T> launch[wi_conv_most_classes];
    int count;
};

template <class Engine, class T>
void wi_conv_tensor_plan_of(const wi_conv_args *a, const wi_conv_form &x, const wi_conv_form &y,
                            wi_conv_tensor_plan<T> *plan) {
    plan->count = 1;
    if (a->pass != WI_CONV_DATA) {
        plan->launch[0] = wi_conv_tensor_over_x<T>(a, x, y);
        return;
    }
    plan->count = 0;
    for (size_t down = 0; down < a->stride_h && down < a->in.h; down++)
        for (size_t across = 0; across < a->stride_w && across < a->in.w; across++)
            plan->launch[plan->count++] = wi_conv_tensor_over_y<Engine, T>(a, y, down, across);
}

/* Memory of a pass. */
struct wi_conv_tensor_memory {
    void *x, *y, *result, *packed, *partial;
};

/* Adds up the slices of a product, whose result begins at `to`. */
template <class T>
weft_status wi_conv_tensor_join(weft_context *ctx, const wi_conv_args *a,
                                const wi_conv_tensor_launch<T> &l, void *to) {
    const wi_conv_tensor_job<T> &p = l.job;
    wi_conv_joining j = l.joining;
    j.rows = p.rows;
    j.columns = p.columns;
    j.groups = p.groups;
    j.slices = p.slices;
    j.taps = l.taps;
    if (!l.taps) {
        j.outer = p.view.plane;
        j.inner = p.view.width;
        j.group = p.to_group;
        j.image = p.to_steps.n;
        j.row = p.to_steps.h;
        j.column = p.to_steps.w;
        j.other = 1;
    }
    return wi_conv_join(ctx, l.taps ? a->f_type : a->in.type, j, p.partial, to);
}

/* `count` products of a plan, in one launch: of several, none needs memory. */
template <class Engine, class T>
weft_status wi_conv_tensor_products(weft_context *ctx, const wi_conv_args *a,
                                    wi_conv_tensor_launch<T> *l, int count, T *to,
                                    const wi_conv_tensor_memory &m) {
    weft_status status = WEFT_OK;
    size_t grid = 0;
    const bool joins = l->partial_bytes() > 0, turns = !l->taps && l->packed.turned;
    if (turns)
        status =
            wi_conv_turn(ctx, sizeof(T), l->packed.turning, (T *)a->f + l->packed.first, m.packed);
    for (int k = 0; k < count; k++) {
        wi_conv_tensor_job<T> &p = l[k].job;
        if (!l->taps)
            p.plain = (const T *)(turns ? m.packed : a->f);
        p.to = l->taps ? (T *)a->f : to + l[k].first;
        p.partial = joins ? (float *)m.partial : nullptr;
        grid += p.tiles() * (size_t)p.slices;
    }
    if (l->taps && !joins && a->f_type != a->in.type)
        l->job.partial = (float *)a->f; /* one slice is the result */
    if (status == WEFT_OK)
        status = wi_conv_check_grid(ctx, grid);
    if (status == WEFT_OK && grid > 0)
        status = Engine::launch(ctx, a, l, count);
    return status == WEFT_OK && joins ? wi_conv_tensor_join(ctx, a, *l, l->job.to) : status;
}

/* The pass, in memory that has been taken. */
template <class Engine, class T>
weft_status wi_conv_tensor_run(weft_context *ctx, const wi_conv_args *a, const wi_conv_form &x,
                               const wi_conv_form &y, wi_conv_tensor_plan<T> *plan,
                               const wi_conv_tensor_memory &m) {
    const weft_images *const out = a->pass == WI_CONV_DATA ? &a->in : &a->out;
    const bool back = a->pass != WI_CONV_WEIGHTS && out->layout == WEFT_NCHW;
    const T *const from_x = (const T *)(x.turned ? m.x : a->x);
    const T *const from_y = (const T *)(y.turned ? m.y : a->y);
    T *const to = (T *)(back ? m.result : wi_conv_result(a));
    weft_status status = WEFT_OK;
    if (a->pass != WI_CONV_DATA && x.turned)
        status = wi_conv_turn_images(ctx, &a->in, a->groups, x, a->x, m.x);
    if (status == WEFT_OK && a->pass != WI_CONV_FORWARD && y.turned)
        status = wi_conv_turn_images(ctx, &a->out, a->groups, y, a->y, m.y);
    for (int k = 0; k < plan->count && status == WEFT_OK; k += Engine::together) {
        const int left = plan->count - k, count = left < Engine::together ? left : Engine::together;
        for (int i = k; i < k + count; i++) {
            plan->launch[i].job.gathered = a->pass == WI_CONV_DATA ? from_y : from_x;
            plan->launch[i].job.plain = from_y;
        }
        status = wi_conv_tensor_products<Engine>(ctx, a, plan->launch + k, count, to, m);
    }
    return status == WEFT_OK && back ? wi_conv_turn_back(ctx, out, m.result, wi_conv_result(a))
                                     : status;
}

/* Engine: `depth` terms of a step; `together`, the products of a launch; `across`: does it take
 * weights so? cut(ctx, launches, count) chooses tiles and slices; launch(ctx, args, launches,
 * count) queues the kernel. */
template <class Engine, class T>
weft_status wi_conv_on_tensor_cores(weft_context *ctx, const wi_conv_args *a) {
    const wi_conv_form x = wi_conv_form_of(&a->in, a->groups, a->x);
    const wi_conv_form y = wi_conv_form_of(&a->out, a->groups, a->y);
    const bool forward = a->pass == WI_CONV_FORWARD, data = a->pass == WI_CONV_DATA;
    size_t packed = 0, partial = 0;
    wi_conv_tensor_plan<T> plan;
    wi_conv_tensor_plan_of<Engine, T>(a, x, y, &plan);
    Engine::cut(ctx, plan.launch, plan.count);
    for (int k = 0; k < plan.count; k++) {
        const wi_conv_tensor_launch<T> &l = plan.launch[k];
        const size_t bytes = l.packed.turned ? l.packed.bytes : 0, sums = l.partial_bytes();
        packed = bytes > packed ? bytes : packed;
        partial = sums > partial ? sums : partial;
    }
    const size_t result =
        a->pass == WI_CONV_WEIGHTS || a->in.layout == WEFT_NHWC ? 0 : wi_conv_result_bytes(a);
    wi_conv_room room;
    wi_conv_tensor_memory m = {};
    void *base = nullptr;
    for (int turn = 0; turn < 2; turn++) {
        room.used = 0;
        m = {room.take(data ? 0 : x.bytes), room.take(forward ? 0 : y.bytes), room.take(result),
             room.take(packed), room.take(partial)};
        if (turn == 0 && room.used > 0) {
            const weft_status status = wi_gpu_alloc(ctx, &base, room.used);
            if (status != WEFT_OK)
                return status;
            room.base = (char *)base;
        }
    }
    const weft_status status = wi_conv_tensor_run<Engine, T>(ctx, a, x, y, &plan, m);
    const weft_status freed = base ? wi_gpu_free(ctx, base) : WEFT_OK;
    return status == WEFT_OK ? freed : status;
}

weft_status wi_conv_tensor_f16(weft_context *ctx, const wi_conv_args *args);
weft_status wi_conv_tensor_bf16(weft_context *ctx, const wi_conv_args *args);
weft_status wi_conv_tensor_tf32(weft_context *ctx, const wi_conv_args *args);
weft_status wi_conv_ring_f16(weft_context *ctx, const wi_conv_args *args);
weft_status wi_conv_ring_bf16(weft_context *ctx, const wi_conv_args *args);
weft_status wi_conv_ring_tf32(weft_context *ctx, const wi_conv_args *args);
double wi_conv_ring_f16_seconds(const weft_context *ctx, const wi_conv_args *args);
double wi_conv_ring_bf16_seconds(const weft_context *ctx, const wi_conv_args *args);
double wi_conv_ring_tf32_seconds(const weft_context *ctx, const wi_conv_args *args);

#endif
