#pragma once

#include <cstdio>
#include <cstdlib>

// Our own bug: stop at once, in release too. Never for input, disk or network.
#define EVERSTEP_ASSERT(condition)                                                           \
  do {                                                                                       \
    if (!(condition)) [[unlikely]] {                                                         \
      std::fprintf(stderr, "%s:%d: assertion failed: %s\n", __FILE__, __LINE__, #condition); \
      std::abort();                                                                          \
    }                                                                                        \
  } while (false)
