// IdNames: names in the place of ids in what a command prints, as ShownName has them.
#pragma once

#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include <hoplite/object_id.h>
#include <hoplite/status.h>

namespace hoplite::cli {

class IdNames {
 public:
  void Add(const ObjectInfo& object);
  // As somebody typed it.
  void Add(const ObjectId& id, std::string shown);
  void Clear() { shown_.clear(); }
  bool empty() const { return shown_.empty(); }
  bool Knows(const ObjectId& id) const;

  // The object's name, else its digits.
  std::string Of(const ObjectId& id) const;
  // The same text with the names of all ids that have one.
  std::string In(std::string_view text) const;

 private:
  std::unordered_map<std::string, std::string> shown_;  // by the id's digits
};

// The ids that a text shows, each once, in their order.
std::vector<ObjectId> IdsIn(std::string_view text);

}  // namespace hoplite::cli
