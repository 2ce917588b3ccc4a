// Pairs of fp16 values in a 32-bit word: the lower half comes first in memory.

__device__ __forceinline__ float lower(unsigned pair) { return to_float((half)(pair & 0xffffu)); }
__device__ __forceinline__ float upper(unsigned pair) { return to_float((half)(pair >> 16)); }
__device__ __forceinline__ unsigned paired(float low, float high) {
    return (unsigned)to_half(low) | (unsigned)to_half(high) << 16;
}
