/* SPDX-License-Identifier: Apache-2.0 */
/* `weft nbody`: bodies under gravity, their energy, and a picture of them. */
#include "weft/nbody.h"

#include <math.h>
#include <string.h>

#include "cli/bodies.h"
#include "cli/session.h"
#include "cli/text.h"

enum {
    USUAL_N = 65536,
    USUAL_STEPS = 1000,
    MOST_FRAMES = 9999,
    PATH_BYTES = 4096,
    SIDE = 1024, /* of a picture */
    CHUNK = 10   /* steps between two lines of progress */
};

static void list_shapes(const wi_command *command, wi_words *words) {
    (void)command;
    wi_words_add(words, "galaxies");
    wi_words_add(words, "sphere");
}

static const wi_option shape_option = {.name = "shape",
                                       .value = "SHAPE",
                                       .help = "galaxies (if not given): two that meet; or sphere",
                                       .list = list_shapes};
static const wi_option steps_option = {
    .name = "steps", .value = "COUNT", .help = "time steps; default 1000"};
static const wi_option dt_option = {.name = "dt", .value = "T", .help = "of a step; default 0.01"};
static const wi_option softening_option = {
    .name = "softening", .value = "LENGTH", .help = "default 0.03"};
static const wi_option tolerance_option = {
    .name = "tolerance",
    .value = "ERROR",
    .help = "relative error that accelerations may have: then a tree is used if that is faster"};
static const wi_option plot_option = {.name = "plot",
                                      .value = "FILE",
                                      .help = "draw the bodies, at the end, to a .png or .ppm",
                                      .file = WI_FILE_WRITTEN};
static const wi_option frames_option = {
    .name = "frames",
    .value = "COUNT",
    .help = "draw so many pictures on the way, to NAME-0001.png and on"};

/* One run of the command. */
typedef struct task {
    weft_nbody system;
    wi_bodies bodies;
    size_t steps, frames;
    double dt;
    void *positions, *velocities; /* of the place */
    double before, after;         /* energies */
    double seconds, error;
    bool has_error;
} task;

/* ---- the command line ---- */

static wi_exit read_real(const wi_arguments *args, const wi_option *option, double least,
                         double *value) {
    const char *const text = wi_value(args, option);
    if (!text)
        return WI_EXIT_OK;
    if (wi_read_element(WEFT_F64, text, value) && isfinite(*value) && *value >= least)
        return WI_EXIT_OK;
    return wi_usage(args->command, "option --%s: \"%s\" is not a %snumber; write 0.01",
                    option->name, text, least < 0 ? "" : "positive ");
}

static wi_exit read_count(const wi_arguments *args, const wi_option *option, size_t least,
                          size_t most, size_t *value) {
    const char *const text = wi_value(args, option);
    if (!text)
        return WI_EXIT_OK;
    if (wi_read_count(text, value) && *value >= least && *value <= most)
        return WI_EXIT_OK;
    return wi_usage(args->command, "option --%s: \"%s\" is not a count from %zu to %zu; write 100",
                    option->name, text, least, most);
}

static wi_exit read_task(const wi_arguments *args, task *t) {
    const char *const shape = wi_value(args, &shape_option);
    *t = (task){.system = {.type = WEFT_F32, .n = USUAL_N, .softening = 0.03},
                .steps = USUAL_STEPS,
                .dt = 0.01};
    if (wi_given(args, &wi_type_option))
        t->system.type = args->type;
    if (wi_given(args, &wi_n_option))
        t->system.n = args->n;
    if (t->system.type != WEFT_F32 && t->system.type != WEFT_F64)
        return wi_usage(args->command, "option --type: there are f32 and f64");
    if (t->system.n < 2 || t->system.n > INT32_MAX)
        return wi_usage(args->command, "option --n: choose 2 to 2147483647 bodies");
    if (shape && strcmp(shape, "galaxies") != 0 && strcmp(shape, "sphere") != 0)
        return wi_usage_word(args->command, "shape", shape, list_shapes);
    wi_exit result = read_count(args, &steps_option, 0, SIZE_MAX / 2, &t->steps);
    if (result == WI_EXIT_OK)
        result = read_count(args, &frames_option, 1, MOST_FRAMES, &t->frames);
    if (result == WI_EXIT_OK)
        result = read_real(args, &dt_option, -HUGE_VAL, &t->dt);
    if (result == WI_EXIT_OK)
        result = read_real(args, &softening_option, 0, &t->system.softening);
    if (result == WI_EXIT_OK)
        result = read_real(args, &tolerance_option, 0, &t->system.tolerance);
    if (result == WI_EXIT_OK && t->frames && !wi_given(args, &plot_option))
        result = wi_usage(args->command, "option --frames: add --plot out.png, which names them");
    return result;
}

static wi_exit check_plot(const wi_arguments *args) {
    const char *const path = wi_value(args, &plot_option);
    if (!path)
        return WI_EXIT_OK;
    if (!wi_ends_in(path, ".png") && !wi_ends_in(path, ".ppm"))
        return wi_usage(args->command,
                        "option --plot: the name %s does not say which kind of file; end it in "
                        ".png or .ppm",
                        path);
    if (strlen(path) + 8 > PATH_BYTES)
        return wi_usage(args->command, "option --plot: the name is too long");
    return wi_check_writable(args, &plot_option);
}

/* ---- pictures ---- */

static wi_exit save_picture(const wi_bodies *bodies, const char *path) {
    wi_image image;
    wi_output output;
    wi_note note = {""};
    if (!wi_draw_bodies(bodies, SIDE, &image)) {
        wi_say_error("nbody: no memory for a picture");
        return WI_EXIT_FAILED;
    }
    const wi_exit result = wi_output_open(path, &output);
    if (result != WI_EXIT_OK) {
        wi_image_free(&image);
        return result;
    }
    const weft_status status = wi_ends_in(path, ".png")
                                   ? wi_png_write(output.file, output.name, &image, &note)
                                   : wi_pnm_write(output.file, output.name, &image, &note);
    wi_image_free(&image);
    if (status != WEFT_OK)
        wi_say_error("%s", note.text);
    return wi_output_end(&output, status == WEFT_OK);
}

/* Draws the bodies as they are now: frame `frame`, or with 0 the last picture. */
static wi_exit draw(const wi_arguments *args, weft_context *ctx, task *t, size_t frame) {
    const char *const path = wi_value(args, &plot_option);
    char name[PATH_BYTES];
    if (!path)
        return WI_EXIT_OK;
    const size_t bytes = 4 * t->bodies.n * weft_type_size(t->bodies.type);
    if (weft_copy(ctx, t->bodies.positions, t->positions, bytes) != WEFT_OK)
        return wi_session_failed(ctx);
    if (frame)
        snprintf(name, sizeof name, "%.*s-%04zu%s", (int)(strlen(path) - 4), path, frame,
                 path + strlen(path) - 4);
    return save_picture(&t->bodies, frame ? name : path);
}

/* ---- the run ---- */

static wi_exit make_bodies(const wi_arguments *args, weft_context *ctx, task *t) {
    const char *const shape = wi_value(args, &shape_option);
    const size_t n = t->system.n, size = weft_type_size(t->system.type);
    t->bodies = (wi_bodies){.type = t->system.type,
                            .n = n,
                            .positions = wi_host_alloc(4 * n * size),
                            .velocities = wi_host_alloc(3 * n * size)};
    if (!t->bodies.positions || !t->bodies.velocities) {
        wi_say_error("nbody: no memory for %zu bodies", n);
        return WI_EXIT_FAILED;
    }
    const uint64_t seed = wi_given(args, &wi_seed_option) ? args->seed : 1;
    if (shape && strcmp(shape, "sphere") == 0)
        wi_make_sphere(&t->bodies, seed);
    else
        wi_make_galaxies(&t->bodies, seed);
    if (weft_alloc(ctx, &t->positions, 4 * n * size) != WEFT_OK ||
        weft_alloc(ctx, &t->velocities, 3 * n * size) != WEFT_OK ||
        weft_copy(ctx, t->positions, t->bodies.positions, 4 * n * size) != WEFT_OK ||
        weft_copy(ctx, t->velocities, t->bodies.velocities, 3 * n * size) != WEFT_OK)
        return wi_session_failed(ctx);
    return WI_EXIT_OK;
}

static wi_exit find_energy(weft_context *ctx, const task *t, double *energy) {
    double both[2];
    if (weft_nbody_energy(ctx, &t->system, t->positions, NULL, t->velocities, both) != WEFT_OK)
        return wi_session_failed(ctx);
    *energy = both[0] + both[1];
    return WI_EXIT_OK;
}

static double drift(const task *t) {
    return t->before == 0 ? 0 : (t->after - t->before) / fabs(t->before);
}

/* The error of the tree's accelerations of the last positions. */
static wi_exit find_error(weft_context *ctx, task *t) {
    void *room = NULL;
    if (t->system.tolerance == 0)
        return WI_EXIT_OK;
    if (weft_alloc(ctx, &room, 3 * t->system.n * weft_type_size(t->system.type)) != WEFT_OK ||
        weft_nbody_accelerations(ctx, &t->system, t->positions, NULL, room, NULL, &t->error) !=
            WEFT_OK)
        return weft_free(ctx, room), wi_session_failed(ctx);
    t->has_error = true;
    return weft_free(ctx, room) == WEFT_OK ? WI_EXIT_OK : wi_session_failed(ctx);
}

/* Goes `steps` further. */
static wi_exit go(weft_context *ctx, task *t, size_t done, size_t steps) {
    const double began = wi_now();
    if (weft_nbody_step(ctx, &t->system, t->dt, steps, t->positions, NULL, t->velocities) !=
            WEFT_OK ||
        weft_sync(ctx) != WEFT_OK)
        return wi_session_failed(ctx);
    t->seconds += wi_now() - began;
    wi_progress("nbody: step %zu of %zu, %.0f %%", done + steps, t->steps,
                100 * (double)(done + steps) / (double)t->steps);
    return WI_EXIT_OK;
}

/* Chunks end where a frame is due. */
static wi_exit simulate(const wi_arguments *args, weft_context *ctx, task *t) {
    size_t done = 0, frame = 0;
    wi_exit result = find_energy(ctx, t, &t->before);
    while (result == WI_EXIT_OK && done < t->steps) {
        const size_t due =
            frame < t->frames ? (size_t)((double)t->steps * (double)(frame + 1) / (double)t->frames)
                              : t->steps;
        const size_t left = due > done ? due - done : 0, steps = left < CHUNK ? left : CHUNK;
        if (steps)
            result = go(ctx, t, done, steps);
        done += steps;
        if (result == WI_EXIT_OK && frame < t->frames && done >= due)
            result = draw(args, ctx, t, ++frame);
    }
    wi_progress_end();
    if (result == WI_EXIT_OK)
        result = find_energy(ctx, t, &t->after);
    if (result == WI_EXIT_OK)
        result = find_error(ctx, t);
    return result;
}

static void print_result(const wi_arguments *args, const weft_context *ctx, const task *t) {
    char time[WI_FIELD_BYTES];
    wi_json json;
    if (wi_given(args, &wi_json_option)) {
        wi_json_open(&json);
        wi_json_string(&json, "op", "nbody");
        wi_json_string(&json, "variant", weft_used(ctx, "nbody"));
        wi_json_string(&json, "place", weft_place(ctx));
        wi_json_string(&json, "type", weft_type_name(t->system.type));
        wi_json_count(&json, "n", t->system.n);
        wi_json_count(&json, "steps", t->steps);
        wi_json_number(&json, "seconds", t->seconds);
        wi_json_number(&json, "energy_before", t->before);
        wi_json_number(&json, "energy_after", t->after);
        wi_json_number(&json, "energy_drift", drift(t));
        wi_json_known(&json, "error", t->has_error, t->error);
        wi_json_string(&json, "plot", wi_value(args, &plot_option));
        wi_json_close(&json);
        return;
    }
    printf("%zu bodies, %zu step%s on %s by %s: %s\n", t->system.n, t->steps, wi_plural(t->steps),
           weft_place(ctx), weft_used(ctx, "nbody"), wi_format_seconds(t->seconds, time));
    printf("energy %.9g, at the end %.9g: drift %.2e\n", t->before, t->after, drift(t));
    if (t->has_error)
        printf("accelerations at the end: rms relative error %.2e, tolerance %.2e\n", t->error,
               t->system.tolerance);
}

static wi_exit execute(const wi_arguments *args) {
    weft_context *ctx = NULL;
    task t;
    wi_exit result = read_task(args, &t);
    if (result == WI_EXIT_OK)
        result = check_plot(args);
    if (result == WI_EXIT_OK)
        result = wi_session_open(args, "nbody", &ctx);
    if (result == WI_EXIT_OK)
        result = make_bodies(args, ctx, &t);
    if (result == WI_EXIT_OK)
        result = simulate(args, ctx, &t);
    if (result == WI_EXIT_OK)
        result = draw(args, ctx, &t, 0);
    if (result == WI_EXIT_OK)
        print_result(args, ctx, &t);
    wi_host_free(t.bodies.positions);
    wi_host_free(t.bodies.velocities);
    if (ctx) {
        weft_free(ctx, t.positions);
        weft_free(ctx, t.velocities);
    }
    weft_close(ctx);
    return result;
}

static const wi_option *const options[] = {
    &wi_n_option,       &steps_option,   &shape_option,     &dt_option,       &softening_option,
    &plot_option,       &frames_option,  &tolerance_option, &wi_place_option, &wi_type_option,
    &wi_variant_option, &wi_seed_option, &wi_json_option,   &wi_help_option,  NULL};

const wi_command wi_nbody_command = {
    .name = "nbody",
    .operand_text = "",
    .summary = "bodies under gravity: two galaxies or a sphere, and a picture",
    .details =
        "Makes bodies, moves them by leapfrog (kick, drift, kick), and prints by how much their "
        "energy has changed. G is 1, and so is the mass of a galaxy or of the sphere; the scale of "
        "both is about 1. The same seed gives the same bodies. With --tolerance distant bodies may "
        "be replaced by cells of a tree, and the error of accelerations is measured at the end.",
    .examples = {{"weft nbody --n 65536 --steps 1000 --plot out.png", "two galaxies meet"},
                 {"weft nbody --shape sphere --n 1e4 --steps 100 -t f64", "a sphere in balance"},
                 {"weft nbody --n 1e6 --tolerance 1e-3 --frames 60 --plot f.png", "by a tree"}},
    .options = options,
    .ladder = "nbody",
    .run = execute,
};
