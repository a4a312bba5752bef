/* SPDX-License-Identifier: Apache-2.0 */
/* bin/weft of a wheel: the command itself is in the library beside it. */
int weft_command_main(int count, char **words);

int main(int count, char **words) {
    return weft_command_main(count, words);
}
