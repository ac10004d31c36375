/* A disk that forgets what nobody synchronised.
 *
 * Preloaded into a process, it keeps beside the directory FEEDSYNC_DISK a second one,
 * FEEDSYNC_DURABLE: whenever a file of the first is synchronised, the second gets its contents as they
 * are then, and whenever the first or a directory in it is synchronised, the second gets the directories
 * that are there and loses what was deleted, and at no other time. What the second holds when the process
 * is killed is what a power cut would leave of a disk that had kept back every other write.
 */
#define _GNU_SOURCE
#include <dirent.h>
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/types.h>
#include <fcntl.h>
#include <unistd.h>

/* The name of an open file of the disk, empty for the disk itself, or nothing. */
static const char *name_on_disk(int file, char *path) {
  const char *disk = getenv("FEEDSYNC_DISK");
  char link[64];
  snprintf(link, sizeof link, "/proc/self/fd/%d", file);
  ssize_t length = readlink(link, path, PATH_MAX - 1);
  if (disk == NULL || length < 0) return NULL;
  path[length] = 0;
  size_t prefix = strlen(disk);
  if (strncmp(path, disk, prefix) != 0) return NULL;
  if (path[prefix] == 0) return path + prefix;
  return path[prefix] == '/' ? path + prefix + 1 : NULL;
}

/* Whole or not at all, so that a kill in the middle leaves the former contents. Reads by the descriptor
 * at hand, since closing another one of the same file would give up the process's locks on it; one that
 * is only written to, which no database is, is opened again. */
static int keep(int file, const char *name) {
  const char *durable = getenv("FEEDSYNC_DURABLE");
  char target[PATH_MAX + 1], partial[PATH_MAX + 16], buffer[1 << 16];
  snprintf(target, sizeof target, "%s/%s", durable, name);
  snprintf(partial, sizeof partial, "%s.partial", target);
  int to = open(partial, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
  /* Its directory would not be there after a power cut. */
  if (to < 0 && errno == ENOENT) return 0;
  int from = file;
  if ((fcntl(file, F_GETFL) & O_ACCMODE) == O_WRONLY) {
    char link[64];
    snprintf(link, sizeof link, "/proc/self/fd/%d", file);
    from = open(link, O_RDONLY | O_CLOEXEC);
  }
  int failed = to < 0 || from < 0;
  off_t place = 0;
  while (!failed) {
    ssize_t count = pread(from, buffer, sizeof buffer, place);
    failed = count < 0 || write(to, buffer, (size_t)count) != count;
    if (count <= 0) break;
    place += count;
  }
  if (to >= 0) close(to);
  if (from >= 0 && from != file) close(from);
  if (failed || rename(partial, target) != 0) {
    errno = EIO;
    return -1;
  }
  return 0;
}

/* Makes the directories that are in one of the disk. */
static void keep_directories(const char *name) {
  const char *disk = getenv("FEEDSYNC_DISK"), *durable = getenv("FEEDSYNC_DURABLE");
  char path[3 * PATH_MAX];
  snprintf(path, sizeof path, "%s/%s", disk, name);
  DIR *directory = opendir(path);
  if (directory == NULL) return;
  struct dirent *entry;
  while ((entry = readdir(directory)) != NULL) {
    struct stat found;
    snprintf(path, sizeof path, "%s/%s/%s", disk, name, entry->d_name);
    if (stat(path, &found) != 0 || !S_ISDIR(found.st_mode)) continue;
    snprintf(path, sizeof path, "%s/%s/%s", durable, name, entry->d_name);
    mkdir(path, 0700);
  }
  closedir(directory);
}

static int forget_deleted(const char *name) {
  const char *disk = getenv("FEEDSYNC_DISK"), *durable = getenv("FEEDSYNC_DURABLE");
  char path[3 * PATH_MAX];
  snprintf(path, sizeof path, "%s/%s", durable, name);
  DIR *directory = opendir(path);
  if (directory == NULL) return errno == ENOENT ? 0 : -1;
  struct dirent *entry;
  while ((entry = readdir(directory)) != NULL) {
    snprintf(path, sizeof path, "%s/%s/%s", disk, name, entry->d_name);
    if (access(path, F_OK) == 0) continue;
    snprintf(path, sizeof path, "%s/%s/%s", durable, name, entry->d_name);
    unlink(path);
  }
  return closedir(directory);
}

static int synchronise(int file) {
  char path[PATH_MAX];
  struct stat found;
  const char *name = name_on_disk(file, path);
  if (name == NULL) return 0;
  if (fstat(file, &found) != 0) return -1;
  if (!S_ISDIR(found.st_mode)) return keep(file, name);
  keep_directories(name);
  return forget_deleted(name);
}

int fsync(int file) { return synchronise(file); }

int fdatasync(int file) { return synchronise(file); }
