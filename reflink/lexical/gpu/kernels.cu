// The kernels of the search on an NVIDIA GPU. batches.py launches them and describes the steps; kernels.py defines the constants
// in capitals. NVRTC compiles this file, so it includes nothing; tests also compile it for the CPU (tests/reflink/lexical/gpu).
//
// A warp counts one query's bitmaps in one block of rows. Lane l counts word l, which is 64 rows, and holds bit p of their counts
// in planes[p] (vertical counts, as in cpu/vectors.py). The lanes of a warp read 256 contiguous bytes per bitmap.
//
// Queries: query q has the trigrams wanted[ends[q]] to wanted[ends[q + 1]]. A pair is block * queries + query.

typedef unsigned long long Word;
typedef unsigned short Code;
typedef long long Int;

#define ALL_LANES 0xffffffffu
#ifndef OPAQUE
// The compiler does not look through the value: an address plus an offset stays one instruction.
#define OPAQUE(value) asm("" : "+l"(value))
#endif
#define PLANES 9

// As bounds.score. Every operation rounds as on the CPU: there is no product followed by a sum.
__device__ double score(Int overlap, Int a, Int b) {
    return overlap == 0 ? 0.0 : 2.0 * (double)overlap / (double)(a + b + (a < b ? a : b) - overlap);
}

// As bounds.needed.
__device__ Int needed(double bound, Int a, Int b) {
    Int least = a < b ? a : b;
    Int overlap = (Int)(bound * (double)(a + b + least) / (2.0 + bound));
    if (overlap < 1) overlap = 1;
    while (overlap > 1 && score(overlap - 1, a, b) >= bound) overlap--;
    while (overlap <= least && score(overlap, a, b) < bound) overlap++;
    return overlap;
}

// As bounds.reachable; false for a query without trigrams.
__device__ bool reachable(double bound, Int a, Int from, Int to) {
    Int b = a > from ? a : from;
    if (b > to) b = to;
    return a > 0 && b > 0 && score(a < b ? a : b, a, b) >= bound;
}

__device__ Int last_of(Int block, Int rows) {
    Int end = (block + 1) * BLOCK;
    return (end < rows ? end : rows) - 1;
}

// Carry-save adder: x becomes the sum of three bits in each of 64 positions; returns the carry.
__device__ inline Word add(Word& x, Word y, Word z) {
    Word carry = (x & y) | (x & z) | (y & z);
    x = x ^ y ^ z;
    return carry;
}

__device__ inline Word add_eight(Word* planes, const Word* x) {
    Word a = add(planes[0], x[0], x[1]), b = add(planes[0], x[2], x[3]);
    Word c = add(planes[0], x[4], x[5]), d = add(planes[0], x[6], x[7]);
    Word e = add(planes[1], a, b), f = add(planes[1], c, d);
    return add(planes[2], e, f);
}

__device__ inline Word word_at(Word address, int place) {
    return __ldg((const Word*)(address + (Word)sizeof(Word) * (unsigned)place));
}

// Count in how many of `number` bitmaps, a multiple of 16, each row is. `words`: this lane's word of the block's first bitmap.
__device__ inline void count(const Word* __restrict__ words, const int* __restrict__ places, int number, Word* planes) {
#pragma unroll
    for (int p = 0; p < PLANES; p++) planes[p] = 0;
    Word address = (Word)words;
    OPAQUE(address);
    const int4* list = (const int4*)places;
    for (int at = 0; at < number; at += 16, list += 4) {
        Word x[16];
#pragma unroll
        for (int part = 0; part < 4; part++) {
            int4 four = list[part];
            x[4 * part] = word_at(address, four.x);
            x[4 * part + 1] = word_at(address, four.y);
            x[4 * part + 2] = word_at(address, four.z);
            x[4 * part + 3] = word_at(address, four.w);
        }
        Word a = add_eight(planes, x), b = add_eight(planes, x + 8);
        Word carry = add(planes[3], a, b);
#pragma unroll
        for (int p = 4; p < PLANES; p++) {
            Word next = planes[p] & carry;
            planes[p] ^= carry;
            carry = next;
        }
    }
}

// Return the greatest count: keep the rows with the next lower bit set, if there are any.
__device__ inline unsigned greatest_of(const Word* planes) {
    Word left = ~(Word)0;
    unsigned value = 0;
#pragma unroll
    for (int p = PLANES - 1; p >= 0; p--) {
        Word some = left & planes[p];
        left = some ? some : left;
        value |= some ? 1u << p : 0u;
    }
    return value;
}

// Return the mask of the rows whose count is `threshold` or more. If both have the same bit, the lower bits decide.
__device__ inline Word at_least(const Word* planes, int threshold) {
    Word enough = ~(Word)0;
#pragma unroll
    for (int p = 0; p < PLANES; p++) enough = threshold >> p & 1 ? enough & planes[p] : enough | planes[p];
    return enough;
}

// Begin a batch: write each query's trigrams as a set of bits to `present`, empty the lists of hits, set the counters to 0.
// A thread block per query.
extern "C" __global__ void begin(const Code* wanted, const Int* ends, unsigned* present, int* heads, Int* counters) {
    Int query = blockIdx.x;
    unsigned* own = present + query * SET;
    for (int word = threadIdx.x; word < SET; word += blockDim.x) own[word] = 0;
    if (threadIdx.x < LANES) heads[query * LANES + threadIdx.x] = -1;
    if (query == 0 && threadIdx.x < COUNTERS) counters[threadIdx.x] = 0;
    __syncthreads();
    for (Int at = ends[query] + threadIdx.x; at < ends[query + 1]; at += blockDim.x)
        atomicOr(&own[wanted[at] >> 5], 1u << (wanted[at] & 31));
}

// Choose the bitmaps to count: `places` int32 [queries, COUNTED], offsets within a block, rarest first; `numbers`, multiples of
// 16, padded with the empty bitmap at `padding`; `credits`: trigrams not counted. Counts all bitmaps of a query, up to COUNTED,
// or fewer if the rarest already discriminate rows that may reach the bound, as cpu/searching.py. `shares`: by trigram, -1
// without a bitmap. `mean`: trigrams of a row. A thread block per query.
extern "C" __global__ void plans(
    const Code* wanted, const Int* ends, const double* bounds, const int* bitmap_of, const float* shares, int* places,
    int* numbers, int* credits, Int padding, double mean
) {
    __shared__ float sorted[COUNTED];
    __shared__ int known, number;
    Int query = blockIdx.x;
    const Code* codes = wanted + ends[query];
    int a = (int)(ends[query + 1] - ends[query]);
    int* own = places + query * COUNTED;
    if (threadIdx.x == 0) known = 0;
    __syncthreads();
    for (int at = threadIdx.x; at < a; at += blockDim.x) {
        float share = shares[codes[at]];
        if (share < 0) continue;
        atomicAdd(&known, 1);
        int place = 0;
        for (int other = 0; other < a; other++) {
            float its = shares[codes[other]];
            place += its >= 0 && (its < share || (its == share && other < at));
        }
        if (place < COUNTED) {
            own[place] = bitmap_of[codes[at]] * WORDS;
            sorted[place] = share;
        }
    }
    __syncthreads();
    int all = known < COUNTED ? known : COUNTED;
    if (threadIdx.x == 0) number = all;
    __syncthreads();
    double t = bounds[query] < 1.0 ? bounds[query] : 1.0;
    Int shortest = (Int)(a * t / (2.0 - t));  // the least size that can reach t
    if (shortest < 1) shortest = 1;
    for (int part = 1 + threadIdx.x; t > 0.0 && part * 16 < all; part += blockDim.x) {
        double sum = 0.0;
        for (int at = 0; at < part * 16; at++) sum += sorted[at];
        bool enough = true;
        for (int side = 0; side < 2; side++) {
            Int b = side ? a : shortest;
            double chance = sum * (double)b / mean;
            if ((double)(needed(t, a, b) - (known - part * 16)) <= chance + CLEARANCE * sqrt(chance) + 1.0) enough = false;
        }
        if (enough) atomicMin(&number, part * 16);
    }
    __syncthreads();
    int counted = number, padded = (counted + 15) / 16 * 16;
    for (int at = counted + threadIdx.x; at < padded; at += blockDim.x) own[at] = (int)padding;
    if (threadIdx.x == 0) {
        numbers[query] = padded;
        credits[query] = known - counted;
    }
}

// Write the greatest count of each block and query to `greatest`, uint16 [blocks, queries]; 0 where no size in the block can
// reach the bound. A task is a block of rows and `group` queries. Thread blocks, one per multiprocessor, take every gridDim-th
// task, and their warps one query of it after the other, without waiting for each other. So a multiprocessor has the bitmaps of
// one block of rows in its cache, and L2 those of the few blocks that all of them are at.
extern "C" __global__ void __launch_bounds__(COUNTING * LANES, 1) greatest_counts(
    const Word* __restrict__ bits, Int stride, const Code* __restrict__ sizes, Int rows, const int* __restrict__ places,
    const int* __restrict__ numbers, const Int* __restrict__ ends, const double* __restrict__ bounds, Int queries, Int blocks,
    Int group, unsigned short* greatest
) {
    __shared__ unsigned taken;
    unsigned lane = threadIdx.x, width = (unsigned)group, groups = ((unsigned)queries + width - 1) / width;
    if (lane == 0 && threadIdx.y == 0) taken = 0;
    __syncthreads();
    for (;;) {
        unsigned next = 0;
        if (lane == 0) next = atomicAdd(&taken, 1u);
        next = __shfl_sync(ALL_LANES, next, 0);
        unsigned turn = next / width, task = blockIdx.x + turn * gridDim.x;
        Int block = task / groups, query = (Int)(task - (unsigned)block * groups) * group + (next - turn * width);
        if (block >= blocks) break;
        if (query >= queries) continue;
        unsigned value = 0;
        int number = numbers[query];
        Int from = sizes[block * BLOCK], to = sizes[last_of(block, rows)];
        if (number > 0 && reachable(bounds[query], ends[query + 1] - ends[query], from, to)) {
            Word planes[PLANES];
            count(bits + block * stride + lane, places + query * COUNTED, number, planes);
            value = __reduce_max_sync(ALL_LANES, greatest_of(planes));
        }
        if (lane == 0) greatest[block * queries + query] = (unsigned short)value;
    }
}

// Choose for each query and share the block whose greatest count promises the best score: [shares * queries] pairs, or -1.
// Share s consists of the blocks s, s + shares, and so on. The choice affects only the search order and not the result, so
// float is enough. `required`: the greatest count of the pair. `size`: the number of pairs.
extern "C" __global__ void pairs_to_try(
    const unsigned short* greatest, const Code* sizes, Int rows, const Int* ends, const int* credits, Int queries, Int blocks,
    Int tried, Int* pairs, int* required, Int* size
) {
    Int number = (Int)blockIdx.x * blockDim.x + threadIdx.x;
    if (number == 0) *size = tried * queries;
    if (number >= tried * queries) return;
    Int query = number % queries, a = ends[query + 1] - ends[query], chosen = -1;
    int count = 0;
    float best = 0;
    for (Int block = number / queries; block < blocks; block += tried) {
        int here = greatest[block * queries + query];
        if (here == 0) continue;
        Int overlap = here + credits[query], to = sizes[last_of(block, rows)], b = sizes[block * BLOCK];
        overlap = overlap < a ? overlap : a;
        overlap = overlap < to ? overlap : to;
        b = b > overlap ? b : overlap;
        float promised = (float)overlap / (float)(a + b + (a < b ? a : b) - overlap);
        if (promised > best) {
            best = promised;
            chosen = block * queries + query;
            count = here;
        }
    }
    pairs[number] = chosen;
    required[number] = count;
}

// Append all pairs with a row that may reach the bound, and the count needed for it; `size`: the number of pairs so far.
extern "C" __global__ void pairs_that_reach(
    const unsigned short* greatest, const Code* sizes, Int rows, const int* numbers, const Int* ends, const int* credits,
    const double* bounds, Int queries, Int blocks, Int* pairs, int* required, Int* size
) {
    Int pair = (Int)blockIdx.x * blockDim.x + threadIdx.x;
    if (pair >= blocks * queries) return;
    Int query = pair % queries, block = pair / queries, a = ends[query + 1] - ends[query];
    if (numbers[query] == 0) return;
    Int from = sizes[block * BLOCK];
    if (!reachable(bounds[query], a, from, sizes[last_of(block, rows)])) return;
    Int count = needed(bounds[query], a, from > 1 ? from : 1) - credits[query];
    if (count < 0) count = 0;
    if (greatest[pair] < count) return;
    Int slot = (Int)atomicAdd((Word*)size, (Word)1);
    pairs[slot] = pair;
    required[slot] = (int)count;
}

// Append to `near` the rows of the first `size` pairs with the count `required`, up to `limit` of each 64 rows. `near` int32
// [2, room]: query and row. The counter `found` includes rows for which there is no room. A warp per pair.
extern "C" __global__ void rows_of_pairs(
    const Word* __restrict__ bits, Int stride, Int rows, const int* __restrict__ places, const int* __restrict__ numbers,
    Int queries, const Int* pairs, const int* required, const Int* size, Int limit, int* near, Int room, Int* found
) {
    Int warps = (Int)gridDim.x * blockDim.y;
    for (Int at = (Int)blockIdx.x * blockDim.y + threadIdx.y; at < *size; at += warps) {
        if (pairs[at] < 0) continue;
        Int query = pairs[at] % queries, block = pairs[at] / queries, row = block * BLOCK + threadIdx.x * 64;
        Word planes[PLANES];
        count(bits + block * stride + threadIdx.x, places + query * COUNTED, numbers[query], planes);
        Word enough = at_least(planes, required[at]);
        if (row >= rows) continue;
        if (rows - row < 64) enough &= ((Word)1 << (rows - row)) - 1;
        Int number = __popcll(enough);
        if (number > limit) number = limit;
        if (number == 0) continue;
        Int slot = (Int)atomicAdd((Word*)found, (Word)number);
        for (; number > 0 && slot < room; number--, slot++) {
            near[slot] = (int)query;
            near[room + slot] = (int)row + __ffsll((Int)enough) - 1;
            enough &= enough - 1;
        }
    }
}

// Verify the first `size` rows of `near`: count their overlap in their own trigrams. A row that is alive and reaches the bound
// is a hit: its score and rank are written to its place, which is put into one of LANES linked lists of its query. PARTS
// neighbouring threads share a row.
extern "C" __global__ void hits_of_rows(
    const Code* __restrict__ codes, const Int* __restrict__ offsets, const Code* __restrict__ sizes, const unsigned* ranks,
    const bool* alive, const unsigned* __restrict__ present, const Int* ends, const double* bounds, const int* near, Int room,
    const Int* size, double* scores, unsigned* row_ranks, int* next, int* heads
) {
    Int held = blockDim.x / PARTS, total = *size < room ? *size : room;
    int part = threadIdx.x % PARTS;
    for (Int first = blockIdx.x * held; first < total; first += gridDim.x * held) {
        Int at = first + threadIdx.x / PARTS, query = 0, row = 0;
        int overlap = 0;
        bool own = at < total;
        if (own) {
            query = near[at];
            row = near[room + at];
            own = alive[row];
        }
        if (own) {
            const unsigned* set = present + query * SET;
            for (Int trigram = offsets[row] + part; trigram < offsets[row + 1]; trigram += PARTS) {
                unsigned code = codes[trigram];
                overlap += set[code >> 5] >> (code & 31) & 1;
            }
        }
        for (int other = PARTS / 2; other > 0; other /= 2) overlap += __shfl_xor_sync(ALL_LANES, overlap, other);
        if (!own || part != 0 || overlap == 0) continue;
        double value = score(overlap, ends[query + 1] - ends[query], sizes[row]);
        if (value < bounds[query]) continue;
        scores[at] = value;
        row_ranks[at] = ranks[row];
        next[at] = atomicExch(&heads[query * LANES + at % LANES], (int)at);
    }
}

// Whether a hit comes before another: by score, then by rank. Ranks differ, so a row found twice is taken once.
__device__ inline bool before(double score, unsigned rank, double other, unsigned its) {
    return score > other || (score == other && rank < its);
}

// Take the k best of each query's hits, raise its bound to the score of the k-th, and empty its lists. After the last hit rows
// are -1 and scores 0. A warp per query; each lane walks through one list.
extern "C" __global__ void best_of_hits(
    int* heads, const int* next, const double* scores, const unsigned* row_ranks, const int* near, Int room, Int queries, Int k,
    double* bounds, Int* best_rows, double* best_scores, Int* found
) {
    int lane = threadIdx.x;
    Int query = (Int)blockIdx.x * blockDim.y + threadIdx.y;
    if (query >= queries) return;
    int head = heads[query * LANES + lane];
    double last = 3.0;  // above every score
    unsigned last_rank = 0;
    Int number = 0;
    for (; number < k; number++) {
        double best = -1.0;
        unsigned rank = 0;
        int place = -1;
        for (int at = head; at >= 0; at = next[at])
            if (before(last, last_rank, scores[at], row_ranks[at]) && before(scores[at], row_ranks[at], best, rank)) {
                best = scores[at];
                rank = row_ranks[at];
                place = at;
            }
        for (int other = LANES / 2; other > 0; other /= 2) {
            double its = __shfl_xor_sync(ALL_LANES, best, other);
            unsigned its_rank = __shfl_xor_sync(ALL_LANES, rank, other);
            int its_place = __shfl_xor_sync(ALL_LANES, place, other);
            if (before(its, its_rank, best, rank)) {
                best = its;
                rank = its_rank;
                place = its_place;
            }
        }
        if (place < 0) break;
        last = best;
        last_rank = rank;
        if (lane == 0) {
            best_rows[query * k + number] = near[room + place];
            best_scores[query * k + number] = best;
        }
    }
    heads[query * LANES + lane] = -1;
    for (Int behind = number + lane; behind < k; behind += LANES) {
        best_rows[query * k + behind] = -1;
        best_scores[query * k + behind] = 0.0;
    }
    if (lane == 0) {
        found[query] = number;
        if (number == k && last > bounds[query]) bounds[query] = last;
    }
}
