/* SPDX-License-Identifier: Apache-2.0 */
/* `weft help`: prints the commands and their options, from the table of commands. */
#include <stdio.h>
#include <string.h>

#include "cli/options.h"
#include "cli/text.h"

static const wi_option man_option = {
    .name = "man", .help = "print the manual page, in roff", .hidden = true};
static const wi_option completion_option = {.name = "completion",
                                            .value = "SHELL",
                                            .help = "print completions for bash, zsh or fish",
                                            .list = wi_list_shells};

static const char *bold(void) {
    return wi_style_on(stdout, WI_BOLD);
}

static const char *plain(void) {
    return wi_style_on(stdout, WI_PLAIN);
}

static void print_heading(const char *text) {
    printf("\n%s%s%s\n", bold(), text, plain());
}

/* Prints a term from `column` on, and its meaning from `meaning_column` on. */
static void print_meaning(const char *text, int column, const char *meaning, int meaning_column) {
    const int taken = column + (int)strlen(text), gap = 1;
    printf("%*s%s%*s", column, "", text,
           taken + gap < meaning_column ? meaning_column - taken : gap, "");
    wi_print_wrapped(meaning, (size_t)(taken + gap < meaning_column ? meaning_column : taken + gap),
                     (size_t)meaning_column);
}

static void print_title(void) {
    printf("%sweft %s%s: ", bold(), weft_version(), plain());
    wi_print_wrapped("data-parallel algorithms on CPU cores and GPUs",
                     strlen("weft : ") + strlen(weft_version()), 2);
}

void wi_print_greeting(void) {
    print_title();
    print_heading("Four things to try");
    print_meaning("weft demo", 2, "every operation, beside the loop you would write", 26);
    print_meaning("weft climb scan", 2, "one algorithm, from the textbook to the fastest", 26);
    print_meaning("weft precision --demo", 2, "what rounding does to a sum", 26);
    printf("  weft generate laplace3d 30 -o A.mtx && weft solve A.mtx\n");
    print_meaning("", 2, "a sparse system of 27,000 unknowns, solved", 26);
    putchar('\n');
    wi_print_line(stdout, 0, "`weft help` lists all commands; `weft help COMMAND` explains one.");
}

void wi_print_overview(void) {
    int longest = 0;
    for (size_t k = 0; k < wi_command_count; k++) {
        const int length = (int)strlen(wi_commands[k]->name);
        longest = length > longest ? length : longest;
    }
    print_title();
    printf("\nusage: weft COMMAND [OPTIONS] [OPERANDS]\n");
    print_heading("Commands");
    for (size_t k = 0; k < wi_command_count; k++)
        print_meaning(wi_commands[k]->name, 2, wi_commands[k]->summary, 2 + longest + 1);
    print_heading("Start here");
    print_meaning("weft demo", 2, "see it work", 33);
    print_meaning("weft climb scan", 2, "one algorithm, from the textbook to the fastest", 33);
    print_meaning("weft reduce x.npy --op max", 2, "use it on a file", 33);
    print_meaning("weft help scan", 2, "everything about one command", 33);
}

static void print_option(const wi_option *option) {
    char left[WI_FIELD_BYTES];
    const char letter[] = {'-', option->letter, ',', ' ', '\0'};
    snprintf(left, sizeof left, "%s--%s%s%s", option->letter ? letter : "    ", option->name,
             option->value ? " " : "", option->value ? option->value : "");
    print_meaning(left, 2, option->help, 25);
}

/* Prints the possible words under a heading, if there is a heading and there are words. */
static void print_words(const char *heading, const wi_command *command, wi_lister *list) {
    wi_words words = {.at = NULL};
    if (!heading)
        return;
    list(command, &words);
    size_t room = 1;
    for (size_t k = 0; k < words.count; k++)
        room += strlen(words.at[k]) + 1;
    char *const line = wi_host_alloc(room);
    if (words.count > 0 && line) {
        line[0] = '\0';
        for (size_t k = 0; k < words.count; k++)
            wi_append(line, room, " ", words.at[k]);
        print_heading(heading);
        fputs("  ", stdout);
        wi_print_wrapped(line, 2, 2);
    }
    wi_host_free(line);
    wi_words_free(&words);
}

void wi_print_command_help(const wi_command *command) {
    wi_print_line(stdout, 2, "%sweft %s%s: %s\n", bold(), command->name, plain(), command->summary);
    wi_print_line(stdout, 2, "usage: weft %s%s%s [OPTIONS]\n", command->name,
                  *command->operand_text ? " " : "", command->operand_text);
    fputs("  ", stdout);
    wi_print_wrapped(command->details, 2, 2);
    print_heading("Options");
    for (const wi_option *at = wi_next_option(command, NULL); at;
         at = wi_next_option(command, at)) {
        if (!at->hidden)
            print_option(at);
    }
    print_words(command->operand_heading, command, command->list_operands);
    for (const wi_option *at = wi_next_option(command, NULL); at;
         at = wi_next_option(command, at)) {
        if (at != &wi_variant_option || command->ladder)
            print_words(at->heading, command, at->list);
    }
    print_heading("Examples");
    for (size_t k = 0; k < WI_MAX_EXAMPLES && command->examples[k].line; k++)
        wi_print_line(stdout, 6, "  %s\n      %s", command->examples[k].line,
                      command->examples[k].meaning);
}

static wi_exit execute(const wi_arguments *args) {
    if (wi_given(args, &man_option)) {
        wi_print_man();
        return WI_EXIT_OK;
    }
    if (wi_given(args, &completion_option))
        return wi_print_completion(args->command, wi_value(args, &completion_option));
    if (args->operands == 0) {
        wi_print_overview();
        return WI_EXIT_OK;
    }
    const wi_command *const command = wi_find_command(args->operand[0]);
    if (!command)
        return wi_usage_word(args->command, "command", args->operand[0], wi_list_commands);
    wi_print_command_help(command);
    return WI_EXIT_OK;
}

static const wi_option *const options[] = {&man_option, &completion_option, &wi_help_option, NULL};

const wi_command wi_help_command = {
    .name = "help",
    .operand_text = "[COMMAND]",
    .summary = "explain weft, or one command",
    .details = "Without a command: lists the commands. --completion prints a completion script.",
    .examples = {{"weft help scan", "everything about one command"},
                 {"source <(weft help --completion bash)", "completion in this shell"}},
    .options = options,
    .list_operands = wi_list_commands,
    .most_operands = 1,
    .run = execute,
};
