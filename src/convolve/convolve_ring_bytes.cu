/* SPDX-License-Identifier: Apache-2.0 */
/* The rung tensor of convolve: which kernel a call takes, and how it is cut into tiles. */
#include "convolve/convolve_sizes.h"
#include "convolve/convolve_tensor.cuh"
#include "convolve/convolve_units.h"

static wi_tensor_params params_of(const wi_convolve_args *args, const wi_convolve_units &units,
                                  int skipped) {
    const size_t w = args->filter_width, h = args->filter_height;
    wi_tensor_params p = {};
    p.m = wi_convolve_images_of(args);
    p.left = (int)args->left;
    p.above = (int)args->above;
    p.skipped = skipped;
    p.filter_width = (int)w;
    p.filter_height = (int)h;
    p.by_factors = args->column != NULL;
    p.is_exact = units.is_exact;
    p.aligned_y = ((uintptr_t)args->y | args->ldy | args->apart_y) % 4 == 0;
    p.shift = units.shift;
    p.begin = units.begin;
    p.in_doubt = units.in_doubt;
    p.groups = (int)wi_convolve_pieces(h + wi_tensor_rows - 1, (size_t)wi_tensor_rows);
    for (size_t k = 0; k < (p.by_factors ? w : w * h); k++)
        p.weight[k] = (float)(p.by_factors ? args->row[k] : args->filter[k]);
    for (size_t k = 0; k < (p.by_factors ? h : 0); k++)
        p.weight[w + k] = (float)args->column[k];
    return p;
}

/* As high as leaves every block some tiles, for the rows above a tile are read again. */
static weft_status cut(weft_context *ctx, const wi_convolve_args *args, size_t resident,
                       wi_tensor_params *p) {
    constexpr size_t wanted = 2; /* tiles of a block, at least */
    constexpr int least = 32;    /* rows: some for each warp */
    const size_t across =
        wi_convolve_pieces(args->out_width * args->channels, (size_t)wi_tensor_width);
    const auto down = [&] { return wi_convolve_pieces(args->out_height, (size_t)p->tile_rows); };
    p->tile_rows = wi_tensor_most_rows;
    while (p->tile_rows > least && across * down() * args->images < wanted * resident)
        p->tile_rows /= 2;
    const size_t tiles = across * down() * args->images;
    p->across = (unsigned)across;
    p->down = (unsigned)down();
    p->tiles = (unsigned)tiles;
    return wi_convolve_check_grid(ctx, tiles);
}

template <int slots, int parts, bool is_low>
static weft_status launch(weft_context *ctx, const wi_convolve_args *args, wi_tensor_params *p) {
    const auto kernel = wi_tensor_tiles<slots, parts, is_low>;
    constexpr int threads = wi_tensor_threads<is_low>;
    constexpr uint32_t pair_bytes = wi_tensor_table<slots, parts>::pair_bytes;
    const size_t most = wi_tensor_room(*p, pair_bytes, wi_tensor_most_rows).bytes;
    size_t resident = 1;
    weft_status status = wi_grant_shared(ctx, "wi_tensor_tiles", kernel, most);
    if (status == WEFT_OK)
        status = wi_resident_blocks(ctx, kernel, threads, most, &resident);
    if (status == WEFT_OK)
        status = cut(ctx, args, resident, p);
    if (status != WEFT_OK)
        return status;
    const wi_tensor_room room(*p, pair_bytes, p->tile_rows);
    const wi_box_source source = {WEFT_U8,       args->x,   args->width * args->channels,
                                  args->height,  args->ldx, args->images,
                                  args->apart_x, false};
    wi_boxes boxes;
    status = wi_gpu_describe_plain_boxes(ctx, &source, wi_tensor_pitch,
                                         room.slot_bytes / wi_tensor_pitch, &boxes);
    if (status != WEFT_OK)
        return status;
    const size_t blocks = p->tiles < resident ? p->tiles : resident;
    return WEFT_LAUNCH((wi_tensor_tiles<slots, parts, is_low>), ctx, (unsigned)blocks, threads,
                       room.bytes, *p, boxes);
}

template <int slots, int parts>
static weft_status launch_for(weft_context *ctx, const wi_convolve_args *args,
                              wi_tensor_params *p) {
    constexpr int most = 5; /* slots of kernels for two groups alone */
    if constexpr (slots <= most)
        if (p->groups == 2)
            return launch<slots, parts, true>(ctx, args, p);
    return launch<slots, parts, false>(ctx, args, p);
}

/* By the kernel of so many slots, which is one of these. */
template <int... each>
static weft_status choose(weft_context *ctx, const wi_convolve_args *args, int slots, bool is_short,
                          wi_tensor_params *p) {
    weft_status status = WEFT_EUNSUPPORTED;
    ((status = slots != each ? status
               : is_short    ? launch_for<each, 1>(ctx, args, p)
                             : launch_for<each, 3>(ctx, args, p)),
     ...);
    return status;
}

weft_status wi_convolve_tensor(weft_context *ctx, const void *arguments) {
    const wi_convolve_args *const args = (const wi_convolve_args *)arguments;
    wi_convolve_units units;
    wi_convolve_reach reach;
    if (!wi_convolve_find_units(args, &units) || !wi_convolve_find_reach(args, &reach))
        return WEFT_EUNSUPPORTED;
    wi_tensor_params p = params_of(args, units, reach.skipped);
    return choose<WI_CONVOLVE_TENSOR_SLOTS>(ctx, args, reach.slots, units.is_short, &p);
}
