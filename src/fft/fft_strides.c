/* SPDX-License-Identifier: Apache-2.0 */
/* The strides of a transform: those that were left out, and whether they put elements where they
 * may be. */
#include "fft/fft_strides.h"

enum {
    X = WI_FFT_X,
    Y = WI_FFT_Y
};

/* Strides that were left out: no gaps, but for rows of real numbers that share memory with complex
 * ones, which have room for both. */
static void fill_strides(const weft_fft_description *d, int array, bool in_place, size_t *strides,
                         size_t *apart) {
    size_t step = 1;
    bool are_given = false;
    for (unsigned k = 0; k < d->rank; k++)
        are_given = are_given || strides[k];
    for (unsigned k = d->rank; k > 0 && !are_given; k--) {
        const bool is_row = k == d->rank && wi_fft_is_real(d, array) && in_place;
        strides[k - 1] = step;
        const size_t length = wi_fft_length(d, array, k - 1); /* 0: a rank that has nothing */
        step *= is_row ? 2 * (d->n[k - 1] / 2 + 1) : length > 0 ? length : 1;
    }
    if (*apart)
        return;
    *apart = step;
    for (unsigned k = 0; k < d->rank && are_given; k++) {
        const size_t end = strides[k] * wi_fft_length(d, array, k);
        *apart = end > *apart ? end : *apart;
    }
}

size_t wi_fft_extent(const weft_fft_description *d, int array) {
    const size_t *const strides = array == X ? d->stride_x : d->stride_y;
    size_t last = 0, way;
    for (unsigned k = 0; k < d->rank; k++)
        if (__builtin_mul_overflow(wi_fft_length(d, array, k) - 1, strides[k], &way) ||
            __builtin_add_overflow(last, way, &last))
            return 0;
    if (__builtin_mul_overflow(d->batch - 1, array == X ? d->apart_x : d->apart_y, &way) ||
        __builtin_add_overflow(last, way, &last) || last > PTRDIFF_MAX / 32)
        return 0;
    return last + 1;
}

bool wi_fft_is_empty(const weft_fft_description *d, int array) {
    return d->batch == 0 || wi_fft_length(d, array, wi_fft_divided_dimension(d, array)) == 0;
}

static weft_status check_strides(weft_context *ctx, const char *call,
                                 const weft_fft_description *d) {
    for (int array = X; array <= Y; array++) {
        const char *const letter = array == X ? "x" : "y";
        const size_t *const strides = array == X ? d->stride_x : d->stride_y;
        for (unsigned k = 0; k < d->rank; k++)
            if (strides[k] == 0 && wi_fft_length(d, array, k) > 1)
                return wi_fail(ctx, WEFT_EARG,
                               "%s: stride_%s[%u] is 0 while others are not; pass all of them, or "
                               "none",
                               call, letter, k);
        if (!wi_fft_is_empty(d, array) && wi_fft_extent(d, array) == 0)
            return wi_fail(ctx, WEFT_EARG,
                           "%s: %s does not fit the address space; check stride_%s and apart_%s",
                           call, letter, letter, letter);
    }
    return WEFT_OK;
}

/* Do rows begin at the same addresses in x and y? */
static weft_status check_in_place(weft_context *ctx, const char *call,
                                  const weft_fft_description *d) {
    const size_t of_x = wi_fft_is_real(d, Y) ? 2 : 1, of_y = wi_fft_is_real(d, X) ? 2 : 1;
    const bool is_mixed = of_x * of_y == 2;
    bool agrees = d->batch == 1 || d->apart_x * of_x == d->apart_y * of_y;
    for (unsigned k = 0; k < d->rank; k++) {
        const bool is_last = k + 1 == d->rank;
        if (d->n[k] > 1)
            agrees =
                agrees && (is_mixed && is_last ? d->stride_x[k] == 1 && d->stride_y[k] == 1
                                               : d->stride_x[k] * of_x == d->stride_y[k] * of_y);
    }
    if (agrees)
        return WEFT_OK;
    return wi_fail(ctx, WEFT_EARG,
                   "%s: x and y are the same array, but their strides or distances put rows at "
                   "different addresses; pass equal ones%s",
                   call,
                   is_mixed ? ", twice as large for real numbers, and last strides of 1" : "");
}

/* ---- elements that share an address ---- */

enum {
    AXES = WEFT_FFT_DIMENSIONS + 1
};

/* What an array has several of, dimensions and the batch, by ascending distance. */
typedef struct axes {
    size_t step[AXES], length[AXES];
    unsigned count;
} axes;

static void add_axis(axes *a, size_t step, size_t length) {
    if (length < 2)
        return;
    unsigned k = a->count++;
    for (; k > 0 && a->step[k - 1] > step; k--) {
        a->step[k] = a->step[k - 1];
        a->length[k] = a->length[k - 1];
    }
    a->step[k] = step;
    a->length[k] = length;
}

static axes axes_of(const weft_fft_description *d, int array) {
    axes a = {.count = 0};
    for (unsigned k = 0; k < d->rank; k++)
        add_axis(&a, array == X ? d->stride_x[k] : d->stride_y[k], wi_fft_length(d, array, k));
    add_axis(&a, array == X ? d->apart_x : d->apart_y, d->batch);
    return a;
}

/* Does each step pass all that the shorter ones reach? */
static bool are_nested(const axes *a) {
    size_t reach = 0;
    for (unsigned k = 0; k < a->count; k++) {
        if (a->step[k] <= reach)
            return false;
        reach += a->step[k] * (a->length[k] - 1);
    }
    return true;
}

static size_t common_divisor(size_t a, size_t b) {
    while (b) {
        const size_t rest = a % b;
        a = b;
        b = rest;
    }
    return a;
}

/* Do some steps along axis i lead where some along axis j do? */
static bool meet(const axes *a, unsigned i, unsigned j) {
    const size_t common = common_divisor(a->step[i], a->step[j]);
    return a->step[j] / common < a->length[i] && a->step[i] / common < a->length[j];
}

/* Have these axes, a bit each, more elements than there are places among them? */
static bool are_crowded(const axes *a, unsigned which) {
    size_t elements = 1, places = 1;
    for (unsigned k = 0; k < a->count; k++)
        if (which >> k & 1) {
            elements *= a->length[k];
            places += a->step[k] * (a->length[k] - 1);
        }
    return elements > places;
}

/* Do two elements share an address? Sums of three and four axes that meet are only seen where they
 * are crowded. */
static bool repeats(const weft_fft_description *d, int array) {
    const axes a = axes_of(d, array);
    if (are_nested(&a))
        return false;
    for (unsigned j = 1; j < a.count; j++)
        for (unsigned i = 0; i < j; i++)
            if (meet(&a, i, j))
                return true;
    for (unsigned which = 1; which < 1u << a.count; which++)
        if (are_crowded(&a, which))
            return true;
    return false;
}

/* What is written has a place for each element; in place that is both arrays. */
static weft_status check_places(weft_context *ctx, const char *call, const weft_fft_description *d,
                                bool in_place) {
    for (int array = in_place ? X : Y; array <= Y; array++)
        if (!wi_fft_is_empty(d, array) && repeats(d, array))
            return wi_fail(ctx, WEFT_EARG,
                           "%s: several elements of %s have the same address; check stride_%c and "
                           "apart_%c",
                           call, array == Y ? "y" : "x, which is y,", "xy"[array], "xy"[array]);
    return WEFT_OK;
}

weft_status wi_fft_complete(weft_context *ctx, const char *call, bool in_place,
                            weft_fft_description *d) {
    fill_strides(d, X, in_place, d->stride_x, &d->apart_x);
    fill_strides(d, Y, in_place, d->stride_y, &d->apart_y);
    weft_status status = check_strides(ctx, call, d);
    if (status == WEFT_OK && in_place && !(d->layout & WI_FFT_DIVIDED))
        status = check_in_place(ctx, call, d);
    return status == WEFT_OK ? check_places(ctx, call, d, in_place) : status;
}
