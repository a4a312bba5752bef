/* SPDX-License-Identifier: Apache-2.0 */
/* Runs a fuzz target without libFuzzer: every file of a corpus as it is, then a fixed number of
 * mutations of them, the same ones every time.
 *
 *     npy_fuzz CORPUS_FOLDER [COUNT [SEED]]
 *     calls_fuzz - [COUNT [SEED]]
 *
 * With - for a corpus run k gets nothing but the eight bytes of SEED + k, for targets that draw all
 * the rest from them. A COUNT that ends in s is a time in seconds. */
#include <dirent.h>
#include <errno.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t length);

enum {
    MOST_FILES = 256,
    MOST_BYTES = 4096,
    DEFAULT_COUNT = 20000
};

/* One input; the corpus is an array of them. */
typedef struct sample {
    uint8_t bytes[MOST_BYTES];
    size_t length;
} sample;

static sample corpus[MOST_FILES];
static size_t corpus_count;

static int by_name(const struct dirent **a, const struct dirent **b) {
    return strcmp((*a)->d_name, (*b)->d_name); /* the order must not depend on the file system */
}

static int is_plain(const struct dirent *entry) {
    return entry->d_name[0] != '.';
}

static int load(const char *folder) {
    struct dirent **entries;
    const int found = scandir(folder, &entries, is_plain, by_name);
    if (found < 0) {
        fprintf(stderr, "%s: %s\n", folder, strerror(errno));
        return -1;
    }
    for (int k = 0; k < found; k++) {
        char path[MOST_BYTES];
        snprintf(path, sizeof path, "%s/%s", folder, entries[k]->d_name);
        FILE *const file = corpus_count < MOST_FILES ? fopen(path, "rb") : NULL;
        if (file) {
            sample *const s = &corpus[corpus_count++];
            s->length = fread(s->bytes, 1, MOST_BYTES, file);
            fclose(file);
        }
        free(entries[k]);
    }
    free(entries);
    return 0;
}

/* xorshift64*: the same sequence on every machine. */
static uint64_t draw(uint64_t *state) {
    *state ^= *state >> 12;
    *state ^= *state << 25;
    *state ^= *state >> 27;
    return *state * 0x2545F4914F6CDD1DULL;
}

static size_t below(uint64_t *state, size_t limit) {
    return limit ? (size_t)(draw(state) >> 33) % limit : 0;
}

/* Numbers and marks that readers trip over. */
static const char *const tokens[] = {
    "-1",
    "0",
    "18446744073709551615",
    "4611686018427387904",
    "(",
    ")",
    ",",
    "'",
    "\"",
    "{",
    "}",
    "True",
    "<f8",
    ">i2",
    "|V2",
    "<f16",
    "[",
    "\\\\",
    "descr",
    "shape",
    ": ",
    "(0,)",
    "L",
    "%",
    "\r\n",
    "nan",
    "1e308",
    "1e-324",
    "symmetric",
    "array",
    "\n",
};

static void overwrite(sample *s, size_t at, const void *bytes, size_t length) {
    if (at + length > MOST_BYTES)
        return;
    memcpy(s->bytes + at, bytes, length);
    if (at + length > s->length)
        s->length = at + length;
}

static void mutate_once(sample *s, uint64_t *state) {
    const size_t at = below(state, s->length);
    const char *const token = tokens[below(state, sizeof tokens / sizeof *tokens)];
    const size_t other = below(state, corpus_count), length = strlen(token);
    switch (below(state, 6)) {
    case 0:
        s->bytes[at] ^= (uint8_t)(1u << below(state, 8));
        break;
    case 1:
        s->bytes[at] = (uint8_t)draw(state);
        break;
    case 2:
        s->length = at;
        break;
    case 3:
        overwrite(s, at, token, length);
        break;
    case 4: /* insert */
        if (s->length + length <= MOST_BYTES) {
            memmove(s->bytes + at + length, s->bytes + at, s->length - at);
            s->length += length;
            memcpy(s->bytes + at, token, length);
        }
        break;
    default: /* the end of another file */
        if (at < corpus[other].length)
            overwrite(s, at, corpus[other].bytes + at, corpus[other].length - at);
    }
}

/* ---- runs ---- */

/* How long to go on: a number of runs, or until a time. */
typedef struct limit {
    long runs;
    time_t end; /* 0: none */
} limit;

static limit limit_of(const char *text) {
    char *rest;
    const long number = strtol(text, &rest, 10);
    return *rest == 's' ? (limit){-1, time(NULL) + number} : (limit){number, 0};
}

static bool goes_on(const limit *l, long run) {
    return l->end ? time(NULL) < l->end : run < l->runs;
}

static char replay[MOST_BYTES]; /* what repeats the run at hand */

static void tell_replay(void) {
    if (write(STDERR_FILENO, replay, strlen(replay)) < 0)
        return; /* nobody listens */
}

static void die(int number) {
    tell_replay();
    signal(number, SIG_DFL);
    raise(number);
}

/* Only where a sanitizer is linked. */
extern void __sanitizer_set_death_callback(void (*callback)(void)) __attribute__((weak));

static void watch(void) {
    static const int signals[] = {SIGABRT, SIGSEGV, SIGBUS, SIGFPE, SIGILL};
    if (__sanitizer_set_death_callback) {
        __sanitizer_set_death_callback(tell_replay);
        signal(SIGABRT, die);
        return;
    }
    for (size_t k = 0; k < sizeof signals / sizeof *signals; k++)
        signal(signals[k], die);
}

/* Schedules of emu depend on all that ran before in the process; the rest starts afresh each run.
 */
static void note_replay(const char *program, uint64_t first, long run) {
    static const char *const names[] = {"WEFT_EMU_SEED", "WEFT_EMU_POLICY", "WEFT_TEST_PLACES"};
    const bool all = getenv(names[0]) != NULL;
    int used = snprintf(replay, sizeof replay, "\nreplay with:");
    for (int k = 0; k < 3; k++) {
        const char *const value = getenv(names[k]);
        if (value)
            used +=
                snprintf(replay + used, sizeof replay - (size_t)used, " %s='%s'", names[k], value);
    }
    snprintf(replay + used, sizeof replay - (size_t)used, " WEFT_FUZZ_SAY=1 %s - %ld %llu\n",
             program, all ? run + 1 : 1, (unsigned long long)(all ? first : first + (uint64_t)run));
}

static long run_seeds(const char *program, const limit *l, uint64_t first) {
    long run = 0;
    watch();
    for (; goes_on(l, run); run++) {
        const uint64_t seed = first + (uint64_t)run;
        note_replay(program, first, run);
        LLVMFuzzerTestOneInput((const uint8_t *)&seed, sizeof seed);
    }
    return run;
}

static long run_mutations(const limit *l, uint64_t state) {
    static sample s;
    long run = 0;
    for (size_t k = 0; k < corpus_count; k++)
        LLVMFuzzerTestOneInput(corpus[k].bytes, corpus[k].length);
    for (; goes_on(l, run); run++) {
        s = corpus[below(&state, corpus_count)];
        for (size_t steps = 1 + below(&state, 4); steps > 0; steps--)
            mutate_once(&s, &state);
        LLVMFuzzerTestOneInput(s.bytes, s.length);
    }
    return run;
}

int main(int count, char **words) {
    if (count < 2) {
        fprintf(stderr, "usage: %s CORPUS_FOLDER|- [COUNT|SECONDSs [SEED]]\n", words[0]);
        return 2;
    }
    const limit l = count > 2 ? limit_of(words[2]) : (limit){DEFAULT_COUNT, 0};
    const uint64_t seed = count > 3 ? strtoull(words[3], NULL, 0) : 1;
    if (strcmp(words[1], "-") == 0) {
        printf("%ld runs from %llu on: nothing found\n", run_seeds(words[0], &l, seed),
               (unsigned long long)seed);
        return 0;
    }
    if (load(words[1]) != 0 || corpus_count == 0) {
        fprintf(stderr, "%s: no corpus\n", words[1]);
        return 1;
    }
    /* xorshift must not start from zero */
    printf("%zu files and %ld mutations: no crash\n", corpus_count, run_mutations(&l, seed | 1));
    return 0;
}
