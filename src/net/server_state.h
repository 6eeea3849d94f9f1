#pragma once

#include <atomic>
#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <vector>

#include "net/address_shares.h"
#include "net/http_server.h"
#include "net/loop_inbox.h"
#include "net/memory_account.h"
#include "net/tenant_account.h"
#include "net/tls_context.h"

namespace everstep {

// Written by one loop, read by any thread.
struct LoopCounters {
  using Counter = std::atomic<std::uint64_t>;
  // No other thread writes, so no locked instruction is needed.
  static void Add(Counter& counter, std::uint64_t more = 1) {
    counter.store(counter.load(std::memory_order_relaxed) + more, std::memory_order_relaxed);
  }

  Counter connections = 0;
  Counter refused = 0;
  Counter requests = 0;
  Counter malformed = 0;
  Counter streams_begun = 0;
  Counter streams_gone = 0;
  Counter streams_cut_off = 0;
  Counter timeouts = 0;
  Counter bytes_received = 0;
  Counter bytes_sent = 0;
};

// The state that the loops of a server share.
struct ServerState {
  ServerState(HttpServerOptions server_options, HttpHandler& server_handler)
      : options(std::move(server_options)),
        handler(server_handler),
        tenants({options.connections_max, options.tenant_share}),
        addresses(options.connections_per_address, options.connections_max),
        memory(options.memory_bytes_max, options.tenant_share) {}

  const HttpServerOptions options;
  HttpHandler& handler;
  std::unique_ptr<TlsContext> tls;  // null: plain
  std::vector<std::shared_ptr<LoopInbox>> inboxes;

  std::atomic<std::size_t> connections = 0;
  std::atomic<std::size_t> in_flight = 0;
  TenantAccounts tenants;
  AddressShares addresses;
  MemoryAccount memory;
  std::atomic<std::size_t> pausing_loops = 0;  // loops with connections that wait for `in_flight`
  std::atomic<bool> draining = false;
  std::atomic<bool> stopping = false;

  std::mutex mutex;
  std::condition_variable changed;
  std::size_t drained_loops = 0;  // guarded by mutex
};

}  // namespace everstep
