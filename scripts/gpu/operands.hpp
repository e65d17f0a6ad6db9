// What kernels get, by the names that their parameters have.
#pragma once
#include <cstdint>

struct Address {
    void *at = nullptr;
    template <class T> operator T *() const { return static_cast<T *>(at); }
};

struct Operands {
    int64_t M = 0, N = 0, K = 0, I = 0, L = 0;
    int64_t A2_count = 0, B1_count = 0, B2_count = 0, B3_count = 0;
    Address A2_pos, A2_crd, B1_pos, B1_crd, B2_pos, B2_crd, B3_pos, B3_crd, C2_pos, C2_crd;
    Address A_vals, B_vals, C_vals, D_vals, x_vals, y_vals;
};
