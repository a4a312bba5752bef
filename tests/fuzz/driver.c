/* SPDX-License-Identifier: Apache-2.0 */
/* Runs a fuzz target without libFuzzer: every file of a corpus as it is, then a fixed number of
 * mutations of them, the same ones every time.
 *
 *     npy_fuzz CORPUS_FOLDER [COUNT [SEED]] */
#include <dirent.h>
#include <errno.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

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

int main(int count, char **words) {
    if (count < 2) {
        fprintf(stderr, "usage: %s CORPUS_FOLDER [COUNT [SEED]]\n", words[0]);
        return 2;
    }
    const long runs = count > 2 ? atol(words[2]) : DEFAULT_COUNT;
    uint64_t state = count > 3 ? strtoull(words[3], NULL, 0) : 1;
    state |= 1; /* xorshift must not start from zero */
    if (load(words[1]) != 0 || corpus_count == 0) {
        fprintf(stderr, "%s: no corpus\n", words[1]);
        return 1;
    }
    for (size_t k = 0; k < corpus_count; k++)
        LLVMFuzzerTestOneInput(corpus[k].bytes, corpus[k].length);
    for (long run = 0; run < runs; run++) {
        static sample s;
        s = corpus[below(&state, corpus_count)];
        for (size_t steps = 1 + below(&state, 4); steps > 0; steps--)
            mutate_once(&s, &state);
        LLVMFuzzerTestOneInput(s.bytes, s.length);
    }
    printf("%zu files and %ld mutations: no crash\n", corpus_count, runs);
    return 0;
}
