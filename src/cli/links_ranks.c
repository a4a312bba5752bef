/* SPDX-License-Identifier: Apache-2.0 */
/* `weft links` over several GPUs or ranks: messages between two of them by size, a matrix of all
 * pairs, and what all do together by size. */
#include "cli/links_ranks.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/nominal.h"
#include "cli/pairs.h"
#include "cli/session.h"
#include "cli/text.h"
#include "climb/collectives.h"
#include "comm/comm_mailbox.h"
#include "comm/comm_nccl.h"
#include "comm/dist.h"
#include "comm/gpus.h"
#include "weft/mpi.h"

enum {
    LEAST_BYTES = 1024,
    GROWTH = 16,           /* from one size to the next */
    SMALL_BYTES = 1 << 16, /* such steps are sampled more often */
    MOST_PAIRS = 16        /* ranks in the matrix */
};

/* The command over ranks, while it runs. */
typedef struct over {
    const wi_arguments *args;
    weft_context *ctx;
    bool json, prints; /* rank 0 prints */
    bool device;       /* all ranks have a GPU */
    int ranks;
    size_t bytes;
    bool wrong; /* something arrived wrong */
    wi_nominal nominal;
    double pair[MOST_PAIRS][MOST_PAIRS]; /* bytes per second */
} over;

/* ---- measuring ---- */

typedef struct job {
    const wi_step *step;
    wi_step_rate rate; /* as rank 0 knows it */
} job;

static weft_status measure_rank(weft_context *rank, void *user) {
    job *const j = user;
    wi_step_rate rate;
    const weft_status status = wi_step_measure(rank, j->step, &rate);
    if (rank->comm->rank == 0)
        j->rate = rate;
    return status;
}

static wi_exit measure(over *o, wi_step step, wi_step_rate *rate) {
    static const char name[] = "links";
    const char *const seconds = getenv("WEFT_SECONDS");
    step.samples = step.bytes <= SMALL_BYTES ? 21 : 9;
    if (seconds && *seconds && strtod(seconds, NULL) == 0)
        step.samples = 1;
    job j = {.step = &step};
    if (o->prints)
        wi_progress("links: %s of %zu bytes", wi_step_name(step.kind), step.bytes);
    if (!wi_is_gpus(o->ctx))
        o->ctx->comm->call = name;
    const weft_status status = wi_is_gpus(o->ctx)
                                   ? wi_gpus_run(o->ctx, NULL, name, measure_rank, &j)
                                   : wi_step_measure(o->ctx, &step, &j.rate);
    *rate = j.rate;
    wi_progress_end();
    if (status != WEFT_OK)
        return wi_session_failed(o->ctx);
    if (!rate->right && o->prints)
        wi_say_error("links: %s of %zu bytes: data arrived wrong", wi_step_name(step.kind),
                     step.bytes);
    o->wrong = o->wrong || !rate->right;
    return WI_EXIT_OK;
}

/* ---- showing ---- */

static const char *memory_name(bool device) {
    return device ? "gpu" : "host";
}

static void print_title(const over *o, const wi_step *step) {
    char title[128];
    if (step->kind == WI_STEP_MESSAGE)
        snprintf(title, sizeof title, "messages from rank %d to rank %d, %s to %s memory", step->a,
                 step->b, memory_name(step->device[0]), memory_name(step->device[1]));
    else
        snprintf(title, sizeof title, "%s of %d ranks, %s memory", wi_step_name(step->kind),
                 o->ranks, memory_name(step->device[0]));
    putchar('\n');
    wi_print_line(stdout, 2, "%s%s%s", wi_style_on(stdout, WI_BOLD), title,
                  wi_style_on(stdout, WI_PLAIN));
    printf("  %10s %10s %13s %10s  by\n", "bytes", "time", "GB/s", "bus GB/s");
}

/* A verdict belongs to the largest size: smaller ones wait more than they move. */
static const char *verdict_of(const over *o, const wi_step *step, const wi_step_rate *rate) {
    const bool between = step->device[0] && step->device[1];
    return between && step->bytes == o->bytes ? wi_verdict(&o->nominal, rate->bus) : NULL;
}

static void print_rate(const over *o, const wi_step *step, const wi_step_rate *rate) {
    char bytes[WI_FIELD_BYTES], time[WI_FIELD_BYTES];
    const char *const verdict = verdict_of(o, step, rate);
    printf("  %10s %10s %13.4g %10.4g  %s", wi_format_bytes((double)rate->bytes, bytes),
           wi_format_seconds(rate->seconds, time), rate->algorithm / 1e9, rate->bus / 1e9,
           rate->transport);
    if (verdict)
        printf(": %s, %.0f %%", verdict, 100 * rate->bus / o->nominal.bytes_per_s);
    putchar('\n');
}

static void json_rate(const over *o, const wi_step *step, const wi_step_rate *rate) {
    wi_json json;
    const bool message = step->kind == WI_STEP_MESSAGE;
    const bool between = step->device[0] && step->device[1];
    wi_json_open(&json);
    wi_json_string(&json, "step", wi_step_name(step->kind));
    wi_json_string(&json, "place", weft_place(o->ctx));
    wi_json_count(&json, "ranks", (uint64_t)o->ranks);
    if (message) {
        wi_json_count(&json, "from_rank", (uint64_t)step->a);
        wi_json_count(&json, "to_rank", (uint64_t)step->b);
        wi_json_string(&json, "to_memory", memory_name(step->device[1]));
    }
    wi_json_string(&json, "memory", memory_name(step->device[0]));
    wi_json_count(&json, "bytes", rate->bytes);
    wi_json_number(&json, "seconds", rate->seconds);
    wi_json_number(&json, "algorithm_gbps", rate->algorithm / 1e9);
    wi_json_number(&json, "bus_gbps", rate->bus / 1e9);
    wi_json_known(&json, "nominal_gbps", between && o->nominal.bytes_per_s > 0,
                  o->nominal.bytes_per_s / 1e9);
    wi_json_string(&json, "verdict", verdict_of(o, step, rate));
    wi_json_string(&json, "transport", rate->transport);
    wi_json_bool(&json, "right", rate->right);
    wi_json_close(&json);
}

static void show(const over *o, const wi_step *step, const wi_step_rate *rate) {
    if (o->prints && o->json)
        json_rate(o, step, rate);
    else if (o->prints)
        print_rate(o, step, rate);
}

/* ---- tables ---- */

static bool is_by_mail(const wi_step_rate *rate) {
    return strcmp(rate->transport, "mailbox") == 0;
}

/* A step as all steps go, and in a row of its own by mailboxes, where these take it. */
static wi_exit measure_ways(over *o, wi_step step) {
    wi_step_rate rate;
    wi_exit result = measure(o, step, &rate);
    if (result == WI_EXIT_OK)
        show(o, &step, &rate);
    if (result != WI_EXIT_OK || !wi_is_gpus(o->ctx) || step.kind == WI_STEP_MESSAGE ||
        is_by_mail(&rate))
        return result;
    step.by_mail = true;
    result = measure(o, step, &rate);
    if (result == WI_EXIT_OK && is_by_mail(&rate))
        show(o, &step, &rate);
    return result;
}

/* Sizes from 1 KiB up to o->bytes, which is the last. */
static wi_exit measure_sizes(over *o, wi_step step) {
    wi_exit result = WI_EXIT_OK;
    if (o->prints && !o->json)
        print_title(o, &step);
    size_t bytes = o->bytes < LEAST_BYTES ? o->bytes : LEAST_BYTES;
    while (result == WI_EXIT_OK) {
        step.bytes = bytes;
        result = measure_ways(o, step);
        if (bytes == o->bytes)
            break;
        bytes = bytes <= o->bytes / GROWTH ? bytes * GROWTH : o->bytes;
    }
    return result;
}

static wi_exit measure_messages(over *o) {
    static const bool memories[3][2] = {{false, false}, {false, true}, {true, true}};
    wi_exit result = WI_EXIT_OK;
    for (int k = 0; k < (o->device ? 3 : 1) && result == WI_EXIT_OK; k++) {
        const wi_step step = {
            .kind = WI_STEP_MESSAGE, .b = 1, .device = {memories[k][0], memories[k][1]}};
        result = measure_sizes(o, step);
    }
    return result;
}

static wi_exit measure_collectives(over *o) {
    wi_exit result = WI_EXIT_OK;
    for (int kind = WI_STEP_ALL_REDUCE; kind < WI_STEP_KINDS && result == WI_EXIT_OK; kind++)
        result = measure_sizes(
            o, (wi_step){.kind = (wi_step_kind)kind, .device = {o->device, o->device}});
    return result;
}

/* ---- all pairs ---- */

static const char *pair_name(const void *user, int end, char out[WI_FIELD_BYTES]) {
    (void)user;
    snprintf(out, WI_FIELD_BYTES, "rank %d", end);
    return out;
}

static void pair_cell(const void *user, int from, int to, char out[WI_FIELD_BYTES]) {
    const over *const o = user;
    snprintf(out, WI_FIELD_BYTES, "%.4g", o->pair[from][to] / 1e9);
}

static wi_exit draw(const over *o, const wi_pairs *pairs) {
    wi_output output;
    char note[256];
    if (!o->prints || !wi_given(o->args, &wi_links_plot_option))
        return WI_EXIT_OK;
    const wi_exit result = wi_output_open(wi_value(o->args, &wi_links_plot_option), &output);
    if (result != WI_EXIT_OK)
        return result;
    snprintf(note, sizeof note, "%s; messages of %zu bytes", weft_comm(o->ctx), o->bytes);
    const bool written = wi_plot_pairs(output.file, pairs, note);
    if (!written)
        wi_say_error("links: %s: writing failed: %s", output.name, strerror(errno));
    return wi_output_end(&output, written);
}

static wi_exit measure_pairs(over *o) {
    char title[128], bytes[WI_FIELD_BYTES];
    wi_exit result = WI_EXIT_OK;
    const int ends = o->ranks < MOST_PAIRS ? o->ranks : MOST_PAIRS;
    for (int from = 0; from < ends; from++) {
        for (int to = 0; to < ends && result == WI_EXIT_OK; to++) {
            const wi_step step = {.kind = WI_STEP_MESSAGE,
                                  .bytes = o->bytes,
                                  .a = from,
                                  .b = to,
                                  .device = {o->device, o->device}};
            wi_step_rate rate = {.algorithm = 0};
            if (from != to)
                result = measure(o, step, &rate);
            o->pair[from][to] = rate.algorithm;
        }
    }
    if (result != WI_EXIT_OK)
        return result;
    snprintf(title, sizeof title, "messages of %s between %s memory of two ranks, GB/s",
             wi_format_bytes((double)o->bytes, bytes), memory_name(o->device));
    const wi_pairs pairs = {title, ends, o, pair_name, pair_cell};
    if (o->prints && !o->json)
        wi_print_pairs(&pairs);
    return draw(o, &pairs);
}

/* ---- the command ---- */

/* Do all ranks have a GPU? */
static weft_status find_devices(over *o) {
    weft_context *const ctx = o->ctx;
    o->device = true;
    if (wi_is_gpus(ctx))
        return WEFT_OK;
    ctx->comm->call = "links";
    return wi_comm_all_say(ctx, ctx->gpu, &o->device);
}

/* The nominal rate of the links between ranks, found by the fastest of them. It is known only for
 * the GPUs of one process. */
static void find_nominal(over *o) {
    wi_gpu_facts facts;
    double best = 0;
    for (int from = 0; from < MOST_PAIRS; from++) {
        for (int to = 0; to < MOST_PAIRS; to++)
            best = o->pair[from][to] > best ? o->pair[from][to] : best;
    }
    if (!wi_is_gpus(o->ctx) || !wi_gpu_describe(o->ctx->device, &facts))
        return;
    o->nominal = wi_nominal_between(&facts, best);
    if (o->nominal.bytes_per_s > 0 && !o->json) {
        putchar('\n');
        wi_print_line(stdout, 2, "links are judged by %s: %.0f GB/s one way", o->nominal.name,
                      o->nominal.bytes_per_s / 1e9);
    }
}

static void print_head(const over *o) {
    char text[WI_MESSAGE_BYTES + WI_PLACE_BYTES];
    snprintf(text, sizeof text, "%s: %s", weft_place(o->ctx), weft_comm(o->ctx));
    wi_print_wrapped(text, 0, 2);
}

/* Why larger steps, or smaller ones, went as they did. */
static void print_ways(const over *o) {
    const weft_context *const rank = wi_is_gpus(o->ctx) ? wi_gpus_rank(o->ctx, 0) : o->ctx;
    const char *const about[] = {wi_comm_nccl_about(rank), wi_comm_mailbox_about(rank)};
    for (int k = 0; k < 2 && o->prints && !o->json; k++) {
        if (!*about[k])
            continue;
        putchar('\n');
        wi_print_line(stdout, 2, "%s", about[k]);
    }
}

static wi_exit measure_all(over *o) {
    if (find_devices(o) != WEFT_OK)
        return wi_session_failed(o->ctx);
    if (o->prints && !o->json)
        print_head(o);
    wi_exit result = measure_pairs(o);
    find_nominal(o);
    if (result == WI_EXIT_OK)
        result = measure_messages(o);
    if (result == WI_EXIT_OK)
        result = measure_collectives(o);
    print_ways(o);
    return o->wrong ? WI_EXIT_FAILED : result;
}

wi_exit wi_links_over_ranks(const wi_arguments *args, size_t bytes) {
    static over o; /* large */
    weft_context *ctx = NULL;
    wi_exit result = wi_session_open(args, NULL, &ctx);
    if (result != WI_EXIT_OK)
        return result;
    o = (over){.args = args,
               .ctx = ctx,
               .json = wi_given(args, &wi_json_option),
               .prints = weft_rank(ctx) == 0,
               .ranks = wi_is_gpus(ctx) ? wi_gpus_count(ctx) : weft_ranks(ctx),
               .bytes = bytes};
    if (o.ranks > 1) {
        result = measure_all(&o);
    } else {
        wi_say_error("links: place %s has one rank, which has no links to others; choose gpus on a "
                     "machine that has several, or mpi and start it with mpirun -np 2",
                     weft_place(ctx));
        result = WI_EXIT_FAILED;
    }
    weft_close(ctx);
    return result;
}
