/* Functions that the C library has only since a newer version than the program asks for. They are
   linked into the program: `mod.rs` beside this file says why. x86_64 and aarch64 only, where the
   kernel's `struct stat` is that of the C library. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <fcntl.h>
#include <link.h>
#include <stddef.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

/* Since 2.33. Before, <sys/stat.h> had them as calls of `__xstat`. */
int stat(const char *path, struct stat *buffer) {
  return (int)syscall(SYS_newfstatat, AT_FDCWD, path, buffer, 0);
}

int lstat(const char *path, struct stat *buffer) {
  return (int)syscall(SYS_newfstatat, AT_FDCWD, path, buffer, AT_SYMLINK_NOFOLLOW);
}

int fstat(int file, struct stat *buffer) { return (int)syscall(SYS_fstat, file, buffer); }

int fstatat(int folder, const char *path, struct stat *buffer, int flags) {
  return (int)syscall(SYS_newfstatat, folder, path, buffer, flags);
}

int stat64(const char *path, struct stat64 *buffer) { return stat(path, (struct stat *)buffer); }

int lstat64(const char *path, struct stat64 *buffer) { return lstat(path, (struct stat *)buffer); }

int fstat64(int file, struct stat64 *buffer) { return fstat(file, (struct stat *)buffer); }

int fstatat64(int folder, const char *path, struct stat64 *buffer, int flags) {
  return fstatat(folder, path, (struct stat *)buffer, flags);
}

/* Since 2.35. The unwinder (libgcc of GCC 12 and newer) finds the frames of a function by it. */
struct search {
  char *address;
  struct dl_find_object *result;
};

static int look(struct dl_phdr_info *object, size_t size, void *data) {
  struct search *search = data;
  char *start = NULL, *end = NULL, *frames = NULL;
  int found = 0;
  (void)size;
  for (int i = 0; i < object->dlpi_phnum; i++) {
    const ElfW(Phdr) *segment = &object->dlpi_phdr[i];
    char *first = (char *)(object->dlpi_addr + segment->p_vaddr);
    if (segment->p_type == PT_GNU_EH_FRAME)
      frames = first;
    if (segment->p_type != PT_LOAD)
      continue;
    if (start == NULL || first < start)
      start = first;
    if (first + segment->p_memsz > end)
      end = first + segment->p_memsz;
    if (search->address >= first && search->address < first + segment->p_memsz)
      found = 1;
  }
  if (!found || frames == NULL)
    return 0;
  *search->result = (struct dl_find_object){
      .dlfo_map_start = start, .dlfo_map_end = end, .dlfo_eh_frame = frames};
  return 1;
}

int _dl_find_object(void *address, struct dl_find_object *result) {
  struct search search = {address, result};
  return dl_iterate_phdr(look, &search) == 1 ? 0 : -1;
}

/* Before 2.34, the program itself runs its constructors: `crt1.o` passed a function for that, which
   the C library of today does not have any more. It still calls it if there is one. */
typedef void constructor(int, char **, char **);
extern constructor *__preinit_array_start[] __attribute__((visibility("hidden")));
extern constructor *__preinit_array_end[] __attribute__((visibility("hidden")));
extern constructor *__init_array_start[] __attribute__((visibility("hidden")));
extern constructor *__init_array_end[] __attribute__((visibility("hidden")));
extern void _init(void);

static void construct(int count, char **words, char **variables) {
  for (constructor **next = __preinit_array_start; next < __preinit_array_end; next++)
    (*next)(count, words, variables);
  _init();
  for (constructor **next = __init_array_start; next < __init_array_end; next++)
    (*next)(count, words, variables);
}

typedef int entry(int, char **, char **);
int __real___libc_start_main(entry *, int, char **, constructor *, void (*)(void),
                             void (*)(void), void *);

int __wrap___libc_start_main(entry *run, int count, char **words, constructor *none,
                             void (*end)(void), void (*end_of_linker)(void), void *stack_end) {
  (void)none;
  (void)end;
  return __real___libc_start_main(run, count, words, construct, NULL, end_of_linker, stack_end);
}
