// Functions of the kernels, for tests of their own.

extern "C" {
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
