-- SPDX-License-Identifier: MIT
--
-- 3000 short-lived threads, eight at a time. What a thread recorded last is not lost with it, and threads that take over the state of
-- dead ones are not taken for them: each block of 7109 bytes was made and freed by the same thread.
--
-- flags: -g -O0
-- tracking: auto

-- leaks
SELECT count(*) FROM allocations WHERE size=7103 AND dealloc_after IS NULL;
-- expect: 3000

-- frame
SELECT count(*) FROM located WHERE size=7103 AND function LIKE '%leak_one%';
-- expect: 3000

-- all rows of 7109
SELECT count(*) FROM allocations WHERE size=7109;
-- expect: 6000

-- closed
SELECT count(*) FROM allocations WHERE size=7109 AND dealloc_after IS NOT NULL;
-- expect: 6000

-- same thread
SELECT count(*) FROM allocations WHERE size=7109 AND alloc_thread IS NOT dealloc_thread;
-- expect: 0
