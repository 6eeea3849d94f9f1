// Damages every kind of file that a data folder has outside of the store, in every way that a disk,
// a file system or an operator might, at hundreds of places. Each case must end with everything
// there, or with a refusal or a report that names the file. docs/reliability.md contains the table
// that this test prints.

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <functional>
#include <map>
#include <string>
#include <vector>

#include "serve/access_tokens.h"
#include "serve/audit_log.h"
#include "testing/manual_clock.h"
#include "testing/temporary_directory.h"
#include "work/artifact_store.h"
#include "work/secret_file.h"

namespace everstep {
namespace {

namespace fs = std::filesystem;

std::string ReadFile(const fs::path& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}
void WriteFile(const fs::path& path, const std::string& bytes) {
  std::ofstream(path, std::ios::binary | std::ios::trunc) << bytes;
}

// How a case ended.
struct Outcome {
  enum class Kind : std::uint8_t { kAllThere, kRefused, kReported, kSilent };
  Kind kind = Kind::kSilent;
  std::string text;

  static Outcome AllThere() { return {Kind::kAllThere, {}}; }
  static Outcome Refused(const Error& error) { return {Kind::kRefused, ToString(error)}; }
  static Outcome Reported(std::string text) { return {Kind::kReported, std::move(text)}; }
  static Outcome Silent(std::string text) { return {Kind::kSilent, std::move(text)}; }
};

// A data folder as a server leaves it, and an earlier state of the same folder.
class Specimen {
 public:
  Specimen() {
    fs::create_directories(now());
    MakeTokens();
    MakeAudit(3);
    MakeSecrets();
    small_ = *artifacts(now()).Write("a small artifact", {"result"});
    large_ = *artifacts(now()).Write(std::string(200'000, 'x'), {"stdout"});
    fs::copy(now(), earlier(), fs::copy_options::recursive);
    // Not the artifacts and the secrets: an artifact never changes, and an older file of secrets
    // that its key opens is accepted.
    ChangeTokens();
    MakeAudit(5);
  }

  std::string now() const { return directory_ / "now"; }
  std::string earlier() const { return directory_ / "earlier"; }
  std::string scratch() const { return directory_ / "scratch"; }
  static ArtifactStore artifacts(const std::string& folder) {
    return ArtifactStore(folder + "/artifacts");
  }
  std::string FileOf(const ArtifactRef& ref) const {
    return "artifacts/" + ref.sha256.substr(0, 2) + "/" + ref.sha256;
  }
  const ArtifactRef& small() const { return small_; }
  const ArtifactRef& large() const { return large_; }

  Outcome JudgeTokens(const std::string& folder) {
    const bool lost = AccessTokens::HasLostFile(folder);
    const auto opened = AccessTokens::Open(folder, clock_, random_);
    if (!opened) return Outcome::Refused(opened.error());
    if (lost) return Outcome::Reported("tokens.json was lost");
    const auto refusal = [&](const NewToken& token) {
      return (*opened)->Authenticate(token.text).refusal;
    };
    const bool right = refusal(valid_) == AccessTokens::Refusal::kNone &&
                       refusal(revoked_) == AccessTokens::Refusal::kRevoked &&
                       (*opened)->List("").size() == 3;
    return right ? Outcome::AllThere() : Outcome::Silent("the tokens are different");
  }
  // The file is a copy for people. What counts is whether the token in it is accepted.
  Outcome JudgeAdminToken(const std::string& folder) {
    const auto opened = AccessTokens::Open(folder, clock_, random_);
    if (!opened) return Outcome::Refused(opened.error());
    std::string text = ReadFile(folder + "/admin-token");
    if (text.ends_with('\n')) text.pop_back();
    return (*opened)->Authenticate(text).refusal == AccessTokens::Refusal::kNone
               ? Outcome::AllThere()
               : Outcome::Reported("admin-token: refused by the server");
  }
  Outcome JudgeAudit(const std::string& folder) {
    const auto key = AuditKey::Read(folder + "/audit.key");
    if (!key) {
      return AuditLog::Open(folder, clock_, random_) ? Outcome::Silent("opened without its key")
                                                     : Outcome::Refused(key.error());
    }
    const auto verdict = VerifyAudit(folder, *key);
    if (!verdict) return Outcome::Refused(verdict.error());
    if (verdict->intact()) {
      return verdict->head.seq == 8 ? Outcome::AllThere() : Outcome::Silent("entries are missing");
    }
    // A server continues such a log, but neither hides nor forgets the damage.
    if (++reported_ % 4 == 0) {
      const auto log = AuditLog::Open(folder, clock_, random_);
      if (!log) return Outcome::Refused(log.error());
      const auto after = VerifyAudit(folder, *key);
      if ((*log)->broken().empty() && (!after || after->intact())) {
        return Outcome::Silent("a server hides the damage: " + verdict->reason);
      }
    }
    return Outcome::Reported("audit.log: " + verdict->reason);
  }
  Outcome JudgeSecrets(const std::string& folder) {
    const std::string path = folder + "/secrets";
    if (const auto known = HasSecretFile(path); !known) return Outcome::Refused(known.error());
    auto key = SecretFileKey::FromFile(path + ".key");
    if (!key) return Outcome::Refused(key.error());
    SecretFile secrets(path, *std::move(key), random_);
    const auto list = secrets.List();
    if (!list) return Outcome::Refused(list.error());
    const auto value = secrets.Get(SecretOwner::Tenant("acme"), {"", "file", "mail", ""});
    return list->size() == 2 && value && *value == "hunter2"
               ? Outcome::AllThere()
               : Outcome::Silent("the secrets are different");
  }
  Outcome JudgeArtifact(const std::string& folder, const ArtifactRef& ref) const {
    const auto bytes = artifacts(folder).Read(ref.uri);
    if (!bytes) return Outcome::Refused(bytes.error());
    return ToHex(Sha256(*bytes)) == ref.sha256 ? Outcome::AllThere()
                                               : Outcome::Silent("wrong bytes were returned");
  }

 private:
  void MakeTokens() {
    const auto tokens = *AccessTokens::Open(now(), clock_, random_);
    valid_ = *tokens->Create({"ci", "acme", RoleSet(Role::kViewer), std::nullopt});
    revoked_ = *tokens->Create({"leaked", "acme", RoleSet(Role::kAdmin), std::nullopt});
  }
  void ChangeTokens() {
    const auto tokens = *AccessTokens::Open(now(), clock_, random_);
    EXPECT_TRUE(*tokens->Revoke(revoked_.view.token_id, "acme"));
  }
  void MakeAudit(int entries) {
    const auto log = *AuditLog::Open(now(), clock_, random_);
    for (int i = 0; i < entries; ++i) {
      AuditEntry entry;
      entry.action = "cancelRun";
      entry.tenant_id = "acme";
      entry.detail = std::string(40, static_cast<char>('a' + i));
      EXPECT_TRUE(log->Append(entry));
    }
    EXPECT_TRUE(log->Sync());
  }
  void MakeSecrets() {
    const std::string path = now() + "/secrets";
    std::string key;
    while (key.size() < 32) key.push_back(static_cast<char>(random_.Next()));
    WriteFile(path + ".key", key);
    SecretFile secrets(path, {{}, key}, random_);
    EXPECT_TRUE(secrets.Set(SecretOwner::Tenant("acme"), "mail", "hunter2"));
    EXPECT_TRUE(secrets.Set(SecretOwner::Server(), "webhook", "whsec"));
  }

  TemporaryDirectory directory_;
  ManualClock clock_;
  SeededRandom random_{17};
  NewToken valid_;
  NewToken revoked_;
  ArtifactRef small_;
  ArtifactRef large_;
  int reported_ = 0;
};

struct Tally {
  int cases = 0;
  int all_there = 0;
  int refused = 0;
  int reported = 0;
};

class FileDamage : public testing::Test {
 protected:
  using Judge = std::function<Outcome(const std::string& folder)>;
  struct Part {
    std::string file;  // relative to the folder
    std::string kind;  // in the table
    std::string name;  // what a refusal must contain
    Judge judge;
  };

  FileDamage() {
    const auto add = [this](const std::string& file, const std::string& name, Judge judge) {
      parts_.push_back({file, file, name, std::move(judge)});
    };
    const auto tokens = [this](const std::string& folder) { return specimen_.JudgeTokens(folder); };
    const auto audit = [this](const std::string& folder) { return specimen_.JudgeAudit(folder); };
    const auto secrets = [this](const std::string& folder) {
      return specimen_.JudgeSecrets(folder);
    };
    add("tokens.json", "tokens.json", tokens);
    add("tokens.mark", "tokens.mark", tokens);
    add("admin-token", "admin-token",
        [this](const std::string& folder) { return specimen_.JudgeAdminToken(folder); });
    for (const char* file : {"audit.log", "audit.key", "audit.head"}) add(file, "audit.", audit);
    for (const char* file : {"secrets", "secrets.key"}) add(file, "secrets", secrets);
    for (const ArtifactRef* ref : {&specimen_.small(), &specimen_.large()}) {
      parts_.push_back(
          {specimen_.FileOf(*ref), "artifact", ref->sha256, [this, ref](const std::string& folder) {
             return specimen_.JudgeArtifact(folder, *ref);
           }});
    }
  }

  // One case: damages a fresh copy.
  void Try(const Part& part, const std::string& fault, const std::string& where,
           const std::function<void(const fs::path& file)>& damage) {
    const std::string scratch = specimen_.scratch();
    fs::remove_all(scratch);
    fs::copy(specimen_.now(), scratch, fs::copy_options::recursive);
    damage(fs::path(scratch) / part.file);
    const Outcome outcome = part.judge(scratch);
    const std::string what = part.file + ", " + fault + " " + where + ": " + outcome.text;
    Tally& tally = tallies_[{part.kind, fault}];
    ++tally.cases;
    switch (outcome.kind) {
      case Outcome::Kind::kAllThere:
        ++tally.all_there;
        return;
      case Outcome::Kind::kRefused:
        ++tally.refused;
        EXPECT_NE(outcome.text.find(part.name), std::string::npos) << what;
        return;
      case Outcome::Kind::kReported:
        ++tally.reported;
        EXPECT_NE(outcome.text.find(part.name), std::string::npos) << what;
        return;
      case Outcome::Kind::kSilent:
        break;
    }
    ADD_FAILURE() << what;
  }

  static std::vector<std::size_t> PlacesIn(const std::string& bytes, std::size_t count) {
    std::vector<std::size_t> places;
    for (std::size_t i = 0; i < std::min(count, bytes.size()); ++i) {
      places.push_back(bytes.size() * i / std::min(count, bytes.size()));
    }
    if (!bytes.empty() && places.back() != bytes.size() - 1) places.push_back(bytes.size() - 1);
    return places;
  }

  void DamageBytes(const Part& part) {
    const std::string bytes = ReadFile(fs::path(specimen_.now()) / part.file);
    int bit = 0;
    for (const std::size_t at : PlacesIn(bytes, 40)) {
      bit = (bit + 3) % 8;
      Try(part, "bit flipped", "at byte " + std::to_string(at), [&](const fs::path& file) {
        std::string damaged = bytes;
        damaged[at] = static_cast<char>(damaged[at] ^ (1 << bit));
        WriteFile(file, damaged);
      });
    }
    for (const std::size_t at : PlacesIn(bytes, 10)) {
      Try(part, "bytes of zeros", "at byte " + std::to_string(at), [&](const fs::path& file) {
        std::string damaged = bytes;
        damaged.replace(at, 64, std::min<std::size_t>(64, bytes.size() - at), '\0');
        WriteFile(file, damaged);
      });
      Try(part, "bytes removed", "at byte " + std::to_string(at), [&](const fs::path& file) {
        WriteFile(file, bytes.substr(0, at) + bytes.substr(std::min(bytes.size(), at + 7)));
      });
    }
    for (const std::size_t at : PlacesIn(bytes, 20)) {
      Try(part, "cut off", "at byte " + std::to_string(at),
          [&](const fs::path& file) { WriteFile(file, bytes.substr(0, at)); });
    }
    Try(part, "written twice", "", [&](const fs::path& file) { WriteFile(file, bytes + bytes); });
  }
  void Replace(const Part& part) {
    Try(part, "removed", "", [](const fs::path& file) { fs::remove(file); });
    for (const Part& other : parts_) {
      if (other.file == part.file) continue;
      Try(part, "replaced by another file", other.file, [&](const fs::path& file) {
        fs::copy_file(fs::path(specimen_.now()) / other.file, file,
                      fs::copy_options::overwrite_existing);
      });
    }
    Try(part, "replaced by its earlier version", "", [&](const fs::path& file) {
      fs::copy_file(fs::path(specimen_.earlier()) / part.file, file,
                    fs::copy_options::overwrite_existing);
    });
  }

  int Print() const {
    std::printf("| File | Fault | Cases | All there | Refused | Reported |\n");
    std::printf("|---|---|---:|---:|---:|---:|\n");
    Tally sum;
    for (const auto& [key, tally] : tallies_) {
      std::printf("| %s | %s | %d | %d | %d | %d |\n", key.first.c_str(), key.second.c_str(),
                  tally.cases, tally.all_there, tally.refused, tally.reported);
      sum.cases += tally.cases;
      sum.all_there += tally.all_there;
      sum.refused += tally.refused;
      sum.reported += tally.reported;
    }
    std::printf("| all | | %d | %d | %d | %d |\n", sum.cases, sum.all_there, sum.refused,
                sum.reported);
    return sum.cases;
  }

  Specimen specimen_;
  std::vector<Part> parts_;
  std::map<std::pair<std::string, std::string>, Tally> tallies_;
};

TEST_F(FileDamage, IsRefusedOrReported) {
  for (const Part& part : parts_) {
    ASSERT_EQ(part.judge(specimen_.now()).kind, Outcome::Kind::kAllThere)
        << part.file << ": " << part.judge(specimen_.now()).text;
  }
  for (const Part& part : parts_) {
    DamageBytes(part);
    Replace(part);
  }
  EXPECT_GE(Print(), 700);
}

}  // namespace
}  // namespace everstep
