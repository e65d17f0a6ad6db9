/* Written by sparsec. Every function returns 0, or an enum sparsec_status with its
 * reason in sparsec_error(). */
#ifndef SPARSEC_KERNELS_LIKELY_H
#define SPARSEC_KERNELS_LIKELY_H

#include "sparsec.h"

#ifdef __cplusplus
extern "C" {
#endif

/* likely
 *   q(i) either=! A(i, j) * p(j)
 *   s either=! q(i)
 *   A: {dense, compressed}
 *   parallelize(S0.i, CPUThread, NoRaces)
 *   parallelize(S1.i, CPUThread, Temporary)
 */
/* Tensors, by elements and dimensions:
 *   A: double(M, N), int32_t coordinates
 *   p: double(N)
 *   q: double(M), out
 *   s: double, a scalar, out
 */
/* Checked; makes q, s: give a zeroed sparsec_tensor, or that of a call before, whose memory
 * is used again; free it with sparsec_free_tensor. Arrays of your own are written in place
 * if they fit the result, and refused if not. */
int likely(const sparsec_tensor *A, const sparsec_tensor *p, sparsec_tensor *q, sparsec_tensor *s);

/* Unchecked, on plain arrays. */
int likely_raw(int64_t M, int64_t N, const int32_t *SPARSEC_RESTRICT A2_pos,
    const int32_t *SPARSEC_RESTRICT A2_crd, const double *SPARSEC_RESTRICT A_vals,
    const double *SPARSEC_RESTRICT p_vals, double *SPARSEC_RESTRICT q_vals,
    double *SPARSEC_RESTRICT s_vals);

#ifdef __cplusplus
}
#endif
#endif
