#include "serve/access_tokens.h"

#include <gtest/gtest.h>
#include <sys/stat.h>

#include <fstream>
#include <iterator>
#include <set>
#include <thread>

#include "serve/checked_json.h"
#include "testing/manual_clock.h"
#include "testing/temporary_directory.h"

namespace everstep {
namespace {

using Refusal = AccessTokens::Refusal;
using std::chrono::hours;
using std::chrono::minutes;

class AccessTokensTest : public ::testing::Test {
 protected:
  AccessTokensTest() { Reopen(); }

  void Reopen() {
    auto opened = AccessTokens::Open(directory_.path(), clock_, random_);
    ASSERT_TRUE(opened) << ToString(opened.error());
    tokens_ = *std::move(opened);
  }
  std::string FileText(const std::string& name) const {
    std::ifstream file(directory_ / name);
    return {std::istreambuf_iterator<char>(file), {}};
  }
  void SetFile(const std::string& name, const std::string& text) const {
    std::ofstream(directory_ / name, std::ios::binary | std::ios::trunc) << text;
  }
  std::string AdminToken() const {
    std::string text = FileText("admin-token");
    EXPECT_TRUE(text.ends_with('\n'));
    if (!text.empty()) text.pop_back();
    return text;
  }
  NewToken Create(Role role, std::optional<Timestamp> expires = std::nullopt) {
    auto made = tokens_->Create({"ci", "t1", RoleSet(role), expires});
    EXPECT_TRUE(made);
    return *std::move(made);
  }
  Refusal Try(std::string_view token) { return tokens_->Authenticate(token).refusal; }

  TemporaryDirectory directory_;
  ManualClock clock_;
  SeededRandom random_{7};
  std::unique_ptr<AccessTokens> tokens_;
};

TEST_F(AccessTokensTest, ATenantAtItsTokenLimitDoesNotBlockOthers) {
  tokens_ = *AccessTokens::Open(directory_.path(), clock_, random_, {.live = 3, .ended = 2});
  const auto make = [this](const char* tenant, bool by_operator = false) {
    return tokens_->Create({"ci", tenant, RoleSet(Role::kViewer), std::nullopt, by_operator});
  };
  std::vector<NewToken> made;
  for (int i = 0; i < 3; ++i) made.push_back(*make("t1"));
  EXPECT_EQ(make("t1").error().code, ErrorCode::kInvalidArgument);
  EXPECT_TRUE(make("t2"));
  EXPECT_TRUE(make("t1", true)) << "the operator is not bound";
  // Revoked tokens make room at once, and only the latest ones are kept.
  for (const NewToken& token : made) {
    clock_.Advance(minutes(1));
    ASSERT_TRUE(tokens_->Revoke(token.view.token_id, "t1"));
  }
  EXPECT_TRUE(make("t1"));
  EXPECT_FALSE(tokens_->Get(made[0].view.token_id)) << "more than two have ended";
  EXPECT_TRUE(tokens_->Get(made[2].view.token_id)->revoked_at);
  for (int i = 0; i < 20; ++i) {
    clock_.Advance(minutes(1));
    ASSERT_TRUE(tokens_->Revoke(make("t1")->view.token_id, "t1"));
  }
  EXPECT_EQ(tokens_->List("t1").size(), 2U + 2U);
  EXPECT_EQ(tokens_->List("t2").size(), 1U);
}

TEST_F(AccessTokensTest, TheFirstStartWritesAnAdminTokenToItsOwnFile) {
  EXPECT_TRUE(tokens_->has_admin_token_file());
  const auto answer = tokens_->Authenticate(AdminToken());
  EXPECT_EQ(answer.refusal, Refusal::kNone);
  EXPECT_EQ(answer.caller.tenant_id, "default");
  EXPECT_TRUE(answer.caller.permissions.Has(Permission::kTokenManage));
  for (const std::string name : {"admin-token", "tokens.json"}) {
    struct stat found {};
    ASSERT_EQ(::stat((directory_ / name).c_str(), &found), 0);
    EXPECT_EQ(found.st_mode & 0777, 0600U) << name;
  }
}

TEST_F(AccessTokensTest, LaterStartsCreateNoTokenWhileAnAdminTokenIsValid) {
  const std::string admin = AdminToken();
  Reopen();
  EXPECT_EQ(AdminToken(), admin);
  EXPECT_TRUE(tokens_->has_admin_token_file());
  std::filesystem::remove(directory_ / "admin-token");
  Reopen();
  EXPECT_FALSE(tokens_->has_admin_token_file());
  EXPECT_EQ(Try(admin), Refusal::kNone);
  const std::string id = tokens_->List("default").front().token_id;
  ASSERT_TRUE(*tokens_->Revoke(id, "default"));
  Reopen();
  EXPECT_TRUE(tokens_->has_admin_token_file());
  EXPECT_EQ(Try(admin), Refusal::kRevoked);
  EXPECT_EQ(Try(AdminToken()), Refusal::kNone);
}

TEST_F(AccessTokensTest, ATokenIdentifiesItsTenantAndRoles) {
  const NewToken made = Create(Role::kOperator);
  EXPECT_TRUE(made.text.starts_with("est_" + made.view.token_id + "_"));
  for (int start = 0; start < 2; ++start) {
    const auto answer = tokens_->Authenticate(made.text);
    EXPECT_EQ(answer.refusal, Refusal::kNone);
    EXPECT_EQ(answer.caller.token_id, made.view.token_id);
    EXPECT_EQ(answer.caller.tenant_id, "t1");
    EXPECT_EQ(answer.caller.name, "ci");
    EXPECT_EQ(answer.caller.roles, RoleSet(Role::kOperator));
    EXPECT_EQ(answer.caller.permissions, PermissionsOf(RoleSet(Role::kOperator)));
    Reopen();
  }
}

TEST_F(AccessTokensTest, SecretsAreNotInTheFile) {
  const NewToken made = Create(Role::kOperator);
  const std::string secret = made.text.substr(made.text.rfind('_') + 1);
  EXPECT_EQ(secret.size(), 43U);
  const std::string file = FileText("tokens.json");
  EXPECT_NE(file.find(made.view.token_id), std::string::npos);
  EXPECT_EQ(file.find(secret), std::string::npos);
  EXPECT_NE(file.find(ToHex(Sha256(secret))), std::string::npos);
}

TEST_F(AccessTokensTest, InvalidTokensAreRefused) {
  const std::string good = Create(Role::kViewer).text;
  std::string wrong = good;
  wrong.back() = wrong.back() == 'a' ? 'b' : 'a';
  EXPECT_EQ(Try(wrong), Refusal::kUnknown);
  std::string stranger = good;
  stranger[4] = stranger[4] == 'a' ? 'b' : 'a';
  EXPECT_EQ(Try(stranger), Refusal::kUnknown);
  for (const std::string& text :
       {std::string(), std::string("est_"), std::string("est__"), good + "x",
        good.substr(0, good.size() - 1), "EST" + good.substr(3), good.substr(4), " " + good,
        std::string(10'000, 'e')}) {
    EXPECT_EQ(Try(text), Refusal::kMalformed) << text;
  }
}

TEST_F(AccessTokensTest, ATokenExpires) {
  const NewToken made = Create(Role::kViewer, clock_.Now() + hours(1));
  clock_.Advance(minutes(59));
  EXPECT_EQ(Try(made.text), Refusal::kNone);
  clock_.Advance(minutes(1));
  EXPECT_EQ(Try(made.text), Refusal::kExpired);
}

TEST_F(AccessTokensTest, ARevokedTokenIsRefusedForGood) {
  const NewToken made = Create(Role::kViewer);
  EXPECT_TRUE(*tokens_->Revoke(made.view.token_id, "t1"));
  EXPECT_TRUE(*tokens_->Revoke(made.view.token_id, "t1"));
  const auto answer = tokens_->Authenticate(made.text);
  EXPECT_EQ(answer.refusal, Refusal::kRevoked);
  EXPECT_EQ(answer.caller.token_id, made.view.token_id);
  Reopen();
  EXPECT_EQ(Try(made.text), Refusal::kRevoked);
}

TEST_F(AccessTokensTest, ARotatedOutSecretIsValidForTheGracePeriod) {
  const NewToken made = Create(Role::kViewer);
  const auto fresh = tokens_->Rotate(made.view.token_id, "t1", hours(1));
  ASSERT_TRUE(fresh && *fresh);
  EXPECT_EQ((*fresh)->view.token_id, made.view.token_id);
  EXPECT_EQ(Try(made.text), Refusal::kNone);
  EXPECT_EQ(Try((*fresh)->text), Refusal::kNone);
  Reopen();
  EXPECT_EQ(Try(made.text), Refusal::kNone);
  clock_.Advance(hours(1));
  EXPECT_EQ(Try(made.text), Refusal::kUnknown);
  EXPECT_EQ(Try((*fresh)->text), Refusal::kNone);
}

TEST_F(AccessTokensTest, TokensOfOtherTenantsAreNotFound) {
  const NewToken made = Create(Role::kViewer);
  EXPECT_FALSE(*tokens_->Revoke(made.view.token_id, "t2"));
  EXPECT_EQ(*tokens_->Revoke("nobody", "t1"), false);
  const auto rotated = tokens_->Rotate(made.view.token_id, "t2", hours(1));
  ASSERT_TRUE(rotated);
  EXPECT_FALSE(*rotated);
  EXPECT_TRUE(tokens_->List("t2").empty());
  EXPECT_EQ(tokens_->List("t1").size(), 1U);
  EXPECT_EQ(tokens_->List("").size(), 2U);
  EXPECT_EQ(Try(made.text), Refusal::kNone);
}

TEST_F(AccessTokensTest, RevokedTokensAreNotRotated) {
  const NewToken made = Create(Role::kViewer);
  ASSERT_TRUE(*tokens_->Revoke(made.view.token_id, "t1"));
  const auto rotated = tokens_->Rotate(made.view.token_id, "t1", hours(1));
  ASSERT_TRUE(rotated);
  EXPECT_FALSE(*rotated);
}

TEST_F(AccessTokensTest, BadRequestsMakeNoToken) {
  const RoleSet viewer(Role::kViewer);
  EXPECT_FALSE(tokens_->Create({"", "t1", viewer, {}}));
  EXPECT_FALSE(tokens_->Create({"x", "t 1", viewer, {}}));
  EXPECT_FALSE(tokens_->Create({"x", "t1", RoleSet(), {}}));
  EXPECT_FALSE(tokens_->Create({"x", "t1", viewer, clock_.Now()}));
  EXPECT_TRUE(tokens_->List("t1").empty());
}

TEST_F(AccessTokensTest, TheLastUseIsRecordedToTheMinute) {
  const NewToken made = Create(Role::kViewer);
  EXPECT_EQ(tokens_->Get(made.view.token_id)->last_used_at, std::nullopt);
  const Timestamp first = clock_.Now();
  (void)Try(made.text);
  clock_.Advance(std::chrono::seconds(59));
  (void)Try(made.text);
  EXPECT_EQ(tokens_->Get(made.view.token_id)->last_used_at, first);
  clock_.Advance(std::chrono::seconds(1));
  (void)Try(made.text);
  EXPECT_EQ(tokens_->Get(made.view.token_id)->last_used_at, clock_.Now());
  ASSERT_TRUE(tokens_->Save());
  Reopen();
  EXPECT_EQ(tokens_->Get(made.view.token_id)->last_used_at, clock_.Now());
}

TEST_F(AccessTokensTest, EndedTokensAreRemovedAfterRetention) {
  const NewToken made = Create(Role::kViewer);
  ASSERT_TRUE(*tokens_->Revoke(made.view.token_id, "t1"));
  clock_.Advance(hours(24 * 91));
  Create(Role::kViewer);
  EXPECT_FALSE(tokens_->Get(made.view.token_id));
}

TEST_F(AccessTokensTest, ADamagedFileIsNotOpened) {
  const std::string good = FileText("tokens.json");
  std::string no_role = good;
  no_role.replace(no_role.find("\"admin\"]"), 8, "\"boss\"]");
  for (const std::string& text :
       {std::string(), std::string("{}"), good.substr(0, 40), no_role, good + good,
        std::string(R"({"format":2,"generation":9,"tokens":[]})")}) {
    SetFile("tokens.json", text);
    const auto opened = AccessTokens::Open(directory_.path(), clock_, random_);
    ASSERT_FALSE(opened) << text;
    EXPECT_EQ(opened.error().code, ErrorCode::kStoreCorrupt);
    EXPECT_NE(opened.error().message.find("tokens.json"), std::string::npos);
  }
}

TEST_F(AccessTokensTest, AnOlderFileIsNotOpenedUnlessItIsAccepted) {
  const NewToken made = Create(Role::kViewer);
  const std::string older = FileText("tokens.json");
  ASSERT_TRUE(*tokens_->Revoke(made.view.token_id, "t1"));
  SetFile("tokens.json", older);
  const auto opened = AccessTokens::Open(directory_.path(), clock_, random_);
  ASSERT_FALSE(opened) << "a revoked token would be valid again";
  EXPECT_EQ(opened.error().code, ErrorCode::kStoreCorrupt);
  EXPECT_NE(opened.error().message.find("older than the last one"), std::string::npos);
  EXPECT_NE(opened.error().message.find("tokens.mark"), std::string::npos);
  std::filesystem::remove(directory_ / "tokens.mark");
  Reopen();
  EXPECT_EQ(Try(made.text), Refusal::kNone);
  EXPECT_NE(FileText("tokens.mark"), "") << "written again";
}

TEST_F(AccessTokensTest, AFileThatIsAheadOfItsMarkIsTheNewest) {
  const std::string mark = FileText("tokens.mark");
  const NewToken made = Create(Role::kViewer);
  SetFile("tokens.mark", mark);  // as a crash between the two writes leaves it
  Reopen();
  EXPECT_EQ(Try(made.text), Refusal::kNone);
  EXPECT_NE(FileText("tokens.mark"), mark);
  SetFile("tokens.mark", mark.substr(0, 20));
  const auto opened = AccessTokens::Open(directory_.path(), clock_, random_);
  ASSERT_FALSE(opened);
  EXPECT_EQ(opened.error().code, ErrorCode::kStoreCorrupt);
  EXPECT_NE(opened.error().message.find("tokens.mark"), std::string::npos);
}

TEST_F(AccessTokensTest, AFileOfFormatOneIsAcceptedOnceAndRewritten) {
  const NewToken made = Create(Role::kViewer);
  tokens_.reset();
  const std::string text = FileText("tokens.json");
  const std::size_t list = text.find("\"tokens\"");
  const std::string former =
      R"({"format":1,)" + text.substr(list, text.find(R"(,"crc32c")") - list) + "}\n";
  std::filesystem::remove(directory_ / "tokens.mark");
  SetFile("tokens.json", former);
  Reopen();
  EXPECT_EQ(Try(made.text), Refusal::kNone);
  EXPECT_NE(FileText("tokens.json").find(R"("format":2,"generation":1,)"), std::string::npos);
  SetFile("tokens.json", former);
  const auto again = AccessTokens::Open(directory_.path(), clock_, random_);
  ASSERT_FALSE(again) << "it is older than the file that replaced it";
  EXPECT_EQ(again.error().code, ErrorCode::kStoreCorrupt);
}

TEST_F(AccessTokensTest, AFileOfANewerFormatIsNotOpened) {
  SetFile("tokens.json", WithChecksum(R"({"format":3,"tokens":{}})"));
  const auto opened = AccessTokens::Open(directory_.path(), clock_, random_);
  ASSERT_FALSE(opened);
  EXPECT_EQ(opened.error().code, ErrorCode::kStoreFormatNewer);
}

TEST_F(AccessTokensTest, AFileThatWasLostIsNoticed) {
  EXPECT_FALSE(AccessTokens::HasLostFile(directory_.path()));
  EXPECT_EQ(*AccessTokens::CountValid(directory_.path(), clock_, random_), 1U);
  std::filesystem::remove(directory_ / "tokens.json");
  EXPECT_TRUE(AccessTokens::HasLostFile(directory_.path())) << "the mark is there";
  std::filesystem::remove(directory_ / "tokens.mark");
  EXPECT_TRUE(AccessTokens::HasLostFile(directory_.path())) << "the first admin's token is there";
  std::filesystem::remove(directory_ / "admin-token");
  EXPECT_FALSE(AccessTokens::HasLostFile(directory_.path()));
  std::ofstream(directory_ / "audit.log") << R"({"action":"a","tokenId":"dev"})"
                                          << "\n";
  EXPECT_FALSE(AccessTokens::HasLostFile(directory_.path())) << "there were none in development";
  std::ofstream(directory_ / "audit.log", std::ios::app) << R"({"tokenId":"abc"})"
                                                         << "\n";
  EXPECT_TRUE(AccessTokens::HasLostFile(directory_.path()));
}

TEST_F(AccessTokensTest, AFailedWriteChangesNothing) {
  const NewToken made = Create(Role::kViewer);
  std::filesystem::remove_all(directory_.path());
  EXPECT_FALSE(tokens_->Revoke(made.view.token_id, "t1"));
  EXPECT_FALSE(tokens_->Create({"x", "t1", RoleSet(Role::kViewer), {}}));
  EXPECT_EQ(Try(made.text), Refusal::kNone);
}

TEST_F(AccessTokensTest, ManyThreadsAuthenticateWhileTokensChange) {
  const NewToken made = Create(Role::kViewer);
  std::vector<std::thread> callers;
  std::atomic<int> refused{0};
  for (int i = 0; i < 3; ++i) {
    callers.emplace_back([&] {
      for (int k = 0; k < 500; ++k) {
        if (Try(made.text) != Refusal::kNone) ++refused;
      }
    });
  }
  for (int i = 0; i < 10; ++i) Create(Role::kViewer);
  for (std::thread& caller : callers) caller.join();
  EXPECT_EQ(refused, 0);
}

}  // namespace
}  // namespace everstep
