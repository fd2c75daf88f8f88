// SPDX-License-Identifier: MIT
//
// number.cuh - converts small kernel arguments to compile-time constants: loops over them can be unrolled,
// and arrays stay in registers.
#ifndef FC_FILTERS_WINSTAT_BOX_NUMBER_CUH
#define FC_FILTERS_WINSTAT_BOX_NUMBER_CUH

#include <type_traits>

namespace winstat {

// Calls f(std::integral_constant<int, n>) for n of 1 to 16.
template <class F> __device__ __forceinline__ void with_number(int n, F f) {
  switch (n) {
  case 1: f(std::integral_constant<int, 1>{}); break;
  case 2: f(std::integral_constant<int, 2>{}); break;
  case 3: f(std::integral_constant<int, 3>{}); break;
  case 4: f(std::integral_constant<int, 4>{}); break;
  case 5: f(std::integral_constant<int, 5>{}); break;
  case 6: f(std::integral_constant<int, 6>{}); break;
  case 7: f(std::integral_constant<int, 7>{}); break;
  case 8: f(std::integral_constant<int, 8>{}); break;
  case 9: f(std::integral_constant<int, 9>{}); break;
  case 10: f(std::integral_constant<int, 10>{}); break;
  case 11: f(std::integral_constant<int, 11>{}); break;
  case 12: f(std::integral_constant<int, 12>{}); break;
  case 13: f(std::integral_constant<int, 13>{}); break;
  case 14: f(std::integral_constant<int, 14>{}); break;
  case 15: f(std::integral_constant<int, 15>{}); break;
  default: f(std::integral_constant<int, 16>{}); break;
  }
}

} // namespace winstat

#endif
