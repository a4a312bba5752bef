/* SPDX-License-Identifier: Apache-2.0 */
/* Completion scripts for bash, zsh and fish, written from the table of commands. */
#include <stdio.h>
#include <string.h>

#include "cli/commands.h"

static void print_list(const char *const list[], size_t count, const char *separator) {
    for (size_t k = 0; k < count; k++)
        printf("%s%s", k ? separator : "", list[k]);
}

static void print_words(wi_words words, const char *separator) {
    const char *list[WI_MAX_WORDS] = {NULL};
    print_list(list, wi_list_words(words, list), separator);
}

static void print_values(const wi_command *command, wi_option option) {
    const char *list[WI_MAX_WORDS] = {NULL};
    print_list(list, wi_list_values(command, option, list), " ");
}

static void print_rungs(const char *op) {
    const char *list[WI_MAX_WORDS] = {NULL};
    print_list(list, wi_list_rungs(op, list), " ");
}

/* Does the option name rungs of the ladder that the operand names? */
static bool depends_on_operand(const wi_command *command, wi_option option) {
    return option == WI_OPT_VARIANT && command->operand_words == WI_WORDS_CLIMB;
}

static bool shown(const wi_command *command, int option) {
    return wi_command_takes(command, (wi_option)option) && !wi_option_rows[option].hidden;
}

/* The words of the command line tell the ladder; any rung will do as long as none names one. */
static void print_bash_rungs(const wi_command *command) {
    const char *ops[WI_MAX_WORDS];
    const size_t count = wi_list_words(command->operand_words, ops);
    fputs("words='", stdout);
    print_values(command, WI_OPT_VARIANT);
    fputs("'\n            for op in \"${COMP_WORDS[@]:2}\"; do\n                case $op in\n",
          stdout);
    for (size_t k = 0; k < count; k++) {
        printf("                %s) words='", ops[k]);
        print_rungs(ops[k]);
        fputs("' ;;\n", stdout);
    }
    fputs("                esac\n            done\n"
          "            COMPREPLY=($(compgen -W \"$words\" -- \"$word\"))",
          stdout);
}

/* bash: one case for each pair of command and option that has listed values. */
static void print_bash_values(const wi_command *command) {
    for (int k = 0; k < WI_OPTIONS; k++) {
        const wi_option_row *const row = &wi_option_rows[k];
        if (!shown(command, k) || !row->value)
            continue;
        printf("        %s:--%s", command->name, row->name);
        if (row->letter)
            printf("|%s:-%c", command->name, row->letter);
        fputs(") ", stdout);
        if (row->words == WI_WORDS_FILE) {
            fputs("mapfile -t COMPREPLY < <(compgen -f -- \"$word\")", stdout);
        } else if (depends_on_operand(command, (wi_option)k)) {
            print_bash_rungs(command);
        } else {
            fputs("COMPREPLY=($(compgen -W '", stdout);
            print_values(command, (wi_option)k);
            fputs("' -- \"$word\"))", stdout);
        }
        fputs("; return ;;\n", stdout);
    }
}

static void print_bash_command(const wi_command *command) {
    printf("        %s) words='", command->name);
    for (int k = 0; k < WI_OPTIONS; k++) {
        if (shown(command, k))
            printf("--%s ", wi_option_rows[k].name);
    }
    print_words(command->operand_words, " ");
    printf("'; files='%s' ;;\n", command->suffixes ? command->suffixes : "");
}

static void print_bash(void) {
    fputs("# bash completion for weft\n"
          "_weft() {\n"
          "    local word=${COMP_WORDS[COMP_CWORD]} before=${COMP_WORDS[COMP_CWORD-1]}\n"
          "    local command=${COMP_WORDS[1]} words= files= suffix op\n"
          "    COMPREPLY=()\n"
          "    if [[ $word == '=' ]]; then\n"
          "        word=\n"
          "    elif [[ $before == '=' ]]; then\n"
          "        before=${COMP_WORDS[COMP_CWORD-2]}\n"
          "    fi\n"
          "    if ((COMP_CWORD == 1)); then\n"
          "        COMPREPLY=($(compgen -W '",
          stdout);
    print_words(WI_WORDS_COMMAND, " ");
    fputs(" --version --help' -- \"$word\"))\n"
          "        return\n"
          "    fi\n"
          "    case $command:$before in\n",
          stdout);
    for (size_t k = 0; k < wi_command_count; k++)
        print_bash_values(&wi_commands[k]);
    fputs("    esac\n    case $command in\n", stdout);
    for (size_t k = 0; k < wi_command_count; k++)
        print_bash_command(&wi_commands[k]);
    fputs("    esac\n"
          "    COMPREPLY=($(compgen -W \"$words\" -- \"$word\"))\n"
          "    if [[ $files ]]; then\n"
          "        mapfile -t -O ${#COMPREPLY[@]} COMPREPLY < <(\n"
          "            for suffix in $files; do\n"
          "                compgen -f -X \"!*.$suffix\" -- \"$word\"\n"
          "            done\n"
          "            compgen -d -- \"$word\"\n"
          "        )\n"
          "    fi\n"
          "}\n"
          "complete -o filenames -F _weft weft\n",
          stdout);
}

/* Text inside single quotes, of zsh's _arguments or of fish. */
static void print_quoted(const char *text, const char *escaped) {
    for (; *text; text++) {
        if (*text == '\'')
            fputs("'\\''", stdout);
        else if (strchr(escaped, *text))
            printf("\\%c", *text);
        else
            putchar(*text);
    }
}

static void print_zsh_words(const char *const list[], size_t count) {
    if (count == 0)
        return;
    putchar('(');
    print_list(list, count, " ");
    putchar(')');
}

/* One option of _arguments; one with a letter in both spellings, either of which excludes both. */
static void print_zsh_option(const wi_command *command, wi_option option) {
    const wi_option_row *const row = &wi_option_rows[option];
    fputs(" \\\n                ", stdout);
    if (row->letter)
        printf("'(-%c --%s)'{-%c%s,--%s%s}'[", row->letter, row->name, row->letter,
               row->value ? "+" : "", row->name, row->value ? "=" : "");
    else
        printf("'--%s%s[", row->name, row->value ? "=" : "");
    print_quoted(row->help, "[]\\");
    putchar(']');
    if (row->value && depends_on_operand(command, option)) {
        printf(":%s:'\"($rungs)\"", row->value);
        return;
    }
    if (row->value) {
        const char *list[WI_MAX_WORDS];
        printf(":%s:%s", row->value, row->words == WI_WORDS_FILE ? "_files" : "");
        print_zsh_words(list, wi_list_values(command, option, list));
    }
    putchar('\'');
}

/* zsh: what $rungs is. */
static void print_zsh_rungs(const wi_command *command) {
    const char *ops[WI_MAX_WORDS];
    const size_t count = wi_list_words(command->operand_words, ops);
    fputs("            local rungs='", stdout);
    print_values(command, WI_OPT_VARIANT);
    fputs("'\n            case \"$words \" in\n", stdout);
    for (size_t k = 0; k < count; k++) {
        printf("            *' %s '*) rungs='", ops[k]);
        print_rungs(ops[k]);
        fputs("' ;;\n", stdout);
    }
    fputs("            esac\n", stdout);
}

static void print_zsh_command(const wi_command *command) {
    printf("        %s)\n", command->name);
    if (depends_on_operand(command, WI_OPT_VARIANT))
        print_zsh_rungs(command);
    fputs("            _arguments", stdout);
    for (int k = 0; k < WI_OPTIONS; k++) {
        if (shown(command, k))
            print_zsh_option(command, (wi_option)k);
    }
    for (size_t k = 0; k < command->most_operands; k++) {
        if (command->suffixes) {
            fputs(" \\\n                ':file:_files -g \"*.(", stdout);
            for (const char *c = command->suffixes; *c; c++)
                putchar(*c == ' ' ? '|' : *c);
            fputs(")\"'", stdout);
        } else {
            const char *list[WI_MAX_WORDS];
            fputs(" \\\n                ':word:", stdout);
            print_zsh_words(list, wi_list_words(command->operand_words, list));
            putchar('\'');
        }
    }
    fputs("\n            ;;\n", stdout);
}

static void print_zsh(void) {
    fputs("#compdef weft\n"
          "_weft() {\n"
          "    local -a commands\n"
          "    commands=(\n",
          stdout);
    for (size_t k = 0; k < wi_command_count; k++) {
        printf("        '%s:", wi_commands[k].name);
        print_quoted(wi_commands[k].summary, "\\");
        fputs("'\n", stdout);
    }
    fputs("    )\n"
          "    if ((CURRENT == 2)); then\n"
          "        _describe command commands\n"
          "        return\n"
          "    fi\n"
          "    local command=$words[2]\n"
          "    shift words\n"
          "    ((CURRENT--))\n"
          "    case $command in\n",
          stdout);
    for (size_t k = 0; k < wi_command_count; k++)
        print_zsh_command(&wi_commands[k]);
    fputs("    esac\n"
          "}\n"
          "if [[ $funcstack[1] == _weft ]]; then\n"
          "    _weft \"$@\"\n"
          "else\n"
          "    compdef _weft weft\n"
          "fi\n",
          stdout);
}

static void print_fish_rungs(const wi_command *command) {
    const char *ops[WI_MAX_WORDS];
    const size_t count = wi_list_words(command->operand_words, ops);
    for (size_t k = 0; k < count; k++) {
        const wi_option_row *const row = &wi_option_rows[WI_OPT_VARIANT];
        printf("complete -c weft -n '__weft_runs %s %s' -l %s -s %c -x -a '", command->name, ops[k],
               row->name, row->letter);
        print_rungs(ops[k]);
        fputs("' -d '", stdout);
        print_quoted(row->help, "\\");
        fputs("'\n", stdout);
    }
}

static void print_fish_option(const wi_command *command, wi_option option) {
    const wi_option_row *const row = &wi_option_rows[option];
    const wi_words words = wi_value_words(command, option);
    printf("complete -c weft -n '__weft_runs %s' -l %s", command->name, row->name);
    if (row->letter)
        printf(" -s %c", row->letter);
    if (row->value)
        fputs(words == WI_WORDS_FILE ? " -r -F" : " -x", stdout);
    if (row->value && words != WI_WORDS_FILE && words != WI_WORDS_NONE) {
        fputs(" -a '", stdout);
        print_values(command, option);
        putchar('\'');
    }
    fputs(" -d '", stdout);
    print_quoted(row->help, "\\");
    fputs("'\n", stdout);
}

static void print_fish_command(const wi_command *command) {
    printf("complete -c weft -n __fish_use_subcommand -f -a %s -d '", command->name);
    print_quoted(command->summary, "\\");
    fputs("'\n", stdout);
    for (int k = 0; k < WI_OPTIONS; k++) {
        if (shown(command, k) && depends_on_operand(command, (wi_option)k))
            print_fish_rungs(command);
        else if (shown(command, k))
            print_fish_option(command, (wi_option)k);
    }
    if (command->operand_words != WI_WORDS_FILE) {
        printf("complete -c weft -n '__weft_runs %s' -f -a '", command->name);
        print_words(command->operand_words, " ");
        fputs("'\n", stdout);
    }
}

/* A subcommand is the first word only: an operand of climb may have the name of another one. */
static void print_fish(void) {
    fputs("# fish completion for weft\n"
          "function __weft_runs\n"
          "    set -l words (commandline -opc)\n"
          "    test (count $words) -gt 1; and test \"$words[2]\" = \"$argv[1]\"; or return 1\n"
          "    test (count $argv) -eq 1; or contains -- $argv[2] $words[3..-1]\n"
          "end\n",
          stdout);
    for (size_t k = 0; k < wi_command_count; k++)
        print_fish_command(&wi_commands[k]);
}

wi_exit wi_print_completion(const wi_command *command, const char *shell) {
    if (strcmp(shell, "bash") == 0)
        print_bash();
    else if (strcmp(shell, "zsh") == 0)
        print_zsh();
    else if (strcmp(shell, "fish") == 0)
        print_fish();
    else
        return wi_usage_word(command, "shell", shell, WI_WORDS_SHELL);
    return WI_EXIT_OK;
}
