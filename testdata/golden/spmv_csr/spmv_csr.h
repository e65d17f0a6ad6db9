/* Written by sparsec. Every function returns 0, or an enum sparsec_status with its
 * reason in sparsec_error(). */
#ifndef SPARSEC_KERNELS_SPMV_CSR_H
#define SPARSEC_KERNELS_SPMV_CSR_H

#include "sparsec.h"

#ifdef __cplusplus
extern "C" {
#endif

/* spmv_csr
 *   y(i) +=! val(p) * x(crd(p)) where i in 0:R - 1, p in pos(i):pos(i + 1)
 */
/* Tensors, by elements and dimensions:
 *   pos: int32_t(R)
 *   crd: int32_t(Z)
 *   val: double(Z)
 *   x: double(N)
 *   y: double(R - 1), out
 */
/* Checked; makes y: give a zeroed sparsec_tensor, or that of a call before, whose memory
 * is used again; free it with sparsec_free_tensor. Arrays of your own are written in place
 * if they fit the result, and refused if not. */
int spmv_csr(const sparsec_tensor *pos, const sparsec_tensor *crd, const sparsec_tensor *val,
    const sparsec_tensor *x, sparsec_tensor *y);

/* Unchecked, on plain arrays. */
int spmv_csr_raw(int64_t R, int64_t Z, int64_t N, const int32_t *SPARSEC_RESTRICT pos_vals,
    const int32_t *SPARSEC_RESTRICT crd_vals, const double *SPARSEC_RESTRICT val_vals,
    const double *SPARSEC_RESTRICT x_vals, double *SPARSEC_RESTRICT y_vals);

#ifdef __cplusplus
}
#endif
#endif
