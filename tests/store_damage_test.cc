// Damages every kind of file of a store in every way that a disk, a file system or an operator
// might, at hundreds of places. Each case must end either with all data intact or with a refusal
// that names the damage. docs/reliability.md contains the table that this test prints.

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <functional>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "engine/verify.h"
#include "store/salvage.h"
#include "store/state_store.h"
#include "testing/store_workbench.h"
#include "testing/temporary_directory.h"

namespace everstep {
namespace {

namespace fs = std::filesystem;
using enum EventType;

constexpr StoreOptions kSmallBuffers{.write_buffer_bytes = 2 << 20};

std::string ReadFile(const fs::path& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}
void WriteFile(const fs::path& path, const std::string& bytes) {
  std::ofstream(path, std::ios::binary | std::ios::trunc) << bytes;
}

std::string KindOf(const std::string& name) {
  if (name.ends_with(".log")) return "write-ahead log";
  if (name.ends_with(".sst")) return "table";
  if (name.starts_with("MANIFEST")) return "MANIFEST";
  if (name.starts_with("OPTIONS")) return "OPTIONS";
  return name;
}

// A store with rows in tables and in several log files, as it is while its owner is alive, and an
// earlier snapshot of it.
class Specimen {
 public:
  Specimen() {
    auto opened = OpenRocksdbStore(owned_, kSmallBuffers);
    EXPECT_TRUE(opened) << ToString(opened.error());
    bench_.emplace(std::move(*opened));
    Fill(0, 40);
    EXPECT_TRUE(bench_->store().Compact());
    Fill(40, 60);
    CopyWhileOpen(earlier_);
    Fill(60, 140);
    CopyWhileOpen(killed_);
    bench_->Close();
    fs::copy(owned_, closed_);
  }

  // The files as left by a killed process, or by an orderly shutdown.
  const std::string& files(bool killed) const { return killed ? killed_ : closed_; }
  const std::string& earlier() const { return earlier_; }
  std::string scratch() const { return directory_ / "scratch"; }

  // Compares an opened store with the original. Returns an empty string if everything is there,
  // otherwise the error of the first refused read. Data missing without an error fails the test.
  std::string Compare(StateStore& store, const std::string& what) const {
    const auto reader = store.Read();
    for (const RunScribe* scribe : runs_) {
      const auto run = reader->FindRun(scribe->run_id());
      if (!run) return Refusal(run.error(), what);
      EXPECT_TRUE(*run) << what << ": " << scribe->run_id().value()
                        << " is missing without an error";
      if (!*run) return {};
      const auto events = reader->ReadEvents(**run, {});
      if (!events) return Refusal(events.error(), what);
      EXPECT_TRUE(*events == scribe->log())
          << what << ": " << events->size() << " of " << scribe->log().size() << " events of "
          << scribe->run_id().value() << " without an error";
      if (*events != scribe->log()) return {};
    }
    return {};
  }
  // Every run must be there up to its first gap, and runs with a gap must be reported.
  void ExpectPrefixes(StateStore& store,
                      const std::map<std::string, const SalvagedRun*>& incomplete, bool damaged,
                      const std::string& what) const {
    const auto reader = store.Read();
    for (const RunScribe* scribe : runs_) {
      const std::string& id = scribe->run_id().value();
      const auto reported = incomplete.find(id);
      const auto run = reader->FindRun(scribe->run_id());
      ASSERT_TRUE(run) << what;
      const auto events = *run ? reader->ReadEvents(**run, {}) : std::vector<Event>();
      ASSERT_TRUE(events) << what << ": " << ToString(events.error());
      ASSERT_TRUE(std::ranges::equal(*events, std::span(scribe->log()).first(events->size())))
          << what << ": " << id;
      if (reported != incomplete.end()) {
        EXPECT_EQ(reported->second->events_kept, events->size()) << what << ": " << id;
        EXPECT_FALSE(reported->second->missing.empty()) << what << ": " << id;
      } else {
        // With damage, possibly no trace is left of a run's last events.
        EXPECT_TRUE(events->size() == scribe->log().size() || damaged) << what << ": " << id;
      }
    }
  }
  static std::string Refusal(const Error& error, const std::string& what) {
    EXPECT_TRUE(error.code == ErrorCode::kStoreCorrupt ||
                error.code == ErrorCode::kStoreFormatNewer)
        << what << ": " << ToString(error);
    return ToString(error);
  }

 private:
  // Copies the files at one moment. The owner may be moving rows into tables meanwhile, so a copy
  // that does not open is repeated.
  void CopyWhileOpen(const std::string& to) const {
    for (int attempt = 0; attempt < 100; ++attempt) {
      std::error_code failed;
      fs::remove_all(to, failed);
      fs::copy(owned_, to, failed);
      if (!failed && OpenRocksdbStore(to, {.read_only = true})) return;
    }
    ADD_FAILURE() << "could not copy the open store";
  }
  void Fill(int from, int to) {
    for (int i = from; i < to; ++i) {
      RunScribe& run = bench_->StartedRun("run-" + std::to_string(i));
      runs_.push_back(&run);
      for (int step = 0; step < 3; ++step) {
        const EventFacts facts{.error_message =
                                   std::string(static_cast<std::size_t>(4000 + i * 7), 'x')};
        EXPECT_TRUE(bench_->Append(run, kStepStarted, "s" + std::to_string(step), facts));
      }
    }
  }

  TemporaryDirectory directory_;
  const std::string owned_ = directory_ / "owned";
  const std::string earlier_ = directory_ / "earlier";
  const std::string killed_ = directory_ / "killed";
  const std::string closed_ = directory_ / "closed";
  std::optional<StoreWorkbench> bench_;
  std::vector<const RunScribe*> runs_;
};

struct Tally {
  int cases = 0;
  int all_there = 0;
  int refused_to_open = 0;
  int refused_to_read = 0;
};

class StoreDamage : public testing::Test {
 protected:
  // One case: damages a fresh copy.
  void Try(bool killed, const std::string& kind, const std::string& fault, const std::string& where,
           const std::function<void(const fs::path& store)>& damage) {
    const std::string scratch = specimen_.scratch();
    fs::remove_all(scratch);
    fs::copy(specimen_.files(killed), scratch);
    damage(scratch);
    const std::string what =
        (killed ? "killed, " : "closed, ") + kind + ", " + fault + " at " + where;
    Tally& tally = tallies_[{kind, fault}];
    ++tally.cases;
    const std::map<std::string, std::uintmax_t> before = Sizes(scratch);
    auto beside = OpenRocksdbStore(scratch, {.read_only = true});
    auto store = OpenRocksdbStore(scratch, kSmallBuffers);
    if (!store) {
      ++tally.refused_to_open;
      Specimen::Refusal(store.error(), what);
      ExpectHelpful(store.error(), what);
      const bool taken = beside && specimen_.Compare(**beside, "a reader, " + what).empty();
      if (kind == "table") {  // may be detected late, and only by a reader of that row
        if (++refused_ % 7 == 0) ExpectSalvage(what);
        return;
      }
      EXPECT_FALSE(taken) << what
                          << ": a reader does not refuse the store: " << ToString(store.error());
      ExpectNothingRemoved(before, Sizes(scratch), what);
      if (++refused_ % 7 == 0) ExpectSalvage(what);
      return;
    }
    const std::string refusal = specimen_.Compare(**store, what);
    if (refusal.empty()) {
      ++tally.all_there;
      return;
    }
    ++tally.refused_to_read;
    EXPECT_FALSE((*store)->Health())
        << what << ": the health check does not detect the damage: " << refusal;
    bool reported = false;
    const Status checked = (*store)->Check([&](const StoreFault&) { reported = true; });
    EXPECT_TRUE(reported || !checked) << what << ": verify does not detect the damage";
  }

  // The new store must be consistent in itself and must report what it lacks.
  void ExpectSalvage(const std::string& what) {
    const std::string salvaged = specimen_.scratch() + ".salvaged";
    fs::remove_all(salvaged);
    std::uint64_t after_gaps = 0;
    const auto report = SalvageStore(specimen_.scratch(), salvaged,
                                     [&](const StoredRun&, const Event&) { ++after_gaps; });
    ASSERT_TRUE(report) << what << ": " << ToString(report.error());
    EXPECT_EQ(after_gaps, report->events_after_gaps);
    auto store = OpenRocksdbStore(salvaged, {.create_if_missing = false});
    ASSERT_TRUE(store) << what << ": " << ToString(store.error());
    const auto verified = VerifyStore(**store, {});
    ASSERT_TRUE(verified) << what << ": " << ToString(verified.error());
    for (const VerifyReport::Finding& finding : verified->findings) {
      EXPECT_TRUE(finding.what.starts_with("quarantined: events were lost"))
          << what << ": " << finding.run_id << ": " << finding.what;
    }
    std::map<std::string, const SalvagedRun*> incomplete;
    for (const SalvagedRun& run : report->incomplete) incomplete[run.run_id] = &run;
    specimen_.ExpectPrefixes(**store, incomplete, !report->damage.empty(), what);
    ++salvages_;
  }

  static void ExpectHelpful(const Error& error, const std::string& what) {
    if (error.code == ErrorCode::kStoreFormatNewer) return;
    EXPECT_NE(error.message.find("everstep log salvage"), std::string::npos)
        << what << ": " << error.message;
  }

  static std::map<std::string, std::uintmax_t> Sizes(const fs::path& store) {
    std::map<std::string, std::uintmax_t> sizes;
    for (const auto& entry : fs::directory_iterator(store)) {
      const std::string name = entry.path().filename();
      if (name.ends_with(".log") || name.ends_with(".sst")) sizes[name] = entry.file_size();
    }
    return sizes;
  }
  // A refusal must leave everything that salvage needs.
  static void ExpectNothingRemoved(const std::map<std::string, std::uintmax_t>& before,
                                   const std::map<std::string, std::uintmax_t>& after,
                                   const std::string& what) {
    for (const auto& [name, bytes] : before) {
      const auto found = after.find(name);
      EXPECT_TRUE(found != after.end() && found->second >= bytes) << what << ": " << name;
    }
  }

  std::vector<std::string> FilesOf(bool killed) const {
    std::vector<std::string> names;
    for (const auto& entry : fs::directory_iterator(specimen_.files(killed))) {
      if (entry.path().filename() != "LOCK") names.push_back(entry.path().filename());
    }
    std::ranges::sort(names);
    return names;
  }

  // Offsets spread over the file. The zeros at the end of a log hold no data and are skipped.
  static std::vector<std::size_t> PlacesIn(const std::string& bytes, std::size_t count) {
    const std::size_t end = bytes.find_last_not_of('\0') + 1;
    std::vector<std::size_t> places;
    for (std::size_t i = 0; i < std::min(count, end); ++i) {
      places.push_back(end * i / std::min(count, end));
    }
    if (end > 0 && places.back() != end - 1) places.push_back(end - 1);
    return places;
  }

  void FlipBits(bool killed, const std::string& name, std::size_t count) {
    const std::string bytes = ReadFile(fs::path(specimen_.files(killed)) / name);
    int bit = 0;
    for (const std::size_t at : PlacesIn(bytes, count)) {
      bit = (bit + 3) % 8;
      Try(killed, KindOf(name), "bit flipped", name + " byte " + std::to_string(at),
          [&](const fs::path& store) {
            std::string damaged = bytes;
            damaged[at] = static_cast<char>(damaged[at] ^ (1 << bit));
            WriteFile(store / name, damaged);
          });
    }
  }
  void ZeroBlocks(bool killed, const std::string& name, std::size_t count) {
    const std::string bytes = ReadFile(fs::path(specimen_.files(killed)) / name);
    for (const std::size_t at : PlacesIn(bytes, count)) {
      const std::size_t begin = at - at % 512;
      Try(killed, KindOf(name), "block of zeros", name + " byte " + std::to_string(begin),
          [&](const fs::path& store) {
            std::string damaged = bytes;
            std::fill_n(damaged.begin() + static_cast<std::ptrdiff_t>(begin),
                        std::min<std::size_t>(512, damaged.size() - begin), '\0');
            WriteFile(store / name, damaged);
          });
    }
  }
  void SwapBlocks(bool killed, const std::string& name, std::size_t count) {
    const std::string bytes = ReadFile(fs::path(specimen_.files(killed)) / name);
    const std::size_t end = bytes.find_last_not_of('\0') + 1;
    for (const std::size_t block : {std::size_t{512}, std::size_t{4096}, std::size_t{32768}}) {
      const std::size_t blocks = end / block;
      for (std::size_t i = 0; i + 1 < blocks && i < count; ++i) {
        const std::size_t a = blocks * i / std::min(count, blocks) * block;
        const std::size_t b = (blocks - 1) * block;
        if (a == b) continue;
        Try(killed, KindOf(name), "blocks swapped", name + " byte " + std::to_string(a),
            [&](const fs::path& store) {
              std::string damaged = bytes;
              std::swap_ranges(damaged.begin() + static_cast<std::ptrdiff_t>(a),
                               damaged.begin() + static_cast<std::ptrdiff_t>(a + block),
                               damaged.begin() + static_cast<std::ptrdiff_t>(b));
              WriteFile(store / name, damaged);
            });
      }
    }
  }
  void Truncate(bool killed, const std::string& name, std::size_t count) {
    const std::string bytes = ReadFile(fs::path(specimen_.files(killed)) / name);
    for (const std::size_t at : PlacesIn(bytes, count)) {
      Try(killed, KindOf(name), "cut off", name + " byte " + std::to_string(at),
          [&](const fs::path& store) { WriteFile(store / name, bytes.substr(0, at)); });
    }
  }
  void Overwrite(bool killed, const std::string& name) {
    const std::string bytes = ReadFile(fs::path(specimen_.files(killed)) / name);
    if (bytes.empty()) return;
    Try(killed, KindOf(name), "all zeros", name,
        [&](const fs::path& store) { WriteFile(store / name, std::string(bytes.size(), '\0')); });
  }
  void Remove(bool killed, const std::string& name) {
    Try(killed, KindOf(name), "removed", name,
        [&](const fs::path& store) { fs::remove(store / name); });
  }
  void Replace(bool killed, const std::string& name, const fs::path& by) {
    Try(killed, KindOf(name), "replaced", name + " by " + by.filename().string(),
        [&](const fs::path& store) {
          fs::copy_file(by, store / name, fs::copy_options::overwrite_existing);
        });
  }
  // Replaces a file by its own earlier version, and by each other file of its kind.
  void ReplaceAll(bool killed, const std::string& name) {
    const fs::path earlier = fs::path(specimen_.earlier()) / name;
    const fs::path now = fs::path(specimen_.files(killed)) / name;
    if (fs::exists(earlier) && ReadFile(earlier) != ReadFile(now)) Replace(killed, name, earlier);
    int others = 0;
    for (const std::string& other : FilesOf(killed)) {
      if (other == name || KindOf(other) != KindOf(name) || ++others > 3) continue;
      Replace(killed, name, fs::path(specimen_.files(killed)) / other);
    }
  }

  void Print() const {
    std::printf("| File | Fault | Cases | All there | Refused to open | Refused to read |\n");
    std::printf("|---|---|---:|---:|---:|---:|\n");
    Tally sum;
    for (const auto& [key, tally] : tallies_) {
      std::printf("| %s | %s | %d | %d | %d | %d |\n", key.first.c_str(), key.second.c_str(),
                  tally.cases, tally.all_there, tally.refused_to_open, tally.refused_to_read);
      sum.cases += tally.cases;
      sum.all_there += tally.all_there;
      sum.refused_to_open += tally.refused_to_open;
      sum.refused_to_read += tally.refused_to_read;
    }
    std::printf("| all | | %d | %d | %d | %d |\n", sum.cases, sum.all_there, sum.refused_to_open,
                sum.refused_to_read);
  }

  Specimen specimen_;
  int refused_ = 0;
  int salvages_ = 0;
  std::map<std::pair<std::string, std::string>, Tally> tallies_;
};

// Rows that a compaction cannot read must not be missing from its output.
TEST_F(StoreDamage, SurvivesCompaction) {
  int refused = 0;
  for (const std::string& name : FilesOf(false)) {
    if (KindOf(name) != "table") continue;
    const std::string bytes = ReadFile(fs::path(specimen_.files(false)) / name);
    for (const std::size_t at : PlacesIn(bytes, 3)) {
      const std::string scratch = specimen_.scratch();
      fs::remove_all(scratch);
      fs::copy(specimen_.files(false), scratch);
      std::string damaged = bytes;
      damaged[at] = static_cast<char>(damaged[at] ^ 4);
      WriteFile(fs::path(scratch) / name, damaged);
      const std::string what = "compacted, bit flipped at " + name + " byte " + std::to_string(at);
      auto store = OpenRocksdbStore(scratch, kSmallBuffers);
      if (!store) continue;
      if ((*store)->Compact()) {  // it had no need to read the block
        const std::string refusal = specimen_.Compare(**store, what);
        EXPECT_TRUE(refusal.empty() || !(*store)->Health()) << what << ": " << refusal;
      } else {
        ++refused;
        EXPECT_FALSE((*store)->Health()) << what;
        EXPECT_EQ(ReadFile(fs::path(scratch) / name), damaged) << what << ": salvage may need it";
      }
      if (HasFailure()) return;
    }
  }
  EXPECT_GT(refused, 0);
  std::printf("%d compactions were refused\n", refused);
}

TEST_F(StoreDamage, IsNeverMistakenForAnEmptyTail) {
  for (const bool killed : {true, false}) {
    auto whole = OpenRocksdbStore(specimen_.files(killed), {.read_only = true});
    ASSERT_TRUE(whole) << ToString(whole.error());
    ASSERT_EQ(specimen_.Compare(**whole, "undamaged"), "");
  }
  for (const bool killed : {true, false}) {
    for (const std::string& name : FilesOf(killed)) {
      const std::string kind = KindOf(name);
      const std::size_t many = kind == "write-ahead log" ? 24 : kind == "MANIFEST" ? 24 : 6;
      FlipBits(killed, name, many);
      ZeroBlocks(killed, name, many / 3);
      SwapBlocks(killed, name, many / 6);
      Truncate(killed, name, many / 2);
      Overwrite(killed, name);
      Remove(killed, name);
      ReplaceAll(killed, name);
    }
  }
  Print();
  int cases = 0;
  for (const auto& [key, tally] : tallies_) cases += tally.cases;
  EXPECT_GE(cases, 500);
  EXPECT_GE(salvages_, 100);
  std::printf("%d refused stores were salvaged\n", salvages_);
}

}  // namespace
}  // namespace everstep
