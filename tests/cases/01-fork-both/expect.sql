-- SPDX-License-Identifier: MIT
--
-- Parent and child both allocate after a fork; the child leaves by exit. The profile is the parent's. before_fork made 100 blocks of
-- 7001 bytes; the parent freed 60 of them, and the 30 that the child freed are the child's own copies. None of the child's blocks
-- (7013) is in it. The child's exit must not truncate, flush twice or finish the parent's files.
--
-- flags: -g -O0
-- tracking: auto

-- parent rows
SELECT count(*) FROM allocations WHERE size=7001;
-- expect: 100

-- innermost frame
SELECT count(*) FROM located WHERE size=7001 AND function LIKE '%before_fork%';
-- expect: 100

-- closed by parent only
SELECT count(*) FROM allocations WHERE size=7001 AND dealloc_after IS NOT NULL;
-- expect: 60

-- parent after fork
SELECT count(*) FROM allocations WHERE size=7027 AND dealloc_after IS NULL;
-- expect: 25

-- no child rows
SELECT count(*) FROM allocations WHERE size=7013;
-- expect: 0
