// The kernels of the exact search. `scan` launches them and describes the steps. DIM: dimensions of a vector, a multiple of 64.
// A row is read by 8 lanes, 16 bytes each at a time, so a warp reads 128 contiguous bytes of each of four rows.

#define GROUP 64
#define ROW_LANES 8
#define CHUNKS (DIM / 64)

// The maximum of each group of 64 scores. `scores` fp16 [queries, groups * 64] → `maxima` fp16 [queries, stride], from column
// `first` on. 256 threads; a thread block takes 128 groups.
extern "C" __global__ void __launch_bounds__(256) group_maxima(
    const uint4* scores, int queries, int groups, half* maxima, long long stride, long long first) {
    const long long all = (long long)queries * groups;
    const long long begin = blockIdx.x * 128ll + threadIdx.x / 8;
    const int lane = threadIdx.x % 8;
    uint4 parts[4];
#pragma unroll
    for (int at = 0; at < 4; ++at) {
        const long long group = begin + at * 32;
        parts[at] = scores[(group < all ? group : all - 1) * 8 + lane];
    }
#pragma unroll
    for (int at = 0; at < 4; ++at) {
        unsigned most = greater(greater(parts[at].x, parts[at].y), greater(parts[at].z, parts[at].w));
        most = greater(most, from_lane(most, 1));
        most = greater(most, from_lane(most, 2));
        most = greater(most, from_lane(most, 4));
        most = greater(most, most >> 16 | most << 16);
        const long long group = begin + at * 32;
        if (lane == 0 && group < all) maxima[group / groups * stride + first + group % groups] = (half)most;
    }
}

// The same from the rows, for one to four queries: the rows are read once and no scores are stored. `matrix` fp16
// [groups * 64, DIM], `queries` float32 [number, DIM] → `maxima` fp16 [number, stride]. 256 threads, any number of blocks.
extern "C" __global__ void __launch_bounds__(256) maxima_of_few(
    const uint4* matrix, const float* queries, int number, long long groups, half* maxima, long long stride) {
    __shared__ float wanted[4][DIM];
    __shared__ float most[4][8];
    for (int at = threadIdx.x; at < 4 * DIM; at += 256) wanted[at / DIM][at % DIM] = at < number * DIM ? queries[at] : 0.0f;
    __syncthreads();
    const int lane = threadIdx.x % ROW_LANES, row = threadIdx.x / ROW_LANES, warp = threadIdx.x / 32;
    for (long long group = blockIdx.x; group < groups; group += gridDim.x) {
        uint4 parts[2][CHUNKS];
#pragma unroll
        for (int side = 0; side < 2; ++side)
#pragma unroll
            for (int at = 0; at < CHUNKS; ++at)
                parts[side][at] = matrix[((group * GROUP + side * 32 + row) * CHUNKS + at) * ROW_LANES + lane];
        for (int query = 0; query < number; ++query) {
            float sums[2] = {0.0f, 0.0f};
#pragma unroll
            for (int at = 0; at < CHUNKS; ++at) {
                const float* here = &wanted[query][(at * ROW_LANES + lane) * 8];
#pragma unroll
                for (int side = 0; side < 2; ++side) {
                    const uint4 part = parts[side][at];
                    float sum = sums[side];
                    sum += lower(part.x) * here[0] + upper(part.x) * here[1];
                    sum += lower(part.y) * here[2] + upper(part.y) * here[3];
                    sum += lower(part.z) * here[4] + upper(part.z) * here[5];
                    sum += lower(part.w) * here[6] + upper(part.w) * here[7];
                    sums[side] = sum;
                }
            }
#pragma unroll
            for (int side = 0; side < 2; ++side)
                for (int mask = 1; mask < ROW_LANES; mask *= 2) sums[side] += from_lane(sums[side], mask);
            float best = fmaxf(sums[0], sums[1]);
            best = fmaxf(best, from_lane(best, 8));
            best = fmaxf(best, from_lane(best, 16));
            if (threadIdx.x % 32 == 0) most[query][warp] = best;
        }
        __syncthreads();
        if (threadIdx.x < number) {
            float best = most[threadIdx.x][0];
            for (int at = 1; at < 8; ++at) best = fmaxf(best, most[threadIdx.x][at]);
            maxima[threadIdx.x * stride + group] = to_half(best);
        }
        __syncthreads();
    }
}

// The exact scores of the rows of chosen groups: float64 holds every sum exactly, whatever its order. `groups` int64
// [queries, chosen] → `scores` float32 [queries, chosen * 64], -infinity for a dead row. A thread block of 256 takes a group.
extern "C" __global__ void __launch_bounds__(256) exact_scores(
    const uint4* matrix, const unsigned char* alive, const long long* groups, const float* queries, int chosen, float* scores) {
    const long long number = blockIdx.x;
    const long long first = groups[number] * GROUP;
    const float* wanted = queries + number / chosen * DIM;
    const int lane = threadIdx.x % ROW_LANES;
    for (int row = threadIdx.x / ROW_LANES; row < GROUP; row += 32) {
        uint4 parts[CHUNKS];
#pragma unroll
        for (int at = 0; at < CHUNKS; ++at) parts[at] = matrix[((first + row) * CHUNKS + at) * ROW_LANES + lane];
        double sum = 0.0;
#pragma unroll
        for (int at = 0; at < CHUNKS; ++at) {
            const float* here = wanted + (at * ROW_LANES + lane) * 8;
            const unsigned pairs[4] = {parts[at].x, parts[at].y, parts[at].z, parts[at].w};
#pragma unroll
            for (int pair = 0; pair < 4; ++pair) {
                sum += (double)lower(pairs[pair]) * (double)here[2 * pair];
                sum += (double)upper(pairs[pair]) * (double)here[2 * pair + 1];
            }
        }
        for (int mask = 1; mask < ROW_LANES; mask *= 2) sum += from_lane(sum, mask);
        if (lane == 0) scores[number * GROUP + row] = alive[first + row] ? (float)sum : -__int_as_float(0x7f800000);
    }
}
