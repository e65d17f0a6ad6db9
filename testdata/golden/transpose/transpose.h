/* Written by sparsec. Every function returns 0, or an enum sparsec_status with its
 * reason in sparsec_error(). */
#ifndef SPARSEC_KERNELS_TRANSPOSE_H
#define SPARSEC_KERNELS_TRANSPOSE_H

#include "sparsec.h"

#ifdef __cplusplus
extern "C" {
#endif

/* transpose
 *   B(j, i) = A(i, j)
 *   A: {dense, compressed}
 *   B: {dense, compressed}
 *   parallelize(i, CPUThread(static), NoRaces)
 */
/* Tensors, by elements and dimensions:
 *   A: double(M, N), int32_t coordinates
 *   B: double(N, M), int32_t coordinates, out
 */
/* Checked; makes B: give a zeroed sparsec_tensor, or that of a call before, whose memory
 * is used again; free it with sparsec_free_tensor. Arrays of your own are refused: it
 * allocates those of sparse results. */
int transpose(const sparsec_tensor *A, sparsec_tensor *B);

/* Unchecked, on plain arrays. Arrays passed as T ** are the results': NULL,
 * or from sparsec's allocator and with room for so many elements as the last arguments say; they
 * are made larger where needed, and freed on failure. */
int transpose_raw(int64_t M, int64_t N, const int32_t *SPARSEC_RESTRICT A2_pos,
    const int32_t *SPARSEC_RESTRICT A2_crd, const double *SPARSEC_RESTRICT A_vals,
    int32_t **B2_pos_out, int32_t **B2_crd_out, double **B_vals_out, int64_t B2_capacity);

#ifdef __cplusplus
}
#endif
#endif
