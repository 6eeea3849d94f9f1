#pragma once

#include <cstdint>
#include <string>

#include "data_folder.h"
#include "everstep/result.h"

namespace everstep::cli {

struct TokenOrder {
  enum class Action : std::uint8_t { kCreate, kList, kRevoke, kRotate };
  Action action = Action::kList;
  std::string token_id;  // kRevoke, kRotate
  std::string body;      // kCreate, kRotate: as the API takes it
};

// Does to the tokens of a data folder what the API does to a server's, and notes it in the audit
// log. Holds the store meanwhile, so that no server has the folder. Answers the API's document.
// kStoreLocked; kInvalidArgument.
Result<std::string> ChangeTokens(const Folder& folder, const TokenOrder& order);

}  // namespace everstep::cli
