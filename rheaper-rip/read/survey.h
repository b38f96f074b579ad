/* SPDX-License-Identifier: MIT
 *
 * The first way through a log: checks every record, cuts each chunk back to what can be read, and collects what the control records
 * say. Whoever reads the events later meets no damage (unless the files change).
 */
#ifndef READ_SURVEY_H
#define READ_SURVEY_H

#include "read/profile.h"

/* Fills everything in profile that comes from control records. 0, or -1 with fault filled. */
int read_survey(struct read_profile *profile, struct progress *progress, struct fault *fault);

#endif
