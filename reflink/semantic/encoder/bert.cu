// The parts of BERT's forward pass between its matrix products, for texts concatenated without padding. States are fp16; sums,
// softmax and layer normalisation are float32. DIM: dimensions of a state, a multiple of 4; HEAD: of a head, a multiple of 16.

#define LANES 32
#define PARTS ((DIM / 4 + LANES - 1) / LANES)
#define INFINITE __int_as_float(0x7f800000)

// A state distributed over a warp: lane l holds the four values of part p at dimension (p * 32 + l) * 4.
struct State {
    float at[PARTS][4];
};

__device__ __forceinline__ bool holds(int part, int lane) { return DIM % 128 == 0 || (part * LANES + lane) * 4 < DIM; }

__device__ __forceinline__ void add_halves(State& state, const half* row, int lane) {
#pragma unroll
    for (int part = 0; part < PARTS; ++part)
        if (holds(part, lane)) {
            const uint2 four = ((const uint2*)row)[part * LANES + lane];
            state.at[part][0] += lower(four.x), state.at[part][1] += upper(four.x);
            state.at[part][2] += lower(four.y), state.at[part][3] += upper(four.y);
        }
}

__device__ __forceinline__ void add_floats(State& state, const float* row, int lane) {
#pragma unroll
    for (int part = 0; part < PARTS; ++part)
        if (holds(part, lane)) {
            const float4 four = ((const float4*)row)[part * LANES + lane];
            state.at[part][0] += four.x, state.at[part][1] += four.y, state.at[part][2] += four.z, state.at[part][3] += four.w;
        }
}

__device__ __forceinline__ float summed(float x) {
#pragma unroll
    for (int mask = 1; mask < LANES; mask *= 2) x += from_lane(x, mask);
    return x;
}

// Normalise a state to mean 0 and variance 1, multiply by `weight`, add `bias`, and write it as fp16.
__device__ __forceinline__ void write_normalised(
    State& state, const float* weight, const float* bias, float epsilon, half* row, int lane) {
    float sum = 0.0f, squares = 0.0f;
#pragma unroll
    for (int part = 0; part < PARTS; ++part)
        for (int at = 0; at < 4; ++at) sum += state.at[part][at];
    const float mean = summed(sum) / DIM;
#pragma unroll
    for (int part = 0; part < PARTS; ++part)
        if (holds(part, lane))
            for (int at = 0; at < 4; ++at) {
                state.at[part][at] -= mean;
                squares += state.at[part][at] * state.at[part][at];
            }
    const float scale = rsqrtf(summed(squares) / DIM + epsilon);
#pragma unroll
    for (int part = 0; part < PARTS; ++part)
        if (holds(part, lane)) {
            const float4 w = ((const float4*)weight)[part * LANES + lane], b = ((const float4*)bias)[part * LANES + lane];
            uint2 four;
            four.x = paired(state.at[part][0] * scale * w.x + b.x, state.at[part][1] * scale * w.y + b.y);
            four.y = paired(state.at[part][2] * scale * w.z + b.z, state.at[part][3] * scale * w.w + b.w);
            ((uint2*)row)[part * LANES + lane] = four;
        }
}

// Embeddings: words[ids[t]] + positions[t's position in its text], normalised → `states` fp16 [tokens, DIM]. A warp takes a token.
extern "C" __global__ void embedded(
    const int* ids, const int* positions_of, int tokens, const float* words, const float* positions, const float* weight,
    const float* bias, float epsilon, half* states) {
    const int token = blockIdx.x * blockDim.y + threadIdx.y, lane = threadIdx.x;
    if (token >= tokens) return;
    State state = {};
    add_floats(state, words + (long long)ids[token] * DIM, lane);
    add_floats(state, positions + (long long)positions_of[token] * DIM, lane);
    write_normalised(state, weight, bias, epsilon, states + (long long)token * DIM, lane);
}

// Residual sum and layer normalisation: states + added, normalised → `states`, in place. A warp takes a token.
extern "C" __global__ void add_and_normalise(
    half* states, const half* added, int tokens, const float* weight, const float* bias, float epsilon) {
    const int token = blockIdx.x * blockDim.y + threadIdx.y, lane = threadIdx.x;
    if (token >= tokens) return;
    half* row = states + (long long)token * DIM;
    State state = {};
    add_halves(state, row, lane);
    add_halves(state, added + (long long)token * DIM, lane);
    write_normalised(state, weight, bias, epsilon, row, lane);
}

// Pooling: the mean (0), the maximum (1) or the first (2) of the states of each text → `vectors` float32 [texts, DIM]. A thread
// block takes a text; thread t takes the dimensions 4 t to 4 t + 3. `starts` int32 [texts + 1].
extern "C" __global__ void pooled(const half* states, const int* starts, int kind, float* vectors) {
    const int text = blockIdx.x, begin = starts[text], end = kind == 2 ? begin + 1 : starts[text + 1];
    const int four = threadIdx.x;
    const float least = kind == 1 ? -INFINITE : 0.0f;
    float sums[4] = {least, least, least, least};
    for (int token = begin; token < end; ++token) {
        const uint2 part = ((const uint2*)(states + (long long)token * DIM))[four];
        const float values[4] = {lower(part.x), upper(part.x), lower(part.y), upper(part.y)};
#pragma unroll
        for (int at = 0; at < 4; ++at) sums[at] = kind == 1 ? fmaxf(sums[at], values[at]) : sums[at] + values[at];
    }
    const float scale = kind == 0 ? 1.0f / (end - begin) : 1.0f;
#pragma unroll
    for (int at = 0; at < 4; ++at) vectors[(long long)text * DIM + 4 * four + at] = sums[at] * scale;
}

// Self-attention within each text. `qkv` fp16 [tokens, 3 * DIM], queries already scaled by log2(e) / sqrt(HEAD) → `mixed` fp16
// [tokens, DIM]. A thread block takes a text and four heads, a warp one head. A warp takes 16 queries and goes through the keys
// 16 at a time, with a running maximum and sum (online softmax), so a text's result depends on its own tokens only.
// Lane l holds rows l / 4 and l / 4 + 8 of the queries, and columns l % 4 * 2 and the next of every 8.
extern "C" __global__ void attended(const half* qkv, const int* starts, half* mixed) {
    const int begin = starts[blockIdx.x], length = starts[blockIdx.x + 1] - begin;
    const int lane = threadIdx.x, row = lane / 4, column = lane % 4 * 2;
    const long long stride = 3 * DIM;
    const int head = blockIdx.y * 4 + threadIdx.y;
    if (head >= DIM / HEAD) return;
    const half* queries = qkv + begin * stride + head * HEAD;
    const half *keys = queries + DIM, *values = keys + DIM;
    for (int first = 0; first < length; first += 16) {
        const int upper_row = min(first + row, length - 1), lower_row = min(first + row + 8, length - 1);
        unsigned wanted[HEAD / 16][4];
#pragma unroll
        for (int step = 0; step < HEAD / 16; ++step) {
            wanted[step][0] = *(const unsigned*)(queries + upper_row * stride + step * 16 + column);
            wanted[step][1] = *(const unsigned*)(queries + lower_row * stride + step * 16 + column);
            wanted[step][2] = *(const unsigned*)(queries + upper_row * stride + step * 16 + column + 8);
            wanted[step][3] = *(const unsigned*)(queries + lower_row * stride + step * 16 + column + 8);
        }
        float greatest[2] = {-INFINITE, -INFINITE}, sums[2] = {0.0f, 0.0f};
        float out[HEAD / 8][4] = {};
        for (int key = 0; key < length; key += 16) {
            float scores[2][4] = {};
            unsigned shown[2][HEAD / 8];
#pragma unroll
            for (int side = 0; side < 2; ++side) {
                const int here = min(key + side * 8 + row, length - 1);
                unsigned part[HEAD / 8];
#pragma unroll
                for (int at = 0; at < HEAD / 8; ++at) {
                    part[at] = *(const unsigned*)(keys + here * stride + at * 8 + column);
                    shown[side][at] = *(const unsigned*)(values + here * stride + at * 8 + column);
                }
#pragma unroll
                for (int step = 0; step < HEAD / 16; ++step) {
                    const unsigned pair[2] = {part[2 * step], part[2 * step + 1]};
                    multiply(scores[side], wanted[step], pair);
                }
#pragma unroll
                for (int at = 0; at < 4; ++at)
                    if (key + side * 8 + column + at % 2 >= length) scores[side][at] = -INFINITE;
            }
            unsigned weights[4];
            float factors[2];
#pragma unroll
            for (int half_of = 0; half_of < 2; ++half_of) {
                const int at = 2 * half_of;
                float most = fmaxf(fmaxf(scores[0][at], scores[0][at + 1]), fmaxf(scores[1][at], scores[1][at + 1]));
                most = fmaxf(most, from_lane(most, 1));
                most = fmaxf(fmaxf(most, from_lane(most, 2)), greatest[half_of]);
                factors[half_of] = power_of_two(greatest[half_of] - most);
                greatest[half_of] = most;
                float sum = 0.0f;
#pragma unroll
                for (int side = 0; side < 2; ++side) {
                    const float a = power_of_two(scores[side][at] - most), b = power_of_two(scores[side][at + 1] - most);
                    sum += a + b;
                    weights[2 * side + half_of] = paired(a, b);
                }
                sums[half_of] = sums[half_of] * factors[half_of] + sum;
            }
#pragma unroll
            for (int at = 0; at < HEAD / 8; ++at) {
                out[at][0] *= factors[0], out[at][1] *= factors[0], out[at][2] *= factors[1], out[at][3] *= factors[1];
                const unsigned pair[2] = {transposed(shown[0][at]), transposed(shown[1][at])};
                multiply(out[at], weights, pair);
            }
        }
#pragma unroll
        for (int half_of = 0; half_of < 2; ++half_of) {
            float sum = sums[half_of];
            sum += from_lane(sum, 1);
            sum += from_lane(sum, 2);
            const int here = first + row + 8 * half_of;
            if (here < length)
#pragma unroll
                for (int at = 0; at < HEAD / 8; ++at)
                    *(unsigned*)(mixed + (long long)(begin + here) * DIM + head * HEAD + at * 8 + column) =
                        paired(out[at][2 * half_of] / sum, out[at][2 * half_of + 1] / sum);
        }
    }
}
