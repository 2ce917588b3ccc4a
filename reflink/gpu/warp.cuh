// Half precision and the exchange of values within a warp, as functions. No header is included, so that NVRTC needs none; the
// tests compile the kernels for a processor with other definitions of these functions.

typedef unsigned short half;  // the bits of an fp16 value

#define WHOLE_WARP 0xffffffffu

__device__ __forceinline__ float to_float(half x) {
    float y;
    asm("cvt.f32.f16 %0, %1;" : "=f"(y) : "h"(x));
    return y;
}

__device__ __forceinline__ half to_half(float x) {
    half y;
    asm("cvt.rn.f16.f32 %0, %1;" : "=h"(y) : "f"(x));
    return y;
}

// The greater of two pairs of fp16 values, position by position.
__device__ __forceinline__ unsigned greater(unsigned a, unsigned b) {
    unsigned c;
    asm("max.f16x2 %0, %1, %2;" : "=r"(c) : "r"(a), "r"(b));
    return c;
}

// The value of the lane whose number differs in the bits of `mask`.
__device__ __forceinline__ unsigned from_lane(unsigned x, int mask) { return __shfl_xor_sync(WHOLE_WARP, x, mask); }
__device__ __forceinline__ float from_lane(float x, int mask) { return __shfl_xor_sync(WHOLE_WARP, x, mask); }
__device__ __forceinline__ double from_lane(double x, int mask) { return __shfl_xor_sync(WHOLE_WARP, x, mask); }

// d += a * b: a [16, 16] and b [16, 8] fp16, d [16, 8] float32, distributed over the warp as mma.m16n8k16 prescribes.
__device__ __forceinline__ void multiply(float (&d)[4], const unsigned (&a)[4], const unsigned (&b)[2]) {
    asm volatile(
        "mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%0,%1,%2,%3}, {%4,%5,%6,%7}, {%8,%9}, {%0,%1,%2,%3};"
        : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3])
        : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]), "r"(b[1]));
}

// Transpose an 8 x 8 matrix of fp16 values: lane l holds row l / 4, columns l % 4 * 2 and the next.
__device__ __forceinline__ unsigned transposed(unsigned x) {
    unsigned y;
    asm volatile("movmatrix.sync.aligned.m8n8.trans.b16 %0, %1;" : "=r"(y) : "r"(x));
    return y;
}

// 2 to the power of x.
__device__ __forceinline__ float power_of_two(float x) {
    float y;
    asm("ex2.approx.ftz.f32 %0, %1;" : "=f"(y) : "f"(x));
    return y;
}
