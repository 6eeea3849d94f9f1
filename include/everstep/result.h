#pragma once

#include <cstdio>
#include <cstdlib>
#include <utility>
#include <variant>

#include "everstep/error.h"

namespace everstep {

// A value or an Error. Member names follow std::expected, so that it can later become an alias for
// it. Accessing the value of an error, or the error of a value, aborts the process.
template <typename T>
class [[nodiscard]] Result {
 public:
  Result(T value) : state_(std::in_place_index<0>, std::move(value)) {}
  Result(Error error) : state_(std::in_place_index<1>, std::move(error)) {}

  bool has_value() const { return state_.index() == 0; }
  explicit operator bool() const { return has_value(); }

  T& value() & { return Get<0>(); }
  const T& value() const& { return const_cast<Result*>(this)->template Get<0>(); }
  T&& value() && { return std::move(Get<0>()); }
  T& operator*() & { return value(); }
  const T& operator*() const& { return value(); }
  T&& operator*() && { return std::move(*this).value(); }
  T* operator->() { return &value(); }
  const T* operator->() const { return &value(); }

  Error& error() & { return Get<1>(); }
  const Error& error() const& { return const_cast<Result*>(this)->template Get<1>(); }
  Error&& error() && { return std::move(Get<1>()); }

 private:
  template <std::size_t kIndex>
  auto& Get() {
    if (state_.index() != kIndex) {
      std::fputs("everstep: Result read on the wrong side\n", stderr);
      std::abort();
    }
    return *std::get_if<kIndex>(&state_);
  }

  std::variant<T, Error> state_;
};

// The outcome of an operation that returns no value.
using Status = Result<std::monostate>;
inline Status Ok() { return std::monostate{}; }

}  // namespace everstep
