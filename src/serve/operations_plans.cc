// Plans and artifacts.

#include <algorithm>
#include <utility>

#include "base/json.h"
#include "base/sha256.h"
#include "engine/event_view.h"
#include "flow/plan_graph.h"
#include "serve/artifact_upload.h"
#include "serve/etag.h"
#include "serve/operations.h"
#include "serve/query_reader.h"
#include "wire/api_types.h"

namespace everstep {
namespace {

struct PlanList {
  std::vector<RegisteredPlan> plans;
  std::string cursor;  // of the next page; empty if this is the last
};
template <typename F>
void Describe(F& f, PlanList& list) {
  f.Required("plans", list.plans);
  f("cursor", list.cursor);
}

struct CheckedPlan {
  std::string plan_id;
  std::string plan_version;
  std::string sha256;
  std::uint64_t steps = 0;
  struct Warning {
    std::string code;
    Fault place;
  };
  std::vector<Warning> warnings;
};
template <typename F>
void Describe(F& f, CheckedPlan::Warning& warning) {
  f("code", warning.code);
  Describe(f, warning.place);
}
template <typename F>
void Describe(F& f, CheckedPlan& plan) {
  f("planId", plan.plan_id);
  f("planVersion", plan.plan_version);
  f("sha256", plan.sha256);
  f("steps", plan.steps);
  f.Required("warnings", plan.warnings);
}

// A cursor is derived from the last plan's registry name, with its NUL replaced by a bar.
std::string CursorOf(const RegisteredPlan& plan) { return plan.plan_id + "|" + plan.plan_version; }

std::string AfterOf(const std::string& cursor) {
  const std::size_t bar = cursor.rfind('|');
  if (bar == std::string::npos) return {};
  return PlanRegistry::NameOf(cursor.substr(0, bar), cursor.substr(bar + 1));
}

void AnswerPlans(Api& api, ApiCall& call, const std::string& plan_id) {
  QueryReader query(call.request().query);
  const std::string cursor = query.Text("cursor").value_or("");
  const auto limit = static_cast<std::size_t>(query.Integer("limit", 1, 1'000).value_or(100));
  if (!cursor.empty() && AfterOf(cursor).empty()) {
    query.Refuse("cursor", "is not a cursor returned by a previous page");
  }
  if (const Status read = query.Finish(); !read) return call.Fail(read.error());
  auto plans = api.plans().List(call.tenant(), plan_id, AfterOf(cursor), limit);
  if (!plans) return call.Fail(plans.error());
  if (plans->empty() && !plan_id.empty() && cursor.empty()) {
    return call.Fail(Error{ErrorCode::kPlanNotFound, "there is no plan " + plan_id, {}});
  }
  PlanList list{*std::move(plans), {}};
  if (list.plans.size() == limit) list.cursor = CursorOf(list.plans.back());
  call.Answer(list);
}

bool IsJsonText(std::string_view document) {
  const std::size_t first = document.find_first_not_of(" \t\r\n");
  return first != std::string_view::npos && document[first] == '{';
}

// Answers with an artifact: verifies its file first, so that damaged bytes are not served, then
// streams it piece by piece, as fast as the client reads.
class ArtifactSender : public std::enable_shared_from_this<ArtifactSender> {
 public:
  ArtifactSender(Api& api, CallPtr call, std::string sha256)
      : api_(api), call_(std::move(call)), party_(call_->party()), sha256_(std::move(sha256)) {}

  // Must be called on the pool. Keeps itself alive until done.
  void Begin() {
    if (Open()) Verify();
  }

 private:
  static constexpr std::size_t kQueuedMax = 256 << 10;
  static constexpr std::size_t kVerifiedPerTurn = 4 << 20;

  bool Open() {
    auto reader = api_.artifacts().NewReader("artifact:sha256:" + sha256_);
    if (!reader) {
      Refuse(reader.error());
      return false;
    }
    reader_ = *std::move(reader);
    return true;
  }
  void Verify() {
    std::size_t verified = 0;
    while (verified < kVerifiedPerTurn) {
      const auto piece = reader_->Next();
      if (!piece) return Refuse(piece.error());
      if (piece->empty()) {
        if (Open()) BeginStream();
        return;
      }
      verified += piece->size();
    }
    // Queue the rest, so that others get their turn on the pool.
    api_.RunOnPool(party_, [self = shared_from_this()] {
      if (!self->call_->is_abandoned()) self->Verify();
    });
  }
  // The artifact is known, so a missing file is as bad as a damaged one. The error may contain
  // local paths, which tenants must not see.
  void Refuse(const Error& error) {
    const bool is_damage =
        error.code == ErrorCode::kStoreCorrupt || error.code == ErrorCode::kArtifactNotFound;
    if (!is_damage) return call_->Fail(error);
    api_.Raised({"ARTIFACT_DAMAGED", "P1", "",
                 "the stored bytes of artifact " + sha256_ +
                     " are damaged or missing; restore artifacts/" + sha256_.substr(0, 2) + "/" +
                     sha256_ + " from a backup, or upload the same bytes again",
                 call_->tenant()});
    call_->Fail(HttpCode::kArtifactDamaged,
                "artifact " + sha256_ +
                    " is known, but its stored bytes are damaged or missing; upload the same bytes "
                    "again, or ask the operator to restore them from a backup");
  }
  void BeginStream() {
    ServerResponse head;
    // Prevent browsers from executing uploaded content.
    head.headers = {{"Content-Type", "application/octet-stream"},
                    {"Content-Disposition", "attachment; filename=\"" + sha256_ + "\""},
                    {"X-Content-Type-Options", "nosniff"},
                    {"ETag", "\"" + sha256_ + "\""}};
    stream_ = std::exchange(call_, nullptr)->Stream(std::move(head));
    stream_->OnChange([self = shared_from_this()] {
      self->api_.RunOnPool(self->party_, [self] { self->Send(); });
    });
    Send();
  }
  void Send() {
    const std::lock_guard lock(mutex_);
    while (!over_ && stream_->queued() < kQueuedMax) {
      const auto piece = reader_->Next();
      // The file was changed since it was verified. Leave the response incomplete, so that the
      // client does not accept it.
      if (!piece) return Finish(false);
      if (piece->empty()) return Finish(true);
      if (!stream_->Write(*piece)) return Finish(false);
    }
  }
  void Finish(bool whole) {
    over_ = true;
    stream_->OnChange({});
    if (whole) stream_->End();
  }

  Api& api_;
  CallPtr call_;  // null once the answer is streamed
  const std::string party_;
  const std::string sha256_;
  std::mutex mutex_;  // serializes Send
  std::unique_ptr<ArtifactStore::Reader> reader_;
  std::shared_ptr<ReplyStream> stream_;
  bool over_ = false;
};

// Identical bytes are stored once for all tenants. A tenant may read what it uploaded and what the
// engine recorded for one of the tenant's runs. A reference in an appended log proves nothing:
// anybody can write one.
Result<bool> IsTheirs(Api& api, const ApiCall& call, const std::string& sha256,
                      const std::string& run_id) {
  if (!DigestFromHex(sha256)) return false;
  const auto uploaded = api.artifact_owners().Has(call.tenant(), sha256);
  if (!uploaded || *uploaded || run_id.empty()) return uploaded;
  const auto run = RequireRun(*api.engine().store().Read(), RunId(run_id), call.tenant());
  if (!run && KindOf(run.error().code) == ErrorKind::kStore) return run.error();
  if (!run) return false;
  if (run->state.engine_run_ref != kOwnEngine) return false;
  const auto snapshot = api.log().Snapshot(run_id);
  if (!snapshot) return snapshot.error();
  if (snapshot->artifacts.empty()) return false;
  const auto made = DigestsOf(snapshot->artifacts);
  return made && std::ranges::find(*made, sha256) != made->end();
}

}  // namespace

void RegisterPlan(Api& api, CallPtr call) {
  const auto registered = api.plans().Register(call->tenant(), call->body(), api.ActorOf(*call).id);
  if (!registered) return call->Fail(registered.error());
  const RegisteredPlan& plan = registered->plan;
  call->Json(registered->existing ? 200 : 201, ToWire(plan),
             {{"Location", "/v1/plans/" + plan.plan_id + "/versions/" + plan.plan_version}});
}

void ListPlans(Api& api, CallPtr call) { AnswerPlans(api, *call, ""); }

void GetPlan(Api& api, CallPtr call) { AnswerPlans(api, *call, call->Parameter("planId")); }

void CheckPlan(Api& api, CallPtr call) {
  std::vector<PlanWarning> warnings;
  const auto plan = ReadPlan(call->body(), api.engine().library().audience(), &warnings);
  if (!plan) return call->Fail(plan.error());
  CheckedPlan checked;
  checked.plan_id = (*plan)->plan_id;
  checked.plan_version = (*plan)->plan_version;
  checked.sha256 = ToHex((*plan)->sha256);
  checked.steps = (*plan)->steps.size();
  for (const PlanWarning& warning : warnings) {
    checked.warnings.push_back(
        {warning.code, {warning.pointer, warning.message, warning.line, warning.column}});
  }
  call->Answer(checked);
}

void GetPlanVersion(Api& api, CallPtr call) {
  const auto plan =
      api.plans().Find(call->tenant(), call->Parameter("planId"), call->Parameter("version"));
  if (!plan) return call->Fail(plan.error());
  const std::string etag = "\"" + plan->sha256 + "\"";
  if (NoneMatchHas(call->request().Header("if-none-match"), etag)) {
    return call->Reply({304, {{"ETag", etag}}, {}});
  }
  auto document = api.plans().Document(*plan);
  if (!document) return call->Fail(document.error());
  ServerResponse response;
  response.headers = {
      {"Content-Type", IsJsonText(*document) ? "application/json" : "application/yaml"},
      {"ETag", etag}};
  response.body = *std::move(document);
  call->Reply(std::move(response));
}

void GetPlanGraph(Api& api, CallPtr call) {
  constexpr std::string_view kForms[] = {"mermaid", "dot", "terminal"};
  QueryReader query(call->request().query);
  const std::size_t form = query.Word("format", kForms).value_or(0);
  if (const Status read = query.Finish(); !read) return call->Fail(read.error());
  const auto plan =
      api.plans().Find(call->tenant(), call->Parameter("planId"), call->Parameter("version"));
  if (!plan) return call->Fail(plan.error());
  const auto compiled = api.plans().Compiled(*plan);
  if (!compiled) return call->Fail(compiled.error());
  call->Reply({200,
               {{"Content-Type", "text/plain; charset=utf-8"}},
               PlanGraph(**compiled, static_cast<GraphForm>(form))});
}

void PutArtifact(Api& api, CallPtr call) {
  QueryReader query(call->request().query);
  const std::string name = query.Text("name").value_or("");
  if (const Status read = query.Finish(); !read) return call->Fail(read.error());
  const std::string_view type = call->request().Header("content-type");
  ArtifactLabel label{"file", type.empty() ? "application/octet-stream" : std::string(type), name};
  std::make_shared<ArtifactUpload>(api, std::move(call), std::move(label))->Begin();
}

void GetArtifact(Api& api, CallPtr call) {
  QueryReader query(call->request().query);
  const std::string run_id = query.Text("runId").value_or("");
  if (const Status read = query.Finish(); !read) return call->Fail(read.error());
  const std::string& sha256 = call->Parameter("sha256");
  const auto theirs = IsTheirs(api, *call, sha256, run_id);
  if (!theirs) return call->Fail(theirs.error());
  if (!*theirs) {
    return call->Fail(
        Error{ErrorCode::kArtifactNotFound,
              "there is no artifact " + sha256 + " that this tenant uploaded or this run produced",
              {}});
  }
  const std::string etag = "\"" + sha256 + "\"";
  if (NoneMatchHas(call->request().Header("if-none-match"), etag)) {
    return call->Reply({304, {{"ETag", etag}}, {}});
  }
  std::make_shared<ArtifactSender>(api, std::move(call), sha256)->Begin();
}

}  // namespace everstep
