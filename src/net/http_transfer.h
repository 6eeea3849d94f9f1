#pragma once

#include <curl/curl.h>

#include <array>
#include <chrono>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "net/address_policy.h"
#include "net/http_message.h"

namespace everstep {

// ---- what all uses of libcurl share

void InitialiseCurl();

// Checks each address that is connected to. Must outlive the handle it guards.
struct AddressGuard {
  explicit AddressGuard(AddressPolicy given) : policy(std::move(given)) {}

  const AddressPolicy policy;
  bool trusts_proxy = false;  // the operator listed the request's proxy: any address is allowed
  bool judges = true;
  std::string refused;  // the last address that was not allowed
};

// Sets how connections are made: protocols, certificates, addresses. Uses nothing from the
// environment.
void SetConnecting(CURL* handle, const HttpRequest& request, AddressGuard& guard);

HttpFailure FailureOf(CURLcode code);

// One request that is sent through libcurl, hop by hop. Used by one thread.
class HttpTransfer {
 public:
  using Done = std::function<void(HttpOutcome)>;

  // `policy` is copied; `proxies` (see HttpClient) must outlive the transfer.
  HttpTransfer(HttpRequest request, const AddressPolicy& policy,
               const std::vector<std::string>& proxies, Done done);
  HttpTransfer(const HttpTransfer&) = delete;
  HttpTransfer& operator=(const HttpTransfer&) = delete;

  // Prepares the handle for the next hop. False: the request cannot be sent; `failure` says why.
  bool Prepare(HttpOutcome& failure);
  CURL* handle() const { return handle_.get(); }

  // Must be called after a hop has ended. Returns true if there is a redirect to follow: call
  // Prepare again. Otherwise sets `outcome` to how the request ended.
  bool Hopped(CURLcode code, HttpOutcome& outcome);

  void Report(HttpOutcome outcome) { done_(std::move(outcome)); }

 private:
  struct FreeHandle {
    void operator()(CURL* handle) const { curl_easy_cleanup(handle); }
  };
  struct FreeList {
    void operator()(curl_slist* list) const { curl_slist_free_all(list); }
  };

  static std::size_t OnBody(char* bytes, std::size_t size, std::size_t count, void* self);
  static std::size_t OnHeader(char* bytes, std::size_t size, std::size_t count, void* self);
  static int OnSend(void* self, char* to, char* from, int to_port, int from_port);

  bool CheckRequest(HttpOutcome& failure);
  bool CheckProxy(HttpOutcome& failure);
  bool SetHeaders();
  void SetMethod();
  HttpOutcome Failure(CURLcode code) const;
  bool FollowRedirect(const std::string& target, HttpOutcome& outcome);

  HttpRequest request_;
  const std::vector<std::string>& proxies_;
  AddressGuard guard_;
  const std::chrono::steady_clock::time_point deadline_;
  const Done done_;
  std::unique_ptr<CURL, FreeHandle> handle_;
  std::unique_ptr<curl_slist, FreeList> header_list_;
  HttpResponse response_;
  std::size_t header_bytes_ = 0;
  bool too_large_ = false;
  bool sent_ = false;      // some hop may have reached its server
  bool hop_sent_ = false;  // the current hop may have reached its server
  std::uint32_t redirects_ = 0;
  std::array<char, CURL_ERROR_SIZE> reason_{};
};

}  // namespace everstep
