/* SPDX-License-Identifier: MIT
 *
 * A finished database, opened by those who read it or add to it.
 */
#ifndef STORE_PROFILE_H
#define STORE_PROFILE_H

#include "fault.h"

#include <sqlite3.h>

/* Opens a database that rheaper-rip has made, for reading only. A file that is none, or is of a version that lacks what today's has, is
 * refused; of a newer version too little is never missing: columns are only added. NULL with fault filled; else to be closed with
 * sqlite3_close. */
sqlite3 *store_profile_open(const char *path, struct fault *fault);

/* Fills the fault with what SQLite says of the database called name. Returns -1. */
int store_profile_failed(sqlite3 *db, const char *name, struct fault *fault);

#endif
