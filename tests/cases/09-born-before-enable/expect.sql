-- SPDX-License-Identifier: MIT
--
-- Blocks that are older than tracking, and frees that come after it. The free of an unknown block is ignored; its realloc opens a row.
-- What was live when tracking ended stays live.
--
-- flags: -g -O0
-- tracking: api

-- 7517
SELECT count(*) FROM allocations WHERE size=7517;
-- expect: 0

-- 7523
SELECT count(*) FROM allocations WHERE size=7523;
-- expect: 50

-- 7523 closed
SELECT count(*) FROM allocations WHERE size=7523 AND dealloc_after IS NOT NULL;
-- expect: 20

-- 7529
SELECT count(*) FROM allocations WHERE size=7529;
-- expect: 20

-- 7529 closed
SELECT count(*) FROM allocations WHERE size=7529 AND dealloc_after IS NOT NULL;
-- expect: 5

-- 7537
SELECT count(*) FROM allocations WHERE size=7537;
-- expect: 0
