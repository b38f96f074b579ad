-- SPDX-License-Identifier: MIT
--
-- Tracking switched off, on, on, off, off. The second enable is refused and leaves the first session alone; the spare disables do
-- nothing. Nothing is recorded twice.
--
-- flags: -g -O0
-- tracking: api

-- rows
SELECT count(*) FROM allocations WHERE size=7577;
-- expect: 10

-- closed
SELECT count(*) FROM allocations WHERE size=7577 AND dealloc_after IS NOT NULL;
-- expect: 3

-- after
SELECT count(*) FROM allocations WHERE size=7583;
-- expect: 0
