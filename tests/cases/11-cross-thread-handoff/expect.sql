-- SPDX-License-Identifier: MIT
--
-- One thread allocates 20000 blocks, another frees them. Each free comes after its own malloc and before the next malloc of that
-- address, although they were recorded by different threads.
--
-- flags: -g -O0
-- tracking: auto

-- closed
SELECT count(*) FROM allocations WHERE size=7589 AND dealloc_after IS NOT NULL;
-- expect: 20000

-- always crossed
SELECT count(*) FROM allocations WHERE size=7589 AND alloc_thread IS NOT dealloc_thread;
-- expect: 20000

-- one maker, one eater
SELECT count(DISTINCT alloc_thread)+count(DISTINCT dealloc_thread) FROM allocations WHERE size=7589;
-- expect: 2

-- order
SELECT count(*) FROM allocations WHERE size=7589 AND dealloc_after < alloc_after;
-- expect: 0

-- no overlap
SELECT count(*) FROM (
	SELECT alloc_after AS born, lag(coalesce(dealloc_after, 9e18)) OVER (PARTITION BY addr ORDER BY alloc_after, dealloc_after) AS before
	FROM allocations WHERE size=7589)
WHERE born < before;
-- expect: 0
