#include <algorithm>
#include <array>
#include <optional>
#include <span>

#include "base/unique_keys.h"
#include "base/utf8.h"
#include "flow/expression_meter.h"
#include "flow/expression_operators.h"
#include "flow/expression_program.h"
#include "flow/quoted.h"

namespace everstep {
namespace {

using Op = ExpressionOp;
using Kind = Value::Kind;

// Deeper stacks are allocated on the heap.
constexpr std::size_t kSmallStack = 8;

constexpr std::size_t kShownMax = 80;

// Runs one program on one stack. The parser guarantees that the stack neither underflows nor
// overflows. Jumps only go forward, so the loop terminates.
class Evaluation {
 public:
  Evaluation(const ExpressionProgram& program, const Names& names, const ExpressionLimits& limits,
             std::span<Value> stack)
      : program_(program), names_(names), meter_(limits), stack_(stack) {}

  Result<Value> Run() {
    for (std::size_t at = 0; at < program_.code.size();) {
      const ExpressionInstruction& instruction = program_.code[at];
      if (!meter_.Operations(1)) return OverLimit();
      std::size_t next = at + 1;
      std::optional<Error> failure;
      switch (instruction.op) {
        case Op::kAnd:
        case Op::kOr:
          if (IsTrue(Top()) == (instruction.op == Op::kOr)) {
            next = at + instruction.operand;
          } else {
            Pop();
          }
          break;
        case Op::kJumpIfFalse:
          if (!IsTrue(Pop())) next = at + instruction.operand;
          break;
        case Op::kJump:
          next = at + instruction.operand;
          break;
        default:
          failure = Execute(instruction);
          break;
      }
      if (failure) return *std::move(failure);
      at = next;
    }
    Value result = Pop();
    if (program_.builds && !FitsJson(result, kResultBytesMax)) return TooLarge();
    return result;
  }

 private:
  std::optional<Error> Execute(const ExpressionInstruction& instruction) {
    switch (instruction.op) {
      case Op::kConstant:
        Push(program_.constants[instruction.operand]);
        return std::nullopt;
      case Op::kName:
        Push(names_.Find(program_.constants[instruction.operand].text()));
        return std::nullopt;
      case Op::kMember:
        if (!meter_.FindMember(Top())) return OverLimit();
        Top() = Top().Get(program_.constants[instruction.operand].text());
        return std::nullopt;
      case Op::kIndex:
        return Index();
      case Op::kNot:
        Top() = Value::Bool(!IsTrue(Top()));
        return std::nullopt;
      case Op::kNegate:
        if (Top().undefined()) return Undefined(RightOperand(instruction), instruction.end);
        return Put(instruction, Negate(Top()));
      case Op::kList:
        return MakeList(instruction.operand);
      case Op::kMap:
        return MakeMap(instruction);
      case Op::kRange:
        return MakeRange(instruction);
      case Op::kFilter:
        return Filter(instruction);
      case Op::kIs:
      case Op::kIsNot:
        Top() = Value::Bool(IsOfKind(Top(), instruction.operand) == (instruction.op == Op::kIs));
        return std::nullopt;
      default:
        return Binary(instruction);
    }
  }

  std::optional<Error> Binary(const ExpressionInstruction& instruction) {
    const Value right = Pop();
    const Value& left = Top();
    const bool equality = instruction.op == Op::kEqual || instruction.op == Op::kNotEqual ||
                          instruction.op == Op::kIn || instruction.op == Op::kNotIn;
    if (!equality && left.undefined()) return Undefined(instruction.begin, instruction.at);
    if (!equality && right.undefined())
      return Undefined(RightOperand(instruction), instruction.end);
    if (instruction.op < Op::kEqual) {
      return Put(instruction, Calculate(instruction.op, left, right, meter_));
    }
    const Result<bool> answer = CompareValues(instruction.op, left, right, meter_);
    if (!answer) return Located(instruction, answer.error());
    Top() = Value::Bool(*answer);
    return std::nullopt;
  }

  std::optional<Error> Index() {
    const Value index = Pop();
    const Value& of = Top();
    if (index.kind() == Kind::kText) {
      if (!meter_.FindMember(of)) return OverLimit();
      Top() = of.Get(index.text());
    } else if (index.kind() == Kind::kInt) {
      if (of.kind() == Kind::kText && !meter_.Read(of.text().size())) return OverLimit();
      Top() = of.At(index.int_value());
    } else {
      Top() = Value();
    }
    return std::nullopt;
  }

  std::optional<Error> MakeList(std::size_t count) {
    if (!meter_.MakeItems(count)) return OverLimit();
    const auto items = PopMany(count);
    Push(Value::List(
        {std::make_move_iterator(items.begin()), std::make_move_iterator(items.end())}));
    return std::nullopt;
  }

  std::optional<Error> MakeMap(const ExpressionInstruction& instruction) {
    if (!meter_.MakeItems(2 * std::size_t{instruction.operand})) return OverLimit();
    const auto parts = PopMany(2 * std::size_t{instruction.operand});
    ValueMap members;
    members.reserve(instruction.operand);
    for (std::size_t i = 0; i < parts.size(); i += 2) {
      if (parts[i].kind() != Kind::kText) {
        return Located(instruction, ExpressionError("the key of a map must be text, not " +
                                                    std::string(KindName(parts[i]))));
      }
      if (!meter_.MakeText(parts[i].text().size())) return OverLimit();
      members.emplace_back(parts[i].text(), std::move(parts[i + 1]));
    }
    if (!KeysAreUnique(members)) {
      return Located(instruction, ExpressionError("a key is repeated in the map"));
    }
    Push(Value::Map(std::move(members)));
    return std::nullopt;
  }

  std::optional<Error> MakeRange(const ExpressionInstruction& instruction) {
    const auto numbers = PopMany(instruction.operand);
    for (const Value& number : numbers) {
      if (number.kind() == Kind::kInt) continue;
      return Located(instruction, ExpressionError("range() takes whole numbers, not " +
                                                  std::string(KindName(number))));
    }
    const std::int64_t begin = numbers.size() == 1 ? 0 : numbers[0].int_value();
    const std::int64_t end = numbers[numbers.size() == 1 ? 0 : 1].int_value();
    const std::int64_t step = numbers.size() == 3 ? numbers[2].int_value() : 1;
    if (step == 0) return Located(instruction, ExpressionError("the step of range() is zero"));
    ValueList items;
    for (std::int64_t at = begin; step > 0 ? at < end : at > end;) {
      if (!meter_.MakeItems(1)) return OverLimit();
      items.push_back(Value::Int(at));
      if (__builtin_add_overflow(at, step, &at)) break;
    }
    Push(Value::List(std::move(items)));
    return std::nullopt;
  }

  std::optional<Error> Filter(const ExpressionInstruction& instruction) {
    const ExpressionCall& call = program_.calls[instruction.operand];
    std::array<Value, kFilterParametersMax> arguments;
    const auto given = PopMany(call.arguments);
    for (std::size_t i = 0; i < given.size(); ++i) {
      arguments[call.parameter_of[i]] = std::move(given[i]);
    }
    if (Top().undefined() && !call.filter->takes_undefined) {
      return Undefined(instruction.begin, instruction.at);
    }
    return Put(instruction, call.filter->apply({call.filter->name, Top(), arguments, meter_}));
  }

  std::optional<Error> Put(const ExpressionInstruction& instruction, Result<Value> result) {
    if (!result) return Located(instruction, result.error());
    Top() = *std::move(result);
    return std::nullopt;
  }

  // That part of the source, trimmed and shortened for a message.
  std::string Shown(std::size_t begin, std::size_t end) const {
    std::string_view text = std::string_view(program_.source).substr(begin, end - begin);
    text.remove_prefix(std::min(text.find_first_not_of(" \t\r\n"), text.size()));
    text = text.substr(0, text.find_last_not_of(" \t\r\n") + 1);
    const std::string_view cut = CutAtCharacter(text, kShownMax);
    return Quoted(cut.size() < text.size() ? std::string(cut) + "…" : std::string(cut));
  }

  std::size_t RightOperand(const ExpressionInstruction& instruction) const {
    return std::min(program_.source.find_first_not_of("+-*/%~<>=", instruction.at),
                    program_.source.size());
  }

  Error Undefined(std::size_t begin, std::size_t end) const {
    return ExpressionError(Shown(begin, end) + " is undefined; give it a value with default()");
  }

  Error Located(const ExpressionInstruction& instruction, const Error& error) const {
    return ExpressionError("in " + Shown(instruction.begin, instruction.end) + ": " +
                           error.message);
  }

  Value& Top() { return stack_[size_ - 1]; }
  void Push(Value value) { stack_[size_++] = std::move(value); }
  Value Pop() { return std::move(stack_[--size_]); }
  // In the order pushed; valid until the next Push.
  std::span<Value> PopMany(std::size_t count) {
    size_ -= count;
    return stack_.subspan(size_, count);
  }

  const ExpressionProgram& program_;
  const Names& names_;
  ExpressionMeter meter_;
  std::span<Value> stack_;
  std::size_t size_ = 0;
};

}  // namespace

Result<Value> EvaluateProgram(const ExpressionProgram& program, const Names& names,
                              const ExpressionLimits& limits) {
  if (program.stack_max <= kSmallStack) {
    std::array<Value, kSmallStack> stack;
    return Evaluation(program, names, limits, stack).Run();
  }
  std::vector<Value> stack(program.stack_max);
  return Evaluation(program, names, limits, stack).Run();
}

}  // namespace everstep
