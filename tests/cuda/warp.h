// The functions of reflink/gpu/warp.cuh for the CPU.

#pragma once
#include "cuda.h"

typedef unsigned short half;

inline float to_float(half x) { return (float)std::bit_cast<_Float16>(x); }
inline half to_half(float x) { return std::bit_cast<half>((_Float16)x); }
inline float power_of_two(float x) { return std::exp2(x); }
inline float half_at(unsigned pair, int which) { return to_float((half)(which ? pair >> 16 : pair)); }

inline unsigned greater(unsigned a, unsigned b) {
    half low = to_half(max(half_at(a, 0), half_at(b, 0))), high = to_half(max(half_at(a, 1), half_at(b, 1)));
    return low | (unsigned)high << 16;
}

template <class T> T from_lane(T x, int mask) { return __shfl_xor_sync(0xffffffffu, x, mask); }

// The values of all lanes.
inline void exchanged(unsigned x, unsigned (&all)[32]) {
    auto place = host::exchange(0xffffffffu, x);
    for (int lane = 0; lane < 32; lane++) all[lane] = host::value_at<unsigned>(place, lane);
}

inline void multiply(float (&d)[4], const unsigned (&a)[4], const unsigned (&b)[2]) {
    unsigned left[4][32], right[2][32];
    for (int part = 0; part < 4; part++) exchanged(a[part], left[part]);
    for (int part = 0; part < 2; part++) exchanged(b[part], right[part]);
    int lane = host::running % 32;
    for (int at = 0; at < 4; at++) {
        int row = lane / 4 + at / 2 * 8, column = lane % 4 * 2 + at % 2;
        for (int k = 0; k < 16; k++) {
            int pair = k % 8 / 2, part = k / 8;
            float x = half_at(left[2 * part + row / 8][row % 8 * 4 + pair], k % 2);
            d[at] += x * half_at(right[part][column * 4 + pair], k % 2);
        }
    }
}

inline unsigned transposed(unsigned x) {
    unsigned all[32], pair = 0;
    exchanged(x, all);
    int lane = host::running % 32;
    for (int which = 0; which < 2; which++) {
        int row = lane % 4 * 2 + which, column = lane / 4;
        pair |= (all[row * 4 + column / 2] >> column % 2 * 16 & 0xffffu) << 16 * which;
    }
    return pair;
}
