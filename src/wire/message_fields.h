// What the fields of a message are: one list for each struct, which writing and reading share.
//
//   FIELDS(protocol::Upstream, FIELD(node), FIELD(grant), FIELD(stripes));
//
// says that these members of an Upstream lie in the message's fields of the same names. The form of a
// field says how the member lies in it and what it may be: that of the member's type, or one named
// behind it, as in FIELD(metadata, Metadata). field_forms.h has the forms. Fields are read in the
// order of the list, up to the first that can't be. A list that lacks a member doesn't compile.
#pragma once

#include <concepts>
#include <cstddef>
#include <functional>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>

#include <hoplite/result.h>

#include "base/fields.h"

namespace hoplite::wire {

std::unexpected<Error> Bad(std::string_view field, std::string_view why);
// Says in `wrong` what is wrong with a field, and returns false: nothing behind it is read.
bool Refuse(std::string& wrong, std::string_view field, std::string_view why);

// The list of a struct, which FIELDS defines.
template <typename T>
inline constexpr auto kFields = nullptr;

template <typename T>
void WriteFields(const T& own, auto& message) {
  kFields<T>.Write(own, message);
}
// Returns whether every field could be read; `wrong` says why not. A message that isn't const gives
// its texts away.
template <typename T>
bool ReadFields(auto& message, T& own, std::string& wrong) {
  return kFields<T>.Read(message, own, wrong);
}

template <typename Message>
Message Written(const auto& own) {
  Message message;
  WriteFields(own, message);
  return message;
}
template <typename T>
Result<T> ReadAs(auto& message) {
  Result<T> own;
  std::string wrong;
  if (!ReadFields(message, *own, wrong)) own = Unexpected({ErrorCode::kProtocol, wrong});
  return own;
}

// --- what a form sees of a field

// FIELD makes one function for each field, which does these with it. Only a field that may be absent
// has an answer to kHas.
enum class Access { kGet, kSet, kEdit, kHas };
template <Access access>
using Do = std::integral_constant<Access, access>;

template <typename Of, typename Message>
struct To {
  Message& message;

  void set(auto&& value) const {
    Of()(Do<Access::kSet>(), message, std::forward<decltype(value)>(value));
  }
  auto& edit() const { return Of()(Do<Access::kEdit>(), message); }
};

template <typename Of, typename Message>
struct From {
  const char* name;
  Message& message;
  std::string& wrong;

  bool Refuse(std::string_view why) const { return wire::Refuse(wrong, name, why); }
  decltype(auto) get() const { return Of()(Do<Access::kGet>(), std::as_const(message)); }
  // A form reads a message inside, or takes a text, through this.
  auto& part() const {
    if constexpr (std::is_const_v<Message>) {
      return get();
    } else {
      return Of()(Do<Access::kEdit>(), message);
    }
  }
  bool has() const
    requires requires(const Message& in) {
      { Of()(Do<Access::kHas>(), in) } -> std::same_as<bool>;
    }
  {
    return Of()(Do<Access::kHas>(), message);
  }
};

// The form of a type, which a list may give another name.
template <typename T>
struct Form;
struct ByType {
  template <typename T>
  static void Write(const T& value, const auto& to) {
    Form<T>::Write(value, to);
  }
  template <typename T>
  static bool Read(const auto& from, T& value) {
    return Form<T>::Read(from, value);
  }
};
template <typename Named = ByType>
using FormOr = Named;

// --- what a list consists of

template <typename Form, typename Member, typename Of>
struct Field {
  static constexpr std::size_t kMembers = 1;
  const char* name;

  constexpr Field(Form /*form*/, const char* name_in, Member /*member*/, Of /*of*/)
      : name(name_in) {}

  static void Write(const auto& own, auto& message) {
    Form::Write(Member()(own), To<Of, std::remove_reference_t<decltype(message)>>{message});
  }
  bool Read(auto& message, auto& own, std::string& wrong) const {
    return Form::Read(From<Of, std::remove_reference_t<decltype(message)>>{name, message, wrong},
                      Member()(own));
  }
};

#define FIELD(name, ...) FIELD_AS(name, name __VA_OPT__(, ) __VA_ARGS__)
// FIELD_AS is for a member for which the message has another name.
#define FIELD_AS(member, name, ...)                                                  \
  ::hoplite::wire::Field(                                                            \
      ::hoplite::wire::FormOr<__VA_ARGS__>(), #name,                                 \
      [](auto& own) -> auto& { return own.member; },                                 \
      []<::hoplite::wire::Access access>(::hoplite::wire::Do<access>, auto& message, \
                                         auto&&... value) -> decltype(auto) {        \
        using enum ::hoplite::wire::Access;                                          \
        if constexpr (access == kGet) {                                              \
          return message.name();                                                     \
        } else if constexpr (access == kSet) {                                       \
          message.set_##name(std::forward<decltype(value)>(value)...);               \
        } else if constexpr (access == kEdit) {                                      \
          return *message.mutable_##name();                                          \
        } else if constexpr (requires { message.has_##name(); }) {                   \
          return message.has_##name();                                               \
        }                                                                            \
      })

// A member's own fields lie in the same message.
template <typename Member>
struct Flat {
  static constexpr std::size_t kMembers = 1;

  constexpr explicit Flat(Member /*member*/) {}

  static void Write(const auto& own, auto& message) { WriteFields(Member()(own), message); }
  static bool Read(auto& message, auto& own, std::string& wrong) {
    return ReadFields(message, Member()(own), wrong);
  }
};
#define FLAT(member) ::hoplite::wire::Flat([](auto& own) -> auto& { return own.member; })

// A member stays on its side: the message has no field for it.
template <auto member>
struct Unsent {
  static constexpr std::size_t kMembers = 1;

  static void Write(const auto& /*own*/, auto& /*message*/) {}
  static bool Read(auto& /*message*/, auto& /*own*/, std::string& /*wrong*/) { return true; }
};

// The function says what must hold between the fields that stand before it.
template <auto holds>
struct Check {
  static constexpr std::size_t kMembers = 0;

  static void Write(const auto& /*own*/, auto& /*message*/) {}
  static bool Read(auto& /*message*/, auto& own, std::string& wrong) {
    const Result<void> held = std::invoke(holds, std::as_const(own));
    if (!held) wrong = held.error().message;
    return held.has_value();
  }
};

template <typename... Parts>
struct List : Parts... {
  static constexpr std::size_t kMembers = (Parts::kMembers + ... + 0);

  constexpr explicit List(Parts... parts) : Parts(parts)... {}

  void Write(const auto& own, auto& message) const { (Parts::Write(own, message), ...); }
  bool Read(auto& message, auto& own, std::string& wrong) const {
    return (Parts::Read(message, own, wrong) && ...);
  }
};

#define FIELDS(Type, ...)                                    \
  template <>                                                \
  inline constexpr auto kFields<Type> = List{__VA_ARGS__};   \
  static_assert(kFields<Type>.kMembers == kFieldCount<Type>, \
                #Type " has a member that its list lacks")

}  // namespace hoplite::wire
