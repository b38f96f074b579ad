/* SPDX-License-Identifier: MIT
 *
 * The versions that a database carries.
 */
#ifndef STORE_VERSION_H
#define STORE_VERSION_H

#include "config.h"

#define STORE_SCHEMA_VERSION 2 /* = PRAGMA user_version in schema.sql */

#define STORE_APPLICATION_ID 0x52485052 /* "RHPR"; = PRAGMA application_id in schema.sql */

#define STORE_RIP_VERSION PACKAGE_VERSION

#endif
