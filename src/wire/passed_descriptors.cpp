#include "wire/passed_descriptors.h"

#include <cstring>

#include "base/check.h"

namespace hoplite::wire {

void PassedDescriptors::Attach(std::span<const int> descriptors, msghdr& head) {
  if (descriptors.empty()) return;
  HOPLITE_CHECK(descriptors.size() <= kMost, "more than one message may carry");
  head.msg_control = control_;
  head.msg_controllen = CMSG_SPACE(descriptors.size_bytes());
  cmsghdr* item = CMSG_FIRSTHDR(&head);
  item->cmsg_level = SOL_SOCKET;
  item->cmsg_type = SCM_RIGHTS;
  item->cmsg_len = CMSG_LEN(descriptors.size_bytes());
  std::memcpy(CMSG_DATA(item), descriptors.data(), descriptors.size_bytes());
}

void PassedDescriptors::MakeRoom(msghdr& head) {
  head.msg_control = control_;
  head.msg_controllen = sizeof control_;
}

std::vector<FileDescriptor> PassedDescriptors::Take(msghdr& head) {
  std::vector<FileDescriptor> came;
  for (cmsghdr* item = CMSG_FIRSTHDR(&head); item != nullptr; item = CMSG_NXTHDR(&head, item)) {
    if (item->cmsg_level != SOL_SOCKET || item->cmsg_type != SCM_RIGHTS) continue;
    const std::size_t count = (item->cmsg_len - CMSG_LEN(0)) / sizeof(int);
    for (std::size_t i = 0; i < count; ++i) {
      int descriptor = -1;
      std::memcpy(&descriptor, CMSG_DATA(item) + i * sizeof(int), sizeof descriptor);
      came.emplace_back(descriptor);
    }
  }
  if ((head.msg_flags & MSG_CTRUNC) != 0) came.emplace_back(-1);
  return came;
}

}  // namespace hoplite::wire
