/* Written by sparsec. Every function returns 0, or an enum sparsec_status with its
 * reason in sparsec_error(). */
#ifndef SPARSEC_KERNELS_HASHED_H
#define SPARSEC_KERNELS_HASHED_H

#include "sparsec.h"

#ifdef __cplusplus
extern "C" {
#endif

/* masked
 *   C(i, j) = A(i, j) * H(i, j)
 *   A: {dense, compressed}
 *   H: {dense, hashed}
 *   C: {dense, compressed}
 *   assemble(C, append)
 */
/* Tensors, by elements and dimensions:
 *   A: float(M, N), int32_t coordinates
 *   H: float(M, N), int32_t coordinates
 *   C: float(M, N), int32_t coordinates, out
 */
/* Checked; makes C: give a zeroed sparsec_tensor, or that of a call before, whose memory
 * is used again; free it with sparsec_free_tensor. Arrays of your own are refused: it
 * allocates those of sparse results. */
int masked(const sparsec_tensor *A, const sparsec_tensor *H, sparsec_tensor *C);

/* Unchecked, on plain arrays. Arrays passed as T ** are the results': NULL,
 * or from sparsec's allocator and with room for so many elements as the last arguments say; they
 * are made larger where needed, and freed on failure. */
int masked_raw(int64_t M, int64_t N, const int32_t *SPARSEC_RESTRICT A2_pos,
    const int32_t *SPARSEC_RESTRICT A2_crd, const float *SPARSEC_RESTRICT A_vals,
    const int32_t *SPARSEC_RESTRICT H2_pos, const int32_t *SPARSEC_RESTRICT H2_crd,
    const int32_t *SPARSEC_RESTRICT H2_table, const float *SPARSEC_RESTRICT H_vals,
    int32_t **C2_pos_out, int32_t **C2_crd_out, float **C_vals_out, int64_t C2_capacity);

/* entered
 *   H(i, j) = A(i, j)
 *   A: {dense, compressed}
 *   H: {dense, hashed}
 *   assemble(H, two_phase)
 *   parallelize(i, CPUThread, NoRaces)
 */
/* Tensors, by elements and dimensions:
 *   A: double(M, N), int32_t coordinates
 *   H: double(M, N), int32_t coordinates, out
 */
/* Checked; makes H: give a zeroed sparsec_tensor, or that of a call before, whose memory
 * is used again; free it with sparsec_free_tensor. Arrays of your own are refused: it
 * allocates those of sparse results. */
int entered(const sparsec_tensor *A, sparsec_tensor *H);

/* Unchecked, on plain arrays. Arrays passed as T ** are the results': NULL,
 * or from sparsec's allocator and with room for so many elements as the last arguments say; they
 * are made larger where needed, and freed on failure. */
int entered_raw(int64_t M, int64_t N, const int32_t *SPARSEC_RESTRICT A2_pos,
    const int32_t *SPARSEC_RESTRICT A2_crd, const double *SPARSEC_RESTRICT A_vals,
    int32_t **H2_pos_out, int32_t **H2_crd_out, int32_t **H2_table_out, double **H_vals_out,
    int64_t H2_table_capacity, int64_t H2_capacity);

/* table_of_rows
 *   y(k) = H(r(k), c(k))
 *   H: {hashed, hashed}
 *   parallelize(k, CPUThread, NoRaces)
 */
/* Tensors, by elements and dimensions:
 *   H: double(M, N), int32_t coordinates
 *   r: int32_t(K)
 *   c: int32_t(K)
 *   y: double(K), out
 */
/* Checked; makes y: give a zeroed sparsec_tensor, or that of a call before, whose memory
 * is used again; free it with sparsec_free_tensor. Arrays of your own are written in place
 * if they fit the result, and refused if not. */
int table_of_rows(const sparsec_tensor *H, const sparsec_tensor *r, const sparsec_tensor *c,
    sparsec_tensor *y);

/* Unchecked, on plain arrays. */
int table_of_rows_raw(int64_t M, int64_t N, int64_t K, const int32_t *SPARSEC_RESTRICT H1_pos,
    const int32_t *SPARSEC_RESTRICT H1_crd, const int32_t *SPARSEC_RESTRICT H1_table,
    const int32_t *SPARSEC_RESTRICT H2_pos, const int32_t *SPARSEC_RESTRICT H2_crd,
    const int32_t *SPARSEC_RESTRICT H2_table, const double *SPARSEC_RESTRICT H_vals,
    const int32_t *SPARSEC_RESTRICT r_vals, const int32_t *SPARSEC_RESTRICT c_vals,
    double *SPARSEC_RESTRICT y_vals);

#ifdef __cplusplus
}
#endif
#endif
