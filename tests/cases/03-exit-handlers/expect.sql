-- SPDX-License-Identifier: MIT
--
-- Allocations before main and after it: static constructors and destructors, atexit, destructor functions. Everything up to the last
-- destructor of the program is in the profile.
--
-- flags: -g -O0
-- tracking: auto

-- static ctor/dtor
SELECT count(*) FROM allocations WHERE size=7177 AND dealloc_after IS NOT NULL;
-- expect: 1

-- alloc in static dtor
SELECT count(*) FROM allocations WHERE size=7187 AND dealloc_after IS NULL;
-- expect: 1

-- pair in static dtor
SELECT count(*) FROM allocations WHERE size=7193 AND dealloc_after IS NOT NULL;
-- expect: 1

-- atexit rows
SELECT count(*) FROM allocations WHERE size=7207;
-- expect: 11

-- atexit closed
SELECT count(*) FROM allocations WHERE size=7207 AND dealloc_after IS NOT NULL;
-- expect: 5

-- destructor attr
SELECT count(*) FROM allocations WHERE size=7211 AND dealloc_after IS NULL;
-- expect: 3

-- closed in atexit
SELECT count(*) FROM allocations WHERE size=7213 AND dealloc_after IS NOT NULL;
-- expect: 4

-- frame
SELECT count(*) FROM located WHERE size=7207 AND function LIKE '%bye%';
-- expect: 11
