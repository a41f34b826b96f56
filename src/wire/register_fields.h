// The words about registers: written, and read with checks.
#pragma once

#include <hoplite/object_id.h>
#include <hoplite/result.h>

#include "hoplite/v1/directory.pb.h"
#include "protocol/register.h"

namespace hoplite::wire {

void WriteRegisterUse(const protocol::RegisterUse& use, v1::RegisterUse& to);
void WriteRegisterNews(const protocol::RegisterNews& news, v1::RegisterNews& to);
Result<protocol::RegisterUse> ReadRegisterUse(const ObjectId& object, v1::RegisterUse& message);
Result<protocol::RegisterNews> ReadRegisterNews(const ObjectId& object, v1::RegisterNews& message);

}  // namespace hoplite::wire
