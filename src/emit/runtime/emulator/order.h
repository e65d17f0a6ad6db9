/* Which accesses are ordered before which: by barriers, warp operations and fences. */
#ifndef SPARSEC_EMULATOR_ORDER_H
#define SPARSEC_EMULATOR_ORDER_H

#include <stdint.h>

#include <algorithm>
#include <map>
#include <memory>
#include <vector>

namespace {

/* An access of up to four bytes in a word, by lanes of a warp whose own times are the same. */
struct Access {
    uint32_t block, barrier, clock, place, lanes;
    uint16_t warp;
    uint8_t parameter; /* by which it came, from 1 on */
    uint8_t bytes : 4, write : 1, strong : 1;
};

/* What a fence makes known: of a block all before a barrier, of a thread all before a time. */
struct Known {
    uint64_t whom;
    uint32_t before;
};
const uint64_t ALL = 0xffff;
typedef std::shared_ptr<const std::vector<Known>> Knowledge; /* sorted; NULL is none */

uint64_t whom(uint32_t block, uint64_t thread) { return (uint64_t)block << 16 | thread; }

Knowledge joined(const Knowledge &a, const Knowledge &b) {
    if (!a || a == b) return b;
    if (!b) return a;
    auto both = std::make_shared<std::vector<Known>>();
    auto one = a->begin(), other = b->begin();
    while (one != a->end() || other != b->end()) {
        if (other == b->end() || (one != a->end() && one->whom < other->whom)) both->push_back(*one++);
        else if (one == a->end() || other->whom < one->whom) both->push_back(*other++);
        else {
            both->push_back({one->whom, std::max(one->before, other->before)});
            one++, other++;
        }
    }
    return both;
}

bool knows(const Knowledge &all, uint64_t key, uint32_t time) {
    const auto at = std::lower_bound(all->begin(), all->end(), key,
                                     [](const Known &one, uint64_t sought) { return one.whom < sought; });
    return at != all->end() && at->whom == key && time < at->before;
}
bool knows(const Knowledge &all, const Access &access, unsigned lane) {
    return knows(all, whom(access.block, ALL), access.barrier) ||
           knows(all, whom(access.block, access.warp * 32u + lane), access.clock);
}

/* What a thread learned by what others released, and what its own fences release: to all,
 * and to its block. */
struct Fences {
    Knowledge learned, released, near;
};
/* What is released with the value at an address. */
struct Message {
    Knowledge released, near;
    uint32_t block;
};
/* Of the launch at hand; none before its first fence. */
bool fenced;
std::map<const void *, Message> messages;

} /* namespace */

#endif
