/* Stacks, and the switch from one to another. */
#ifndef SPARSEC_EMULATOR_FIBRES_H
#define SPARSEC_EMULATOR_FIBRES_H

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include <vector>

namespace {

const size_t STACK = 256 * 1024;

extern "C" void emu_switch(void **save, void *load);
#if defined(__x86_64__)
__asm__(".text\n.local emu_switch\n.type emu_switch, @function\nemu_switch:\n"
        "push %rbp\npush %rbx\npush %r12\npush %r13\npush %r14\npush %r15\n"
        "mov %rsp, (%rdi)\nmov %rsi, %rsp\n"
        "pop %r15\npop %r14\npop %r13\npop %r12\npop %rbx\npop %rbp\nret\n");
void *fresh_frame(char *top, void (*entry)()) {
    void **sp = (void **)(void *)top;
    *--sp = NULL; /* where the entry would return to; keeps the stack aligned */
    *--sp = (void *)entry;
    for (int k = 0; k < 6; k++) *--sp = NULL;
    return sp;
}
#elif defined(__aarch64__)
__asm__(".text\n.local emu_switch\n.type emu_switch, %function\nemu_switch:\n"
        "stp x19, x20, [sp, #-160]!\nstp x21, x22, [sp, #16]\nstp x23, x24, [sp, #32]\n"
        "stp x25, x26, [sp, #48]\nstp x27, x28, [sp, #64]\nstp x29, x30, [sp, #80]\n"
        "stp d8, d9, [sp, #96]\nstp d10, d11, [sp, #112]\nstp d12, d13, [sp, #128]\nstp d14, d15, [sp, #144]\n"
        "mov x9, sp\nstr x9, [x0]\nmov sp, x1\n"
        "ldp x21, x22, [sp, #16]\nldp x23, x24, [sp, #32]\nldp x25, x26, [sp, #48]\nldp x27, x28, [sp, #64]\n"
        "ldp x29, x30, [sp, #80]\nldp d8, d9, [sp, #96]\nldp d10, d11, [sp, #112]\nldp d12, d13, [sp, #128]\n"
        "ldp d14, d15, [sp, #144]\nldp x19, x20, [sp], #160\nret\n");
void *fresh_frame(char *top, void (*entry)()) {
    void **sp = (void **)(void *)(top - 160);
    memset(sp, 0, 160);
    sp[11] = (void *)entry;
    return sp;
}
#else
#error "the emulator switches stacks on x86-64 and arm64 only"
#endif

std::vector<char *> stacks;
std::vector<int> free_stacks;

/* A stack that no thread has. */
int take_stack() {
    if (!free_stacks.empty()) {
        const int stack = free_stacks.back();
        free_stacks.pop_back();
        return stack;
    }
    void *room = mmap(NULL, STACK, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (room == MAP_FAILED) {
        fprintf(stderr, "emulator: no memory for the stack of a thread\n");
        abort();
    }
    stacks.push_back((char *)room);
    return (int)stacks.size() - 1;
}

/* What a thread's first switch loads. */
void *fresh_thread(int stack, void (*entry)()) {
    /* Tops at different offsets do not all fall into the same sets of the cache. */
    return fresh_frame(stacks[(size_t)stack] + STACK - 64 - (size_t)(stack % 61) * 64, entry);
}

} /* namespace */

#endif
