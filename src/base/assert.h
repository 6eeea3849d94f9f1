#pragma once

#include <cstdio>
#include <cstdlib>

// Aborts if `condition` is false, also in release builds. For our own bugs only, never for invalid
// input or for disk and network errors.
#define EVERSTEP_ASSERT(condition)                                                           \
  do {                                                                                       \
    if (!(condition)) [[unlikely]] {                                                         \
      std::fprintf(stderr, "%s:%d: assertion failed: %s\n", __FILE__, __LINE__, #condition); \
      std::abort();                                                                          \
    }                                                                                        \
  } while (false)
