/* Written by sparsec. Every function returns 0, or an enum sparsec_status with its
 * reason in sparsec_error(). */
#ifndef SPARSEC_KERNELS_SUM_H
#define SPARSEC_KERNELS_SUM_H

#include "sparsec.h"

#ifdef __cplusplus
extern "C" {
#endif

/* sum
 *   s = A(i, j) * A(i, j)
 *   A: {dense, compressed}
 */
/* Checked; makes s (pass a zeroed sparsec_tensor, free it with sparsec_free_tensor). */
int sum(const sparsec_tensor *A, sparsec_tensor *s);

/* Unchecked, on plain arrays; arrays passed as T ** are allocated for the caller. */
int sum_raw(int64_t M, int64_t N, const int32_t *SPARSEC_RESTRICT A2_pos,
    const int32_t *SPARSEC_RESTRICT A2_crd, const double *SPARSEC_RESTRICT A_vals,
    double *SPARSEC_RESTRICT s_vals);

#ifdef __cplusplus
}
#endif
#endif
