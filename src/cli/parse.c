/* SPDX-License-Identifier: Apache-2.0 */
/* Parses the command line, with helpful error messages. */
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/options.h"
#include "cli/text.h"

enum {
    LONGEST_NAME = 64 /* no suggestion for longer names */
};

static void print_hint(const wi_command *command) {
    fprintf(stderr, "Try 'weft help%s%s'.\n", command ? " " : "", command ? command->name : "");
}

wi_exit wi_usage(const wi_command *command, const char *format, ...) {
    char line[1024];
    va_list values;
    va_start(values, format);
    vsnprintf(line, sizeof line, format, values);
    va_end(values);
    wi_say_error("%s%s%s", command ? command->name : "", command ? ": " : "", line);
    print_hint(command);
    return WI_EXIT_USAGE;
}

/* Joins all words in one line, each after a separator. */
static void join(const wi_words *words, const char *separator, char *line, size_t bytes) {
    line[0] = '\0';
    for (size_t k = 0; k < words->count; k++)
        wi_append(line, bytes, separator, words->at[k]);
}

wi_exit wi_usage_word(const wi_command *command, const char *what, const char *given,
                      wi_lister *list) {
    wi_words words = {.at = NULL};
    char all[768];
    list(command, &words);
    join(&words, ", ", all, sizeof all);
    const char *const nearest = wi_nearest(given, &words);
    wi_words_free(&words);
    if (nearest)
        return wi_usage(command, "there is no %s \"%s\"; did you mean \"%s\"?", what, given,
                        nearest);
    return wi_usage(command, "there is no %s \"%s\"; there are: %s", what, given, all);
}

/* ---- options ---- */

/* The index of an option among those of the command, or their number if it is not one. */
static size_t number_of(const wi_command *command, const wi_option *option) {
    size_t k = 0;
    const wi_option *at = wi_next_option(command, NULL);
    for (; at && !(option && strcmp(at->name, option->name) == 0); k++)
        at = wi_next_option(command, at);
    return k;
}

static size_t option_count(const wi_command *command) {
    return number_of(command, NULL);
}

const char *wi_value(const wi_arguments *args, const wi_option *option) {
    const size_t k = number_of(args->command, option);
    return k < option_count(args->command) ? args->value[k] : NULL;
}

bool wi_given(const wi_arguments *args, const wi_option *option) {
    return wi_value(args, option) != NULL;
}

/* The command's option with this name of this length; NULL: there is none. */
static const wi_option *find_option(const wi_command *command, const char *name, size_t length) {
    for (const wi_option *at = wi_next_option(command, NULL); at;
         at = wi_next_option(command, at)) {
        if (strlen(at->name) == length && memcmp(at->name, name, length) == 0)
            return at;
    }
    return NULL;
}

static const wi_option *find_letter(const wi_command *command, char letter) {
    for (const wi_option *at = wi_next_option(command, NULL); at;
         at = wi_next_option(command, at)) {
        if (at->letter == letter)
            return at;
    }
    return NULL;
}

static wi_exit unknown_option(const wi_command *command, const char *word) {
    char name[LONGEST_NAME], all[256];
    wi_words names = {.at = NULL};
    for (const wi_option *at = wi_next_option(command, NULL); at;
         at = wi_next_option(command, at)) {
        if (!at->hidden)
            wi_words_add(&names, at->name);
    }
    const char *const begin = word + (word[1] == '-' ? 2 : 1); /* one dash may be one too few */
    snprintf(name, sizeof name, "%.*s", (int)strcspn(begin, "="), begin);
    const char *const nearest = wi_nearest(name, &names);
    join(&names, " --", all, sizeof all);
    wi_words_free(&names);
    if (nearest)
        return wi_usage(command, "there is no option %s; did you mean --%s?", word, nearest);
    if (command->takes_formula && word[1] != '-')
        return wi_usage(command, "there is no option %s; if it is the formula, write it as '(%s)'",
                        word, word);
    return wi_usage(command, "there is no option %s; there are --%s", word, all);
}

/* Sets an option's value: the one given with it, or else the next word. */
static wi_exit take_value(wi_arguments *args, const wi_option *option, const char *value, int count,
                          char **words, int *at) {
    const wi_command *const command = args->command;
    if (!option->value && value)
        return wi_usage(command, "option --%s takes no value; leave \"%s\" out", option->name,
                        value);
    if (option->value && !value) {
        if (*at + 1 >= count)
            return wi_usage(command, "option --%s lacks its %s", option->name, option->value);
        value = words[++*at];
    }
    args->value[number_of(command, option)] = value ? value : "";
    return WI_EXIT_OK;
}

/* Parses words[*at] as an option by name, as --op=max or --op max. */
static wi_exit read_name(wi_arguments *args, int count, char **words, int *at) {
    const char *const name = words[*at] + 2;
    const size_t length = strcspn(name, "=");
    const wi_option *const option = find_option(args->command, name, length);
    if (!option)
        return unknown_option(args->command, words[*at]);
    return take_value(args, option, name[length] == '=' ? name + length + 1 : NULL, count, words,
                      at);
}

/* Parses words[*at] as option letters; all but the last take no value, as -jk5 or -jk 5. */
static wi_exit read_letters(wi_arguments *args, int count, char **words, int *at) {
    const wi_command *const command = args->command;
    wi_exit result = WI_EXIT_OK;
    for (const char *letter = words[*at] + 1; *letter && result == WI_EXIT_OK; letter++) {
        const wi_option *const option = find_letter(command, *letter);
        const char *rest = NULL;
        if (!option) {
            const char name[] = {'-', *letter, '\0'};
            return unknown_option(command, letter == words[*at] + 1 ? words[*at] : name);
        }
        if (option->value && letter[1]) {
            rest = letter + 1;
            letter += strlen(rest);
        }
        result = take_value(args, option, rest, count, words, at);
    }
    return result;
}

static wi_exit read_operand(wi_arguments *args, const char *word) {
    const wi_command *const command = args->command;
    if (args->operands == command->most_operands)
        return command->most_operands
                   ? wi_usage(command, "\"%s\" is one operand too many; give %s", word,
                              command->operand_text)
                   : wi_usage(command, "\"%s\" is not wanted: the command takes options only",
                              word);
    args->operand[args->operands++] = word;
    return WI_EXIT_OK;
}

/* Parses the values of --type, --n and --seed. */
static wi_exit understand_values(wi_arguments *args) {
    const char *const type = wi_value(args, &wi_type_option);
    const char *const n = wi_value(args, &wi_n_option);
    const char *const seed = wi_value(args, &wi_seed_option);
    if (type && !wi_find_type(type, &args->type))
        return wi_usage_word(args->command, "type", type, wi_list_types);
    if (n && (!wi_read_count(n, &args->n) || args->n == 0))
        return wi_usage(
            args->command,
            "option --n: \"%s\" is not a count of elements from 1; write 1000, 1e6, 2^28 "
            "or 64Mi",
            n);
    args->seed = 1;
    if (seed && !wi_read_u64(seed, &args->seed))
        return wi_usage(args->command, "option --seed: \"%s\" is not a number from 0 to 2^64 - 1",
                        seed);
    return WI_EXIT_OK;
}

/* Allocates room for the values of all options and for all operands. */
static wi_exit take_room(const wi_command *command, wi_arguments *args) {
    const size_t options = option_count(command), all = options + command->most_operands;
    *args = (wi_arguments){.command = command, .value = wi_host_alloc(all * sizeof *args->value)};
    if (!args->value) {
        wi_say_error("%s: no memory for the command line", command->name);
        return WI_EXIT_FAILED;
    }
    for (size_t k = 0; k < all; k++)
        args->value[k] = NULL;
    args->operand = args->value + options;
    return WI_EXIT_OK;
}

void wi_arguments_free(wi_arguments *args) {
    wi_host_free(args->value);
    *args = (wi_arguments){.command = NULL};
}

wi_exit wi_parse(const wi_command *command, int count, char **words, wi_arguments *args) {
    bool options_end = false;
    wi_exit result = take_room(command, args);
    for (int k = 0; k < count && result == WI_EXIT_OK; k++) {
        const char *const word = words[k];
        if (!options_end && strcmp(word, "--") == 0) {
            options_end = true;
            continue;
        }
        if (!options_end && word[0] == '-' && word[1])
            result = word[1] == '-' ? read_name(args, count, words, &k)
                                    : read_letters(args, count, words, &k);
        else
            result = read_operand(args, word);
    }
    if (result != WI_EXIT_OK || wi_given(args, &wi_help_option))
        return result;
    if (args->operands < command->least_operands)
        return wi_usage(command, "an operand is missing; give %s", command->operand_text);
    return understand_values(args);
}
