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

// Certificate and key of a server: TLS 1.3, HTTP/1.1 by ALPN. Thread-safe.
class TlsContext {
 public:
  TlsContext(std::string certificate_file, std::string key_file);

  // Reads both files; nothing changes when they cannot be used (kInvalidArgument). Sessions that
  // exist keep what they began with.
  Status Load();
  // A server's session on the socket. Load has succeeded before.
  SslPtr NewSession(int fd) const;

 private:
  const std::string certificate_file_;
  const std::string key_file_;
  mutable std::mutex mutex_;
  std::shared_ptr<SSL_CTX> context_;
};

}  // namespace everstep
