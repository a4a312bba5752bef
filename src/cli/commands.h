/* SPDX-License-Identifier: Apache-2.0 */
/* What a subcommand is: its options, words and texts, defined in its own file. The parser, the
 * help, the man page and shell completion all read this; commands.def lists the subcommands, one
 * line each. */
#ifndef WI_COMMANDS_H
#define WI_COMMANDS_H

#include "cli/words.h"
#include "core/core.h"

/* The exit status of the process. */
typedef enum wi_exit {
    WI_EXIT_OK,
    WI_EXIT_FAILED, /* a wrong result, or a failure while running */
    WI_EXIT_USAGE   /* the command line is wrong */
} wi_exit;

/* Is the value of an option a file name? */
typedef enum wi_file_use {
    WI_NO_FILE,
    WI_FILE_READ,
    WI_FILE_WRITTEN
} wi_file_use;

/* An option, identified by its address. An option of one command is defined in that command's file,
 * one of several commands in options.c. */
typedef struct wi_option {
    const char *name;
    char letter;       /* 0: none */
    const char *value; /* what the help calls its value; NULL if it takes none */
    const char *help;
    wi_lister *list;     /* lists the possible values; NULL: they cannot be listed */
    const char *heading; /* the heading under which `weft help COMMAND` lists the values; NULL: not
                            listed */
    wi_file_use file;
    bool hidden; /* for the build only; not shown to users */
} wi_option;

enum {
    WI_MAX_EXAMPLES = 6
};

typedef struct wi_arguments wi_arguments;

typedef struct wi_example {
    const char *line, *meaning;
} wi_example;

struct wi_command {
    const char *name;
    const char *operand_text; /* for the synopsis, as "FILE.npy" */
    const char *summary;
    const char *details;
    wi_example examples[WI_MAX_EXAMPLES];
    const wi_option *const *options; /* in the order of the help; the last is NULL */
    wi_lister *list_operands;        /* lists the possible operands; NULL: they cannot be listed */
    const char *operand_heading;     /* as `heading` of an option */
    const char *suffixes;            /* of operands that are files, as "pgm ppm"; NULL: none are */
    const char *ladder; /* --variant takes its rungs; NULL: the operand names the ladder */
    bool over_ranks;    /* it works on place mpi, too */
    bool writes_images; /* --output may name one */
    bool takes_formula; /* its first operand is one, which may begin with a minus */
    bool unrounded;     /* a column of integers that f64 would round stays one of integers */
    size_t least_operands, most_operands;
    wi_exit (*run)(const wi_arguments *args);
};

/* A parsed command line. */
struct wi_arguments {
    const wi_command *command;
    const char **value; /* one for each of the command's options; see wi_value */
    const char **operand;
    size_t operands;
    weft_type type; /* these three are set if their option was given */
    size_t n;
    uint64_t seed;
};

/* The option of the command after this one, the first after NULL; NULL: there is none. Commands
 * with --place have --trace before their last option, --help. */
const wi_option *wi_next_option(const wi_command *command, const wi_option *option);

extern const wi_command *const wi_commands[]; /* in the order of the help */
extern const size_t wi_command_count;

const wi_command *wi_find_command(const char *name); /* NULL if there is none */
bool wi_command_takes(const wi_command *command, const wi_option *option);

/* The names of the commands. */
void wi_list_commands(const wi_command *command, wi_words *words);

/* Parses the words after the command's name. wi_arguments_free frees what *args holds, also after a
 * failure. */
wi_exit wi_parse(const wi_command *command, int count, char **words, wi_arguments *args);
void wi_arguments_free(wi_arguments *args);

/* The value of an option, "" if it takes none; NULL if it was not given. */
const char *wi_value(const wi_arguments *args, const wi_option *option);
bool wi_given(const wi_arguments *args, const wi_option *option);

/* Prints on standard error what is wrong with the command line; returns WI_EXIT_USAGE. */
wi_exit wi_usage(const wi_command *command, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

/* As wi_usage, for a word that is not one of the possible ones: suggests the nearest, or lists all.
 * `what` is the kind of word, as "type". */
wi_exit wi_usage_word(const wi_command *command, const char *what, const char *given,
                      wi_lister *list);

/* What `weft` alone prints: four lines that work in any folder. */
void wi_print_greeting(void);

/* Parts of `weft help`. */
void wi_print_overview(void);
void wi_print_command_help(const wi_command *command);
void wi_print_man(void);
wi_exit wi_print_completion(const wi_command *command, const char *shell);
void wi_list_shells(const wi_command *command, wi_words *words);

#endif
