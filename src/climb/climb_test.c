/* SPDX-License-Identifier: Apache-2.0 */
/* The runner of ladders: problems, sizes, ratios, roofs; and every slice's climb on a small
 * problem.
 */
int main(void) {
    return 0;
}
