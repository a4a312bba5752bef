/* SPDX-License-Identifier: Apache-2.0 */
/* Where calls run: on the cpu or, if they are large enough to pay the way of their arrays, on the
 * place that the environment names. Both contexts are opened when they are first needed, once for
 * the process; one call at a time uses them. */
#include <locale.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "blas.h"

/* Below so much work a plain loop has ended before libweft has looked at its arguments. */
static const double usual_large_flops = 1 << 14;
/* Below so much work the arrays are not worth their way to a GPU; nor are they if each byte of them
 * is used for less. */
static const double usual_far_flops = 1e9, usual_far_flops_a_byte = 32;

static pthread_mutex_t guard = PTHREAD_MUTEX_INITIALIZER;
static pthread_once_t once = PTHREAD_ONCE_INIT;

static struct {
    double large_flops, far_flops, far_flops_a_byte;
    const char *far_place; /* NULL: the best there is */
    weft_context *near, *far;
    bool has_far; /* false once there proved to be none */
} state;

/* A number of the environment, with a point whatever the program's locale is. */
static double number_of(const char *variable, double usual) {
    const char *const text = getenv(variable);
    const locale_t plain = text ? newlocale(LC_ALL_MASK, "C", (locale_t)0) : (locale_t)0;
    char *end;
    if (!plain)
        return usual;
    const locale_t users = uselocale(plain);
    const double value = strtod(text, &end);
    uselocale(users);
    freelocale(plain);
    return end == text || *end || !(value >= 0) ? usual : value;
}

static bool is_cpu(const char *place) {
    return strncmp(place, "cpu", 3) == 0;
}

static void read_environment(void) {
    const char *place = getenv("WEFT_BLAS_PLACE");
    if (!place || !*place)
        place = getenv("WEFT_PLACE");
    state.far_place = place && *place ? place : NULL;
    state.has_far = !state.far_place || !is_cpu(state.far_place);
    state.large_flops = number_of("WEFT_BLAS_LARGE_FLOPS", usual_large_flops);
    state.far_flops = number_of("WEFT_BLAS_GPU_FLOPS", usual_far_flops);
    state.far_flops_a_byte = number_of("WEFT_BLAS_GPU_FLOPS_A_BYTE", usual_far_flops_a_byte);
}

bool wb_is_large(double flops) {
    pthread_once(&once, read_environment);
    return flops >= state.large_flops;
}

/* Opens the context of a place that is not a cpu; NULL: there is none. */
static weft_context *far_context(void) {
    if (!state.far && state.has_far) {
        if (weft_open(&state.far, state.far_place ? state.far_place : "gpu") != WEFT_OK)
            state.far = NULL;
        state.has_far = state.far != NULL;
    }
    return state.far;
}

static weft_context *near_context(void) {
    const char *const place = state.far_place && is_cpu(state.far_place) ? state.far_place : "cpu";
    if (!state.near && weft_open(&state.near, place) != WEFT_OK)
        state.near = NULL;
    return state.near;
}

bool wb_run(double flops, double bytes, wb_call *call, const void *args) {
    weft_status status = WEFT_EDEVICE;
    pthread_once(&once, read_environment);
    pthread_mutex_lock(&guard);
    if (flops >= state.far_flops && flops >= state.far_flops_a_byte * bytes && far_context())
        status = call(state.far, args);
    if (status != WEFT_OK && near_context())
        status = call(state.near, args);
    pthread_mutex_unlock(&guard);
    return status == WEFT_OK;
}
