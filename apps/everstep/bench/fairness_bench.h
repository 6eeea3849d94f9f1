#pragma once

#include <atomic>
#include <string>
#include <string_view>
#include <vector>

#include "base/unique_fd.h"
#include "bench/bench_child.h"
#include "bench/report.h"

namespace everstep::cli {

// A client that connects again if the server closes its connection.
class PatientClient {
 public:
  explicit PatientClient(std::string address) : address_(std::move(address)) {}

  // Returns the status of the answer, or 0 if the connection was closed instead.
  int Call(const std::string& request);
  const std::string& body() const { return input_; }
  // Sends a request whose answer nobody reads, and leaves the connection to the caller.
  UniqueFd Leave(const std::string& request);

 private:
  bool Send(std::string_view request);
  bool Receive();
  int ReadAnswer();

  const std::string address_;
  UniqueFd fd_;
  std::string input_;
  bool closes_ = false;
};

struct Ask {
  std::string method = "POST";
  std::string target{};
  std::string body{};
  std::string type = "application/json";
  bool packed = false;
};

std::string Repeated(std::string_view piece, std::size_t count);
// The body that starts a run of this plan.
std::string StartOf(const std::string& plan);

// A server with the tenants "hostile" and "other".
class FairnessBench {
 public:
  explicit FairnessBench(BenchReport& report);

  // Measures a probe and the cheap requests of the other tenant while the hostile one sends `asks`
  // repeatedly on many connections.
  void Measure(const std::string& name, const std::vector<Ask>& asks);

  // Sends a request of the hostile tenant before a measurement. Returns the body of the answer;
  // aborts on another status.
  const std::string& Prepare(const Ask& ask, int expected);
  // The same, for a status that does not matter.
  int Try(const Ask& ask);
  // Opens a stream of events of the hostile tenant that is never read. Returns false if it is
  // refused.
  bool Follow(const std::string& target);

 private:
  std::string Token(const std::string& tenant);
  void Time(const std::vector<std::string>& requests, const std::atomic<bool>& over,
            std::vector<double>& milliseconds) const;

  BenchReport& report_;
  BenchServer server_;
  PatientClient admin_;
  std::string hostile_;
  std::string other_;
  std::vector<UniqueFd> followers_;
};

// Attacks by requests alone: their parsing, and what they read and write.
void AttackWithRequests(FairnessBench& bench);
// Attacks by runs, and by the workers that execute their steps.
void AttackWithRuns(FairnessBench& bench);

}  // namespace everstep::cli
