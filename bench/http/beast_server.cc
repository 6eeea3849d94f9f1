#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/beast/core.hpp>
#include <boost/beast/http.hpp>
#include <memory>
#include <utility>

#include "small_server.h"

namespace everstep {
namespace {

namespace asio = boost::asio;
namespace beast = boost::beast;
namespace http = boost::beast::http;
using asio::ip::tcp;
// Not the type-erased executors of the defaults: they cost an allocation per operation.
using Executor = asio::io_context::executor_type;
using Stream = beast::basic_stream<tcp, Executor>;
using Acceptor = asio::basic_socket_acceptor<tcp, Executor>;

class Session : public std::enable_shared_from_this<Session> {
 public:
  explicit Session(Stream::socket_type socket) : stream_(std::move(socket)) {
    stream_.socket().set_option(tcp::no_delay(true));
  }

  void Read() {
    request_ = {};
    stream_.expires_after(std::chrono::seconds(30));
    http::async_read(stream_, buffer_, request_,
                     [self = shared_from_this()](beast::error_code error, std::size_t) {
                       if (!error) self->Answer();
                     });
  }

 private:
  void Answer() {
    response_ = {http::status::ok, request_.version()};
    response_.set(http::field::content_type, "application/json");
    response_.keep_alive(request_.keep_alive());
    response_.body() = request_.method() == http::verb::get ? std::string(kSmallAnswer)
                                                            : std::move(request_.body());
    response_.prepare_payload();
    http::async_write(stream_, response_,
                      [self = shared_from_this()](beast::error_code error, std::size_t) {
                        if (!error) self->Read();
                      });
  }

  Stream stream_;
  beast::flat_buffer buffer_;
  http::request<http::string_body> request_;
  http::response<http::string_body> response_;
};

void Accept(Acceptor& acceptor) {
  acceptor.async_accept([&acceptor](beast::error_code error, Stream::socket_type socket) {
    if (!error) std::make_shared<Session>(std::move(socket))->Read();
    Accept(acceptor);
  });
}

}  // namespace

void ServeWithBeast(const Ready& ready) {
  asio::io_context context(1);  // used by one thread
  Acceptor acceptor(context, tcp::endpoint(asio::ip::address_v4::loopback(), 0));
  Accept(acceptor);
  ready("127.0.0.1:" + std::to_string(acceptor.local_endpoint().port()));
  context.run();
}

}  // namespace everstep
