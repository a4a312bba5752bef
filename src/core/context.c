/* SPDX-License-Identifier: Apache-2.0 */
/* Contexts: place strings, the environment, opening and closing. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "comm/dist.h"
#include "comm/gpus.h"
#include "core/cores.h"
#include "core/gpu.h"
#include "core/trace.h"
#include "core/tuning.h"
#include "core/variant.h"
#include "cpu/team.h"
#include "weft/mpi.h"

#ifdef WEFT_EMU /* this build has no GPU but the stand-in of emu/ */
#    define GPU "emu"
#    define OTHER "gpu"
#else
#    define GPU "gpu"
#    define OTHER "emu"
#endif

enum {
    MOST_THREADS = 4096,
    MOST_GPUS = 1024,
    BEST = -1 /* the place names no number */
};

/* What a place string says. */
typedef struct place_wish {
    wi_kind kind;
    int number; /* threads, or device number, or BEST */
} place_wish;

const char *weft_version(void) {
    return WEFT_VERSION;
}

const char *weft_place(const weft_context *ctx) {
    return ctx ? ctx->place : "";
}

/* Reads a decimal number from least to most. The text must be digits only. */
static bool read_number(const char *text, int least, int most, int *number) {
    const size_t digits = strspn(text, "0123456789");
    if (digits == 0 || digits > 6 || text[digits] || (text[0] == '0' && digits > 1))
        return false;
    *number = atoi(text);
    return *number >= least && *number <= most;
}

/* Is it this place, alone or with a colon behind it? */
static bool is_place(const char *place, const char *name) {
    const size_t length = strlen(name);
    return strncmp(place, name, length) == 0 && (place[length] == '\0' || place[length] == ':');
}

static weft_status parse_place(weft_context *ctx, const char *source, const char *place,
                               place_wish *wish) {
    if (strcmp(place, "cpu") == 0) {
        *wish = (place_wish){WI_CPU, BEST};
        return WEFT_OK;
    }
    if (strcmp(place, GPU) == 0) {
        *wish = (place_wish){WI_CUDA, BEST};
        return WEFT_OK;
    }
    if (strncmp(place, "cpu:", 4) == 0) {
        wish->kind = WI_CPU;
        if (read_number(place + 4, 1, MOST_THREADS, &wish->number))
            return WEFT_OK;
    }
    if (strncmp(place, GPU ":", 4) == 0) {
        wish->kind = WI_CUDA;
        if (read_number(place + 4, 0, MOST_GPUS - 1, &wish->number))
            return WEFT_OK;
    }
    if (is_place(place, OTHER) || is_place(place, OTHER "s"))
        return wi_fail(ctx, WEFT_EUNSUPPORTED,
                       "%s: this build has no place \"" OTHER "\"; its GPU places are \"" GPU
                       "\", \"" GPU ":K\" and \"" GPU "s\"",
                       source);
    return wi_fail(
        ctx, WEFT_EARG,
        "%s: \"%.64s\" is not a place; places are \"cpu\", \"cpu:N\" with N threads from 1 "
        "to %d, \"" GPU "\", \"" GPU ":K\" for the GPU numbered K, \"" GPU "s\" for several, and "
        "\"mpi\"",
        source, place, MOST_THREADS);
}

/* An environment variable; NULL if it is unset or empty. */
static const char *variable(const char *name) {
    const char *const value = getenv(name);
    return value && *value ? value : NULL;
}

/* The threads to use when the place names no number. */
static weft_status default_threads(weft_context *ctx, int *threads) {
    const char *const wish = variable("WEFT_THREADS");
    if (!wish) {
        const int cores = wi_cores_usual();
        *threads = cores < MOST_THREADS ? cores : MOST_THREADS;
        return WEFT_OK;
    }
    if (read_number(wish, 1, MOST_THREADS, threads))
        return WEFT_OK;
    return wi_fail(
        ctx, WEFT_EARG,
        "WEFT_THREADS: \"%.64s\" is not a number of threads; set it to 1 ... %d, or unset "
        "it for all cores that the process may use",
        wish, MOST_THREADS);
}

static weft_status open_cpu(weft_context *ctx, int threads) {
    ctx->kind = WI_CPU;
    if (threads == BEST) {
        const weft_status status = default_threads(ctx, &threads);
        if (status != WEFT_OK)
            return status;
    }
    ctx->threads = threads;
    ctx->device = -1;
    ctx->machine = wi_machine_of_cpu(threads);
    snprintf(ctx->place, sizeof ctx->place, "cpu:%d", threads);
    return WEFT_OK;
}

static weft_status open_gpu(weft_context *ctx, int ordinal) {
    ctx->kind = WI_CUDA;
    const weft_status status = default_threads(ctx, &ctx->threads);
    return status == WEFT_OK ? wi_gpu_open(ctx, ordinal) : status;
}

static weft_status open_gpus(weft_context *ctx, const char *source, const char *place) {
    const size_t length = strlen(GPU "s");
    if (strcmp(place + length, ":") == 0)
        return wi_fail(ctx, WEFT_EARG,
                       "%s: \"%s\" names no GPU; write \"" GPU "s:0,2\", or \"" GPU "s\" for all",
                       source, place);
    return wi_gpus_open(ctx, source, place[length] ? place + length + 1 : "");
}

/* Opens the place named, by the caller or by WEFT_PLACE, or else the best there is. */
static weft_status open_place(weft_context *ctx, const char *place, const void *handed) {
    const char *source = handed ? "weft_open_mpi" : "weft_open";
    if (!place) {
        place = variable("WEFT_PLACE");
        source = "WEFT_PLACE";
    }
    if (!place) {
        char why[WI_MESSAGE_BYTES];
        if (wi_gpu_present(why, sizeof why) && open_gpu(ctx, BEST) == WEFT_OK)
            return WEFT_OK;
        ctx->message[0] = '\0';
        return open_cpu(ctx, BEST);
    }
    if (is_place(place, "mpi"))
        return wi_dist_open(ctx, source, place, handed);
    if (handed)
        return wi_fail(ctx, WEFT_EARG,
                       "weft_open_mpi: \"%.64s\" is not a place over ranks; write \"mpi\", or "
                       "\"mpi:cpu\"",
                       place);
    if (is_place(place, GPU "s"))
        return open_gpus(ctx, source, place);
    place_wish wish = {WI_CPU, BEST};
    const weft_status status = parse_place(ctx, source, place, &wish);
    if (status != WEFT_OK)
        return status;
    return wish.kind == WI_CPU ? open_cpu(ctx, wish.number) : open_gpu(ctx, wish.number);
}

/* Opens what belongs to a context whatever its place is, and reads the environment. */
static weft_status complete(weft_context *ctx) {
    weft_status status = WEFT_OK;
    if (!ctx->team)
        ctx->team = wi_team_open(ctx->threads);
    if (!ctx->team)
        return wi_fail(ctx, WEFT_ENOMEM, "weft_open: no host memory for %d threads", ctx->threads);
    const char *const variants = variable("WEFT_VARIANT");
    if (variants)
        status = wi_use_list(ctx, "WEFT_VARIANT", variants);
    const char *const tuning = variable("WEFT_TUNING");
    if (tuning && !ctx->child && status == WEFT_OK)
        status = wi_set_tuning(ctx, "WEFT_TUNING", tuning, true);
    if (!ctx->child && !ctx->gpus && status == WEFT_OK)
        status = wi_trace_open(ctx, variable("WEFT_TRACE"));
    return status;
}

/* A failure about the place that WEFT_PLACE names begins with that instead of the call. */
static weft_status fail_open(weft_status status, const char *message, bool from_environment) {
    static const char call[] = "weft_open: ";
    const bool is_swapped = from_environment && strncmp(message, call, strlen(call)) == 0;
    return wi_fail(NULL, status, "%s%s", is_swapped ? "WEFT_PLACE: " : "",
                   message + (is_swapped ? strlen(call) : 0));
}

static weft_status open_context(weft_context **ctx, const char *place, const void *handed) {
    *ctx = NULL;
    weft_context *const opened = wi_host_alloc(sizeof *opened);
    if (!opened)
        return wi_fail(NULL, WEFT_ENOMEM, "weft_open: no host memory for a context (%zu bytes)",
                       sizeof *opened);
    *opened = (weft_context){0};
    weft_status status = open_place(opened, place, handed);
    if (status == WEFT_OK)
        status = complete(opened);
    if (status == WEFT_OK) {
        *ctx = opened;
    } else {
        fail_open(status, opened->message, !place && variable("WEFT_PLACE"));
        weft_close(opened);
    }
    return status;
}

weft_status weft_open(weft_context **ctx, const char *place) {
    if (!ctx)
        return wi_fail(NULL, WEFT_EARG, "weft_open: ctx is NULL; pass the address of a pointer");
    return open_context(ctx, place, NULL);
}

weft_status weft_open_mpi(weft_context **ctx, const char *place, const void *comm) {
    static const char name[] = "weft_open_mpi";
    if (!ctx)
        return wi_fail(NULL, WEFT_EARG, "%s: ctx is NULL; pass the address of a pointer", name);
    *ctx = NULL;
    if (!comm)
        return wi_fail(NULL, WEFT_EARG, "%s: comm is NULL; pass the address of an MPI_Comm", name);
    return open_context(ctx, place ? place : "mpi", comm);
}

void weft_close(weft_context *ctx) {
    if (!ctx)
        return;
    if (ctx->comm) {
        wi_dist_close(ctx);
        wi_host_free(ctx);
        return;
    }
    while (ctx->kept) {
        wi_kept *const kept = ctx->kept;
        ctx->kept = kept->next;
        kept->drop(ctx, kept);
    }
    if (ctx->gpus) {
        wi_gpus_close(ctx);
    } else {
        wi_trace_close(ctx);
        if (ctx->gpu)
            wi_gpu_close(ctx);
        wi_team_close(ctx->team);
    }
    wi_tuning_free(ctx->tuning);
    wi_host_free(ctx);
}
