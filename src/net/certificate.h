#pragma once

#include <string>

#include "base/timestamp.h"
#include "everstep/result.h"

namespace everstep {

// The subject and the validity of a server's certificate.
struct CertificateView {
  std::string subject;  // "CN = everstep.example"
  Timestamp valid_from{};
  Timestamp valid_until{};
};

// Reads the first certificate of a PEM file and checks that the key in the other file belongs to
// it. kInvalidArgument if a file cannot be read or used, or if they do not match.
Result<CertificateView> ReadCertificate(const std::string& certificate_file,
                                        const std::string& key_file);

}  // namespace everstep
