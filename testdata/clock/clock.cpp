/* What the clock counts, and that it leaves nothing behind wherever a call fails. */
#include "clock.h"
#include <math.h>
#include <stdio.h>

/* A call of two intervals, of 3 and 5 ms, and transfers. */
static int call(double *seconds) {
    SPARSEC_WORK_ENDS();
    now += 100;
    SPARSEC_WORK_BEGINS(NULL);
    now += 1;
    SPARSEC_WORK_BEGINS(NULL);
    now += 2;
    SPARSEC_WORK_ENDS();
    now += 100;
    SPARSEC_WORK_ENDS();
    SPARSEC_WORK_BEGINS(NULL);
    now += 5;
    return sparsec_device_time(seconds);
}

int main() {
    double seconds = -1;
    if (sparsec_device_time(&seconds) != 0 || seconds != 0) return printf("time without work\n"), 1;
    for (int round = 0; round < 2; round++)
        if (call(&seconds) != 2 || fabs(seconds - 0.008) > 1e-6) return printf("%f s\n", seconds), 1;
    if (owned) return printf("%d objects left\n", owned), 1;
    const int all = calls / 2;
    for (int k = 1; k <= all; k++) {
        calls = 0;
        fails_at = k;
        if (call(&seconds) != 0 || owned || errors)
            return printf("call %d fails: %d objects, %d errors left\n", k, owned, errors), 1;
        fails_at = 0;
        if (call(&seconds) != 2 || owned) return printf("not again after call %d\n", k), 1;
    }
    return all == 16 ? 0 : (printf("%d calls\n", all), 1);
}
