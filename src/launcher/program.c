/* SPDX-License-Identifier: MIT
 *
 * Finds a program and looks into it.
 */
#include "config.h"

#include "launcher/program.h"

#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <gelf.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/xattr.h>
#include <unistd.h>

#define RELINK                                                                                                   \
	"Link it with Rheaper instead: add what `pkg-config --libs rheaper` prints to its link, then run it with " \
	"RHEAPER_ENABLE=1 (rheaper(3))."

/* execve(2): interpreters may be scripts themselves, so often; and the first line is cut at this length. */
#define SCRIPTS_MAX 5
#define SCRIPT_LINE 256

/* ---- which file ---- */

static bool is_program(const char *path)
{
	struct stat status;

	if (stat(path, &status) != 0)
		return false;
	if (!S_ISREG(status.st_mode)) {
		errno = EACCES;
		return false;
	}
	return access(path, X_OK) == 0;
}

int program_find(const char *name, char **path)
{
	const char *list = getenv("PATH"), *end;
	int error = ENOENT;

	if (strchr(name, '/')) {
		if (!is_program(name))
			return errno;
		*path = strdup(name);
		return *path ? 0 : ENOMEM;
	}
	if (!*name)
		return ENOENT;
	if (!list)
		list = "/bin:/usr/bin"; /* execvp(3) */
	for (;; list = end + 1) {
		end = strchrnul(list, ':');
		if (asprintf(path, "%.*s%s%s", (int)(end - list), list, end == list ? "./" : "/", name) < 0)
			return ENOMEM;
		if (is_program(*path))
			return 0;
		if (errno != ENOENT && errno != ENOTDIR)
			error = errno;
		free(*path);
		if (!*end)
			return error;
	}
}

/* ---- what it is ---- */

static bool refuse(struct program_fault *fault, const char *advice, const char *format, ...) __attribute__((format(printf, 3, 4)));

static bool refuse(struct program_fault *fault, const char *advice, const char *format, ...)
{
	va_list arguments;

	va_start(arguments, format);
	vsnprintf(fault->reason, sizeof fault->reason, format, arguments);
	va_end(arguments);
	fault->advice = advice;
	return false;
}

/* The libraries and functions that a sanitizer brings: it has a malloc of its own, which must come first. */
static const char *const sanitizer_libraries[] = {"libasan.", "libtsan.", "liblsan.", "libhwasan.", "libclang_rt.asan", "libclang_rt.tsan",
						  "libclang_rt.hwasan", "libclang_rt.memprof", NULL};
static const char *const sanitizer_functions[] = {"__asan_init", "__tsan_init", "__msan_init", "__lsan_init", "__hwasan_init",
						  "__memprof_init", NULL};

static bool begins_with_one(const char *name, const char *const *list)
{
	for (; *list; list++)
		if (strncmp(name, *list, strlen(*list)) == 0)
			return true;
	return false;
}

static bool is_one(const char *name, const char *const *list)
{
	for (; *list; list++)
		if (strcmp(name, *list) == 0)
			return true;
	return false;
}

/* The names that DT_NEEDED entries and symbol tables hold. */
static bool names_are_fine(const char *path, Elf *elf, struct program_fault *fault)
{
	bool own_malloc = false; /* a sanitizer's, perhaps: then that is what to say */

	for (Elf_Scn *section = NULL; (section = elf_nextscn(elf, section));) {
		GElf_Shdr header;
		Elf_Data *data;
		size_t count;

		if (!gelf_getshdr(section, &header) || !header.sh_entsize ||
		    (header.sh_type != SHT_DYNAMIC && header.sh_type != SHT_DYNSYM && header.sh_type != SHT_SYMTAB))
			continue;
		data = elf_getdata(section, NULL);
		count = data ? header.sh_size / header.sh_entsize : 0;
		for (size_t i = 0; i < count; i++) {
			GElf_Dyn entry;
			GElf_Sym symbol;
			const char *name = NULL;

			if (header.sh_type == SHT_DYNAMIC) {
				if (gelf_getdyn(data, (int)i, &entry) && entry.d_tag == DT_NEEDED)
					name = elf_strptr(elf, header.sh_link, entry.d_un.d_val);
				if (name && begins_with_one(name, sanitizer_libraries))
					return refuse(fault, "Build it without -fsanitize.", "%s is built with a sanitizer (it needs %s)", path, name);
				continue;
			}
			if (!gelf_getsym(data, (int)i, &symbol) || symbol.st_shndx == SHN_UNDEF || GELF_ST_BIND(symbol.st_info) == STB_LOCAL)
				continue;
			name = elf_strptr(elf, header.sh_link, symbol.st_name);
			if (name && is_one(name, sanitizer_functions))
				return refuse(fault, "Build it without -fsanitize.", "%s is built with a sanitizer (it defines %s)", path, name);
			own_malloc |= name && strcmp(name, "malloc") == 0;
		}
	}
	if (own_malloc)
		return refuse(fault, RELINK, "%s defines malloc itself, which comes before that of a preloaded library", path);
	return true;
}

/* Copies the name of the dynamic loader. False: there is none. */
static bool get_loader(Elf *elf, char *name, size_t size)
{
	size_t count = 0, file_size;
	const char *file = elf_rawfile(elf, &file_size);

	elf_getphdrnum(elf, &count);
	for (size_t i = 0; i < count; i++) {
		GElf_Phdr segment;

		if (!gelf_getphdr(elf, (int)i, &segment) || segment.p_type != PT_INTERP)
			continue;
		*name = '\0';
		if (file && segment.p_offset < file_size && segment.p_filesz <= file_size - segment.p_offset)
			snprintf(name, size, "%.*s", (int)segment.p_filesz, file + segment.p_offset);
		return true;
	}
	return false;
}

static const char *last_name(const char *path)
{
	const char *slash = strrchr(path, '/');

	return slash ? slash + 1 : path;
}

static bool elf_is_fine(const char *path, Elf *elf, int fd, struct program_fault *fault)
{
	char loader[PATH_MAX];
	struct stat status;
	GElf_Ehdr header;

	if (!gelf_getehdr(elf, &header))
		return true;
	if (header.e_ident[EI_CLASS] != ELFCLASS64)
		return refuse(fault, "", "%s is a 32-bit program; this Rheaper records 64-bit ones", path);
#if defined(__x86_64__)
	if (header.e_machine != EM_X86_64)
		return refuse(fault, "", "%s is made for another machine; this Rheaper records x86-64 programs", path);
#endif
	if (fstat(fd, &status) == 0 && status.st_mode & (S_ISUID | S_ISGID))
		return refuse(fault, "Record a copy of it that has not: `cp` takes the bit away.",
			      "%s has the set-%s-ID bit, and the loader preloads nothing into such programs", path,
			      status.st_mode & S_ISUID ? "user" : "group");
	if (fgetxattr(fd, "security.capability", NULL, 0) > 0)
		return refuse(fault, "Record a copy of it that has none: `cp` takes them away.",
			      "%s has file capabilities, and the loader preloads nothing into such programs", path);
	if (!get_loader(elf, loader, sizeof loader))
		return refuse(fault, RELINK, "%s is statically linked, so nothing can be preloaded into it", path);
	if (strncmp(last_name(loader), "ld-musl", 7) == 0)
		return refuse(fault, "", "%s is linked with musl; Rheaper records programs of the GNU C library", path);
	return names_are_fine(path, elf, fault);
}

/* The interpreter that a script names (execve(2)), or "". */
static void read_interpreter(int fd, char *interpreter)
{
	char line[SCRIPT_LINE + 1], *start = line + 2, *end;
	ssize_t n = pread(fd, line, SCRIPT_LINE, 0);

	line[n > 0 ? n : 0] = '\0';
	*interpreter = '\0';
	if (strncmp(line, "#!", 2) != 0)
		return;
	while (*start == ' ' || *start == '\t')
		start++;
	for (end = start; *end && !isspace((unsigned char)*end);)
		end++;
	*end = '\0';
	strcpy(interpreter, start);
}

bool program_is_recordable(const char *path, struct program_fault *fault)
{
	char interpreter[SCRIPT_LINE + 1], next[SCRIPT_LINE + 1];
	bool fine = true;

	elf_version(EV_CURRENT);
	for (int scripts = 0; scripts < SCRIPTS_MAX; scripts++) {
		int fd = open(path, O_RDONLY | O_CLOEXEC);
		Elf *elf;

		if (fd < 0)
			return true;
		read_interpreter(fd, next);
		if (!*next) {
			elf = elf_begin(fd, ELF_C_READ_MMAP, NULL);
			if (elf && elf_kind(elf) == ELF_K_ELF)
				fine = elf_is_fine(path, elf, fd, fault);
			elf_end(elf);
		}
		close(fd);
		if (!*next)
			break;
		strcpy(interpreter, next);
		path = interpreter;
	}
	return fine;
}
