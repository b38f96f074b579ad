-- SPDX-License-Identifier: MIT
--
-- A relative profile directory, then chdir before a second thread begins to record. One profile, in the first place, that holds it all.
--
-- flags: -g -O0
-- tracking: api
-- directory: sub

-- main
SELECT count(*) FROM allocations WHERE size=7643;
-- expect: 1

-- thread born later
SELECT count(*) FROM allocations WHERE size=7639 AND dealloc_after IS NOT NULL;
-- expect: 30

-- bulk
SELECT count(*) FROM allocations WHERE size=7649 AND dealloc_after IS NOT NULL;
-- expect: 7000
