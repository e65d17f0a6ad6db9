/* Written by sparsec. Every function returns 0, or an enum sparsec_status with its
 * reason in sparsec_error(). */
#ifndef SPARSEC_KERNELS_SDDMM_H
#define SPARSEC_KERNELS_SDDMM_H

#include "sparsec.h"

#ifdef __cplusplus
extern "C" {
#endif

/* sddmm
 *   D(i, j) = A(i, j) * B(i, k) * C(k, j)
 *   A: {dense, compressed}
 *   D: {dense, compressed}
 */
/* Tensors, by elements and dimensions:
 *   A: double(M, N), int32_t coordinates
 *   B: double(M, K)
 *   C: double(K, N)
 *   D: double(M, N), int32_t coordinates, out
 */
/* Checked; makes D: give a zeroed sparsec_tensor, or that of a call before, whose memory
 * is used again; free it with sparsec_free_tensor. Arrays of your own are refused: it
 * allocates those of sparse results. */
int sddmm(const sparsec_tensor *A, const sparsec_tensor *B, const sparsec_tensor *C,
    sparsec_tensor *D);

/* Unchecked, on plain arrays. */
int sddmm_raw(int64_t M, int64_t N, int64_t K, const int32_t *SPARSEC_RESTRICT A2_pos,
    const int32_t *SPARSEC_RESTRICT A2_crd, const double *SPARSEC_RESTRICT A_vals,
    const double *SPARSEC_RESTRICT B_vals, const double *SPARSEC_RESTRICT C_vals,
    int32_t **D2_pos_out, int32_t **D2_crd_out, double **D_vals_out);

#ifdef __cplusplus
}
#endif
#endif
