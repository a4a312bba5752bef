/* SPDX-License-Identifier: Apache-2.0 */
/* The table of subcommands and options. */
#include "cli/commands.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/climb.h"
#include "cli/ops.h"
#include "sparse/generate.h"
#include "sparse/order.h"

#define BIT(option) (1u << WI_OPT_##option)

const wi_option_row wi_option_rows[WI_OPTIONS] = {
    [WI_OPT_PLACE] = {"place", 'p', "PLACE", WI_WORDS_PLACE,
                      "cpu, cpu:4 (threads), gpu, gpu:1; default: the best", false},
    [WI_OPT_VARIANT] = {"variant", 'v', "NAME", WI_WORDS_VARIANT,
                        "run this rung of the ladder and no other", false},
    [WI_OPT_TYPE] = {"type", 't', "TYPE", WI_WORDS_TYPE,
                     "i8 ... i64, u8 ... u64, f16, bf16, f32 or f64", false},
    [WI_OPT_N] = {"n", 'n', "COUNT", WI_WORDS_NONE,
                  "how many elements: 1000, 1e6, 2^28, 64Ki, 64Mi", false},
    [WI_OPT_SEED] = {"seed", 's', "NUMBER", WI_WORDS_NONE,
                     "what the random input grows from; default 1", false},
    [WI_OPT_OP] = {"op", 0, "OP", WI_WORDS_NONE, "what to combine elements with; default sum",
                   false},
    [WI_OPT_EXCLUSIVE] = {"exclusive", 'x', NULL, WI_WORDS_NONE,
                          "leave each element out of its own output", false},
    [WI_OPT_INIT] = {"init", 0, "VALUE", WI_WORDS_NONE,
                     "value to start from; default: the operation's identity", false},
    [WI_OPT_DESCENDING] = {"descending", 'd', NULL, WI_WORDS_NONE, "the largest first", false},
    [WI_OPT_INDICES] = {"indices", 'i', NULL, WI_WORDS_NONE,
                        "write where the elements were, not what they are", false},
    [WI_OPT_K] = {"k", 'k', "COUNT", WI_WORDS_NONE, "how many elements; default 10", false},
    [WI_OPT_SMALLEST] = {"smallest", 0, NULL, WI_WORDS_NONE, "the smallest, not the largest",
                         false},
    [WI_OPT_BINS] = {"bins", 'b', "COUNT", WI_WORDS_NONE, "how many bins, all of one width", false},
    [WI_OPT_LO] = {"lo", 0, "NUMBER", WI_WORDS_NONE, "where the first bin begins", false},
    [WI_OPT_HI] = {"hi", 0, "NUMBER", WI_WORDS_NONE, "where the last bin ends", false},
    [WI_OPT_WHERE] = {"where", 'w', "TEST", WI_WORDS_NONE,
                      "which: \">0\", \"==1\", \"!=1\", \"<=5\", \"1..5\", \"nan\"", false},
    [WI_OPT_LENGTHS] = {"lengths", 'l', "FILE", WI_WORDS_FILE,
                        "where the lengths of runs go, as u64", false},
    [WI_OPT_OUTPUT] = {"output", 'o', "FILE", WI_WORDS_FILE,
                       "where the result goes; - is standard output", false},
    [WI_OPT_PER_ROW] = {"per-row", 0, "COUNT", WI_WORDS_NONE,
                        "entries in a row of random, on average; default 8", false},
    [WI_OPT_ORDERING] = {"ordering", 0, "NAME", WI_WORDS_ORDERING,
                         "the order: amd, dissect, rcm, ...; default best", false},
    [WI_OPT_HALF] = {"half", 0, "HALF", WI_WORDS_HALF,
                     "lower or upper: use it and ignore the other", false},
    [WI_OPT_SYMMETRY_TOLERANCE] = {"symmetry-tolerance", 0, "NUMBER", WI_WORDS_NONE,
                                   "how far halves may differ; default 1.4e-14", false},
    [WI_OPT_RHS] = {"rhs", 'b', "FILE", WI_WORDS_FILE,
                    "right-hand sides: .npy or .mtx; default A times ones", false},
    [WI_OPT_REFINE] = {"refine", 'r', NULL, WI_WORDS_NONE,
                       "refine x with residuals in twice the precision", false},
    [WI_OPT_REPEAT] = {"repeat", 0, "COUNT", WI_WORDS_NONE,
                       "factor and solve so often; times are medians", false},
    [WI_OPT_PLOT] = {"plot", 0, "FILE", WI_WORDS_FILE,
                     "draw the patterns of A and L, and the tree, as SVG", false},
    [WI_OPT_JSON] = {"json", 'j', NULL, WI_WORDS_NONE, "print one JSON object a line", false},
    [WI_OPT_MAN] = {"man", 0, NULL, WI_WORDS_NONE, "print the manual page, in roff", true},
    [WI_OPT_COMPLETION] = {"completion", 0, "SHELL", WI_WORDS_SHELL,
                           "print completions for bash, zsh or fish", false},
    [WI_OPT_HELP] = {"help", 'h', NULL, WI_WORDS_NONE, "say what the command does", false},
};

const wi_command wi_commands[] = {
    {
        .name = "info",
        .operand_text = "",
        .summary = "show this build, the processor and every GPU",
        .details = "Tells what this build of weft can do, what the processor offers, and for each "
                   "GPU its size, speed and memory, or why weft does not use it.",
        .examples = {{"weft info", "for people"},
                     {"weft info --json", "for programs: one object for the build and each place"}},
        .options = BIT(JSON) | BIT(HELP),
        .run = wi_info,
    },
    {
        .name = "demo",
        .operand_text = "",
        .summary = "run every operation against the serial C loop",
        .details = "Runs every operation on the best place, checks the whole result, and compares "
                   "with the loop one would write in C: time, rate, share of the roof (what the "
                   "memory can do, measured in the same run) and speed-up. Takes well under a "
                   "minute.",
        .examples = {{"weft demo", "on the best place"},
                     {"weft demo --place cpu:1", "on one core"}},
        .options = BIT(PLACE) | BIT(TYPE) | BIT(N) | BIT(SEED) | BIT(JSON) | BIT(HELP),
        .run = wi_demo,
    },
    {
        .name = "climb",
        .operand_text = "OP",
        .summary = "run an operation's ladder of variants, rung by rung",
        .details = "Runs every variant of an operation, from the textbook's first version to the "
                   "fastest here. Each result is checked in full before it is timed; times are "
                   "medians, each call starting with the data outside the caches. Rates stand "
                   "beside the roof of this machine, measured in the same run: bytes a second, or "
                   "flops for what arithmetic bounds (sparse); orders (sparse_order) show the "
                   "entries of L and the flops they lead to instead. A rung that cannot do n "
                   "elements, or would take long, runs on fewer and says so. A wrong result makes "
                   "the command exit with 1.",
        .examples = {{"weft climb scan", "the scan ladder on the best place"},
                     {"weft climb reduce --place cpu:2 --type f64 --n 2^24", "smaller, on 2 cores"},
                     {"weft climb sparse --place cpu:2 --n 1e5", "beside the rate of arithmetic"},
                     {"weft climb map --variant vector --json", "one rung, for programs"}},
        .options =
            BIT(PLACE) | BIT(VARIANT) | BIT(TYPE) | BIT(N) | BIT(SEED) | BIT(JSON) | BIT(HELP),
        .operand_words = WI_WORDS_CLIMB,
        .least_operands = 1,
        .most_operands = 1,
        .run = wi_climb_command,
    },
    {
        .name = "reduce",
        .operand_text = "FILE.npy [FILE2.npy]",
        .summary = "reduce an array to one value",
        .details = "Prints one value: sum, product, min, max, argmin, argmax, nrm1, nrm2 or nrminf "
                   "of the array, or with --op dot the dot product of two. Floats are printed "
                   "with as many digits as reading them back exactly takes. Positions count in C "
                   "order from 0. A file name of - is standard input. --type bf16 reads files of "
                   "two-byte voids, as ml_dtypes writes them.",
        .examples = {{"weft reduce x.npy", "the sum"},
                     {"weft reduce x.npy --op argmax --json", "where the largest is"},
                     {"weft reduce a.npy b.npy --op dot", "the dot product"},
                     {"gzip -dc x.npy.gz | weft reduce - --op nrm2", "from a pipe"}},
        .options = BIT(OP) | BIT(PLACE) | BIT(VARIANT) | BIT(TYPE) | BIT(JSON) | BIT(HELP),
        .operand_words = WI_WORDS_FILE,
        .ladder = "reduce",
        .suffixes = "npy",
        .op_words = WI_WORDS_REDUCTION,
        .least_operands = 1,
        .most_operands = 2,
        .run = wi_reduce_command,
    },
    {
        .name = "scan",
        .operand_text = "FILE.npy",
        .summary = "replace every element by the sum of all up to it",
        .details = "Writes an array in which each element combines all elements up to it: sum, "
                   "product, min, max, and, or, xor (the last three for integers). Elements run "
                   "in C order, and the result has the shape of the input. A file name of - is "
                   "standard input or output.",
        .examples = {{"weft scan x.npy -o sums.npy", "running sums"},
                     {"weft scan x.npy --exclusive --init 100 -o from.npy", "starting from 100"},
                     {"weft scan - --op max -o - <x.npy | weft reduce -", "in a pipe"}},
        .options = BIT(OUTPUT) | BIT(OP) | BIT(EXCLUSIVE) | BIT(INIT) | BIT(PLACE) | BIT(VARIANT) |
                   BIT(TYPE) | BIT(JSON) | BIT(HELP),
        .operand_words = WI_WORDS_FILE,
        .ladder = "scan",
        .suffixes = "npy",
        .op_words = WI_WORDS_SCAN_OP,
        .least_operands = 1,
        .most_operands = 1,
        .run = wi_scan_command,
    },
    {
        .name = "sort",
        .operand_text = "FILE.npy",
        .summary = "put the elements of an array in order",
        .details = "Writes all elements in order, in the shape of the input, C order. NaN come "
                   "last (first with --descending), and -0.0 before +0.0. With --indices it "
                   "writes the position of each instead, as u64 counted in C order; equal "
                   "elements keep their order. A file name of - is standard input or output.",
        .examples = {{"weft sort x.npy -o sorted.npy", "the smallest first"},
                     {"weft sort x.npy --descending --indices -o order.npy", "where they were"},
                     {"weft sort - -o - <x.npy | weft scan - -o sums.npy", "in a pipe"}},
        .options = BIT(OUTPUT) | BIT(DESCENDING) | BIT(INDICES) | BIT(PLACE) | BIT(VARIANT) |
                   BIT(TYPE) | BIT(JSON) | BIT(HELP),
        .operand_words = WI_WORDS_FILE,
        .ladder = "sort",
        .suffixes = "npy",
        .least_operands = 1,
        .most_operands = 1,
        .run = wi_sort_command,
    },
    {
        .name = "topk",
        .operand_text = "FILE.npy",
        .summary = "show the largest elements of an array",
        .details = "Prints the k largest elements (all of them, if there are fewer), the largest "
                   "first, one a line, each followed by its position, counted in C order from 0. "
                   "NaN count as the largest. Of equal elements the first comes first. --output "
                   "writes the elements instead, and --indices the positions alone, as u64. A "
                   "file name of - is standard input or output.",
        .examples = {{"weft topk x.npy", "the ten largest"},
                     {"weft topk x.npy --k 3 --smallest --json", "the three smallest"},
                     {"weft topk x.npy -k 1e3 --indices -o where.npy", "where the largest are"}},
        .options = BIT(OUTPUT) | BIT(INDICES) | BIT(K) | BIT(SMALLEST) | BIT(PLACE) | BIT(TYPE) |
                   BIT(JSON) | BIT(HELP),
        .operand_words = WI_WORDS_FILE,
        .suffixes = "npy",
        .least_operands = 1,
        .most_operands = 1,
        .run = wi_topk_command,
    },
    {
        .name = "histogram",
        .operand_text = "FILE(.npy|.pgm|.ppm|.png)",
        .summary = "count how many elements fall into each bin, and draw it",
        .details =
            "Draws a chart of an array, or of each channel of an image: a line for each bin "
            "of --bins, and without that option 32 lines, each of bins side by side. Bytes "
            "get a bin for each value; images of 16 bits 64 bins from 0 to the most a "
            "sample can be; other arrays 64 bins from the smallest finite element to the largest, "
            "unless --bins, --lo and --hi say otherwise. Bin k of N holds lo + k (hi - lo) / N <= "
            "x < lo + (k + 1) (hi - lo) / N. What lies outside and NaN are counted apart. "
            "--output writes the counts instead, as u64, a row for each channel of an "
            "image. A file name of - is standard input.",
        .examples = {{"weft histogram photo.png", "a chart for each channel"},
                     {"weft histogram x.npy --bins 20 --lo 0 --hi 1", "of an array"},
                     {"weft histogram scan.pgm --bins 65536 -o counts.npy", "as numbers"},
                     {"weft histogram x.npy --json", "for programs: an object for each channel"}},
        .options = BIT(OUTPUT) | BIT(BINS) | BIT(LO) | BIT(HI) | BIT(PLACE) | BIT(VARIANT) |
                   BIT(TYPE) | BIT(JSON) | BIT(HELP),
        .operand_words = WI_WORDS_FILE,
        .ladder = "histogram",
        .suffixes = "npy pgm ppm png",
        .least_operands = 1,
        .most_operands = 1,
        .run = wi_histogram_command,
    },
    {
        .name = "add",
        .operand_text = "A.npy B.npy",
        .summary = "add two arrays of the same shape and type",
        .details = "Writes A + B, element by element. Integers wrap. The result is in Fortran "
                   "order if both are. A file name of - is standard input or output.",
        .examples = {{"weft add a.npy b.npy -o sum.npy", "one sum for each pair of elements"},
                     {"weft add a.npy - -o - <b.npy >sum.npy", "in a pipe"}},
        .options = BIT(OUTPUT) | BIT(PLACE) | BIT(VARIANT) | BIT(TYPE) | BIT(JSON) | BIT(HELP),
        .operand_words = WI_WORDS_FILE,
        .ladder = "map",
        .suffixes = "npy",
        .least_operands = 2,
        .most_operands = 2,
        .run = wi_add_command,
    },
    {
        .name = "select",
        .operand_text = "FILE.npy [TESTED.npy]",
        .summary = "keep the elements that satisfy a test",
        .details =
            "Writes the elements, in C order, of which --where is true, as an array of one "
            "dimension. With a second file, as a mask of booleans, its elements are tested in "
            "their stead, one for each; without --where, for not being 0. NaN is never equal, less "
            "or greater. "
            "A file name of - is standard input or output.",
        .examples = {{"weft select x.npy --where '>0' -o positive.npy", "those above 0"},
                     {"weft select x.npy --where nan --indices -o where.npy", "where the NaN are"},
                     {"weft select x.npy flags.npy -o kept.npy", "those flagged"},
                     {"weft select x.npy -w 1..5 -o - | weft reduce -", "in a pipe"}},
        .options = BIT(WHERE) | BIT(INDICES) | BIT(OUTPUT) | BIT(PLACE) | BIT(VARIANT) | BIT(TYPE) |
                   BIT(JSON) | BIT(HELP),
        .operand_words = WI_WORDS_FILE,
        .ladder = "select",
        .suffixes = "npy",
        .least_operands = 1,
        .most_operands = 2,
        .run = wi_select_command,
    },
    {
        .name = "unique",
        .operand_text = "FILE.npy",
        .summary = "drop every element that repeats the one before",
        .details = "Writes the array, in C order and as one dimension, without the elements that "
                   "have the same bits as the one before them; of a sorted array each value "
                   "remains once. --lengths writes how many each stood for, beside the array or, "
                   "without --output, alone.",
        .examples = {{"weft unique x.npy -o values.npy", "the values of runs"},
                     {"weft unique x.npy --lengths n.npy", "how long runs are"},
                     {"weft unique x.npy -o v.npy --lengths n.npy", "run-length encoding"}},
        .options = BIT(OUTPUT) | BIT(LENGTHS) | BIT(PLACE) | BIT(VARIANT) | BIT(TYPE) | BIT(JSON) |
                   BIT(HELP),
        .operand_words = WI_WORDS_FILE,
        .ladder = "select",
        .suffixes = "npy",
        .least_operands = 1,
        .most_operands = 1,
        .run = wi_unique_command,
    },
    {
        .name = "generate",
        .operand_text = "KIND N",
        .summary = "write a sparse matrix to test solvers with",
        .details = "Writes a symmetric positive definite matrix as a Matrix Market file. laplace2d "
                   "and laplace3d: the 5- or 7-point Laplacian of a grid of N points an edge, plus "
                   "1e-3 I. elasticity3d: a cube of N elastic elements an edge, one face held "
                   "fast, three displacements a node. random: N rows, entries at random.",
        .examples = {{"weft generate laplace3d 50 -o A.mtx", "125,000 unknowns"},
                     {"weft generate random 1e5 --per-row 12 --seed 7 -o A.mtx", "reproducible"},
                     {"weft generate laplace2d 3", "to standard output"}},
        .options = BIT(OUTPUT) | BIT(PER_ROW) | BIT(SEED) | BIT(JSON) | BIT(HELP),
        .operand_words = WI_WORDS_PROBLEM,
        .least_operands = 2,
        .most_operands = 2,
        .run = wi_generate_command,
    },
    {
        .name = "analyze",
        .operand_text = "A.mtx",
        .summary = "tell what factoring a sparse matrix will cost",
        .details = "Orders the columns of a symmetric matrix and analyzes its Cholesky factor "
                   "without computing it: fill, flops, the tree, and the memory it takes. best "
                   "orders by minimum degree, and by nested dissection too where that is likely "
                   "to pay. Halves of the matrix that differ are treated as weft solve does. A "
                   "file name of - is standard input.",
        .examples = {{"weft analyze A.mtx", "the plan that solving would follow"},
                     {"weft analyze A.mtx --ordering amd --json", "for programs"},
                     {"weft analyze A.mtx --plot plan.svg", "with a picture"}},
        .options =
            BIT(ORDERING) | BIT(HALF) | BIT(SYMMETRY_TOLERANCE) | BIT(PLOT) | BIT(JSON) | BIT(HELP),
        .operand_words = WI_WORDS_FILE,
        .suffixes = "mtx",
        .least_operands = 1,
        .most_operands = 1,
        .run = wi_analyze_command,
    },
    {
        .name = "solve",
        .operand_text = "A.mtx",
        .summary = "solve a sparse symmetric positive definite system",
        .details = "Solves A X = B by Cholesky factorization, one or many right-hand sides, and "
                   "tells how: ordering, fill, memory, times, and how good X is. Without --rhs B "
                   "is A times a column of ones, so that X is known. A matrix that is not "
                   "positive definite is refused with the column that shows it. Of a file that "
                   "gives both halves, entries a[i][j] and a[j][i] that differ by no more than "
                   "--symmetry-tolerance, relative to the larger of their size and of "
                   "sqrt(a[i][i] a[j][j]), become their mean, and the most they differ by is "
                   "reported; --half takes one half as it is. A file name of - is standard input.",
        .examples = {{"weft solve A.mtx", "how well this solver does on this matrix"},
                     {"weft solve A.mtx -b b.npy -o x.npy --refine", "as accurate as it gets"},
                     {"gzip -dc A.mtx.gz | weft solve - -o x.npy", "from a pipe"},
                     {"weft solve A.mtx --ordering dissect --repeat 5 --json", "for programs"}},
        .options = BIT(RHS) | BIT(OUTPUT) | BIT(ORDERING) | BIT(HALF) | BIT(SYMMETRY_TOLERANCE) |
                   BIT(VARIANT) | BIT(REFINE) | BIT(REPEAT) | BIT(PLACE) | BIT(JSON) | BIT(HELP),
        .operand_words = WI_WORDS_FILE,
        .ladder = "sparse",
        .suffixes = "mtx",
        .least_operands = 1,
        .most_operands = 1,
        .run = wi_solve_command,
    },
    {
        .name = "help",
        .operand_text = "[COMMAND]",
        .summary = "say what weft, or one command, does",
        .details = "Without a command: what commands there are. --completion prints a completion "
                   "script.",
        .examples = {{"weft help scan", "everything about one command"},
                     {"source <(weft help --completion bash)", "completion in this shell"}},
        .options = BIT(MAN) | BIT(COMPLETION) | BIT(HELP),
        .operand_words = WI_WORDS_COMMAND,
        .most_operands = 1,
        .run = wi_help,
    },
};

const size_t wi_command_count = sizeof wi_commands / sizeof *wi_commands;

const wi_command *wi_find_command(const char *name) {
    for (size_t k = 0; k < wi_command_count; k++) {
        if (strcmp(wi_commands[k].name, name) == 0)
            return &wi_commands[k];
    }
    return NULL;
}

bool wi_command_takes(const wi_command *command, wi_option option) {
    return command->options >> option & 1;
}

/* Adds a word unless it is there already: ladders may share names of rungs. */
static void add_word(const char *word, const char *list[WI_MAX_WORDS], size_t *count) {
    for (size_t k = 0; k < *count; k++) {
        if (strcmp(list[k], word) == 0)
            return;
    }
    if (*count == WI_MAX_WORDS) { /* seen by the tests, not by people */
        fprintf(stderr, "weft: there are more words than WI_MAX_WORDS, %d\n", WI_MAX_WORDS);
        exit(EXIT_FAILURE);
    }
    list[(*count)++] = word;
}

static void add_variants(const char *list[WI_MAX_WORDS], size_t *count) {
    for (size_t k = 0; k < wi_op_count; k++) {
        for (size_t row = 0; row < wi_ops[k]->count; row++)
            add_word(wi_ops[k]->rows[row].name, list, count);
    }
}

size_t wi_list_words(wi_words words, const char *list[WI_MAX_WORDS]) {
    static const char *const places[] = {"cpu", "gpu"}, *const shells[] = {"bash", "zsh", "fish"};
    static const char *const halves[] = {"lower", "upper"};
    size_t count = 0;
    switch (words) {
    case WI_WORDS_PLACE:
        for (size_t k = 0; k < sizeof places / sizeof *places; k++)
            add_word(places[k], list, &count);
        break;
    case WI_WORDS_SHELL:
        for (size_t k = 0; k < sizeof shells / sizeof *shells; k++)
            add_word(shells[k], list, &count);
        break;
    case WI_WORDS_TYPE:
        for (int type = 0; type < WEFT_TYPE_COUNT; type++)
            add_word(weft_type_name((weft_type)type), list, &count);
        break;
    case WI_WORDS_VARIANT:
        add_variants(list, &count);
        break;
    case WI_WORDS_REDUCTION:
    case WI_WORDS_SCAN_OP:
        for (size_t k = 0; k < wi_op_name_count; k++) {
            if (words == WI_WORDS_SCAN_OP ? wi_op_names[k].scans : wi_op_names[k].reduces)
                add_word(wi_op_names[k].name, list, &count);
        }
        break;
    case WI_WORDS_CLIMB:
        for (size_t k = 0; k < wi_climb_count; k++) {
            if (wi_climbs[k]->ladder->count > 0)
                add_word(wi_climbs[k]->ladder->op, list, &count);
        }
        break;
    case WI_WORDS_PROBLEM:
        for (size_t k = 0; k < wi_generator_count; k++)
            add_word(wi_generators[k].name, list, &count);
        break;
    case WI_WORDS_ORDERING:
        for (size_t k = 0; k < wi_sparse_order_ladder.count; k++) {
            if (strcmp(wi_sparse_order_ladder.rows[k].name, "given") != 0)
                add_word(wi_sparse_order_ladder.rows[k].name, list, &count);
        }
        break;
    case WI_WORDS_HALF:
        for (size_t k = 0; k < sizeof halves / sizeof *halves; k++)
            add_word(halves[k], list, &count);
        break;
    case WI_WORDS_COMMAND:
        for (size_t k = 0; k < wi_command_count; k++)
            add_word(wi_commands[k].name, list, &count);
        break;
    case WI_WORDS_NONE:
    case WI_WORDS_FILE:
        break;
    }
    return count;
}

wi_words wi_value_words(const wi_command *command, wi_option option) {
    return option == WI_OPT_OP ? command->op_words : wi_option_rows[option].words;
}

size_t wi_list_rungs(const char *op, const char *list[WI_MAX_WORDS]) {
    size_t count = 0;
    for (size_t k = 0; k < wi_op_count; k++) {
        for (size_t row = 0; row < wi_ops[k]->count; row++) {
            if (strcmp(wi_ops[k]->op, op) == 0)
                add_word(wi_ops[k]->rows[row].name, list, &count);
        }
    }
    return count;
}

size_t wi_list_values(const wi_command *command, wi_option option, const char *list[WI_MAX_WORDS]) {
    return option == WI_OPT_VARIANT && command->ladder
               ? wi_list_rungs(command->ladder, list)
               : wi_list_words(wi_value_words(command, option), list);
}
