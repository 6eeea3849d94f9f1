#include "serve/trace_context.h"

#include <gtest/gtest.h>

namespace everstep {
namespace {

const std::string kTrace = "4bf92f3577b34da6a3ce929d0e0e4736";
const std::string kSpan = "00f067aa0ba902b7";
const std::string kParent = "00-" + kTrace + "-" + kSpan + "-01";

std::string StateOf(std::string_view tracestate) {
  const auto context = ParseTraceContext(kParent, tracestate);
  return context ? context->state : "?";
}

TEST(TraceContextTest, ReadsWhatItWrites) {
  const auto context = ParseTraceContext(kParent, "rojo=00f067aa0ba902b7,congo=t61rcWkgMzE");
  ASSERT_TRUE(context);
  EXPECT_EQ(context->trace_id, kTrace);
  EXPECT_EQ(context->span_id, kSpan);
  EXPECT_TRUE(context->sampled());
  EXPECT_EQ(context->state, "rojo=00f067aa0ba902b7,congo=t61rcWkgMzE");
  EXPECT_EQ(Traceparent(*context), kParent);
  EXPECT_EQ(Traceparent(*ParseTraceContext(" " + kParent + "\t", "")), kParent);
}

TEST(TraceContextTest, RefusesWhatTheSpecificationRefuses) {
  const std::string zeros(32, '0');
  std::string upper = kParent;
  upper[4] = 'B';
  for (const std::string& text :
       {std::string(), kParent.substr(0, 54), kParent + "0", kParent + "-00",
        "ff-" + kTrace + "-" + kSpan + "-01", "00-" + zeros + "-" + kSpan + "-01",
        "00-" + kTrace + "-" + zeros.substr(16) + "-01", "0g-" + kTrace + "-" + kSpan + "-01",
        "00-" + kTrace + "-" + kSpan + "-0x", "00_" + kTrace + "-" + kSpan + "-01",
        "01-" + kTrace + "-" + kSpan + "-01x", upper}) {
    EXPECT_FALSE(ParseTraceContext(text, "")) << text;
  }
}

TEST(TraceContextTest, LaterVersionsAreReadAsFarAsKnown) {
  const auto context = ParseTraceContext("cc-" + kTrace + "-" + kSpan + "-ff-what-comes", "");
  ASSERT_TRUE(context);
  EXPECT_EQ(Traceparent(*context), kParent);
}

TEST(TraceContextTest, AnInvalidStateIsDroppedByItself) {
  EXPECT_EQ(StateOf("a=1, b=2 ,,c@d=3"), "a=1,b=2,c@d=3");
  for (const std::string state :
       {"a", "a=", "=1", "A=1", "a=1,a=2", "a=b=c", "a=\x01", "a@=1", "a@1b=1", "a b=1"}) {
    EXPECT_EQ(StateOf(state), "") << state;
  }
  std::string many;
  for (int i = 0; i < 32; ++i) many += "k" + std::to_string(i) + "=v,";
  many.pop_back();
  EXPECT_EQ(StateOf(many), many);
  EXPECT_EQ(StateOf(many + ",k32=v"), "");
  EXPECT_EQ(StateOf(std::string(9'000, ',')), "");
}

TEST(TraceContextTest, LongMembersOfATooLongStateAreDroppedFirst) {
  const std::string large = "large=" + std::string(200, 'x');
  std::string many;
  for (int i = 0; i < 7; ++i) many += ",k" + std::to_string(i) + "=" + std::string(60, 'v');
  EXPECT_EQ(StateOf(large + many), many.substr(1)) << "448 bytes";
  EXPECT_EQ(StateOf("a=1" + many + ",last=" + std::string(90, 'z')), "a=1" + many);
}

TEST(TraceContextTest, NewTracesAreValidAndChildrenStayInThem) {
  SeededRandom random(1);
  const TraceContext fresh = NewTrace(random);
  EXPECT_EQ(ParseTraceContext(Traceparent(fresh), ""), fresh);
  EXPECT_FALSE(fresh.sampled());
  TraceContext parent = *ParseTraceContext(kParent, "a=1");
  const TraceContext child = ChildOf(parent, random);
  EXPECT_EQ(child.trace_id, kTrace);
  EXPECT_NE(child.span_id, kSpan);
  EXPECT_EQ(child.state, "a=1");
  EXPECT_TRUE(child.sampled());
  EXPECT_NE(NewTrace(random).trace_id, fresh.trace_id);
}

}  // namespace
}  // namespace everstep
