#include "net/tls_context.h"

#include <openssl/err.h>

#include <cstring>
#include <string_view>

#include "base/assert.h"

namespace everstep {
namespace {

constexpr std::string_view kProtocol = "\x08http/1.1";  // an ALPN list of one protocol

// Selects HTTP/1.1 from the protocols that a client offers, and refuses a client that does not
// offer it.
void SetProtocol(SSL_CTX* context) {
  const auto choose = [](SSL* /*ssl*/, const unsigned char** chosen, unsigned char* length,
                         const unsigned char* offered, unsigned int offered_length,
                         void* /*unused*/) {
    const auto* ours = reinterpret_cast<const unsigned char*>(kProtocol.data());
    unsigned char* selected = nullptr;
    if (SSL_select_next_proto(&selected, length, ours, kProtocol.size(), offered, offered_length) !=
        OPENSSL_NPN_NEGOTIATED) {
      return SSL_TLSEXT_ERR_ALERT_FATAL;
    }
    *chosen = selected;
    return SSL_TLSEXT_ERR_OK;
  };
  SSL_CTX_set_alpn_select_cb(context, choose, nullptr);
}

Error Unusable(const std::string& what) {
  // The first error may be the system's error for a file; the last one says what followed from it.
  const unsigned long first = ERR_peek_error();
  const unsigned long code = ERR_peek_last_error();
  const char* reason = ERR_SYSTEM_ERROR(first) ? std::strerror(ERR_GET_REASON(first))
                       : code == 0             ? nullptr
                                               : ERR_reason_error_string(code);
  ERR_clear_error();
  return {ErrorCode::kInvalidArgument,
          what + (reason == nullptr ? "" : ": " + std::string(reason)),
          {}};
}

}  // namespace

TlsContext::TlsContext(std::string certificate_file, std::string key_file)
    : certificate_file_(std::move(certificate_file)), key_file_(std::move(key_file)) {}

Status TlsContext::Load() {
  ERR_clear_error();
  const std::shared_ptr<SSL_CTX> context(SSL_CTX_new(TLS_server_method()), SSL_CTX_free);
  EVERSTEP_ASSERT(context != nullptr);
  SSL_CTX* raw = context.get();
  SSL_CTX_set_min_proto_version(raw, TLS1_3_VERSION);
  SSL_CTX_set_mode(raw, SSL_MODE_RELEASE_BUFFERS | SSL_MODE_ENABLE_PARTIAL_WRITE |
                            SSL_MODE_ACCEPT_MOVING_WRITE_BUFFER);
  // Connections are kept alive, so resuming sessions would save little.
  SSL_CTX_set_session_cache_mode(raw, SSL_SESS_CACHE_OFF);
  SSL_CTX_set_num_tickets(raw, 0);
  SetProtocol(raw);
  if (SSL_CTX_use_certificate_chain_file(raw, certificate_file_.c_str()) != 1) {
    return Unusable("the certificate '" + certificate_file_ + "' cannot be used");
  }
  if (SSL_CTX_use_PrivateKey_file(raw, key_file_.c_str(), SSL_FILETYPE_PEM) != 1) {
    return Unusable("the key '" + key_file_ + "' cannot be used");
  }
  if (SSL_CTX_check_private_key(raw) != 1) {
    return Unusable("the key '" + key_file_ + "' does not match the certificate");
  }
  const std::lock_guard lock(mutex_);
  context_ = context;
  return Ok();
}

SslPtr TlsContext::NewSession(int fd) const {
  std::shared_ptr<SSL_CTX> context;
  {
    const std::lock_guard lock(mutex_);
    context = context_;
  }
  SslPtr session(SSL_new(context.get()));  // keeps the context from here on
  EVERSTEP_ASSERT(session != nullptr);
  EVERSTEP_ASSERT(SSL_set_fd(session.get(), fd) == 1);
  SSL_set_accept_state(session.get());
  return session;
}

}  // namespace everstep
