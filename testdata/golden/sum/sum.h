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
/* Tensors, by elements and dimensions:
 *   A: double(M, N), int32_t coordinates
 *   s: double, a scalar, out
 */
/* Checked; makes s: give a zeroed sparsec_tensor, or that of a call before, whose memory
 * is used again; free it with sparsec_free_tensor. Arrays of your own are written in place
 * if they fit the result, and refused if not. */
int sum(const sparsec_tensor *A, sparsec_tensor *s);

/* Unchecked, on plain arrays. */
int sum_raw(int64_t M, int64_t N, const int32_t *SPARSEC_RESTRICT A2_pos,
    const int32_t *SPARSEC_RESTRICT A2_crd, const double *SPARSEC_RESTRICT A_vals,
    double *SPARSEC_RESTRICT s_vals);

#ifdef __cplusplus
}
#endif
#endif
