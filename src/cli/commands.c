/* SPDX-License-Identifier: Apache-2.0 */
/* The list of all subcommands. */
#include "cli/options.h"

#include <string.h>

#define WI_COMMAND(name) extern const wi_command wi_##name##_command;
#include "cli/commands.def"
#undef WI_COMMAND

#define WI_COMMAND(name) &wi_##name##_command,
const wi_command *const wi_commands[] = {
#include "cli/commands.def"
};
#undef WI_COMMAND

const size_t wi_command_count = sizeof wi_commands / sizeof *wi_commands;

const wi_command *wi_find_command(const char *name) {
    for (size_t k = 0; k < wi_command_count; k++) {
        if (strcmp(wi_commands[k]->name, name) == 0)
            return wi_commands[k];
    }
    return NULL;
}

static bool has_own(const wi_command *command, const wi_option *option) {
    const wi_option *const *at = command->options;
    while (*at && *at != option)
        at++;
    return *at;
}

const wi_option *wi_next_option(const wi_command *command, const wi_option *option) {
    const wi_option *const *at = command->options;
    if (option == &wi_trace_option)
        return &wi_help_option;
    while (option && *at != option)
        at++;
    at += option != NULL;
    return *at == &wi_help_option && has_own(command, &wi_place_option) ? &wi_trace_option : *at;
}

bool wi_command_takes(const wi_command *command, const wi_option *option) {
    return has_own(command, option) ||
           (option == &wi_trace_option && has_own(command, &wi_place_option));
}

void wi_list_commands(const wi_command *command, wi_words *words) {
    (void)command;
    for (size_t k = 0; k < wi_command_count; k++)
        wi_words_add(words, wi_commands[k]->name);
}
