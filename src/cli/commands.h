/* SPDX-License-Identifier: Apache-2.0 */
/* What a subcommand is: its options, words and texts, in its own file. Parsing, help, the man page
 * and shell completion all read it; commands.def lists the subcommands, one line each. */
#ifndef WI_COMMANDS_H
#define WI_COMMANDS_H

#include "cli/words.h"
#include "core/core.h"

/* What the process returns. */
typedef enum wi_exit {
    WI_EXIT_OK,
    WI_EXIT_FAILED, /* a wrong result, or a failure while running */
    WI_EXIT_USAGE   /* the command line makes no sense */
} wi_exit;

/* Is the value of an option the name of a file? */
typedef enum wi_file_use {
    WI_NO_FILE,
    WI_FILE_READ,
    WI_FILE_WRITTEN
} wi_file_use;

/* An option: known by its address. Those of one command are in that command's file, those of
 * several in options.h. */
typedef struct wi_option {
    const char *name;
    char letter;       /* 0: none */
    const char *value; /* what to call its value; NULL if it takes none */
    const char *help;
    wi_lister *list;     /* the values there are; NULL: they cannot be listed */
    const char *heading; /* under which `weft help COMMAND` lists them; NULL: it does not */
    wi_file_use file;
    bool hidden; /* for the build, not for people */
} wi_option;

enum {
    WI_MAX_EXAMPLES = 5
};

typedef struct wi_arguments wi_arguments;

typedef struct wi_example {
    const char *line, *meaning;
} wi_example;

struct wi_command {
    const char *name;
    const char *operand_text; /* as "FILE.npy", for the synopsis */
    const char *summary;
    const char *details;
    wi_example examples[WI_MAX_EXAMPLES];
    const wi_option *const *options; /* in the order of help; the last is NULL */
    wi_lister *list_operands;        /* what the operands may be; NULL: that cannot be listed */
    const char *operand_heading;     /* as heading of an option */
    const char *suffixes;            /* of the files that operands name, as "pgm ppm"; NULL: none */
    const char *ladder;              /* whose rungs --variant names; NULL: the operand names it */
    size_t least_operands, most_operands;
    wi_exit (*run)(const wi_arguments *args);
};

/* A parsed command line. */
struct wi_arguments {
    const wi_command *command;
    const char **value; /* of each of the command's options; see wi_value */
    const char **operand;
    size_t operands;
    weft_type type; /* these three are meaningful when their option was given */
    size_t n;
    uint64_t seed;
};

extern const wi_command *const wi_commands[]; /* in the order of help */
extern const size_t wi_command_count;

const wi_command *wi_find_command(const char *name); /* NULL if there is none */
bool wi_command_takes(const wi_command *command, const wi_option *option);

/* The names of the commands. */
void wi_list_commands(const wi_command *command, wi_words *words);

/* Reads the words after the command's name; wi_arguments_free gives back what *args holds, even
 * after a failure. */
wi_exit wi_parse(const wi_command *command, int count, char **words, wi_arguments *args);
void wi_arguments_free(wi_arguments *args);

/* The value of an option, "" if it takes none; NULL if it was not given. */
const char *wi_value(const wi_arguments *args, const wi_option *option);
bool wi_given(const wi_arguments *args, const wi_option *option);

/* Says on standard error what is wrong with the command line; returns WI_EXIT_USAGE. */
wi_exit wi_usage(const wi_command *command, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

/* As wi_usage, for a word that is none of those it may be: names the nearest, or all. `what` says
 * what it should be, as "type". */
wi_exit wi_usage_word(const wi_command *command, const char *what, const char *given,
                      wi_lister *list);

/* Parts of `weft help`. */
void wi_print_overview(void);
void wi_print_command_help(const wi_command *command);
void wi_print_man(void);
wi_exit wi_print_completion(const wi_command *command, const char *shell);
void wi_list_shells(const wi_command *command, wi_words *words);

#endif
