#pragma once

#include <compare>
#include <functional>
#include <utility>

namespace everstep {

// A strong typedef: wraps a T so that, for example, a RunId cannot be passed as an EventId.
template <typename Tag, typename T>
class Named {
 public:
  Named() = default;
  explicit Named(T value) : value_(std::move(value)) {}

  const T& value() const& { return value_; }
  T value() && { return std::move(value_); }
  auto operator<=>(const Named&) const = default;

 private:
  T value_{};
};

}  // namespace everstep

template <typename Tag, typename T>
struct std::hash<everstep::Named<Tag, T>> {
  std::size_t operator()(const everstep::Named<Tag, T>& named) const {
    return std::hash<T>{}(named.value());
  }
};
