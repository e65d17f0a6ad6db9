/* watch.h: finds elements at which iterations of loops that are shared out meet.
 *
 * A watched kernel runs serially and says when it enters a loop that is shared out, begins an
 * iteration of it, leaves it, and what it accesses. Two accesses are concurrent if they are done
 * by different iterations of the same run of such a loop; they race if they touch the same
 * element and are not both reads, both atomic, both critical, or both of threads' own parts.
 *
 * Time passes at each of these events. Of each loop around, its begin and the begin of its
 * iteration at hand are known, so what was done at time t is concurrent with what is done now
 * if and only if, for some loop around,
 *
 *     begin of the loop <= t < begin of the iteration.
 *
 * Before the loop is before; later than the iteration's begin is the same iteration, so loops
 * inside decide. These intervals do not overlap.
 *
 * One access of each class is remembered of an element: one read, one write, and one that is
 * protected. Let a || b mean that a and b are concurrent, and a, b, c follow each other.
 *   (1) a || b and b || c imply a || c. Let X and Y be the loops in which a, b and b, c differ.
 *       Both are around b, so one is around the other or they are the same. If X is around Y,
 *       b and c are in one iteration of X and a in another. If Y is around X, a and b are in
 *       one iteration of Y and c in another. If X is Y, iterations ascend: a's is not c's.
 *   (2) If a || b does not hold, a || c implies b || c. Let X be the loop in which a and c differ.
 *       b is done between them, so inside X, and in a's iteration, which is not c's.
 * So a new access of a class is forgotten where it is concurrent with the one remembered (1),
 * and takes its place where it is not (2): whatever is concurrent with one that was forgotten
 * is concurrent with one that is remembered. Each element on which there is a race is found.
 * Protected accesses are of several kinds, which do not protect against each other. If one
 * takes the place of another kind, whatever meets it later races with one of both: the
 * older one is remembered as a write too, which races with all.
 */
#ifndef SPARSEC_WATCH_H
#define SPARSEC_WATCH_H

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

enum { SPARSEC_READ, SPARSEC_WRITE, SPARSEC_ATOMIC, SPARSEC_CRITICAL, SPARSEC_OWN };

/* An access: when (40 bits), by which statement (21), how (3). */
typedef uint64_t sparsec_stamp;
#define SPARSEC_STAMP_TIME 24
#define SPARSEC_STAMP_KIND 7u

/* Elements are remembered in pages, made when one of theirs is touched. */
enum { SPARSEC_READS, SPARSEC_WRITES, SPARSEC_PROTECTED, SPARSEC_CLASSES };
enum { SPARSEC_PAGE = 64 };
typedef struct {
    sparsec_stamp last[SPARSEC_CLASSES];
} sparsec_shadow;

/* An array or variable. What was done to it before it was born is another's. */
typedef struct {
    sparsec_shadow **pages;
    uint64_t count;
    sparsec_stamp birth;
} sparsec_place;

/* A loop that is being run, and its iteration. */
typedef struct {
    sparsec_stamp begin, iteration;
    int32_t loop;
} sparsec_running;

/* Two accesses that race, and how often they did. */
typedef struct {
    int64_t element, count;
    sparsec_stamp first, second;
    int32_t place, loop;
} sparsec_race;

enum { SPARSEC_RACES = 256 };
typedef struct {
    const sparsec_race *races;
    int64_t count;    /* of races: pairs of statements */
    int64_t every;    /* elements: one in so many was watched */
    int64_t complete; /* memory and the table sufficed */
} sparsec_found;

static struct {
    sparsec_place places[SPARSEC_PLACES];
    sparsec_running running[SPARSEC_DEPTH];
    int depth;
    sparsec_stamp now;
    uint64_t bound;           /* elements whose hash is larger are not watched */
    uint64_t accesses, limit; /* watched ones, and how many there may be */
    sparsec_race races[SPARSEC_RACES];
    sparsec_found found;
} sparsec_watching;

static inline sparsec_stamp sparsec_tick(void) {
    return sparsec_watching.now += (sparsec_stamp)1 << SPARSEC_STAMP_TIME;
}

static inline void sparsec_watch_enter(int32_t loop) {
    sparsec_running *run = &sparsec_watching.running[sparsec_watching.depth++];
    run->loop = loop;
    run->begin = run->iteration = sparsec_tick();
}

static inline void sparsec_watch_iterate(void) {
    sparsec_watching.running[sparsec_watching.depth - 1].iteration = sparsec_tick();
}

static inline void sparsec_watch_leave(void) {
    sparsec_watching.depth--;
    sparsec_tick();
}

static inline void sparsec_watch_born(int place) {
    sparsec_watching.places[place].birth = sparsec_tick();
}

/* The loop around whose iterations are concurrent, or -1. */
static inline int sparsec_concurrent(sparsec_stamp before) {
    for (int k = 0; k < sparsec_watching.depth; k++) {
        const sparsec_running *run = &sparsec_watching.running[k];
        if (before - run->begin < run->iteration - run->begin) return run->loop;
    }
    return -1;
}

/* The element's shadow, or NULL. */
static sparsec_shadow *sparsec_shadow_of(sparsec_place *place, uint64_t element) {
    uint64_t page = element / SPARSEC_PAGE;
    if (page >= place->count) {
        uint64_t count = page < 2 * place->count ? 2 * place->count : page + 1;
        sparsec_shadow **pages =
            page >> 40 ? NULL : (sparsec_shadow **)realloc(place->pages, count * sizeof *pages);
        if (!pages) return NULL;
        memset(pages + place->count, 0, (count - place->count) * sizeof *pages);
        place->pages = pages;
        place->count = count;
    }
    if (!place->pages[page])
        place->pages[page] = (sparsec_shadow *)calloc(SPARSEC_PAGE, sizeof(sparsec_shadow));
    return place->pages[page] ? &place->pages[page][element % SPARSEC_PAGE] : NULL;
}

/* Notes a race, once for each pair of statements. */
static void sparsec_race_found(int32_t place, uint64_t element, int32_t loop, sparsec_stamp first,
                               sparsec_stamp second) {
    const sparsec_stamp mask = ((sparsec_stamp)1 << SPARSEC_STAMP_TIME) - 1;
    sparsec_found *found = &sparsec_watching.found;
    sparsec_race *race = sparsec_watching.races;
    first &= mask;
    second &= mask;
    for (int64_t k = 0; k < found->count; k++, race++) {
        int same = (race->first == first && race->second == second) ||
                   (race->first == second && race->second == first);
        if (same && race->place == place && race->loop == loop) {
            race->count++;
            return;
        }
    }
    if (found->count == SPARSEC_RACES) {
        found->complete = 0;
        return;
    }
    found->count++;
    *race = (sparsec_race){(int64_t)element, 1, first, second, place, loop};
}

/* Keeps the stamp, unless one is there that is concurrent. */
static inline int sparsec_keep(sparsec_stamp *slot, sparsec_stamp birth, sparsec_stamp stamp) {
    if (*slot >= birth && sparsec_concurrent(*slot) >= 0) return 0;
    *slot = stamp;
    return 1;
}

static void sparsec_touch(int32_t number, unsigned kind, uint64_t element, uint32_t statement) {
    sparsec_place *place = &sparsec_watching.places[number];
    sparsec_shadow *shadow = sparsec_shadow_of(place, element);
    const int class = kind < SPARSEC_PROTECTED ? (int)kind : SPARSEC_PROTECTED;
    const sparsec_stamp stamp = sparsec_watching.now | (sparsec_stamp)statement << 3 | kind;
    sparsec_stamp old;
    if (++sparsec_watching.accesses > sparsec_watching.limit) {
        sparsec_watching.found.every *= 2;
        sparsec_watching.bound /= 2;
        sparsec_watching.accesses /= 2;
    }
    if (!shadow) {
        sparsec_watching.found.complete = 0;
        return;
    }
    old = shadow->last[class];
    /* Nothing has happened since. */
    if (old >> SPARSEC_STAMP_TIME == stamp >> SPARSEC_STAMP_TIME && old >= place->birth &&
        (old & SPARSEC_STAMP_KIND) == kind)
        return;
    for (int c = 0; c < SPARSEC_CLASSES; c++) {
        sparsec_stamp other = shadow->last[c];
        int apart = c == class && c != SPARSEC_WRITES && (other & SPARSEC_STAMP_KIND) == kind;
        if (other < place->birth || apart) continue;
        int32_t loop = sparsec_concurrent(other);
        if (loop >= 0) sparsec_race_found(number, element, loop, other, stamp);
    }
    if (sparsec_keep(&shadow->last[class], place->birth, stamp) && class == SPARSEC_PROTECTED &&
        old >= place->birth && (old & SPARSEC_STAMP_KIND) != kind) {
        const sparsec_stamp mask = ((sparsec_stamp)1 << SPARSEC_STAMP_TIME) - 1;
        sparsec_keep(&shadow->last[SPARSEC_WRITES], place->birth, (stamp & ~mask) | (old & mask));
    }
}

/* Watches an access of base + index; returns the index. Multiples of the golden ratio lie evenly
 * between 0 and 1, so about every k-th element is watched, in step with no tile. */
static inline int64_t sparsec_watch(int32_t place, unsigned kind, int64_t base, uint32_t statement,
                                    int64_t index) {
    const uint64_t element = (uint64_t)base + (uint64_t)index;
    if (element * UINT64_C(0x9e3779b97f4a7c15) <= sparsec_watching.bound)
        sparsec_touch(place, kind, element, statement);
    return index;
}

static inline void sparsec_watch_range(int32_t place, unsigned kind, int64_t base, uint32_t statement,
                                       int64_t start, int64_t count) {
    for (int64_t k = 0; k < count; k++) sparsec_watch(place, kind, base, statement, start + k);
}

/* Forgets all, before a kernel is called. */
void sparsec_watch_begin(int64_t limit);
void sparsec_watch_begin(int64_t limit) {
    for (int k = 0; k < SPARSEC_PLACES; k++) {
        sparsec_place *place = &sparsec_watching.places[k];
        for (uint64_t page = 0; page < place->count; page++) free(place->pages[page]);
        free(place->pages);
        *place = (sparsec_place){NULL, 0, sparsec_tick()};
    }
    sparsec_watching.depth = 0;
    sparsec_watching.bound = UINT64_MAX;
    sparsec_watching.accesses = 0;
    sparsec_watching.limit = (uint64_t)limit;
    sparsec_watching.found = (sparsec_found){sparsec_watching.races, 0, 1, 1};
}

sparsec_found sparsec_watch_found(void);
sparsec_found sparsec_watch_found(void) { return sparsec_watching.found; }

#endif
