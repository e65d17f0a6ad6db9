/* What is remembered of a block's accesses (model.h). */
#ifndef SPARSEC_MODEL_COUNTED_H
#define SPARSEC_MODEL_COUNTED_H

#include <stddef.h>
#include <stdint.h>

#include <algorithm>
#include <vector>

namespace {

/* Numbers above 0. */
class Set {
    std::vector<uint64_t> slots;
    size_t used = 0;

    static size_t at(uint64_t key, size_t count) { return (size_t)((key * 0x9e3779b97f4a7c15u) >> 20) & (count - 1); }
    bool put(uint64_t key) {
        size_t k = at(key, slots.size());
        while (slots[k] && slots[k] != key) k = (k + 1) & (slots.size() - 1);
        if (slots[k] == key) return false;
        slots[k] = key;
        return true;
    }

public:
    void clear() {
        if (used) std::fill(slots.begin(), slots.end(), 0);
        used = 0;
    }
    /* Whether the number is new. */
    bool add(uint64_t key) {
        if (slots.empty()) slots.resize(1024);
        if (used * 2 >= slots.size()) {
            if (used > (size_t)1 << 22) {
                clear(); /* counts some twice */
            } else {
                std::vector<uint64_t> before(slots.size() * 2);
                before.swap(slots);
                for (const uint64_t old : before)
                    if (old) put(old);
            }
        }
        const bool fresh = put(key);
        used += fresh;
        return fresh;
    }
};

/* What lanes of a warp ask for together: the sectors that they had first, others stand in a set. */
struct Request {
    uint32_t count, sectors[7];
};
/* The same of shared memory: the first word of each bank, counted from 1, and how many rounds it takes. */
struct Rounds {
    uint32_t count, words[32];
};

/* What the threads of a block have done. Lists are of each place of the launch: how often its threads came to it, and
 * what each of its warps asked for, time by time. */
struct Counted {
    uint32_t number = 0;           /* from 1 on, none twice */
    std::vector<uint32_t> regions; /* for each thread and region */
    std::vector<std::vector<uint32_t>> met;
    std::vector<std::vector<Request>> requests;
    std::vector<std::vector<Rounds>> rounds;
    std::vector<double> asked;     /* requests of each warp */
    Set sectors, words, banks;
};

void begin_counting(Counted &counted, unsigned threads);
void count_thread(Counted &counted, unsigned rank);
void count_nobody();
void end_counting(const Counted &counted, unsigned threads);

} /* namespace */

#endif
