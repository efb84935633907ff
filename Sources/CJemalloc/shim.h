#include <stddef.h>
// Only what is used of <jemalloc/jemalloc.h>, which declares malloc and free once more.
int mallctl(const char *name, void *oldp, size_t *oldlenp, void *newp, size_t newlen);
