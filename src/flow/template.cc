#include "flow/template.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "base/unique_keys.h"
#include "base/utf8.h"
#include "flow/expression_meter.h"
#include "flow/operations_done.h"
#include "flow/quoted.h"
#include "flow/template_text.h"

namespace everstep {
namespace {

// The longest part of a hole shown in a message, in bytes.
constexpr std::size_t kShownMax = 80;

// One hole, or the text between two holes.
struct Piece {
  std::string text;  // for a hole, the source of the expression
  std::optional<Expression> hole;
};

std::string_view Trimmed(std::string_view text) {
  constexpr std::string_view kSpace = " \t\r\n";
  text.remove_prefix(std::min(text.find_first_not_of(kSpace), text.size()));
  return text.substr(0, text.find_last_not_of(kSpace) + 1);
}

std::string PointerTo(const std::string& parent, std::string_view member) {
  std::string pointer = parent + "/";
  for (const char c : member) {
    if (c == '~') {
      pointer += "~0";
    } else if (c == '/') {
      pointer += "~1";
    } else {
      pointer += c;
    }
  }
  return pointer;
}

Error At(const std::string& pointer, const Error& error) {
  return {error.code, error.message, {Fault{pointer, error.message}}};
}

thread_local std::uint64_t operations_done = 0;
thread_local std::size_t* operations_left_now = nullptr;  // of the template being rendered

// Renders one string. A single hole keeps the type of its value.
Result<Value> RenderText(const std::vector<Piece>& pieces, const Names& names,
                         const ExpressionLimits& limits) {
  if (pieces.size() == 1 && pieces.front().hole) {
    return pieces.front().hole->Evaluate(names, limits);
  }
  std::string out;
  for (const Piece& piece : pieces) {
    if (!piece.hole) {
      out += piece.text;
      continue;
    }
    const Result<Value> value = piece.hole->Evaluate(names, limits);
    if (!value) return value;
    if (value->undefined()) {
      return ExpressionError(Quoted(CutAtCharacter(piece.text, kShownMax)) +
                             " is undefined; give it a value with default()");
    }
    if (out.size() > limits.bytes_max || !FitsJson(*value, limits.bytes_max - out.size())) {
      return ExpressionError("the text is longer than " + std::to_string(limits.bytes_max) +
                             " bytes");
    }
    out += ToText(*value);
  }
  return Value::Text(std::move(out));
}

}  // namespace

std::uint64_t OperationsDone() { return operations_done; }

void AddOperations(std::uint64_t count) {
  if (operations_left_now == nullptr) {
    operations_done += count;
  } else {
    *operations_left_now -= std::min<std::uint64_t>(count, *operations_left_now);
  }
}

// A constant, a string with holes, a list or a map.
struct Template::Node {
  Value constant;
  std::vector<Piece> pieces;
  std::vector<Node> keys;   // of a map; they must render to text
  std::vector<Node> items;  // of a list, or the values of a map
  bool is_constant = true;
  bool is_map = false;
  std::string pointer;                  // of a string with holes
  std::vector<Expression::Path> paths;  // of the whole template, at the root only

  Result<Value> Render(const Names& names, const ExpressionLimits& limits) const;
  Result<Value> RenderMap(const Names& names, const ExpressionLimits& limits) const;
  Result<Value> RenderList(const Names& names, const ExpressionLimits& limits) const;
};

Result<Value> Template::Node::Render(const Names& names, const ExpressionLimits& limits) const {
  if (is_constant) return constant;
  if (is_map) return RenderMap(names, limits);
  if (pieces.empty()) return RenderList(names, limits);
  Result<Value> value = RenderText(pieces, names, limits);
  if (!value) return At(pointer, value.error());
  return value;
}

Result<Value> Template::Node::RenderMap(const Names& names, const ExpressionLimits& limits) const {
  ValueMap rendered;
  rendered.reserve(items.size());
  for (std::size_t i = 0; i < items.size(); ++i) {
    const Result<Value> name = keys[i].Render(names, limits);
    if (!name) return name;
    if (name->kind() != Value::Kind::kText) {
      return At(keys[i].pointer, ExpressionError("the key of a map must be text"));
    }
    Result<Value> value = items[i].Render(names, limits);
    if (!value) return value;
    rendered.emplace_back(name->text(), *std::move(value));
  }
  if (!KeysAreUnique(rendered)) {
    return At(pointer, ExpressionError("a key of the map is repeated after rendering"));
  }
  return Value::Map(std::move(rendered));
}

Result<Value> Template::Node::RenderList(const Names& names, const ExpressionLimits& limits) const {
  ValueList rendered;
  rendered.reserve(items.size());
  for (const Node& item : items) {
    Result<Value> value = item.Render(names, limits);
    if (!value) return value;
    rendered.push_back(*std::move(value));
  }
  return Value::List(std::move(rendered));
}

// Compiles one value and collects its faults and the paths that it reads.
class Template::Compiler {
 public:
  Node CompileValue(const Value& source, const std::string& pointer, std::size_t depth) {
    Node node;
    node.pointer = pointer;
    node.constant = source;
    const bool nests = source.kind() == Value::Kind::kList || source.kind() == Value::Kind::kMap;
    if (nests && depth == kValueDepthMax) {
      faults.push_back({pointer, 0, "nested deeper than " + std::to_string(kValueDepthMax)});
    } else if (source.kind() == Value::Kind::kText) {
      CompileText(source.text(), node);
    } else if (source.kind() == Value::Kind::kList) {
      CompileList(source.list(), depth, node);
    } else if (source.kind() == Value::Kind::kMap) {
      CompileMap(*source.shared_members(), depth, node);
    }
    return node;
  }

  void CompileCondition(const std::string& text, Node& node) {
    const std::string_view trimmed = Trimmed(text);
    const auto offset = static_cast<std::size_t>(trimmed.data() - text.data());
    bool is_one = true;
    if (trimmed.starts_with("{{")) {
      CompileText(text, node);
      is_one = node.pieces.size() == 1 && node.pieces.front().hole;
    } else {
      AddHole(trimmed, offset, node);
      is_one = faults.empty() || trimmed.find("{{") == std::string_view::npos;
      if (!is_one) faults.clear();
    }
    if (faults.empty() && !is_one) {
      faults.push_back({node.pointer, offset,
                        "a condition is one expression: {{ a == b }}, or the same without braces"});
    }
  }

  std::vector<Template::Fault> faults;
  std::vector<Expression::Path> paths;

 private:
  void CompileText(const std::string& text, Node& node) {
    if (text.find('{') == std::string::npos) return;
    std::vector<TemplateTextFault> cut_faults;
    const std::vector<TemplatePiece> pieces = CutTemplate(text, cut_faults);
    for (TemplateTextFault& fault : cut_faults) {
      faults.push_back({node.pointer, fault.offset, std::move(fault.message)});
    }
    std::string plain;
    for (const TemplatePiece& piece : pieces) {
      if (piece.is_hole) {
        AddHole(piece.text, piece.offset, node);
      } else {
        plain += piece.text;
        node.pieces.push_back({std::string(piece.text), std::nullopt});
      }
    }
    if (!node.is_constant) return DropSpaceAround(node.pieces);
    node.pieces.clear();
    if (plain != text) node.constant = Value::Text(std::move(plain));
  }

  // Drops white space around a single hole, such as the newline at the end of a YAML block.
  static void DropSpaceAround(std::vector<Piece>& pieces) {
    const auto means_something = [](const Piece& piece) {
      return piece.hole || !Trimmed(piece.text).empty();
    };
    if (std::ranges::count_if(pieces, means_something) != 1) return;
    std::erase_if(pieces, [&](const Piece& piece) { return !means_something(piece); });
  }

  void AddHole(std::string_view text, std::size_t offset, Node& node) {
    node.is_constant = false;
    ExpressionFault fault;
    Result<Expression> expression = Expression::Parse(text, &fault);
    if (!expression) {
      faults.push_back({node.pointer, offset + fault.offset, std::move(fault.message)});
      return;
    }
    paths.insert(paths.end(), expression->paths().begin(), expression->paths().end());
    node.pieces.push_back({std::string(Trimmed(text)), *std::move(expression)});
  }

  void CompileList(const ValueList& list, std::size_t depth, Node& node) {
    for (std::size_t i = 0; i < list.size(); ++i) {
      const std::string pointer = node.pointer + "/" + std::to_string(i);
      node.items.push_back(CompileValue(list[i], pointer, depth + 1));
      node.is_constant &= node.items.back().is_constant;
    }
    if (node.is_constant) node.items.clear();
  }

  void CompileMap(const ValueMap& map, std::size_t depth, Node& node) {
    node.is_map = true;
    for (const auto& [key, member] : map) {
      const std::string pointer = PointerTo(node.pointer, key);
      node.keys.push_back(CompileValue(Value::Text(key), pointer, depth));
      node.items.push_back(CompileValue(member, pointer, depth + 1));
      node.is_constant &= node.keys.back().is_constant && node.items.back().is_constant;
    }
    if (!node.is_constant) return;
    node.keys.clear();
    node.items.clear();
  }
};

Result<Template> Template::Finish(Compiler& compiler, Node node, std::vector<Fault>* faults) {
  if (!compiler.faults.empty()) {
    Error error = ExpressionError(compiler.faults.front().message);
    for (const Fault& fault : compiler.faults) {
      error.faults.push_back({fault.pointer, fault.message});
    }
    if (faults != nullptr) std::ranges::move(compiler.faults, std::back_inserter(*faults));
    return error;
  }
  std::ranges::sort(compiler.paths);
  compiler.paths.erase(std::unique(compiler.paths.begin(), compiler.paths.end()),
                       compiler.paths.end());
  node.paths = std::move(compiler.paths);
  Template result;
  result.root_ = std::make_shared<const Node>(std::move(node));
  return result;
}

Result<Template> Template::Compile(const Value& source, std::vector<Fault>* faults) {
  Compiler compiler;
  Node node = compiler.CompileValue(source, "", 0);
  return Finish(compiler, std::move(node), faults);
}

Result<Template> Template::Condition(std::string_view text, std::vector<Fault>* faults) {
  Compiler compiler;
  Node node;
  compiler.CompileCondition(std::string(text), node);
  return Finish(compiler, std::move(node), faults);
}

Result<Value> Template::Render(const Names& names, const ExpressionLimits& limits) const {
  if (root_ == nullptr) return Value();
  std::size_t operations_left = kTemplateOperationsMax;
  ExpressionLimits own = limits;
  if (own.operations_left == nullptr) own.operations_left = &operations_left;
  const std::size_t before = *own.operations_left;
  std::size_t* const outer = std::exchange(operations_left_now, own.operations_left);
  Result<Value> value = root_->Render(names, own);
  operations_left_now = outer;
  operations_done += before - *own.operations_left;
  const bool put_together = !root_->is_constant && root_->pieces.empty();
  if (value && put_together && !FitsJson(*value, kResultBytesMax)) return At("", TooLarge());
  return value;
}

bool Template::constant() const { return root_ == nullptr || root_->is_constant; }

const std::vector<Expression::Path>& Template::paths() const {
  static const std::vector<Expression::Path> kNone;
  return root_ == nullptr ? kNone : root_->paths;
}

}  // namespace everstep
