/* SPDX-License-Identifier: Apache-2.0 */
/* convolve over ranks and GPUs: each has a band of rows of the images, or images of its own. */
#include "comm/gpus.h"
#include "convolve/convolve_bands.h"

static const char name[] = "weft_convolve";

weft_status wi_convolve_ranks(weft_context *ctx, const void *request) {
    const wi_convolve_bands *const r = request;
    if (!r->args)
        return wi_local(ctx, weft_convolve(ctx->child, r->c, r->x, r->y));
    const bool empty =
        r->args->images == 0 || r->args->out_width == 0 || r->begin[ctx->comm->size] == 0;
    return empty ? WEFT_OK : wi_convolve_run_bands(ctx, r);
}

/* ---- calls ---- */

/* What all ranks must pass alike. */
static uint64_t alike_of(const weft_convolution *c) {
    const size_t sizes[] = {c->type, c->out,          c->width,         c->channels, c->border,
                            c->how,  c->filter_width, c->filter_height, c->filters};
    return wi_alike_bytes(0, sizes, sizeof sizes);
}

/* begin = where the rows of each rank begin. All ranks must have as many images. */
static weft_status join(weft_context *ctx, const weft_convolution *c, size_t *begin) {
    const uint64_t own[2] = {c->height, c->images}, *all;
    const int ranks = ctx->comm->size;
    const weft_status status = wi_all_words(ctx, own, 2, &all);
    begin[0] = 0;
    for (int r = 0; r < ranks && status == WEFT_OK; r++) {
        begin[r + 1] = begin[r] + all[2 * r];
        if (all[2 * r + 1] != all[1])
            return wi_fail(ctx, WEFT_EARG,
                           "%s: rank %d has %zu images and rank 0 %zu; pass rows of the same "
                           "images on all, or WEFT_OWN_IMAGES for images of each rank's own",
                           name, r, (size_t)all[2 * r + 1], (size_t)all[1]);
    }
    if (status == WEFT_OK && begin[ranks] > WI_CONVOLVE_MOST)
        return wi_fail(ctx, WEFT_EARG, "%s: the ranks have %zu rows; an image has at most %d", name,
                       begin[ranks], WI_CONVOLVE_MOST);
    return status;
}

/* The arguments of this rank's band. */
static weft_status describe(weft_context *ctx, const wi_convolve_bands *r, wi_convolve_args *a) {
    const int rank = ctx->comm->rank;
    const wi_convolve_span out =
        wi_convolve_outputs(r->c, wi_convolve_band(r, rank), r->begin[ctx->comm->size]);
    wi_call call;
    *a = wi_convolve_args_of(r->c);
    a->x = r->x;
    a->y = r->y;
    a->out_height = (size_t)(out.end - out.first);
    const weft_status status = wi_convolve_distances(ctx, r->c, a);
    return status == WEFT_OK ? wi_convolve_describe(ctx, r->c, a, &call) : status;
}

weft_status wi_convolve_over_ranks(weft_context *ctx, const weft_convolution *c, const void *x,
                                   void *y, weft_status status) {
    wi_convolve_args args;
    wi_convolve_bands r = {.c = c, .x = x, .y = y};
    void *begin = NULL;
    ctx->comm->call = name;
    const bool own = status == WEFT_OK && (c->how & WEFT_OWN_IMAGES || ctx->comm->size == 1);
    const uint64_t alike = status == WEFT_OK ? alike_of(c) : 0;
    if (!own) {
        if (status == WEFT_OK)
            status = wi_dist_take(ctx, (size_t)ctx->comm->size + 1, sizeof(size_t), &begin);
        status = wi_agree(ctx, alike, status);
        if (status == WEFT_OK)
            status = join(ctx, c, begin);
        if (status != WEFT_OK) {
            wi_host_free(begin);
            return status;
        }
        r.begin = begin;
        r.args = &args;
        status = describe(ctx, &r, &args);
    }
    status = wi_dist_run(ctx, &wi_convolve_ladder, name, c ? c->type : WEFT_U8, alike, status, &r);
    wi_host_free(begin);
    return status;
}

/* ---- GPUs ---- */

/* Does each GPU take some of the images? If there are at least as many as GPUs, and all have the
 * same filters. */
static bool goes_by_images(const weft_context *rank, const wi_convolve_args *a) {
    return a->images >= (size_t)rank->comm->size && a->filters <= a->channels;
}

bool wi_convolve_wants_gpus(weft_context *ctx, const wi_convolve_args *a) {
    const size_t n = a->images * a->out_height * a->out_width * a->channels;
    return n > 0 && wi_gpus_wanted(ctx, &wi_convolve_ladder, a->y, n, weft_type_size(a->out));
}

static weft_status share_images(weft_context *rank, weft_convolution c, const wi_convolve_args *a) {
    const size_t of_x = a->apart_x * weft_type_size(a->type),
                 of_y = a->apart_y * weft_type_size(a->out);
    const wi_share share = wi_gpus_share(rank, a->y, a->images, of_y);
    c.images = share.n;
    c.how |= WEFT_OWN_IMAGES;
    return weft_convolve(rank, &c, wi_share_of(a->x, share, of_x), wi_share_of(a->y, share, of_y));
}

/* The rows of one image. */
static weft_status share_rows(weft_context *rank, weft_convolution c, const wi_convolve_args *a,
                              size_t image) {
    const size_t of_x = weft_type_size(a->type), of_y = weft_type_size(a->out);
    char *const x = (char *)(uintptr_t)a->x + image * a->apart_x * of_x;
    char *const y = (char *)a->y + image * a->apart_y * of_y;
    const wi_share share = wi_gpus_share(rank, x, a->height, a->ldx * of_x);
    const wi_convolve_span band = {(ptrdiff_t)share.first, (ptrdiff_t)(share.first + share.n)};
    const ptrdiff_t lost = c.border == WEFT_BORDER_VALID ? wi_convolve_centre(&c) : 0,
                    from = band.first > lost ? band.first - lost : 0;
    if (a->filters > 1) {
        c.filter += image * a->channels % a->filters * a->filter_width * a->filter_height;
        c.filters = a->channels;
    }
    c.images = 1;
    c.height = share.n;
    c.apart_x = c.apart_y = 0;
    c.how &= ~(unsigned)WEFT_OWN_IMAGES;
    return weft_convolve(rank, &c, x + share.first * a->ldx * of_x,
                         y + (size_t)from * a->ldy * of_y);
}

static weft_status run_share(weft_context *rank, void *user) {
    const wi_convolve_bands *const whole = user;
    const wi_convolve_args *const a = whole->args;
    weft_convolution c = *whole->c;
    weft_status status = WEFT_OK;
    c.ldx = a->ldx;
    c.ldy = a->ldy;
    c.apart_x = a->rows_apart_x;
    c.apart_y = a->rows_apart_y;
    if (goes_by_images(rank, a))
        return share_images(rank, c, a);
    for (size_t k = 0; k < a->images && status == WEFT_OK; k++)
        status = share_rows(rank, c, a, k);
    return status;
}

weft_status wi_convolve_over_gpus(weft_context *ctx, const weft_convolution *c,
                                  const wi_convolve_args *args) {
    return wi_gpus_run(ctx, &wi_convolve_ladder, name, run_share,
                       &(wi_convolve_bands){.c = c, .args = args});
}
