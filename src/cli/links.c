/* SPDX-License-Identifier: Apache-2.0 */
/* `weft links`: who reaches whom, and what every link carries. */
#include "climb/links.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "cli/links_ranks.h"
#include "cli/machine.h"
#include "cli/nominal.h"
#include "cli/options.h"
#include "cli/output.h"
#include "cli/pairs.h"
#include "cli/text.h"
#include "core/gpu.h"

enum {
    USUAL_BYTES = 64 << 20,
    LEAST_BYTES = 1024,
    MOST_ENDS = WI_MOST_GPUS + 2 /* the GPUs, pinned and pageable host memory */
};

const wi_option wi_links_bytes_option = {
    .name = "bytes", .value = "N", .help = "bytes of a copy, as 2^26 (that if not given) or 64Mi"};
const wi_option wi_links_plot_option = {.name = "plot",
                                        .value = "FILE",
                                        .help = "draw the matrix of rates one way, as SVG",
                                        .file = WI_FILE_WRITTEN};
static const wi_option staged_option = {
    .name = "staged", .help = "between GPUs through host memory, as if none reached another"};

/* All links of a machine. */
typedef struct links {
    int gpus;
    size_t bytes;
    bool staged;
    wi_link of[MOST_ENDS][MOST_ENDS]; /* from, to; the last two are host memory */
} links;

/* The end with number k in the matrices. */
static int end_of(const links *l, int k) {
    if (k < l->gpus)
        return k;
    return k == l->gpus ? WI_END_PINNED : WI_END_PAGEABLE;
}

static const char *name_of(const links *l, int k, char out[WI_FIELD_BYTES]) {
    if (k < l->gpus)
        snprintf(out, WI_FIELD_BYTES, "gpu:%d", k);
    else
        snprintf(out, WI_FIELD_BYTES, "%s", k == l->gpus ? "pinned" : "pageable");
    return out;
}

/* Is there such a link: between different ends, at least one of which is a GPU? */
static bool is_link(const links *l, int from, int to) {
    return from != to && (from < l->gpus || to < l->gpus);
}

/* ---- measuring ---- */

static wi_exit measure_one(links *l, int from, int to) {
    char a[WI_FIELD_BYTES], b[WI_FIELD_BYTES], place[WI_PLACE_BYTES];
    weft_context *ctx = NULL;
    wi_link *const link = &l->of[from][to];
    wi_progress("links: %s to %s", name_of(l, from, a), name_of(l, to, b));
    snprintf(place, sizeof place, "gpu:%d", from < l->gpus ? from : to);
    weft_status status = weft_open(&ctx, place);
    if (status == WEFT_OK)
        status = wi_link_measure(ctx, end_of(l, from), end_of(l, to), l->bytes, l->staged, link);
    if (status != WEFT_OK || link->broken) {
        wi_progress_end();
        wi_say_error("links: %s to %s: %s%s", name_of(l, from, a), name_of(l, to, b),
                     status != WEFT_OK ? weft_message(ctx) : "data arrived wrong: ",
                     status == WEFT_OK ? link->broken : "");
    }
    weft_close(ctx);
    return status == WEFT_OK && !link->broken ? WI_EXIT_OK : WI_EXIT_FAILED;
}

static wi_exit measure_all(links *l) {
    wi_exit result = WI_EXIT_OK;
    for (int from = 0; from < l->gpus + 2; from++) {
        for (int to = 0; to < l->gpus + 2; to++) {
            if (is_link(l, from, to) && measure_one(l, from, to) != WI_EXIT_OK)
                result = WI_EXIT_FAILED;
        }
    }
    wi_progress_end();
    return result;
}

/* ---- showing ---- */

static const char *pair_name(const void *user, int end, char out[WI_FIELD_BYTES]) {
    return name_of(user, end, out);
}

static void reach_cell(const void *user, int from, int to, char out[WI_FIELD_BYTES]) {
    const links *const l = user;
    snprintf(out, WI_FIELD_BYTES, "%s", l->of[from][to].direct ? "direct" : "by host");
}

static void one_way_cell(const void *user, int from, int to, char out[WI_FIELD_BYTES]) {
    const links *const l = user;
    *out = '\0';
    if (is_link(l, from, to))
        snprintf(out, WI_FIELD_BYTES, "%.4g", l->of[from][to].one_way / 1e9);
}

static void both_ways_cell(const void *user, int from, int to, char out[WI_FIELD_BYTES]) {
    const links *const l = user;
    const double rate = l->of[from][to].both_ways;
    *out = '\0';
    if (is_link(l, from, to))
        snprintf(out, WI_FIELD_BYTES, rate > 0 ? "%.4g" : "-", rate / 1e9);
}

static void latency_cell(const void *user, int from, int to, char out[WI_FIELD_BYTES]) {
    const links *const l = user;
    *out = '\0';
    if (is_link(l, from, to))
        snprintf(out, WI_FIELD_BYTES, "%.3g", l->of[from][to].latency * 1e6);
}

/* ---- verdicts ---- */

static wi_nominal nominal_of(const links *l, int from, int to) {
    wi_gpu_facts facts;
    const wi_link *const link = &l->of[from][to];
    const bool between = from < l->gpus && to < l->gpus;
    const bool pageable = from > l->gpus || to > l->gpus;
    const int gpu = from < l->gpus ? from : to;
    if (pageable || (between && !link->direct) || !wi_gpu_describe(gpu, &facts))
        return (wi_nominal){0};
    return between ? wi_nominal_between(&facts, link->one_way)
                   : wi_nominal_to_host(&facts, link->one_way);
}

/* A line on the links between GPUs, or between GPUs and pinned memory: the worst decides. */
static void print_verdict(const links *l, bool between) {
    wi_nominal worst = {0};
    double measured = 0, share = 2;
    int known = 0;
    for (int from = 0; from <= l->gpus; from++) {
        for (int to = 0; to <= l->gpus; to++) {
            if (!is_link(l, from, to) || (from < l->gpus && to < l->gpus) != between)
                continue;
            const wi_nominal nominal = nominal_of(l, from, to);
            const double rate = l->of[from][to].one_way;
            known += nominal.bytes_per_s > 0;
            if (nominal.bytes_per_s > 0 && rate / nominal.bytes_per_s < share) {
                share = rate / nominal.bytes_per_s;
                worst = nominal;
                measured = rate;
            }
        }
    }
    if (known == 0)
        return;
    wi_print_line(stdout, 2, "%s: %s: at least %.4g GB/s of %.4g, %.0f %% (%s)",
                  between ? "between GPUs" : "GPUs and pinned memory", wi_verdict(&worst, measured),
                  measured / 1e9, worst.bytes_per_s / 1e9, 100 * share, worst.name);
}

static void print_verdicts(const links *l) {
    putchar('\n');
    wi_print_line(stdout, 2, "%sis this normal?%s", wi_style_on(stdout, WI_BOLD),
                  wi_style_on(stdout, WI_PLAIN));
    print_verdict(l, false);
    print_verdict(l, true);
    wi_print_line(stdout, 2, "normal: 78 %% and more of the nominal rate; low: 55 %%; poor: less");
}

/* ---- tables ---- */

static wi_pairs pairs_of(const links *l, const char *title, int ends,
                         void (*cell)(const void *, int, int, char *)) {
    return (wi_pairs){title, ends, l, pair_name, cell};
}

static void print_pairs(const links *l, const char *title, int ends,
                        void (*cell)(const void *, int, int, char *)) {
    const wi_pairs pairs = pairs_of(l, title, ends, cell);
    wi_print_pairs(&pairs);
}

static wi_exit draw(const wi_arguments *args, const links *l) {
    wi_output output;
    char note[128];
    const wi_exit result = wi_output_open(wi_value(args, &wi_links_plot_option), &output);
    if (result != WI_EXIT_OK)
        return result;
    const wi_pairs pairs = pairs_of(l, "one way, GB/s", l->gpus + 2, one_way_cell);
    snprintf(note, sizeof note, "rows: from; columns: to; copies of %zu bytes", l->bytes);
    const bool written = wi_plot_pairs(output.file, &pairs, note);
    if (!written)
        wi_say_error("links: %s: writing failed: %s", output.name, strerror(errno));
    return wi_output_end(&output, written);
}

static void print_host(const wi_link *host) {
    char rate[WI_FIELD_BYTES];
    wi_print_line(stdout, 2, "host memory to host memory, one thread: %s copied",
                  wi_format_rate(host->one_way, rate));
}

static void print_none(const char *why) {
    char text[WI_MESSAGE_BYTES + WI_FIELD_BYTES];
    snprintf(text, sizeof text, "no GPU, so host memory alone: %s", why);
    wi_print_wrapped(text, 0, 2);
}

static void print_links(const links *l) {
    wi_gpu_facts facts;
    char text[WI_FIELD_BYTES];
    const int ends = l->gpus + 2;
    for (int k = 0; k < l->gpus; k++)
        wi_print_line(stdout, 7, "gpu:%d  %s", k,
                      wi_gpu_describe(k, &facts) ? facts.name : "unknown device");
    wi_print_line(stdout, 2, "copies of %s, medians of 9%s",
                  wi_format_bytes((double)l->bytes, text),
                  l->staged ? "; between GPUs through host memory" : "");
    if (l->gpus > 1)
        print_pairs(l, "who reaches whom", l->gpus, reach_cell);
    print_pairs(l, "one way, GB/s", ends, one_way_cell);
    print_pairs(l, "both ways at once, GB/s in all", ends, both_ways_cell);
    print_pairs(l, "latency of 4 bytes, microseconds until the host knows", ends, latency_cell);
    print_verdicts(l);
}

/* ---- JSON ---- */

static void json_link(const links *l, int from, int to) {
    wi_json json;
    char name[WI_FIELD_BYTES];
    const wi_link *const link = &l->of[from][to];
    wi_json_open(&json);
    wi_json_string(&json, "from", name_of(l, from, name));
    wi_json_string(&json, "to", name_of(l, to, name));
    wi_json_count(&json, "bytes", l->bytes);
    if (from < l->gpus && to < l->gpus)
        wi_json_bool(&json, "direct", link->direct);
    else
        wi_json_null(&json, "direct");
    wi_json_number(&json, "one_way_gbps", link->one_way / 1e9);
    wi_json_known(&json, "both_ways_gbps", link->both_ways > 0, link->both_ways / 1e9);
    wi_json_number(&json, "latency_seconds", link->latency);
    const wi_nominal nominal = nominal_of(l, from, to);
    wi_json_known(&json, "nominal_gbps", nominal.bytes_per_s > 0, nominal.bytes_per_s / 1e9);
    wi_json_string(&json, "verdict", wi_verdict(&nominal, link->one_way));
    wi_json_close(&json);
}

static void json_links(const links *l) {
    for (int from = 0; from < l->gpus + 2; from++) {
        for (int to = 0; to < l->gpus + 2; to++) {
            if (is_link(l, from, to))
                json_link(l, from, to);
        }
    }
}

static void json_host(const links *l, const wi_link *host, const char *why) {
    wi_json json;
    wi_json_open(&json);
    wi_json_string(&json, "from", "host");
    wi_json_string(&json, "to", "host");
    wi_json_count(&json, "bytes", l->bytes);
    wi_json_number(&json, "one_way_gbps", host->one_way / 1e9);
    wi_json_count(&json, "gpus", (uint64_t)l->gpus);
    wi_json_string(&json, "no_gpu", l->gpus ? NULL : why);
    wi_json_close(&json);
}

/* ---- the command ---- */

static wi_exit read_bytes(const wi_arguments *args, size_t *bytes) {
    const char *const text = wi_value(args, &wi_links_bytes_option);
    *bytes = USUAL_BYTES;
    if (!text || (wi_read_count(text, bytes) && *bytes >= LEAST_BYTES))
        return WI_EXIT_OK;
    return wi_usage(args->command, "--bytes: \"%s\" is not a number of bytes from %d on, as 2^26",
                    text, LEAST_BYTES);
}

static wi_exit check_plot(const wi_arguments *args) {
    const char *const path = wi_value(args, &wi_links_plot_option);
    if (path && wi_is_standard(path))
        return wi_usage(args->command, "option --plot: standard output takes the rates already; "
                                       "name a file");
    return wi_check_drawing(args, &wi_links_plot_option);
}

/* The links of this machine, seen by one process. */
static wi_exit measure_machine(const wi_arguments *args, size_t bytes) {
    static links l; /* too large for the stack */
    wi_link host;
    char why[WI_MESSAGE_BYTES] = "";
    wi_exit result = WI_EXIT_OK;
    l.bytes = bytes;
    const bool json = wi_given(args, &wi_json_option);
    const int gpus = wi_gpu_count(why, sizeof why);
    l.gpus = gpus < WI_MOST_GPUS ? gpus : WI_MOST_GPUS;
    l.staged = wi_given(args, &staged_option);
    if (wi_link_of_host(l.bytes, &host) != WEFT_OK) {
        wi_say_error("links: no host memory for copies of %zu bytes; pass a smaller --bytes",
                     l.bytes);
        return WI_EXIT_FAILED;
    }
    if (l.gpus > 0)
        result = measure_all(&l);
    if (result == WI_EXIT_OK && wi_given(args, &wi_links_plot_option))
        result = draw(args, &l);
    if (json) {
        json_host(&l, &host, why);
        json_links(&l);
        return result;
    }
    print_host(&host);
    if (l.gpus > 0)
        print_links(&l);
    else
        print_none(why);
    return result;
}

static wi_exit execute(const wi_arguments *args) {
    size_t bytes;
    wi_exit result = read_bytes(args, &bytes);
    if (result == WI_EXIT_OK)
        result = check_plot(args);
    if (result != WI_EXIT_OK)
        return result;
    if (!wi_given(args, &wi_place_option))
        return measure_machine(args, bytes);
    if (wi_given(args, &staged_option))
        return wi_usage(args->command, "option --staged is for the links of this machine, without "
                                       "--place");
    return wi_links_over_ranks(args, bytes);
}

static const wi_option *const options[] = {&wi_links_bytes_option,
                                           &staged_option,
                                           &wi_links_plot_option,
                                           &wi_place_option,
                                           &wi_json_option,
                                           &wi_help_option,
                                           NULL};

const wi_command wi_links_command = {
    .name = "links",
    .operand_text = "",
    .summary = "measure what the links between GPUs and the host carry",
    .details =
        "Shows which GPU reaches whose memory, and matrices of what a copy from each end to "
        "each other takes: bandwidth one way, and both ways at once; and latency. Ends are "
        "the GPUs, and pinned and pageable host memory. Times are those of the host, from the "
        "call until the copy is done; what arrives is checked. On a machine without a GPU "
        "only host memory is measured. With --place gpus or, under mpirun, mpi: messages "
        "between ranks by size and memory, and all-reduce, all-gather, reduce-scatter, reduce, "
        "broadcast and all-to-all, with the rate that they reach (bytes over time) and that of "
        "the link (bus), by what they went, and a verdict where the link's nominal rate is known.",
    .examples = {{"weft links", "for people"},
                 {"weft links --json", "for programs: one object for each link"},
                 {"mpirun -np 4 weft links --place mpi", "between processes"},
                 {"weft links --place gpus --bytes 1Gi --plot links.svg", "several GPUs at once"},
                 {"weft links --staged", "what is lost if GPUs do not reach each other"}},
    .options = options,
    .over_ranks = true,
    .run = execute,
};
