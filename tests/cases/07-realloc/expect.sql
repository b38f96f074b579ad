-- SPDX-License-Identifier: MIT
--
-- realloc as malloc, growing, shrinking, failing and freeing. Each row ends when its block is reallocated, whether it moved or not. A
-- failed realloc neither ends a row nor adds one.
--
-- flags: -g -O0
-- tracking: auto

-- 7459
SELECT count(*) FROM allocations WHERE size=7459 AND dealloc_after IS NOT NULL;
-- expect: 12

-- 70001
SELECT count(*) FROM allocations WHERE size=70001 AND dealloc_after IS NOT NULL;
-- expect: 12

-- 7481 rows
SELECT count(*) FROM allocations WHERE size=7481;
-- expect: 12

-- 7481 live
SELECT count(*) FROM allocations WHERE size=7481 AND dealloc_after IS NULL;
-- expect: 3

-- 7477
SELECT count(*) FROM allocations WHERE size=7477 AND dealloc_after IS NOT NULL;
-- expect: 12

-- no failed rows
SELECT count(*) FROM allocations WHERE size > 1000000000000;
-- expect: 0

-- frame
SELECT count(*) FROM located WHERE size=70001 AND function LIKE '%grow%';
-- expect: 12

-- realloc(p,0) adds at most a zero-size row
SELECT count(*)<=4 FROM located WHERE size=0 AND function LIKE '%grow%';
-- expect: 1
