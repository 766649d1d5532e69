/*
 * Loaded before the C library into a server under test (ha-testing.md 9.1): loses what was written and not flushed when the power
 * is cut, and moves the clock of the day. It is ruled by the file `faults` of the server's working directory, which the test writes:
 *
 *   0  int32  cut the power: 1 loses every write that was not flushed, 2 about half of them
 *   4  int32  every flush takes so many ms longer
 *   8  int64  the clock of the day is so many ms ahead
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/time.h>
#include <sys/uio.h>
#include <time.h>
#include <unistd.h>

struct rule { volatile int32_t cut; volatile int32_t flush_ms; volatile int64_t ahead_ms; };
static struct rule none, *rule = &none;

/* What stood where a write went that is not flushed yet; the newest first. */
struct undo { struct undo *next; uint64_t number; off_t at; off_t size; size_t old; char bytes[]; };
struct file { struct file *next; dev_t dev; ino_t ino; int fd; struct undo *undos; };
static struct file *files;
static uint64_t number;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

#define REAL(name) static __typeof__(&name) real; if (!real) real = (__typeof__(&name))dlsym(RTLD_NEXT, #name)

static ssize_t real_pwrite(int fd, const void *bytes, size_t length, off_t at) { REAL(pwrite64); return real(fd, bytes, length, at); }

static void lose(int some) {
  unsigned seed = (unsigned)number;
  for (struct file *file = files; file; file = file->next)
    for (struct undo *undo = file->undos; undo; undo = undo->next) {
      if (some && rand_r(&seed) % 2) continue;
      if (undo->old) real_pwrite(file->fd, undo->bytes, undo->old, undo->at);
      struct stat now;
      if (fstat(file->fd, &now) == 0 && now.st_size > undo->size) { if (ftruncate(file->fd, undo->size)) {} }
    }
}

static void *watch(void *unused) {
  (void)unused;
  struct timespec pause = {0, 2000000};
  for (;;) {
    nanosleep(&pause, NULL);
    if (!rule->cut) continue;
    pthread_mutex_lock(&lock);
    lose(rule->cut == 2);
    kill(getpid(), SIGKILL);
  }
  return NULL;
}

__attribute__((constructor)) static void begin(void) {
  int fd = open("faults", O_RDWR | O_CLOEXEC);
  if (fd < 0) return;
  void *map = mmap(NULL, sizeof(struct rule), PROT_READ, MAP_SHARED, fd, 0);
  close(fd);
  if (map == MAP_FAILED) return;
  rule = map;
  pthread_t thread;
  pthread_create(&thread, NULL, watch, NULL);
}

/* Files of data only; what is opened to be flushed with each write loses nothing. */
static struct file *kept(int fd, struct stat *state) {
  if (rule == &none || fstat(fd, state) || !S_ISREG(state->st_mode) || (fcntl(fd, F_GETFL) & O_DSYNC)) return NULL;
  for (struct file *file = files; file; file = file->next)
    if (file->ino == state->st_ino && file->dev == state->st_dev) return file;
  char name[64], path[1024];
  snprintf(name, sizeof name, "/proc/self/fd/%d", fd);
  ssize_t length = readlink(name, path, sizeof path - 1);
  if (length < 0) return NULL;
  path[length] = 0;
  if (!strstr(path, "/raft-storage") && !strstr(path, "/databases/")) return NULL;
  struct file *file = calloc(1, sizeof *file);
  file->ino = state->st_ino;
  file->dev = state->st_dev;
  file->fd = open(name, O_RDWR | O_CLOEXEC);
  file->next = files;
  return files = file;
}

static void remember(int fd, size_t length, off_t at) {
  struct stat state;
  struct file *file = kept(fd, &state);
  if (!file) return;
  if (at < 0) at = (fcntl(fd, F_GETFL) & O_APPEND) ? state.st_size : lseek(fd, 0, SEEK_CUR);
  size_t old = at >= state.st_size ? 0 : (size_t)(state.st_size - at);
  if (old > length) old = length;
  struct undo *undo = malloc(sizeof *undo + old);
  ssize_t got = old ? pread(file->fd, undo->bytes, old, at) : 0;
  undo->old = got < 0 ? 0 : (size_t)got;
  undo->number = ++number;
  undo->at = at;
  undo->size = state.st_size;
  undo->next = file->undos;
  file->undos = undo;
}

static size_t sum(const struct iovec *parts, int count) {
  size_t all = 0;
  for (int i = 0; i < count; i++) all += parts[i].iov_len;
  return all;
}

#define WRITE(name, length, at, arguments, call)                    \
  ssize_t name arguments {                                          \
    REAL(name);                                                     \
    if (rule == &none) return real call;                            \
    pthread_mutex_lock(&lock);                                      \
    remember(fd, length, at);                                       \
    ssize_t result = real call;                                     \
    int error = errno;                                              \
    pthread_mutex_unlock(&lock);                                    \
    errno = error;                                                  \
    return result;                                                  \
  }

static int regular(int fd) {
  struct stat state;
  return fstat(fd, &state) == 0 && S_ISREG(state.st_mode);
}

/* Sockets and pipes may wait: never under the lock. */
ssize_t write(int fd, const void *bytes, size_t length) {
  REAL(write);
  if (rule == &none || !regular(fd)) return real(fd, bytes, length);
  pthread_mutex_lock(&lock);
  remember(fd, length, -1);
  ssize_t result = real(fd, bytes, length);
  int error = errno;
  pthread_mutex_unlock(&lock);
  errno = error;
  return result;
}

ssize_t writev(int fd, const struct iovec *parts, int count) {
  REAL(writev);
  if (rule == &none || !regular(fd)) return real(fd, parts, count);
  pthread_mutex_lock(&lock);
  remember(fd, sum(parts, count), -1);
  ssize_t result = real(fd, parts, count);
  int error = errno;
  pthread_mutex_unlock(&lock);
  errno = error;
  return result;
}

WRITE(pwrite, length, at, (int fd, const void *bytes, size_t length, off_t at), (fd, bytes, length, at))
WRITE(pwrite64, length, at, (int fd, const void *bytes, size_t length, off64_t at), (fd, bytes, length, at))
WRITE(pwritev, sum(parts, count), at, (int fd, const struct iovec *parts, int count, off_t at), (fd, parts, count, at))
WRITE(pwritev64, sum(parts, count), at, (int fd, const struct iovec *parts, int count, off64_t at), (fd, parts, count, at))

static void flushed(int fd, uint64_t until) {
  struct stat state;
  if (fstat(fd, &state)) return;
  for (struct file **place = &files; *place; place = &(*place)->next) {
    struct file *file = *place;
    if (file->ino != state.st_ino || file->dev != state.st_dev) continue;
    struct undo **at = &file->undos;
    while (*at && (*at)->number > until) at = &(*at)->next;
    for (struct undo *undo = *at; undo;) { struct undo *next = undo->next; free(undo); undo = next; }
    *at = NULL;
    if (file->undos) return;
    *place = file->next;
    close(file->fd);
    free(file);
    return;
  }
}

#define FLUSH(name)                                                                        \
  int name(int fd) {                                                                       \
    REAL(name);                                                                            \
    if (rule == &none) return real(fd);                                                    \
    if (rule->flush_ms) usleep((useconds_t)rule->flush_ms * 1000);                         \
    pthread_mutex_lock(&lock);                                                             \
    uint64_t until = number;                                                               \
    pthread_mutex_unlock(&lock);                                                           \
    int result = real(fd);                                                                 \
    int error = errno;                                                                     \
    pthread_mutex_lock(&lock);                                                             \
    if (result == 0) flushed(fd, until);                                                   \
    pthread_mutex_unlock(&lock);                                                           \
    errno = error;                                                                         \
    return result;                                                                         \
  }

FLUSH(fsync)
FLUSH(fdatasync)

int clock_gettime(clockid_t id, struct timespec *time) {
  REAL(clock_gettime);
  int result = real(id, time);
  if (result == 0 && (id == CLOCK_REALTIME || id == CLOCK_REALTIME_COARSE)) time->tv_sec += rule->ahead_ms / 1000;
  return result;
}

int gettimeofday(struct timeval *restrict time, void *restrict zone) {
  REAL(gettimeofday);
  int result = real(time, zone);
  if (result == 0) time->tv_sec += rule->ahead_ms / 1000;
  return result;
}
