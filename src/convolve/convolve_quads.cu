/* SPDX-License-Identifier: Apache-2.0 */
/* The rung quads of convolve: which kernel a call takes, and its blocks. */
#include "convolve/convolve_quads.cuh"

template <int frame>
static wi_quads_params<frame> params_of(const wi_convolve_args *args,
                                        const wi_convolve_units &units) {
    const size_t w = args->filter_width, h = args->filter_height;
    const size_t shifted = frame / 2 - args->left;
    wi_quads_params<frame> p = {};
    p.m = wi_convolve_images_of(args);
    p.above = (int)args->above;
    p.aligned_y = ((uintptr_t)args->y | args->ldy | args->apart_y) % 16 == 0;
    p.shift = units.shift;
    p.begin = units.begin;
    p.in_doubt = units.in_doubt;
    for (size_t k = 0; k < w * h; k++) {
        const size_t at = k / w * frame + k % w + shifted;
        p.units[at] = wi_convolve_unit(args, k / w, k % w, units.shift);
        p.weight[at] = (float)args->filter[k];
    }
    return p;
}

/* Bands as high as give every block one, all in one turn. */
template <int frame>
static weft_status cut(weft_context *ctx, const wi_convolve_args *args, size_t resident,
                       wi_quads_params<frame> *p) {
    constexpr size_t least = 4; /* rows of quads */
    const size_t rows = wi_convolve_pieces(args->out_height, wi_quads_rows);
    const size_t strips = wi_convolve_pieces(args->out_width * wi_quads_channels, wi_quads_width);
    const size_t bands = resident / (strips * args->images);
    const size_t band = wi_convolve_pieces(rows, bands > 1 ? bands : 1);
    p->band = (int)(band > least ? band : least);
    p->strips = (unsigned)strips;
    p->bands = (unsigned)wi_convolve_pieces(rows, (size_t)p->band);
    return wi_convolve_check_grid(ctx, strips * p->bands * args->images);
}

template <int parts, int frame>
static weft_status launch(weft_context *ctx, const wi_convolve_args *args,
                          wi_quads_params<frame> *p) {
    constexpr size_t bytes = sizeof(typename wi_quads_block<parts, frame>::Shared);
    size_t resident = 1;
    const auto kernel = wi_quads<parts, frame>;
    weft_status status = wi_grant_shared(ctx, "wi_quads", kernel, bytes);
    if (status == WEFT_OK)
        status = wi_resident_blocks(ctx, kernel, wi_quads_threads, bytes, &resident);
    if (status == WEFT_OK)
        status = cut(ctx, args, resident, p);
    if (status != WEFT_OK)
        return status;
    return WEFT_LAUNCH((wi_quads<parts, frame>), ctx,
                       (unsigned)(p->strips * p->bands * args->images), wi_quads_threads, bytes,
                       *p);
}

template <int parts, int frame>
static weft_status launch_for(weft_context *ctx, const wi_convolve_args *args,
                              const wi_convolve_units &units) {
    wi_quads_params<frame> p = params_of<frame>(args, units);
    return launch<parts>(ctx, args, &p);
}

template <int frame>
static weft_status choose(weft_context *ctx, const wi_convolve_args *args) {
    wi_convolve_units units;
    if (wi_convolve_find_units(args, &units) && units.is_short)
        return launch_for<1, frame>(ctx, args, units);
    return wi_convolve_find_rough_units(args, &units) ? launch_for<3, frame>(ctx, args, units)
                                                      : WEFT_EUNSUPPORTED;
}

weft_status wi_convolve_quads(weft_context *ctx, const void *arguments) {
    const wi_convolve_args *const args = (const wi_convolve_args *)arguments;
    return wi_convolve_quads_frame(args) == WI_CONVOLVE_QUADS_FRAME
               ? choose<WI_CONVOLVE_QUADS_FRAME>(ctx, args)
               : choose<WI_CONVOLVE_QUADS_WIDE_FRAME>(ctx, args);
}
