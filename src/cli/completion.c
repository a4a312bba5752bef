/* SPDX-License-Identifier: Apache-2.0 */
/* Completion scripts for bash, zsh and fish, written from the table of commands. */
#include <stdio.h>
#include <string.h>

#include "cli/options.h"

/* Prints the words, and frees the list. */
static void print_words(wi_words *words) {
    for (size_t k = 0; k < words->count; k++)
        printf("%s%s", k ? " " : "", words->at[k]);
    wi_words_free(words);
}

static void print_listed(const wi_command *command, wi_lister *list) {
    wi_words words = {.at = NULL};
    if (list)
        list(command, &words);
    print_words(&words);
}

static void print_rungs(const char *op) {
    wi_words words = {.at = NULL};
    wi_list_rungs(op, &words);
    print_words(&words);
}

/* Does the option name rungs of the ladder that the operand names? */
static bool depends_on_operand(const wi_command *command, const wi_option *option) {
    return option == &wi_variant_option && !command->ladder;
}

/* Finds the ladder that the command line names, and completes its rungs; if none is named, any
 * rung. */
static void print_bash_rungs(const wi_command *command) {
    wi_words ops = {.at = NULL};
    command->list_operands(command, &ops);
    fputs("words='", stdout);
    print_listed(command, wi_variant_option.list);
    fputs("'\n            for op in \"${COMP_WORDS[@]:2}\"; do\n                case $op in\n",
          stdout);
    for (size_t k = 0; k < ops.count; k++) {
        printf("                %s) words='", ops.at[k]);
        print_rungs(ops.at[k]);
        fputs("' ;;\n", stdout);
    }
    wi_words_free(&ops);
    fputs("                esac\n            done\n"
          "            COMPREPLY=($(compgen -W \"$words\" -- \"$word\"))",
          stdout);
}

/* bash: one case for each pair of command and option whose values can be listed. */
static void print_bash_values(const wi_command *command) {
    for (const wi_option *at = wi_next_option(command, NULL); at;
         at = wi_next_option(command, at)) {
        const wi_option *const option = at;
        if (option->hidden || !option->value)
            continue;
        printf("        %s:--%s", command->name, option->name);
        if (option->letter)
            printf("|%s:-%c", command->name, option->letter);
        fputs(") ", stdout);
        if (option->file != WI_NO_FILE) {
            fputs("mapfile -t COMPREPLY < <(compgen -f -- \"$word\")", stdout);
        } else if (depends_on_operand(command, option)) {
            print_bash_rungs(command);
        } else {
            fputs("COMPREPLY=($(compgen -W '", stdout);
            print_listed(command, option->list);
            fputs("' -- \"$word\"))", stdout);
        }
        fputs("; return ;;\n", stdout);
    }
}

/* bash: the options as --NAME, --NAME= if they take a value, with the letter behind as :X, and the
 * operands: words, the suffixes of files, and how many there may be. */
static void print_bash_command(const wi_command *command) {
    printf("        %s) options='", command->name);
    const char *blank = "";
    for (const wi_option *at = wi_next_option(command, NULL); at;
         at = wi_next_option(command, at)) {
        if (at->hidden)
            continue;
        printf("%s--%s%s", blank, at->name, at->value ? "=" : "");
        if (at->letter)
            printf(":%c", at->letter);
        blank = " ";
    }
    fputs("'; words='", stdout);
    print_listed(command, command->list_operands);
    printf("'; files='%s'; most=%zu ;;\n", command->suffixes ? command->suffixes : "",
           command->most_operands);
}

/* bash: leaves in `options` what is not on the command line yet, and counts its operands. */
static const char bash_what_is_there[] =
    "    for ((k = 2; k < COMP_CWORD; k++)); do\n"
    "        given=${COMP_WORDS[k]}\n"
    "        case $given in\n"
    "        --?*) match=\"*\\ $given[=: ]*\" ;;\n"
    "        -?) match=\"*:${given#-} *\" ;;\n"
    "        *) ((operands++)); continue ;;\n"
    "        esac\n"
    "        [[ \" $options \" == $match ]] || continue\n"
    "        for option in $options; do\n"
    "            if [[ \" $option \" == $match ]]; then\n"
    "                options=\" $options \"\n"
    "                options=${options/ $option / }\n"
    "                if [[ $option == *=* ]]; then ((k++)); fi\n"
    "                if [[ $option == *=* && ${COMP_WORDS[k]} == '=' ]]; then ((k++)); fi\n"
    "            fi\n"
    "        done\n"
    "    done\n"
    "    for option in $options; do\n"
    "        option=${option%:*}\n"
    "        offered+=\" ${option%=}\"\n"
    "    done\n"
    "    if ((operands >= most)); then\n"
    "        words= files=\n"
    "    fi\n";

static void print_bash(void) {
    fputs("# bash completion for weft\n"
          "_weft() {\n"
          "    local word=${COMP_WORDS[COMP_CWORD]} before=${COMP_WORDS[COMP_CWORD-1]}\n"
          "    local command=${COMP_WORDS[1]} words= files= most=0 suffix op\n"
          "    local options= offered= operands=0 given match option k\n"
          "    COMPREPLY=()\n"
          "    if [[ $word == '=' ]]; then\n"
          "        word=\n"
          "    elif [[ $before == '=' ]]; then\n"
          "        before=${COMP_WORDS[COMP_CWORD-2]}\n"
          "    fi\n"
          "    if ((COMP_CWORD == 1)); then\n"
          "        COMPREPLY=($(compgen -W '",
          stdout);
    print_listed(NULL, wi_list_commands);
    fputs(" --version --help' -- \"$word\"))\n"
          "        return\n"
          "    fi\n"
          "    case $command:$before in\n",
          stdout);
    for (size_t k = 0; k < wi_command_count; k++)
        print_bash_values(wi_commands[k]);
    fputs("    esac\n    case $command in\n", stdout);
    for (size_t k = 0; k < wi_command_count; k++)
        print_bash_command(wi_commands[k]);
    fputs("    esac\n", stdout);
    fputs(bash_what_is_there, stdout);
    fputs("    COMPREPLY=($(compgen -W \"$offered $words\" -- \"$word\"))\n"
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

/* Prints text inside single quotes, for zsh's _arguments or for fish. */
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

static void print_zsh_words(const wi_command *command, wi_lister *list) {
    if (!list)
        return;
    putchar('(');
    print_listed(command, list);
    putchar(')');
}

/* Prints one option of _arguments. One with a letter is in both spellings; each excludes the other.
 */
static void print_zsh_option(const wi_command *command, const wi_option *option) {
    fputs(" \\\n                ", stdout);
    if (option->letter)
        printf("'(-%c --%s)'{-%c%s,--%s%s}'[", option->letter, option->name, option->letter,
               option->value ? "+" : "", option->name, option->value ? "=" : "");
    else
        printf("'--%s%s[", option->name, option->value ? "=" : "");
    print_quoted(option->help, "[]\\");
    putchar(']');
    if (option->value && depends_on_operand(command, option)) {
        printf(":%s:'\"($rungs)\"", option->value);
        return;
    }
    if (option->value) {
        printf(":%s:%s", option->value, option->file != WI_NO_FILE ? "_files" : "");
        print_zsh_words(command, option->list);
    }
    putchar('\'');
}

/* zsh: sets $rungs. */
static void print_zsh_rungs(const wi_command *command) {
    wi_words ops = {.at = NULL};
    command->list_operands(command, &ops);
    fputs("            local rungs='", stdout);
    print_listed(command, wi_variant_option.list);
    fputs("'\n            case \"$words \" in\n", stdout);
    for (size_t k = 0; k < ops.count; k++) {
        printf("            *' %s '*) rungs='", ops.at[k]);
        print_rungs(ops.at[k]);
        fputs("' ;;\n", stdout);
    }
    wi_words_free(&ops);
    fputs("            esac\n", stdout);
}

static void print_zsh_command(const wi_command *command) {
    printf("        %s)\n", command->name);
    if (wi_command_takes(command, &wi_variant_option) && !command->ladder)
        print_zsh_rungs(command);
    fputs("            _arguments", stdout);
    for (const wi_option *at = wi_next_option(command, NULL); at;
         at = wi_next_option(command, at)) {
        if (!at->hidden)
            print_zsh_option(command, at);
    }
    for (size_t k = 0; k < command->most_operands; k++) {
        if (command->suffixes) {
            fputs(" \\\n                ':file:_files -g \"*.(", stdout);
            for (const char *c = command->suffixes; *c; c++)
                putchar(*c == ' ' ? '|' : *c);
            fputs(")\"'", stdout);
        } else {
            fputs(" \\\n                ':word:", stdout);
            print_zsh_words(command, command->list_operands);
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
        printf("        '%s:", wi_commands[k]->name);
        print_quoted(wi_commands[k]->summary, "\\");
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
        print_zsh_command(wi_commands[k]);
    fputs("    esac\n"
          "}\n"
          "if [[ $funcstack[1] == _weft ]]; then\n"
          "    _weft \"$@\"\n"
          "else\n"
          "    compdef _weft weft\n"
          "fi\n",
          stdout);
}

static void print_fish_rungs(const wi_command *command, const wi_option *option) {
    wi_words ops = {.at = NULL};
    command->list_operands(command, &ops);
    for (size_t k = 0; k < ops.count; k++) {
        wi_words rungs = {.at = NULL};
        wi_list_rungs(ops.at[k], &rungs);
        if (rungs.count == 0)
            continue;
        printf("complete -c weft -n '__weft_runs %s %s' -l %s -s %c -x -a '", command->name,
               ops.at[k], option->name, option->letter);
        print_words(&rungs);
        fputs("' -d '", stdout);
        print_quoted(option->help, "\\");
        fputs("'\n", stdout);
    }
    wi_words_free(&ops);
}

static void print_fish_option(const wi_command *command, const wi_option *option) {
    printf("complete -c weft -n '__weft_runs %s; and not __fish_contains_opt ", command->name);
    if (option->letter)
        printf("-s %c ", option->letter);
    printf("%s' -l %s", option->name, option->name);
    if (option->letter)
        printf(" -s %c", option->letter);
    if (option->value)
        fputs(option->file != WI_NO_FILE ? " -r -F" : " -x", stdout);
    if (option->list) {
        fputs(" -a '", stdout);
        print_listed(command, option->list);
        putchar('\'');
    }
    fputs(" -d '", stdout);
    print_quoted(option->help, "\\");
    fputs("'\n", stdout);
}

static void print_fish_command(const wi_command *command) {
    printf("complete -c weft -n __fish_use_subcommand -f -a %s -d '", command->name);
    print_quoted(command->summary, "\\");
    fputs("'\n", stdout);
    for (const wi_option *at = wi_next_option(command, NULL); at;
         at = wi_next_option(command, at)) {
        if (depends_on_operand(command, at))
            print_fish_rungs(command, at);
        else if (!at->hidden)
            print_fish_option(command, at);
    }
    if (!command->suffixes) {
        printf("complete -c weft -n '__weft_runs %s' -f -a '", command->name);
        print_listed(command, command->list_operands);
        fputs("'\n", stdout);
    }
}

/* The subcommand is only the first word: an operand of climb may be the name of another command. */
static void print_fish(void) {
    fputs("# fish completion for weft\n"
          "function __weft_runs\n"
          "    set -l words (commandline -opc)\n"
          "    test (count $words) -gt 1; and test \"$words[2]\" = \"$argv[1]\"; or return 1\n"
          "    test (count $argv) -eq 1; or contains -- $argv[2] $words[3..-1]\n"
          "end\n",
          stdout);
    for (size_t k = 0; k < wi_command_count; k++)
        print_fish_command(wi_commands[k]);
}

void wi_list_shells(const wi_command *command, wi_words *words) {
    (void)command;
    wi_words_add(words, "bash");
    wi_words_add(words, "zsh");
    wi_words_add(words, "fish");
}

wi_exit wi_print_completion(const wi_command *command, const char *shell) {
    if (strcmp(shell, "bash") == 0)
        print_bash();
    else if (strcmp(shell, "zsh") == 0)
        print_zsh();
    else if (strcmp(shell, "fish") == 0)
        print_fish();
    else
        return wi_usage_word(command, "shell", shell, wi_list_shells);
    return WI_EXIT_OK;
}
