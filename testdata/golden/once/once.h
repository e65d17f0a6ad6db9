/* Written by sparsec. Every function returns 0, or an enum sparsec_status with its
 * reason in sparsec_error(). */
#ifndef SPARSEC_KERNELS_ONCE_H
#define SPARSEC_KERNELS_ONCE_H

#include "sparsec.h"

#ifdef __cplusplus
extern "C" {
#endif

/* galerkin_values
 *   C(i, j) +=! A(i, k) * P(k, j)
 *   A: {dense, compressed}
 *   P: {dense, compressed}
 *   C: {dense, compressed}
 *   assemble(C, once)
 *   parallelize(i, CPUThread, NoRaces)
 */
/* Tensors, by elements and dimensions:
 *   A: double(M, K), int32_t coordinates
 *   P: double(K, N), int32_t coordinates
 *   C: double(M, N), int32_t coordinates, values out
 */
/* Checked; computes values where the coordinates are there, as the function below does where it
 * can. SPARSEC_CHANGED if others would be stored; the values are not those of a result then. */
int galerkin_values(const sparsec_tensor *A, const sparsec_tensor *P, sparsec_tensor *C);

/* Unchecked, on plain arrays. */
int galerkin_values_raw(int64_t M, int64_t K, int64_t N, const int32_t *SPARSEC_RESTRICT A2_pos,
    const int32_t *SPARSEC_RESTRICT A2_crd, const double *SPARSEC_RESTRICT A_vals,
    const int32_t *SPARSEC_RESTRICT P2_pos, const int32_t *SPARSEC_RESTRICT P2_crd,
    const double *SPARSEC_RESTRICT P_vals, const int32_t *SPARSEC_RESTRICT C2_pos,
    const int32_t *SPARSEC_RESTRICT C2_crd, double *SPARSEC_RESTRICT C_vals);

/* galerkin
 *   C(i, j) +=! A(i, k) * P(k, j)
 *   A: {dense, compressed}
 *   P: {dense, compressed}
 *   C: {dense, compressed}
 *   assemble(C, once)
 *   parallelize(i, CPUThread, NoRaces)
 */
/* Tensors, by elements and dimensions:
 *   A: double(M, K), int32_t coordinates
 *   P: double(K, N), int32_t coordinates
 *   C: double(M, N), int32_t coordinates, out
 */
/* Checked; makes C: give a zeroed sparsec_tensor, or that of a call before, whose memory
 * is used again; free it with sparsec_free_tensor. Arrays of your own are refused: it
 * allocates those of sparse results. */
int galerkin(const sparsec_tensor *A, const sparsec_tensor *P, sparsec_tensor *C);

/* Unchecked, on plain arrays. Arrays passed as T ** are the results': NULL,
 * or from sparsec's allocator and with room for so many elements as the last arguments say; they
 * are made larger where needed, and freed on failure. */
int galerkin_raw(int64_t M, int64_t K, int64_t N, const int32_t *SPARSEC_RESTRICT A2_pos,
    const int32_t *SPARSEC_RESTRICT A2_crd, const double *SPARSEC_RESTRICT A_vals,
    const int32_t *SPARSEC_RESTRICT P2_pos, const int32_t *SPARSEC_RESTRICT P2_crd,
    const double *SPARSEC_RESTRICT P_vals, int32_t **C2_pos_out, int32_t **C2_crd_out,
    double **C_vals_out, int64_t C2_capacity);

/* assembled_values
 *   S(i, j) = K(i, j) + 0.5 * B(i, j)
 *   K: {dense, compressed}
 *   B: {compressed, compressed}
 *   S: {compressed, compressed}
 *   assemble(S, once)
 */
/* Tensors, by elements and dimensions:
 *   K: double(M, N), int32_t coordinates
 *   B: double(M, N), int32_t coordinates
 *   S: double(M, N), int32_t coordinates, values out
 */
/* Checked; computes values where the coordinates are there, as the function below does where it
 * can. SPARSEC_CHANGED if others would be stored; the values are not those of a result then. */
int assembled_values(const sparsec_tensor *K, const sparsec_tensor *B, sparsec_tensor *S);

/* Unchecked, on plain arrays. */
int assembled_values_raw(int64_t M, int64_t N, const int32_t *SPARSEC_RESTRICT K2_pos,
    const int32_t *SPARSEC_RESTRICT K2_crd, const double *SPARSEC_RESTRICT K_vals,
    const int32_t *SPARSEC_RESTRICT B1_pos, const int32_t *SPARSEC_RESTRICT B1_crd,
    const int32_t *SPARSEC_RESTRICT B2_pos, const int32_t *SPARSEC_RESTRICT B2_crd,
    const double *SPARSEC_RESTRICT B_vals, const int32_t *SPARSEC_RESTRICT S1_pos,
    const int32_t *SPARSEC_RESTRICT S1_crd, const int32_t *SPARSEC_RESTRICT S2_pos,
    const int32_t *SPARSEC_RESTRICT S2_crd, double *SPARSEC_RESTRICT S_vals);

/* assembled
 *   S(i, j) = K(i, j) + 0.5 * B(i, j)
 *   K: {dense, compressed}
 *   B: {compressed, compressed}
 *   S: {compressed, compressed}
 *   assemble(S, once)
 */
/* Tensors, by elements and dimensions:
 *   K: double(M, N), int32_t coordinates
 *   B: double(M, N), int32_t coordinates
 *   S: double(M, N), int32_t coordinates, out
 */
/* Checked; makes S: give a zeroed sparsec_tensor, or that of a call before, whose memory
 * is used again; free it with sparsec_free_tensor. Arrays of your own are refused: it
 * allocates those of sparse results. */
int assembled(const sparsec_tensor *K, const sparsec_tensor *B, sparsec_tensor *S);

/* Unchecked, on plain arrays. Arrays passed as T ** are the results': NULL,
 * or from sparsec's allocator and with room for so many elements as the last arguments say; they
 * are made larger where needed, and freed on failure. */
int assembled_raw(int64_t M, int64_t N, const int32_t *SPARSEC_RESTRICT K2_pos,
    const int32_t *SPARSEC_RESTRICT K2_crd, const double *SPARSEC_RESTRICT K_vals,
    const int32_t *SPARSEC_RESTRICT B1_pos, const int32_t *SPARSEC_RESTRICT B1_crd,
    const int32_t *SPARSEC_RESTRICT B2_pos, const int32_t *SPARSEC_RESTRICT B2_crd,
    const double *SPARSEC_RESTRICT B_vals, int32_t **S1_pos_out, int32_t **S1_crd_out,
    int32_t **S2_pos_out, int32_t **S2_crd_out, double **S_vals_out, int64_t S1_capacity,
    int64_t S2_pos_capacity, int64_t S2_capacity);

#ifdef __cplusplus
}
#endif
#endif
