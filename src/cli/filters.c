/* SPDX-License-Identifier: Apache-2.0 */
/* The filters that `weft convolve` knows by name, and those from files. */
#include "cli/filters.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "cli/text.h"
#include "cli/words.h"

enum {
    MOST_SIDE = 4095 /* of a filter that is named */
};

static const double sobel_x[] = {-1, 0, 1, -2, 0, 2, -1, 0, 1};
static const double sobel_y[] = {-1, -2, -1, 0, 0, 0, 1, 2, 1};
static const double emboss_weights[] = {-2, -1, 0, -1, 1, 1, 0, 1, 2};

/* What comes after the colon of a name; `usual` without one. */
typedef struct request {
    const wi_arguments *args;
    const wi_option *option;
    const char *text, *after;
} request;

static wi_exit bad(const request *r, const char *why) {
    return wi_usage(r->args->command, "option --%s: \"%s\": %s", r->option->name, r->text, why);
}

static wi_exit take_memory(size_t width, size_t height, unsigned count, wi_filter *filter) {
    *filter = (wi_filter){.width = width, .height = height, .count = count, .correlates = true};
    filter->weights = wi_host_alloc(count * width * height * sizeof *filter->weights);
    if (filter->weights)
        return WI_EXIT_OK;
    wi_say_error("convolve: no memory for a filter of %zu x %zu", width, height);
    return WI_EXIT_FAILED;
}

/* A number; `usual` if there is none. */
static bool read_number(const char *text, double usual, double *number) {
    char *end = NULL;
    *number = usual;
    if (!text)
        return true;
    *number = strtod(text, &end);
    return end > text && *end == '\0' && isfinite(*number);
}

/* The Gaussian curve. 1 in the middle, even if sigma is so small that its square is 0. */
static double bell(double x, double sigma) {
    return x == 0 ? 1 : exp(-x * x / (2 * sigma * sigma));
}

/* exp(-r^2 / (2 sigma^2)) up to three sigma, divided by the sum. */
static wi_exit make_gauss(const request *r, wi_filter *filter) {
    double sigma;
    if (!read_number(r->after, 1, &sigma) || !(sigma > 0) || 2 * ceil(3 * sigma) + 1 > MOST_SIDE)
        return bad(r, "write gauss:SIGMA, with a number of pixels above 0 and up to 682");
    const size_t radius = (size_t)ceil(3 * sigma), side = 2 * radius + 1;
    const wi_exit result = take_memory(side, side, 1, filter);
    double sum = 0;
    for (size_t k = 0; k < side; k++)
        sum += bell((double)k - (double)radius, sigma);
    for (size_t k = 0; result == WI_EXIT_OK && k < side * side; k++) {
        const double y = (double)(k / side) - (double)radius,
                     x = (double)(k % side) - (double)radius;
        filter->weights[k] = bell(x, sigma) / sum * (bell(y, sigma) / sum);
    }
    return result;
}

/* The mean of a square. */
static wi_exit make_box(const request *r, wi_filter *filter) {
    size_t side = 3;
    if ((r->after && !wi_read_count(r->after, &side)) || side < 1 || side > MOST_SIDE)
        return bad(r, "write box:SIDE, with a whole number of pixels from 1 to 4095");
    const wi_exit result = take_memory(side, side, 1, filter);
    for (size_t k = 0; result == WI_EXIT_OK && k < side * side; k++)
        filter->weights[k] = 1 / (double)(side * side);
    return result;
}

static wi_exit make_sobel(const request *r, wi_filter *filter) {
    const bool both = !r->after, x = both || strcmp(r->after, "x") == 0;
    if (!x && strcmp(r->after, "y") != 0)
        return bad(r, "write sobel for the strength of edges, sobel:x or sobel:y");
    const wi_exit result = take_memory(3, 3, both ? 2 : 1, filter);
    if (result != WI_EXIT_OK)
        return result;
    memcpy(filter->weights, x ? sobel_x : sobel_y, sizeof sobel_x);
    if (both)
        memcpy(filter->weights + 9, sobel_y, sizeof sobel_y);
    return WI_EXIT_OK;
}

/* What a pixel differs from its four neighbours by, added to it. */
static wi_exit make_sharpen(const request *r, wi_filter *filter) {
    double amount;
    if (!read_number(r->after, 1, &amount))
        return bad(r, "write sharpen:AMOUNT, with a number");
    const wi_exit result = take_memory(3, 3, 1, filter);
    for (size_t k = 0; result == WI_EXIT_OK && k < 9; k++)
        filter->weights[k] = k == 4 ? 1 + 4 * amount : k % 2 ? -amount : 0;
    return result;
}

static wi_exit make_emboss(const request *r, wi_filter *filter) {
    if (r->after)
        return bad(r, "emboss takes no number");
    const wi_exit result = take_memory(3, 3, 1, filter);
    if (result == WI_EXIT_OK)
        memcpy(filter->weights, emboss_weights, sizeof emboss_weights);
    return result;
}

static const struct {
    const char *name;
    wi_exit (*make)(const request *r, wi_filter *filter);
} known[] = {{"gauss", make_gauss},
             {"box", make_box},
             {"sobel", make_sobel},
             {"sharpen", make_sharpen},
             {"emboss", make_emboss}};

void wi_list_filters(const wi_command *command, wi_words *words) {
    (void)command;
    for (size_t k = 0; k < sizeof known / sizeof *known; k++)
        wi_words_add(words, known[k].name);
}

/* Rows of weights of any type. */
static wi_exit load_filter(const request *r, wi_filter *filter) {
    wi_npy array;
    wi_note note = {""};
    wi_exit result = wi_load_any(r->args, r->text, NULL, &array);
    if (result != WI_EXIT_OK)
        return result;
    const wi_npy_layout *const l = &array.layout;
    if (l->dims < 1 || l->dims > 2 || l->count == 0) {
        wi_say_error(
            "%s: a filter is an array of rows and columns; this one has %zu dimensions and "
            "%zu elements",
            r->text, l->dims, l->count);
        result = WI_EXIT_FAILED;
    } else if (wi_npy_to_c_order(&array, &note) != WEFT_OK) {
        wi_say_error("%s", note.text);
        result = WI_EXIT_FAILED;
    } else {
        result = take_memory(l->shape[l->dims - 1], l->dims == 2 ? l->shape[0] : 1, 1, filter);
    }
    filter->correlates = false;
    for (size_t k = 0; result == WI_EXIT_OK && k < l->count; k++)
        filter->weights[k] =
            wi_element_value(l->type, (const char *)array.data + k * weft_type_size(l->type));
    wi_npy_free(&array);
    return result;
}

wi_exit wi_filter_make(const wi_arguments *args, const wi_option *option, const char *text,
                       wi_filter *filter) {
    const char *const colon = strchr(text, ':');
    const size_t length = colon ? (size_t)(colon - text) : strlen(text);
    const request r = {args, option, text, colon ? colon + 1 : NULL};
    *filter = (wi_filter){.weights = NULL};
    for (size_t k = 0; k < sizeof known / sizeof *known; k++)
        if (strlen(known[k].name) == length && strncmp(known[k].name, text, length) == 0)
            return known[k].make(&r, filter);
    if (wi_is_standard(text) || strchr(text, '.') || strchr(text, '/'))
        return load_filter(&r, filter);
    return wi_usage_word(args->command, "filter", text, wi_list_filters);
}

void wi_filter_free(wi_filter *filter) {
    wi_host_free(filter->weights);
    *filter = (wi_filter){.weights = NULL};
}
