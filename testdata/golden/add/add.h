/* Written by sparsec. Every function returns 0, or an enum sparsec_status with its
 * reason in sparsec_error(). */
#ifndef SPARSEC_KERNELS_ADD_H
#define SPARSEC_KERNELS_ADD_H

#include "sparsec.h"

#ifdef __cplusplus
extern "C" {
#endif

/* add
 *   C(i, j) = A(i, j) + B(i, j)
 *   A: {dense, compressed}
 *   B: {dense, compressed}
 *   C: {dense, compressed}
 */
/* Checked; makes C (pass a zeroed sparsec_tensor, free it with sparsec_free_tensor). */
int add(const sparsec_tensor *A, const sparsec_tensor *B, sparsec_tensor *C);

/* Unchecked, on plain arrays; arrays passed as T ** are allocated for the caller. */
int add_raw(int64_t M, int64_t N, const int32_t *SPARSEC_RESTRICT A2_pos,
    const int32_t *SPARSEC_RESTRICT A2_crd, const double *SPARSEC_RESTRICT A_vals,
    const int32_t *SPARSEC_RESTRICT B2_pos, const int32_t *SPARSEC_RESTRICT B2_crd,
    const double *SPARSEC_RESTRICT B_vals, int32_t **C2_pos_out, int32_t **C2_crd_out,
    double **C_vals_out);

#ifdef __cplusplus
}
#endif
#endif
