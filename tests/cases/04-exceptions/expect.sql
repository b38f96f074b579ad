-- SPDX-License-Identifier: MIT
--
-- Exceptions thrown through frames that own blocks, caught, thrown again. Five blocks in thrower and one in rethrower, 500 times, all
-- freed by unwinding. After the catch no frame that is gone shows up. The exceptions pass unharmed.
--
-- flags: -g -O0
-- tracking: auto

-- guards
SELECT count(*) FROM allocations WHERE size=7247;
-- expect: 3000

-- guards closed
SELECT count(*) FROM allocations WHERE size=7247 AND dealloc_after IS NOT NULL;
-- expect: 3000

-- after catch
SELECT count(*) FROM located WHERE size=7253 AND function LIKE '%after_catch%';
-- expect: 500

-- no stale frames
SELECT count(*) FROM allocations a
WHERE size=7253 AND EXISTS(SELECT 1 FROM backtraces b WHERE b.id=a.bt AND (b.sym LIKE '%rethrower%' OR b.sym LIKE '%thrower%'));
-- expect: 0
