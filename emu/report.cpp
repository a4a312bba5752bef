/* SPDX-License-Identifier: Apache-2.0 */
/* Reports: what went wrong, in which kernel, block and thread, at which source line. */
#include <dlfcn.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "emu.h"

namespace emu {

namespace {

constexpr char inlined[] = "(inlined by) ";
constexpr int exit_status = 86;
constexpr size_t most_blocks = 3, most_groups = 12;

[[noreturn]] void give_up() {
    const Settings &s = settings();
    fprintf(stderr, "  replay with WEFT_EMU_SEED=%llu WEFT_EMU_POLICY=%s\n",
            (unsigned long long)s.seed, policy_name(s.policy));
    fflush(nullptr);
    _exit(exit_status);
}

void print_place(const Fibre *f) {
    const uint3 b = f->index.block, t = f->index.thread;
    fprintf(stderr, "  %s, block (%u, %u, %u), thread (%u, %u, %u)\n", f->block->grid->shape.what,
            b.x, b.y, b.z, t.x, t.y, t.z);
}

bool alike(const Fibre *a, const Fibre *b) {
    if (a->state != b->state)
        return false;
    return a->state == State::ended || (a->at.line == b->at.line && a->at.file == b->at.file &&
                                        (a->state != State::warp || a->mask == b->mask));
}

void print_group(const Block *block, const Fibre *like) {
    int from = -1;
    const char *separator = "    threads ";
    for (unsigned t = 0; t <= block->threads; t++) {
        const bool in = t < block->threads && alike(block->fibres[t], like);
        if (in && from < 0)
            from = (int)t;
        if (in || from < 0)
            continue;
        fprintf(stderr, "%s%d", separator, from);
        if ((int)t - 1 > from)
            fprintf(stderr, "-%d", (int)t - 1);
        separator = ", ";
        from = -1;
    }
    if (like->state == State::ended) {
        fprintf(stderr, " have ended\n");
        return;
    }
    fprintf(stderr, " wait in %s", like->at.what);
    if (like->state == State::warp)
        fprintf(stderr, " with mask %#x", like->mask);
    fprintf(stderr, " at\n      %s\n",
            source_of(like->at.line ? Where(like->at) : Where(like->pc)).c_str());
}

void print_block(const Block *block) {
    fprintf(stderr, "  %s, block (%u, %u, %u):\n", block->grid->shape.what, block->index.x,
            block->index.y, block->index.z);
    std::vector<const Fibre *> groups;
    for (unsigned t = 0; t < block->threads && groups.size() < most_groups; t++) {
        bool known = false;
        for (const Fibre *g : groups)
            known = known || alike(g, block->fibres[t]);
        if (!known)
            groups.push_back(block->fibres[t]);
    }
    for (const Fibre *g : groups)
        print_group(block, g);
}

} // namespace

/* Sites are kept for good, one each; a Where that means one has its highest bit set. */
constexpr uint64_t is_site = (uint64_t)1 << 47;

Where::Where(const emu_site &at) {
    constexpr size_t most_sites = 4096;
    static emu_site sites[most_sites];
    size_t k = ((uintptr_t)at.file / 8 + (size_t)at.line * 31) % most_sites;
    while (sites[k].line && (sites[k].line != at.line || sites[k].file != at.file))
        k = (k + 1) % most_sites;
    sites[k] = at;
    bits = (uint64_t)&sites[k] | is_site;
}

std::string source_of(const Where &where) {
    if (where.bits & is_site) {
        const emu_site *const at = (const emu_site *)(where.bits & ~is_site);
        return std::string(at->file) + ":" + std::to_string(at->line);
    }
    const void *const pc = (const void *)where.bits;
    Dl_info info;
    char command[4096], line[1024];
    if (!pc || !dladdr(pc, &info) || !info.dli_fname)
        return "an unknown place";
    snprintf(command, sizeof command, "addr2line -e '%s' -fCip %#zx 2>/dev/null", info.dli_fname,
             (size_t)((const char *)pc - 1 - (const char *)info.dli_fbase));
    std::string text;
    FILE *const pipe = popen(command, "r");
    while (pipe && fgets(line, sizeof line, pipe)) {
        const std::string one = line;
        if (one.find("/emu/include/") != std::string::npos) /* the stand-in's own headers */
            continue;
        const size_t name =
            one.find(inlined) == std::string::npos ? 0 : one.find(inlined) + strlen(inlined);
        text += (text.empty() ? "" : "      in ") + one.substr(name);
    }
    if (pipe)
        pclose(pipe);
    while (!text.empty() && text.back() == '\n')
        text.pop_back();
    return text.empty() ? "code without line numbers" : text;
}

void report(const Where &where, const char *format, ...) {
    va_list arguments;
    va_start(arguments, format);
    fprintf(stderr, "\nemu: ");
    vfprintf(stderr, format, arguments);
    va_end(arguments);
    fprintf(stderr, "\n");
    if (self)
        print_place(self);
    if (where.bits)
        fprintf(stderr, "  at  %s\n", source_of(where).c_str());
    give_up();
}

void report_waits(const char *what) {
    fprintf(stderr, "\nemu: %s\n", what);
    size_t printed = 0;
    for (const Grid *grid : running)
        for (const Cluster *cluster : grid->clusters)
            for (const Block *block : cluster->blocks)
                if (block->live > 0 && printed++ < most_blocks)
                    print_block(block);
    give_up();
}

} // namespace emu
