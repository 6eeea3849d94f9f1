// Streams of runs, and the messages of the queue.

#include <utility>

#include "base/encoding.h"
#include "serve/last_event_id.h"
#include "serve/operations.h"
#include "serve/query_reader.h"
#include "serve/stream_follower.h"
#include "wire/wire.h"

namespace everstep {
namespace {

struct StreamView {
  std::string name;
  std::uint64_t chunks = 0;
  bool closed = false;
};
template <typename F>
void Describe(F& f, StreamView& stream) {
  f.Required("name", stream.name);
  f.Required("chunks", stream.chunks);
  f.Required("closed", stream.closed);
}
struct StreamList {
  std::vector<StreamView> streams;
  std::string next_after;
};
template <typename F>
void Describe(F& f, StreamList& list) {
  f.Required("streams", list.streams);
  f("nextAfter", list.next_after);
}
struct ChunkView {
  std::uint64_t index = 0;
  std::string data;  // base64
};
template <typename F>
void Describe(F& f, ChunkView& chunk) {
  f.Required("index", chunk.index);
  f.Required("data", chunk.data);
}
struct ChunkPage {
  std::vector<ChunkView> chunks;
  std::uint64_t count = 0;  // of the stream
  bool closed = false;
};
template <typename F>
void Describe(F& f, ChunkPage& page) {
  f.Required("chunks", page.chunks);
  f.Required("count", page.count);
  f.Required("closed", page.closed);
}
struct MessageView {
  std::string message_id;
  std::string topic;
  std::string group;
  std::string key;
  std::string state;
  std::uint32_t attempt = 1;
  Timestamp sent_at{};
  Timestamp due_at{};
  std::string last_error;
};
template <typename F>
void Describe(F& f, MessageView& message) {
  f.Required("messageId", message.message_id);
  f.Required("topic", message.topic);
  f("group", message.group);
  f("key", message.key);
  f.Required("state", message.state);
  f.Required("attempt", message.attempt);
  f.Required("sentAt", message.sent_at);
  f.Required("dueAt", message.due_at);
  f("lastError", message.last_error);
}
struct MessageList {
  std::vector<MessageView> messages;
  std::string next_after;
};
template <typename F>
void Describe(F& f, MessageList& list) {
  f.Required("messages", list.messages);
  f("nextAfter", list.next_after);
}

StreamName NameOf(const ApiCall& call) {
  return {call.tenant(), call.Parameter("runId"), call.Parameter("stream")};
}

MessageView ViewOf(const MessageQueue::Seen& seen) {
  const MessageHead& head = seen.head;
  const char* const state = head.dead ? "DEAD" : seen.under_way ? "DELIVERING" : "WAITING";
  return {head.id,      head.topic,   head.group,  head.key,       state,
          head.attempt, head.sent_at, head.due_at, head.last_error};
}

}  // namespace

void ListStreams(Api& api, CallPtr call) {
  QueryReader query(call->request().query);
  const std::string after = query.Text("after").value_or("");
  const auto limit = static_cast<std::size_t>(query.Integer("limit", 1, 1'000).value_or(1'000));
  if (const Status read = query.Finish(); !read) return call->Fail(read.error());
  const std::string& run_id = call->Parameter("runId");
  if (!api.FindRun(*call, run_id)) return;
  const auto names = api.streams().List(call->tenant(), run_id, after, limit);
  if (!names) return call->Fail(names.error());
  StreamList list;
  for (const std::string& name : *names) {
    const auto info = api.streams().Extent({call->tenant(), run_id, name});
    if (!info) return call->Fail(info.error());
    list.streams.push_back({name, info->chunks, info->closed});
  }
  if (names->size() == limit) list.next_after = names->back();
  call->Answer(list);
}

void ReadStream(Api& api, CallPtr call) {
  QueryReader query(call->request().query);
  const auto start = query.Integer("startIndex", INT64_MIN, INT64_MAX);
  const auto limit = static_cast<std::size_t>(query.Integer("limit", 1, 1'000).value_or(100));
  if (const Status read = query.Finish(); !read) return call->Fail(read.error());
  if (!api.FindRun(*call, call->Parameter("runId"))) return;
  const StreamName name = NameOf(*call);
  const auto info = api.streams().Extent(name);
  if (!info) return call->Fail(info.error());
  std::int64_t from = start.value_or(0);
  if (from < 0) from = std::max<std::int64_t>(0, static_cast<std::int64_t>(info->chunks) + from);
  if (call->request().Header("accept").find("text/event-stream") != std::string_view::npos) {
    // A reconnecting client reports what it has seen.
    const auto seen = LastEventId(call->request());
    if (!seen) return call->Fail(seen.error());
    if (*seen) from = static_cast<std::int64_t>(**seen) + 1;
    auto share = api.TakeStream(*call);
    if (!share) return;
    ServerResponse head;
    head.headers = {{"Content-Type", "text/event-stream"},
                    {"Cache-Control", "no-store"},
                    {"X-Accel-Buffering", "no"}};
    auto reply = call->Stream(std::move(head));
    std::make_shared<StreamFollower>(api.streams(), name, static_cast<std::uint64_t>(from),
                                     std::move(reply), *std::move(share),
                                     [&api, party = call->party()](std::function<void()> work) {
                                       api.RunOnPool(party, std::move(work));
                                     })
        ->Begin();
    return;
  }
  const auto page =
      api.streams().Read(name, static_cast<std::uint64_t>(from), limit, kPageBytesMax);
  if (!page) return call->Fail(page.error());
  ChunkPage answer;
  answer.count = page->info.chunks;
  answer.closed = page->info.closed;
  for (std::size_t i = 0; i < page->chunks.size(); ++i) {
    answer.chunks.push_back({page->first + i, Base64(page->chunks[i])});
  }
  call->Answer(answer);
}

void WriteStream(Api& api, CallPtr call) {
  QueryReader query(call->request().query);
  const bool close = query.Flag("close").value_or(false);
  if (const Status read = query.Finish(); !read) return call->Fail(read.error());
  if (!api.FindRun(*call, call->Parameter("runId"))) return;
  const StreamName name = NameOf(*call);
  if (!call->body().empty()) {
    const Status written = api.streams().Append(name, {call->body()}, call->IdOfKey());
    if (!written) return call->Fail(written.error());
  }
  if (close) {
    const Status closed = api.streams().Close(name);
    if (!closed) return call->Fail(closed.error());
  }
  const auto info = api.streams().Extent(name);
  if (!info) return call->Fail(info.error());
  call->Answer(StreamView{name.name, info->chunks, info->closed});
}

void ListMessages(Api& api, CallPtr call) {
  QueryReader query(call->request().query);
  const std::string after = query.Text("after").value_or("");
  const bool dead = query.Flag("dead").value_or(false);
  const auto limit = static_cast<std::size_t>(query.Integer("limit", 1, 1'000).value_or(100));
  if (const Status read = query.Finish(); !read) return call->Fail(read.error());
  MessageList list;
  for (const MessageQueue::Seen& seen : api.queue().List(call->tenant(), after, limit, dead)) {
    list.messages.push_back(ViewOf(seen));
  }
  if (list.messages.size() == limit) list.next_after = list.messages.back().message_id;
  call->Answer(list);
}

namespace {

void AnswerDead(ApiCall& call, const Result<bool>& found) {
  if (!found) return call.Fail(found.error());
  if (!*found) return call.Fail(Error{ErrorCode::kNotFound, "there is no such dead message", {}});
  call.Json(200, "{}");
}

}  // namespace

void ReplayMessage(Api& api, CallPtr call) {
  AnswerDead(*call, api.queue().Replay(call->tenant(), call->Parameter("messageId")));
}

void RemoveMessage(Api& api, CallPtr call) {
  AnswerDead(*call, api.queue().Remove(call->tenant(), call->Parameter("messageId")));
}

}  // namespace everstep
