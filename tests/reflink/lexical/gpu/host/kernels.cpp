// The kernels for the CPU: launchers by name, and functions of the kernels for tests of their own.

#include "cuda.h"
#include KERNELS

#define EXPORT(name) auto* launch_##name = &host::Launch<&name>::call;

extern "C" {
EXPORT(begin)
EXPORT(plans)
EXPORT(greatest_counts)
EXPORT(pairs_to_try)
EXPORT(pairs_that_reach)
EXPORT(rows_of_pairs)
EXPORT(hits_of_rows)
EXPORT(best_of_hits)

double host_score(Int overlap, Int a, Int b) { return score(overlap, a, b); }
Int host_needed(double bound, Int a, Int b) { return needed(bound, a, b); }
bool host_reachable(double bound, Int a, Int from, Int to) { return reachable(bound, a, from, to); }

void host_count(const Word* words, const int* places, int number, int threshold, unsigned* greatest, Word* enough) {
    Word planes[PLANES];
    count(words, places, number, planes);
    *greatest = greatest_of(planes);
    *enough = at_least(planes, threshold);
}
}
