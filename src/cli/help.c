/* SPDX-License-Identifier: Apache-2.0 */
/* `weft help`: what there is, told from the table of commands. */
#include <stdio.h>

#include "cli/commands.h"
#include "cli/text.h"

static const char *bold(void) {
    return wi_style_on(stdout, WI_BOLD);
}

static const char *plain(void) {
    return wi_style_on(stdout, WI_PLAIN);
}

static void print_heading(const char *text) {
    printf("\n%s%s%s\n", bold(), text, plain());
}

void wi_print_overview(void) {
    printf("%sweft %s%s: data-parallel algorithms on CPU cores and GPUs\n\n", bold(),
           weft_version(), plain());
    printf("usage: weft COMMAND [OPTIONS] [OPERANDS]\n");
    print_heading("Commands");
    for (size_t k = 0; k < wi_command_count; k++)
        printf("  %-8s %s\n", wi_commands[k].name, wi_commands[k].summary);
    print_heading("Start here");
    printf("  weft demo                      see it work\n"
           "  weft climb scan                one algorithm, from the textbook to the fastest\n"
           "  weft reduce x.npy --op max     use it on a file\n"
           "  weft help scan                 everything about one command\n");
}

static void print_option(const wi_option_row *row) {
    char left[WI_FIELD_BYTES];
    const char letter[] = {'-', row->letter, ',', ' ', '\0'};
    snprintf(left, sizeof left, "%s--%s%s%s", row->letter ? letter : "    ", row->name,
             row->value ? " " : "", row->value ? row->value : "");
    printf("  %-22s %s\n", left, row->help);
}

static void print_list(const char *title, const char *const list[], size_t count) {
    char line[1024] = "";
    if (count == 0)
        return;
    for (size_t k = 0; k < count; k++)
        wi_append(line, sizeof line, " ", list[k]);
    print_heading(title);
    fputs("  ", stdout);
    wi_print_wrapped(line, 2, 2);
}

static void print_words(const char *title, wi_words words) {
    const char *list[WI_MAX_WORDS];
    print_list(title, list, wi_list_words(words, list));
}

void wi_print_command_help(const wi_command *command) {
    printf("%sweft %s%s: %s\n\n", bold(), command->name, plain(), command->summary);
    printf("usage: weft %s%s%s [OPTIONS]\n\n", command->name, *command->operand_text ? " " : "",
           command->operand_text);
    fputs("  ", stdout);
    wi_print_wrapped(command->details, 2, 2);
    print_heading("Options");
    for (int k = 0; k < WI_OPTIONS; k++) {
        if (wi_command_takes(command, (wi_option)k) && !wi_option_rows[k].hidden)
            print_option(&wi_option_rows[k]);
    }
    print_words("OP", command->op_words);
    if (command->operand_words == WI_WORDS_CLIMB)
        print_words("OP", WI_WORDS_CLIMB);
    if (command->operand_words == WI_WORDS_PROBLEM)
        print_words("KIND", WI_WORDS_PROBLEM);
    if (command->ladder && wi_command_takes(command, WI_OPT_VARIANT)) {
        const char *list[WI_MAX_WORDS];
        print_list("Variants", list, wi_list_values(command, WI_OPT_VARIANT, list));
    }
    if (wi_command_takes(command, WI_OPT_ORDERING))
        print_words("Orderings", WI_WORDS_ORDERING);
    print_heading("Examples");
    for (size_t k = 0; k < WI_MAX_EXAMPLES && command->examples[k].line; k++)
        printf("  %s\n      %s\n", command->examples[k].line, command->examples[k].meaning);
}

wi_exit wi_help(const wi_arguments *args) {
    if (wi_given(args, WI_OPT_MAN)) {
        wi_print_man();
        return WI_EXIT_OK;
    }
    if (wi_given(args, WI_OPT_COMPLETION))
        return wi_print_completion(args->command, args->value[WI_OPT_COMPLETION]);
    if (args->operands == 0) {
        wi_print_overview();
        return WI_EXIT_OK;
    }
    const wi_command *const command = wi_find_command(args->operand[0]);
    if (!command)
        return wi_usage_word(args->command, "command", args->operand[0], WI_WORDS_COMMAND);
    wi_print_command_help(command);
    return WI_EXIT_OK;
}
