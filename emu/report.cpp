/* SPDX-License-Identifier: Apache-2.0 */
/* Settings from the environment, the random generator that all choices use, and reports. */
#include "emu.h"

#include <dlfcn.h>
#include <limits.h>
#include <link.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

using namespace emu;

constexpr int exit_status = 86;
constexpr size_t most_blocks_told = 3;
static const char *const policies[] = {"in_order", "reversed", "random", "starve"};

static uint64_t number(const char *variable, uint64_t otherwise) {
    const char *const text = getenv(variable);
    return text ? strtoull(text, nullptr, 0) : otherwise;
}

/* The policy that WEFT_EMU_POLICY names; without it the seed chooses one: 0 in_order, 1 reversed,
 * and so on. */
static int read_policy(uint64_t seed) {
    const char *const name = getenv("WEFT_EMU_POLICY");
    if (!name)
        return (int)(seed % 4);
    for (int k = 0; k < 4; k++)
        if (strcmp(name, policies[k]) == 0)
            return k;
    fprintf(stderr, "emu: WEFT_EMU_POLICY is %s; it is %s, %s, %s or %s\n", name, policies[0],
            policies[1], policies[2], policies[3]);
    _exit(exit_status);
}

static Settings read_settings() {
    const uint64_t seed = number("WEFT_EMU_SEED", 2);
    const uint64_t devices = std::min(number("WEFT_EMU_DEVICES", 1), (uint64_t)most_devices);
    return {seed, read_policy(seed), number("WEFT_EMU_RACES", 1) != 0, (int)devices,
            number("WEFT_EMU_PEERS", 1) != 0};
}
const Settings emu::settings = read_settings();

/* SplitMix64. */
uint64_t emu::random_below(uint64_t bound) {
    static uint64_t state = settings.seed * 0xd1342543de82ef95u;
    uint64_t z = (state += 0x9e3779b97f4a7c15u);
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
    return (uint64_t)(((unsigned __int128)(z ^ (z >> 31)) * bound) >> 64);
}

/* ---- places in the source ---- */

/* A source place is encoded as the line and the address of the file's name: counted from the start
 * of this library, or of the program, whose kernels are its tests' own. */
constexpr uint64_t is_site = (uint64_t)1 << 47, is_in_program = (uint64_t)1 << 46;
constexpr uint64_t most_lines = 1 << 15, most_bytes = is_in_program / most_lines;
extern "C" const char __ehdr_start __attribute__((visibility("hidden")));

/* The first object that the loader tells of is the program. */
static int take_start(dl_phdr_info *object, size_t, void *start) {
    *(const char **)start = (const char *)object->dlpi_addr;
    return 1;
}
static const char *start_of_program() {
    const char *start = nullptr;
    dl_iterate_phdr(take_start, &start);
    return start;
}

Where::Where(const emu_site &at) : bits(is_site | (unsigned)at.line) {
    static const char *const program = start_of_program();
    const uint64_t in_library = (uint64_t)(at.file - &__ehdr_start);
    bits |= in_library < most_bytes ? in_library * most_lines
                                    : is_in_program | (uint64_t)(at.file - program) * most_lines;
}

static std::string line_of(uint64_t bits) {
    const char *const start = bits & is_in_program ? start_of_program() : &__ehdr_start;
    return start + bits % is_in_program / most_lines + (":" + std::to_string(bits % most_lines));
}

std::string emu::source_of(Where where) {
    constexpr char inlined[] = "(inlined by) ";
    char command[PATH_MAX + 64], program[64], line[1024];
    Dl_info object;
    if (where.bits & is_site)
        return line_of(where.bits);
    if (where.bits == 0)
        return "an unknown place";
    if (!dladdr((const void *)where.bits, &object))
        return "code without line numbers";
    snprintf(program, sizeof program, "/proc/%d/exe", getpid());
    snprintf(command, sizeof command, "addr2line -e '%s' -fCip %#zx 2>/dev/null",
             object.dli_fbase == &__ehdr_start ? object.dli_fname : program,
             (const char *)where.bits - 1 - (const char *)object.dli_fbase);
    std::string text;
    FILE *const pipe = popen(command, "r");
    while (pipe && fgets(line, sizeof line, pipe)) {
        const char *const name = strstr(line, inlined);
        line[strcspn(line, "\n")] = 0;
        if (!strstr(line, "/emu/include/")) /* skip the stand-in's own headers */
            text += (text.empty() ? "" : "\n      in ") +
                    std::string(name ? name + strlen(inlined) : line);
    }
    if (pipe)
        pclose(pipe);
    return text.empty() ? "code without line numbers" : text;
}

/* ---- reports ---- */

[[noreturn]] static void give_up() {
    fprintf(stderr, "  replay with WEFT_EMU_SEED=%llu WEFT_EMU_POLICY=%s\n",
            (unsigned long long)settings.seed, policies[settings.policy]);
    fflush(nullptr);
    _exit(exit_status);
}

void emu::report(Where where, const char *format, ...) {
    va_list arguments;
    va_start(arguments, format);
    fprintf(stderr, "\nemu: ");
    vfprintf(stderr, format, arguments);
    va_end(arguments);
    fprintf(stderr, "\n");
    if (self) {
        const uint3 b = self->index.block, t = self->index.thread;
        fprintf(stderr, "  %s, block (%u, %u, %u), thread (%u, %u, %u)\n",
                self->block->grid->shape.what, b.x, b.y, b.z, t.x, t.y, t.z);
    }
    if (where.bits)
        fprintf(stderr, "  at  %s\n", source_of(where).c_str());
    give_up();
}

/* Prints which threads of a block wait where. */
static void print_block(const Block *block) {
    std::map<std::tuple<uint64_t, const char *, unsigned>, std::vector<unsigned>> groups;
    for (const Fibre *f : block->fibres)
        groups[{f->at.bits, f->what, f->mask}].push_back(f->thread);
    const uint3 b = block->fibres[0]->index.block;
    fprintf(stderr, "  %s, block (%u, %u, %u):\n", block->grid->shape.what, b.x, b.y, b.z);
    for (const auto &[place, threads] : groups) {
        const auto [at, what, mask] = place;
        fprintf(stderr, "    %zu threads, from %u to %u: %s", threads.size(), threads.front(),
                threads.back(), what);
        if (mask)
            fprintf(stderr, " with mask %#x", mask);
        if (at)
            fprintf(stderr, " at\n      %s", source_of((const void *)(uintptr_t)at).c_str());
        fprintf(stderr, "\n");
    }
}

void emu::report_waits(const char *what) {
    size_t told = 0;
    fprintf(stderr, "\nemu: %s\n", what);
    for (const Block *block : blocks)
        if (block && !block->over() && told++ < most_blocks_told)
            print_block(block);
    give_up();
}
