#pragma once

#include <array>

#include "arguments.h"
#include "everstep/log.h"
#include "output.h"
#include "store_access.h"
#include "tenant_counts_text.h"

namespace everstep::cli {

// The options of a command that lists runs: of which store, which runs and how, and `more`.
template <typename... More>
constexpr auto RunListOptions(const OptionSpec& store, const More&... more) {
  return std::array{
      store,
      kTenantOption,
      OptionSpec{"project", OptionKind::kText, "ID", "only of this project"},
      OptionSpec{"environment", OptionKind::kText, "ID", "only of this environment"},
      OptionSpec{"status", OptionKind::kWord, "STATUS", "only in this status", "", kRunStatuses},
      OptionSpec{"plan", OptionKind::kText, "NAME", "only of this plan"},
      OptionSpec{"plan-version", OptionKind::kText, "NAME", "only of this version"},
      OptionSpec{"prefix", OptionKind::kText, "TEXT", "only runs whose id begins so"},
      OptionSpec{"error", OptionKind::kText, "CODE", "only runs that failed with this code"},
      OptionSpec{"since", OptionKind::kMoment, "TIME", "only created at or after (1h, or a time)"},
      OptionSpec{"until", OptionKind::kMoment, "TIME", "only created before"},
      OptionSpec{"updated-since", OptionKind::kMoment, "TIME", "only with an event since then"},
      OptionSpec{"updated-until", OptionKind::kMoment, "TIME", "only without one since then"},
      OptionSpec{"limit", OptionKind::kCount, "N", "at most so many, up to 1000", "50"},
      OptionSpec{"cursor", OptionKind::kText, "CURSOR",
                 "go on behind the page that ended with this"},
      kOutputOption,
      more...,
  };
}

// Writes the runs that the options ask for, newest first, and the tenant's totals, in the form of
// the option output.
ExitCode WriteRunList(const Arguments& arguments, Log& log, Output& out);

}  // namespace everstep::cli
