#include <openssl/evp.h>
#include <openssl/pem.h>
#include <openssl/ssl.h>
#include <openssl/x509.h>

#include <cerrno>
#include <filesystem>
#include <fstream>

#include "base/assert.h"
#include "net/certificate.h"
#include "net/http_client.h"
#include "net/http_server.h"
#include "testing/server_fixture.h"
#include "testing/temporary_directory.h"

namespace everstep {
namespace {

// A self-signed certificate and its key, as two PEM files.
void WriteCertificate(const std::filesystem::path& directory, const std::string& name) {
  const std::unique_ptr<EVP_PKEY, decltype(&EVP_PKEY_free)> key(EVP_EC_gen("P-256"), EVP_PKEY_free);
  const std::unique_ptr<X509, decltype(&X509_free)> certificate(X509_new(), X509_free);
  ASN1_INTEGER_set(X509_get_serialNumber(certificate.get()), 1);
  X509_gmtime_adj(X509_getm_notBefore(certificate.get()), -60);
  X509_gmtime_adj(X509_getm_notAfter(certificate.get()), 3'600);
  X509_set_pubkey(certificate.get(), key.get());
  X509_NAME* subject = X509_get_subject_name(certificate.get());
  X509_NAME_add_entry_by_txt(subject, "CN", MBSTRING_ASC,
                             reinterpret_cast<const unsigned char*>(name.c_str()), -1, -1, 0);
  X509_set_issuer_name(certificate.get(), subject);
  EVERSTEP_ASSERT(X509_sign(certificate.get(), key.get(), EVP_sha256()) > 0);
  BIO* out = BIO_new_file((directory / "server.crt").c_str(), "w");
  PEM_write_bio_X509(out, certificate.get());
  BIO_free(out);
  out = BIO_new_file((directory / "server.key").c_str(), "w");
  PEM_write_bio_PrivateKey(out, key.get(), nullptr, nullptr, 0, nullptr, nullptr);
  BIO_free(out);
}

// A TLS client that verifies no certificate.
class TlsClient {
 public:
  explicit TlsClient(SocketClient client, int version_max = TLS1_3_VERSION)
      : client_(std::move(client)),
        context_(SSL_CTX_new(TLS_client_method()), SSL_CTX_free),
        ssl_((SSL_CTX_set_max_proto_version(context_.get(), version_max), SSL_new(context_.get())),
             SSL_free) {
    const unsigned char protocols[] = "\x02h2\x08http/1.1";
    SSL_set_alpn_protos(ssl_.get(), protocols, sizeof(protocols) - 1);
    SSL_set_fd(ssl_.get(), client_.fd());
    connected_ = Uninterrupted([&] { return SSL_connect(ssl_.get()); }) == 1;
  }

  bool connected() const { return connected_; }
  std::string protocol() const {
    const unsigned char* name = nullptr;
    unsigned int size = 0;
    SSL_get0_alpn_selected(ssl_.get(), &name, &size);
    return {reinterpret_cast<const char*>(name), size};
  }
  std::string version() const { return SSL_get_version(ssl_.get()); }
  std::string name() const {
    std::array<char, 100> text{};
    const std::unique_ptr<X509, decltype(&X509_free)> peer(SSL_get1_peer_certificate(ssl_.get()),
                                                           X509_free);
    X509_NAME_get_text_by_NID(X509_get_subject_name(peer.get()), NID_commonName, text.data(),
                              text.size());
    return text.data();
  }
  void Send(const std::string& text) {
    const int size = static_cast<int>(text.size());
    EXPECT_EQ(Uninterrupted([&] { return SSL_write(ssl_.get(), text.data(), size); }), size);
  }
  // Reads until the input ends with `end`, or no more arrives.
  std::string ReadUntil(std::string_view end) {
    std::string text;
    std::vector<char> piece(16 << 10);
    while (!text.ends_with(end) || end.empty()) {
      const int got = Uninterrupted(
          [&] { return SSL_read(ssl_.get(), piece.data(), static_cast<int>(piece.size())); });
      if (got <= 0) break;
      text.append(piece.data(), static_cast<std::size_t>(got));
    }
    return text;
  }

 private:
  // A socket with a timeout is interrupted by signals even where none is handled.
  template <typename Call>
  static int Uninterrupted(const Call& call) {
    int result = 0;
    do {
      errno = 0;
      result = call();
    } while (result <= 0 && errno == EINTR);
    return result;
  }

  SocketClient client_;
  std::unique_ptr<SSL_CTX, decltype(&SSL_CTX_free)> context_;
  std::unique_ptr<SSL, decltype(&SSL_free)> ssl_;
  bool connected_ = false;
};

class HttpServerTlsThreaded : public ServerTest {
 protected:
  void ServeSecurely(TestHandler& handler, HttpServerOptions options = {}) {
    WriteCertificate(directory_.path(), "first");
    options.certificate_file = directory_ / "server.crt";
    options.key_file = directory_ / "server.key";
    Serve(handler, std::move(options));
  }

  TemporaryDirectory directory_;
};

TEST_F(HttpServerTlsThreaded, SpeaksTls13AndHttp11) {
  TestHandler handler([](HttpCall call) {
    EXPECT_TRUE(call.request().secure);
    Echo(std::move(call));
  });
  handler.body_bytes_max = 4 << 20;
  ServeSecurely(handler);
  TlsClient client(Connect());
  ASSERT_TRUE(client.connected());
  EXPECT_EQ(client.version(), "TLSv1.3");
  EXPECT_EQ(client.protocol(), "http/1.1");
  for (int i = 0; i < 3; ++i) {
    client.Send(PostText("/", "body."));
    EXPECT_TRUE(client.ReadUntil("body.").starts_with("HTTP/1.1 200 OK"));
  }
  client.Send(PostText("/large", std::string(3 << 20, 'x') + "end"));
  EXPECT_GT(client.ReadUntil("xend").size(), 3u << 20);
  client.Send(GetText("/", "Connection: close\r\n"));
  EXPECT_NE(client.ReadUntil("").find("Connection: close"), std::string::npos);
}

TEST_F(HttpServerTlsThreaded, RefusesOlderVersionsAndPlainText) {
  TestHandler handler(Echo);
  ServeSecurely(handler);
  EXPECT_FALSE(TlsClient(Connect(), TLS1_2_VERSION).connected());
  SocketClient plain = Connect();
  plain.Send(GetText("/"));
  EXPECT_EQ(plain.ReadAnswer().status, 0);
  EXPECT_TRUE(TlsClient(Connect()).connected());
}

TEST_F(HttpServerTlsThreaded, AHandshakeThatStallsIsTimedOut) {
  TestHandler handler(Echo);
  ServeSecurely(handler, {.head_timeout = std::chrono::milliseconds(50)});
  SocketClient client = Connect();
  EXPECT_TRUE(client.AtEnd());
  EXPECT_EQ(server_->Metrics().timeouts, 1u);
}

TEST_F(HttpServerTlsThreaded, StreamsAndLateAnswersGoThroughIt) {
  TestHandler handler;
  ServeSecurely(handler);
  TlsClient client(Connect());
  client.Send(GetText("/1") + GetText("/2"));
  auto calls = handler.WaitForCalls(2);
  const auto stream = calls[1].Stream(TextResponse(""));
  stream->Write("piece");
  calls[0].Reply(TextResponse("late"));
  stream->End();
  const std::string text = client.ReadUntil("0\r\n\r\n");
  EXPECT_LT(text.find("late"), text.find("5\r\npiece\r\n"));
}

TEST_F(HttpServerTlsThreaded, ReadsTheCertificateAgain) {
  TestHandler handler(Echo);
  ServeSecurely(handler);
  TlsClient before(Connect());
  EXPECT_EQ(before.name(), "first");
  WriteCertificate(directory_.path(), "second");
  ASSERT_TRUE(server_->ReloadCertificate());
  EXPECT_EQ(TlsClient(Connect()).name(), "second");
  std::ofstream(directory_ / "server.key") << "rubbish";
  const Status failed = server_->ReloadCertificate();
  ASSERT_FALSE(failed);
  EXPECT_EQ(failed.error().code, ErrorCode::kInvalidArgument);
  EXPECT_EQ(TlsClient(Connect()).name(), "second");
  before.Send(GetText("/old"));
  EXPECT_TRUE(before.ReadUntil("GET /old ").starts_with("HTTP/1.1 200"));
}

TEST_F(HttpServerTlsThreaded, AClientTrustsOnlyTheGivenAuthorities) {
  TestHandler handler(Echo);
  ServeSecurely(handler);
  WriteCertificate(directory_.path(), "127.0.0.1");
  ASSERT_TRUE(server_->ReloadCertificate());
  AddressPolicy policy;
  policy.allow_private = true;
  HttpClient client(policy);
  HttpRequest request;
  request.url = "https://" + server_->addresses().front() + "/";
  EXPECT_EQ(client.SendAndWait(request).failure, HttpFailure::kTls);
  request.ca_file = directory_ / "server.crt";
  const HttpOutcome trusted = client.SendAndWait(request);
  EXPECT_EQ(trusted.failure, HttpFailure::kNone) << trusted.message;
  EXPECT_EQ(trusted.response.status, 200);
  request.ca_file = "/nowhere/authorities.pem";
  EXPECT_EQ(client.SendAndWait(request).failure, HttpFailure::kTls);
}

TEST(CertificateTest, ReadsSubjectAndValidity) {
  const TemporaryDirectory directory;
  WriteCertificate(directory.path(), "everstep.example");
  const auto view = ReadCertificate(directory / "server.crt", directory / "server.key");
  ASSERT_TRUE(view);
  EXPECT_EQ(view->subject, "CN = everstep.example");
  EXPECT_EQ(view->valid_until - view->valid_from, std::chrono::seconds(3'660));
}

TEST(CertificateTest, RequiresTheMatchingKey) {
  const TemporaryDirectory directory;
  WriteCertificate(directory.path(), "one");
  const std::string key = directory / "other.key";
  std::filesystem::rename(directory / "server.key", key);
  WriteCertificate(directory.path(), "two");
  EXPECT_FALSE(ReadCertificate(directory / "server.crt", key));
  EXPECT_FALSE(ReadCertificate(directory / "nothing", key));
}

TEST_F(HttpServerTlsThreaded, WithoutBothFilesItDoesNotStart) {
  TestHandler handler(Echo);
  HttpServerOptions options;
  options.listen = {"127.0.0.1:0"};
  options.certificate_file = "/nowhere/server.crt";
  EXPECT_FALSE(HttpServer::Start(options, handler));
  options.key_file = "/nowhere/server.key";
  EXPECT_FALSE(HttpServer::Start(options, handler));
  Serve(handler);
  EXPECT_FALSE(server_->ReloadCertificate());
}

}  // namespace
}  // namespace everstep
