/* SPDX-License-Identifier: MIT
 *
 * How a case switches tracking on and off. adapter.c defines the two functions; without it the calls do nothing and return -1, so that each
 * program also runs without Rheaper. */
#ifndef CASE_H
#define CASE_H

#ifdef __cplusplus
extern "C" {
#endif
extern int case_enable(const char *profile_dir) __attribute__((weak));
extern int case_disable(void) __attribute__((weak));
#ifdef __cplusplus
}
#endif

static inline int case_on(const char *profile_dir)
{
	return case_enable ? case_enable(profile_dir) : -1;
}

static inline int case_off(void)
{
	return case_disable ? case_disable() : -1;
}

#endif
