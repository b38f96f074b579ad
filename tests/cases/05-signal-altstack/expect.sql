-- SPDX-License-Identifier: MIT
--
-- A signal handler allocates on a 32 KiB alternate stack between guard pages. The trace crosses the signal frame, and the recording
-- fits into what the handler's stack leaves.
--
-- flags: -g -O0
-- tracking: auto

-- rows
SELECT count(*) FROM located WHERE size=7309 AND function LIKE '%from_handler%';
-- expect: 100

-- closed
SELECT count(*) FROM allocations WHERE size=7309 AND dealloc_after IS NOT NULL;
-- expect: 40

-- crosses the signal frame
SELECT count(*) FROM located a
WHERE size=7309 AND EXISTS(SELECT 1 FROM backtraces b WHERE b.id=a.bt AND b.sym LIKE '%victim%');
-- expect: 100
