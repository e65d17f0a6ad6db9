/* Written by sparsec. Every function returns 0, or an enum sparsec_status with its
 * reason in sparsec_error(). */
#ifndef SPARSEC_KERNELS_SGEMM_H
#define SPARSEC_KERNELS_SGEMM_H

#include "sparsec.h"

#ifdef __cplusplus
extern "C" {
#endif

/* sgemm
 *   C(i, j) = b * C(i, j)
 *   C(i, j) += a * A(i, k) * B(k, j)
 */
/* Tensors, by elements and dimensions:
 *   A: float(N, M)
 *   B: float(M, K)
 *   C: float(N, K), in and out
 */
/* Checked; updates C in place: a tensor with the content before the call, of the shape above. */
int sgemm(float a, float b, const sparsec_tensor *A, const sparsec_tensor *B, sparsec_tensor *C);

/* Unchecked, on plain arrays. */
int sgemm_raw(int64_t N, int64_t M, int64_t K, float a, float b,
    const float *SPARSEC_RESTRICT A_vals, const float *SPARSEC_RESTRICT B_vals,
    float *SPARSEC_RESTRICT C_vals);

#ifdef __cplusplus
}
#endif
#endif
