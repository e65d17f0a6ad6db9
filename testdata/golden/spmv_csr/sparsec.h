/* sparsec.h: what kernels written by sparsec share with their callers.
 *
 * Tensors with their levels, allocation, checks, packing from coordinates, and
 * small arithmetic helpers. Everything here is inline; there is no library to
 * link. The few objects that must exist once in a program (the error text and the
 * allocator) are weak definitions in each kernel's .c file. A program without a
 * kernel defines SPARSEC_IMPLEMENTATION in front of one of its includes.
 *
 * For callers: sparsec_error; sparsec_pack and sparsec_free_tensor; sparsec_set_allocator, for memory of their
 * own; sparsec_resize and sparsec_release, for arrays that kernels take over or hand out (the T ** of unchecked
 * functions, tensors whose flags have 1). What else is here serves the kernels.
 *
 * C11 and C++11.
 */
#ifndef SPARSEC_H
#define SPARSEC_H

#ifdef __cplusplus
extern "C++" { /* Headers of C++ have templates; this one may be included within extern "C". */
#endif
#include <math.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#ifdef _OPENMP
#include <omp.h>
#endif

#ifdef __cplusplus
#define SPARSEC_RESTRICT __restrict
#define SPARSEC_THREAD_LOCAL thread_local
#include <complex>
typedef std::complex<float> sparsec_complex64;
typedef std::complex<double> sparsec_complex128;
}
extern "C" {
#else
#ifdef SPARSEC_IMPLEMENTATION
#include <complex.h>
#undef I /* the name of many index tensors */
#endif
#define SPARSEC_RESTRICT restrict
#define SPARSEC_THREAD_LOCAL _Thread_local
typedef float _Complex sparsec_complex64;
typedef double _Complex sparsec_complex128;
#endif

/* Small functions that kernels call. */
#ifndef SPARSEC_FN
#define SPARSEC_FN static inline
#endif

/* A value that the compiler does not combine with what is made of it. */
#ifndef SPARSEC_APART
#define SPARSEC_APART(T, x) ((T)(x))
#endif

/* Unrolls the loop that follows. */
#define SPARSEC_PRAGMA(text) _Pragma(#text)
#if defined(__CUDACC__)
#define SPARSEC_UNROLL(n) SPARSEC_PRAGMA(unroll n)
#elif defined(__clang__)
#define SPARSEC_UNROLL(n) SPARSEC_PRAGMA(clang loop unroll_count(n))
#elif defined(__GNUC__) && __GNUC__ >= 8
#define SPARSEC_UNROLL(n) SPARSEC_PRAGMA(GCC unroll n)
#else
#define SPARSEC_UNROLL(n)
#endif

/* Begins the body of a loop that adds up elements in falling order: gcc 11 and 12 make vectors of
 * such loops, unrolled, that add some elements twice and others never. gcc 13 does not. */
#if defined(__GNUC__) && !defined(__clang__) && !defined(__CUDACC__) && __GNUC__ < 13
#define SPARSEC_IN_ORDER() __asm__ volatile("")
#else
#define SPARSEC_IN_ORDER() ((void)0)
#endif

/* Begins the body of a loop whose iterations gcc's unroll-and-jam would run two at a time, moving
 * the loads of coordinates into the loop inside, which becomes gathers. In loops that OpenMP shares
 * out gcc does so only to arrays declared there, and the statement would cost some tests: _SERIAL. */
#if defined(__GNUC__) && !defined(__clang__) && !defined(__CUDACC__)
#define SPARSEC_NO_JAM() __asm__ volatile("")
#else
#define SPARSEC_NO_JAM() ((void)0)
#endif
#ifdef _OPENMP
#define SPARSEC_NO_JAM_SERIAL() ((void)0)
#else
#define SPARSEC_NO_JAM_SERIAL() SPARSEC_NO_JAM()
#endif

/* Of a function that is called once for each thread: inside of the caller its loops would lack registers. */
#if defined(__GNUC__) && !defined(__CUDACC__)
#define SPARSEC_NOINLINE __attribute__((noinline))
#else
#define SPARSEC_NOINLINE
#endif

/* Elements that are computed together: vector types of gcc and clang, anywhere in an array. */
#if defined(__GNUC__) && !defined(__CUDACC__)
#define SPARSEC_VECTOR(T, n, bits) \
    typedef T sparsec_##T##n __attribute__((vector_size(n * sizeof(T)), aligned(sizeof(T)), may_alias)); \
    typedef bits sparsec_##T##n##_bits __attribute__((vector_size(n * sizeof(T))))
/* Their sums: the upper half is added to the lower until two are left. By address, as vectors that
   a processor may not have are passed by value in several ways. */
#define SPARSEC_VECTOR_SUM_2(T) \
    static inline T sparsec_sum_##T##2(const sparsec_##T##2 *v) { return (*v)[0] + (*v)[1]; }
#define SPARSEC_VECTOR_SUM(T, n, half) \
    static inline T sparsec_sum_##T##n(const sparsec_##T##n *v) { \
        const sparsec_##T##half *halves = (const sparsec_##T##half *)v; \
        const sparsec_##T##half both = halves[0] + halves[1]; \
        return sparsec_sum_##T##half(&both); \
    }
SPARSEC_VECTOR(float, 2, int32_t);
SPARSEC_VECTOR(float, 4, int32_t);
SPARSEC_VECTOR(float, 8, int32_t);
SPARSEC_VECTOR(float, 16, int32_t);
SPARSEC_VECTOR(double, 2, int64_t);
SPARSEC_VECTOR(double, 4, int64_t);
SPARSEC_VECTOR(double, 8, int64_t);
SPARSEC_VECTOR_SUM_2(float)
SPARSEC_VECTOR_SUM(float, 4, 2)
SPARSEC_VECTOR_SUM(float, 8, 4)
SPARSEC_VECTOR_SUM(float, 16, 8)
SPARSEC_VECTOR_SUM_2(double)
SPARSEC_VECTOR_SUM(double, 4, 2)
SPARSEC_VECTOR_SUM(double, 8, 4)
#undef SPARSEC_VECTOR_SUM_2
#undef SPARSEC_VECTOR_SUM
#undef SPARSEC_VECTOR
/* fabs, sparsec_min, sparsec_max, sparsec_lowered and sparsec_raised of each element, bit by bit. */
#define SPARSEC_LANES_ABS(V, a) \
    ((V)((V##_bits)(a) & ~(~(V##_bits){0} << (8 * sizeof((V){0})[0] - 1))))
#define SPARSEC_LANES_CHOSEN(V, a, b, test) __extension__({                     \
    const V sparsec_a = (a), sparsec_b = (b);                                   \
    const V##_bits sparsec_second = (test);                                     \
    (V)(((V##_bits)sparsec_b & sparsec_second) | ((V##_bits)sparsec_a & ~sparsec_second)); \
})
#define SPARSEC_LANES_MIN(V, a, b) \
    SPARSEC_LANES_CHOSEN(V, a, b, ~((sparsec_a <= sparsec_b) | (sparsec_b != sparsec_b)))
#define SPARSEC_LANES_MAX(V, a, b) \
    SPARSEC_LANES_CHOSEN(V, a, b, ~((sparsec_a >= sparsec_b) | (sparsec_b != sparsec_b)))
#define SPARSEC_LANES_LOWERED(V, a, b) SPARSEC_LANES_CHOSEN(V, a, b, sparsec_b < sparsec_a)
#define SPARSEC_LANES_RAISED(V, a, b) SPARSEC_LANES_CHOSEN(V, a, b, sparsec_b > sparsec_a)
#define SPARSEC_LANES(V) ((int)(sizeof(V) / sizeof((V){0})[0]))
/* Of the elements of an array from `at` on, those that lie before `end`, zeros behind; or those of the lanes
   from `lane` on that are below `end`; and what such lanes store. All lanes are tested one by one, since
   compilers make a call of `memcpy` of a loop over some, for which they clear the vector registers. */
#define SPARSEC_LANES_BEFORE(V, array, at, end) SPARSEC_LANES_BELOW(V, array, at, sparsec_at, end)
#define SPARSEC_LANES_BELOW(V, array, at, lane, end) __extension__({            \
    const int64_t sparsec_at = (at), sparsec_lane = (lane), sparsec_end = (end); \
    const int64_t sparsec_n = sparsec_lane < sparsec_end ? sparsec_end - sparsec_lane : 0; \
    V sparsec_first = {0};                                                      \
    if (sparsec_n >= SPARSEC_LANES(V))                                          \
        sparsec_first = *(const V *)&(array)[sparsec_at];                       \
    else for (int sparsec_i = 0; sparsec_i < SPARSEC_LANES(V); sparsec_i++)     \
        if (sparsec_i < sparsec_n) sparsec_first[sparsec_i] = (array)[sparsec_at + sparsec_i]; \
    sparsec_first;                                                              \
})
#define SPARSEC_LANES_STORE(V, array, at, lane, end, v) do {                    \
    const int64_t sparsec_at = (at), sparsec_lane = (lane), sparsec_end = (end); \
    const int64_t sparsec_n = sparsec_lane < sparsec_end ? sparsec_end - sparsec_lane : 0; \
    const V sparsec_v = (v);                                                    \
    if (sparsec_n >= SPARSEC_LANES(V))                                          \
        *(V *)&(array)[sparsec_at] = sparsec_v;                                 \
    else for (int sparsec_i = 0; sparsec_i < SPARSEC_LANES(V); sparsec_i++)     \
        if (sparsec_i < sparsec_n) (array)[sparsec_at + sparsec_i] = sparsec_v[sparsec_i]; \
} while (0)
#endif

/* What a schedule promises of its input, what a broken promise says, and the number found instead.
 * A debug build notes the first one that is broken; SPARSEC_KEPT turns it into a status. The note stands in
 * the frame that SPARSEC_PROMISES begins, which the threads of a loop share and other callers do not; with
 * CUDA it is the calling thread's, and one of the device. */
#ifndef SPARSEC_DEBUG
#define SPARSEC_PROMISES ((void)0)
#define SPARSEC_ASSUME(cond, text, found) ((void)sizeof(cond))
#define SPARSEC_KEPT(status) (status)
#elif defined(SPARSEC_CUDA)
#define SPARSEC_PROMISES ((void)0)
#define SPARSEC_ASSUME(cond, text, found) ((cond) ? (void)0 : sparsec_note_broken(text, (int64_t)(found)))
#define SPARSEC_KEPT(status) sparsec_kept(status)
#else
#define SPARSEC_PROMISES sparsec_broken_promise sparsec_broken = {NULL, 0}
#define SPARSEC_ASSUME(cond, text, found) \
    ((cond) ? (void)0 : sparsec_note_broken(&sparsec_broken, text, (int64_t)(found)))
#define SPARSEC_KEPT(status) sparsec_kept(&sparsec_broken, status)
#endif

/* Says that an element is read soon. It may lie outside of the array. */
#if defined(__GNUC__) || defined(__clang__)
#define SPARSEC_PREFETCH(array, index) \
    __builtin_prefetch((const void *)((uintptr_t)(array) + (uintptr_t)(index) * sizeof *(array)))
#else
#define SPARSEC_PREFETCH(array, index) ((void)sizeof(index))
#endif

#if defined(__GNUC__) || defined(__clang__)
#define SPARSEC_WEAK __attribute__((weak))
#else
#define SPARSEC_WEAK
#endif

/* Half-width floats are stored as their bits; arithmetic is done in float. */
typedef uint16_t sparsec_half;
typedef uint16_t sparsec_bfloat16;

/* ---- tensors ------------------------------------------------------------ */

enum sparsec_status {
    SPARSEC_OK = 0,
    SPARSEC_OUT_OF_MEMORY = 1,
    SPARSEC_INDEX_OUT_OF_RANGE = 2, /* a data-dependent subscript or bound */
    SPARSEC_INDEX_OVERFLOW = 3,     /* a count does not fit the index width */
    SPARSEC_BAD_ARGUMENT = 4,       /* an argument is not as the kernel expects it */
    SPARSEC_DEVICE_FAILED = 5,      /* a GPU is missing or refuses */
    SPARSEC_PROMISE_BROKEN = 6,     /* the data are not as the schedule promises (debug builds) */
    SPARSEC_CHANGED = 7             /* a result would store others than the coordinates that it has */
};

enum sparsec_type {
    SPARSEC_BOOL, SPARSEC_INT8, SPARSEC_INT16, SPARSEC_INT32, SPARSEC_INT64,
    SPARSEC_UINT8, SPARSEC_UINT16, SPARSEC_UINT32, SPARSEC_UINT64,
    SPARSEC_HALF, SPARSEC_BFLOAT16, SPARSEC_FLOAT32, SPARSEC_FLOAT64,
    SPARSEC_COMPLEX64, SPARSEC_COMPLEX128
};

enum sparsec_level_kind {
    SPARSEC_DENSE, SPARSEC_COMPRESSED, SPARSEC_SINGLETON,
    SPARSEC_HASHED, SPARSEC_BITMAP, SPARSEC_RANGE
};

enum { SPARSEC_NONUNIQUE = 1, SPARSEC_UNORDERED = 2 };

/* A value of any type, in 16 bytes. */
typedef union sparsec_value {
    double float64;
    bool boolean;
    int8_t int8;
    int16_t int16;
    int32_t int32;
    int64_t int64;
    uint8_t uint8;
    uint16_t uint16;
    uint32_t uint32;
    uint64_t uint64;
    sparsec_half half;
    sparsec_bfloat16 bfloat16;
    float float32;
    float complex64[2]; /* real and imaginary part */
    double complex128[2];
} sparsec_value;

/* Part of a level's mode: n coordinates of the dimension share one of the level. */
#define SPARSEC_BLOCKS(n) ((int64_t)(n) << 32)
/* Of a dimension j: the diagonals j - i + M - 1, where i is this dimension, of extent M. */
#define SPARSEC_DIAGONALS(i) (-((int64_t)(i) + 1) * ((int64_t)1 << 32))

/* One storage level. Dense levels have no arrays, singletons only crd. Of a bitmap crd is a byte for
 * each position, not 0 where an element is; what values stand at others is not said. A hashed level has
 * in its table, for the positions lo..hi below a parent, the slots 2*lo..2*hi: see sparsec_enter_int32. */
typedef struct sparsec_level {
    int32_t kind;    /* enum sparsec_level_kind */
    uint32_t flags;  /* SPARSEC_NONUNIQUE, SPARSEC_UNORDERED */
    int64_t mode;    /* the dimension that it stores; or its blocks, or diagonals */
    void *pos;
    int64_t pos_len;
    int64_t pos_cap;
    void *crd;
    int64_t crd_len;
    int64_t crd_cap;
    void *table;
    int64_t table_len;
    int64_t table_cap;
} sparsec_level;

/* A tensor; order 0 is a scalar. All sizes count elements. One that is stored in blocks has further dimensions,
 * the sizes of these: in blocks of 2 by 3, an M by N matrix has the dims M, N, 2, 3 and the coordinates i/2, j/3, i%2,
 * j%3. Where the last blocks reach beyond M or N, what stands there is not read. One in slots has their number as
 * a further dimension; slots that are not needed hold zeros, at any coordinate. */
typedef struct sparsec_tensor {
    int32_t type;       /* enum sparsec_type */
    int32_t order;
    int32_t index_bits; /* 32 or 64: the elements of pos, crd and table */
    uint32_t flags;     /* 1: the arrays below belong to sparsec_free_tensor */
    int64_t *dims;
    sparsec_level *levels; /* outermost first */
    void *vals;
    int64_t vals_len;
    int64_t vals_cap;
    sparsec_value fill; /* of elements that are not stored: the field of the type */
} sparsec_tensor;

/* What a kernel expects of an argument. */
typedef struct sparsec_level_spec {
    int32_t kind;
    uint32_t flags;
    int64_t mode;
} sparsec_level_spec;

typedef struct sparsec_spec {
    const char *name;
    int32_t type;
    int32_t order;
    int32_t index_bits;
    const sparsec_level_spec *levels;
    const void *fill; /* an element, or NULL for zero */
} sparsec_spec;

/* ---- what exists once in a program -------------------------------------- */

extern SPARSEC_THREAD_LOCAL char sparsec_error_text[256];
extern void *(*sparsec_resize_hook)(void *, size_t);
extern void (*sparsec_release_hook)(void *);

#ifdef SPARSEC_IMPLEMENTATION
SPARSEC_WEAK SPARSEC_THREAD_LOCAL char sparsec_error_text[256];

#if defined(__linux__) && !defined(__cplusplus)
/* Of <sys/mman.h>, which C11 alone does not show. */
extern int madvise(void *, size_t, int);
#endif

/* Lets pages of an array be as large as the system has them: the first touch of each page of
 * 4 KiB costs more than what is computed there. Only wished for, so failures do not matter. */
static void *sparsec_in_large_pages(void *array, size_t size) {
#if defined(__linux__) && !defined(__cplusplus)
    const int huge_pages = 14; /* MADV_HUGEPAGE */
    const uintptr_t page = 4096, begin = ((uintptr_t)array + page - 1) / page * page;
    if (array && size >= (size_t)4 << 20)
        (void)madvise((void *)begin, (size_t)((uintptr_t)array + size - begin) / page * page, huge_pages);
#else
    (void)size;
#endif
    return array;
}

/* realloc, but arrays start at a cache line: vectors of their elements then lie in one. A large one that
 * grew stays where it is: to move it once more costs more than that. */
static void *sparsec_resize_aligned(void *old, size_t size) {
#ifdef _WIN32
    return realloc(old, size);
#else
    size_t whole_lines = (size + 63) / 64 * 64;
    void *moved, *aligned;
    if (!old) return sparsec_in_large_pages(aligned_alloc(64, whole_lines), size);
    moved = realloc(old, size);
    if (!moved || (uintptr_t)moved % 64 == 0 || size >= (size_t)1 << 20)
        return sparsec_in_large_pages(moved, size);
    aligned = aligned_alloc(64, whole_lines);
    if (!aligned) return moved;
    memcpy(aligned, moved, size);
    free(moved);
    return aligned;
#endif
}

SPARSEC_WEAK void *(*sparsec_resize_hook)(void *, size_t) = sparsec_resize_aligned;
SPARSEC_WEAK void (*sparsec_release_hook)(void *) = free;
#endif

/* The reason of this thread's last failure. */
static inline const char *sparsec_error(void) { return sparsec_error_text; }

/* Replaces realloc and free for all that kernels and packers allocate: resize(NULL, size) gives new memory,
 * release is never given NULL. Call it before any tensor is made, since each array goes back to where it came
 * from, and from one thread; both are called by whichever threads call kernels. */
static inline void sparsec_set_allocator(void *(*resize)(void *, size_t), void (*release)(void *)) {
    sparsec_resize_hook = resize;
    sparsec_release_hook = release;
}

#define SPARSEC_FAIL(status, ...) \
    (snprintf(sparsec_error_text, sizeof sparsec_error_text, __VA_ARGS__), (int)(status))

static inline int sparsec_fail_code(int status) {
    switch (status) {
    case SPARSEC_OUT_OF_MEMORY: return SPARSEC_FAIL(status, "out of memory");
    case SPARSEC_INDEX_OUT_OF_RANGE:
        return SPARSEC_FAIL(status, "a data-dependent subscript or bound lies outside its tensor");
    case SPARSEC_INDEX_OVERFLOW:
        return SPARSEC_FAIL(status, "the result has more stored elements than its index width counts");
    case SPARSEC_CHANGED: return SPARSEC_FAIL(status, "the result would store others than the coordinates that it has");
    default: return status;
    }
}

#if defined(SPARSEC_DEBUG) && defined(SPARSEC_IMPLEMENTATION) && !defined(SPARSEC_CUDA)
/* The first promise that was found broken, by any thread of the call. */
typedef struct sparsec_broken_promise {
    const char *text;
    int64_t found;
} sparsec_broken_promise;

static inline void sparsec_note_broken(sparsec_broken_promise *note, const char *text, int64_t found) {
#ifdef _OPENMP
#pragma omp critical(sparsec_promises)
#endif
    if (!note->text) {
        note->text = text;
        note->found = found;
    }
}

/* The status of a call, or that it broke a promise. */
static inline int sparsec_kept(const sparsec_broken_promise *note, int status) {
    if (!note->text) return status;
    return SPARSEC_FAIL(SPARSEC_PROMISE_BROKEN, "%s %lld", note->text, (long long)note->found);
}
#endif

/* ---- memory -------------------------------------------------------------- */

/* Room for count elements of a size, or NULL; the old content is kept, old may be NULL. From the allocator that
 * kernels use: for arrays that they are to make larger or free. */
static inline void *sparsec_resize(void *old, int64_t count, size_t size) {
    if (count < 0 || size == 0 || (uint64_t)count > SIZE_MAX / 2 / size) return NULL;
    return sparsec_resize_hook(old, count ? (size_t)count * size : size);
}

static inline void *sparsec_zeroed(int64_t count, size_t size) {
    void *array = sparsec_resize(NULL, count, size);
    if (array) memset(array, 0, count ? (size_t)count * size : size);
    return array;
}

/* Gives back an array of sparsec_resize, or one that an unchecked function made. */
static inline void sparsec_release(void *array) {
    if (array) sparsec_release_hook(array);
}

/* The first elements of another array; neither need exist where there are none. */
static inline void sparsec_copy(void *to, const void *from, int64_t count, size_t size) {
    if (count > 0) memcpy(to, from, (size_t)count * size);
}

/* Sets elements to zero bytes; all threads do where that takes longer than to call them. */
static inline void sparsec_clear(void *array, int64_t count, size_t size) {
    const int64_t bytes = count * (int64_t)size, part = 65536;
#ifdef _OPENMP
    #pragma omp parallel for schedule(static) if (bytes > 4 * part)
#endif
    for (int64_t at = 0; at < bytes; at += part)
        memset((char *)array + at, 0, (size_t)(bytes - at < part ? bytes - at : part));
}

/* At least needed and at least twice the old capacity. */
static inline int64_t sparsec_next_capacity(int64_t capacity, int64_t needed) {
    int64_t next = capacity < 8 ? 16 : capacity <= INT64_MAX / 2 ? 2 * capacity : INT64_MAX;
    return next < needed ? needed : next;
}

/* Inside kernels: on failure everything is freed at the label fail. */
#define SPARSEC_NEED(array)                \
    do {                                   \
        if (!(array)) {                    \
            error = SPARSEC_OUT_OF_MEMORY; \
            goto fail;                     \
        }                                  \
    } while (0)

#define SPARSEC_RESIZE(array, count)                                      \
    do {                                                                  \
        void *sparsec_room = sparsec_resize(array, count, sizeof *array); \
        SPARSEC_NEED(sparsec_room);                                       \
        array = sparsec_room;                                             \
    } while (0)

/* What cannot be given back stays. */
#define SPARSEC_TRIM(array, count)                                        \
    do {                                                                  \
        void *sparsec_less = sparsec_resize(array, count, sizeof *array); \
        if (sparsec_less) array = sparsec_less;                           \
    } while (0)

static inline size_t sparsec_type_size(int32_t type) {
    static const unsigned char size[] = {1, 1, 2, 4, 8, 1, 2, 4, 8, 2, 2, 4, 8, 8, 16};
    return type >= 0 && type < 15 ? size[type] : 0;
}

/* Frees what a kernel or a packer allocated. */
static inline void sparsec_free_tensor(sparsec_tensor *t) {
    if (t->flags & 1u) {
        for (int32_t l = 0; t->levels && l < t->order; l++) {
            sparsec_release(t->levels[l].pos);
            sparsec_release(t->levels[l].crd);
            sparsec_release(t->levels[l].table);
        }
        sparsec_release(t->levels);
        sparsec_release(t->dims);
        sparsec_release(t->vals);
    }
    memset(t, 0, sizeof *t);
}

/* What a call left that makes the content of t anew: the new one, or the old one where it failed. */
static inline void sparsec_renew(sparsec_tensor *t, sparsec_tensor *made, int error) {
    if (error) {
        sparsec_free_tensor(made);
        return;
    }
    sparsec_free_tensor(t);
    *t = *made;
}

/* ---- arithmetic ---------------------------------------------------------- */

/* The number of the thread at hand, and how many a parallel loop may have. */
static inline int64_t sparsec_thread_index(void) {
#ifdef _OPENMP
    return omp_get_thread_num();
#else
    return 0;
#endif
}
static inline int64_t sparsec_thread_count(void) {
#ifdef _OPENMP
    return omp_get_max_threads();
#else
    return 1;
#endif
}

SPARSEC_FN int64_t sparsec_floordiv(int64_t a, int64_t b) {
    int64_t q = a / b;
    return a % b != 0 && (a < 0) != (b < 0) ? q - 1 : q;
}

/* fmin and fmax, of which compilers make calls: a number goes before what is none. `lowered` and `raised` are the
   same where a is a number: one instruction. */
#define SPARSEC_EXTREMES(T, S)                                                \
    SPARSEC_FN T sparsec_min_##S(T a, T b) { return a <= b || b != b ? a : b; } \
    SPARSEC_FN T sparsec_max_##S(T a, T b) { return a >= b || b != b ? a : b; } \
    SPARSEC_FN T sparsec_lowered_##S(T a, T b) { return b < a ? b : a; }      \
    SPARSEC_FN T sparsec_raised_##S(T a, T b) { return b > a ? b : a; }
SPARSEC_EXTREMES(float, float)
SPARSEC_EXTREMES(double, double)

/* Quotients and remainders of integers: by zero 0; the smallest number by -1 wraps, which C
   leaves open and processors trap. */
#define SPARSEC_COMPARED(T, S)                                                \
    SPARSEC_FN T sparsec_min_##S(T a, T b) { return SPARSEC_APART(T, a < b ? a : b); } \
    SPARSEC_FN T sparsec_max_##S(T a, T b) { return SPARSEC_APART(T, a > b ? a : b); }
#define SPARSEC_SIGNED(T, S)                                                  \
    SPARSEC_COMPARED(T, S)                                                    \
    SPARSEC_FN T sparsec_div_##S(T a, T b) {                                  \
        if (b == -1) return (T)(0 - (uint64_t)a);                             \
        return (T)(b ? a / b : 0);                                            \
    }                                                                         \
    SPARSEC_FN T sparsec_rem_##S(T a, T b) { return (T)(b && b != -1 ? a % b : 0); }
#define SPARSEC_UNSIGNED(T, S)                                                \
    SPARSEC_COMPARED(T, S)                                                    \
    SPARSEC_FN T sparsec_div_##S(T a, T b) { return (T)(b ? a / b : 0); }  \
    SPARSEC_FN T sparsec_rem_##S(T a, T b) { return (T)(b ? a % b : 0); }
SPARSEC_SIGNED(int8_t, int8)
SPARSEC_SIGNED(int16_t, int16)
SPARSEC_SIGNED(int32_t, int32)
SPARSEC_SIGNED(int64_t, int64)
SPARSEC_UNSIGNED(uint8_t, uint8)
SPARSEC_UNSIGNED(uint16_t, uint16)
SPARSEC_UNSIGNED(uint32_t, uint32)
SPARSEC_UNSIGNED(uint64_t, uint64)
#undef SPARSEC_COMPARED
#undef SPARSEC_SIGNED
#undef SPARSEC_UNSIGNED

/* A float as a number of 64 bits: what is too large becomes the largest, what is too small the
 * smallest; what is below zero wraps where there is no sign. */
SPARSEC_FN int64_t sparsec_to_int64(double x) {
    return x < -9223372036854775808.0 ? INT64_MIN : x < 9223372036854775808.0 ? (int64_t)x : INT64_MAX;
}
SPARSEC_FN uint64_t sparsec_to_uint64(double x) {
    return x < 0 ? (uint64_t)sparsec_to_int64(x) : x < 18446744073709551616.0 ? (uint64_t)x : UINT64_MAX;
}

SPARSEC_FN int64_t sparsec_abs_int64(int64_t a) { return a < 0 ? (int64_t)(0 - (uint64_t)a) : a; }
SPARSEC_FN double sparsec_sigmoid(double x) { return 1.0 / (1.0 + exp(-x)); }
SPARSEC_FN float sparsec_sigmoidf(float x) { return 1.0f / (1.0f + expf(-x)); }
SPARSEC_FN double sparsec_heaviside(double x, double at0) { return x < 0 ? 0 : x > 0 ? 1 : at0; }
SPARSEC_FN float sparsec_heavisidef(float x, float at0) { return x < 0 ? 0 : x > 0 ? 1 : at0; }
#if defined(SPARSEC_IMPLEMENTATION) && !defined(__cplusplus)
/* To the power of zero all numbers are one, where C's functions have none for zero. */
SPARSEC_FN double _Complex sparsec_cpow(double _Complex a, double _Complex b) { return b == 0 ? 1 : cpow(a, b); }
SPARSEC_FN float _Complex sparsec_cpowf(float _Complex a, float _Complex b) { return b == 0 ? 1 : cpowf(a, b); }
#endif

#if defined(__F16C__) && defined(__GNUC__) && !defined(__CUDACC__)
/* One instruction each. */
typedef int16_t sparsec_halves __attribute__((vector_size(16)));
typedef float sparsec_singles __attribute__((vector_size(16)));
SPARSEC_FN float sparsec_half_to_float(sparsec_half h) {
    const sparsec_halves halves = {(int16_t)h};
    return __builtin_ia32_vcvtph2ps(halves)[0];
}

SPARSEC_FN sparsec_half sparsec_float_to_half(float value) {
    const sparsec_singles singles = {value};
    return (sparsec_half)__builtin_ia32_vcvtps2ph(singles, 0)[0];
}
#else
/* Both without branches, as loops of them are vectors then: a mask keeps one of two values. */
SPARSEC_FN uint32_t sparsec_pick(bool condition, uint32_t yes, uint32_t no) {
    return no ^ ((yes ^ no) & (0u - (uint32_t)condition));
}

SPARSEC_FN float sparsec_half_to_float(sparsec_half h) {
    const uint32_t sign = (uint32_t)(h & 0x8000u) << 16, exponent = h & 0x7c00u, mantissa = h & 0x3ffu;
    const float small = (float)(int32_t)mantissa * (1.0f / 16777216.0f); /* 2^-24 */
    uint32_t bits, small_bits;
    float value;
    memcpy(&small_bits, &small, sizeof small);
    bits = (exponent | mantissa) << 13;
    bits += sparsec_pick(exponent == 0x7c00u, 0x70000000u, 0x38000000u); /* bias 127 for 15; infinite */
    bits = sign | sparsec_pick(exponent == 0, small_bits, bits);
    memcpy(&value, &bits, sizeof value);
    return value;
}

/* Rounds to nearest, ties to even. */
SPARSEC_FN sparsec_half sparsec_float_to_half(float value) {
    uint32_t bits, sign, normal, small_bits, large;
    float small;
    memcpy(&bits, &value, sizeof bits);
    sign = bits >> 16 & 0x8000u;
    bits &= 0x7fffffffu;
    /* A carry goes into the exponent. */
    normal = (bits - 0x38000000u + 0xfffu + (bits >> 13 & 1u)) >> 13;
    /* Under 2^-14: the last bit of a sum with a half is worth 2^-24. */
    memcpy(&small, &bits, sizeof small);
    small += 0.5f;
    memcpy(&small_bits, &small, sizeof small_bits);
    small_bits -= 0x3f000000u;
    large = sparsec_pick(bits > 0x7f800000u, 0x7e00u | (bits >> 13 & 0x3ffu), 0x7c00u);
    normal = sparsec_pick(bits < 0x38800000u, small_bits, normal);
    return (sparsec_half)(sign | sparsec_pick(bits < 0x47800000u, normal, large));
}
#endif

SPARSEC_FN float sparsec_bfloat16_to_float(sparsec_bfloat16 h) {
    uint32_t bits = (uint32_t)h << 16;
    float value;
    memcpy(&value, &bits, sizeof value);
    return value;
}

/* Rounds to nearest, ties to even. */
SPARSEC_FN sparsec_bfloat16 sparsec_float_to_bfloat16(float value) {
    uint32_t bits;
    memcpy(&bits, &value, sizeof bits);
    if ((bits & 0x7fffffffu) > 0x7f800000u) return (sparsec_bfloat16)(bits >> 16 | 0x40u);
    bits += 0x7fffu + (bits >> 16 & 1u);
    return (sparsec_bfloat16)(bits >> 16);
}

/* ---- searches ------------------------------------------------------------ */

/* The first p in lo..hi with crd[p] >= key, or hi. */
SPARSEC_FN int64_t sparsec_lower_bound_int32(const int32_t *crd, int64_t lo, int64_t hi, int64_t key) {
    while (lo < hi) {
        int64_t middle = lo + (hi - lo) / 2;
        if (crd[middle] < key) lo = middle + 1;
        else hi = middle;
    }
    return lo;
}

SPARSEC_FN int64_t sparsec_lower_bound_int64(const int64_t *crd, int64_t lo, int64_t hi, int64_t key) {
    while (lo < hi) {
        int64_t middle = lo + (hi - lo) / 2;
        if (crd[middle] < key) lo = middle + 1;
        else hi = middle;
    }
    return lo;
}

/* The first of the rows lo..hi in this share, where each has as much in it: rows, and what they store. */
#define SPARSEC_SHARE(S)                                                                                  \
    static inline int64_t sparsec_share_##S(const S##_t *pos, int64_t lo, int64_t hi, int64_t share,      \
                                            int64_t shares) {                                             \
        const int64_t all = hi > lo ? hi - lo + (int64_t)(pos[hi] - pos[lo]) : 0;                         \
        const int64_t before = all / shares * share + all % shares * share / shares, from = lo;           \
        if (share >= shares) return hi;                                                                   \
        while (lo < hi) {                                                                                 \
            const int64_t middle = lo + (hi - lo) / 2;                                                    \
            if (middle - from + (int64_t)(pos[middle] - pos[from]) < before) lo = middle + 1;             \
            else hi = middle;                                                                             \
        }                                                                                                 \
        return lo;                                                                                        \
    }
SPARSEC_SHARE(int32)
SPARSEC_SHARE(int64)
#undef SPARSEC_SHARE

/* The first of the iterations lo..hi in this share, of which each has as many. */
static inline int64_t sparsec_even_share(int64_t lo, int64_t hi, int64_t share, int64_t shares) {
    const int64_t all = hi > lo ? hi - lo : 0;
    return lo + all / shares * share + all % shares * share / shares;
}

/* The same, in steps that double: quick where the position is near lo. */
SPARSEC_FN int64_t sparsec_gallop_int32(const int32_t *crd, int64_t lo, int64_t hi, int64_t key) {
    int64_t step = 1;
    if (lo >= hi || crd[lo] >= key) return lo;
    while (step < hi - lo && crd[lo + step] < key) {
        lo += step;
        step *= 2;
    }
    return sparsec_lower_bound_int32(crd, lo + 1, step < hi - lo ? lo + step : hi, key);
}

/* The same, in steps that double: quick where the position is near lo. */
SPARSEC_FN int64_t sparsec_gallop_int64(const int64_t *crd, int64_t lo, int64_t hi, int64_t key) {
    int64_t step = 1;
    if (lo >= hi || crd[lo] >= key) return lo;
    while (step < hi - lo && crd[lo + step] < key) {
        lo += step;
        step *= 2;
    }
    return sparsec_lower_bound_int64(crd, lo + 1, step < hi - lo ? lo + step : hi, key);
}

/* The slot of a coordinate among so many. */
SPARSEC_FN int64_t sparsec_slot(int64_t coordinate, int64_t slots) {
    const uint64_t hash = ((uint64_t)coordinate * UINT64_C(0x9E3779B97F4A7C15)) >> 32;
    return (int64_t)((uint64_t)slots >> 32 ? hash : hash * (uint64_t)slots >> 32);
}

/* sparsec_enter enters the positions lo..hi of a hashed level into table[2*lo..2*hi]: each, plus 1, at the slot of
 * its coordinate or the next one that is free, from the last one on to the first; other slots are 0. sparsec_look_up
 * finds the position of a coordinate among them, or hi. sparsec_place finds the slot among lo..hi of which the number is
 * that of a coordinate, counted from 1, or the free one where it belongs. */
#define SPARSEC_TABLE(S)                                                                                      \
    SPARSEC_FN void sparsec_enter_##S(S##_t *table, const S##_t *crd, int64_t lo, int64_t hi) {               \
        const int64_t slots = 2 * (hi - lo);                                                                  \
        S##_t *const own = table + 2 * lo;                                                                    \
        for (int64_t at = 0; at < slots; at++) own[at] = 0;                                                   \
        for (int64_t p = lo; p < hi; p++) {                                                                   \
            int64_t at = sparsec_slot(crd[p], slots);                                                         \
            while (own[at]) at = at + 1 < slots ? at + 1 : 0;                                                 \
            own[at] = (S##_t)(p + 1);                                                                         \
        }                                                                                                     \
    }                                                                                                         \
    SPARSEC_FN int64_t sparsec_place_##S(const S##_t *table, const S##_t *crd, int64_t lo, int64_t hi,        \
                                         int64_t key) {                                                       \
        int64_t at = lo + sparsec_slot(key, hi - lo);                                                         \
        while (table[at] && crd[table[at] - 1] != key) at = at + 1 < hi ? at + 1 : lo;                        \
        return at;                                                                                            \
    }                                                                                                         \
    SPARSEC_FN int64_t sparsec_look_up_##S(const S##_t *table, const S##_t *crd, int64_t lo, int64_t hi,      \
                                           int64_t key) {                                                     \
        const int64_t at = lo < hi ? sparsec_place_##S(table, crd, 2 * lo, 2 * hi, key) : 2 * hi;             \
        return lo < hi && table[at] ? (int64_t)table[at] - 1 : hi;                                            \
    }
SPARSEC_TABLE(int32)
SPARSEC_TABLE(int64)
#undef SPARSEC_TABLE

#ifndef SPARSEC_CUDA
/* ---- sorting ---------------------------------------------------------------- */

static inline int64_t sparsec_coordinate(const void *crd, size_t width, int64_t at) {
    return width == 4 ? ((const int32_t *)crd)[at] : ((const int64_t *)crd)[at];
}

/* Sorts items, numbers with a key in the upper half and where they stood in the lower one, by bits of the key:
 * passes from the lowest digit upwards, stable. Returns which of both arrays has them. */
static inline uint64_t *sparsec_sort_keys(uint64_t *items, uint64_t *to, int64_t n, int bits) {
    const int most = n < 256 ? 6 : 11, passes = (bits + most - 1) / most;
    int64_t counts[2048];
    for (int pass = 0, shift = 32; pass < passes; pass++) {
        const int width = (bits - (shift - 32) + passes - pass - 1) / (passes - pass);
        const uint64_t mask = ((uint64_t)1 << width) - 1;
        int64_t next = 0;
        memset(counts, 0, sizeof *counts << width);
        for (int64_t k = 0; k < n; k++) counts[items[k] >> shift & mask]++;
        for (uint64_t x = 0; x <= mask; x++) {
            const int64_t count = counts[x];
            counts[x] = next;
            next += count;
        }
        for (int64_t k = 0; k < n; k++) to[counts[items[k] >> shift & mask]++] = items[k];
        uint64_t *swap = items;
        items = to;
        to = swap;
        shift += width;
    }
    return items;
}

/* Puts n elements of size bytes from `from` on in the order of the items. */
static inline void sparsec_put_in_order(char *array, size_t size, int64_t from, int64_t n,
                                        const uint64_t *items, char *room) {
    char *own = array + (size_t)from * size;
    if (size == 4)
        for (int64_t k = 0; k < n; k++) memcpy(room + (size_t)k * 4, own + (uint32_t)items[k] * (size_t)4, 4);
    else if (size == 8)
        for (int64_t k = 0; k < n; k++) memcpy(room + (size_t)k * 8, own + (uint32_t)items[k] * (size_t)8, 8);
    else
        for (int64_t k = 0; k < n; k++) memcpy(room + (size_t)k * size, own + (uint32_t)items[k] * size, size);
    memcpy(own, room, (size_t)n * size);
}

/* What sparsec_sort_elements sorts: `order` coordinates of `width` bytes each, values of `size` bytes. */
typedef struct sparsec_elements {
    int32_t order;
    void *const *crd;
    size_t width;
    void *vals;
    size_t size;
} sparsec_elements;

/* Sorts n elements from `from` on by the coordinates from level l on. */
static inline bool sparsec_sort_run(const sparsec_elements *e, int32_t l, int64_t from, int64_t n) {
    uint64_t few[2 * 256], *room = few, *items, *to;
    bool moved = false;
    if (n > 256) {
        room = (uint64_t *)sparsec_resize(NULL, 2 * n, e->size > 8 ? e->size : 8);
        if (!room) return false;
    } else if (e->size > 8) {
        room = (uint64_t *)sparsec_resize(NULL, 2 * n, e->size);
        if (!room) return false;
    }
    items = room;
    to = room + n;
    for (int64_t k = 0; k < n; k++) items[k] = (uint64_t)k;
    for (int32_t m = e->order - 1; m >= l; m--) {
        int64_t least = INT64_MAX, most = 0, last = -1;
        bool sorted = true;
        for (int64_t k = 0; k < n; k++) {
            const int64_t c = sparsec_coordinate(e->crd[m], e->width, from + (int64_t)(uint32_t)items[k]);
            least = c < least ? c : least;
            most = c > most ? c : most;
            sorted = sorted && last <= c;
            last = c;
        }
        if (sorted) continue;
        moved = true;
        for (uint64_t left = (uint64_t)(most - least), shift = 0; left >> shift > 0; shift += 32) {
            const uint64_t part = left >> shift & 0xffffffffu;
            int bits = 32;
            while (left >> shift >> 32 == 0 && bits > 1 && part >> (bits - 1) == 0) bits--;
            for (int64_t k = 0; k < n; k++) {
                const uint64_t at = (uint32_t)items[k];
                const int64_t c = sparsec_coordinate(e->crd[m], e->width, from + (int64_t)at);
                items[k] = ((uint64_t)(c - least) >> shift & 0xffffffffu) << 32 | at;
            }
            if (sparsec_sort_keys(items, to, n, bits) == to) {
                uint64_t *swap = items;
                items = to;
                to = swap;
            }
            if (shift) break;
        }
    }
    if (moved) {
        /* Large values take the rest of the room. */
        if (items != room && e->size > 8) {
            memcpy(room, items, (size_t)n * sizeof *items);
            items = room;
            to = room + n;
        }
        for (int32_t m = l; m < e->order; m++)
            sparsec_put_in_order((char *)e->crd[m], e->width, from, n, items, (char *)to);
        sparsec_put_in_order((char *)e->vals, e->size, from, n, items, (char *)to);
    }
    if (room != few) sparsec_release(room);
    return true;
}

/* Sorts n elements by their coordinates, outermost first; equal ones stay in the order in which they came.
 * Those of equal outer coordinates that stand in order already are sorted run by run, in the cache. */
static inline bool sparsec_sort_elements(int64_t n, int32_t order, void *const *crd, size_t width,
                                         void *vals, size_t size) {
    const sparsec_elements e = {order, crd, width, vals, size};
    int32_t l = 0;
    for (bool sorted = true; l < order && sorted;) {
        for (int64_t k = 1; k < n && sorted; k++) {
            int32_t m = 0;
            while (m < l && sparsec_coordinate(crd[m], width, k - 1) == sparsec_coordinate(crd[m], width, k)) m++;
            sorted = m < l || sparsec_coordinate(crd[l], width, k - 1) <= sparsec_coordinate(crd[l], width, k);
        }
        l += sorted;
    }
    for (int64_t from = 0, to; l < order && from < n; from = to) {
        for (to = from + 1; to < n; to++) {
            int32_t m = 0;
            while (m < l && sparsec_coordinate(crd[m], width, from) == sparsec_coordinate(crd[m], width, to)) m++;
            if (m < l) break;
        }
        /* Where an element stood has 32 bits. */
        if (to - from > UINT32_MAX || !sparsec_sort_run(&e, l, from, to - from)) return false;
    }
    return true;
}

/* Whether element a comes before element b. */
static inline bool sparsec_comes_before(const sparsec_elements *e, int64_t a, int64_t b) {
    int32_t m = 0;
    while (m + 1 < e->order && sparsec_coordinate(e->crd[m], e->width, a) == sparsec_coordinate(e->crd[m], e->width, b)) m++;
    return sparsec_coordinate(e->crd[m], e->width, a) < sparsec_coordinate(e->crd[m], e->width, b);
}

static inline void sparsec_exchange(const sparsec_elements *e, int64_t a, int64_t b) {
    for (int32_t m = 0; m <= e->order; m++) {
        const size_t size = m < e->order ? e->width : e->size;
        char *const array = (char *)(m < e->order ? e->crd[m] : e->vals), between[16];
        memcpy(between, array + (size_t)a * size, size);
        memcpy(array + (size_t)a * size, array + (size_t)b * size, size);
        memcpy(array + (size_t)b * size, between, size);
    }
}

/* Sorts a few elements of one coordinate each, one after the other into those before it. */
static inline void sparsec_insert(int64_t n, void *crd, size_t width, char *vals, size_t size) {
    for (int64_t k = 1; k < n; k++) {
        const int64_t c = sparsec_coordinate(crd, width, k);
        char value[16];
        int64_t to = k;
        if (sparsec_coordinate(crd, width, k - 1) <= c) continue;
        memcpy(value, vals + (size_t)k * size, size);
        for (; to > 0 && sparsec_coordinate(crd, width, to - 1) > c; to--) {
            memcpy((char *)crd + (size_t)to * width, (char *)crd + (size_t)(to - 1) * width, width);
            memcpy(vals + (size_t)to * size, vals + (size_t)(to - 1) * size, size);
        }
        if (width == 4) ((int32_t *)crd)[to] = (int32_t)c;
        else ((int64_t *)crd)[to] = c;
        memcpy(vals + (size_t)to * size, value, size);
    }
}

/* As sparsec_sort_elements where no two elements are of one place: it needs no memory (a heap sort), if
 * there is none. */
static inline void sparsec_sort_distinct(int64_t n, int32_t order, void *const *crd, size_t width,
                                         void *vals, size_t size) {
    const sparsec_elements e = {order, crd, width, vals, size};
    if (n <= 32 && order == 1) {
        /* With sizes that the compiler knows. */
        if (width == 4 && size == 8) sparsec_insert(n, crd[0], 4, (char *)vals, 8);
        else if (width == 4 && size == 4) sparsec_insert(n, crd[0], 4, (char *)vals, 4);
        else sparsec_insert(n, crd[0], width, (char *)vals, size);
        return;
    }
    if (sparsec_sort_elements(n, order, crd, width, vals, size)) return;
    for (int64_t from = n / 2 - 1, to = n; to > 1;) {
        if (from < 0) sparsec_exchange(&e, 0, --to);
        int64_t root = from < 0 ? 0 : from--;
        for (int64_t child = 2 * root + 1; child < to; child = 2 * root + 1) {
            if (child + 1 < to && sparsec_comes_before(&e, child, child + 1)) child++;
            if (!sparsec_comes_before(&e, root, child)) break;
            sparsec_exchange(&e, root, child);
            root = child;
        }
    }
}
#endif

/* ---- checks of arguments -------------------------------------------------- */

static inline int64_t sparsec_index_at(const sparsec_tensor *t, const void *array, int64_t at) {
    return t->index_bits == 64 ? ((const int64_t *)array)[at] : ((const int32_t *)array)[at];
}

/* Extents and counts of positions are no larger, so that kernels can add to them. */
#define SPARSEC_LARGEST (INT64_MAX / 4)

/* The product of two counts, or -1 if it is larger than that or one of them is none. */
static inline int64_t sparsec_times(int64_t a, int64_t b) {
    return a < 0 || b < 0 || (b > 0 && a > SPARSEC_LARGEST / b) ? -1 : a * b;
}

/* The same of their sum. */
static inline int64_t sparsec_plus(int64_t a, int64_t b) {
    return a < 0 || b < 0 || a > SPARSEC_LARGEST - b ? -1 : a + b;
}

/* The largest coordinate, and count of positions, that these bits hold. */
#ifndef SPARSEC_INDEX_MAX
#define SPARSEC_INDEX_MAX INT32_MAX
#endif
static inline int64_t sparsec_index_max(int32_t bits) { return bits == 64 ? INT64_MAX : SPARSEC_INDEX_MAX; }

/* The value of what is not stored. */
static inline sparsec_value sparsec_fill_of(const sparsec_spec *spec) {
    sparsec_value fill;
    memset(&fill, 0, sizeof fill);
    if (spec->fill) memcpy(&fill, spec->fill, sparsec_type_size(spec->type));
    return fill;
}

/* The real and the imaginary part, where a value is a float. */
static inline bool sparsec_is_float(int32_t type, const sparsec_value *value, double *re, double *im) {
    *im = 0;
    switch (type) {
    case SPARSEC_HALF: *re = sparsec_half_to_float(value->half); return true;
    case SPARSEC_BFLOAT16: *re = sparsec_bfloat16_to_float(value->bfloat16); return true;
    case SPARSEC_FLOAT32: *re = value->float32; return true;
    case SPARSEC_FLOAT64: *re = value->float64; return true;
    case SPARSEC_COMPLEX64: *re = value->complex64[0]; *im = value->complex64[1]; return true;
    case SPARSEC_COMPLEX128: *re = value->complex128[0]; *im = value->complex128[1]; return true;
    default: *re = 0; return false;
    }
}

/* Whether two values of a type are one: zeros of both signs are, and all that are no numbers. */
static inline bool sparsec_same_value(int32_t type, const sparsec_value *a, const sparsec_value *b) {
    double x, y, u, v;
    if (!sparsec_is_float(type, a, &x, &u)) return !memcmp(a, b, sparsec_type_size(type));
    sparsec_is_float(type, b, &y, &v);
    return (x == y || (x != x && y != y)) && (u == v || (u != u && v != v));
}

/* A value in words. */
static inline const char *sparsec_show(int32_t type, const sparsec_value *value, char *text, size_t room) {
    double re, im;
    int64_t number = value->int64;
    if (sparsec_is_float(type, value, &re, &im)) {
        if (type == SPARSEC_COMPLEX64 || type == SPARSEC_COMPLEX128) snprintf(text, room, "%g%+gi", re, im);
        else snprintf(text, room, "%g", re);
        return text;
    }
    switch (type) {
    case SPARSEC_INT8: number = value->int8; break;
    case SPARSEC_INT16: number = value->int16; break;
    case SPARSEC_INT32: number = value->int32; break;
    case SPARSEC_BOOL: case SPARSEC_UINT8: number = value->uint8; break;
    case SPARSEC_UINT16: number = value->uint16; break;
    case SPARSEC_UINT32: number = value->uint32; break;
    default: break;
    }
    if (type == SPARSEC_UINT64) snprintf(text, room, "%llu", (unsigned long long)value->uint64);
    else snprintf(text, room, "%lld", (long long)number);
    return text;
}

/* A tensor that is not stored whole has the fill value that a kernel expects. */
static inline int sparsec_check_fill(const sparsec_tensor *t, const sparsec_spec *spec) {
    const sparsec_value want = sparsec_fill_of(spec);
    char has[64], wants[64];
    if (sparsec_same_value(spec->type, &t->fill, &want)) return SPARSEC_OK;
    return SPARSEC_FAIL(SPARSEC_BAD_ARGUMENT, "%s: its fill value is %s, not %s", spec->name,
                        sparsec_show(spec->type, &t->fill, has, sizeof has),
                        sparsec_show(spec->type, &want, wants, sizeof wants));
}

/* Whether the level has a position for each coordinate below each parent. */
static inline bool sparsec_has_places(const sparsec_level *level) {
    return level->kind == SPARSEC_DENSE || level->kind == SPARSEC_BITMAP;
}

/* Whether positions say how many coordinates the level has below each parent. */
static inline bool sparsec_has_positions(int32_t kind) {
    return kind == SPARSEC_COMPRESSED || kind == SPARSEC_HASHED;
}

/* The dimension of a level's mode. */
static inline int64_t sparsec_dimension(int64_t mode) {
    return mode & 0xffffffff;
}

/* How many coordinates a level of this mode has below each parent: the last block may reach beyond the dimension. */
static inline int64_t sparsec_extent(const int64_t *dims, int64_t mode) {
    const int64_t dim = dims[sparsec_dimension(mode)], block = mode >> 32;
    if (block < 0) {
        const int64_t along = dims[-block - 1];
        return dim > 0 ? sparsec_plus(dim - 1, along) : along > 0 ? along - 1 : 0;
    }
    return block > 1 ? dim / block + (dim % block > 0) : dim;
}

/* Bytes of an element of crd. */
static inline size_t sparsec_crd_size(const sparsec_tensor *t, int32_t l) {
    return t->levels[l].kind == SPARSEC_BITMAP ? 1 : t->index_bits == 64 ? 8 : 4;
}

/* Whether the table of a hashed level leads to each position below this parent, and has free slots. */
static inline bool sparsec_leads(const sparsec_tensor *t, const sparsec_level *level, int64_t parent) {
    const int64_t lo = sparsec_index_at(t, level->pos, parent), hi = sparsec_index_at(t, level->pos, parent + 1);
    const int64_t slots = 2 * (hi - lo);
    int64_t taken = 0;
    for (int64_t at = 2 * lo; at < 2 * hi; at++) {
        const int64_t entry = sparsec_index_at(t, level->table, at);
        if (entry != 0 && (entry <= lo || entry > hi)) return false;
        taken += entry != 0;
    }
    if (taken != hi - lo) return false;
    for (int64_t p = lo; p < hi; p++) {
        int64_t at = sparsec_slot(sparsec_index_at(t, level->crd, p), slots), entry;
        while ((entry = sparsec_index_at(t, level->table, 2 * lo + at)) != 0 && entry != p + 1)
            at = at + 1 < slots ? at + 1 : 0;
        if (!entry) return false;
    }
    return true;
}

/* The first place where elements below one parent of a chain of singletons, which ends in level l, do not
 * ascend as they are said to; 0 if there is none. */
static inline int64_t sparsec_disorder(const sparsec_tensor *t, int32_t l, int64_t positions) {
    int32_t top = l, m;
    int64_t k = 0;
    while (top > 0 && t->levels[top].kind == SPARSEC_SINGLETON && !(t->levels[top].flags & SPARSEC_UNORDERED)) top--;
    if (!t->levels[top].pos || t->levels[top].kind == SPARSEC_HASHED || t->levels[top].flags & SPARSEC_UNORDERED) return 0;
    for (int64_t p = 1; p < positions; p++) {
        while (sparsec_index_at(t, t->levels[top].pos, k) < p) k++;
        if (sparsec_index_at(t, t->levels[top].pos, k) == p) continue;
        for (m = top; m <= l; m++) {
            const int64_t a = sparsec_index_at(t, t->levels[m].crd, p - 1), b = sparsec_index_at(t, t->levels[m].crd, p);
            if (a < b) break;
            if (a > b || (m == l && !(t->levels[l].flags & SPARSEC_NONUNIQUE))) return p;
        }
    }
    return 0;
}

/* Checks the arrays of one level: positions ascend from 0, coordinates lie in the
 * dimension, are sorted as said, and are as many as the positions announce; that none
 * stands twice where they are in no order is not checked. With SPARSEC_TRUST_INPUT only
 * lengths are. Returns the level's positions. */
static inline int sparsec_check_level(const sparsec_tensor *t, const char *name, int32_t l,
                                      int64_t parents, int64_t *positions) {
    const sparsec_level *level = &t->levels[l];
    int64_t extent = sparsec_extent(t->dims, level->mode);
    if (sparsec_has_places(level)) {
        if (extent > 0 && parents > SPARSEC_LARGEST / extent)
            return SPARSEC_FAIL(SPARSEC_BAD_ARGUMENT, "%s: its extents overflow", name);
        *positions = parents * extent;
        if (level->kind == SPARSEC_BITMAP && (level->crd_len < *positions || (*positions > 0 && !level->crd)))
            return SPARSEC_FAIL(SPARSEC_BAD_ARGUMENT, "%s: crd of level %d has %lld elements, not %lld",
                                name, (int)l, (long long)level->crd_len, (long long)*positions);
        return SPARSEC_OK;
    }
    if (level->kind == SPARSEC_SINGLETON) {
        *positions = parents;
    } else {
        if (!level->pos || level->pos_len < parents + 1)
            return SPARSEC_FAIL(SPARSEC_BAD_ARGUMENT, "%s: pos of level %d has %lld elements, not %lld",
                                name, (int)l, (long long)level->pos_len, (long long)parents + 1);
        *positions = sparsec_index_at(t, level->pos, parents);
    }
    if (*positions < 0 || level->crd_len < *positions || (*positions > 0 && !level->crd))
        return SPARSEC_FAIL(SPARSEC_BAD_ARGUMENT, "%s: crd of level %d has %lld elements, not %lld",
                            name, (int)l, (long long)level->crd_len, (long long)*positions);
    if (level->kind == SPARSEC_HASHED && (level->table_len / 2 < *positions || (*positions > 0 && !level->table)))
        return SPARSEC_FAIL(SPARSEC_BAD_ARGUMENT, "%s: table of level %d has %lld slots, not twice %lld",
                            name, (int)l, (long long)level->table_len, (long long)*positions);
#ifndef SPARSEC_TRUST_INPUT
    if (level->pos && level->kind != SPARSEC_SINGLETON) {
        int64_t before = 0;
        if (sparsec_index_at(t, level->pos, 0) != 0)
            return SPARSEC_FAIL(SPARSEC_BAD_ARGUMENT, "%s: pos of level %d does not begin with 0", name, (int)l);
        for (int64_t k = 0; k < parents; k++) {
            int64_t end = sparsec_index_at(t, level->pos, k + 1);
            if (end < before || end > *positions)
                return SPARSEC_FAIL(SPARSEC_BAD_ARGUMENT, "%s: pos of level %d descends at %lld", name, (int)l, (long long)k);
            for (int64_t p = before + 1; p < end && !(level->flags & SPARSEC_UNORDERED) && level->kind != SPARSEC_HASHED; p++) {
                int64_t a = sparsec_index_at(t, level->crd, p - 1), b = sparsec_index_at(t, level->crd, p);
                if (a > b || (a == b && !(level->flags & SPARSEC_NONUNIQUE)))
                    return SPARSEC_FAIL(SPARSEC_BAD_ARGUMENT, "%s: crd of level %d is not sorted at %lld", name, (int)l, (long long)p);
            }
            before = end;
        }
    }
    if (level->kind == SPARSEC_SINGLETON) {
        const int64_t p = sparsec_disorder(t, l, *positions);
        if (p) return SPARSEC_FAIL(SPARSEC_BAD_ARGUMENT, "%s: crd of level %d is not sorted at %lld", name, (int)l, (long long)p);
    }
    for (int64_t p = 0; p < *positions; p++) {
        int64_t c = sparsec_index_at(t, level->crd, p);
        if (c < 0 || c >= extent)
            return SPARSEC_FAIL(SPARSEC_BAD_ARGUMENT, "%s: coordinate %lld of level %d is outside 0..%lld",
                                name, (long long)c, (int)l, (long long)extent);
    }
    for (int64_t k = 0; level->kind == SPARSEC_HASHED && k < parents; k++)
        if (!sparsec_leads(t, level, k))
            return SPARSEC_FAIL(SPARSEC_BAD_ARGUMENT, "%s: table of level %d does not lead to what is stored at %lld",
                                name, (int)l, (long long)k);
#endif
    return SPARSEC_OK;
}

/* Checks an input against what the kernel was compiled for. */
static inline int sparsec_check(const sparsec_tensor *t, const sparsec_spec *spec) {
    int64_t positions = 1;
    if (!t) return SPARSEC_FAIL(SPARSEC_BAD_ARGUMENT, "%s: no tensor given", spec->name);
    if (t->type != spec->type)
        return SPARSEC_FAIL(SPARSEC_BAD_ARGUMENT, "%s: element type %d, not %d", spec->name, (int)t->type, (int)spec->type);
    if (t->order != spec->order)
        return SPARSEC_FAIL(SPARSEC_BAD_ARGUMENT, "%s: order %d, not %d", spec->name, (int)t->order, (int)spec->order);
    if (t->order > 0 && (!t->dims || !t->levels))
        return SPARSEC_FAIL(SPARSEC_BAD_ARGUMENT, "%s: dims or levels are missing", spec->name);
    for (int32_t m = 0; m < t->order; m++)
        if (t->dims[m] < 0)
            return SPARSEC_FAIL(SPARSEC_BAD_ARGUMENT, "%s: dimension %d has a negative extent", spec->name, (int)m);
        else if (t->dims[m] > SPARSEC_LARGEST)
            return SPARSEC_FAIL(SPARSEC_BAD_ARGUMENT, "%s: the extent of dimension %d is too large", spec->name, (int)m);
    for (int32_t l = 0; l < t->order; l++) {
        const sparsec_level_spec *want = &spec->levels[l];
        int error;
        if (t->levels[l].kind != want->kind || t->levels[l].mode != want->mode ||
            ((t->levels[l].flags & ~want->flags) != 0))
            return SPARSEC_FAIL(SPARSEC_BAD_ARGUMENT, "%s: level %d is not stored as the kernel expects", spec->name, (int)l);
        error = want->kind == SPARSEC_DENSE ? SPARSEC_OK : sparsec_check_fill(t, spec);
        if (error) return error;
        if (want->kind != SPARSEC_DENSE && t->index_bits != spec->index_bits)
            return SPARSEC_FAIL(SPARSEC_BAD_ARGUMENT, "%s: %d-bit coordinates, not %d", spec->name,
                                (int)t->index_bits, (int)spec->index_bits);
        error = sparsec_check_level(t, spec->name, l, positions, &positions);
        if (error) return error;
    }
    if (positions > 0 && !t->vals)
        return SPARSEC_FAIL(SPARSEC_BAD_ARGUMENT, "%s: no values, not %lld: vals is NULL", spec->name, (long long)positions);
    if (t->vals_len < positions)
        return SPARSEC_FAIL(SPARSEC_BAD_ARGUMENT, "%s: %lld values, not %lld", spec->name,
                            (long long)t->vals_len, (long long)positions);
    return SPARSEC_OK;
}

/* How many arrays a level has at most: pos, crd, table. */
#define SPARSEC_ARRAYS 3

/* Array k of a tensor, and its bytes: the values, then those of each level. */
static inline uintptr_t sparsec_array_of(const sparsec_tensor *t, int32_t k, size_t *bytes) {
    const int32_t l = (k - 1) / SPARSEC_ARRAYS, own = (k - 1) % SPARSEC_ARRAYS;
    const sparsec_level *level = k ? &t->levels[l] : NULL;
    const void *array = !level ? t->vals : own == 0 ? level->pos : own == 1 ? level->crd : level->table;
    int64_t length = !level ? t->vals_len : own == 0 ? level->pos_len : own == 1 ? level->crd_len : level->table_len;
    int64_t room = !level ? t->vals_cap : own == 0 ? level->pos_cap : own == 1 ? level->crd_cap : level->table_cap;
    size_t size = !level ? sparsec_type_size(t->type) : own == 1 ? sparsec_crd_size(t, l) : t->index_bits == 64 ? 8 : 4;
    if (room > length) length = room;
    *bytes = array && length > 0 ? (size_t)length * size : 0;
    return (uintptr_t)array;
}

/* What is written shares no memory with another of the n tensors of the call. */
static inline int sparsec_apart(const sparsec_tensor *t, const char *name,
                                const sparsec_tensor *const *tensors, int n) {
    for (int at = 0, itself = 0; at < n; at++) {
        const sparsec_tensor *other = tensors[at];
        int32_t own = t->levels ? SPARSEC_ARRAYS * t->order : 0, others;
        bool meets = false;
        if (other == t && !itself++) continue;
        others = other->levels ? SPARSEC_ARRAYS * other->order : 0;
        for (int32_t k = 0; k <= own; k++) {
            size_t bytes, more;
            const uintptr_t a = sparsec_array_of(t, k, &bytes);
            for (int32_t l = 0; bytes && l <= others; l++) {
                const uintptr_t b = sparsec_array_of(other, l, &more);
                meets = meets || (more && a < b + more && b < a + bytes);
            }
        }
        if (meets || other == t)
            return SPARSEC_FAIL(SPARSEC_BAD_ARGUMENT, "%s: shares memory with another argument", name);
    }
    return SPARSEC_OK;
}

/* One size name means one size. */
static inline int sparsec_same_size(const char *what, const char *tensor, int64_t got,
                                    const char *first, int64_t size) {
    if (got == size) return SPARSEC_OK;
    return SPARSEC_FAIL(SPARSEC_BAD_ARGUMENT, "size %s: %lld in %s but %lld in %s", what,
                        (long long)got, tensor, (long long)size, first);
}

/* ---- results --------------------------------------------------------------- */

/* Room for count elements, not NULL; what the array held may be lost. New memory is zeroed, and in
 * a debug build no number, so that what a kernel forgets shows. */
static inline bool sparsec_have_room(void **array, int64_t *room, int64_t count, size_t size) {
    if (*array && *room >= count && count >= 0) return true;
    sparsec_release(*array);
    *array = sparsec_zeroed(count, size);
    *room = *array ? count : 0;
#ifdef SPARSEC_DEBUG
    if (*array) memset(*array, 0xff, (size_t)count * size);
#endif
    return *array != NULL;
}

/* Takes an array out of a tensor. */
static inline void *sparsec_take(void **array) {
    void *taken = *array;
    *array = NULL;
    return taken;
}

/* Whether t is a tensor of this kind: types and levels. */
static inline bool sparsec_is_kind(const sparsec_tensor *t, const sparsec_spec *spec) {
    bool same = t->type == spec->type && t->order == spec->order && (!t->order || (t->dims && t->levels));
    for (int32_t l = 0; same && l < spec->order; l++)
        same = t->levels[l].kind == spec->levels[l].kind && t->levels[l].mode == spec->levels[l].mode &&
               (spec->levels[l].kind == SPARSEC_DENSE || t->index_bits == spec->index_bits);
    return same;
}

/* What a tensor of this kind says of itself, whatever it said before. */
static inline void sparsec_describe(sparsec_tensor *t, const sparsec_spec *spec) {
    t->fill = sparsec_fill_of(spec);
    for (int32_t l = 0; l < spec->order; l++) t->levels[l].flags = spec->levels[l].flags;
}

/* Whether its arrays are the caller's: they are written in place, never replaced or freed. */
static inline bool sparsec_is_lent(const sparsec_tensor *t) {
    return !(t->flags & 1u) && (t->dims || t->levels || t->vals);
}

/* What the arrays of a caller are, and what a result of this kind and shape with so many values takes. */
static inline int sparsec_does_not_fit(const sparsec_tensor *t, const sparsec_spec *spec, const int64_t *dims, int64_t count) {
    char why[80];
    int32_t m = 0;
    if (t->type != spec->type) {
        snprintf(why, sizeof why, "element type %d, not %d", (int)t->type, (int)spec->type);
    } else if (t->order != spec->order) {
        snprintf(why, sizeof why, "order %d, not %d", (int)t->order, (int)spec->order);
    } else if (!sparsec_is_kind(t, spec)) {
        snprintf(why, sizeof why, "levels that are stored otherwise");
    } else {
        while (m < spec->order && t->dims[m] == dims[m]) m++;
        if (m < spec->order)
            snprintf(why, sizeof why, "an extent of %lld in dimension %d, not %lld", (long long)t->dims[m], (int)m,
                     (long long)dims[m]);
        else if (!t->vals || t->vals_len != count)
            snprintf(why, sizeof why, "%lld values, not %lld", t->vals ? (long long)t->vals_len : 0, (long long)count);
        else
            snprintf(why, sizeof why, "other coordinates, or no room for them");
    }
    return SPARSEC_FAIL(SPARSEC_BAD_ARGUMENT,
                        "%s: its arrays are the caller's and do not fit the result: they have %s; give a zeroed tensor",
                        spec->name, why);
}

/* Makes t a tensor of this kind and shape. It keeps its arrays, with the room they have, where it
 * was one before; otherwise they are NULL. What arrays of the caller can hold has been asked before. */
static inline int sparsec_shape(sparsec_tensor *t, const sparsec_spec *spec, const int64_t *dims) {
    const size_t order = (size_t)spec->order;
    if (sparsec_is_lent(t))
        return SPARSEC_FAIL(SPARSEC_BAD_ARGUMENT,
                            "%s: its arrays are the caller's, but those of a sparse tensor are allocated where it is made; "
                            "give a zeroed tensor", spec->name);
    for (size_t m = 0; m < order; m++)
        if (dims[m] < 0)
            return SPARSEC_FAIL(SPARSEC_BAD_ARGUMENT, "%s: dimension %d would have the extent %lld",
                                spec->name, (int)m, (long long)dims[m]);
    for (size_t l = 0; l < order; l++) {
        const int32_t kind = spec->levels[l].kind;
        const int64_t extent = sparsec_extent(dims, spec->levels[l].mode);
        if (kind != SPARSEC_DENSE && kind != SPARSEC_BITMAP && extent - 1 > sparsec_index_max(spec->index_bits))
            return SPARSEC_FAIL(SPARSEC_INDEX_OVERFLOW,
                                "%s: coordinates of dimension %d, which has the extent %lld, take 64 bits: `index 64`",
                                spec->name, (int)sparsec_dimension(spec->levels[l].mode), (long long)extent);
    }
    if (!(t->flags & 1u) || !sparsec_is_kind(t, spec)) {
        sparsec_free_tensor(t);
        t->flags = 1;
        t->dims = (int64_t *)sparsec_zeroed((int64_t)order, sizeof *t->dims);
        t->levels = (sparsec_level *)sparsec_zeroed((int64_t)order, sizeof *t->levels);
        if (!t->dims || !t->levels) {
            sparsec_free_tensor(t);
            return sparsec_fail_code(SPARSEC_OUT_OF_MEMORY);
        }
    }
    t->type = spec->type;
    t->order = spec->order;
    t->index_bits = spec->index_bits;
    sparsec_describe(t, spec);
    for (size_t l = 0; l < order; l++) {
        t->levels[l].kind = spec->levels[l].kind;
        t->levels[l].mode = spec->levels[l].mode;
        t->dims[l] = dims[l];
    }
    return SPARSEC_OK;
}

/* The number of elements of a dense tensor, or -1. */
static inline int64_t sparsec_element_count(int32_t order, const int64_t *dims) {
    int64_t count = 1;
    for (int32_t m = 0; m < order; m++) count = sparsec_times(count, dims[m]);
    return count;
}

/* Whether t is a tensor of this kind and shape. */
static inline bool sparsec_is_shape(const sparsec_tensor *t, const sparsec_spec *spec, const int64_t *dims) {
    bool same = sparsec_is_kind(t, spec) && t->vals;
    for (int32_t m = 0; same && m < spec->order; m++) same = t->dims[m] == dims[m];
    return same;
}

/* Whether t is a tensor of this kind and shape with this fill, and its levels have their arrays and order. */
static inline bool sparsec_is_made(const sparsec_tensor *t, const sparsec_spec *spec, const int64_t *dims) {
    const sparsec_value fill = sparsec_fill_of(spec);
    bool made = sparsec_is_shape(t, spec, dims) && sparsec_same_value(spec->type, &t->fill, &fill);
    for (int32_t l = 0; made && l < spec->order; l++)
        made = t->levels[l].flags == spec->levels[l].flags && (!sparsec_has_positions(t->levels[l].kind) || t->levels[l].pos);
    return made;
}

/* Room for this many values. */
static inline int sparsec_have_values(sparsec_tensor *t, int64_t count) {
    if (count < 0 || !sparsec_have_room(&t->vals, &t->vals_cap, count, sparsec_type_size(t->type))) {
        sparsec_free_tensor(t);
        return sparsec_fail_code(SPARSEC_OUT_OF_MEMORY);
    }
    t->vals_len = count;
    return SPARSEC_OK;
}

/* Makes t a tensor with a place for each element, in the memory that it has if that is enough. */
static inline int sparsec_shape_dense(sparsec_tensor *t, const sparsec_spec *spec, const int64_t *dims) {
    int64_t count = 1, positions = 1;
    bool fits;
    int error;
    for (int32_t l = 0; l < spec->order; l++) count = sparsec_times(count, sparsec_extent(dims, spec->levels[l].mode));
    fits = sparsec_is_lent(t) && sparsec_is_shape(t, spec, dims) && t->vals_len == count;
    for (int32_t l = 0; fits && l < spec->order; l++) {
        positions = sparsec_times(positions, sparsec_extent(dims, spec->levels[l].mode));
        if (t->levels[l].kind == SPARSEC_BITMAP) fits = t->levels[l].crd && t->levels[l].crd_len == positions;
    }
    if (fits) {
        sparsec_describe(t, spec);
        return SPARSEC_OK;
    }
    if (sparsec_is_lent(t)) return sparsec_does_not_fit(t, spec, dims, count);
    error = sparsec_shape(t, spec, dims);
    if (error) return error;
    error = sparsec_have_values(t, count);
    positions = 1;
    for (int32_t l = 0; !error && l < spec->order; l++) {
        sparsec_level *level = &t->levels[l];
        positions = sparsec_times(positions, sparsec_extent(dims, level->mode));
        if (level->kind != SPARSEC_BITMAP) continue;
        if (!sparsec_have_room(&level->crd, &level->crd_cap, positions, 1)) {
            sparsec_free_tensor(t);
            error = sparsec_fail_code(SPARSEC_OUT_OF_MEMORY);
        } else {
            level->crd_len = positions;
        }
    }
    return error;
}

/* The number of positions of level l below this many parents; -1 if there are too many. */
static inline int64_t sparsec_positions(const sparsec_tensor *t, int32_t l, int64_t parents) {
    const sparsec_level *level = &t->levels[l];
    if (sparsec_has_places(level)) return sparsec_times(parents, sparsec_extent(t->dims, level->mode));
    return level->kind == SPARSEC_SINGLETON ? parents : level->crd_len;
}

/* Makes t a tensor that stores what the first levels of another store, and all below; the
   coordinates of a call before stay where they are the same. */
static inline int sparsec_shape_like(sparsec_tensor *t, const sparsec_spec *spec, const int64_t *dims,
                                     const sparsec_tensor *like, int32_t levels) {
    const size_t size = like->index_bits == 64 ? 8 : 4;
    bool same = sparsec_is_shape(t, spec, dims) && t->index_bits == like->index_bits;
    int error;
    int64_t parents = 1, count = 1;
    for (int32_t l = 0; l < levels; l++) {
        const sparsec_level *own = &t->levels[l], *other = &like->levels[l];
        count = sparsec_positions(like, l, parents);
        if (same && other->pos)
            same = own->pos && own->pos_len == parents + 1 && !memcmp(own->pos, other->pos, (size_t)(parents + 1) * size);
        if (same && other->crd)
            same = own->crd_len == count &&
                   (!count || (own->crd && !memcmp(own->crd, other->crd, (size_t)count * sparsec_crd_size(like, l))));
        if (same && other->table)
            same = own->table_len == 2 * count && (!count || (own->table && !memcmp(own->table, other->table, (size_t)(2 * count) * size)));
        parents = count;
    }
    for (int32_t l = levels; l < spec->order; l++) count = sparsec_times(count, sparsec_extent(dims, spec->levels[l].mode));
    if (same && t->vals_len == count) {
        sparsec_describe(t, spec);
        return SPARSEC_OK;
    }
    if (sparsec_is_lent(t)) return sparsec_does_not_fit(t, spec, dims, count);
    error = sparsec_shape(t, spec, dims);
    if (error) return error;
    parents = 1;
    for (int32_t l = 0; l < levels; l++) {
        sparsec_level *own = &t->levels[l];
        const sparsec_level *other = &like->levels[l];
        int64_t below = sparsec_positions(like, l, parents);
        if ((other->pos && !sparsec_have_room(&own->pos, &own->pos_cap, parents + 1, size)) ||
            (other->crd && !sparsec_have_room(&own->crd, &own->crd_cap, below, sparsec_crd_size(like, l)))) {
            sparsec_free_tensor(t);
            return sparsec_fail_code(SPARSEC_OUT_OF_MEMORY);
        }
        if (other->pos) {
            sparsec_copy(own->pos, other->pos, parents + 1, size);
            own->pos_len = parents + 1;
        }
        if (other->crd) {
            sparsec_copy(own->crd, other->crd, below, sparsec_crd_size(like, l));
            own->crd_len = below;
        }
        if (other->table) {
            if (!sparsec_have_room(&own->table, &own->table_cap, 2 * below, size)) {
                sparsec_free_tensor(t);
                return sparsec_fail_code(SPARSEC_OUT_OF_MEMORY);
            }
            sparsec_copy(own->table, other->table, 2 * below, size);
            own->table_len = 2 * below;
        }
        parents = below;
    }
    return sparsec_have_values(t, count);
}

/* Hands the arrays of a level that a kernel built to the tensor. */
static inline void sparsec_set_level(sparsec_tensor *t, int32_t l, void *pos, void *crd, int64_t parents) {
    sparsec_level *level = &t->levels[l];
    level->pos = pos;
    level->pos_len = level->pos_cap = pos ? parents + 1 : 0;
    level->crd = crd;
    level->crd_len = level->crd_cap = pos ? sparsec_index_at(t, pos, parents) : crd ? sparsec_positions(t, l, parents) : 0;
}

/* The same of its table. */
static inline void sparsec_set_table(sparsec_tensor *t, int32_t l, void *table) {
    t->levels[l].table = table;
    t->levels[l].table_len = t->levels[l].table_cap = 2 * t->levels[l].crd_len;
}

/* ---- packing from coordinates ---------------------------------------------- */

static inline void sparsec_put_index(sparsec_tensor *t, void *array, int64_t at, int64_t value) {
    if (t->index_bits == 64) ((int64_t *)array)[at] = value;
    else ((int32_t *)array)[at] = (int32_t)value;
}

/* Adds the element at b to the one at a. */
static inline void sparsec_add_element(int32_t type, void *a, const void *b) {
    switch (type) {
    case SPARSEC_BOOL: *(bool *)a = *(bool *)a || *(const bool *)b; break;
    case SPARSEC_INT8: case SPARSEC_UINT8: *(uint8_t *)a = (uint8_t)(*(uint8_t *)a + *(const uint8_t *)b); break;
    case SPARSEC_INT16: case SPARSEC_UINT16: *(uint16_t *)a = (uint16_t)(*(uint16_t *)a + *(const uint16_t *)b); break;
    case SPARSEC_INT32: case SPARSEC_UINT32: *(uint32_t *)a += *(const uint32_t *)b; break;
    case SPARSEC_INT64: case SPARSEC_UINT64: *(uint64_t *)a += *(const uint64_t *)b; break;
    case SPARSEC_HALF:
        *(sparsec_half *)a = sparsec_float_to_half(sparsec_half_to_float(*(sparsec_half *)a) +
                                                   sparsec_half_to_float(*(const sparsec_half *)b));
        break;
    case SPARSEC_BFLOAT16:
        *(sparsec_bfloat16 *)a = sparsec_float_to_bfloat16(sparsec_bfloat16_to_float(*(sparsec_bfloat16 *)a) +
                                                           sparsec_bfloat16_to_float(*(const sparsec_bfloat16 *)b));
        break;
    case SPARSEC_FLOAT32: *(float *)a += *(const float *)b; break;
    case SPARSEC_FLOAT64: *(double *)a += *(const double *)b; break;
    case SPARSEC_COMPLEX64:
        ((float *)a)[0] += ((const float *)b)[0];
        ((float *)a)[1] += ((const float *)b)[1];
        break;
    case SPARSEC_COMPLEX128:
        ((double *)a)[0] += ((const double *)b)[0];
        ((double *)a)[1] += ((const double *)b)[1];
        break;
    default: break;
    }
}

/* An element that is sorted: the coordinates as one number, outermost level first, and the value, or where the
 * element stands. */
typedef struct sparsec_record {
    uint64_t key, load;
} sparsec_record;

typedef struct sparsec_pack_level {
    int64_t mode, count; /* the dimension, and how many elements open a position */
    uint64_t most;       /* the largest coordinate */
    int32_t opens;       /* those that agree with the one before in so many levels at most */
    int bits, shift;     /* of a key */
} sparsec_pack_level;

/* Elements on their way into a tensor. They are in order as they are given, or by the records; those have keys
 * of all levels and values of at most 8 bytes, or else tell which element it is. A part of them is what one
 * thread stores: no part begins with a coordinate that the one before has. */
typedef struct sparsec_packer {
    int32_t type, order;
    size_t size; /* of a value */
    int64_t n, parts;
    const int64_t *coords;
    const char *vals;
    sparsec_pack_level *levels;
    sparsec_record *records;
    int64_t *begin; /* of each part, and where the last one ends */
    int64_t *state; /* of each part: how many elements agree with the one before in 0, 1, ... levels; then how
                       many positions are open at each level, and below which parent */
    bool keyed;
} sparsec_packer;

/* How many elements are done together: what is known of them stays in the first cache. */
enum { SPARSEC_PACK_BLOCK = 512 };

/* How many threads are worth calling for n elements. */
static inline int64_t sparsec_pack_threads(const sparsec_packer *p) {
    /* Elements of several coordinates may share a position, then they are added up in order. */
    if (p->n < 65536 || p->order < 1 || p->levels[p->order - 1].opens < p->order - 1) return 1;
    return sparsec_thread_count();
}

/* Which of the given elements comes at k. */
static inline int64_t sparsec_pack_element(const sparsec_packer *p, int64_t k) {
    return p->records ? (int64_t)p->records[k].load : k;
}

static inline void sparsec_pack_value(const sparsec_packer *p, int64_t k, void *value) {
    if (p->keyed && p->size <= 8) memcpy(value, &p->records[k].load, p->size);
    else memcpy(value, p->vals + (size_t)sparsec_pack_element(p, k) * p->size, p->size);
}

/* The coordinates of the elements from..to at a level. */
static inline void sparsec_pack_coordinates(const sparsec_packer *p, int32_t l, int64_t from, int64_t to, int64_t *c) {
    const sparsec_pack_level *level = &p->levels[l];
    const int64_t *column = p->coords + level->mode;
    if (p->keyed) {
        const uint64_t mask = ((uint64_t)1 << level->bits) - 1;
        for (int64_t k = from; k < to; k++) c[k - from] = (int64_t)(p->records[k].key >> level->shift & mask);
    } else if (p->records) {
        for (int64_t k = from; k < to; k++) c[k - from] = column[(int64_t)p->records[k].load * p->order];
    } else if (p->order == 2) {
        for (int64_t k = from; k < to; k++) c[k - from] = column[k * 2];
    } else {
        for (int64_t k = from; k < to; k++) c[k - from] = column[k * p->order];
    }
}

/* In how many levels, from the outermost on, elements that stand as they are given agree with those before. */
static inline void sparsec_pack_compare(const sparsec_packer *p, int32_t order, int64_t from, int64_t to, int32_t *agree) {
    for (int32_t l = 0; l < order; l++) {
        const int64_t *const column = p->coords + p->levels[l].mode;
        for (int64_t k = from; k < to; k++)
            agree[k - from] += (agree[k - from] == l) & (column[k * order] == column[(k - 1) * order]);
    }
}

/* In how many levels, from the outermost on, each of the elements from..to agrees with the one before; -1 where
 * there is no element, or none before. */
static inline void sparsec_pack_agreement(const sparsec_packer *p, int64_t from, int64_t to, int32_t *agree) {
    const int64_t first = from < 1 ? 1 : from, end = to < p->n ? to : p->n;
    int32_t *const known = agree + (first - from);
    if (from == 0) agree[0] = -1;
    if (to > p->n) agree[p->n - from] = -1;
    for (int64_t k = 0; k < end - first; k++) known[k] = 0;
    if (p->keyed) {
        for (int32_t l = 0; l < p->order; l++)
            for (int64_t k = first; k < end; k++)
                known[k - first] += (p->records[k].key ^ p->records[k - 1].key) >> p->levels[l].shift == 0;
    } else if (!p->records) {
        if (p->order == 2) sparsec_pack_compare(p, 2, first, end, known);
        else if (p->order == 3) sparsec_pack_compare(p, 3, first, end, known);
        else sparsec_pack_compare(p, p->order, first, end, known);
    } else {
        for (int64_t k = first; k < end; k++) {
            const int64_t *a = p->coords + sparsec_pack_element(p, k - 1) * p->order;
            const int64_t *b = p->coords + sparsec_pack_element(p, k) * p->order;
            int32_t l = 0;
            while (l < p->order && a[p->levels[l].mode] == b[p->levels[l].mode]) l++;
            known[k - first] = l;
        }
    }
}

/* Counts them, without the first one. */
static inline void sparsec_pack_count(const sparsec_packer *p, int64_t from, int64_t to, int64_t *found) {
    int32_t agree[SPARSEC_PACK_BLOCK];
    for (int32_t l = 0; l <= p->order; l++) found[l] = 0;
    for (int64_t at = from + 1, end; at < to; at = end) {
        end = to - at < SPARSEC_PACK_BLOCK ? to : at + SPARSEC_PACK_BLOCK;
        sparsec_pack_agreement(p, at, end, agree);
        for (int64_t k = at; k < end; k++) found[agree[k - at]]++;
    }
}

/* What is seen of the elements from..to as they are given: the largest coordinates (negative ones are larger than all),
 * and for each level whether they are in order by it and those inside (a bit of `sorted`). Where they are in order by
 * all levels, they are counted. */
static inline void sparsec_pack_scan(const sparsec_packer *p, int32_t order, int64_t from, int64_t to,
                                     uint64_t *most, uint64_t *sorted, int64_t *found) {
    int64_t k = from;
    for (int32_t l = 0; l <= order; l++) found[l] = 0;
    for (int32_t l = 0; l < order; l++) most[l] = 0;
    for (; k < to && *sorted; k++) {
        const int64_t *own = p->coords + k * order;
        uint64_t here = 0, rises = 1;
        int32_t agree = order;
        for (int32_t l = order - 1; l >= 0; l--) {
            const int64_t c = own[p->levels[l].mode], before = k ? own[p->levels[l].mode - order] : -1;
            most[l] = (uint64_t)c > most[l] ? (uint64_t)c : most[l];
            agree = c != before ? l : agree;
            rises = c != before ? c > before : rises;
            here |= l < 64 ? rises << l : 0;
        }
        *sorted &= here;
        found[agree] += k > from;
    }
    for (; k < to; k++)
        for (int32_t l = 0; l < order; l++) {
            const uint64_t c = (uint64_t)p->coords[k * order + p->levels[l].mode];
            most[l] = c > most[l] ? c : most[l];
        }
}

/* Sorts records by the bits low..high of their keys, stable; those below are in order, those above are the same.
 * The result is in a. */
static inline void sparsec_sort_records(sparsec_record *a, sparsec_record *b, int64_t n, int low, int high) {
    int64_t counts[8][256];
    const int passes = (high - low + 7) / 8;
    sparsec_record *from = a, *to = b;
    if (n < 32) {
        for (int64_t k = 1; k < n; k++) {
            const sparsec_record own = a[k];
            int64_t at = k;
            for (; at > 0 && own.key < a[at - 1].key; at--) a[at] = a[at - 1];
            a[at] = own;
        }
        return;
    }
    /* What no cache holds is divided first. */
    if (n > 65536 && passes > 1) {
        int64_t *const ends = counts[0], next = 0;
        memset(ends, 0, sizeof counts[0]);
        for (int64_t k = 0; k < n; k++) ends[a[k].key >> (high - 8) & 255]++;
        for (int x = 0; x < 256; x++) {
            const int64_t count = ends[x];
            ends[x] = next;
            next += count;
        }
        for (int64_t k = 0; k < n; k++) b[ends[a[k].key >> (high - 8) & 255]++] = a[k];
        memcpy(a, b, (size_t)n * sizeof *a);
        for (int x = 0; x < 256; x++) {
            const int64_t begin = x ? ends[x - 1] : 0;
            sparsec_sort_records(a + begin, b + begin, ends[x] - begin, low, high - 8);
        }
        return;
    }
    memset(counts, 0, sizeof counts[0] * (size_t)passes);
    for (int64_t k = 0; k < n; k++) {
        uint64_t rest = a[k].key >> low;
        for (int pass = 0; pass < passes; pass++, rest >>= 8) counts[pass][rest & 255]++;
    }
    for (int pass = 0; pass < passes; pass++) {
        const int shift = low + 8 * pass;
        int64_t next = 0;
        if (counts[pass][from[0].key >> shift & 255] == n) continue;
        for (int x = 0; x < 256; x++) {
            const int64_t count = counts[pass][x];
            counts[pass][x] = next;
            next += count;
        }
        for (int64_t k = 0; k < n; k++) to[counts[pass][from[k].key >> shift & 255]++] = from[k];
        sparsec_record *const swap = from;
        from = to;
        to = swap;
    }
    if (from != a) memcpy(a, from, (size_t)n * sizeof *a);
}

/* The keys of the elements from..to, in the order at hand, by the levels lo..hi. */
static inline void sparsec_pack_keys(const sparsec_packer *p, int32_t lo, int32_t hi, int64_t from, int64_t to,
                                     uint64_t *keys) {
    int64_t c[SPARSEC_PACK_BLOCK];
    for (int64_t k = from; k < to; k++) keys[k - from] = 0;
    for (int32_t l = lo; l < hi; l++) {
        sparsec_pack_coordinates(p, l, from, to, c);
        for (int64_t k = from; k < to; k++) keys[k - from] = keys[k - from] << p->levels[l].bits | (uint64_t)c[k - from];
    }
}

/* Makes records of all elements, sorted by the levels lo..hi and before that as they were; the lowest bits of their
 * keys are in order. Leading bits first: what agrees in them is sorted in a cache. The buckets become the parts. */
static inline bool sparsec_pack_sort(sparsec_packer *p, int32_t lo, int32_t hi, int low, bool whole) {
    const int64_t n = p->n, threads = sparsec_pack_threads(p), share = (n + threads - 1) / threads;
    const size_t row = 3 * (size_t)p->order + 1;
    int high = 0, bits = 0;
    int64_t buckets, most = 0, next = 0, *counts;
    sparsec_record *to, *spare = NULL;
    bool done = false;
    for (int32_t l = hi - 1; l >= lo; l--) {
        p->levels[l].shift = high;
        high += p->levels[l].bits;
    }
    while (bits < 11 && bits < high - low && n >> bits > 2048) bits++;
    buckets = (int64_t)1 << bits;
    sparsec_release(p->begin);
    sparsec_release(p->state);
    p->begin = (int64_t *)sparsec_resize(NULL, buckets + 1, sizeof *p->begin);
    p->state = (int64_t *)sparsec_resize(NULL, buckets, row * sizeof *p->state);
    counts = (int64_t *)sparsec_zeroed(threads * buckets, sizeof *counts);
    to = (sparsec_record *)sparsec_resize(NULL, n, sizeof *to);
    if (!p->begin || !p->state || !counts || !to) goto release;
#ifdef _OPENMP
    #pragma omp parallel for schedule(static, 1) if (threads > 1)
#endif
    for (int64_t thread = 0; thread < threads; thread++) {
        const int64_t last = (thread + 1) * share < n ? (thread + 1) * share : n;
        uint64_t keys[SPARSEC_PACK_BLOCK];
        for (int64_t at = thread * share, end; at < last; at = end) {
            end = last - at < SPARSEC_PACK_BLOCK ? last : at + SPARSEC_PACK_BLOCK;
            sparsec_pack_keys(p, lo, hi, at, end, keys);
            for (int64_t k = at; k < end; k++) counts[thread * buckets + (int64_t)(keys[k - at] >> (high - bits))]++;
        }
    }
    for (int64_t bucket = 0; bucket < buckets; bucket++) {
        p->begin[bucket] = next;
        for (int64_t thread = 0; thread < threads; thread++) {
            const int64_t count = counts[thread * buckets + bucket];
            counts[thread * buckets + bucket] = next;
            next += count;
        }
        if (next - p->begin[bucket] > most) most = next - p->begin[bucket];
    }
    p->begin[buckets] = next;
#ifdef _OPENMP
    #pragma omp parallel for schedule(static, 1) if (threads > 1)
#endif
    for (int64_t thread = 0; thread < threads; thread++) {
        const int64_t last = (thread + 1) * share < n ? (thread + 1) * share : n;
        const bool values = whole && p->size <= 8;
        uint64_t keys[SPARSEC_PACK_BLOCK], loads[SPARSEC_PACK_BLOCK];
        for (int64_t at = thread * share, end; at < last; at = end) {
            end = last - at < SPARSEC_PACK_BLOCK ? last : at + SPARSEC_PACK_BLOCK;
            sparsec_pack_keys(p, lo, hi, at, end, keys);
            if (values && p->size == 8) {
                memcpy(loads, p->vals + 8 * (size_t)at, 8 * (size_t)(end - at));
            } else {
                for (int64_t k = at; k < end; k++) loads[k - at] = (uint64_t)sparsec_pack_element(p, k);
                for (int64_t k = at; values && k < end; k++) memcpy(&loads[k - at], p->vals + (size_t)k * p->size, p->size);
            }
            for (int64_t k = at; k < end; k++) {
                sparsec_record *const own = &to[counts[thread * buckets + (int64_t)(keys[k - at] >> (high - bits))]++];
                own->key = keys[k - at];
                own->load = loads[k - at];
            }
        }
    }
    sparsec_release(p->records);
    p->records = to;
    p->keyed = whole;
    p->parts = buckets;
    to = NULL;
    /* Each thread has room for one bucket, or each bucket has its own. */
    spare = (sparsec_record *)sparsec_resize(NULL, most < n / threads ? threads * most : n, sizeof *spare);
    if (!spare) goto release;
    done = true;
#ifdef _OPENMP
    #pragma omp parallel for schedule(dynamic, 8) if (threads > 1)
#endif
    for (int64_t bucket = 0; bucket < buckets; bucket++) {
        const int64_t begin = p->begin[bucket], end = p->begin[bucket + 1];
        const int64_t at = most < n / threads ? sparsec_thread_index() * most : begin;
        sparsec_sort_records(p->records + begin, spare + at, end - begin, low, high - bits);
        if (whole) sparsec_pack_count(p, begin, end, p->state + (size_t)bucket * row);
    }
release:
    sparsec_release(counts);
    sparsec_release(to);
    sparsec_release(spare);
    return done;
}

/* Stores the coordinates of a block at a compressed level: agree and at as in sparsec_pack_fill. */
#define SPARSEC_PACK_LEVEL(S)                                                                                     \
    static inline void sparsec_pack_level_##S(sparsec_level *level, int32_t opens, int64_t m, const int32_t *agree, \
                                              const int64_t *c, int64_t *at, int64_t *state) {                    \
        S##_t *const pos = (S##_t *)level->pos, *const crd = (S##_t *)level->crd;                                 \
        int64_t count = state[0], parent = state[1];                                                              \
        for (int64_t k = 0; k < m; k++) {                                                                         \
            if (agree[k] <= opens) {                                                                              \
                while (parent < at[k]) pos[++parent] = (S##_t)count;                                              \
                crd[count++] = (S##_t)c[k];                                                                       \
            }                                                                                                     \
            at[k] = count - 1;                                                                                    \
        }                                                                                                         \
        state[0] = count;                                                                                         \
        state[1] = parent;                                                                                        \
    }
SPARSEC_PACK_LEVEL(int32)
SPARSEC_PACK_LEVEL(int64)
#undef SPARSEC_PACK_LEVEL

/* Stores the elements from..to, block by block and level by level. The state says how many positions are open at
 * each level, and the last parent that is known to have some. */
static inline void sparsec_pack_fill(const sparsec_packer *p, sparsec_tensor *t, int64_t from, int64_t to, int64_t *state) {
    const int32_t order = p->order, opens = order ? p->levels[order - 1].opens : -1;
    int32_t agree[SPARSEC_PACK_BLOCK + 1]; /* with the element before, in how many levels */
    int64_t at[SPARSEC_PACK_BLOCK];        /* the positions so far */
    int64_t c[SPARSEC_PACK_BLOCK];
    for (int64_t begin = from, m; begin < to; begin += m) {
        bool alone = true;
        m = to - begin;
        if (m > SPARSEC_PACK_BLOCK) m = SPARSEC_PACK_BLOCK;
        sparsec_pack_agreement(p, begin, begin + m + 1, agree);
        for (int64_t k = 0; k < m; k++) at[k] = 0;
        for (int32_t l = 0; l < order; l++) {
            sparsec_level *const level = &t->levels[l];
            const int64_t extent = sparsec_extent(t->dims, level->mode);
            sparsec_pack_coordinates(p, l, begin, begin + m, c);
            if (sparsec_has_places(level)) {
                for (int64_t k = 0; k < m; k++) at[k] = at[k] * extent + c[k];
                for (int64_t k = 0; level->kind == SPARSEC_BITMAP && k < m; k++)
                    if (agree[k] <= p->levels[l].opens) ((uint8_t *)level->crd)[at[k]] = 1;
            } else if (level->kind == SPARSEC_SINGLETON) {
                /* The last one of a position. */
                for (int64_t k = 0; k < m; k++)
                    if (agree[k + 1] <= p->levels[l].opens) sparsec_put_index(t, level->crd, at[k], c[k]);
            } else if (t->index_bits == 64) {
                sparsec_pack_level_int64(level, p->levels[l].opens, m, agree, c, at, state + 2 * l);
            } else {
                sparsec_pack_level_int32(level, p->levels[l].opens, m, agree, c, at, state + 2 * l);
            }
        }
        for (int64_t k = 0; k < m; k++) alone &= agree[k] <= opens;
        if (alone && !p->records && at[m - 1] - at[0] == m - 1) {
            memcpy((char *)t->vals + (size_t)at[0] * p->size, p->vals + (size_t)begin * p->size, (size_t)m * p->size);
            continue;
        }
        if (alone && p->keyed && p->size == 8) {
            for (int64_t k = 0; k < m; k++) memcpy((char *)t->vals + at[k] * 8, &p->records[begin + k].load, 8);
            continue;
        }
        for (int64_t k = 0; k < m; k++) {
            sparsec_value value;
            char *const own = (char *)t->vals + (size_t)at[k] * p->size;
            sparsec_pack_value(p, begin + k, agree[k] <= opens ? (void *)own : &value);
            if (agree[k] > opens) sparsec_add_element(p->type, own, &value);
        }
    }
}

/* Where the element at k has its parents: what sparsec_pack_fill knows behind it. */
static inline void sparsec_pack_parents(const sparsec_packer *p, const sparsec_tensor *t, int64_t k, int64_t *state) {
    int64_t at = 0, c;
    for (int32_t l = 0; l < p->order; l++) {
        const sparsec_level *level = &t->levels[l];
        state[2 * l + 1] = k < 0 ? -1 : at;
        if (k < 0) continue;
        sparsec_pack_coordinates(p, l, k, k + 1, &c);
        if (sparsec_has_places(level)) at = at * sparsec_extent(t->dims, level->mode) + c;
        else if (level->kind != SPARSEC_SINGLETON) at = state[2 * l] - 1;
    }
}

/* Looks at the elements as they are given: are they inside, how large are coordinates, what is in order. Gives the
 * levels by which, and by all inside of which, they are: the first one, or as many as there are. */
static inline int sparsec_pack_look(sparsec_packer *p, const char *name, const sparsec_tensor *t, int32_t *sorted) {
    const int32_t order = p->order;
    const size_t row = 3 * (size_t)order + 1;
    const int64_t threads = sparsec_pack_threads(p);
    uint64_t *seen = (uint64_t *)sparsec_zeroed(threads, (size_t)(order + 1) * sizeof *seen);
    uint64_t common = UINT64_MAX;
    p->parts = threads;
    p->begin = (int64_t *)sparsec_resize(NULL, threads + 1, sizeof *p->begin);
    p->state = (int64_t *)sparsec_resize(NULL, threads, row * sizeof *p->state);
    if (!seen || !p->begin || !p->state) {
        sparsec_release(seen);
        return sparsec_fail_code(SPARSEC_OUT_OF_MEMORY);
    }
    for (int64_t part = 0; part <= threads; part++) {
        const int64_t before = part ? p->begin[part - 1] : 0;
        int64_t at = part < threads ? p->n / threads * part : p->n;
        if (at < before) at = before;
        while (at > 0 && at < p->n && !memcmp(p->coords + at * order, p->coords + (at - 1) * order, (size_t)order * 8)) at++;
        p->begin[part] = at;
    }
#ifdef _OPENMP
    #pragma omp parallel for schedule(static, 1) if (threads > 1)
#endif
    for (int64_t part = 0; part < threads; part++) {
        uint64_t *const most = seen + part * (order + 1), all = UINT64_MAX;
        int64_t *const found = p->state + (size_t)part * row;
        const int64_t from = p->begin[part], to = p->begin[part + 1];
        if (order == 2) sparsec_pack_scan(p, 2, from, to, most, &all, found);
        else if (order == 3) sparsec_pack_scan(p, 3, from, to, most, &all, found);
        else sparsec_pack_scan(p, order, from, to, most, &all, found);
        most[order] = all;
    }
    for (int64_t part = 0; part < threads; part++) {
        for (int32_t l = 0; l < order; l++) {
            const uint64_t most = seen[part * (order + 1) + l];
            if (most > p->levels[l].most) p->levels[l].most = most;
        }
        common &= seen[part * (order + 1) + order];
    }
    sparsec_release(seen);
    for (*sorted = 0; *sorted < order && (*sorted > 63 || !(common >> *sorted & 1)); ++*sorted) {}
    for (int32_t l = 0; l < order; l++) {
        const int64_t mode = p->levels[l].mode;
        const uint64_t extent = (uint64_t)sparsec_extent(t->dims, t->levels[l].mode);
        if (p->n == 0 || p->levels[l].most < extent) continue;
        for (int64_t k = 0; k < p->n; k++)
            if ((uint64_t)p->coords[k * order + mode] >= extent)
                return SPARSEC_FAIL(SPARSEC_BAD_ARGUMENT, "%s: element %lld lies outside", name, (long long)k);
    }
    return SPARSEC_OK;
}

/* Brings the elements in order. Keys have 63 bits at most; more levels than they hold are sorted by from the innermost
 * ones on. */
static inline int sparsec_pack_order(sparsec_packer *p, int32_t sorted) {
    const int32_t order = p->order;
    int32_t lo = order, hi = order;
    int bits = 0, low = 0;
    for (int32_t l = 0; l < order; l++)
        for (p->levels[l].bits = 0; p->levels[l].most >> p->levels[l].bits > 0;) p->levels[l].bits++;
    for (int32_t l = sorted; l < order; l++) low += p->levels[l].bits;
    for (; lo > 0; hi = lo, bits = 0) {
        while (lo > 0 && bits + p->levels[lo - 1].bits <= 63) bits += p->levels[--lo].bits;
        if (!sparsec_pack_sort(p, lo, hi, hi - lo == order ? low : 0, hi - lo == order))
            return sparsec_fail_code(SPARSEC_OUT_OF_MEMORY);
    }
    if (p->keyed) return SPARSEC_OK;
    p->parts = 1;
    p->begin[0] = 0;
    p->begin[1] = p->n;
    sparsec_pack_count(p, 0, p->n, p->state);
    return SPARSEC_OK;
}

/* Sets elements to a value. */
static inline void sparsec_set_all(void *array, int64_t count, size_t size, const sparsec_value *value) {
    static const sparsec_value zero = {0};
    if (!memcmp(value, &zero, sizeof zero)) sparsec_clear(array, count, size);
    else for (int64_t k = 0; k < count; k++) memcpy((char *)array + (size_t)k * size, value, size);
}

/* Room for count elements; what they hold is not said. */
static inline bool sparsec_pack_room(void **array, int64_t *room, int64_t count, size_t size) {
    if (*array && *room >= count) return true;
    sparsec_release(*array);
    *array = sparsec_resize(NULL, count, size);
    *room = *array ? count : 0;
    return *array != NULL;
}

/* Room for what elements open, once they are in order: how many that is at which level, and from where on each part
 * stores. Leaves in `state` what the parts begin with. */
static inline int sparsec_pack_rooms(sparsec_packer *p, sparsec_tensor *t, const sparsec_spec *spec) {
    const int32_t order = p->order;
    const size_t row = 3 * (size_t)order + 1, width = spec->index_bits == 64 ? 8 : 4;
    int64_t parents = 1;
    bool covered = false;
    for (int64_t part = 0; part < p->parts; part++) {
        int64_t *const found = p->state + (size_t)part * row, *const state = found + order + 1;
        if (p->begin[part] < p->begin[part + 1]) {
            int32_t first;
            sparsec_pack_agreement(p, p->begin[part], p->begin[part] + 1, &first);
            found[first < 0 ? 0 : first]++;
        }
        for (int32_t l = 0; l < order; l++) {
            state[2 * l] = p->levels[l].count;
            for (int32_t m = 0; m <= p->levels[l].opens && p->begin[part] < p->begin[part + 1]; m++)
                p->levels[l].count += found[m];
        }
    }
    for (int32_t l = 0; l < order; l++) {
        sparsec_level *const level = &t->levels[l];
        const int64_t count = p->levels[l].count;
        covered = !sparsec_has_places(level) && (covered || sparsec_has_positions(level->kind));
        if (sparsec_has_places(level)) {
            parents = sparsec_times(parents, sparsec_extent(t->dims, level->mode));
            if (parents < 0) return SPARSEC_FAIL(SPARSEC_BAD_ARGUMENT, "%s: its extents overflow", spec->name);
            if (level->kind == SPARSEC_BITMAP) {
                if (!sparsec_pack_room(&level->crd, &level->crd_cap, parents, 1)) goto no_memory;
                sparsec_clear(level->crd, parents, 1);
                level->crd_len = parents;
            }
            continue;
        }
        if (sparsec_has_positions(level->kind)) {
            if (count > sparsec_index_max(spec->index_bits)) return sparsec_fail_code(SPARSEC_INDEX_OVERFLOW);
            if (!sparsec_pack_room(&level->pos, &level->pos_cap, parents + 1, width)) goto no_memory;
            level->pos_len = parents + 1;
            parents = count;
        }
        if (!sparsec_pack_room(&level->crd, &level->crd_cap, parents, width)) goto no_memory;
        if (!covered) sparsec_clear(level->crd, parents, width);
        level->crd_len = parents;
        if (level->kind == SPARSEC_HASHED) {
            if (!sparsec_pack_room(&level->table, &level->table_cap, sparsec_times(2, parents), width)) goto no_memory;
            level->table_len = 2 * parents;
        }
    }
    if (!sparsec_pack_room(&t->vals, &t->vals_cap, parents, p->size)) goto no_memory;
    if (!covered) sparsec_set_all(t->vals, parents, p->size, &t->fill);
    t->vals_len = parents;
    return SPARSEC_OK;
no_memory:
    return sparsec_fail_code(SPARSEC_OUT_OF_MEMORY);
}

/* Enters what is stored below each parent into the table. */
static inline void sparsec_pack_table(const sparsec_packer *p, const sparsec_tensor *t, sparsec_level *level) {
    const int64_t parents = level->pos_len - 1;
    (void)p; /* without OpenMP */
#ifdef _OPENMP
    #pragma omp parallel for schedule(dynamic, 64) if (sparsec_pack_threads(p) > 1)
#endif
    for (int64_t k = 0; k < parents; k++) {
        const int64_t lo = sparsec_index_at(t, level->pos, k), hi = sparsec_index_at(t, level->pos, k + 1);
        if (t->index_bits == 64) sparsec_enter_int64((int64_t *)level->table, (const int64_t *)level->crd, lo, hi);
        else sparsec_enter_int32((int32_t *)level->table, (const int32_t *)level->crd, lo, hi);
    }
}

/* Are these elements of rows with a place each, in order by the coordinate inside a row alone, as those of a file by
 * columns are for rows? Then one pass brings each to its row, behind those that came before it. */
static inline bool sparsec_pack_is_turned(const sparsec_packer *p, const sparsec_tensor *t, int32_t sorted) {
    return p->order == 2 && sorted == 1 && t->levels[0].kind == SPARSEC_DENSE &&
           t->levels[1].kind == SPARSEC_COMPRESSED && sparsec_extent(t->dims, t->levels[0].mode) <= p->n &&
           p->n <= sparsec_index_max(t->index_bits);
}

/* For elements from..to of that kind: how many each row has; where those of each thread go in each row; the elements
 * stored there; has any row from..to two of one coordinate? */
#define SPARSEC_PACK_TURNED(S)                                                                                     \
    static inline void sparsec_pack_tally_##S(const sparsec_packer *p, int64_t from, int64_t to, S##_t *counts) {  \
        const int64_t *const rows = p->coords + p->levels[0].mode;                                                 \
        for (int64_t k = from; k < to; k++) counts[rows[2 * k]]++;                                                 \
    }                                                                                                              \
    static inline void sparsec_pack_starts_##S(S##_t *pos, S##_t *next, int64_t rows, int64_t threads) {           \
        S##_t at = 0;                                                                                              \
        for (int64_t row = 0; row < rows; row++) {                                                                 \
            pos[row] = at;                                                                                         \
            for (int64_t thread = 0; thread < threads; thread++) {                                                 \
                const S##_t count = next[thread * rows + row];                                                     \
                next[thread * rows + row] = at;                                                                    \
                at = (S##_t)(at + count);                                                                          \
            }                                                                                                      \
        }                                                                                                          \
        pos[rows] = at;                                                                                            \
    }                                                                                                              \
    static inline void sparsec_pack_turn_##S(const sparsec_packer *p, const sparsec_tensor *t, int64_t from,       \
                                             int64_t to, S##_t *next) {                                            \
        const int64_t *const rows = p->coords + p->levels[0].mode, *const inner = p->coords + p->levels[1].mode;   \
        S##_t *const crd = (S##_t *)t->levels[1].crd;                                                              \
        char *const vals = (char *)t->vals;                                                                        \
        for (int64_t k = from; k < to; k++) {                                                                      \
            const size_t at = (size_t)next[rows[2 * k]]++;                                                         \
            crd[at] = (S##_t)inner[2 * k];                                                                         \
            if (p->size == 8) memcpy(vals + 8 * at, p->vals + 8 * k, 8);                                           \
            else memcpy(vals + p->size * at, p->vals + p->size * (size_t)k, p->size);                              \
        }                                                                                                          \
    }                                                                                                              \
    static inline bool sparsec_pack_repeats_##S(const S##_t *pos, const S##_t *crd, int64_t from, int64_t to) {    \
        bool repeats = false;                                                                                      \
        for (int64_t row = from; row < to; row++)                                                                  \
            for (int64_t at = (int64_t)pos[row] + 1; at < pos[row + 1]; at++) repeats |= crd[at] == crd[at - 1];   \
        return repeats;                                                                                            \
    }
SPARSEC_PACK_TURNED(int32)
SPARSEC_PACK_TURNED(int64)
#undef SPARSEC_PACK_TURNED

/* Adds up the elements of a row that have one coordinate; gives how many are left of all rows. */
static inline int64_t sparsec_pack_once(const sparsec_packer *p, sparsec_tensor *t, int64_t rows) {
    sparsec_level *const level = &t->levels[1];
    char *const vals = (char *)t->vals;
    int64_t count = 0, end = 0;
    for (int64_t row = 0; row < rows; row++) {
        const int64_t begin = end, first = count;
        end = sparsec_index_at(t, level->pos, row + 1);
        sparsec_put_index(t, level->pos, row, first);
        for (int64_t at = begin; at < end; at++) {
            const int64_t c = sparsec_index_at(t, level->crd, at);
            const char *const own = vals + (size_t)at * p->size;
            if (count > first && sparsec_index_at(t, level->crd, count - 1) == c) {
                sparsec_add_element(p->type, vals + (size_t)(count - 1) * p->size, own);
                continue;
            }
            sparsec_put_index(t, level->crd, count, c);
            memmove(vals + (size_t)count++ * p->size, own, p->size);
        }
    }
    sparsec_put_index(t, level->pos, rows, count);
    return count;
}

/* Where a thread's share of n things begins. */
static inline int64_t sparsec_pack_share(int64_t n, int64_t thread, int64_t threads) {
    return thread < threads ? n / threads * thread : n;
}

/* Brings elements to their rows: see sparsec_pack_is_turned. */
static inline int sparsec_pack_turned(const sparsec_packer *p, sparsec_tensor *t) {
    const int64_t n = p->n, rows = sparsec_extent(t->dims, t->levels[0].mode), threads = sparsec_pack_threads(p);
    const bool wide = t->index_bits == 64;
    const size_t width = wide ? 8 : 4;
    sparsec_level *const level = &t->levels[1];
    char *const next = (char *)sparsec_zeroed(sparsec_times(threads, rows), width);
    bool repeats = false;
    if (!next || !sparsec_pack_room(&level->pos, &level->pos_cap, rows + 1, width) ||
        !sparsec_pack_room(&level->crd, &level->crd_cap, n, width) ||
        !sparsec_pack_room(&t->vals, &t->vals_cap, n, p->size)) {
        sparsec_release(next);
        return sparsec_fail_code(SPARSEC_OUT_OF_MEMORY);
    }
#ifdef _OPENMP
    #pragma omp parallel for schedule(static, 1) if (threads > 1)
#endif
    for (int64_t thread = 0; thread < threads; thread++) {
        const int64_t from = sparsec_pack_share(n, thread, threads), to = sparsec_pack_share(n, thread + 1, threads);
        char *const own = next + (size_t)(thread * rows) * width;
        if (wide) sparsec_pack_tally_int64(p, from, to, (int64_t *)own);
        else sparsec_pack_tally_int32(p, from, to, (int32_t *)own);
    }
    if (wide) sparsec_pack_starts_int64((int64_t *)level->pos, (int64_t *)next, rows, threads);
    else sparsec_pack_starts_int32((int32_t *)level->pos, (int32_t *)next, rows, threads);
#ifdef _OPENMP
    #pragma omp parallel for schedule(static, 1) if (threads > 1)
#endif
    for (int64_t thread = 0; thread < threads; thread++) {
        const int64_t from = sparsec_pack_share(n, thread, threads), to = sparsec_pack_share(n, thread + 1, threads);
        char *const own = next + (size_t)(thread * rows) * width;
        if (wide) sparsec_pack_turn_int64(p, t, from, to, (int64_t *)own);
        else sparsec_pack_turn_int32(p, t, from, to, (int32_t *)own);
    }
    sparsec_release(next);
#ifdef _OPENMP
    #pragma omp parallel for schedule(static, 1) reduction(|| : repeats) if (threads > 1)
#endif
    for (int64_t thread = 0; thread < threads; thread++) {
        const int64_t from = sparsec_pack_share(rows, thread, threads), to = sparsec_pack_share(rows, thread + 1, threads);
        const bool own = wide ? sparsec_pack_repeats_int64((const int64_t *)level->pos, (const int64_t *)level->crd, from, to)
                              : sparsec_pack_repeats_int32((const int32_t *)level->pos, (const int32_t *)level->crd, from, to);
        repeats = repeats || own;
    }
    t->vals_len = repeats ? sparsec_pack_once(p, t, rows) : n;
    level->pos_len = rows + 1;
    level->crd_len = t->vals_len;
    return SPARSEC_OK;
}

static inline int sparsec_pack_elements(sparsec_packer *p, sparsec_tensor *t, const sparsec_spec *spec) {
    const int32_t order = p->order;
    const size_t row = 3 * (size_t)order + 1;
    int32_t sorted;
    int error = sparsec_pack_look(p, spec->name, t, &sorted);
    if (!error && sparsec_pack_is_turned(p, t, sorted)) return sparsec_pack_turned(p, t);
    if (!error && sorted > 0) error = sparsec_pack_order(p, sorted);
    if (!error) error = sparsec_pack_rooms(p, t, spec);
    if (error) return error;
#ifdef _OPENMP
    #pragma omp parallel for schedule(dynamic, p->parts > 64 ? 8 : 1) if (sparsec_pack_threads(p) > 1)
#endif
    for (int64_t part = 0; part < p->parts; part++) {
        int64_t *const state = p->state + (size_t)part * row + order + 1;
        if (p->begin[part] == p->begin[part + 1]) continue;
        sparsec_pack_parents(p, t, p->begin[part] - 1, state);
        sparsec_pack_fill(p, t, p->begin[part], p->begin[part + 1], state);
    }
    /* Behind the last element no parent has positions. */
    for (int32_t l = 0; l < order; l++) p->state[2 * l] = p->levels[l].count;
    sparsec_pack_parents(p, t, p->n - 1, p->state);
    for (int32_t l = 0; l < order; l++) {
        sparsec_level *const level = &t->levels[l];
        if (!sparsec_has_positions(level->kind)) continue;
        for (int64_t parent = p->state[2 * l + 1] + 1; parent < level->pos_len; parent++)
            sparsec_put_index(t, level->pos, parent, p->levels[l].count);
        if (level->kind == SPARSEC_HASHED) sparsec_pack_table(p, t, level);
    }
    return SPARSEC_OK;
}

/* The coordinates with the number of its diagonal in place of the dimension that level l stores by diagonals: in
 * *own, which is allocated for the first such level. */
static inline int sparsec_pack_diagonals(const sparsec_spec *spec, int32_t l, const int64_t *dims, int64_t n,
                                         const int64_t *coords, int64_t **own) {
    const int64_t mode = spec->levels[l].mode, j = sparsec_dimension(mode), i = -(mode >> 32) - 1;
    if (!*own) {
        *own = (int64_t *)sparsec_resize(NULL, sparsec_times(n, spec->order), sizeof **own);
        if (!*own) return sparsec_fail_code(SPARSEC_OUT_OF_MEMORY);
        sparsec_copy(*own, coords, n * spec->order, sizeof **own);
    }
    for (int64_t k = 0; k < n; k++) {
        const int64_t *const at = coords + k * spec->order;
        if (at[i] < 0 || at[i] >= dims[i] || at[j] < 0 || at[j] >= dims[j])
            return SPARSEC_FAIL(SPARSEC_BAD_ARGUMENT, "%s: element %lld lies outside", spec->name, (long long)k);
        (*own)[k * spec->order + j] = at[j] - at[i] + dims[i] - 1;
    }
    return SPARSEC_OK;
}

/* Packs n elements, given by order coordinates each (row by row) and values, into
 * the levels of spec (dimensions that it stores by diagonals, too). Duplicates are summed. Absent elements of dense levels below
 * sparse ones have the fill value. Returns a status. The result does not depend on the number of threads. */
static inline int sparsec_pack(sparsec_tensor *t, const sparsec_spec *spec, const int64_t *dims,
                               int64_t n, const int64_t *coords, const void *vals) {
    if (!spec) return SPARSEC_FAIL(SPARSEC_BAD_ARGUMENT, "sparsec_pack: no spec given");
    if (!t) return SPARSEC_FAIL(SPARSEC_BAD_ARGUMENT, "%s: no tensor given", spec->name);
    const int32_t order = spec->order;
    if ((order > 0 && !dims) || (n > 0 && ((order > 0 && !coords) || !vals)))
        return SPARSEC_FAIL(SPARSEC_BAD_ARGUMENT, "%s: dims, coordinates or values are missing", spec->name);
    sparsec_packer p = {spec->type, order, sparsec_type_size(spec->type), n, 0, coords, (const char *)vals,
                        NULL, NULL, NULL, NULL, false};
    int64_t *diagonals = NULL;
    int error;
    if (n < 0) return SPARSEC_FAIL(SPARSEC_BAD_ARGUMENT, "%s: %lld elements to pack", spec->name, (long long)n);
    error = sparsec_shape(t, spec, dims);
    if (error) return error;
    for (int32_t l = 0; !error && n > 0 && l < order; l++)
        if (spec->levels[l].mode < 0) error = sparsec_pack_diagonals(spec, l, dims, n, coords, &diagonals);
    if (error) {
        sparsec_release(diagonals);
        sparsec_free_tensor(t);
        return error;
    }
    if (diagonals) p.coords = diagonals;
    p.levels = (sparsec_pack_level *)sparsec_zeroed(order, sizeof *p.levels);
    if (p.levels) {
        for (int32_t l = 0, opens = -1; l < order; l++) {
            const sparsec_level_spec *const level = &spec->levels[l];
            if (level->kind == SPARSEC_COMPRESSED && (level->flags & SPARSEC_NONUNIQUE))
                for (opens = l; opens + 1 < order && spec->levels[opens + 1].kind == SPARSEC_SINGLETON;) opens++;
            else if (level->kind != SPARSEC_SINGLETON && opens < l) opens = l;
            p.levels[l].opens = opens;
            p.levels[l].mode = sparsec_dimension(level->mode);
        }
        error = sparsec_pack_elements(&p, t, spec);
    } else {
        error = sparsec_fail_code(SPARSEC_OUT_OF_MEMORY);
    }
    sparsec_release(p.levels);
    sparsec_release(p.records);
    sparsec_release(p.begin);
    sparsec_release(p.state);
    sparsec_release(diagonals);
    if (error) sparsec_free_tensor(t);
    return error;
}

#ifdef __cplusplus
}
#endif
#endif /* SPARSEC_H */
