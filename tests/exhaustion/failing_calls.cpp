#include "failing_calls.h"

#include <atomic>
#include <cerrno>
#include <cstdarg>

#include <dlfcn.h>
#include <fcntl.h>
#include <pthread.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/timerfd.h>
#include <unistd.h>

namespace hoplite::exhaustion {
namespace {

std::atomic<Call> armed{Call::kNone};
std::atomic<int> left{0};

bool Fails(Call call) {
  if (armed.load(std::memory_order_relaxed) != call) return false;
  return left.fetch_sub(1) == 1;
}

template <typename Function>
Function* Real(Function* /*type*/, const char* name) {
  return reinterpret_cast<Function*>(::dlsym(RTLD_NEXT, name));
}

// Drops the descriptors that were sent along with the bytes, as the kernel does if this process can
// have no more.
void DropDescriptors(msghdr& head) {
  for (cmsghdr* item = CMSG_FIRSTHDR(&head); item != nullptr; item = CMSG_NXTHDR(&head, item)) {
    if (item->cmsg_level != SOL_SOCKET || item->cmsg_type != SCM_RIGHTS) continue;
    const auto* descriptors = reinterpret_cast<const int*>(CMSG_DATA(item));
    const std::size_t count = (item->cmsg_len - CMSG_LEN(0)) / sizeof(int);
    for (std::size_t i = 0; i < count; ++i) ::close(descriptors[i]);
  }
  head.msg_controllen = 0;
  head.msg_flags |= MSG_CTRUNC;
}

}  // namespace

void FailAt(Call call, int n) {
  left = n;
  armed = call;
}

bool Disarm() {
  armed = Call::kNone;
  return left <= 0;
}

}  // namespace hoplite::exhaustion

using hoplite::exhaustion::Call;
using hoplite::exhaustion::Fails;
using hoplite::exhaustion::Real;

// NOLINTBEGIN: the names and types are the C library's.
#define HOPLITE_REAL(name) static const auto real = Real(&::name, #name)
#define HOPLITE_FAIL(call, number, result) \
  do {                                     \
    if (Fails(call)) {                     \
      errno = number;                      \
      return result;                       \
    }                                      \
  } while (false)

#pragma GCC visibility push(default)
extern "C" {

void* mmap(void* at, size_t size, int protection, int flags, int fd, off_t offset) noexcept {
  HOPLITE_REAL(mmap);
  HOPLITE_FAIL(Call::kMmap, ENOMEM, MAP_FAILED);
  return real(at, size, protection, flags, fd, offset);
}
void* mmap64(void* at, size_t size, int protection, int flags, int fd, off64_t offset) noexcept {
  HOPLITE_REAL(mmap64);
  HOPLITE_FAIL(Call::kMmap, ENOMEM, MAP_FAILED);
  return real(at, size, protection, flags, fd, offset);
}
int madvise(void* at, size_t size, int advice) noexcept {
  HOPLITE_REAL(madvise);
  HOPLITE_FAIL(Call::kMadvise, EAGAIN, -1);
  return real(at, size, advice);
}
int socket(int domain, int type, int protocol) noexcept {
  HOPLITE_REAL(socket);
  HOPLITE_FAIL(Call::kSocket, EMFILE, -1);
  return real(domain, type, protocol);
}
int socketpair(int domain, int type, int protocol, int ends[2]) noexcept {
  HOPLITE_REAL(socketpair);
  HOPLITE_FAIL(Call::kSocketpair, EMFILE, -1);
  return real(domain, type, protocol, ends);
}
int accept(int socket, sockaddr* address, socklen_t* size) {
  HOPLITE_REAL(accept);
  HOPLITE_FAIL(Call::kAccept, EMFILE, -1);
  return real(socket, address, size);
}
int accept4(int socket, sockaddr* address, socklen_t* size, int flags) {
  HOPLITE_REAL(accept4);
  HOPLITE_FAIL(Call::kAccept, EMFILE, -1);
  return real(socket, address, size, flags);
}
int connect(int socket, const sockaddr* address, socklen_t size) {
  HOPLITE_REAL(connect);
  HOPLITE_FAIL(Call::kConnect, EAGAIN, -1);
  return real(socket, address, size);
}
int memfd_create(const char* name, unsigned flags) noexcept {
  HOPLITE_REAL(memfd_create);
  HOPLITE_FAIL(Call::kMemfdCreate, EMFILE, -1);
  return real(name, flags);
}
int posix_fallocate(int fd, off_t offset, off_t size) {
  HOPLITE_REAL(posix_fallocate);
  HOPLITE_FAIL(Call::kFallocate, ENOSPC, ENOSPC);
  return real(fd, offset, size);
}
int open(const char* path, int flags, ...) {
  HOPLITE_REAL(open);
  HOPLITE_FAIL(Call::kOpen, EMFILE, -1);
  va_list more;
  va_start(more, flags);
  const int mode = va_arg(more, int);
  va_end(more);
  return real(path, flags, mode);
}
int fallocate(int fd, int mode, off_t offset, off_t size) {
  HOPLITE_REAL(fallocate);
  HOPLITE_FAIL(Call::kDiskFallocate, ENOSPC, -1);
  return real(fd, mode, offset, size);
}
ssize_t pwrite(int fd, const void* bytes, size_t size, off_t offset) {
  HOPLITE_REAL(pwrite);
  HOPLITE_FAIL(Call::kPwrite, EIO, -1);
  return real(fd, bytes, size, offset);
}
ssize_t pread(int fd, void* bytes, size_t size, off_t offset) {
  HOPLITE_REAL(pread);
  HOPLITE_FAIL(Call::kPread, EIO, -1);
  return real(fd, bytes, size, offset);
}
int eventfd(unsigned count, int flags) noexcept {
  HOPLITE_REAL(eventfd);
  HOPLITE_FAIL(Call::kEventfd, EMFILE, -1);
  return real(count, flags);
}
int pipe2(int ends[2], int flags) noexcept {
  HOPLITE_REAL(pipe2);
  HOPLITE_FAIL(Call::kPipe, EMFILE, -1);
  return real(ends, flags);
}
int epoll_create1(int flags) noexcept {
  HOPLITE_REAL(epoll_create1);
  HOPLITE_FAIL(Call::kEpollCreate, EMFILE, -1);
  return real(flags);
}
int timerfd_create(int clock, int flags) noexcept {
  HOPLITE_REAL(timerfd_create);
  HOPLITE_FAIL(Call::kTimerfdCreate, EMFILE, -1);
  return real(clock, flags);
}
int pthread_create(pthread_t* thread, const pthread_attr_t* attributes, void* (*body)(void*),
                   void* argument) noexcept {
  HOPLITE_REAL(pthread_create);
  HOPLITE_FAIL(Call::kPthreadCreate, EAGAIN, EAGAIN);
  return real(thread, attributes, body, argument);
}
ssize_t recvmsg(int socket, msghdr* head, int flags) {
  HOPLITE_REAL(recvmsg);
  const ssize_t got = real(socket, head, flags);
  const bool with_descriptor =
      got > 0 && CMSG_FIRSTHDR(head) != nullptr && CMSG_FIRSTHDR(head)->cmsg_type == SCM_RIGHTS;
  if (with_descriptor && Fails(Call::kDescriptor)) {
    hoplite::exhaustion::DropDescriptors(*head);
  }
  return got;
}

}  // extern "C"
#pragma GCC visibility pop
// NOLINTEND
