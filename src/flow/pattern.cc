#include "flow/pattern.h"

#include <algorithm>
#include <string>
#include <utility>

#include "flow/utf8.h"

namespace everstep {
namespace {

constexpr std::uint32_t kLastCharacter = 0x10ffff;
constexpr std::size_t kProgramMax = 20'000;
constexpr std::size_t kDepthMax = 64;
constexpr std::uint32_t kRepeatMax = 1000;
constexpr std::uint32_t kUnbounded = UINT32_MAX;

// Takes the next character. Bytes that are not valid UTF-8 are taken one at a time.
std::uint32_t TakeCharacter(std::string_view& text) {
  const std::size_t size = std::max<std::size_t>(1, CharacterSize(text, 0));
  auto code = static_cast<std::uint32_t>(static_cast<unsigned char>(text[0]));
  if (size > 1) {
    code &= 0x7fU >> size;
    for (std::size_t i = 1; i < size && i < text.size(); ++i) {
      code = (code << 6) | (static_cast<unsigned char>(text[i]) & 0x3fU);
    }
  }
  text.remove_prefix(std::min(size, text.size()));
  return code;
}

}  // namespace

// Parses by recursive descent into a tree and generates the program from it. A repeated part is
// generated once for each repetition. Methods that return a bool set the message before they return
// false.
class PatternParser {
 public:
  explicit PatternParser(std::string_view text) : rest_(text) {}

  Result<Pattern> Parse() {
    if (rest_.size() > kPatternBytesMax) {
      return Error{ErrorCode::kInvalidArgument, "the pattern is too long", {}};
    }
    Tree tree;
    const bool good =
        Alternatives(tree, 0) && (rest_.empty() || Fail("')' without '('")) && Write(tree);
    if (!good) return Error{ErrorCode::kInvalidArgument, std::move(message_), {}};
    Emit({Op::kMatch});
    return std::move(pattern_);
  }

 private:
  using Op = Pattern::Op;
  using Instruction = Pattern::Instruction;
  using Range = Pattern::Range;

  struct Tree {
    enum class Kind : std::uint8_t { kSequence, kAlternatives, kRepeat, kInstruction };
    Kind kind = Kind::kSequence;
    std::vector<Tree> parts;
    std::uint32_t least = 1;  // kRepeat
    std::uint32_t most = 1;
    Instruction instruction;  // kInstruction
  };

  bool Fail(std::string message) {
    message_ = std::move(message);
    return false;
  }

  std::uint32_t Emit(Instruction instruction) {
    pattern_.program_.push_back(instruction);
    return Here() - 1;
  }

  std::uint32_t Here() const { return static_cast<std::uint32_t>(pattern_.program_.size()); }

  bool At(char c) const { return rest_.starts_with(c); }
  bool Take(char c) {
    if (!At(c)) return false;
    rest_.remove_prefix(1);
    return true;
  }

  bool Alternatives(Tree& tree, std::size_t depth) {
    if (depth > kDepthMax) return Fail("the groups are nested too deep");
    tree.kind = Tree::Kind::kAlternatives;
    do {
      Tree& sequence = tree.parts.emplace_back();
      while (!rest_.empty() && !At('|') && !At(')')) {
        if (!Repeated(sequence.parts.emplace_back(), depth)) return false;
      }
    } while (Take('|'));
    return true;
  }

  // Parses one atom and its quantifier.
  bool Repeated(Tree& tree, std::size_t depth) {
    Tree atom;
    if (!Atom(atom, depth)) return false;
    if (!Quantifier(tree.least, tree.most)) return false;
    if (At('*') || At('+') || At('?') || At('{')) return Fail("two repetitions in a row");
    tree.kind = Tree::Kind::kRepeat;
    tree.parts.push_back(std::move(atom));
    return true;
  }

  bool Write(const Tree& tree) {
    if (pattern_.program_.size() > kProgramMax)
      return Fail("the repetitions make the pattern too large");
    switch (tree.kind) {
      case Tree::Kind::kSequence:
        for (const Tree& part : tree.parts) {
          if (!Write(part)) return false;
        }
        return true;
      case Tree::Kind::kAlternatives:
        return WriteAlternatives(tree);
      case Tree::Kind::kRepeat:
        return WriteRepeat(tree);
      case Tree::Kind::kInstruction:
        Emit(tree.instruction);
        return true;
    }
    return true;
  }

  // Each alternative but the last begins with a split, to itself or to the next alternative, and
  // ends with a jump to the end of all alternatives.
  bool WriteAlternatives(const Tree& tree) {
    std::vector<std::uint32_t> jumps;
    for (std::size_t i = 0; i < tree.parts.size(); ++i) {
      const bool last = i + 1 == tree.parts.size();
      const std::uint32_t split = last ? 0 : Emit({Op::kSplit});
      if (!Write(tree.parts[i])) return false;
      if (last) break;
      jumps.push_back(Emit({Op::kJump}));
      SetSplit(split);
    }
    for (const std::uint32_t jump : jumps) pattern_.program_[jump].to = Here();
    return true;
  }

  bool WriteRepeat(const Tree& tree) {
    const Tree& part = tree.parts[0];
    for (std::uint32_t i = 0; i < tree.least; ++i) {
      if (!Write(part)) return false;
    }
    std::vector<std::uint32_t> splits;
    const std::uint32_t optional = tree.most == kUnbounded ? 1 : tree.most - tree.least;
    for (std::uint32_t i = 0; i < optional; ++i) {
      splits.push_back(Emit({Op::kSplit}));
      if (!Write(part)) return false;
    }
    if (tree.most == kUnbounded) Emit({Op::kJump, splits[0]});
    for (const std::uint32_t split : splits) SetSplit(split);
    return true;
  }

  // Directs a split to the instruction after it, and to the next instruction to be written.
  void SetSplit(std::uint32_t split) {
    pattern_.program_[split].to = split + 1;
    pattern_.program_[split].other = Here();
  }

  bool Quantifier(std::uint32_t& least, std::uint32_t& most) {
    if (Take('*')) return least = 0, most = kUnbounded, true;
    if (Take('+')) return least = 1, most = kUnbounded, true;
    if (Take('?')) return least = 0, most = 1, true;
    if (!Take('{')) return true;
    if (!Number(least)) return Fail("'{' takes a number; write \\{ for the character");
    most = least;
    if (Take(',') && !Number(most)) most = kUnbounded;
    if (!Take('}')) return Fail("'}' is missing");
    if (most < least) return Fail("{n,m} needs n <= m");
    if (least > kRepeatMax || (most != kUnbounded && most > kRepeatMax)) {
      return Fail("a repetition count must be at most 1000");
    }
    return true;
  }

  bool Number(std::uint32_t& value) {
    if (rest_.empty() || rest_[0] < '0' || rest_[0] > '9') return false;
    value = 0;
    while (!rest_.empty() && rest_[0] >= '0' && rest_[0] <= '9') {
      value = std::min(kRepeatMax + 1, value * 10 + static_cast<std::uint32_t>(rest_[0] - '0'));
      rest_.remove_prefix(1);
    }
    return true;
  }

  bool Atom(Tree& tree, std::size_t depth) {
    if (Take('(')) {
      if (At('?') && !rest_.starts_with("?:")) return Fail("look-around is not supported");
      if (At('?')) rest_.remove_prefix(2);
      if (!Alternatives(tree, depth + 1)) return false;
      return Take(')') || Fail("')' is missing");
    }
    tree.kind = Tree::Kind::kInstruction;
    if (Take('^')) return tree.instruction = {Op::kBegin}, true;
    if (Take('$')) return tree.instruction = {Op::kEnd}, true;
    if (At('*') || At('+') || At('?') || At('{')) return Fail("nothing to repeat");
    std::vector<Range> ranges;
    bool negated = false;
    if (Take('.')) {
      ranges = {{'\n', '\n'}, {'\r', '\r'}};
      negated = true;
    } else if (Take('[')) {
      negated = Take('^');
      if (!Class(ranges)) return false;
    } else if (Take('\\')) {
      if (!Escape(ranges)) return false;
    } else {
      const std::uint32_t c = TakeCharacter(rest_);
      ranges = {{c, c}};
    }
    const auto first = static_cast<std::uint32_t>(pattern_.ranges_.size());
    pattern_.ranges_.insert(pattern_.ranges_.end(), ranges.begin(), ranges.end());
    const auto last = static_cast<std::uint32_t>(pattern_.ranges_.size());
    tree.instruction = {Op::kRange, first, last, negated};
    return true;
  }

  bool Class(std::vector<Range>& ranges) {
    while (!At(']')) {
      if (rest_.empty()) return Fail("']' is missing");
      std::vector<Range> item;
      if (!ClassItem(item)) return false;
      const bool single = item.size() == 1 && item[0].first == item[0].last;
      if (single && At('-') && rest_.size() > 1 && rest_[1] != ']') {
        rest_.remove_prefix(1);
        std::vector<Range> end;
        if (!ClassItem(end)) return false;
        if (end.size() != 1 || end[0].first != end[0].last || end[0].first < item[0].first) {
          return Fail("a range in [] goes from the smaller to the larger character");
        }
        item[0].last = end[0].last;
      }
      ranges.insert(ranges.end(), item.begin(), item.end());
    }
    return Take(']');
  }

  bool ClassItem(std::vector<Range>& ranges) {
    if (Take('\\')) return Escape(ranges);
    const std::uint32_t c = TakeCharacter(rest_);
    ranges = {{c, c}};
    return true;
  }

  bool Escape(std::vector<Range>& ranges) {
    if (rest_.empty()) return Fail("'\\' at the end");
    const std::uint32_t c = TakeCharacter(rest_);
    const auto opposite = [](std::vector<Range> of) {
      std::vector<Range> result;
      std::uint32_t next = 0;
      for (const Range& range : of) {
        if (range.first > next) result.push_back({next, range.first - 1});
        next = range.last + 1;
      }
      result.push_back({next, kLastCharacter});
      return result;
    };
    const std::vector<Range> digits = {{'0', '9'}};
    const std::vector<Range> words = {{'0', '9'}, {'A', 'Z'}, {'_', '_'}, {'a', 'z'}};
    const std::vector<Range> spaces = {{'\t', '\r'}, {' ', ' '}, {0xa0, 0xa0}, {0xfeff, 0xfeff}};
    switch (c) {
      case 'd':
        return ranges = digits, true;
      case 'D':
        return ranges = opposite(digits), true;
      case 'w':
        return ranges = words, true;
      case 'W':
        return ranges = opposite(words), true;
      case 's':
        return ranges = spaces, true;
      case 'S':
        return ranges = opposite(spaces), true;
      case 'n':
        return ranges = {{'\n', '\n'}}, true;
      case 'r':
        return ranges = {{'\r', '\r'}}, true;
      case 't':
        return ranges = {{'\t', '\t'}}, true;
      default:
        break;
    }
    const bool alphanumeric =
        c < 0x80 && ((c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'));
    if (alphanumeric) return Fail(std::string("unknown escape \\") + static_cast<char>(c));
    ranges = {{c, c}};
    return true;
  }

  std::string_view rest_;
  Pattern pattern_;
  std::string message_;
};

Result<Pattern> Pattern::Parse(std::string_view text) { return PatternParser(text).Parse(); }

bool Pattern::Takes(const Instruction& instruction, std::uint32_t character) const {
  const auto* first = ranges_.data() + instruction.to;
  const auto* last = ranges_.data() + instruction.other;
  const bool within = std::any_of(first, last, [character](const Range& range) {
    return character >= range.first && character <= range.last;
  });
  return within != instruction.negated;
}

void Pattern::Follow(std::uint32_t instruction, bool begin, bool end,
                     std::vector<std::uint32_t>& threads, std::vector<bool>& seen) const {
  std::vector<std::uint32_t> open = {instruction};
  while (!open.empty()) {
    const std::uint32_t at = open.back();
    open.pop_back();
    if (seen[at]) continue;
    seen[at] = true;
    const Instruction& next = program_[at];
    if (next.op == Op::kJump) {
      open.push_back(next.to);
    } else if (next.op == Op::kSplit) {
      open.push_back(next.other);
      open.push_back(next.to);
    } else if (next.op == Op::kBegin || next.op == Op::kEnd) {
      if (next.op == Op::kBegin ? begin : end) open.push_back(at + 1);
    } else {
      threads.push_back(at);
    }
  }
}

bool Pattern::Matches(std::string_view text) const {
  std::vector<std::uint32_t> threads;
  std::vector<bool> seen(program_.size());
  bool begin = true;
  Follow(0, begin, text.empty(), threads, seen);
  while (true) {
    for (const std::uint32_t thread : threads) {
      if (program_[thread].op == Op::kMatch) return true;
    }
    if (text.empty()) return false;
    const std::uint32_t character = TakeCharacter(text);
    begin = false;
    std::vector<std::uint32_t> next;
    std::fill(seen.begin(), seen.end(), false);
    for (const std::uint32_t thread : threads) {
      if (!Takes(program_[thread], character)) continue;
      Follow(thread + 1, begin, text.empty(), next, seen);
    }
    // A match may begin at any character.
    Follow(0, begin, text.empty(), next, seen);
    threads = std::move(next);
  }
}

}  // namespace everstep
