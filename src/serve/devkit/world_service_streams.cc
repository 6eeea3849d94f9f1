// The streams of runs.

#include <algorithm>
#include <cmath>
#include <utility>

#include "serve/devkit/world_service.h"

namespace everstep {
namespace {

constexpr std::size_t kChunksPerRead = 1000;
constexpr std::size_t kChunkBytesPerRead = 4 << 20;
constexpr std::size_t kNamesPerRead = 1000;
constexpr std::uint64_t kWaitMostMs = 60'000;

StreamName StreamOf(const ApiCall& call, const CborItem& args) {
  return {call.tenant(), std::string(args.Text("runId")), std::string(args.Text("name"))};
}

// The index where a reader begins; a negative index counts from the end.
std::uint64_t StartOf(const CborItem& args, const StreamExtent& info) {
  constexpr double kMost = 1e15;
  const CborItem* start = args.Find("startIndex");
  if (start == nullptr) return 0;
  double wanted = start->AsNumber();
  if (std::isnan(wanted)) return 0;
  if (wanted < 0) wanted += static_cast<double>(info.chunks);
  return static_cast<std::uint64_t>(std::clamp(wanted, 0.0, kMost));
}

}  // namespace

// All writes of a request become durable together.
void WorldService::WriteStreams(const ApiCall& call, std::vector<One>& calls) {
  std::vector<StreamWrite> writes;
  std::vector<One*> asked;
  for (One& one : calls) {
    const std::string_view method = one.args->Text("m");
    const bool close = method == "streams.close";
    if (one.error || (!close && method != "streams.write")) continue;
    StreamWrite write{StreamOf(call, *one.args), {}, {}, close};
    if (!close) {
      write.request_id = one.args->Text("requestId");
      if (const CborItem* list = one.args->Find("chunks")) {
        for (const CborItem& chunk : list->items) write.chunks.emplace_back(chunk.text);
      }
    }
    writes.push_back(std::move(write));
    asked.push_back(&one);
  }
  if (asked.empty()) return;
  const std::vector<Status> written = parts_.streams.Write(std::move(writes));
  for (std::size_t i = 0; i < asked.size(); ++i) {
    if (!written[i]) {
      asked[i]->error = WorldErrorOf(written[i].error());
      continue;
    }
    CborWriter cbor(asked[i]->answer);
    cbor.BeginMap();
    cbor.End();
  }
}

bool WorldService::WaitsForStream(const CallPtr& call, const std::shared_ptr<CborItem>& request) {
  const CborItem* list = request->Find("calls");
  if (list->items.size() != 1 || list->items[0].Text("m") != "streams.read") return false;
  const CborItem& args = list->items[0];
  const std::chrono::milliseconds wait(std::min(args.Uint("waitMs"), kWaitMostMs));
  if (wait.count() == 0) return false;
  const StreamName stream = StreamOf(*call, args);
  const auto info = parts_.streams.Extent(stream);
  if (!info) return false;
  const std::uint64_t from = StartOf(args, *info);
  if (info->closed || info->chunks > from) return false;
  call->ReleaseReserve();
  // Many readers may wait for one chunk. Their answers are made by a few threads, one after
  // another, so that few of them are in memory at once.
  return parts_.streams.WhenGrown(stream, from, wait, [this, call, request] {
    parts_.later(call->party(), [this, call, request] { AnswerAlone(call, *request); });
  });
}

void WorldService::AnswerAlone(const CallPtr& call, const CborItem& request) {
  if (call->is_abandoned()) return;
  if (!call->ReserveAnswer(2 * kChunkBytesPerRead)) return call->FailForMemory();
  One one;
  one.args = &request.Find("calls")->items[0];
  Answer(*call, SpecIn(request), one);
  std::string body;
  CborWriter cbor(body);
  cbor.ArrayOf(1);
  WriteAnswer(one, body);
  call->Reply({200, {{"Content-Type", "application/cbor"}}, std::move(body)});
}

WorldOutcome WorldService::ReadStream(const ApiCall& call, const CborItem& args, CborWriter& cbor) {
  const StreamName stream = StreamOf(call, args);
  const auto info = parts_.streams.Extent(stream);
  if (!info) return WorldErrorOf(info.error());
  const std::size_t limit =
      std::clamp<std::size_t>(args.Uint("limit", kChunksPerRead), 1, kChunksPerRead);
  const auto page = parts_.streams.Read(stream, StartOf(args, *info), limit, kChunkBytesPerRead);
  if (!page) return WorldErrorOf(page.error());
  cbor.BeginMap();
  cbor.Member("first", page->first);
  cbor.Key("chunks");
  cbor.BeginArray();
  for (const std::string& chunk : page->chunks) cbor.Bytes(chunk);
  cbor.End();
  cbor.Member("count", page->info.chunks);
  cbor.Member("done", page->info.closed);
  cbor.End();
  return std::nullopt;
}

WorldOutcome WorldService::ListStreams(const ApiCall& call, const CborItem& args,
                                       CborWriter& cbor) {
  const std::size_t limit =
      std::clamp<std::size_t>(args.Uint("limit", kNamesPerRead), 1, kNamesPerRead);
  const auto names = parts_.streams.List(call.tenant(), std::string(args.Text("runId")),
                                         std::string(args.Text("after")), limit);
  if (!names) return WorldErrorOf(names.error());
  cbor.BeginArray();
  for (const std::string& name : *names) cbor.Text(name);
  cbor.End();
  return std::nullopt;
}

}  // namespace everstep
