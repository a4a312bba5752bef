/* SPDX-License-Identifier: Apache-2.0 */
/* fft's climb: one forward transform of n complex numbers. The problem is a wi_data of 2 n elements
 * whose x is the input and whose z is the output. Results are checked by some of them, computed
 * from the definition, and by Parseval's theorem for all. */
#include <math.h>
#include <stdio.h>

#include "climb/data.h"
#include "fft/fft.h"

enum {
    USUAL_N = 1 << 24,
    FIRST_N = 1 << 10,
    MOST_HALVES = 1 << 22, /* results of more would exceed what f16 holds */
    PROBES = 6
};

static weft_status make(const wi_setup *setup, void **problem) {
    wi_setup own = *setup;
    if (own.type == WEFT_F16 && own.n > MOST_HALVES)
        return wi_fail(setup->ctx, WEFT_EUNSUPPORTED, "climb: results of n > 2^22 overflow f16");
    if (__builtin_mul_overflow(own.n, (size_t)2, &own.n) || own.n > SIZE_MAX / 16)
        return wi_fail(setup->ctx, WEFT_ENOMEM,
                       "climb: %zu complex numbers exceed the address space; choose a smaller --n",
                       setup->n);
    return wi_data_make(&own, WI_DATA_PLACE, false, own.n * weft_type_size(own.type), problem);
}

static weft_status call(void *problem) {
    const wi_data *const data = problem;
    const weft_fft_description d = {
        .type = data->setup.type, .rank = 1, .n = {data->setup.n / 2}, .batch = 1};
    return weft_fft(data->setup.ctx, &d, data->x, data->z);
}

/* Which results are computed from the definition. */
static size_t probe_at(size_t n, int probe) {
    return probe == 0 ? 0 : (size_t)((double)n * (0.1234567 + 0.1618034 * probe)) % n;
}

typedef struct sums {
    double re[PROBES], im[PROBES], energy;
} sums;

static void sum_up(const wi_data *data, sums *s) {
    const size_t n = data->setup.n / 2;
    const double scale = wi_type_is_float(data->setup.type) ? 8 : 1, circle = 8 * atan(1.0);
    int64_t k[WI_DATA_CHUNK];
    *s = (sums){.energy = 0};
    for (size_t first = 0; first < 2 * n; first += WI_DATA_CHUNK) {
        const size_t count = 2 * n - first < WI_DATA_CHUNK ? 2 * n - first : WI_DATA_CHUNK;
        wi_data_draw(data, 0, first, count, k);
        for (size_t i = 0; i < count; i += 2) {
            const double re = (double)k[i] / scale, im = (double)k[i + 1] / scale;
            s->energy += re * re + im * im;
            for (int p = 0; p < PROBES; p++) {
                const unsigned __int128 turn =
                    (unsigned __int128)((first + i) / 2) * probe_at(n, p) % n;
                const double angle = circle * (double)turn / (double)n;
                s->re[p] += re * cos(angle) + im * sin(angle);
                s->im[p] += im * cos(angle) - re * sin(angle);
            }
        }
    }
}

static double part_of(const wi_data *data, size_t i) {
    const weft_type type = data->setup.type;
    return wi_element_value(type, (const char *)data->host_z + i * weft_type_size(type));
}

/* By how much a result may be wrong, compared with the norm of the input. Results of f16 are those
 * of f32, rounded once. */
static double room_of(weft_type type) {
    if (type == WEFT_F16)
        return 0x1p-9;
    return 64 * (type == WEFT_F64 ? 0x1p-52 : 0x1p-23) + 0x1p-44;
}

static bool check(void *problem, char *why, size_t bytes) {
    const wi_data *const data = problem;
    const size_t n = data->setup.n / 2;
    double energy = 0;
    sums s;
    if (!wi_data_try(problem, call, why, bytes))
        return false;
    sum_up(data, &s);
    for (size_t i = 0; i < 2 * n; i++)
        energy += part_of(data, i) * part_of(data, i);
    const double size = sqrt(s.energy), room = room_of(data->setup.type);
    if (!(fabs(energy / (double)n - s.energy) <= room * s.energy)) {
        snprintf(why, bytes, "the squares of the results add up to %.9g, should be %.9g", energy,
                 s.energy * (double)n);
        return false;
    }
    for (int p = 0; p < PROBES; p++) {
        const size_t k = probe_at(n, p);
        if (fabs(part_of(data, 2 * k) - s.re[p]) <= room * size &&
            fabs(part_of(data, 2 * k + 1) - s.im[p]) <= room * size)
            continue;
        snprintf(why, bytes, "result %zu is (%.9g, %.9g), should be (%.9g, %.9g)", k,
                 part_of(data, 2 * k), part_of(data, 2 * k + 1), s.re[p], s.im[p]);
        return false;
    }
    return true;
}

/* Read once and written once. */
static void describe(const void *problem, const char *rung, wi_facts *facts) {
    const wi_data *const data = problem;
    (void)rung;
    *facts =
        (wi_facts){.size = wi_size_of(data->setup.n / 2),
                   .bytes = 2.0 * (double)data->setup.n * (double)weft_type_size(data->setup.type),
                   .roof = WI_ROOF_COPY};
}

const wi_climb wi_fft_climb = {
    .ladder = &wi_fft_ladder,
    .example = "transform of complex numbers",
    .type = WEFT_F32,
    .types = WI_TYPE(WEFT_F16) | WI_TYPE(WEFT_F32) | WI_TYPE(WEFT_F64),
    .first_n = FIRST_N,
    .usual_n = USUAL_N,
    .make = make,
    .call = call,
    .check = check,
    .describe = describe,
    .drop = wi_data_drop,
};
