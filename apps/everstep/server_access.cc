#include "server_access.h"

#include <algorithm>
#include <string_view>

#include "base/environment.h"
#include "data_folder.h"
#include "serve/private_file.h"

namespace everstep::cli {
namespace {

constexpr std::size_t kTokenBytesMax = 4 << 10;

Error Misused(std::string message) { return {ErrorCode::kInvalidArgument, std::move(message), {}}; }

std::string Variable(std::string_view name) { return EnvironmentVariable(name).value_or(""); }

bool IsGiven(const Arguments& arguments, std::string_view option) {
  const auto& options = arguments.command().options;
  return std::ranges::find(options, option, &OptionSpec::name) != options.end() &&
         arguments.Has(option);
}

Result<std::string> ReadToken(const std::string& path) {
  auto text = ReadPrivateFile(path, kTokenBytesMax);
  if (!text) return Misused("the token file " + text.error().message);
  if (!*text) return Misused("the token file " + path + " does not exist");
  std::string token = *std::move(*text);
  while (!token.empty() && (token.back() == '\n' || token.back() == '\r')) token.pop_back();
  const bool fits =
      !token.empty() && std::ranges::all_of(token, [](char c) { return c > ' ' && c <= '~'; });
  if (!fits) return Misused(path + " must contain exactly one token");
  return token;
}

Result<std::string> TokenOf(const Arguments& arguments) {
  if (arguments.Has(kTokenFileOption.name)) {
    return ReadToken(arguments.Text(kTokenFileOption.name));
  }
  if (std::string token = Variable("EVERSTEP_TOKEN"); !token.empty()) return token;
  if (const std::string path = Variable("EVERSTEP_TOKEN_FILE"); !path.empty()) {
    return ReadToken(path);
  }
  return std::string();
}

}  // namespace

Result<std::optional<ClientOptions>> FindServer(const Arguments& arguments) {
  const bool names_folder = IsGiven(arguments, kFolderOption.name);
  const bool names_server = arguments.Has(kServerOption.name);
  if (names_folder && names_server) {
    return Misused("--data and --server contradict each other");
  }
  ClientOptions options;
  if (names_server) {
    options.url = arguments.Text(kServerOption.name);
  } else if (!names_folder) {
    options.url = Variable("EVERSTEP_SERVER");
  }
  if (options.url.empty() && !names_server) return std::optional<ClientOptions>();
  while (options.url.ends_with('/')) options.url.pop_back();
  if (options.url.find('@') != std::string::npos) {
    return Misused("the server URL must not contain a user; give the token with --token-file");
  }
  auto token = TokenOf(arguments);
  if (!token) return std::move(token).error();
  options.token = *std::move(token);
  options.certificate_authorities = arguments.Has(kCaFileOption.name)
                                        ? arguments.Text(kCaFileOption.name)
                                        : Variable("EVERSTEP_CA_FILE");
  return std::optional(std::move(options));
}

Status CheckTokenDecides(const Arguments& arguments) {
  for (const std::string_view option : {"tenant", "role"}) {
    if (IsGiven(arguments, option)) {
      return Misused("--" + std::string(option) + " is determined by the token; leave it out");
    }
  }
  return Ok();
}

Status CheckUrl(std::string_view url) {
  if (url.starts_with("http://") || url.starts_with("https://")) return Ok();
  return Misused("the server URL must begin with http:// or https://");
}

std::string ServerWords(const Arguments& arguments) {
  std::string words;
  for (const std::string_view option :
       {kServerOption.name, kTokenFileOption.name, kCaFileOption.name}) {
    if (!arguments.Has(option)) continue;
    words += " --" + std::string(option) + " " + arguments.Text(option);
  }
  return words;
}

}  // namespace everstep::cli
