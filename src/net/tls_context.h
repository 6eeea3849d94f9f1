#pragma once

#include <openssl/ssl.h>

#include <memory>
#include <mutex>
#include <string>

#include "everstep/result.h"

namespace everstep {

struct FreeSsl {
  void operator()(SSL* ssl) const { SSL_free(ssl); }
};
using SslPtr = std::unique_ptr<SSL, FreeSsl>;

// The certificate and key of a server: TLS 1.3, HTTP/1.1 by ALPN. Thread-safe.
class TlsContext {
 public:
  TlsContext(std::string certificate_file, std::string key_file);

  // Reads both files. If they cannot be used, nothing changes (kInvalidArgument). Existing sessions
  // keep their certificate.
  Status Load();
  // Creates a server session on the socket. Requires: Load has succeeded.
  SslPtr NewSession(int fd) const;

 private:
  const std::string certificate_file_;
  const std::string key_file_;
  mutable std::mutex mutex_;
  std::shared_ptr<SSL_CTX> context_;
};

}  // namespace everstep
