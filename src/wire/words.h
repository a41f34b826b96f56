// The lists of words: the events and actions, each of which is one of the bodies of its message.
//
//   WORD(Want, want, FIELD(marks), FIELD(leaf), FIELD(joint));
//
// says that a protocol::Want is the body `want`, and what its fields are (message_fields.h). The
// object and the version that a word speaks of stand beside its body.
#pragma once

#include <cstddef>
#include <string>
#include <type_traits>
#include <utility>
#include <variant>

#include <hoplite/result.h>

#include "base/fields.h"
#include "wire/field_forms.h"
#include "wire/message_fields.h"

namespace hoplite::wire {

// A message has a word's body here.
template <typename Word>
struct Body;

// These stand beside it.
inline constexpr List kNothing{};
inline constexpr List kObject{FIELD(object)};
inline constexpr List kObjectAndVersion{FIELD(object), FIELD(version)};
template <typename Word>
constexpr auto ListBeside() {
  if constexpr (requires(Word& word) { word.version; }) {
    return kObjectAndVersion;
  } else if constexpr (requires(Word& word) { word.object; }) {
    return kObject;
  } else {
    return kNothing;
  }
}
template <typename Word>
inline constexpr auto kBeside = ListBeside<Word>();

#define BODY(Type, name)                                                                     \
  template <>                                                                                \
  struct Body<protocol::Type> {                                                              \
    static bool IsIn(const auto& message) { return message.body_case() == message.k##Type; } \
    static auto& Of(auto& message) { return *message.mutable_##name(); }                     \
  }
#define WORD(Type, name, ...)                                                          \
  template <>                                                                          \
  inline constexpr auto kFields<protocol::Type> = List{__VA_ARGS__};                   \
  static_assert(kFields<protocol::Type>.kMembers + kBeside<protocol::Type>.kMembers == \
                    kFieldCount<protocol::Type>,                                       \
                #Type " has a member that its list lacks");                            \
  BODY(Type, name)

template <typename Message, typename... Words>
Message WrittenWord(const std::variant<Words...>& words) {
  Message message;
  std::visit(
      [&message]<typename Word>(const Word& word) {
        kBeside<Word>.Write(word, message);
        WriteFields(word, Body<Word>::Of(message));
      },
      words);
  return message;
}

template <typename Words, typename Word, typename Message>
Result<Words> ReadAsOneOf(Message& message, std::string& wrong) {
  Result<Words> words(std::in_place, std::in_place_type<Word>);
  Word& word = std::get<Word>(*words);
  (void)(kBeside<Word>.Read(message, word, wrong) &&
         ReadFields(Body<Word>::Of(message), word, wrong));
  return words;
}

// Reads the word whose body the message has.
template <typename... Words, typename Message>
Result<std::variant<Words...>> ReadOneOf(Message& message,
                                         std::type_identity<std::variant<Words...>> /*type*/) {
  using Any = std::variant<Words...>;
  constexpr Result<Any> (*kReaders[])(Message&,
                                      std::string&) = {&ReadAsOneOf<Any, Words, Message>...};
  std::size_t which = 0;
  if (!((Body<Words>::IsIn(message) || (++which, false)) || ...)) {
    return Bad("body", "is missing or unknown");
  }
  std::string wrong;
  Result<Any> words = kReaders[which](message, wrong);
  if (!wrong.empty()) words = Unexpected({ErrorCode::kProtocol, wrong});
  return words;
}

}  // namespace hoplite::wire
