/* The loops as one writes them by hand, for `examples/dynamic`: what schedules are measured against. */
#include <math.h>
#include <stdint.h>

void hand_csr(int64_t rows, const int32_t *pos, const int32_t *crd, const double *val, const double *x, double *y) {
    for (int64_t i = 0; i < rows; i++) {
        double sum = 0;
        for (int64_t p = pos[i]; p < pos[i + 1]; p++) sum += val[p] * x[crd[p]];
        y[i] = sum;
    }
}

void hand_ell(int64_t rows, int64_t width, const int32_t *len, const int32_t *crd, const double *val, const double *x,
    double *y) {
    for (int64_t i = 0; i < rows; i++) {
        double sum = 0;
        for (int64_t k = 0; k < len[i]; k++) sum += val[i * width + k] * x[crd[i * width + k]];
        y[i] = sum;
    }
}

/* As many slots as the longest row has elements, column by column. */
void hand_to_ell(int64_t rows, int64_t width, const int32_t *pos, const int32_t *crd, const double *val, int32_t *slot,
    int32_t *len, double *stored) {
    for (int64_t i = 0; i < rows; i++) {
        len[i] = pos[i + 1] - pos[i];
        for (int64_t k = 0; k < width; k++) {
            slot[k * rows + i] = k < len[i] ? crd[pos[i] + k] : 0;
            stored[k * rows + i] = k < len[i] ? val[pos[i] + k] : 0;
        }
    }
}

/* Both halves in one loop, as equake has it. */
void hand_equake(int64_t nodes, const int32_t *first, const int32_t *col, const double *K, const double *v, double *w) {
    for (int64_t n = 0; n < 3 * nodes; n++) w[n] = 0;
    for (int64_t i = 0; i < nodes; i++) {
        double sum[3];
        const double *k = K + 9 * first[i];
        for (int a = 0; a < 3; a++)
            sum[a] = k[3 * a] * v[3 * i] + k[3 * a + 1] * v[3 * i + 1] + k[3 * a + 2] * v[3 * i + 2];
        for (int64_t e = first[i] + 1; e < first[i + 1]; e++) {
            const double *u = v + 3 * col[e];
            k = K + 9 * e;
            for (int a = 0; a < 3; a++) sum[a] += k[3 * a] * u[0] + k[3 * a + 1] * u[1] + k[3 * a + 2] * u[2];
            for (int b = 0; b < 3; b++)
                w[3 * col[e] + b] += k[b] * v[3 * i] + k[3 + b] * v[3 * i + 1] + k[6 + b] * v[3 * i + 2];
        }
        for (int a = 0; a < 3; a++) w[3 * i + a] += sum[a];
    }
}

/* The two nearest bins and up to four nearest cells of each pixel; its weight once. */
void hand_hog(int64_t width, int64_t blocks, int64_t cells, int64_t bins, const int32_t *bin, const float *part,
    const float *lo, const int32_t *first, const int32_t *last, const float *location, const float *size, float *hist) {
    for (int64_t n = 0; n < blocks * cells * cells * bins; n++) hist[n] = 0;
    for (int64_t l = 0; l < blocks; l++) {
        float *own = hist + l * cells * cells * bins;
        float sx = size[2 * l], sy = size[2 * l + 1];
        for (int64_t y = first[2 * l + 1]; y < last[2 * l + 1]; y++) {
            for (int64_t x = first[2 * l]; x < last[2 * l]; x++) {
                float dx = (float)(x + 1) - location[2 * l], dy = (float)(y + 1) - location[2 * l + 1];
                float weight = expf(-(dx * dx * 2 / (sx * sx) + dy * dy * 2 / (sy * sy)));
                float rx = ((float)(x + 1) - lo[2 * l]) * (float)cells / sx - 0.5f;
                float ry = ((float)(y + 1) - lo[2 * l + 1]) * (float)cells / sy - 0.5f;
                int cx = (int)floorf(rx), cy = (int)floorf(ry);
                for (int q = 0; q < 4; q++) {
                    int column = cx + (q & 1), row = cy + (q >> 1);
                    if (column < 0 || row < 0 || column >= cells || row >= cells) continue;
                    float share = weight * (1 - fabsf(rx - (float)column)) * (1 - fabsf(ry - (float)row));
                    for (int k = 0; k < 2; k++) {
                        int64_t at = (y * width + x) * 2 + k;
                        own[(row * cells + column) * bins + bin[at]] += share * part[at];
                    }
                }
            }
        }
    }
}
