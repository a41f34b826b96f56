// What a program writes to its streams: the words that logs and the command line show.
#include <ostream>

#include <hoplite/dtype.h>
#include <hoplite/log.h>
#include <hoplite/object_id.h>
#include <hoplite/reduce.h>
#include <hoplite/register_number.h>
#include <hoplite/result.h>

namespace hoplite {
std::ostream& operator<<(std::ostream& out, const ObjectId& id) { return out << id.ToHex(); }
std::ostream& operator<<(std::ostream& out, ErrorCode code) { return out << Name(code); }
std::ostream& operator<<(std::ostream& out, const Error& error) { return out << error.ToString(); }
std::ostream& operator<<(std::ostream& out, DType dtype) { return out << Name(dtype); }
std::ostream& operator<<(std::ostream& out, Op op) { return out << Name(op); }
std::ostream& operator<<(std::ostream& out, LogLevel level) { return out << Name(level); }
std::ostream& operator<<(std::ostream& out, RegisterNumber number) {
  return out << number.incarnation << '.' << number.sequence;
}

}  // namespace hoplite
