#pragma once

#include <string>

namespace everstep {

// Appends a finite number as ECMAScript prints it (RFC 8785 §3.2.2.3): the shortest digits that
// read back as the same double, no exponent from 1e-6 up to below 1e21, zero without a sign.
void AppendJsonNumber(double value, std::string& out);

}  // namespace everstep
