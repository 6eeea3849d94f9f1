#include "net/certificate.h"

#include <openssl/pem.h>
#include <openssl/x509.h>

#include <ctime>
#include <memory>

#include "net/tls_context.h"

namespace everstep {
namespace {

struct FreeBio {
  void operator()(BIO* bio) const { BIO_free(bio); }
};
struct FreeCertificate {
  void operator()(X509* certificate) const { X509_free(certificate); }
};

Timestamp TimeOf(const ASN1_TIME* time) {
  std::tm parts{};
  if (ASN1_TIME_to_tm(time, &parts) != 1) return {};
  return Timestamp(std::chrono::seconds(timegm(&parts)));
}

std::string SubjectOf(const X509& certificate) {
  const std::unique_ptr<BIO, FreeBio> out(BIO_new(BIO_s_mem()));
  X509_NAME_print_ex(out.get(), X509_get_subject_name(&certificate), 0, XN_FLAG_ONELINE);
  char* text = nullptr;
  const long size = BIO_get_mem_data(out.get(), &text);
  return size > 0 ? std::string(text, static_cast<std::size_t>(size)) : std::string();
}

}  // namespace

Result<CertificateView> ReadCertificate(const std::string& certificate_file,
                                        const std::string& key_file) {
  TlsContext context(certificate_file, key_file);
  if (const Status loaded = context.Load(); !loaded) return loaded.error();
  const std::unique_ptr<BIO, FreeBio> file(BIO_new_file(certificate_file.c_str(), "r"));
  const std::unique_ptr<X509, FreeCertificate> certificate(
      file ? PEM_read_bio_X509(file.get(), nullptr, nullptr, nullptr) : nullptr);
  if (!certificate) {
    return Error{ErrorCode::kInvalidArgument, certificate_file + ": cannot be read", {}};
  }
  return CertificateView{SubjectOf(*certificate), TimeOf(X509_get0_notBefore(certificate.get())),
                         TimeOf(X509_get0_notAfter(certificate.get()))};
}

}  // namespace everstep
