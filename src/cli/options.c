/* SPDX-License-Identifier: Apache-2.0 */
/* Reading the command line, and saying helpfully what is wrong with it. */
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/commands.h"
#include "cli/text.h"

enum {
    LONGEST_WORD = 64 /* longer words are not guessed at */
};

static unsigned least(unsigned a, unsigned b) {
    return a < b ? a : b;
}

/* Edit distance: insertions, deletions and replacements of letters, and swaps of neighbours. */
static size_t distance(const char *a, const char *b) {
    static unsigned char d[LONGEST_WORD + 1][LONGEST_WORD + 1];
    const size_t length_a = strlen(a), length_b = strlen(b);
    if (length_a > LONGEST_WORD || length_b > LONGEST_WORD)
        return SIZE_MAX;
    for (size_t i = 0; i <= length_a; i++) {
        for (size_t j = 0; j <= length_b; j++) {
            unsigned best = (unsigned)(i + j); /* right where either word is empty */
            if (i > 0 && j > 0) {
                best = least(d[i - 1][j - 1] + (a[i - 1] != b[j - 1]),
                             1 + least(d[i - 1][j], d[i][j - 1]));
                if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1])
                    best = least(best, d[i - 2][j - 2] + 1u);
            }
            d[i][j] = (unsigned char)best;
        }
    }
    return d[length_a][length_b];
}

const char *wi_nearest(const char *given, const char *const list[], size_t count) {
    const char *nearest = NULL;
    size_t best = SIZE_MAX;
    const size_t length = strlen(given);
    for (size_t k = 0; k < count; k++) {
        size_t far = distance(given, list[k]);
        if (length >= 2 && strncmp(given, list[k], length) == 0)
            far = 1; /* an abbreviation */
        if (far < best) {
            best = far;
            nearest = list[k];
        }
    }
    return best <= 1 + length / 5 && best < length ? nearest : NULL;
}

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

wi_exit wi_usage_word(const wi_command *command, const char *what, const char *given,
                      wi_words words) {
    const char *list[WI_MAX_WORDS];
    const size_t count = wi_list_words(words, list);
    const char *const nearest = wi_nearest(given, list, count);
    if (nearest)
        return wi_usage(command, "there is no %s \"%s\"; did you mean \"%s\"?", what, given,
                        nearest);
    char all[768] = "";
    for (size_t k = 0; k < count; k++)
        wi_append(all, sizeof all, ", ", list[k]);
    return wi_usage(command, "there is no %s \"%s\"; there are: %s", what, given, all);
}

bool wi_given(const wi_arguments *args, wi_option option) {
    return args->value[option] != NULL;
}

/* The option of this length and name that the command takes, or WI_OPTIONS. */
static wi_option find_option(const wi_command *command, const char *name, size_t length) {
    for (int k = 0; k < WI_OPTIONS; k++) {
        const char *const candidate = wi_option_rows[k].name;
        if (wi_command_takes(command, (wi_option)k) && strlen(candidate) == length &&
            memcmp(candidate, name, length) == 0)
            return (wi_option)k;
    }
    return WI_OPTIONS;
}

static wi_option find_letter(const wi_command *command, char letter) {
    for (int k = 0; k < WI_OPTIONS; k++) {
        if (wi_command_takes(command, (wi_option)k) && wi_option_rows[k].letter == letter)
            return (wi_option)k;
    }
    return WI_OPTIONS;
}

static wi_exit unknown_option(const wi_command *command, const char *word) {
    const char *list[WI_OPTIONS], *nearest = NULL;
    size_t count = 0;
    char name[LONGEST_WORD] = "";
    for (int k = 0; k < WI_OPTIONS; k++) {
        if (wi_command_takes(command, (wi_option)k) && !wi_option_rows[k].hidden)
            list[count++] = wi_option_rows[k].name;
    }
    if (word[1] == '-') {
        snprintf(name, sizeof name, "%.*s", (int)strcspn(word + 2, "="), word + 2);
        nearest = wi_nearest(name, list, count);
    }
    if (nearest)
        return wi_usage(command, "there is no option %s; did you mean --%s?", word, nearest);
    char all[256] = "";
    for (size_t k = 0; k < count; k++)
        wi_append(all, sizeof all, " --", list[k]);
    return wi_usage(command, "there is no option %s; there are --%s", word, all);
}

/* Keeps an option's value: the one given with it, or the next word. */
static wi_exit take_value(wi_arguments *args, wi_option option, const char *value, int count,
                          char **words, int *at) {
    const wi_command *const command = args->command;
    const wi_option_row *const row = &wi_option_rows[option];
    if (!row->value && value)
        return wi_usage(command, "option --%s takes no value; leave \"%s\" out", row->name, value);
    if (row->value && !value) {
        if (*at + 1 >= count)
            return wi_usage(command, "option --%s lacks its %s", row->name, row->value);
        value = words[++*at];
    }
    args->value[option] = value ? value : "";
    return WI_EXIT_OK;
}

/* Reads words[*at] as an option by its name, as --op=max or --op max. */
static wi_exit read_name(wi_arguments *args, int count, char **words, int *at) {
    const char *const name = words[*at] + 2;
    const size_t length = strcspn(name, "=");
    const wi_option option = find_option(args->command, name, length);
    if (option == WI_OPTIONS)
        return unknown_option(args->command, words[*at]);
    return take_value(args, option, name[length] == '=' ? name + length + 1 : NULL, count, words,
                      at);
}

/* Reads words[*at] as letters: those that take no value, up to one that does, as -jk5 or -jk 5. */
static wi_exit read_letters(wi_arguments *args, int count, char **words, int *at) {
    const wi_command *const command = args->command;
    wi_exit result = WI_EXIT_OK;
    for (const char *letter = words[*at] + 1; *letter && result == WI_EXIT_OK; letter++) {
        const wi_option option = find_letter(command, *letter);
        const char *rest = NULL;
        if (option == WI_OPTIONS) {
            const char name[] = {'-', *letter, '\0'};
            return unknown_option(command, letter == words[*at] + 1 ? words[*at] : name);
        }
        if (wi_option_rows[option].value && letter[1]) {
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

/* Turns the values of --type, --n and --seed into what they mean. */
static wi_exit understand_values(wi_arguments *args) {
    const char *const *const value = args->value;
    if (value[WI_OPT_TYPE] && !wi_find_type(value[WI_OPT_TYPE], &args->type))
        return wi_usage_word(args->command, "type", value[WI_OPT_TYPE], WI_WORDS_TYPE);
    if (value[WI_OPT_N] && (!wi_read_count(value[WI_OPT_N], &args->n) || args->n == 0))
        return wi_usage(args->command,
                        "option --n: \"%s\" is no count of elements from 1; write 1000, 1e6, 2^28 "
                        "or 64Mi",
                        value[WI_OPT_N]);
    args->seed = 1;
    if (value[WI_OPT_SEED] && !wi_read_u64(value[WI_OPT_SEED], &args->seed))
        return wi_usage(args->command, "option --seed: \"%s\" is no number from 0 to 2^64 - 1",
                        value[WI_OPT_SEED]);
    return WI_EXIT_OK;
}

wi_exit wi_parse(const wi_command *command, int count, char **words, wi_arguments *args) {
    bool options_end = false;
    *args = (wi_arguments){.command = command};
    for (int k = 0; k < count; k++) {
        const char *const word = words[k];
        wi_exit result;
        if (!options_end && strcmp(word, "--") == 0) {
            options_end = true;
            continue;
        }
        if (!options_end && word[0] == '-' && word[1])
            result = word[1] == '-' ? read_name(args, count, words, &k)
                                    : read_letters(args, count, words, &k);
        else
            result = read_operand(args, word);
        if (result != WI_EXIT_OK)
            return result;
    }
    if (wi_given(args, WI_OPT_HELP))
        return WI_EXIT_OK;
    if (args->operands < command->least_operands)
        return wi_usage(command, "an operand is missing; give %s", command->operand_text);
    return understand_values(args);
}
