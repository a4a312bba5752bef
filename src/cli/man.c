/* SPDX-License-Identifier: Apache-2.0 */
/* The manual page weft(1), in roff, written from the table of commands. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/commands.h"

/* Prints text with roff's special characters escaped, so that '-' and quotes come out as a shell
 * reads them. */
static void print_escaped(const char *text) {
    static const struct {
        char character;
        const char *name;
    } special[] = {{'\\', "\\e"},  {'-', "\\-"},   {'\'', "\\(aq"},
                   {'`', "\\(ga"}, {'^', "\\(ha"}, {'~', "\\(ti"}};
    bool line_start = true;
    for (; *text; text++) {
        const char *name = NULL;
        for (size_t k = 0; k < sizeof special / sizeof *special; k++)
            name = special[k].character == *text ? special[k].name : name;
        if (line_start && *text == '.')
            fputs("\\&", stdout);
        if (name)
            fputs(name, stdout);
        else
            putchar(*text);
        line_start = *text == '\n';
    }
}

/* Does a reader see one option: the same name, and the same meaning? */
static bool is_same(const wi_option *a, const wi_option *b) {
    return strcmp(a->name, b->name) == 0 && strcmp(a->help, b->help) == 0;
}

static bool takes_same(const wi_command *command, const wi_option *option) {
    for (const wi_option *at = wi_next_option(command, NULL); at;
         at = wi_next_option(command, at)) {
        if (is_same(at, option))
            return true;
    }
    return false;
}

/* Does a different option have the same letter or the same name? */
static bool is_ambiguous(const wi_option *option) {
    for (size_t k = 0; k < wi_command_count; k++) {
        for (const wi_option *at = wi_next_option(wi_commands[k], NULL); at;
             at = wi_next_option(wi_commands[k], at)) {
            const bool alike = at->letter && at->letter == option->letter;
            if (!is_same(at, option) && (alike || strcmp(at->name, option->name) == 0))
                return true;
        }
    }
    return false;
}

/* Different options may share a letter or a name if no command takes both. Prints which commands
 * take this one. */
static void print_takers(const wi_option *option) {
    const char *separator = " \\fR(";
    if (!is_ambiguous(option))
        return;
    for (size_t k = 0; k < wi_command_count; k++) {
        if (takes_same(wi_commands[k], option)) {
            printf("%s%s", separator, wi_commands[k]->name);
            separator = ", ";
        }
    }
    fputs(")", stdout);
}

static void print_option(const wi_option *option) {
    fputs(".TP\n.B ", stdout);
    if (option->letter)
        printf("\\-%c, ", option->letter);
    fputs("\\-\\-", stdout);
    print_escaped(option->name);
    if (option->value)
        printf(" \\fI%s\\fR", option->value);
    print_takers(option);
    putchar('\n');
    print_escaped(option->help);
    putchar('\n');
}

/* Was the option printed already: for an earlier command, or as an earlier one of this command? */
static bool came_before(const wi_option *option, size_t command) {
    for (size_t k = 0; k < command; k++) {
        if (takes_same(wi_commands[k], option))
            return true;
    }
    const wi_option *at = wi_next_option(wi_commands[command], NULL);
    while (at != option && !is_same(at, option))
        at = wi_next_option(wi_commands[command], at);
    return at != option;
}

static int by_name(const void *a, const void *b) {
    const wi_option *const *const x = a, *const *const y = b;
    return strcmp((*x)->name, (*y)->name);
}

/* Prints all options, sorted by name. */
static void print_options(void) {
    size_t count = 0, room = 0;
    for (size_t k = 0; k < wi_command_count; k++) {
        for (const wi_option *at = wi_next_option(wi_commands[k], NULL); at;
             at = wi_next_option(wi_commands[k], at))
            room++;
    }
    const wi_option **const all = wi_host_alloc(room * sizeof *all);
    for (size_t k = 0; k < wi_command_count && all; k++) {
        for (const wi_option *at = wi_next_option(wi_commands[k], NULL); at;
             at = wi_next_option(wi_commands[k], at)) {
            if (!at->hidden && !came_before(at, k))
                all[count++] = at;
        }
    }
    if (all)
        qsort(all, count, sizeof *all, by_name);
    for (size_t k = 0; k < count; k++)
        print_option(all[k]);
    wi_host_free(all);
}

static void print_command(const wi_command *command) {
    printf(".SS weft %s", command->name);
    if (*command->operand_text) {
        putchar(' ');
        print_escaped(command->operand_text);
    }
    putchar('\n');
    print_escaped(command->details);
    fputs("\n.PP\nOptions:", stdout);
    const char *separator = " ";
    for (const wi_option *at = wi_next_option(command, NULL); at;
         at = wi_next_option(command, at)) {
        if (!at->hidden) {
            printf("%s\\-\\-%s", separator, at->name);
            separator = ", ";
        }
    }
    fputs(".\n", stdout);
}

static void print_examples(const wi_command *command) {
    for (size_t k = 0; k < WI_MAX_EXAMPLES && command->examples[k].line; k++) {
        fputs(".TP\n.B ", stdout);
        print_escaped(command->examples[k].line);
        putchar('\n');
        print_escaped(command->examples[k].meaning);
        putchar('\n');
    }
}

static const char ending[] =
    ".SH ENVIRONMENT\n"
    ".TP\n.B WEFT_PLACE\nThe place, where \\-\\-place is not given.\n"
    ".TP\n.B WEFT_GRID\nRows and columns of the grid of ranks that factors a matrix, as 4x2.\n"
    ".TP\n.B WEFT_MAILBOX\non: small steps between the GPUs of place gpus go by mailboxes; off: "
    "never. Unset:\nonly those of links that compare.\n"
    ".TP\n.B WEFT_MPI_GPU\ndirect: MPI takes memory of GPUs; staged: it does not. Unset: MPI is "
    "asked.\n"
    ".TP\n.B WEFT_NCCL\nThe file of NCCL's library, for large steps between GPUs; off: none.\n"
    ".TP\n.B WEFT_SECONDS\nFor how long, about, climb and demo time each rung and each roof;\n"
    "default: 0.4. Each runs at least nine times, or with 0 once.\n"
    ".TP\n.B WEFT_THREADS\nHow many threads place cpu uses; default: one for each core that the\n"
    "process may use.\n"
    ".TP\n.B WEFT_TRACE\nA file for a timeline of what the command does, where \\-\\-trace is\n"
    "not given.\n"
    ".TP\n.B WEFT_TUNING\nA table of weft tune, by which variants are chosen; it must be of this\n"
    "device and version. One of another kind of place is passed over.\n"
    ".TP\n.B WEFT_VARIANT\nRungs to use, for example scan:lookback,reduce:serial.\n"
    ".TP\n.B NO_COLOR\nIf set, nothing is coloured. Colours are for terminals only.\n"
    ".TP\n.B TERM\nIf dumb or not set, there are neither colours nor progress.\n"
    ".SH EXIT STATUS\n"
    ".TP\n.B 0\nAll went well.\n"
    ".TP\n.B 1\nA result was wrong, or something failed: a file, a device, memory.\n"
    ".TP\n.B 2\nThe command line is wrong.\n"
    ".SH JSON\n"
    "With \\-\\-json a command prints JSON objects, one on each line, in UTF-8. NaN and\n"
    "infinities, which JSON lacks, are the strings \"nan\", \"inf\" and \"-inf\"; null means that\n"
    "there is no value. A byte of a file name that is not UTF-8 becomes U+FFFD.\n"
    ".SH FILES\n"
    "Arrays are NumPy's .npy files, versions 1 to 3, in either byte order and in C or Fortran\n"
    "order, of integers and floats. Booleans are read as u8; complex numbers (but by fft), text,\n"
    "dates and records are refused.\n"
    ".PP\n"
    "Tables are text: files named .csv or .txt, or standard input. A row stands on each line, "
    "with\n"
    "commas, semicolons, tabs or white space between its columns: the first of these that the "
    "first\n"
    "line has counts for all. That line holds the names of the columns if anything in it is no\n"
    "number; \\-\\-columns takes names, or numbers from 1, and a name that several columns have "
    "is\n"
    "refused. A file of names alone, none of which begins like a number, has no rows. A field\n"
    "may be in double quotes, which end on the same line. An empty field is NaN,\n"
    "as are nan, na, n/a, null and none, in any case; inf and infinity are infinite. Blank lines\n"
    "and those that begin with # are left out; lines may end as on Windows, and a UTF\\-8 mark is\n"
    "skipped.\n"
    ".PP\n"
    "Numbers are read as f64, unless \\-\\-type says another type, and an integer that f64 would\n"
    "round is refused; but gather, select, sort, summary, topk and unique read a column of "
    "integers\n"
    "with such a one as i64 or, if they do not fit, u64. group, and map where its formula names\n"
    "columns, read every column of integers so, and others as f64. \\-\\-types says the types of\n"
    "columns, as id=u64,2=f32, or one type for all. Tables are written with every number in full;\n"
    "an array has one type, and what that cannot hold exactly is refused.\n"
    ".PP\n"
    "\\- is standard input and output. Arrays are written there as .npy, or as text if the name "
    "is\n"
    "\\-.csv or \\-.txt.\n"
    ".PP\n"
    "Sparse matrices are Matrix Market files, coordinate or array, real, integer or pattern,\n"
    "general or symmetric. Images are PGM, PPM and, in builds with libpng, PNG.\n"
    ".PP\n"
    "Output is written to a temporary file in the same folder, named .weft_*.part, which is\n"
    "renamed and gets the mode of the old file when it is complete on the disk. After a full\n"
    "disk or a signal the old file is still there; only a signal that cannot be caught, or a\n"
    "power failure, leaves the temporary file behind. If the name is a symbolic link, the file it\n"
    "points to is replaced, and other names of that file (hard links) keep the old contents;\n"
    "devices and pipes are written directly. An array may replace the one that was read, as in\n"
    "weft sort x.npy \\-o x.npy; other output that would replace an input, or another output, is\n"
    "refused.\n"
    ".SH SEE ALSO\n.BR weft (3)\n";

void wi_print_man(void) {
    printf(".TH WEFT 1 \"\" \"weft %s\" \"weft\"\n", weft_version());
    fputs(".SH NAME\nweft \\- data\\-parallel algorithms on CPU cores and GPUs\n"
          ".SH SYNOPSIS\n.B weft\n.I COMMAND\n[\\fIOPTIONS\\fR] [\\fIOPERANDS\\fR]\n.br\n"
          ".B weft \\-\\-version\n"
          ".SH DESCRIPTION\n"
          "Runs the weft library's operations on arrays in files, shows what the machine offers,\n"
          "and climbs each operation's ladder of variants, from the textbook's first version to\n"
          "the fastest.\n"
          ".SH COMMANDS\n",
          stdout);
    for (size_t k = 0; k < wi_command_count; k++)
        print_command(wi_commands[k]);
    fputs(".SH OPTIONS\n", stdout);
    print_options();
    fputs(".SH EXAMPLES\n", stdout);
    for (size_t k = 0; k < wi_command_count; k++)
        print_examples(wi_commands[k]);
    fputs(ending, stdout);
}
