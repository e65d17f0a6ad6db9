/* The shadow of memory: every access of a checked kernel comes here. */
#ifndef SPARSEC_EMULATOR_SHADOW_H
#define SPARSEC_EMULATOR_SHADOW_H

#include "memory.h"

namespace {

enum Kind { READ = 0, WRITE = 1, ATOMIC = 2, VOLATILE = 4 };

/* Accesses of words that have many, of this launch. */
std::vector<std::vector<Access>> lists;
size_t lists_used;

/* ---- what an access touches ------------------------------------------------------ */

/* Where in the shadow. */
struct Target {
    uint8_t *written;
    Cell *cells;
    size_t begin; /* in bytes */
    size_t parameter;
    const void *at;
    size_t bytes;
};

/* `y_vals[3]` of an access by a parameter, or to shared memory. */
std::string element(size_t parameter, const void *at, size_t bytes) {
    char index[80];
    if (parameter) {
        const View &view = views[parameter - 1];
        const long size = (long)(view.size ? view.size : 1), far = (long)offset_of(at) - (long)view.begin;
        const long first = (long)view.room.begin - (long)view.begin, count = (first + (long)view.room.bytes) / size;
        const long which = far >= 0 ? far / size : -((size - 1 - far) / size);
        if (far >= first && far < first + (long)view.room.bytes) snprintf(index, sizeof index, "[%ld]", which);
        else if (view.room.bytes) snprintf(index, sizeof index, "[%ld] of %ld", which, count);
        else snprintf(index, sizeof index, "[%ld], which is not allocated", which);
        std::string name = argument(launch->call, 5 + parameter);
        if (name.empty()) name = "array " + std::to_string(parameter);
        return name + index;
    }
    if (in_arena(at)) return "";
    const char *begin = NULL;
    const std::string name = variable_at(at, &begin);
    if (name.empty()) return name;
    snprintf(index, sizeof index, "[%zu]", (size_t)((const char *)at - begin) / bytes);
    return name + index;
}

void report(const char *what, uint32_t now, size_t parameter, const void *at, size_t bytes) {
    if (!is_new(what, now, 0, parameter)) return;
    std::string text = what;
    const std::string name = element(parameter, at, bytes), line = line_of(now);
    if (!name.empty()) text += ": " + name;
    if (!line.empty()) text += ", " + line;
    print(text + ": " + who());
}

void report(const char *what, const Access &now, const Access &before, unsigned lane, const Target &target) {
    if (!is_new(what, now.place, before.place, target.parameter)) return;
    std::string text = what;
    const std::string name = element(target.parameter, target.at, target.bytes);
    const std::string line = line_of(now.place), other = line_of(before.place);
    if (!name.empty()) text += ": " + name;
    if (!line.empty()) text += std::string(", ") + (now.write ? "written in " : "read in ") + line;
    if (!other.empty()) text += std::string(" and ") + (before.write ? "written in " : "read in ") + other;
    text += ": " + who() + " after thread " + std::to_string(before.warp * 32u + lane);
    if (before.block != now.block) text += " of block " + std::to_string(before.block);
    print(text);
}

/* ---- values of variables that nobody set ------------------------------------------- */

/* Checked kernels are compiled so that variables begin as these bytes. */
bool unset(const void *at, size_t bytes) {
    if (bytes < 4) return false;
    for (size_t k = 0; k < bytes; k++)
        if (((const unsigned char *)at)[k] != 0xfe) return false;
    return true;
}

/* The last store, whose value is there when the next access comes. */
struct {
    const void *at;
    size_t bytes, parameter;
    uint32_t place;
} last_store;

void check_last_store() {
    if (last_store.at && unset(last_store.at, last_store.bytes))
        report("a variable is used before it is set", last_store.place, last_store.parameter, last_store.at, last_store.bytes);
    last_store.at = NULL;
}

/* ---- order --------------------------------------------------------------------------- */

const unsigned NO_LANE = 32;

/* The first lane of the access before that is not ordered before what the running thread does. */
unsigned unordered(const Access &before) {
    const Thread &own = self();
    const bool known = own.fences && own.fences->learned;
    bool same_warp = false;
    if (before.block == block->number) {
        if (before.barrier != block->barriers) return NO_LANE;
        same_warp = before.warp == running / 32;
    }
    if (!same_warp && !known) return (unsigned)__builtin_ctz(before.lanes);
    for (uint32_t left = before.lanes; left; left &= left - 1) {
        const unsigned lane = (unsigned)__builtin_ctz(left);
        if (same_warp && (lane == (running & 31u) || own.clock[lane] >= before.clock)) continue;
        if (!known || !knows(own.fences->learned, before, lane)) return lane;
    }
    return NO_LANE;
}

/* What the thread knows, which its fence releases. */
Knowledge known() {
    const Thread &own = self();
    auto all = std::make_shared<std::vector<Known>>();
    for (unsigned lane = 0; lane < 32; lane++) {
        const unsigned other = (running & ~31u) + lane;
        /* Times of lanes are those up to which, and including which, they are known. */
        if (own.clock[lane] && other < block->threads.size()) all->push_back({whom(block->number, other), own.clock[lane] + 1});
    }
    all->push_back({whom(block->number, ALL), block->barriers});
    return joined(all, own.fences ? own.fences->learned : NULL);
}

/* A store or load that others may wait for, as it passes on what fences released. */
void pass_on(const void *at, unsigned kind) {
    if (!fenced) return;
    Thread &own = self();
    Message &message = messages[in_arena(at) ? arena + offset_of(at) : at];
    if (kind & ATOMIC || !(kind & WRITE)) {
        if (!own.fences) own.fences.reset(new Fences());
        Knowledge &learned = own.fences->learned;
        learned = joined(learned, message.released);
        if (message.block == block->number) learned = joined(learned, message.near);
    }
    if (kind & WRITE) {
        if (message.block != block->number || !(kind & ATOMIC)) message.near = NULL;
        if (!(kind & ATOMIC)) message.released = NULL;
        message.block = block->number;
        if (own.fences) {
            message.released = joined(message.released, own.fences->released);
            message.near = joined(message.near, own.fences->near);
        }
    }
}

/* ---- races --------------------------------------------------------------------------- */

/* Compares the access with those of the word that no other replaces, and adds it.
 *
 * An access replaces what is ordered before it and conflicts with no more than it. Of accesses
 * alike it is left out where two stand there that between them meet whatever it would: of two
 * warps of the block since the same barrier, or of two blocks, as long as no fences order them.
 */
void meet(Cell &cell, const Access &now, const Target &target) {
    if (cell.launch != launch_number) cell = Cell{launch_number, 0, {}};
    const auto alike = [&](const Access &old) {
        return old.bytes == now.bytes && old.write == now.write && old.strong == now.strong && old.parameter == now.parameter;
    };
    const auto close = [&](const Access &old) { return old.block == now.block && old.barrier == now.barrier; };
    /* The same threads as it, or others of their warp at the same time. */
    const auto joins = [&](const Access &old) {
        return old.bytes && alike(old) && close(old) && old.warp == now.warp && old.clock == now.clock;
    };
    if (!now.write)
        for (const Access &old : cell.own)
            if (joins(old) && (old.lanes & now.lanes)) return;
    Access any, near; /* the first alike, and the first of them that is close */
    any.bytes = near.bytes = 0;
    bool two_warps = false, two_blocks = false, raced = false;
    const auto keep = [&](const Access &old) {
        const unsigned lane = unordered(old);
        const bool before = lane == NO_LANE;
        if ((old.bytes & now.bytes) && (old.write || now.write)) {
            if (!before && !(old.strong && now.strong)) {
                if (!raced)
                    report(old.block == now.block ? "a race between threads of a block" : "a race between blocks", now, old, lane, target);
                raced = true;
            } else if (old.parameter != now.parameter) {
                report("overlapping arrays are passed for __restrict__ parameters", now, old,
                       (unsigned)__builtin_ctz(old.lanes), target);
            }
        }
        if (before && !(old.bytes & ~now.bytes) && old.write <= now.write && old.strong >= now.strong &&
            old.parameter == now.parameter)
            return false;
        if (!alike(old)) return true;
        if (!any.bytes) any = old;
        else if (any.block != old.block) two_blocks = !fenced;
        if (!close(old)) return true;
        if (!near.bytes) near = old;
        else if (near.warp != old.warp) two_warps = true;
        return true;
    };
    for (Access &old : cell.own)
        if (old.bytes && !keep(old)) old.bytes = 0;
    if (cell.more) {
        std::vector<Access> &list = lists[cell.more - 1];
        list.erase(std::remove_if(list.begin(), list.end(), [&](const Access &old) { return !keep(old); }), list.end());
    }
    if (two_warps || two_blocks) return;
    const auto join = [&](Access &old) {
        if (!joins(old)) return false;
        old.lanes |= now.lanes;
        return true;
    };
    if (std::any_of(cell.own, cell.own + 2, join)) return;
    if (cell.more && std::any_of(lists[cell.more - 1].begin(), lists[cell.more - 1].end(), join)) return;
    if (cell.more && !lists[cell.more - 1].empty()) {
        /* With one of another block or warp there are two, and the others go. */
        const bool blocks = !fenced && any.bytes && any.block != now.block;
        const bool warps = near.bytes && near.warp != now.warp;
        const Access &stays = blocks ? any : near;
        const auto goes = [&](const Access &old) {
            return old.bytes && alike(old) && (blocks || (warps && close(old))) &&
                   !(old.block == stays.block && old.warp == stays.warp && old.clock == stays.clock);
        };
        for (Access &old : cell.own)
            if (goes(old)) old.bytes = 0;
        std::vector<Access> &list = lists[cell.more - 1];
        list.erase(std::remove_if(list.begin(), list.end(), goes), list.end());
    }
    for (Access &place : cell.own)
        if (!place.bytes) {
            place = now;
            return;
        }
    if (!cell.more) {
        if (lists_used == lists.size()) lists.emplace_back();
        lists[lists_used].clear();
        cell.more = (uint32_t)++lists_used;
    }
    lists[cell.more - 1].push_back(now);
}

/* ---- accesses ------------------------------------------------------------------------ */

void check_words(const Target &target, unsigned kind, bool tracked, const void *from) {
    const size_t begin = target.begin, end = begin + target.bytes;
    Access now;
    now.block = block->number;
    now.barrier = block->barriers;
    now.clock = self().clock[running & 31u];
    now.place = here(from);
    now.lanes = 1u << (running & 31u);
    now.warp = (uint16_t)(running / 32);
    now.parameter = (uint8_t)std::min(target.parameter, MAPPINGS - 1);
    now.write = (kind & WRITE) != 0;
    /* What is stored unfenced tells others nothing that they could rely on. */
    now.strong = (kind & ATOMIC) || ((kind & VOLATILE) && (!(kind & WRITE) || (self().fences && self().fences->released)));
    for (size_t k = begin; k < end;) {
        const size_t next = std::min((k / 4 + 1) * 4, end);
        const unsigned bytes = ((1u << (next - k)) - 1) << k % 4;
        uint8_t &there = target.written[k / 4];
        if (!(kind & (WRITE | ATOMIC)) && (there & bytes) != bytes) {
            report(target.parameter ? "memory is read before it is written" : "shared memory is read before it is written", now.place,
                   target.parameter, target.at, target.bytes);
            there |= (uint8_t)bytes;
        }
        if (kind & WRITE) there |= (uint8_t)bytes;
        if (tracked) {
            now.bytes = bytes & 15u;
            meet(target.cells[k / 4], now, target);
        }
        k = next;
    }
}

/* Finds out what the access is to; whether it is one to check. */
bool aim(const void *at, size_t bytes, unsigned kind, const void *from, Target &target, bool &tracked) {
    const char *address = (const char *)at;
    if (in_arena(at)) {
        const size_t parameter = (size_t)(address - arena) / ARENA;
        target = {written, cells, offset_of(at), parameter, at, bytes};
        if (parameter == 0 || parameter > views.size()) {
            target.parameter = 0;
            if (allocated(at, bytes)) return true;
        } else {
            const View &view = views[parameter - 1];
            tracked = view.tracked;
            if (target.begin >= view.room.begin && target.begin + bytes <= view.room.end()) return true;
        }
        report("an access outside of all arrays", here(from), target.parameter, at, bytes);
        return false;
    }
    for (size_t k = 0; k + 1 < shared_arrays.size(); k++) {
        const Shared &array = shared_arrays[k];
        if (address < array.begin || address >= array.end) continue;
        target = {block->written.data(), block->cells.data(), array.word * 4 + (size_t)(address - array.begin), 0, at, bytes};
        if (address + bytes <= array.end) return true;
        report("an access outside of all arrays", here(from), 0, at, bytes);
        return false;
    }
    const char *own = stacks[(size_t)current_stack];
    if (address >= own && address < own + STACK) {
        if (kind & ATOMIC) report("an atomic update of a thread's own variable", here(from), 0, at, bytes);
        if (!(kind & WRITE) && unset(at, bytes)) report("a variable is used before it is set", here(from), 0, at, bytes);
        return false;
    }
    if (address >= (const char *)&emu_now && address < (const char *)(&emu_now + 1)) return false;
    for (const emu_part *part = emu_arrays_begin; part < emu_arrays_end; part++)
        if (address + 256 >= part->begin && address < part->end + 256) {
            report("an access outside of all arrays of shared memory", here(from), 0, at, bytes);
            return false;
        }
    for (const char *other : stacks)
        if (address >= other && address < other + STACK) {
            report("another thread's variable is accessed", here(from), 0, at, bytes);
            return false;
        }
    Dl_info info;
    if (dladdr(at, &info)) return false; /* constants, and the lock */
    report("a kernel accesses memory of the host", here(from), 0, at, bytes);
    return false;
}

void check(const void *at, size_t bytes, unsigned kind, const void *from) {
    if (current_stack < 0) {
        if (in_arena(at)) report("the host touches memory of the device", here(from), 0, at, bytes);
        return;
    }
    if (last_store.at) check_last_store();
    /* Others go first: from here on the access is as good as done. */
    if (kind & (ATOMIC | VOLATILE)) looked_from = here(from);
    if (kind == VOLATILE) look(false);
    else if (preempts && !(kind & ATOMIC) && draw(16) == 0 && (can_go_on(*block) || alive.size() > 1)) give_way(draw(8) == 0);
    if (const Thread &own = self(); (kind & ATOMIC) && own.narrow) {
        at = own.narrow;
        bytes = own.narrow_bytes;
    }
    Target target;
    bool tracked = true;
    if (aim(at, bytes, kind, from, target, tracked)) {
        if (kind & WRITE && !(kind & ATOMIC)) {
            changes++;
            last_store = {at, bytes, target.parameter, here(from)};
        }
        check_words(target, kind, tracked, from);
    }
    if (kind & (ATOMIC | VOLATILE)) pass_on(at, kind);
}

/* Whether what is accessed together begins at a multiple of so many bytes. */
void check_aligned(const void *at, size_t bytes, size_t size, const void *from) {
    if ((size_t)at % bytes == 0 || current_stack < 0) return;
    const size_t parameter = in_arena(at) ? (size_t)((const char *)at - arena) / ARENA : 0;
    report("an access that is not aligned to its type", here(from), parameter <= views.size() ? parameter : 0, at, size);
}

void begin_shadows() {
    lists_used = 0;
    fenced = false;
    messages.clear();
    last_store.at = NULL;
}

} /* namespace */

#endif
