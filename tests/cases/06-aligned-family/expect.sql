-- SPDX-License-Identifier: MIT
--
-- Every function that allocates with an alignment, and reallocarray. Ten rows each, four of them freed. An allocation is one row, never
-- two: no row for a call within. What failed left no row.
--
-- flags: -g -O0
-- tracking: auto

-- aligned_alloc
SELECT count(*) FROM allocations WHERE size=7232;
-- expect: 10

-- posix_memalign
SELECT count(*) FROM allocations WHERE size=7333;
-- expect: 10

-- memalign
SELECT count(*) FROM allocations WHERE size=7349;
-- expect: 10

-- valloc
SELECT count(*) FROM allocations WHERE size=7351;
-- expect: 10

-- reallocarray
SELECT count(*) FROM allocations WHERE size=7353;
-- expect: 10

-- pvalloc
SELECT count(*) FROM located WHERE size IN (7369,8192) AND function LIKE '%via_pvalloc%';
-- expect: 10

-- 24 closed of 60
SELECT count(*) FROM located WHERE function LIKE '%via_%' AND dealloc_after IS NOT NULL;
-- expect: 24

-- 60 in all
SELECT count(*) FROM located WHERE function LIKE '%via_%';
-- expect: 60

-- failed
SELECT count(*) FROM allocations WHERE size=7393;
-- expect: 0

-- frames
SELECT count(*) FROM located WHERE size=7333 AND function LIKE '%via_posix%';
-- expect: 10
