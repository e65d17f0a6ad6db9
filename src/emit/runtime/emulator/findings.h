/* What the emulator reports: each finding once, with its element and the lines of the source.
 *
 * Two findings are one where they say the same of the same array at the same places of the
 * code. Places become lines, and parts of shared memory names, by the tools that come with
 * the compiler (addr2line, nm), and only when there is something to report.
 */
#ifndef SPARSEC_EMULATOR_FINDINGS_H
#define SPARSEC_EMULATOR_FINDINGS_H

#include <dlfcn.h>
#include <elf.h>
#include <link.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include <string>
#include <vector>

/* A line of JSON each, for programs that read what the driver says. */
extern "C" {
bool sparsec_findings_json;
}

namespace {

/* The file that the kernels are in, which is this one's. */
struct Module {
    std::string file;
    uintptr_t begin = 0;   /* where it lies */
    uintptr_t shift = 0;   /* what to take from an address for that in the file */
    Module() {
        static const char own = 0;
        Dl_info info;
        if (!dladdr(&own, &info)) return;
        begin = (uintptr_t)info.dli_fbase;
        const ElfW(Ehdr) *header = (const ElfW(Ehdr) *)info.dli_fbase;
        shift = header->e_type == ET_DYN ? begin : 0;
        file = info.dli_fname;
        if (access(file.c_str(), R_OK)) file = "/proc/self/exe";
    }
    /* The lines that a tool prints of the file. */
    std::vector<std::string> ask(const std::string &tool, const std::string &more) const {
        std::vector<std::string> lines;
        if (FILE *pipe = popen((tool + " '" + file + "' " + more + " 2>/dev/null").c_str(), "r")) {
            char line[2000];
            while (fgets(line, sizeof line, pipe)) {
                line[strcspn(line, "\n")] = 0;
                lines.push_back(line);
            }
            pclose(pipe);
        }
        return lines;
    }
};
const Module &module() {
    static const Module own;
    return own;
}

/* A place of the code in four bytes, 0 for none. */
const uintptr_t code_begin = module().begin;
uint32_t place(const void *address) { return address ? (uint32_t)((uintptr_t)address - code_begin) : 0; }

/* `file:line` of the statement before the place, as it stands in the kernel. */
std::string line_of(uint32_t at) {
    if (!at) return "";
    char address[32];
    snprintf(address, sizeof address, "%#zx", (size_t)(module().begin + at - 1 - module().shift));
    const std::vector<std::string> lines = module().ask("addr2line -i -e", address);
    if (lines.empty() || lines.back()[0] == '?') return "";
    const std::string &line = lines.back();
    const size_t slash = line.rfind('/'), from = slash == std::string::npos ? 0 : slash + 1;
    return line.substr(from, line.find(' ', from) - from);
}

/* The variable of a function that the address is in, or in the gap behind, and where it begins. */
std::string variable_at(const void *at, const char **begin) {
    const size_t gap = 256;
    std::string found;
    for (const std::string &line : module().ask("nm -CS", "")) {
        size_t from, bytes;
        char kind;
        if (sscanf(line.c_str(), "%zx %zx %c", &from, &bytes, &kind) != 3) continue;
        const char *first = (const char *)(from + module().shift);
        const size_t last = line.rfind("::");
        if ((const char *)at < first || (const char *)at >= first + bytes + gap || last == std::string::npos) continue;
        if (line.compare(last, 6, "::emu_") == 0) continue;
        if (found.empty() || first > *begin) {
            *begin = first;
            found = line.substr(last + 2);
        }
    }
    return found;
}

/* `at` of the text of a call, whose arguments are separated by commas outside of parentheses. */
std::string argument(const char *text, size_t at) {
    int depth = 0;
    std::string found;
    for (; text && *text; text++) {
        if (*text == '(' || *text == '[' || *text == '{') depth++;
        if (*text == ')' || *text == ']' || *text == '}') depth--;
        if (*text == ',' && depth == 0) {
            if (at-- == 0) break;
        } else if (at == 0 && (*text != ' ' || !found.empty())) {
            found += *text;
        }
    }
    return found;
}

struct Finding {
    const char *what;
    uint32_t here, before;
    size_t array;
    unsigned times;
    std::string text;
};
/* Of the launch at hand. */
std::vector<Finding> findings;
/* The first since the host last asked. */
std::string first_finding;
bool found_any;

const unsigned MOST_FINDINGS = 8;

/* Whether there is more to say than that it came again. */
bool is_new(const char *what, uint32_t here, uint32_t before, size_t array) {
    for (Finding &old : findings)
        if (old.what == what && old.here == here && old.before == before && old.array == array) {
            old.times++;
            return false;
        }
    findings.push_back({what, here, before, array, 1, ""});
    return findings.size() <= MOST_FINDINGS;
}

void say(const std::string &text) {
    if (!sparsec_findings_json) {
        fprintf(stderr, "emulator: %s\n", text.c_str());
        return;
    }
    std::string quoted;
    for (char c : text) {
        if (c == '"' || c == '\\') quoted += '\\';
        quoted += c;
    }
    fprintf(stderr,
            "{\"code\":\"E0709\",\"help\":null,\"message\":\"emulator: %s\",\"notes\":[],\"severity\":\"note\","
            "\"spans\":[]}\n",
            quoted.c_str());
}

/* Prints what `is_new` said yes to. */
void print(const std::string &text) {
    findings.back().text = text;
    if (!found_any) first_finding = text;
    found_any = true;
    say(text);
}

void end_findings() {
    for (const Finding &one : findings)
        if (one.times > 1 && !one.text.empty()) say(std::to_string(one.times) + " times: " + one.text);
    findings.clear();
}

} /* namespace */

#endif
