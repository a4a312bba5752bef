/* SPDX-License-Identifier: Apache-2.0 */
/* Bodies for `weft nbody`, and pictures of them. */
#include "cli/bodies.h"

#include <math.h>

static const double pi = 3.14159265358979323846;

/* ---- seeded numbers ---- */

/* The next number of a sequence, in (0, 1). */
static double draw(uint64_t *state) {
    uint64_t z = *state += 0x9e3779b97f4a7c15u;
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
    return ((double)((z ^ (z >> 31)) >> 12) + 0.5) * 0x1p-52;
}

/* A vector of this length, of any direction. */
static void draw_direction(uint64_t *state, double length, double v[3]) {
    const double c = 2 * draw(state) - 1, angle = 2 * pi * draw(state), s = sqrt(1 - c * c);
    v[0] = length * s * cos(angle);
    v[1] = length * s * sin(angle);
    v[2] = length * c;
}

/* ---- shapes ---- */

static void put(const wi_bodies *b, size_t i, const double x[3], const double v[3], double mass) {
    for (size_t k = 0; k < 3; k++) {
        if (b->type == WEFT_F32) {
            ((float *)b->positions)[4 * i + k] = (float)x[k];
            ((float *)b->velocities)[3 * i + k] = (float)v[k];
        } else {
            ((double *)b->positions)[4 * i + k] = x[k];
            ((double *)b->velocities)[3 * i + k] = v[k];
        }
    }
    if (b->type == WEFT_F32)
        ((float *)b->positions)[4 * i + 3] = (float)mass;
    else
        ((double *)b->positions)[4 * i + 3] = mass;
}

/* The radius within which a share `inside` of a sphere's mass lies, in units of its scale. */
static double sphere_radius(double inside) {
    return 1 / sqrt(pow(inside, -2.0 / 3) - 1);
}

/* A share q of the escape velocity, by rejection: its density is q^2 (1 - q^2)^(7/2), at most 0.1.
 */
static double sphere_speed(uint64_t *state) {
    double q, y;
    do {
        q = draw(state);
        y = 0.1 * draw(state);
    } while (y > q * q * pow(1 - q * q, 3.5));
    return q;
}

void wi_make_sphere(wi_bodies *b, uint64_t seed) {
    uint64_t state = seed;
    for (size_t i = 0; i < b->n; i++) {
        double x[3], v[3];
        const double r = sphere_radius(0.99 * draw(&state));
        draw_direction(&state, r, x);
        draw_direction(&state, sphere_speed(&state) * sqrt(2) * pow(1 + r * r, -0.25), v);
        put(b, i, x, v, 1 / (double)b->n);
    }
    b->view = 4;
    b->second = b->n;
}

static const double bulge = 0.25, bulge_scale = 0.2; /* its share of the mass; its radius */

/* The mass of a galaxy within r, as if it were round. */
static double mass_within(double r) {
    const double disc = 1 - (1 + r) * exp(-r);
    return (1 - bulge) * disc + bulge * pow(r * r / (r * r + bulge_scale * bulge_scale), 1.5);
}

/* A body of a galaxy at rest in the origin, in the plane z = 0. */
static void draw_star(uint64_t *state, double x[3], double v[3]) {
    if (draw(state) < bulge) {
        const double r = bulge_scale * sphere_radius(0.95 * draw(state));
        draw_direction(state, r, x);
        draw_direction(state, sqrt(mass_within(r) / r / 2), v);
        return;
    }
    const double angle = 2 * pi * draw(state);
    const double r = -log(draw(state) * draw(state)); /* density r exp(-r) */
    const double within = r < 6 ? r : 6 * draw(state), speed = sqrt(mass_within(within) / within);
    x[0] = within * cos(angle);
    x[1] = within * sin(angle);
    x[2] = 0.05 * (draw(state) + draw(state) - 1);
    draw_direction(state, 0.25 * speed * draw(state), v); /* a cold disc would fall into lumps */
    v[0] -= speed * sin(angle);
    v[1] += speed * cos(angle);
}

void wi_make_galaxies(wi_bodies *b, uint64_t seed) {
    static const double place[3] = {3.5, 1, 0}, speed[3] = {-0.4, 0, 0};
    uint64_t state = seed;
    b->second = b->n - b->n / 2;
    for (size_t i = 0; i < b->n; i++) {
        const bool is_second = i >= b->second;
        const double count = (double)(is_second ? b->n / 2 : b->second);
        const double side = is_second ? -1 : 1, tilt = is_second ? 1.1 : 0.3;
        double x[3], v[3], turned_x[3], turned_v[3];
        draw_star(&state, x, v);
        for (size_t k = 0; k < 3; k++) { /* about the first axis */
            const double c = k ? cos(tilt) : 1, s = k == 0 ? 0 : k == 1 ? -sin(tilt) : sin(tilt);
            turned_x[k] = side * place[k] + c * x[k] + s * x[3 - k - (k == 0)];
            turned_v[k] = side * speed[k] + c * v[k] + s * v[3 - k - (k == 0)];
        }
        put(b, i, turned_x, turned_v, 1 / count);
    }
    b->view = 7;
}

/* ---- pictures ---- */

static double coordinate(const wi_bodies *b, size_t i, size_t k) {
    return b->type == WEFT_F32 ? (double)((const float *)b->positions)[4 * i + k]
                               : ((const double *)b->positions)[4 * i + k];
}

/* How bright so many bodies are, from 0 to 1: with the logarithm, so that thin parts are seen. */
static double brightness(double count, double full) {
    return count <= 0 ? 0 : count >= full ? 1 : log1p(count) / log1p(full);
}

/* The first galaxy is drawn in orange, the second in blue; where both are bright it gets white. */
static void colour(const float count[2], double full, uint8_t pixel[3]) {
    static const double orange[3] = {1, 0.62, 0.28}, blue[3] = {0.35, 0.6, 1};
    const double first = brightness(count[0], full), second = brightness(count[1], full);
    for (int k = 0; k < 3; k++) {
        const double light = first * orange[k] + second * blue[k] + first * first * 0.3;
        pixel[k] = (uint8_t)lround(255 * (light < 1 ? light : 1));
    }
}

/* Each body lights a pixel and, less, those around it. */
static void light(float *counts, size_t side, double column, double row, bool is_second) {
    static const float share[3] = {1, 0.5F, 0.25F}; /* by the distance */
    if (!(column >= 1 && column < (double)side - 1 && row >= 1 && row < (double)side - 1))
        return;
    for (size_t r = 0; r < 3; r++)
        for (size_t c = 0; c < 3; c++)
            counts[2 * (((size_t)row + r - 1) * side + (size_t)column + c - 1) + is_second] +=
                share[(r != 1) + (c != 1)];
}

bool wi_draw_bodies(const wi_bodies *b, size_t side, wi_image *image) {
    const size_t pixels = side * side;
    const double scale = (double)side / (2 * b->view);
    float *const counts = wi_host_alloc(2 * pixels * sizeof *counts);
    *image = (wi_image){.width = side,
                        .height = side,
                        .channels = 3,
                        .type = WEFT_U8,
                        .most = UINT8_MAX,
                        .data = wi_host_alloc(3 * pixels)};
    const bool has_memory = counts && image->data;
    for (size_t p = 0; has_memory && p < 2 * pixels; p++)
        counts[p] = 0;
    for (size_t i = 0; has_memory && i < b->n; i++)
        light(counts, side, (coordinate(b, i, 0) + b->view) * scale,
              (b->view - coordinate(b, i, 1)) * scale, i >= b->second);
    const double full = 2 + 300 * (double)b->n / (double)pixels;
    for (size_t p = 0; has_memory && p < pixels; p++)
        colour(counts + 2 * p, full, (uint8_t *)image->data + 3 * p);
    wi_host_free(counts);
    if (!has_memory)
        wi_image_free(image);
    return has_memory;
}
