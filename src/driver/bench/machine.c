/* What the machine can do, for `sparsec bench`: how many bytes a second pass, and how many
 * products are added. Compiled as kernels are, so that both have the same instructions. */
#include <stdint.h>
#include <stdlib.h>
#include <time.h>
#ifdef _OPENMP
#include <omp.h>
#endif

int sparsec_max_threads(void);
double sparsec_bandwidth(int64_t bytes, int threads);
double sparsec_peak_double(int threads);
double sparsec_peak_float(int threads);

static double now(void) {
    struct timespec t;
    timespec_get(&t, TIME_UTC);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static double per_second(double work, double seconds) {
    return seconds > 0 ? work / seconds : 0;
}

static void use(int threads) {
#ifdef _OPENMP
    omp_set_num_threads(threads);
#else
    (void)threads;
#endif
}

int sparsec_max_threads(void) {
#ifdef _OPENMP
    return omp_get_max_threads();
#else
    return 1;
#endif
}

/* Where results go that nobody wants. */
static volatile double sink;

/* Bytes a second of a working set of so many bytes: the better of a triad, a[k] = b[k] + s c[k],
 * and a sum. As in counts of kernels, each element counts once, read or written. */
double sparsec_bandwidth(int64_t bytes, int threads) {
    int64_t n = bytes / 8 / 3;
    if (n < 512) n = 512;
    double *const a = malloc((size_t)(3 * n) * sizeof *a);
    if (!a) return 0;
    use(threads);
    /* Pages belong to the thread that touches them first. */
#pragma omp parallel for schedule(static)
    for (int64_t k = 0; k < n; k++) a[k] = a[n + k] = a[2 * n + k] = 1;
    const int64_t repeat = 1 + (INT64_C(32) << 20) / (24 * n);
    double best = 0;
    /* Threads of a busy machine wait long for each other. */
    const double end = now() + 0.5;
    for (int round = 0; round < 8 && (round == 0 || now() < end); round++) {
        double *restrict x = a;
        const double *y = a + n, *z = a + 2 * n;
        const double s = 1e-3 * (round + 1);
        int64_t done = 0;
        double from = now();
        while (done == 0 || (done < repeat && now() < end)) {
#pragma omp parallel for simd schedule(static)
            for (int64_t k = 0; k < n; k++) x[k] = y[k] + s * z[k];
            /* Otherwise one repetition would do for all. */
            __asm__ volatile("" : : "r"(x), "r"(y) : "memory");
            done++;
        }
        double rate = per_second(24.0 * (double)(n * done), now() - from);
        if (rate > best) best = rate;
        double sum = 0;
        done = 0;
        from = now();
        while (done == 0 || (done < repeat && now() < end)) {
#pragma omp parallel for simd schedule(static) reduction(+ : sum)
            for (int64_t k = 0; k < 3 * n; k++) sum += a[k];
            __asm__ volatile("" : : "r"(a) : "memory");
            done++;
        }
        rate = per_second(24.0 * (double)(n * done), now() - from);
        sink = sum;
        if (rate > best) best = rate;
    }
    free(a);
    return best;
}

#if defined __AVX512F__
#define WIDTH 64
#elif defined __AVX__
#define WIDTH 32
#else
#define WIDTH 16
#endif
#define TURNS 2000000

/* Operations a second of sums of products in vector registers: as many chains as hide the time that
 * one takes. */
#define PEAK(NAME, REAL)                                                                                   \
    double NAME(int threads) {                                                                             \
        typedef REAL lanes __attribute__((vector_size(WIDTH)));                                            \
        double best = 0;                                                                                   \
        use(threads);                                                                                      \
        for (int round = 0; round < 5; round++) {                                                          \
            double all = 0;                                                                                \
            int64_t chains = 0;                                                                            \
            const double from = now();                                                                     \
            _Pragma("omp parallel reduction(+ : all, chains)") {                                           \
                const REAL f = (REAL)0.999, g = (REAL)1e-3 * (REAL)(round + 1);                            \
                const lanes m = (lanes){0} + f, c = (lanes){0} + g;                                        \
                /* Of different starts: else one chain would do for all. */                                \
                lanes s0 = 1 * c, s1 = 2 * c, s2 = 3 * c, s3 = 4 * c, s4 = 5 * c;                          \
                lanes s5 = 6 * c, s6 = 7 * c, s7 = 8 * c, s8 = 9 * c, s9 = m;                              \
                for (int64_t k = 0; k < TURNS; k++) {                                                      \
                    s0 = s0 * m + c, s1 = s1 * m + c, s2 = s2 * m + c, s3 = s3 * m + c, s4 = s4 * m + c;   \
                    s5 = s5 * m + c, s6 = s6 * m + c, s7 = s7 * m + c, s8 = s8 * m + c, s9 = s9 * m + c;   \
                }                                                                                          \
                const lanes sum = s0 + s1 + s2 + s3 + s4 + s5 + s6 + s7 + s8 + s9;                         \
                all += (double)sum[0];                                                                     \
                chains += 10;                                                                              \
            }                                                                                              \
            const double work = 2.0 * TURNS * (double)chains * (WIDTH / sizeof(REAL));                     \
            const double rate = per_second(work, now() - from);                                            \
            sink = all;                                                                                    \
            if (rate > best) best = rate;                                                                  \
        }                                                                                                  \
        return best;                                                                                       \
    }

PEAK(sparsec_peak_double, double)
PEAK(sparsec_peak_float, float)
