#pragma once

#include <array>

#include "arguments.h"
#include "everstep/log.h"
#include "output.h"
#include "store_access.h"
#include "tenant_counts_text.h"

namespace everstep::cli {

// The options of a command that lists runs: `store`, filters, the form of the output, and `more`.
template <typename... More>
constexpr auto RunListOptions(const OptionSpec& store, const More&... more) {
  return std::array{
      store,
      kTenantOption,
      OptionSpec{"project", OptionKind::kText, "ID", "only runs of this project"},
      OptionSpec{"environment", OptionKind::kText, "ID", "only runs of this environment"},
      OptionSpec{"status", OptionKind::kWord, "STATUS", "only runs with this status", "",
                 kRunStatuses},
      OptionSpec{"plan", OptionKind::kText, "NAME", "only runs of this plan"},
      OptionSpec{"plan-version", OptionKind::kText, "NAME", "only runs of this plan version"},
      OptionSpec{"prefix", OptionKind::kText, "TEXT", "only runs whose id begins with this"},
      OptionSpec{"error", OptionKind::kText, "CODE", "only runs that failed with this code"},
      OptionSpec{"since", OptionKind::kMoment, "TIME", "only runs created since (1h, or a time)"},
      OptionSpec{"until", OptionKind::kMoment, "TIME", "only runs created before"},
      OptionSpec{"updated-since", OptionKind::kMoment, "TIME", "only runs updated since"},
      OptionSpec{"updated-until", OptionKind::kMoment, "TIME", "only runs last updated before"},
      OptionSpec{"limit", OptionKind::kCount, "N", "at most this many, up to 1000", "50"},
      OptionSpec{"cursor", OptionKind::kText, "CURSOR",
                 "continue after the page that returned this cursor"},
      kOutputOption,
      more...,
  };
}

// Writes the runs that the options select, newest first, and the totals of the tenant, in the form
// that --output names.
ExitCode WriteRunList(const Arguments& arguments, Log& log, Output& out);

}  // namespace everstep::cli
