#pragma once

#include <string>

#include "base/timestamp.h"
#include "everstep/result.h"

namespace everstep {

// What a server's certificate says of itself.
struct CertificateView {
  std::string subject;  // "CN = everstep.example"
  Timestamp valid_from{};
  Timestamp valid_until{};
};

// The first certificate of a PEM file, and whether the key of the other one is its key.
// kInvalidArgument: a file cannot be read or used, or they do not belong together.
Result<CertificateView> ReadCertificate(const std::string& certificate_file,
                                        const std::string& key_file);

}  // namespace everstep
