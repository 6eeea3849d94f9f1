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
  std::string body;      // kCreate, kRotate: the request body of the API
};

// Does to the tokens of a data folder what the API does to those of a server, and records it in the
// audit log. Holds the store meanwhile, so that no server can use the folder. Returns the document
// that the API would return. Fails with kStoreLocked, kInvalidArgument or kNotFound.
Result<std::string> ChangeTokens(const Folder& folder, const TokenOrder& order);

}  // namespace everstep::cli
