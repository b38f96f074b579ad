-- SPDX-License-Identifier: MIT
--
-- The program writes to every byte that malloc_usable_size grants. malloc_usable_size tells the truth, and the recorded size is what
-- was asked for.
--
-- flags: -g -O0
-- tracking: auto

-- rows
SELECT count(*) FROM allocations WHERE size=7877;
-- expect: 128

-- closed
SELECT count(*) FROM allocations WHERE size=7877 AND dealloc_after IS NOT NULL;
-- expect: 96

-- realloc
SELECT count(*) FROM allocations WHERE size=7879 AND dealloc_after IS NOT NULL;
-- expect: 64
