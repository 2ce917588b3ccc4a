// What our kernels use of CUDA C++, for the CPU. A thread of a kernel is a fiber (ucontext). The thread blocks of a launch run
// one after the other; the fibers of a block take turns: a fiber runs until it waits for its block or its warp, or ends.

#pragma once
#include <ucontext.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <type_traits>
#include <utility>
#include <vector>

#define __device__
#define __global__
#define __shared__ static
#define __launch_bounds__(...)
#define __forceinline__ inline
#define OPAQUE(value)

struct uint3 { unsigned x, y, z; };
struct int4 { int x, y, z, w; };
struct uint2 { unsigned x, y; };
struct uint4 { unsigned x, y, z, w; };
struct float4 { float x, y, z, w; };
static uint3 gridDim, blockDim, blockIdx, threadIdx;

namespace host {

constexpr int kWarp = 32;
constexpr size_t kStack = 32 << 10;
enum State { READY, AT_WARP, AT_BLOCK, ENDED };

struct Fiber {
    ucontext_t context;
    std::vector<char> stack = std::vector<char>(kStack);
    uint3 index;
    State state;
    unsigned exchanges;  // of values with its warp
};

static ucontext_t scheduler;
static std::vector<Fiber> fibers;
static int running;
static void (*body)(void*);
static void* arguments;
static char values[2][1024][8];  // of the last two exchanges, by thread

[[noreturn]] inline void fail(const char* what) {
    std::fprintf(stderr, "simulated kernel: %s\n", what);
    std::abort();
}

inline void wait(State state) {
    Fiber& own = fibers[running];
    own.state = state;
    swapcontext(&own.context, &scheduler);
}

inline void enter() {
    body(arguments);
    fibers[running].state = ENDED;
    swapcontext(&fibers[running].context, &scheduler);
}

// All threads of the warp give a value; returns the place of this exchange's values. Two places are enough: nobody begins the
// next exchange but one before all have read this one.
template <class T> char (*exchange(unsigned mask, T value))[8] {
    static_assert(sizeof(T) <= 8);
    if (running / kWarp * kWarp + kWarp > (int)(blockDim.x * blockDim.y)) fail("a warp that exchanges values is whole");
    if (mask != 0xffffffffu) fail("only whole warps exchange values");
    char(*place)[8] = values[fibers[running].exchanges++ % 2];
    std::memcpy(place[running], &value, sizeof(T));
    wait(AT_WARP);
    return place + running / kWarp * kWarp;
}

template <class T> T value_at(char (*place)[8], int lane) {
    T value;
    std::memcpy(&value, place[lane], sizeof(T));
    return value;
}

inline bool run_ready(int first, int end) {
    bool ran = false;
    for (int at = first; at < end; at++)
        if (fibers[at].state == READY) {
            running = at;
            threadIdx = fibers[at].index;
            swapcontext(&scheduler, &fibers[at].context);
            ran = true;
        }
    return ran;
}

inline bool all(int first, int end, State state) {
    for (int at = first; at < end; at++)
        if (fibers[at].state != state) return false;
    return true;
}

inline void run_block() {
    int number = blockDim.x * blockDim.y;
    if (number > 1024) fail("a thread block has at most 1,024 threads");
    while ((int)fibers.size() < number) fibers.emplace_back();
    for (int at = 0; at < number; at++) {
        Fiber& fiber = fibers[at];
        fiber.index = {at % blockDim.x, at / blockDim.x, 0};
        fiber.state = READY;
        fiber.exchanges = 0;
        getcontext(&fiber.context);
        fiber.context.uc_stack.ss_sp = fiber.stack.data();
        fiber.context.uc_stack.ss_size = kStack;
        makecontext(&fiber.context, enter, 0);
    }
    for (;;) {
        for (int warp = 0; warp < number; warp += kWarp) {
            int end = std::min(number, warp + kWarp);
            while (run_ready(warp, end))
                if (all(warp, end, AT_WARP))
                    for (int at = warp; at < end; at++) fibers[at].state = READY;
        }
        bool waiting = false;
        for (int at = 0; at < number; at++) {
            if (fibers[at].state == AT_WARP) fail("some threads of a warp wait for others, which do not come");
            if (fibers[at].state == AT_BLOCK) fibers[at].state = READY, waiting = true;
        }
        if (!waiting) return;
    }
}

template <auto Kernel> struct Launch;
template <class... A, void (*Kernel)(A...)> struct Launch<Kernel> {
    static void call(int grid_x, int grid_y, int x, int y, A... given) {
        auto start = [&] { Kernel(given...); };
        arguments = &start;
        body = [](void* held) { (*static_cast<decltype(start)*>(held))(); };
        gridDim = {(unsigned)grid_x, (unsigned)grid_y, 1};
        blockDim = {(unsigned)x, (unsigned)y, 1};
        for (unsigned block = 0; block < gridDim.x * gridDim.y; block++) {
            blockIdx = {block % gridDim.x, block / gridDim.x, 0};
            run_block();
        }
    }
};

}  // namespace host

inline void __syncthreads() { host::wait(host::AT_BLOCK); }

template <class T> T __shfl_sync(unsigned mask, T value, int lane) {
    return host::value_at<T>(host::exchange(mask, value), lane);
}

template <class T> T __shfl_xor_sync(unsigned mask, T value, int other) {
    auto place = host::exchange(mask, value);
    return host::value_at<T>(place, (host::running % host::kWarp) ^ other);
}

inline unsigned __reduce_max_sync(unsigned mask, unsigned value) {
    auto place = host::exchange(mask, value);
    for (int lane = 0; lane < host::kWarp; lane++) {
        unsigned other = host::value_at<unsigned>(place, lane);
        value = other > value ? other : value;
    }
    return value;
}

template <class T> T __ldg(const T* at) { return *at; }
inline float __int_as_float(int bits) { return std::bit_cast<float>(bits); }
inline float rsqrtf(float x) { return 1.0f / std::sqrt(x); }
using std::max;
using std::min;

inline int __popcll(unsigned long long word) { return __builtin_popcountll(word); }
inline int __ffsll(long long word) { return __builtin_ffsll(word); }

template <class T> T atomicAdd(T* at, std::type_identity_t<T> value) { return std::exchange(*at, *at + value); }
template <class T> T atomicOr(T* at, std::type_identity_t<T> value) { return std::exchange(*at, *at | value); }
template <class T> T atomicExch(T* at, std::type_identity_t<T> value) { return std::exchange(*at, value); }
template <class T> T atomicMin(T* at, std::type_identity_t<T> value) { return std::exchange(*at, value < *at ? value : *at); }
