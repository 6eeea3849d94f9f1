// Compares the HTTP server of src/net with Boost.Beast, and the HTTP clients of src/net with each
// other and with libcurl's easy interface, by requests of a few hundred bytes over loopback.

#include <curl/curl.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cstdio>
#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "base/assert.h"
#include "base/unique_fd.h"
#include "bench/load_client.h"
#include "bench/workload.h"
#include "net/http_client.h"
#include "net/http_connection.h"
#include "small_server.h"

namespace everstep {
namespace {

using cli::CpuSeconds;
using cli::LoadClient;
using cli::Quantile;
using cli::WallSeconds;

constexpr std::size_t kConnections = 64;
// What is compared takes turns, because the load on the machine may change.
constexpr int kTurns = 8;
constexpr std::size_t kServerRequests = 40'000;  // per turn
constexpr std::size_t kClientRequests = 4'000;   // per turn

std::string SmallBody() { return R"({"text":")" + std::string(289, 'x') + "\"}"; }

// A server in a child process, which is killed with the object.
class ServerProcess {
 public:
  explicit ServerProcess(void (*serve)(const Ready&)) {
    std::array<int, 2> ends{};
    EVERSTEP_ASSERT(::pipe(ends.data()) == 0);
    const UniqueFd read_end(ends[0]);
    UniqueFd write_end(ends[1]);
    id_ = ::fork();
    EVERSTEP_ASSERT(id_ >= 0);
    if (id_ == 0) {
      ::prctl(PR_SET_PDEATHSIG, SIGKILL);
      serve([&write_end](const std::string& address) {
        EVERSTEP_ASSERT(::write(write_end.get(), address.data(), address.size()) > 0);
        write_end.Close();
      });
      ::_exit(0);
    }
    write_end.Close();
    std::array<char, 64> text{};
    const ssize_t size = ::read(read_end.get(), text.data(), text.size());
    EVERSTEP_ASSERT(size > 0);
    address_.assign(text.data(), static_cast<std::size_t>(size));
  }
  ~ServerProcess() {
    if (id_ > 0) (void)End();
  }
  ServerProcess(const ServerProcess&) = delete;
  ServerProcess& operator=(const ServerProcess&) = delete;

  const std::string& address() const { return address_; }
  // Returns the CPU time that the process has used in its life.
  double End() {
    ::kill(id_, SIGKILL);
    rusage usage{};
    EVERSTEP_ASSERT(::wait4(std::exchange(id_, -1), nullptr, 0, &usage) > 0);
    const auto seconds = [](const timeval& time) {
      return static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_usec) * 1e-6;
    };
    return seconds(usage.ru_utime) + seconds(usage.ru_stime);
  }

 private:
  pid_t id_ = -1;
  std::string address_;
};

struct Figures {
  std::string name;
  double requests = 0;
  double seconds = 0;
  double cpu_seconds = 0;
  std::vector<double> micros{};  // of each request

  void Print() const {
    std::printf("  %-44s %9.0f /s %9.1f µs p50 %8.2f µs CPU\n", name.c_str(), requests / seconds,
                Quantile(micros, 0.5), cpu_seconds / requests * 1e6);
  }
};

void MeasureServer(void (*serve)(const Ready&), const std::string& request, Figures& figures) {
  ServerProcess server(serve);
  LoadClient client(server.address(), kConnections);
  std::vector<double> sent_at(kConnections, 0);
  std::size_t sent = 0;
  std::size_t answered = 0;
  const double begin = WallSeconds();
  client.Run(
      [&](std::size_t number) -> std::optional<std::string_view> {
        if (sent == kServerRequests) return std::nullopt;
        ++sent;
        sent_at[number] = WallSeconds();
        return request;
      },
      [&](std::size_t number, const LoadClient::Answer& answer) {
        EVERSTEP_ASSERT(answer.status == 200 && answer.body.size() > 60);
        ++answered;
        figures.micros.push_back((WallSeconds() - sent_at[number]) * 1e6);
      },
      [&] { return answered == kServerRequests; });
  figures.seconds += WallSeconds() - begin;
  figures.requests += static_cast<double>(kServerRequests);
  figures.cpu_seconds += server.End();
}

void CompareServers() {
  const std::string get = LoadClient::Get("/small");
  const std::string post = LoadClient::Post("/small", SmallBody());
  Figures net_get{"src/net: GET"};
  Figures beast_get{"Boost.Beast: GET"};
  Figures net_post{"src/net: POST of 300 bytes"};
  Figures beast_post{"Boost.Beast: POST of 300 bytes"};
  for (int turn = 0; turn < kTurns; ++turn) {
    MeasureServer(ServeWithNet, get, net_get);
    MeasureServer(ServeWithBeast, get, beast_get);
    MeasureServer(ServeWithNet, post, net_post);
    MeasureServer(ServeWithBeast, post, beast_post);
  }
  std::printf("Servers, one io thread, %zu connections with one request each:\n", kConnections);
  for (const Figures* figures : {&net_get, &beast_get, &net_post, &beast_post}) figures->Print();
}

// ---- clients

std::size_t Append(char* bytes, std::size_t size, std::size_t count, void* to) {
  static_cast<std::string*>(to)->append(bytes, size * count);
  return size * count;
}

// libcurl's easy interface on the calling thread, with the connection kept.
class EasyClient {
 public:
  EasyClient() : handle_(curl_easy_init()) {
    headers_ = curl_slist_append(nullptr, "Content-Type: application/json");
    curl_easy_setopt(handle_, CURLOPT_HTTPHEADER, headers_);
    curl_easy_setopt(handle_, CURLOPT_NOSIGNAL, 1L);
    curl_easy_setopt(handle_, CURLOPT_PROXY, "");
    curl_easy_setopt(handle_, CURLOPT_WRITEFUNCTION, &Append);
  }
  ~EasyClient() {
    curl_slist_free_all(headers_);
    curl_easy_cleanup(handle_);
  }
  EasyClient(const EasyClient&) = delete;
  EasyClient& operator=(const EasyClient&) = delete;

  std::string Exchange(const HttpRequest& request) {
    std::string body;
    curl_easy_setopt(handle_, CURLOPT_URL, request.url.c_str());
    curl_easy_setopt(handle_, CURLOPT_POSTFIELDSIZE, static_cast<long>(request.body.size()));
    curl_easy_setopt(handle_, CURLOPT_POSTFIELDS, request.body.c_str());
    curl_easy_setopt(handle_, CURLOPT_TIMEOUT_MS, static_cast<long>(request.timeout.count()));
    curl_easy_setopt(handle_, CURLOPT_WRITEDATA, &body);
    EVERSTEP_ASSERT(curl_easy_perform(handle_) == CURLE_OK);
    return body;
  }

 private:
  CURL* const handle_;
  curl_slist* headers_ = nullptr;
};

void MeasureClient(const std::function<std::string()>& exchange, const std::string& expected,
                   Figures& figures) {
  const double cpu = CpuSeconds();
  const double begin = WallSeconds();
  for (std::size_t i = 0; i < kClientRequests; ++i) {
    const double sent_at = WallSeconds();
    EVERSTEP_ASSERT(exchange() == expected);
    figures.micros.push_back((WallSeconds() - sent_at) * 1e6);
  }
  figures.seconds += WallSeconds() - begin;
  figures.cpu_seconds += CpuSeconds() - cpu;
  figures.requests += static_cast<double>(kClientRequests);
}

void CompareClients() {
  const ServerProcess server(ServeWithNet);
  const AddressPolicy anywhere{.allow_private = true};
  HttpRequest request;
  request.method = "POST";
  request.url = "http://" + server.address() + "/small";
  request.headers = {{"Content-Type", "application/json"}};
  request.body = SmallBody();
  HttpConnection connection(anywhere);
  HttpClient client(anywhere);
  EasyClient easy;
  Figures of_connection{"HttpConnection"};
  Figures of_easy{"libcurl, easy interface, calling thread"};
  Figures of_client{"HttpClient (libcurl, multi, its own thread)"};
  for (int turn = 0; turn < kTurns; ++turn) {
    MeasureClient([&] { return connection.Exchange(request).response.body; }, request.body,
                  of_connection);
    MeasureClient([&] { return easy.Exchange(request); }, request.body, of_easy);
    MeasureClient([&] { return client.SendAndWait(request).response.body; }, request.body,
                  of_client);
  }
  std::printf("Clients, one request of 300 bytes at a time, kept connection:\n");
  for (const Figures* figures : {&of_connection, &of_easy, &of_client}) figures->Print();
}

}  // namespace
}  // namespace everstep

int main() {
  everstep::CompareServers();
  everstep::CompareClients();
  return 0;
}
