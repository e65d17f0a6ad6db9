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
/* Tensors, by elements and dimensions:
 *   A: double(M, N), int32_t coordinates
 *   B: double(M, N), int32_t coordinates
 *   C: double(M, N), int32_t coordinates, out
 */
/* Checked; makes C: give a zeroed sparsec_tensor, or that of a call before, whose memory
 * is used again; free it with sparsec_free_tensor. Arrays of your own are refused: it
 * allocates those of sparse results. */
int add(const sparsec_tensor *A, const sparsec_tensor *B, sparsec_tensor *C);

/* Unchecked, on plain arrays. Arrays passed as T ** are the results': NULL,
 * or from sparsec's allocator and with room for so many elements as the last arguments say; they
 * are made larger where needed, and freed on failure. */
int add_raw(int64_t M, int64_t N, const int32_t *SPARSEC_RESTRICT A2_pos,
    const int32_t *SPARSEC_RESTRICT A2_crd, const double *SPARSEC_RESTRICT A_vals,
    const int32_t *SPARSEC_RESTRICT B2_pos, const int32_t *SPARSEC_RESTRICT B2_crd,
    const double *SPARSEC_RESTRICT B_vals, int32_t **C2_pos_out, int32_t **C2_crd_out,
    double **C_vals_out, int64_t C2_capacity);

#ifdef __cplusplus
}
#endif
#endif
