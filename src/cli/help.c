/* SPDX-License-Identifier: Apache-2.0 */
/* `weft help`: what there is, told from the table of commands. */
#include <stdio.h>
#include <string.h>

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

/* Something from `column` on, and what it means from `meaning_column` on. */
static void print_meaning(const char *text, int column, const char *meaning, int meaning_column) {
    const int taken = column + (int)strlen(text), gap = 1;
    printf("%*s%s%*s", column, "", text,
           taken + gap < meaning_column ? meaning_column - taken : gap, "");
    wi_print_wrapped(meaning, (size_t)(taken + gap < meaning_column ? meaning_column : taken + gap),
                     (size_t)meaning_column);
}

void wi_print_overview(void) {
    int longest = 0;
    for (size_t k = 0; k < wi_command_count; k++) {
        const int length = (int)strlen(wi_commands[k].name);
        longest = length > longest ? length : longest;
    }
    printf("%sweft %s%s: ", bold(), weft_version(), plain());
    wi_print_wrapped("data-parallel algorithms on CPU cores and GPUs",
                     strlen("weft : ") + strlen(weft_version()), 2);
    printf("\nusage: weft COMMAND [OPTIONS] [OPERANDS]\n");
    print_heading("Commands");
    for (size_t k = 0; k < wi_command_count; k++)
        print_meaning(wi_commands[k].name, 2, wi_commands[k].summary, 2 + longest + 1);
    print_heading("Start here");
    print_meaning("weft demo", 2, "see it work", 33);
    print_meaning("weft climb scan", 2, "one algorithm, from the textbook to the fastest", 33);
    print_meaning("weft reduce x.npy --op max", 2, "use it on a file", 33);
    print_meaning("weft help scan", 2, "everything about one command", 33);
}

static void print_option(const wi_option_row *row) {
    char left[WI_FIELD_BYTES];
    const char letter[] = {'-', row->letter, ',', ' ', '\0'};
    snprintf(left, sizeof left, "%s--%s%s%s", row->letter ? letter : "    ", row->name,
             row->value ? " " : "", row->value ? row->value : "");
    print_meaning(left, 2, row->help, 25);
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
    wi_print_line(stdout, 2, "%sweft %s%s: %s\n", bold(), command->name, plain(), command->summary);
    wi_print_line(stdout, 2, "usage: weft %s%s%s [OPTIONS]\n", command->name,
                  *command->operand_text ? " " : "", command->operand_text);
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
        wi_print_line(stdout, 6, "  %s\n      %s", command->examples[k].line,
                      command->examples[k].meaning);
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
