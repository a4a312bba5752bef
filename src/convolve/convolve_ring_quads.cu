/* SPDX-License-Identifier: Apache-2.0 */
/* The rung quads of convolve: which kernel a call takes, and its blocks. */
#include "convolve/convolve_quads.cuh"

template <int parts, int frame, int drop>
static wi_quads_params<frame> params_of(const wi_convolve_args *args,
                                        const wi_convolve_units &units) {
    const size_t w = args->filter_width, h = args->filter_height;
    const size_t shifted = frame / 2 - args->left;
    wi_quads_params<frame> p = {};
    p.m = wi_convolve_images_of(args);
    p.above = (int)args->above;
    p.shift = units.shift;
    for (wi_quads_join &join : p.join)
        join = {65536u >> drop, parts > 1 ? 256 : 1, (uint32_t)units.begin};
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
    const size_t strips = wi_convolve_pieces(args->out_width * args->channels, wi_quads_width);
    const size_t bands = resident / (strips * args->images);
    const size_t band = wi_convolve_pieces(rows, bands > 1 ? bands : 1);
    p->band = (int)(band > least ? band : least);
    p->strips = (unsigned)strips;
    p->bands = (unsigned)wi_convolve_pieces(rows, (size_t)p->band);
    return wi_convolve_check_grid(ctx, strips * p->bands * args->images);
}

template <int channels, int parts, int frame, int drop>
static weft_status launch(weft_context *ctx, const wi_convolve_args *args,
                          const wi_convolve_units &units) {
    using Block = wi_quads_block<channels, parts, frame, drop>;
    constexpr size_t bytes = sizeof(typename Block::Shared);
    wi_quads_params<frame> p = params_of<parts, frame, drop>(args, units);
    size_t resident = 1;
    const auto kernel = wi_quads<channels, parts, frame, drop>;
    weft_status status = wi_grant_shared(ctx, "wi_quads", kernel, bytes);
    if (status == WEFT_OK)
        status = wi_resident_blocks(ctx, kernel, wi_quads_threads, bytes, &resident);
    if (status == WEFT_OK)
        status = cut(ctx, args, resident, &p);
    if (status != WEFT_OK)
        return status;
    return WEFT_LAUNCH((wi_quads<channels, parts, frame, drop>), ctx,
                       (unsigned)(p.strips * p.bands * args->images), wi_quads_threads, bytes, p);
}

/* By the bytes that weights have, and how fine they are. */
template <int channels, int frame>
static weft_status choose(weft_context *ctx, const wi_convolve_args *args) {
    constexpr int fine = WI_CONVOLVE_FINE_SHIFT - 16, coarse = WI_CONVOLVE_COARSE_SHIFT - 16;
    wi_convolve_units units;
    if (wi_convolve_find_units(args, &units) && units.is_short)
        return launch<channels, 1, frame, 0>(ctx, args, units);
    if (!wi_convolve_find_fine_units(args, &units))
        return WEFT_EUNSUPPORTED;
    return units.shift == WI_CONVOLVE_FINE_SHIFT
               ? launch<channels, 3, frame, fine>(ctx, args, units)
               : launch<channels, 3, frame, coarse>(ctx, args, units);
}

template <int channels>
static weft_status choose_frame(weft_context *ctx, const wi_convolve_args *args) {
    return wi_convolve_quads_frame(args) == WI_CONVOLVE_QUADS_FRAME
               ? choose<channels, WI_CONVOLVE_QUADS_FRAME>(ctx, args)
               : choose<channels, WI_CONVOLVE_QUADS_WIDE_FRAME>(ctx, args);
}

weft_status wi_convolve_quads(weft_context *ctx, const void *arguments) {
    const wi_convolve_args *const args = (const wi_convolve_args *)arguments;
    return args->channels == 1 ? choose_frame<1>(ctx, args) : choose_frame<3>(ctx, args);
}
