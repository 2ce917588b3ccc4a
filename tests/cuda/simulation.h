// CUDA C++ on a processor, for tests: every thread of a thread block is a fiber, so barriers and exchanges within a warp work as
// on a GPU, one thread block after another. Included before the source of the kernels, instead of reflink/gpu/warp.cuh.
#include <ucontext.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>
#include <tuple>
#include <vector>

#define __global__
#define __device__
#define __forceinline__ inline
#define __shared__ static
#define __launch_bounds__(...)
#define __restrict__
#define WHOLE_WARP 0xffffffffu

using std::max;
using std::min;

struct dim3 {
    int x = 1, y = 1, z = 1;
};
struct uint2 {
    unsigned x, y;
};
struct alignas(16) uint4 {
    unsigned x, y, z, w;
};
struct alignas(16) float4 {
    float x, y, z, w;
};
typedef unsigned short half;

static dim3 threadIdx, blockIdx, blockDim, gridDim;

// Fibers wait here for one another; a finished fiber is no longer waited for.
struct Barrier {
    int members = 0, arrived = 0, passed = 0;
    void release() {
        if (members && arrived == members) arrived = 0, ++passed;
    }
};
struct Warp {
    Barrier barrier;
    unsigned long long words[32][8];
};
struct Fiber {
    ucontext_t context;
    std::vector<char> stack;
    dim3 thread;
    int lane;
    Warp* warp;
    bool finished;
};
static std::vector<Fiber> fibers;
static std::vector<Warp> warps;
static Barrier whole_block;
static ucontext_t scheduler;
static Fiber* current;

static void wait(Barrier& barrier) {
    const int passed = barrier.passed;
    ++barrier.arrived;
    barrier.release();
    while (barrier.passed == passed) {
        Fiber* self = current;
        swapcontext(&self->context, &scheduler);
    }
}
static void __syncthreads() { wait(whole_block); }
static void __syncwarp(unsigned = WHOLE_WARP) { wait(current->warp->barrier); }

// Give every lane of the warp the words of all lanes.
template <int N>
static void exchange(const unsigned long long (&mine)[N], unsigned long long (&all)[32][N]) {
    Warp& warp = *current->warp;
    std::copy(mine, mine + N, warp.words[current->lane]);
    wait(warp.barrier);
    for (int lane = 0; lane < 32; ++lane) std::copy(warp.words[lane], warp.words[lane] + N, all[lane]);
    wait(warp.barrier);
}
template <class T>
static T of_lane(T x, int lane) {
    Warp& warp = *current->warp;
    std::memcpy(warp.words[current->lane], &x, sizeof x);
    wait(warp.barrier);
    std::memcpy(&x, warp.words[lane], sizeof x);
    wait(warp.barrier);
    return x;
}
template <class T>
static T __shfl_xor_sync(unsigned, T x, int mask) { return of_lane(x, current->lane ^ mask); }
template <class T>
static T __shfl_sync(unsigned, T x, int lane) { return of_lane(x, lane); }
static unsigned __reduce_max_sync(unsigned, unsigned x) {
    for (int mask = 1; mask < 32; mask *= 2) x = max(x, __shfl_xor_sync(WHOLE_WARP, x, mask));
    return x;
}
static int __popcll(unsigned long long x) { return std::popcount(x); }
static int __ffsll(unsigned long long x) { return x ? std::countr_zero(x) + 1 : 0; }
static float __int_as_float(int x) { return std::bit_cast<float>(x); }
static float rsqrtf(float x) { return 1.0f / std::sqrt(x); }
template <class T, class U>
static T atomicAdd(T* at, U x) { T old = *at; *at += x; return old; }
template <class T, class U>
static T atomicMax(T* at, U x) { T old = *at; *at = max(*at, (T)x); return old; }
template <class T, class U>
static T atomicOr(T* at, U x) { T old = *at; *at |= x; return old; }

static float to_float(half x) { return (float)std::bit_cast<_Float16>(x); }
static half to_half(float x) { return std::bit_cast<half>((_Float16)x); }
static float power_of_two(float x) { return std::exp2(x); }
static unsigned greater(unsigned a, unsigned b) {
    const half low = to_half(max(to_float((half)a), to_float((half)b)));
    return low | (unsigned)to_half(max(to_float((half)(a >> 16)), to_float((half)(b >> 16)))) << 16;
}
template <class T>
static T from_lane(T x, int mask) { return __shfl_xor_sync(WHOLE_WARP, x, mask); }
static float half_of(unsigned pair, int which) { return to_float((half)(which ? pair >> 16 : pair)); }
static void multiply(float (&d)[4], const unsigned (&a)[4], const unsigned (&b)[2]) {
    unsigned long long mine[6] = {a[0], a[1], a[2], a[3], b[0], b[1]}, all[32][6];
    exchange(mine, all);
    for (int at = 0; at < 4; ++at) {
        const int row = current->lane / 4 + at / 2 * 8, column = current->lane % 4 * 2 + at % 2;
        for (int k = 0; k < 16; ++k) {
            const int pair = k % 8 / 2, part = k / 8;
            const unsigned left = (unsigned)all[row % 8 * 4 + pair][2 * part + row / 8], right = (unsigned)all[column * 4 + pair][4 + part];
            d[at] += half_of(left, k % 2) * half_of(right, k % 2);
        }
    }
}
static unsigned transposed(unsigned x) {
    unsigned long long mine[1] = {x}, all[32][1];
    exchange(mine, all);
    unsigned pair = 0;
    for (int which = 0; which < 2; ++which) {
        const int row = current->lane % 4 * 2 + which, column = current->lane / 4;
        const unsigned found = (unsigned)all[row * 4 + column / 2][0];
        pair |= (column % 2 ? found >> 16 : found & 0xffffu) << (16 * which);
    }
    return pair;
}

static void (*body)(void**);
static void** given;
static void run_fiber() {
    Fiber* self = current;
    body(given);
    self->finished = true;
    for (Barrier* barrier : {&self->warp->barrier, &whole_block}) --barrier->members, barrier->release();
    swapcontext(&self->context, &scheduler);
}

// Run all thread blocks of a launch. `arguments`: a pointer to each argument.
static void run(void (*kernel)(void**), dim3 grid, dim3 block, void** arguments) {
    body = kernel, given = arguments, gridDim = grid, blockDim = block;
    const int threads = block.x * block.y * block.z;
    fibers.resize(threads), warps.resize((threads + 31) / 32);
    for (long long number = 0; number < (long long)grid.x * grid.y; ++number) {
        blockIdx = {(int)(number % grid.x), (int)(number / grid.x), 0};
        for (Warp& warp : warps) warp.barrier = Barrier{};
        whole_block = Barrier{threads};
        for (int at = 0; at < threads; ++at) {
            Fiber& fiber = fibers[at];
            fiber.thread = {at % block.x, at / block.x % block.y, at / (block.x * block.y)};
            fiber.lane = at % 32, fiber.warp = &warps[at / 32], fiber.finished = false;
            ++fiber.warp->barrier.members;
            fiber.stack.resize(1 << 16);
            getcontext(&fiber.context);
            fiber.context.uc_stack.ss_sp = fiber.stack.data();
            fiber.context.uc_stack.ss_size = fiber.stack.size();
            fiber.context.uc_link = nullptr;
            makecontext(&fiber.context, run_fiber, 0);
        }
        for (bool some = true; some;) {
            some = false;
            for (Fiber& fiber : fibers)
                if (!fiber.finished) {
                    some = true;
                    current = &fiber, threadIdx = fiber.thread;
                    swapcontext(&scheduler, &fiber.context);
                }
        }
    }
}
template <class... A, size_t... I>
static void call(void (*kernel)(A...), void** arguments, std::index_sequence<I...>) {
    kernel(*(std::remove_reference_t<A>*)arguments[I]...);
}
template <auto kernel, class... A>
static void launch(void (*)(A...), dim3 grid, dim3 block, void** arguments) {
    run([](void** given) { call((void (*)(A...))kernel, given, std::index_sequence_for<A...>{}); }, grid, block, arguments);
}
// Export a kernel as launch_NAME(grid, block, arguments).
#define EXPORT(name) \
    extern "C" void launch_##name(int gx, int gy, int bx, int by, void** arguments) { \
        launch<name>(name, dim3{gx, gy, 1}, dim3{bx, by, 1}, arguments); \
    }
