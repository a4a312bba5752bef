/* SPDX-License-Identifier: Apache-2.0 */
/* The table of subcommands and options. Parsing, help, the man page and shell completion all read
 * it, so that a new command is one file and one row. */
#ifndef WI_COMMANDS_H
#define WI_COMMANDS_H

#include "core/core.h"
#include "weft/op.h"

/* What the process returns. */
typedef enum wi_exit {
    WI_EXIT_OK,
    WI_EXIT_FAILED, /* a wrong result, or a failure while running */
    WI_EXIT_USAGE   /* the command line makes no sense */
} wi_exit;

typedef enum wi_option {
    WI_OPT_PLACE,
    WI_OPT_VARIANT,
    WI_OPT_TYPE,
    WI_OPT_N,
    WI_OPT_SEED,
    WI_OPT_OP,
    WI_OPT_EXCLUSIVE,
    WI_OPT_INIT,
    WI_OPT_DESCENDING,
    WI_OPT_INDICES,
    WI_OPT_K,
    WI_OPT_SMALLEST,
    WI_OPT_BINS,
    WI_OPT_LO,
    WI_OPT_HI,
    WI_OPT_WHERE,
    WI_OPT_LENGTHS,
    WI_OPT_OUTPUT,
    WI_OPT_PER_ROW,
    WI_OPT_ORDERING,
    WI_OPT_HALF,
    WI_OPT_SYMMETRY_TOLERANCE,
    WI_OPT_RHS,
    WI_OPT_REFINE,
    WI_OPT_REPEAT,
    WI_OPT_PLOT,
    WI_OPT_LIMITS,
    WI_OPT_JSON,
    WI_OPT_MAN,
    WI_OPT_COMPLETION,
    WI_OPT_HELP,
    WI_OPTIONS
} wi_option;

/* The words that may stand in a certain spot of the command line; for completion and for hints. */
typedef enum wi_words {
    WI_WORDS_NONE, /* nothing that can be listed */
    WI_WORDS_FILE,
    WI_WORDS_PLACE,
    WI_WORDS_TYPE,
    WI_WORDS_VARIANT,
    WI_WORDS_REDUCTION,
    WI_WORDS_SCAN_OP,
    WI_WORDS_CLIMB,
    WI_WORDS_PROBLEM,
    WI_WORDS_ORDERING,
    WI_WORDS_HALF,
    WI_WORDS_COMMAND,
    WI_WORDS_SHELL
} wi_words;

typedef struct wi_option_row {
    const char *name;
    char letter;       /* 0: none */
    const char *value; /* what to call its value; NULL if it takes none */
    wi_words words;    /* which values there are */
    const char *help;
    bool hidden; /* for the build, not for people */
} wi_option_row;

enum {
    WI_MAX_OPERANDS_GIVEN = 2,
    WI_MAX_EXAMPLES = 4,
    WI_MAX_WORDS = 64
};

/* A parsed command line. */
typedef struct wi_arguments {
    const struct wi_command *command;
    const char *value[WI_OPTIONS]; /* as given; "" for an option without value; NULL: not given */
    const char *operand[WI_MAX_OPERANDS_GIVEN];
    size_t operands;
    weft_type type; /* these three are meaningful when their option was given */
    size_t n;
    uint64_t seed;
} wi_arguments;

typedef struct wi_example {
    const char *line, *meaning;
} wi_example;

typedef struct wi_command {
    const char *name;
    const char *operand_text; /* as "FILE.npy", for the synopsis */
    const char *summary;
    const char *details;
    wi_example examples[WI_MAX_EXAMPLES];
    unsigned options;       /* one bit for each wi_option */
    wi_words operand_words; /* what the operands are */
    wi_words op_words;      /* what --op may name */
    const char *ladder;     /* whose rungs --variant names; NULL: anyone's */
    const char *suffixes;   /* of the files that operands name, as "pgm ppm" */
    size_t least_operands, most_operands;
    wi_exit (*run)(const wi_arguments *args);
} wi_command;

extern const wi_option_row wi_option_rows[WI_OPTIONS];
extern const wi_command wi_commands[];
extern const size_t wi_command_count;

const wi_command *wi_find_command(const char *name); /* NULL if there is none */
bool wi_command_takes(const wi_command *command, wi_option option);

/* Fills `list` with the words there are, and returns how many; 0 where they cannot be listed. */
size_t wi_list_words(wi_words words, const char *list[WI_MAX_WORDS]);

/* The same for the rungs of a ladder, on any kind of place. */
size_t wi_list_rungs(const char *op, const char *list[WI_MAX_WORDS]);

/* The same for the values of an option of this command. */
size_t wi_list_values(const wi_command *command, wi_option option, const char *list[WI_MAX_WORDS]);

/* What the value of an option of this command is. */
wi_words wi_value_words(const wi_command *command, wi_option option);

/* The word nearest to `given` by edit distance, if it is near enough to be meant; else NULL. */
const char *wi_nearest(const char *given, const char *const list[], size_t count);

/* Reads the words after the command's name. */
wi_exit wi_parse(const wi_command *command, int count, char **words, wi_arguments *args);
bool wi_given(const wi_arguments *args, wi_option option);

/* Says on standard error what is wrong with the command line; returns WI_EXIT_USAGE. */
wi_exit wi_usage(const wi_command *command, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

/* As wi_usage, for a word that is none of those it may be: names the nearest, or all. `what` says
 * what it should be, as "type". */
wi_exit wi_usage_word(const wi_command *command, const char *what, const char *given,
                      wi_words words);

/* The subcommands, one file each. */
wi_exit wi_info(const wi_arguments *args);
wi_exit wi_demo(const wi_arguments *args);
wi_exit wi_climb_command(const wi_arguments *args);
wi_exit wi_reduce_command(const wi_arguments *args);
wi_exit wi_scan_command(const wi_arguments *args);
wi_exit wi_sort_command(const wi_arguments *args);
wi_exit wi_topk_command(const wi_arguments *args);
wi_exit wi_histogram_command(const wi_arguments *args);
wi_exit wi_add_command(const wi_arguments *args);
wi_exit wi_select_command(const wi_arguments *args);
wi_exit wi_unique_command(const wi_arguments *args);
wi_exit wi_generate_command(const wi_arguments *args);
wi_exit wi_analyze_command(const wi_arguments *args);
wi_exit wi_solve_command(const wi_arguments *args);
wi_exit wi_help(const wi_arguments *args);

/* Parts of `weft help`. */
void wi_print_overview(void);
void wi_print_command_help(const wi_command *command);
void wi_print_man(void);
wi_exit wi_print_completion(const wi_command *command, const char *shell);

#endif
