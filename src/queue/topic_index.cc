#include "queue/topic_index.h"

#include <ext/pb_ds/assoc_container.hpp>
#include <ext/pb_ds/tree_policy.hpp>

namespace everstep {
namespace {

struct Best {
  TopicIndex::Rank rank;
  const std::string* topic = nullptr;
};

// Keeps in every node of the tree the best of its subtree.
template <typename ConstNode, typename Node, typename Compare, typename Allocator>
class KeepBest {
 public:
  using metadata_type = Best;
  virtual ~KeepBest() = default;

 protected:
  void operator()(Node node, ConstNode end) const {
    Best best{(*node)->second, &(*node)->first};
    for (const Node child : {node.get_l_child(), node.get_r_child()}) {
      if (child == end) continue;
      const Best& other = child.get_metadata();
      if (other.rank < best.rank) best = other;
    }
    const_cast<Best&>(node.get_metadata()) = best;
  }
};

using RankedTopics =
    __gnu_pbds::tree<std::string, TopicIndex::Rank, std::less<>, __gnu_pbds::rb_tree_tag, KeepBest>;

// The topics from `first` on that begin with `prefix` make up a range of the tree.
class Range {
 public:
  Range(const RankedTopics& topics, std::string_view prefix)
      : end_(topics.node_end()), prefix_(prefix) {
    Visit(topics.node_begin(), true, true);
  }
  const Best& best() const { return best_; }

 private:
  using Node = RankedTopics::node_const_iterator;

  void Offer(const Best& other) {
    if (best_.topic == nullptr || other.rank < best_.rank) best_ = other;
  }
  // `cut_below`, `cut_above`: the subtree may have topics before, after the range.
  void Visit(Node node, bool cut_below, bool cut_above) {
    while (node != end_) {
      if (!cut_below && !cut_above) return Offer(node.get_metadata());
      const std::string& topic = (*node)->first;
      const int side = topic.compare(0, prefix_.size(), prefix_);
      if (side < 0) {
        node = node.get_r_child();
      } else if (side > 0) {
        node = node.get_l_child();
      } else {
        Offer({(*node)->second, &topic});
        Visit(node.get_l_child(), cut_below, false);
        cut_below = false;
        node = node.get_r_child();
      }
    }
  }

  const Node end_;
  const std::string_view prefix_;
  Best best_;
};

}  // namespace

struct TopicIndex::Tree {
  RankedTopics topics;
};

TopicIndex::TopicIndex() : tree_(std::make_unique<Tree>()) {}

TopicIndex::~TopicIndex() = default;

void TopicIndex::Set(const std::string& topic, Rank rank) {
  tree_->topics.erase(topic);
  tree_->topics.insert({topic, rank});
}

void TopicIndex::Remove(const std::string& topic) { tree_->topics.erase(topic); }

const std::string* TopicIndex::First(std::string_view prefix) const {
  return Range(tree_->topics, prefix).best().topic;
}

}  // namespace everstep
