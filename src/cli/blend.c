/* SPDX-License-Identifier: Apache-2.0 */
/* `weft blend`: two images become one. */
#include "weft/blend.h"

#include <math.h>

#include "cli/picture.h"
#include "cli/text.h"

static const wi_option weight_option = {
    .name = "weight",
    .letter = 'w',
    .value = "W",
    .help = "of the first image; the second has 1 - W; default 0.5"};
static const wi_option mask_option = {
    .name = "mask",
    .letter = 'm',
    .value = "FILE",
    .help = "a gray image: where it is white is the first image, where black the second",
    .file = WI_FILE_READ};

/* One run of the command. */
typedef struct task {
    wi_picture a, b, mask, out;
    weft_blending call;
} task;

static wi_exit read_weight(const wi_arguments *args, weft_blending *call) {
    const char *const text = wi_value(args, &weight_option);
    call->weight_a = 0.5;
    if (text && wi_given(args, &mask_option))
        return wi_usage(args->command, "option --weight: the mask has the weights; leave one out");
    if (text && (!wi_read_element(WEFT_F32, text, &(float){0}) ||
                 !wi_read_element(WEFT_F64, text, &call->weight_a) || !isfinite(call->weight_a)))
        return wi_usage(args->command, "option --weight: \"%s\" is not a number; write 0.3", text);
    call->weight_b = 1 - call->weight_a;
    return WI_EXIT_OK;
}

/* Prints an error unless `other` fits the first image. */
static wi_exit check_alike(const wi_arguments *args, const char *path, const wi_picture *first,
                           const wi_picture *other, unsigned channels) {
    if (other->width == first->width && other->height == first->height &&
        other->channels == channels && other->type == first->type && other->most == first->most)
        return WI_EXIT_OK;
    wi_say_error("blend: %s has %zu x %zu pixels of %u %s, up to %u; %s needs %zu x %zu of %u %s, "
                 "up to %u",
                 path, other->width, other->height, other->channels, weft_type_name(other->type),
                 other->most, args->operand[0], first->width, first->height, channels,
                 weft_type_name(first->type), first->most);
    return WI_EXIT_FAILED;
}

static wi_exit load(const wi_arguments *args, task *t) {
    const char *const mask = wi_value(args, &mask_option);
    wi_exit result = wi_picture_load(args, args->operand[0], &t->a);
    if (result == WI_EXIT_OK)
        result = wi_picture_load(args, args->operand[1], &t->b);
    if (result == WI_EXIT_OK)
        result = check_alike(args, args->operand[1], &t->a, &t->b, t->a.channels);
    if (result == WI_EXIT_OK && mask)
        result = wi_picture_load(args, mask, &t->mask);
    if (result == WI_EXIT_OK && mask)
        result = check_alike(args, mask, &t->a, &t->mask, 1);
    if (result == WI_EXIT_OK)
        result = wi_picture_check_output(args, &t->a);
    return result;
}

static wi_exit compute(weft_context *ctx, task *t) {
    const wi_picture *const a = &t->a;
    const size_t n = a->width * a->height * a->channels;
    t->call.type = a->type;
    t->call.width = a->width;
    t->call.height = a->height;
    t->call.channels = a->channels;
    t->out = *a;
    t->out.data = wi_host_alloc(n * weft_type_size(a->type) + 1);
    if (!t->out.data) {
        wi_say_error("blend: no memory for an image of %zu x %zu", a->width, a->height);
        return WI_EXIT_FAILED;
    }
    if (weft_blend(ctx, &t->call, a->data, t->b.data, t->mask.data, t->out.data) != WEFT_OK)
        return wi_session_failed(ctx);
    for (size_t i = 0; a->most && i < n; i++) { /* weights may lead beyond the white of the file */
        if (a->type == WEFT_U8 && ((uint8_t *)t->out.data)[i] > a->most)
            ((uint8_t *)t->out.data)[i] = (uint8_t)a->most;
        if (a->type == WEFT_U16 && ((uint16_t *)t->out.data)[i] > a->most)
            ((uint16_t *)t->out.data)[i] = (uint16_t)a->most;
    }
    return WI_EXIT_OK;
}

static void print_json(const wi_arguments *args, const weft_context *ctx, const task *t) {
    wi_json json;
    if (!wi_given(args, &wi_json_option))
        return;
    wi_json_open(&json);
    wi_json_string(&json, "op", "blend");
    wi_json_string(&json, "variant", weft_used(ctx, "blend"));
    wi_json_string(&json, "place", weft_place(ctx));
    wi_json_string(&json, "type", weft_type_name(t->out.type));
    wi_json_count(&json, "width", t->out.width);
    wi_json_count(&json, "height", t->out.height);
    wi_json_count(&json, "channels", t->out.channels);
    wi_json_string(&json, "output", wi_value(args, &wi_output_option));
    wi_json_close(&json);
}

static wi_exit execute(const wi_arguments *args) {
    weft_context *ctx = NULL;
    task t = {.a = {.data = NULL}};
    wi_exit result = wi_need_output(args);
    if (result == WI_EXIT_OK)
        result = read_weight(args, &t.call);
    if (result == WI_EXIT_OK)
        result = wi_session_open(args, "blend", &ctx);
    if (result == WI_EXIT_OK)
        result = load(args, &t);
    if (result == WI_EXIT_OK)
        result = compute(ctx, &t);
    if (result == WI_EXIT_OK)
        result = wi_picture_save(args, &t.out);
    if (result == WI_EXIT_OK)
        print_json(args, ctx, &t);
    wi_picture_free(&t.a);
    wi_picture_free(&t.b);
    wi_picture_free(&t.mask);
    wi_picture_free(&t.out);
    weft_close(ctx);
    return result;
}

static const wi_option *const options[] = {
    &weight_option,     &mask_option,    &wi_output_option, &wi_place_option,
    &wi_variant_option, &wi_json_option, &wi_help_option,   NULL};

const wi_command wi_blend_command = {
    .name = "blend",
    .operand_text = "A(.npy|.pgm|.ppm|.png) B",
    .summary = "two images become one",
    .details = "Adds W times the first image and 1 - W times the second, element by element, and "
               "rounds to nearest; what is beyond the range becomes its end. Both have the same "
               "size, channels and type: u8, u16, or arrays of f32. With a mask each pixel has a "
               "weight of its own. The name of the output says its kind: .png, .pgm, .ppm or .npy.",
    .examples = {{"weft blend a.png b.png --weight 0.3 -o c.png", "three tenths of a"},
                 {"weft blend a.png b.png --mask m.png -o c.png", "a where m is white"},
                 {"weft blend a.png b.png -w 2 -o c.png", "what a has and b has not, twice"}},
    .options = options,
    .ladder = "blend",
    .suffixes = "npy pgm ppm png",
    .writes_images = true,
    .least_operands = 2,
    .most_operands = 2,
    .run = execute,
};
