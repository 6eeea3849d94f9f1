#include "serve/audit_log.h"

#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <atomic>
#include <csignal>
#include <fstream>
#include <iterator>
#include <sstream>
#include <thread>

#include "base/json.h"
#include "base/value.h"
#include "testing/manual_clock.h"
#include "testing/temporary_directory.h"

namespace everstep {
namespace {

class AuditLogTest : public ::testing::Test {
 protected:
  AuditLogTest() { Reopen(); }

  void Close() { log_.reset(); }
  void Reopen() {
    Close();
    auto opened = AuditLog::Open(directory_.path(), clock_, random_);
    ASSERT_TRUE(opened) << ToString(opened.error());
    log_ = *std::move(opened);
  }
  void Append(const std::string& action, const std::string& tenant = "t1") {
    AuditEntry entry;
    entry.action = action;
    entry.tenant_id = tenant;
    entry.status = 200;
    ASSERT_TRUE(log_->Append(entry));
  }
  void AppendFive() {
    for (int i = 1; i <= 5; ++i) Append("act" + std::to_string(i));
    ASSERT_TRUE(log_->Sync());
  }
  std::string Path(const std::string& name) const { return directory_ / name; }
  std::string FileText(const std::string& name) const {
    std::ifstream file(Path(name), std::ios::binary);
    return {std::istreambuf_iterator<char>(file), {}};
  }
  void SetFile(const std::string& name, const std::string& text) const {
    std::ofstream(Path(name), std::ios::binary) << text;
  }
  std::vector<std::string> Lines() const {
    std::istringstream in(FileText("audit.log"));
    std::vector<std::string> lines;
    for (std::string line; std::getline(in, line);) lines.push_back(line);
    return lines;
  }
  void SetLines(const std::vector<std::string>& lines) const {
    std::string text;
    for (const std::string& line : lines) text += line + "\n";
    SetFile("audit.log", text);
  }
  AuditVerdict Verify() const {
    const auto key = AuditKey::Read(Path("audit.key"));
    EXPECT_TRUE(key);
    const auto verdict = VerifyAudit(directory_.path(), *key);
    EXPECT_TRUE(verdict);
    return *verdict;
  }
  std::vector<std::string> Actions() const {
    std::vector<std::string> actions;
    for (const std::string& line : Lines()) {
      const auto value = ValueFromJson(line);
      actions.push_back(value ? value->Get("action").text() : "?");
    }
    return actions;
  }

  TemporaryDirectory directory_;
  ManualClock clock_;
  SeededRandom random_{3};
  std::unique_ptr<AuditLog> log_;
};

TEST_F(AuditLogTest, EntriesAreJsonLinesChainedToThePreviousOne) {
  AuditEntry entry{"ci", "tok1", "t1",           "cancelRun", "POST",  "/v1/runs/r1/cancel",
                   "r1", 403,    "AUTHZ_DENIED", "10.0.0.1",  "req-1", "because \"x\"\n"};
  ASSERT_EQ(*log_->Append(entry), 1U);
  Append("second");
  ASSERT_TRUE(log_->Sync());
  const auto lines = Lines();
  ASSERT_EQ(lines.size(), 2U);
  const auto first = ValueFromJson(lines[0]);
  const auto second = ValueFromJson(lines[1]);
  ASSERT_TRUE(first && second);
  EXPECT_EQ(first->Get("seq").int_value(), 1);
  EXPECT_EQ(first->Get("at").text(), FormatTimestamp(clock_.Now()));
  EXPECT_EQ(first->Get("actor").text(), "ci");
  EXPECT_EQ(first->Get("status").int_value(), 403);
  EXPECT_EQ(first->Get("code").text(), "AUTHZ_DENIED");
  EXPECT_EQ(first->Get("detail").text(), "because \"x\"\n");
  EXPECT_EQ(first->Get("prev").text(), kAuditStart);
  EXPECT_EQ(second->Get("prev"), first->Get("hash"));
  EXPECT_TRUE(second->Get("actor").undefined());
  EXPECT_TRUE(Verify().intact());
  EXPECT_EQ(Verify().head, log_->head());
}

TEST_F(AuditLogTest, ALineWithoutItsHashIsCanonicalJson) {
  const AuditEntry entry{
      "a\"\\\x01\n\t\b\x7f", "ü☃𝄞", "\xff", "x", "POST", "/é", "r", 204, "C", "::1", "q", "</d>"};
  const AuditLine line = MakeAuditLine(entry, 12'345, clock_.Now(), kAuditStart, log_->key(), 9);
  const std::string body = line.text.substr(0, line.text.rfind(",\"hash\"")) + "}";
  const auto canonical = CanonicalJson(body);
  ASSERT_TRUE(canonical);
  EXPECT_EQ(*canonical, body);
}

TEST_F(AuditLogTest, AnonymousEntriesAreRateLimitedAndTheRestCounted) {
  constexpr std::size_t kTaken = AuditLog::kAnonymousPerMinute;
  AuditEntry refused;
  refused.action = "listRuns";
  refused.anonymous = true;
  for (std::size_t i = 0; i < kTaken; ++i) ASSERT_EQ(*log_->Append(refused), i + 1);
  for (int i = 0; i < 1'000; ++i) ASSERT_EQ(*log_->Append(refused), 0U);
  Append("known");  // entries of known callers are always accepted
  for (int i = 0; i < 7; ++i) ASSERT_EQ(*log_->Append(refused), 0U);
  clock_.Advance(std::chrono::minutes(1));
  ASSERT_EQ(*log_->Append(refused), kTaken + 2);
  ASSERT_EQ(*log_->Append(refused), kTaken + 3);
  ASSERT_TRUE(log_->Sync());
  const auto lines = Lines();
  ASSERT_EQ(lines.size(), kTaken + 3);
  const auto left_out = [&](std::size_t i) { return ValueFromJson(lines[i])->Get("leftOut"); };
  EXPECT_TRUE(left_out(kTaken - 1).undefined());
  EXPECT_EQ(left_out(kTaken).int_value(), 1'000);
  EXPECT_EQ(left_out(kTaken + 1).int_value(), 7);
  EXPECT_TRUE(left_out(kTaken + 2).undefined());
  EXPECT_TRUE(Verify().intact());
}

TEST_F(AuditLogTest, TheChainContinuesAfterAReopen) {
  AppendFive();
  Reopen();
  Append("act6");
  ASSERT_TRUE(log_->Sync());
  EXPECT_EQ(Verify().head.seq, 6U);
  EXPECT_TRUE(Verify().intact());
}

TEST_F(AuditLogTest, FilesAreReadableByTheOwnerOnly) {
  for (const std::string name : {"audit.log", "audit.key", "audit.head"}) {
    struct stat found {};
    ASSERT_EQ(::stat(Path(name).c_str(), &found), 0);
    EXPECT_EQ(found.st_mode & 0777, 0600U) << name;
  }
}

TEST_F(AuditLogTest, AChangedEntryIsDetected) {
  AppendFive();
  auto lines = Lines();
  lines[2].replace(lines[2].find("act3"), 4, "act9");
  SetLines(lines);
  EXPECT_EQ(Verify().line, 3U);
  EXPECT_EQ(Verify().reason, "the entry was changed, or was written without the key");
}

TEST_F(AuditLogTest, EveryChangedByteIsDetected) {
  AppendFive();
  const std::string good = FileText("audit.log");
  for (std::size_t i = 0; i < good.size(); i += 7) {
    std::string bad = good;
    bad[i] = static_cast<char>(bad[i] ^ 1);
    SetFile("audit.log", bad);
    EXPECT_FALSE(Verify().intact()) << i;
  }
}

TEST_F(AuditLogTest, RemovedEntriesAreDetected) {
  AppendFive();
  auto lines = Lines();
  lines.erase(lines.begin() + 1);
  SetLines(lines);
  EXPECT_EQ(Verify().line, 2U);
  EXPECT_EQ(Verify().reason,
            "entry 3 found in place of entry 2: entries were removed, added or moved");
}

TEST_F(AuditLogTest, ReorderedAndRepeatedEntriesAreDetected) {
  AppendFive();
  const auto good = Lines();
  auto lines = good;
  std::swap(lines[1], lines[2]);
  SetLines(lines);
  EXPECT_EQ(Verify().line, 2U);
  lines = good;
  lines.push_back(good.back());
  SetLines(lines);
  EXPECT_EQ(Verify().line, 6U);
}

TEST_F(AuditLogTest, EntriesRemovedAtTheEndAreDetectedByTheHead) {
  AppendFive();
  auto lines = Lines();
  lines.pop_back();
  SetLines(lines);
  EXPECT_EQ(Verify().line, 0U);
  EXPECT_EQ(Verify().reason, "the log ends with entry 4, but audit.head names entry 5");
  SetFile("audit.head", "");
  EXPECT_NE(Verify().reason.find("audit.head is missing"), std::string::npos);
}

TEST_F(AuditLogTest, ARemovedLogIsDetected) {
  AppendFive();
  Close();
  ASSERT_EQ(::unlink(Path("audit.log").c_str()), 0);
  const AuditVerdict verdict = Verify();
  EXPECT_FALSE(verdict.intact());
  EXPECT_EQ(verdict.reason, "audit.log is missing");
}

TEST_F(AuditLogTest, EntriesForgedWithoutTheKeyAreDetected) {
  AppendFive();
  SeededRandom other(99);
  const AuditKey forged = AuditKey::Make(other);
  auto lines = Lines();
  const auto prev = ValueFromJson(lines[4])->Get("prev").text();
  AuditEntry entry;
  entry.action = "harmless";
  lines[4] = MakeAuditLine(entry, 5, clock_.Now(), prev, forged).text;
  SetLines(lines);
  EXPECT_EQ(Verify().line, 5U);
}

TEST_F(AuditLogTest, ATornLastLineIsCutAndTheCutRecorded) {
  AppendFive();
  Close();
  SetFile("audit.log", FileText("audit.log") + "{\"action\":\"half");
  EXPECT_TRUE(Verify().intact());
  EXPECT_EQ(Verify().torn_bytes, 15U);
  Reopen();
  EXPECT_EQ(Actions().back(), "audit.cut");
  EXPECT_EQ(Lines().size(), 6U);
  EXPECT_TRUE(Verify().intact());
}

TEST_F(AuditLogTest, IntactEntriesAfterTheHeadAreKept) {
  AppendFive();
  const std::string head = FileText("audit.head");
  Append("act6");
  Append("act7");
  ASSERT_TRUE(log_->Sync());
  Close();
  SetFile("audit.head", head);
  Reopen();
  EXPECT_EQ(Lines().size(), 7U);
  Append("act8");
  ASSERT_TRUE(log_->Sync());
  EXPECT_TRUE(Verify().intact());
}

TEST_F(AuditLogTest, ATruncatedLogIsContinuedAndTheLossRecorded) {
  AppendFive();
  Close();
  auto lines = Lines();
  lines.resize(3);
  SetLines(lines);
  SetFile("audit.log", FileText("audit.log") + "{\"half");
  Reopen();
  EXPECT_EQ(Actions().back(), "audit.broken");
  EXPECT_FALSE(Verify().intact());
  EXPECT_EQ(Verify().line, 4U);
  EXPECT_EQ(log_->head().seq, 6U);
  Reopen();
  EXPECT_EQ(Lines().size(), 5U);
}

TEST_F(AuditLogTest, AMissingHeadIsRecorded) {
  AppendFive();
  Close();
  std::filesystem::remove(Path("audit.head"));
  Reopen();
  EXPECT_EQ(Actions().back(), "audit.broken");
  EXPECT_NE(log_->broken().find("audit.head is missing"), std::string::npos) << log_->broken();
  Reopen();
  EXPECT_EQ(log_->broken(), "");
}

TEST_F(AuditLogTest, ALogWithoutItsKeyIsNotOpened) {
  AppendFive();
  Close();
  std::filesystem::remove(Path("audit.key"));
  const auto opened = AuditLog::Open(directory_.path(), clock_, random_);
  ASSERT_FALSE(opened);
  EXPECT_EQ(opened.error().code, ErrorCode::kStoreNotFound);
  // Nor if only the head is left to show that there was a log.
  std::filesystem::remove(Path("audit.log"));
  const auto emptied = AuditLog::Open(directory_.path(), clock_, random_);
  ASSERT_FALSE(emptied);
  EXPECT_EQ(emptied.error().code, ErrorCode::kStoreNotFound);
  // A crash during the first start leaves the head of an empty log without a key.
  for (const char* name : {"audit.log", "audit.head"}) std::filesystem::remove(Path(name));
  Reopen();
  Close();
  for (const char* name : {"audit.log", "audit.key"}) std::filesystem::remove(Path(name));
  Reopen();
}

TEST_F(AuditLogTest, CallersAreNotifiedWhenTheirEntryIsDurable) {
  std::atomic<int> answers{0};
  AuditEntry entry;
  entry.action = "x";
  for (int i = 0; i < 3; ++i) {
    ASSERT_TRUE(log_->Append(entry, [&](const Status& status) { answers += status ? 1 : 100; }));
  }
  ASSERT_TRUE(log_->Sync());
  EXPECT_EQ(answers, 3);
  EXPECT_EQ(log_->head().seq, 3U);
}

TEST_F(AuditLogTest, FailedWritesAreRetriedWhenTheDiskHasRoomAgain) {
  AppendFive();
  const auto former = std::signal(SIGXFSZ, SIG_IGN);
  struct rlimit normal {};
  ASSERT_EQ(::getrlimit(RLIMIT_FSIZE, &normal), 0);
  struct rlimit tight = normal;
  tight.rlim_cur = FileText("audit.log").size() + 10;
  ASSERT_EQ(::setrlimit(RLIMIT_FSIZE, &tight), 0);
  Append("act6");
  const Status refused = log_->Sync();
  const auto lines = Lines().size();
  ASSERT_EQ(::setrlimit(RLIMIT_FSIZE, &normal), 0);
  std::signal(SIGXFSZ, former);
  EXPECT_FALSE(refused);
  EXPECT_EQ(lines, 5U);
  Append("act7");
  ASSERT_TRUE(log_->Sync());
  EXPECT_EQ(Lines().size(), 7U);
  EXPECT_TRUE(Verify().intact());
}

TEST_F(AuditLogTest, ManyThreadsMakeOneChain) {
  std::vector<std::thread> callers;
  for (int i = 0; i < 4; ++i) {
    callers.emplace_back([&] {
      for (int k = 0; k < 50; ++k) Append("a");
      EXPECT_TRUE(log_->Sync());
    });
  }
  for (std::thread& caller : callers) caller.join();
  EXPECT_EQ(log_->head().seq, 200U);
  EXPECT_TRUE(Verify().intact());
}

TEST_F(AuditLogTest, PagesFilterTheLogByTenant) {
  for (int i = 0; i < 1'000; ++i) Append("a", i % 3 == 0 ? "t1" : "t2");
  ASSERT_TRUE(log_->Sync());
  std::vector<std::int64_t> seqs;
  AuditQuery query{0, 100, "t1"};
  for (bool more = true; more;) {
    const auto page = log_->Read(query);
    ASSERT_TRUE(page);
    EXPECT_LE(page->entries.size(), 100U);
    for (const std::string& entry : page->entries) {
      seqs.push_back(ValueFromJson(entry)->Get("seq").int_value());
    }
    more = page->more;
    query.after = page->next_after;
  }
  ASSERT_EQ(seqs.size(), 334U);
  for (std::size_t i = 0; i < seqs.size(); ++i) {
    EXPECT_EQ(seqs[i], static_cast<std::int64_t>(3 * i + 1));
  }
  const auto late = log_->Read({995, 2, ""});
  ASSERT_TRUE(late);
  EXPECT_EQ(late->entries.size(), 2U);
  EXPECT_EQ(late->next_after, 997U);
  EXPECT_TRUE(late->more);
  EXPECT_TRUE(log_->Read({1'000, 2, ""})->entries.empty());
}

TEST_F(AuditLogTest, ATenantIdInsideATextDoesNotMatchTheFilter) {
  AuditEntry entry;
  entry.action = "x\",\"tenantId\":\"t9\",";
  entry.tenant_id = "t1";
  ASSERT_TRUE(log_->Append(entry));
  ASSERT_TRUE(log_->Sync());
  EXPECT_TRUE(log_->Read({0, 10, "t9"})->entries.empty());
  EXPECT_EQ(log_->Read({0, 10, "t1"})->entries.size(), 1U);
}

TEST_F(AuditLogTest, ForgedLinesAreNotShown) {
  AppendFive();
  auto lines = Lines();
  lines[1].replace(lines[1].find("act2"), 4, "act9");
  SetLines(lines);
  const auto page = log_->Read({0, 10, ""});
  ASSERT_TRUE(page);
  EXPECT_EQ(page->entries.size(), 4U);
  EXPECT_EQ(page->broken, 1U);
}

TEST_F(AuditLogTest, PagesReportEntriesThatAreMissing) {
  AppendFive();
  auto lines = Lines();
  lines.erase(lines.begin() + 1, lines.begin() + 3);
  SetLines(lines);
  const auto page = log_->Read({0, 10, ""});
  ASSERT_TRUE(page);
  EXPECT_EQ(page->entries.size(), 3U);
  EXPECT_EQ(page->broken, 2U);
  EXPECT_EQ(log_->Read({3, 10, ""})->broken, 0U) << "they are before this page";
}

TEST_F(AuditLogTest, LongTextsAreCut) {
  AuditEntry entry;
  entry.action = "x";
  entry.path = std::string(100'000, '\x01');
  ASSERT_TRUE(log_->Append(entry));
  ASSERT_TRUE(log_->Sync());
  EXPECT_LT(FileText("audit.log").size(), 20'000U);
  EXPECT_TRUE(Verify().intact());
}

}  // namespace
}  // namespace everstep
